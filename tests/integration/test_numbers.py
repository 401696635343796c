"""Numbers instead of classes: repeated trials, scores and regressions, from the command inward."""

import gzip
import json
import os
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import seedproof as sp
from seedproof.errors import (
    ColumnError,
    DtypeError,
    DuplicateExampleError,
    LabelConflictError,
    MissingExampleError,
    MissingValueError,
    OptionError,
    TooFewRunsError,
    UnreadableError,
)

DATA = os.environ.get("SEEDPROOF_DATA")
TRIALS = Path(DATA or "missing") / "taubench" / "trials.csv"
# Tasks by the number of trials, of four, that they pass.
PASSED = [0] * 14 + [1] * 12 + [2] * 8 + [3] * 6 + [4] * 10
COLUMNS = ["--example", "task", "--trial", "attempt", "--value", "reward"]


@pytest.fixture
def trials(tmp_path) -> Path:
    """Four trials of 50 tasks as CSV, in another order than that of the tasks."""
    rng = np.random.default_rng(0)
    rows = []
    for task, n_passed in enumerate(PASSED):
        outcomes = rng.permutation([1] * n_passed + [0] * (4 - n_passed))
        rows += [f"{task},{trial},{reward},air" for trial, reward in enumerate(outcomes)]
    rng.shuffle(rows)
    path = tmp_path / "trials.csv"
    path.write_text("\n".join(["task,attempt,reward,domain", *rows]) + "\n", encoding="utf-8")
    return path


def measured(seedproof, *arguments) -> dict:
    code, out, err = seedproof("measure", *arguments, "--json")
    assert code == 0, err
    return json.loads(out)


def test_trials_give_pass_rates_and_flaky_tasks(seedproof, trials):
    summary = measured(seedproof, trials, *COLUMNS)
    metrics = {name: figure["value"] for name, figure in summary["metrics"].items()}

    assert summary["repeats"] == "trials"
    assert (summary["n_runs"], summary["n_examples"]) == (4, 50)
    passed = np.array(PASSED)
    assert metrics["mean"] == pytest.approx(passed.mean() / 4)
    assert metrics["flaky_share"] == pytest.approx(26 / 50)
    assert metrics["flip_rate"] == pytest.approx((passed * (4 - passed) / 6).mean())
    assert metrics["pass^4"] == pytest.approx(10 / 50)
    assert metrics["pass@4"] == pytest.approx(36 / 50)
    assert "mean_sd" not in metrics  # no trial is better than another


def test_intervals_of_trials_are_over_tasks(seedproof, trials):
    """They are as wide as those from the means of the tasks."""
    mean = measured(seedproof, trials, *COLUMNS)["metrics"]["mean"]
    half_width = 1.96 * np.std(np.array(PASSED) / 4, ddof=1) / np.sqrt(50)

    assert mean["over"] == "examples"
    assert (mean["high"] - mean["low"]) / 2 == pytest.approx(half_width, rel=0.1)


def test_words_do_not_speak_of_training(seedproof, trials):
    code, out, _ = seedproof("measure", trials, *COLUMNS, "--all")

    assert code == 0
    assert not {"seed", "retrain", "Retraining", "training"} & set(out.split())


@pytest.mark.skipif(not TRIALS.exists(), reason="needs SEEDPROOF_DATA")
def test_tau_bench_has_its_published_figures(seedproof):
    options = ["--example", "task", "--trial", "trial", "--value", "reward"]
    metrics = measured(seedproof, TRIALS, *options)["metrics"]

    powers = [round(metrics[f"pass^{k}"]["value"], 3) for k in (1, 2, 3, 4)]
    assert powers == [0.42, 0.273, 0.22, 0.2]
    assert metrics["flaky_share"]["value"] == pytest.approx(0.52)
    assert metrics["flip_rate"]["value"] == pytest.approx(0.2933, abs=1e-4)


def test_every_format_gives_the_same_figures(seedproof, trials, tmp_path):
    table = pa.csv.read_csv(trials)
    pq.write_table(table, tmp_path / "trials.parquet")
    lines = "\n".join(json.dumps(row) for row in table.to_pylist())
    (tmp_path / "trials.jsonl").write_text(lines, encoding="utf-8")
    first = measured(seedproof, trials, *COLUMNS)

    for name in ("trials.parquet", "trials.jsonl"):
        assert measured(seedproof, tmp_path / name, *COLUMNS) == first
    columns = sp.Columns(example="task", trial="attempt", value="reward")
    assert sp.measure(table, columns=columns).summary() == first


def test_page_and_files_are_written(seedproof, trials, tmp_path):
    code, _, err = seedproof("measure", trials, *COLUMNS, "--out", tmp_path / "report")

    assert code == 0, err
    page = (tmp_path / "report" / "report.html").read_text(encoding="utf-8")
    assert "pass^4" in page
    examples = pq.read_table(tmp_path / "report" / "examples.parquet")
    assert {"example", "mean", "sd", "domain"} <= set(examples.column_names)
    assert examples["mean"].to_pylist() == pytest.approx([n / 4 for n in PASSED])


