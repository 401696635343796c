"""Limits of numbers: scores of trials, errors of regressions, and means against a baseline."""

import json

import numpy as np
import pytest

import seedproof as sp
from seedproof.errors import MissingExampleError, OptionError, UnknownNameError


def outcomes(rate, n_trials=4, n_tasks=200, seed=0):
    """Draw pass or fail of each trial."""
    rng = np.random.default_rng(seed)
    chance = np.clip(rng.normal(rate, 0.15, n_tasks), 0.02, 0.98)
    return (rng.random((n_trials, n_tasks)) < chance).astype(float)


@pytest.fixture
def trials(tmp_path):
    """A function that writes trials as a table."""

    def write(name, numbers):
        rows = [
            f"{task},{trial},{value:g}"
            for trial, of_trial in enumerate(numbers)
            for task, value in enumerate(of_trial)
        ]
        path = tmp_path / f"{name}.csv"
        path.write_text("\n".join(["task,trial,reward", *rows]) + "\n", encoding="utf-8")
        return path

    return write


COLUMNS = ["--example", "task", "--trial", "trial", "--value", "reward"]


@pytest.mark.parametrize(
    ("rules", "expected"),
    [
        (["--min", "mean=0.5"], 0),
        (["--min", "mean=0.9"], 1),
        (["--min", "mean=0.7"], 3),
        (["--max", "flip_rate@0.5=0.6"], 0),
        (["--max", "flip_rate=0.1", "--min", "mean=0.5"], 1),
        (["--min", "pass^2=0.3"], 0),
        (["--max", "flaky_share=0.99"], 0),
    ],
)
def test_limits_of_trials_are_judged_with_any_number(seedproof, trials, rules, expected):
    code, _, err = seedproof("gate", trials("new", outcomes(0.7)), *COLUMNS, *rules)

    assert code == expected, err


def test_a_mean_may_not_be_worse_than_the_baseline(seedproof, trials):
    old = trials("old", outcomes(0.7, seed=1))
    better, worse = trials("b", outcomes(0.85, seed=2)), trials("w", outcomes(0.5, seed=3))
    rule = ["--no-worse", "mean", "--baseline", old]

    assert seedproof("gate", better, *COLUMNS, *rule)[0] == 0
    assert seedproof("gate", worse, *COLUMNS, *rule)[0] == 1
    assert seedproof("gate", worse, *COLUMNS, *rule, "--lower-is-better")[0] == 0
    assert seedproof("gate", better, *COLUMNS, *rule, "--lower-is-better")[0] == 1


def test_a_declared_number_of_trials_has_the_plain_interval(seedproof, trials):
    path = trials("new", outcomes(0.7))
    widths = []
    for declared in ((), ("--declared-runs", "4")):
        arguments = [path, *COLUMNS, "--min", "mean=0.5", "--json", *declared]
        (rule,) = json.loads(seedproof("gate", *arguments)[1])["rules"]
        widths.append(rule["deciding"]["high"] - rule["deciding"]["low"])
        plain = rule["found"]
    assert widths[0] > widths[1]
    assert widths[1] == pytest.approx(plain["high"] - plain["low"])


def test_missing_trials_are_waited_for(seedproof, trials):
    path = trials("new", outcomes(0.7))
    rule = [path, *COLUMNS, "--min", "mean=0.5", "--declared-runs", "6"]

    assert seedproof("gate", *rule)[0] == 3
    assert seedproof("gate", *rule, "--allow", "missing-runs")[0] == 0


def test_one_trial_is_judged_and_one_run_is_not():
    numbers = outcomes(0.7, n_trials=1)

    assert sp.gate(numbers, min={"mean": 0.4}, trials=True).outcome == "pass"
    few = sp.gate(outcomes(0.7, n_trials=3), min={"mean": 0.4})
    assert few.outcome == "investigate"
    assert few.rules[0].reason == "too few runs"


def regression(noise=1.0, seed=0, n_runs=6):
    """Return numbers of several runs and their targets."""
    targets = np.random.default_rng(97).normal(-20, 5, 300)
    rng = np.random.default_rng(seed)
    return targets + rng.normal(0, noise, (n_runs, 300)), targets


