"""Weights of examples, from the command inward: a suite that weighs its tasks."""

import json
import os

import numpy as np
import pyarrow as pa
import pytest

import seedproof as sp
from seedproof.errors import ColumnError, OptionError, WeightError

FULL = os.environ.get("SEEDPROOF_FULL") == "1"
N_TASKS, N_TRIALS = 60, 4
COLUMNS = ["--example", "task", "--trial", "trial", "--value", "reward"]
N_STUDIES = 500


def outcomes(rate: float, seed: int) -> np.ndarray:
    """Draw pass or fail of each trial, axes (trials, tasks)."""
    rng = np.random.default_rng(seed)
    chance = np.clip(rng.normal(rate, 0.25, N_TASKS), 0.02, 0.98)
    return (rng.random((N_TRIALS, N_TASKS)) < chance).astype(float)


def weights_of(seed: int = 0, spread: float = 0.8) -> np.ndarray:
    """Draw weights; those of a table keep all of their digits."""
    return np.exp(np.random.default_rng(seed).normal(0, spread, N_TASKS))


@pytest.fixture
def write(tmp_path):
    """Return a function that writes trials with their weights as a table."""

    def table(name, numbers, weights):
        rows = [
            f"{task},{trial},{value:g},{weights[task]!s},{'ab'[task % 2]},{task // 3}"
            for trial, of_trial in enumerate(numbers)
            for task, value in enumerate(of_trial)
        ]
        path = tmp_path / f"{name}.csv"
        header = "task,trial,reward,weight,half,family"
        path.write_text("\n".join([header, *rows]) + "\n", encoding="utf-8")
        return path

    return table


def printed(seedproof, verb, *arguments) -> dict:
    """Return what a command prints as JSON."""
    code, out, err = seedproof(verb, *arguments, "--json")
    assert code in {0, 1, 3}, err
    return json.loads(out)


def numbers_in(summary: object, path: str = "") -> dict[str, float]:
    """Return all numbers of nested data by their path, without those on weights."""
    if isinstance(summary, dict):
        parts = summary.items()
    elif isinstance(summary, list):
        parts = enumerate(summary)
    else:
        is_number = isinstance(summary, int | float) and not isinstance(summary, bool)
        return {path: summary} if is_number else {}
    skipped = {"weights", "notes"}
    return {
        place: number
        for name, part in parts
        if name not in skipped
        for place, number in numbers_in(part, f"{path}/{name}").items()
    }


def test_weighted_trials(seedproof, write):
    numbers, weights = outcomes(0.5, seed=1), weights_of()
    path = write("trials", numbers, weights)

    summary = printed(seedproof, "measure", path, *COLUMNS, "--weight", "weight")

    metrics = {name: figure["value"] for name, figure in summary["metrics"].items()}
    passed = numbers.mean(axis=0)
    assert metrics["mean"] == pytest.approx(np.average(passed, weights=weights))
    assert metrics["pass^1"] == pytest.approx(metrics["mean"])
    assert metrics["solid_share"] == pytest.approx(np.mean(passed == 1))
    flips = 2 * passed * (1 - passed) * N_TRIALS / (N_TRIALS - 1)
    assert metrics["flip_rate"] == pytest.approx(np.average(flips, weights=weights))
    n_effective = weights.sum() ** 2 / np.square(weights).sum()
    assert summary["weights"] == {"column": "weight", "n_effective": pytest.approx(n_effective)}
    assert summary["n_examples"] == N_TASKS


def test_terminal_and_page_say_what_weighs(seedproof, write, tmp_path):
    path, out = write("trials", outcomes(0.5, seed=1), weights_of()), tmp_path / "report"
    path.write_text(path.read_text("utf-8").replace("weight", "importance"), "utf-8")

    code, text, err = seedproof("measure", path, *COLUMNS, "--weight", "importance", "--out", out)

    assert code == 0, err
    page = (out / "report.html").read_text(encoding="utf-8")
    title, *_ = text.splitlines()
    assert "importance" in title
    assert "importance" in page
    report = sp.measure(path, columns=columns(), weight="importance")
    assert "weighted" in {note.code for note in report.measurement.notes}


def columns() -> sp.Columns:
    return sp.Columns(example="task", trial="trial", value="reward")


VERBS = {
    "measure": ["--slice", "half"],
    "measure in clusters": ["--cluster", "family"],
    "compare": [],
    "compare in clusters": ["--cluster", "family"],
    "versions": ["--slice", "half"],
    "versions in clusters": ["--cluster", "family", "--slice", "half"],
    "plan": ["--detect", "0.1"],
    "gate": ["--no-worse", "mean"],
    "blame": [],
}


def arguments_of(verb, first, second) -> list:
    """Return a command on one or two tables."""
    return {
        "measure": ["measure", first],
        "compare": ["compare", first, second],
        "versions": ["compare", "--old", first, "--new", second],
        "plan": ["plan", "--pilot", first],
        "gate": ["gate", second, "--baseline", first],
        "blame": ["blame", first],
    }[verb]