# ------------------------------------------------------------------------------ regression


def regression(n_runs=6, n_examples=300, seed=0):
    """Return numbers of several runs and their targets."""
    rng = np.random.default_rng(seed)
    truth = rng.normal(20, 5, n_examples)
    quality = rng.normal(0, 0.3, (n_runs, 1))
    return truth + quality + rng.normal(0, 1, (n_runs, n_examples)), truth


def test_arrays_of_floats_are_numbers():
    numbers, targets = regression()
    report = sp.measure(numbers, targets=targets, tolerance=0.5, thresholds=[20, 25])
    errors = numbers - targets

    assert report["mean"].value == pytest.approx(numbers.mean())
    assert report["mae"].value == pytest.approx(np.abs(errors).mean())
    assert report["rmse"].value == pytest.approx(np.sqrt(np.square(errors).mean()))
    assert report["bias"].value == pytest.approx(errors.mean())
    assert report["mean_sd"].value == pytest.approx(numbers.mean(axis=1).std(ddof=1))
    assert report["example_sd"].value == pytest.approx(np.sqrt(numbers.var(axis=0, ddof=1).mean()))
    assert {"beyond_tolerance", "flip_rate@20", "flip_rate@25"} <= set(report)
    assert report["mean"].over == "runs × examples"


def test_order_of_examples_and_shards_does_not_matter(monkeypatch):
    numbers, targets = regression()
    ids = np.arange(300)
    whole = sp.measure(numbers, targets=targets, ids=ids).summary()
    order = np.random.default_rng(1).permutation(300)

    shuffled = sp.measure(numbers[:, order], targets=targets[order], ids=ids[order]).summary()
    assert shuffled == whole
    monkeypatch.setattr("seedproof.records.schema.MAX_GROUP_ROWS", 37)
    in_parts = sp.measure(numbers, targets=targets, ids=ids)
    for name, figure in whole["metrics"].items():
        assert in_parts[name].value == pytest.approx(figure["value"], rel=1e-12), name
        assert in_parts[name].high == pytest.approx(figure["high"], rel=1e-9), name


def test_clusters_widen_intervals():
    rng = np.random.default_rng(2)
    clusters = np.repeat(np.arange(30), 10)
    numbers = rng.normal(0, 1, 30)[clusters] + rng.normal(0, 0.5, (5, 300))

    alone, together = sp.measure(numbers), sp.measure(numbers, clusters=clusters)

    assert together["mean"].over == "runs × clusters"
    width = [report["mean"].high - report["mean"].low for report in (alone, together)]
    assert width[1] > 2 * width[0]


def test_two_clusters_give_no_interval_of_ratios():
    numbers, targets = regression()
    clusters = np.arange(numbers.shape[1]) % 2

    report = sp.measure(numbers, targets=targets, clusters=clusters)

    assert report["r2"].low is None
    assert report["variance_example"].low is None


def test_metrics_of_ones_own_take_targets_and_numbers():
    numbers, targets = regression()
    report = sp.measure(numbers, targets=targets, extra={"worst": lambda y, x: np.abs(x - y).max()})

    worst = np.abs(numbers - targets).max(axis=1)
    assert report["worst"].value == pytest.approx(worst.mean())


# ---------------------------------------------------------------------------------- checks


def names_of(report) -> dict[str, str]:
    return {check.name: check.severity for check in report.checks}


def test_copies_of_a_run_are_reported():
    numbers, _ = regression()
    copied = np.vstack([numbers, numbers[:1]])

    assert names_of(sp.measure(copied)) == {"duplicate-runs": "error"}
    assert names_of(sp.measure(np.repeat(numbers[:1], 5, axis=0))) == {"duplicate-runs": "error"}
    assert names_of(sp.measure(numbers)) == {}


def test_equal_outcomes_of_a_solid_model_are_no_copies():
    """With a flip or two in all, two runs may well be equal."""
    passed = np.ones((5, 200))
    passed[0, 3] = passed[1, 7] = 0.0

    assert names_of(sp.measure(passed)) == {}


def test_a_run_that_fails_everything_is_reported():
    rng = np.random.default_rng(3)
    passed = (rng.random((5, 100)) < 0.7).astype(float)
    passed[2] = 0.0

    assert names_of(sp.measure(passed)) == {"constant-run": "error"}


@pytest.mark.parametrize("kind", ["numbers", "outcomes"])
def test_a_run_with_shuffled_rows_is_reported(kind):
    rng = np.random.default_rng(5)
    numbers = 2 * rng.normal(size=300) + rng.normal(size=(6, 300))
    if kind == "outcomes":
        numbers = (numbers > 0).astype(float)
    healthy = sp.measure(numbers)
    numbers[2] = rng.permutation(numbers[2])

    (check,) = sp.measure(numbers).checks

    assert names_of(healthy) == {}
    assert (check.name, check.severity, check.runs) == ("outlier-run", "error", ("2",))