def test_errors_are_judged_by_runs():
    numbers, targets = regression()

    assert sp.gate(numbers, targets=targets, max={"mae": 1.0}).outcome == "pass"
    assert sp.gate(numbers, targets=targets, max={"mae": 0.5}).outcome == "fail"
    worse, _ = regression(noise=1.5, seed=1)
    gate = sp.gate(worse, baseline=numbers, targets=targets, no_worse=["mae", "rmse"])
    assert [rule.outcome for rule in gate.rules] == ["fail", "fail"]


def test_limits_of_means_may_be_negative():
    numbers, _ = regression()

    assert sp.gate(numbers, min={"mean": -30.0}, max={"mean": -10.0}).outcome == "pass"
    with pytest.raises(OptionError):
        sp.gate(numbers, max={"mean_difference": -1.0})


def test_numbers_of_any_size_need_a_margin():
    numbers, _ = regression()
    other, _ = regression(seed=1)

    with pytest.raises(OptionError):
        sp.gate(numbers, baseline=other, no_worse=["mean"])
    assert sp.gate(numbers, baseline=other, no_worse={"mean": 1.0}).outcome == "pass"


def test_mean_of_predictions_with_targets_has_no_direction():
    numbers, targets = regression()

    with pytest.raises(OptionError):
        sp.gate(numbers, baseline=numbers + 0.1, targets=targets, no_worse={"mean": 1.0})
    with pytest.raises(OptionError):
        sp.gate(numbers, baseline=numbers + 0.1, targets=targets, no_worse=["bias"])


def test_metrics_that_were_not_measured_are_named():
    with pytest.raises(OptionError) as refused:
        sp.gate(regression()[0], max={"mae": 1.0})
    assert refused.value.fields["metric"] == "mae"
    with pytest.raises(UnknownNameError):
        sp.gate(regression()[0], max={"meen": 1.0})


def test_page_and_files_of_a_gate_of_trials(seedproof, trials, tmp_path):
    path = trials("new", outcomes(0.7))
    files = ["--junit", tmp_path / "gate.xml", "--markdown", tmp_path / "gate.md"]

    code, out, err = seedproof("gate", path, *COLUMNS, "--min", "mean=0.5", *files)

    assert code == 0, err
    assert "trials" in out
    assert "mean" in (tmp_path / "gate.xml").read_text(encoding="utf-8")
    assert sp.gate(path, columns=sp.Columns(example="task", value="reward"), min={"mean": 0.5})


# ------------------------------------------------------------------------------- saved reports


def test_saved_report_of_trials_is_judged_with_a_wider_interval_than_its_table(tmp_path):
    """A report does not say how much of the interval is noise of trials, so that all may be."""
    numbers = outcomes(0.7)
    sp.measure(numbers, trials=True).save(tmp_path / "new")

    of_report, of_records = (
        sp.gate(target, min={"mean": 0.5}, **options).rules[0]
        for target, options in ((tmp_path / "new", {}), (numbers, {"trials": True}))
    )

    assert of_report.outcome == of_records.outcome == "pass"
    assert of_report.estimate == of_records.estimate
    assert of_report.deciding.low < of_records.deciding.low < of_records.estimate.low


def test_trials_are_judged_against_a_saved_baseline(seedproof, trials, tmp_path):
    sp.measure(outcomes(0.7, seed=1), trials=True).save(tmp_path / "old")
    better, worse = trials("b", outcomes(0.9, seed=2)), trials("w", outcomes(0.4, seed=3))
    rule = ("--no-worse", "mean", "--baseline", tmp_path / "old")

    codes = [seedproof("gate", path, *COLUMNS, *rule)[0] for path in (better, worse)]
    turned = seedproof("gate", worse, *COLUMNS, *rule, "--lower-is-better")[0]

    assert (codes, turned) == ([0, 1], 0)


def test_saved_baseline_of_other_targets_is_refused(tmp_path):
    rng = np.random.default_rng(0)
    targets = rng.normal(20, 5, 100)
    numbers = targets + rng.normal(0, 1, (6, 100))
    sp.measure(numbers, targets=targets + 1).save(tmp_path / "old")
    baseline = {"baseline": tmp_path / "old", "no_worse": ["mae"]}

    with pytest.raises(MissingExampleError):
        sp.gate(numbers + 0.01, targets=targets, **baseline)