@pytest.mark.parametrize("name", VERBS)
def test_every_verb_has_the_same_figures_with_equal_weights(seedproof, write, name):
    verb, options = name.split()[0], VERBS[name]
    tables = [write(f"arm{i}", outcomes(0.4 + 0.2 * i, seed=i), [0.5] * N_TASKS) for i in (0, 1)]
    arguments = arguments_of(verb, *tables)

    plain = numbers_in(printed(seedproof, *arguments, *COLUMNS, *options))
    weighted = numbers_in(printed(seedproof, *arguments, *COLUMNS, *options, "--weight", "weight"))

    assert weighted == pytest.approx(plain, rel=1e-8, abs=1e-10)


@pytest.mark.parametrize("name", VERBS)
def test_every_verb_weighs(seedproof, write, name):
    """Weight on the tasks that one arm passes moves the figures."""
    verb, options = name.split()[0], VERBS[name]
    numbers = [outcomes(0.4 + 0.2 * i, seed=i) for i in (0, 1)]
    weights = 1 + 5 * (numbers[1] - numbers[0]).mean(axis=0).clip(0)
    tables = [write(f"arm{i}", x, weights) for i, x in enumerate(numbers)]
    arguments = arguments_of(verb, *tables)

    summary = printed(seedproof, *arguments, *COLUMNS, *options, "--weight", "weight")

    means = [np.average(x.mean(axis=0), weights=weights) for x in numbers]
    difference = pytest.approx(means[1] - means[0])
    if verb == "measure":
        assert summary["metrics"]["mean"]["value"] == pytest.approx(means[0])
    elif verb == "compare":
        assert summary["arms"][0]["effects"]["mean"]["value"] == difference
    elif verb == "versions":
        assert summary["whole"]["figures"]["mean_change"]["value"] == difference
    elif verb == "plan":
        assert summary["pilot"]["weights"]["column"] == "weight"
    elif verb == "gate":
        assert any("'weight'" in note for note in summary["notes"])
    else:
        assert summary["mean"]["value"] == pytest.approx(means[0])
        assert summary["weights"]["column"] == "weight"


def test_difference_of_two_arms_has_the_interval_of_its_residuals():
    """With trials, the interval is that of the weighted mean of differences of tasks."""
    numbers, weights = [outcomes(0.4 + 0.2 * i, seed=i) for i in (0, 1)], weights_of()
    arms = {f"arm{i}": x + 0.01 for i, x in enumerate(numbers)}  # neither 0 nor 1

    effect = sp.compare(arms, trials=True, weight=weights).effect("arm1", "mean")

    gaps = arms["arm1"].mean(axis=0) - arms["arm0"].mean(axis=0)
    center, size = np.average(gaps, weights=weights), weights.sum()
    n_effective = size**2 / np.square(weights).sum()
    squares = np.square(weights * (gaps - center)).sum()
    error = np.sqrt(squares / size**2 * n_effective / (n_effective - 1))
    assert effect.value == pytest.approx(center)
    # Student's quantile of about 30 degrees of freedom is 2.04.
    assert (effect.high - effect.low) / 2 == pytest.approx(2.04 * error, rel=0.02)


def test_slices_have_weighted_means():
    numbers, weights = outcomes(0.5, seed=1), weights_of()
    half = np.array(["a", "b"])[np.arange(N_TASKS) % 2]

    report = sp.measure(numbers, trials=True, weight=weights, slices={"half": half})

    for group in report.measurement.slices["half"]:
        chosen = half == group.name
        expected = np.average(numbers.mean(axis=0)[chosen], weights=weights[chosen])
        assert group.metrics["mean"].value == pytest.approx(expected)


def test_weights_have_no_unit():
    numbers, weights = outcomes(0.5, seed=1), weights_of()

    small, large = (
        sp.measure(numbers, trials=True, weight=factor * weights).summary()
        for factor in (1e-150, 1e150)
    )

    assert numbers_in(small) == pytest.approx(numbers_in(large), rel=1e-9, abs=1e-12)


@pytest.mark.parametrize("memory", ["2GB", "100MB"])
def test_a_store_keeps_the_weights(seedproof, write, tmp_path, memory, monkeypatch):
    """Rows in memory, and sorted on disk, give the same figures as a store of them."""
    monkeypatch.setattr("seedproof.records.schema.MAX_GROUP_ROWS", 16)
    if memory == "100MB":
        monkeypatch.setattr("seedproof.records.number_tables.MOST_GROWTH", 10**6)
    path = write("trials", outcomes(0.5, seed=1), weights_of())
    code, _, err = seedproof("ingest", path, "--out", tmp_path / "store", *COLUMNS)
    assert code == 0, err

    of_table = printed(
        seedproof, "measure", path, *COLUMNS, "--weight", "weight", "--memory", memory
    )
    of_store = printed(seedproof, "measure", tmp_path / "store", "--weight", "weight")

    assert of_store["metrics"] == of_table["metrics"]
    assert of_store["weights"] == of_table["weights"]


