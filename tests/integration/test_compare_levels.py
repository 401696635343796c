"""Comparisons of runs that have several trials, and of trials with several judges."""

import json

import numpy as np
import pyarrow as pa
import pyarrow.csv
import pytest

import seedproof as sp
from seedproof.errors import OptionError
from seedproof.testing.errors import WithFields

N_TASKS = 40
DIFFICULTY = np.random.default_rng(5).normal(0, 1, N_TASKS)


def scores(shape, *, shift=0.0, seed=0):
    """Return numbers with the axes (runs, trials[, judges], tasks); each run has its own level."""
    rng = np.random.default_rng(seed)
    of_run = rng.normal(0, 0.3, (shape[0], *[1] * len(shape)))
    return shift + DIFFICULTY + of_run + rng.normal(0, 0.5, (*shape, N_TASKS))


def table(numbers, levels):
    """Return numbers as a long table with a column per level; each answer has judges of its own."""
    places = np.indices(numbers.shape).reshape(numbers.ndim, -1)
    columns = dict(zip((*levels, "task"), places, strict=True))
    if "judge" in columns:
        shape = numbers.shape[:-1]
        columns["judge"] = np.ravel_multi_index(tuple(columns[level] for level in levels), shape)
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


def test_only_means_are_compared_if_one_arm_has_no_trials(seedproof, tmp_path):
    """Answers of one arm differ inside runs and those of the other between them."""
    arms, options = arms_of((5, 3), ("run", "trial"))
    arms["new"] = arms["new"].filter(pa.compute.equal(arms["new"]["trial"], 0)).drop(["trial"])

    report = sp.compare(arms, **options)

    assert list(report.comparison.arms[0].effects) == ["mean"]
    assert "unlike-levels" in {note.code for note in report.comparison.notes}
    with pytest.raises(OptionError, check=WithFields(primary="mean_difference")):
        sp.compare(arms, primary="mean_difference", **options)
    folders = []
    for name, rows in arms.items():
        pa.csv.write_csv(rows, tmp_path / f"{name}.csv")
        folders.append(tmp_path / name)
        names = ("--example", "task", "--value", "score")
        seedproof("measure", tmp_path / f"{name}.csv", *names, "--out", folders[-1])
    code, out, err = seedproof("compare", *folders, "--json")
    assert code == 0, err
    assert list(json.loads(out)["arms"][0]["effects"]) == ["mean"]


def test_spreads_of_means_over_unlike_numbers_of_trials_are_not_compared():
    arms, options = arms_of((5, 3), ("run", "trial"))
    arms["new"] = arms["new"].filter(pa.compute.less(arms["new"]["trial"], 2))

    effects = sp.compare(arms, **options).comparison.arms[0].effects

    assert {"mean", "mean_difference"} <= effects.keys()
    assert "mean_sd" not in effects


def texts(n_runs, n_trials, *, chance, seed):
    """Return answers of runs that have several trials each, and whether they are right."""
    rng = np.random.default_rng(seed)
    chances = np.clip(chance + 0.2 * DIFFICULTY + rng.normal(0, 0.1, (n_runs, 1, N_TASKS)), 0, 1)
    is_right = rng.random((n_runs, n_trials, N_TASKS)) < chances
    answers = np.where(is_right, "right", rng.choice(["a", "b", "c"], is_right.shape))
    rows = table(is_right.astype(float), ("run", "trial")).drop(["score"])
    for name, column in (("answer", answers.ravel()), ("reference", ["right"] * answers.size)):
        rows = rows.append_column(name, pa.array(column))
    return rows, is_right, answers


def test_texts_of_runs_with_trials_are_compared_by_run():
    """A run counts once: accuracies are those of its trials, and flips are inside of it."""
    old, new = (texts(6, 3, chance=chance, seed=seed) for chance, seed in ((0.5, 1), (0.7, 2)))
    columns = sp.Columns(example="task")

    report = sp.compare({"old": old[0], "new": new[0]}, columns=columns)

    by_run = {name: arm[1].mean(axis=1) for name, arm in (("old", old), ("new", new))}
    expected = sp.compare(by_run, metrics=["mean"]).effect("new", "mean")
    effect = report.effect("new", "accuracy")
    assert effect.value == pytest.approx(expected.value)
    # Of shares, with a correction for few examples: somewhat wider than that of other numbers.
    assert (
        0.9 * (effect.high - effect.low) < expected.high - expected.low < effect.high - effect.low
    )
    assert (report.comparison.primary, effect.over) == ("accuracy", "runs × examples")
    flips = [
        np.mean([[a != b for i, a in enumerate(of_run) for b in of_run[:i]] for of_run in arm[2]])
        for arm in (old, new)
    ]
    assert report.effect("new", "flip_rate").value == pytest.approx(flips[1] / flips[0])
    assert "flip_rate" in report.text()


def test_texts_are_compared_inside_runs_or_between_them():
    old, new = (texts(5, 2, chance=0.5, seed=seed)[0] for seed in (1, 2))
    single = new.filter(pa.compute.equal(new["trial"], 0)).drop(["trial"])

    with pytest.raises(OptionError, check=WithFields(option="trial", name="old")):
        sp.compare({"old": old, "new": single}, columns=sp.Columns(example="task"))


def test_texts_of_runs_with_trials_are_a_pilot():
    """The spread of the accuracy is that over runs, each with the mean of its trials."""
    rows, is_right, _ = texts(6, 3, chance=0.5, seed=1)

    plan = sp.plan(pilot=rows, detect=0.2, columns=sp.Columns(example="task"))

    sd = is_right.mean(axis=(1, 2)).std(ddof=1)
    assert plan.figures.pilot.sd.value == pytest.approx(sd)
    assert plan.figures.pilot.cv is None
