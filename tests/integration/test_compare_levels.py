"""Comparisons of runs that have several trials, and of trials with several judges."""

import json

import numpy as np
import pyarrow as pa
import pyarrow.csv
import pytest

import seedproof as sp

N_TASKS = 40
DIFFICULTY = np.random.default_rng(5).normal(0, 1, N_TASKS)


def scores(shape, *, shift=0.0, seed=0):
    """Return numbers with the axes (runs, trials[, judges], tasks); each run has its own level."""
    rng = np.random.default_rng(seed)
    of_run = rng.normal(0, 0.3, (shape[0], *[1] * len(shape)))
    return shift + DIFFICULTY + of_run + rng.normal(0, 0.5, (*shape, N_TASKS))


def table(numbers, levels):
    """Return numbers as a long table with a column per level."""
    places = np.indices(numbers.shape).reshape(numbers.ndim, -1)
    columns = dict(zip((*levels, "task"), places, strict=True))
    return pa.table({**columns, "score": numbers.ravel()})


def arms_of(shape, levels, *, shift=0.0, trial="trial"):
    """Return two arms as tables; without a column `run` they are trials of one model."""
    columns = sp.Columns(example="task", value="score", trial=trial)
    arms = {
        "old": table(scores(shape, seed=1), levels),
        "new": table(scores(shape, shift=shift, seed=2), levels),
    }
    return arms, {"columns": columns}


@pytest.fixture
def files(tmp_path):
    def write(shape, levels, **options):
        arms, _ = arms_of(shape, levels, **options)
        for name, rows in arms.items():
            pa.csv.write_csv(rows, tmp_path / f"{name}.csv")
        return [tmp_path / f"{name}.csv" for name in arms]

    return write


@pytest.mark.parametrize(
    ("shape", "levels"), [((5, 3), ("run", "trial")), ((5, 2, 2), ("run", "trial", "judge"))]
)
def test_runs_with_trials_have_the_effect_of_their_means(shape, levels):
    """A run counts once, however many trials and judges it has."""
    arms, options = arms_of(shape, levels, shift=1.0)
    inner = tuple(range(1, len(shape)))

    effect = sp.compare(arms, **options).effect("new", "mean")

    means = {
        name: scores(shape, shift=shift, seed=seed).mean(axis=inner)
        for name, shift, seed in (("old", 0.0, 1), ("new", 1.0, 2))
    }
    expected = sp.compare(means, metrics=["mean"]).effect("new", "mean")
    got = [effect.value, effect.low, effect.high, effect.detectable]
    assert got == pytest.approx(
        [expected.value, expected.low, expected.high, expected.detectable], rel=1e-9
    )
    assert (effect.verdict, effect.over) == (expected.verdict, "runs × examples")


def test_trials_with_judges_have_the_effect_of_their_means():
    """Judges are no trials: their mean is the score of a trial."""
    arms, options = arms_of((3, 4), ("trial", "judge"), shift=1.0)

    effect = sp.compare(arms, **options).effect("new", "mean")

    means = {
        "old": scores((3, 4), seed=1).mean(axis=1),
        "new": scores((3, 4), shift=1.0, seed=2).mean(axis=1),
    }
    expected = sp.compare(means, trials=True, metrics=["mean"]).effect("new", "mean")
    assert [effect.value, effect.low, effect.high] == pytest.approx(
        [expected.value, expected.low, expected.high], rel=1e-9
    )
    assert effect.over == "examples"


def test_many_trials_do_not_replace_five_runs(files, seedproof):
    """Three models are too few for a verdict, whatever the number of their trials."""
    paths = files((3, 6), ("run", "attempt"), shift=9.0)
    columns = ("--example", "task", "--value", "score", "--trial", "attempt")

    code, out, _ = seedproof("compare", *paths, *columns, "--json")

    effects = json.loads(out)["arms"][0]["effects"]
    assert code == 0
    assert effects["mean"]["verdict"] == "too few runs"
    gate = ("--no-worse", "mean=0.5", "--baseline", paths[0], "--json")
    code, out, _ = seedproof("gate", paths[1], *columns, *gate)
    assert (code, json.loads(out)["rules"][0]["reason"]) == (3, "too few runs")


def test_looks_count_runs_and_keep_all_of_their_trials():
    arms, options = arms_of((7, 2), ("run", "trial"), shift=2.0)

    report = sp.compare(arms, sequential=True, **options)

    first = {name: rows.filter(pa.compute.less(rows["run"], 5)) for name, rows in arms.items()}
    expected = sp.compare(first, sequential=True, **options)
    assert report.comparison.runs.n_runs == 5
    assert report.effect("new", "mean") == expected.effect("new", "mean")


def test_versions_of_runs_with_trials_are_compared_by_their_means():
    arms, options = arms_of((5, 3), ("run", "trial"), shift=1.0)

    report = sp.compare_versions(arms["old"], arms["new"], **options)

    means = [
        scores((5, 3), shift=shift, seed=seed).mean(axis=1) for shift, seed in ((0.0, 1), (1.0, 2))
    ]
    expected = sp.compare_versions(*means)
    assert report["difference"].value == pytest.approx(expected["difference"].value, rel=1e-9)
    assert report["difference"].low == pytest.approx(expected["difference"].low, rel=1e-9)