def test_engines_give_the_same_bytes(monkeypatch):
    monkeypatch.setattr("seedproof.records.schema.MAX_GROUP_ROWS", 16)
    options = {"trials": True, "weight": weights_of(), "clusters": np.arange(N_TASKS) // 3}
    numbers = outcomes(0.5, seed=1)

    here = sp.measure(numbers, **options)
    there = sp.measure(numbers, engine="processes", workers=2, **options)

    assert there.to_json() == here.to_json()


def test_examples_of_weight_zero_are_left_out():
    numbers, weights = outcomes(0.5, seed=1), weights_of()
    weights[::4] = 0.0
    kept = weights > 0
    options = {"trials": True, "clusters": np.arange(N_TASKS) // 3}

    report = sp.measure(numbers, weight=weights, **options)

    options["clusters"] = options["clusters"][kept]
    alone = sp.measure(numbers[:, kept], weight=weights[kept], **options)
    assert report.measurement.n_examples == kept.sum()
    assert numbers_in(report.summary()) == pytest.approx(numbers_in(alone.summary()))
    assert "weights-of-zero" in {note.code for note in report.measurement.notes}


@pytest.mark.parametrize("wrong", [-1, np.nan, np.inf, None])
def test_a_weight_that_is_none_is_named(wrong):
    weights = [1.0] * N_TASKS
    weights[7] = wrong

    with pytest.raises(WeightError) as error:
        sp.measure(outcomes(0.5, seed=1), trials=True, weight=weights)

    assert error.value.fields["example"] == 7


def test_wrong_cells_of_a_table_are_named(seedproof, write):
    numbers, weights = outcomes(0.5, seed=1), np.array(["1.0"] * N_TASKS, dtype=object)
    weights[5] = "many"
    path = write("text", numbers, weights)

    assert "SP116" in seedproof("measure", path, *COLUMNS, "--weight", "weight")[2]
    with pytest.raises(WeightError) as error:
        sp.measure(path, columns=columns(), weight="weight")
    assert error.value.fields["example"] == 5


def test_weights_that_differ_are_named(write):
    numbers, weights = outcomes(0.5, seed=1), weights_of()
    rows = {
        "task": np.tile(np.arange(N_TASKS), N_TRIALS),
        "trial": np.repeat(np.arange(N_TRIALS), N_TASKS),
        "reward": numbers.ravel(),
        "weight": np.tile(weights, N_TRIALS),
    }
    rows["weight"][2 * N_TASKS + 9] = 0.25

    with pytest.raises(WeightError) as error:
        sp.measure(pa.table(rows), columns=columns(), weight="weight")
    assert error.value.fields["example"] == 9

    others = weights.copy()
    others[11] *= 3
    with pytest.raises(WeightError) as error:
        sp.compare(
            [write("first", numbers, weights), write("second", 1 - numbers, others)],
            columns=columns(),
            weight="weight",
        )
    assert error.value.fields["example"] == 11


def test_all_weights_of_zero_are_refused():
    with pytest.raises(WeightError):
        sp.measure(outcomes(0.5, seed=1), trials=True, weight=np.zeros(N_TASKS))


def test_weights_need_a_column_and_numbers(write, study):
    path = write("trials", outcomes(0.5, seed=1), weights_of())

    with pytest.raises(ColumnError):
        sp.measure(path, columns=columns(), weight="cost")
    with pytest.raises(OptionError):
        sp.measure(study.table, weight="text")
    with pytest.raises(OptionError):
        sp.measure(outcomes(0.5, seed=1), trials=True, weight="weight")


def test_arms_with_and_without_weights_are_refused():
    numbers, weights = outcomes(0.5, seed=1), weights_of()
    weighted = sp.Predictions.from_arrays(numbers, trials=True, weight=weights)
    plain = sp.Predictions.from_arrays(1 - numbers, trials=True)

    with pytest.raises(OptionError):
        sp.compare({"weighted": weighted, "plain": plain})


@pytest.mark.skipif(not FULL, reason="slow; SEEDPROOF_FULL=1 runs it")
@pytest.mark.parametrize("is_pass_or_fail", [False, True])
@pytest.mark.parametrize("n_runs", [4, 5])
def test_coverage(n_runs, is_pass_or_fail):
    """Intervals of weighted means cover the truth of the population of tasks and their weights.

    Four are trials of one model, five are models of their own.
    """
    rng, are_trials = np.random.default_rng(3), n_runs == 4

    def study(n_examples):
        difficulty = rng.normal(size=n_examples)
        weights = np.exp(0.7 * rng.normal(size=n_examples) + 0.5 * difficulty)
        numbers = difficulty + rng.normal(size=(n_runs, n_examples))
        if not are_trials:
            numbers += 0.3 * rng.normal(size=(n_runs, 1))
        return np.asarray(numbers > 0.0 if is_pass_or_fail else numbers, np.float64), weights

    # The mean over many studies of runs that differ.
    truth = np.mean([np.average(x.mean(axis=0), weights=w) for x, w in map(study, [20_000] * 50)])
    n_covered = 0
    for _ in range(N_STUDIES):
        numbers, weights = study(100)
        mean = sp.measure(numbers, trials=are_trials, weight=weights, metrics=["mean"])["mean"]
        n_covered += mean.low <= truth <= mean.high

    assert 0.90 <= n_covered / N_STUDIES <= 0.99