def test_runs_of_noise_alone_are_not_outliers():
    """None agrees with any other."""
    assert names_of(sp.measure(np.random.default_rng(6).normal(size=(5, 300)))) == {}


def test_few_runs_are_a_warning_and_few_trials_are_not():
    numbers, _ = regression(n_runs=3)

    assert names_of(sp.measure(numbers)) == {"few-runs": "warning"}
    assert names_of(sp.measure(numbers, trials=True)) == {}


# ---------------------------------------------------------------------------------- errors


def table(**columns) -> pa.Table:
    usual = {"run": ["a", "a", "b", "b"], "example": [1, 2, 1, 2], "value": [1.0, 2.0, 3.0, 4.0]}
    return pa.table({**usual, **columns})


@pytest.mark.parametrize(
    ("columns", "error"),
    [
        ({"value": ["1", "2", "good", "4"]}, DtypeError),
        ({"value": [1.0, None, 3.0, 4.0]}, MissingValueError),
        ({"value": [1.0, float("inf"), 3.0, 4.0]}, DtypeError),
        ({"example": [1, 1, 1, 2]}, DuplicateExampleError),
        ({"example": [1, 2, 1, 3]}, MissingExampleError),
        ({"run": ["a", "a", None, "b"]}, MissingValueError),
        ({"run": ["a", "a", "a", "a"], "example": [1, 2, 3, 4]}, TooFewRunsError),
        ({"target": [1.0, 2.0, 1.5, 2.0]}, LabelConflictError),
        ({"trial": [0, 1, 0, 2]}, MissingExampleError),
    ],
)
def test_wrong_tables_are_refused_by_name(columns, error):
    with pytest.raises(error):
        sp.measure(table(**columns))


def test_a_very_long_row_is_not_lost(tmp_path):
    rows = [
        f"{run},{example},0.5,{'x' * (example == 9) * 3_000_000}"
        for run in "ab"
        for example in range(10)
    ]
    (tmp_path / "long.csv").write_text("\n".join(["run,example,value,text", *rows]), "utf-8")

    assert sp.measure(tmp_path / "long.csv").measurement.n_examples == 10


def test_a_table_that_unpacks_to_far_more_is_refused(tmp_path):
    path = tmp_path / "bomb.csv.gz"
    with gzip.open(path, "wt") as file:
        file.write("run,example,value\n")
        for _ in range(130):
            file.write("a,1,0.5\n" * 100_000)

    with pytest.raises(UnreadableError):
        sp.measure(path)


def test_examples_that_some_run_lacks_are_dropped_on_request():
    report = sp.measure(table(example=[1, 2, 1, 3]), common_examples=True)

    assert report.measurement.n_examples == 1
    assert any("dropped" in note.code for note in report.measurement.notes)


def test_missing_columns_are_named():
    with pytest.raises(ColumnError) as refused:
        sp.measure(table(), columns=sp.Columns(value="score"))

    assert refused.value.fields["column"] == "score"


@pytest.mark.parametrize("tolerance", ["much", "-1", "nan", ""])
def test_a_wrong_tolerance_is_refused(tolerance):
    with pytest.raises(OptionError):
        sp.measure(regression()[0], tolerance=tolerance)


@pytest.mark.parametrize("metric", ["accuracy", "label_entropy"])
def test_metrics_of_classes_are_refused(metric):
    with pytest.raises(OptionError):
        sp.measure(regression()[0], metrics=[metric])


def test_requested_metrics_come_with_the_mean():
    report = sp.measure(*regression()[:1], metrics=["mean_difference"])

    assert "mean" in report
    assert "mae" not in report


# ---------------------------------------------------------------------------------- slices


def test_slices_have_means_and_spreads_of_their_own():
    rng = np.random.default_rng(4)
    noise = np.where(np.arange(400) % 2, 2.0, 0.2)
    numbers = 5 + noise * rng.standard_normal((8, 400))
    kind = np.where(np.arange(400) % 2, "hard", "easy")

    report = sp.measure(numbers, slices={"kind": kind})

    easy, hard = report.slices["kind"]
    assert (easy.name, hard.name) == ("easy", "hard")
    assert easy.metrics["mean"].value == pytest.approx(numbers[:, ::2].mean())
    assert hard.is_less_stable
    assert not easy.is_less_stable
    assert "kind" in report.text()


def test_slices_in_clusters_merge_over_shards(monkeypatch):
    numbers, _ = regression()
    columns = {"slices": {"half": np.arange(300) // 150}, "clusters": np.arange(300) // 5}
    whole = sp.measure(numbers, **columns).slices["half"]

    monkeypatch.setattr("seedproof.records.schema.MAX_GROUP_ROWS", 37)
    in_parts = sp.measure(numbers, **columns).slices["half"]
    for first, second in zip(whole, in_parts, strict=True):
        for name, figure in first.metrics.items():
            assert second.metrics[name].high == pytest.approx(figure.high, rel=1e-9)
