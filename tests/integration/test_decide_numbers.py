"""Decisions on numbers: trials of one model, retrained runs, and single numbers per run."""

import json
import os

import numpy as np
import pyarrow as pa
import pyarrow.csv
import pytest

import seedproof as sp
from seedproof.errors import OptionError
from seedproof.testing.errors import WithFields

# SEEDPROOF_FULL=1 simulates enough studies to measure how often a candidate is kept by chance.
FULL = os.environ.get("SEEDPROOF_FULL") == "1"
N_TASKS = 80
RUN_MORE = "run more"
COLUMNS = ("--example", "task", "--value", "reward")


def rewards(shift, n_repeats, *, seed, run_sd=0.0, n_tasks=N_TASKS):
    """Return pass or fail of each repeat; tasks have the same difficulty for all seeds."""
    difficulty = np.random.default_rng(99).normal(0, 1.5, n_tasks)
    rng = np.random.default_rng(seed)
    own = run_sd * rng.standard_normal((n_repeats, 1))
    chance = 1 / (1 + np.exp(-difficulty - shift - own))
    return (rng.random(chance.shape) < chance).astype(float)


def write(path, numbers, repeat):
    """Write a long table of numbers (repeats, tasks)."""
    repeats, tasks = np.indices(numbers.shape).reshape(2, -1)
    pa.csv.write_csv(pa.table({repeat: repeats, "task": tasks, "reward": numbers.ravel()}), path)
    return path


@pytest.fixture
def decide(tmp_path):
    def call(baseline, candidate, **options):
        return sp.decide(baseline, candidate, ledger=tmp_path / "loop.jsonl", **options)

    return call


# ------------------------------------------------------------------------------ the command line


@pytest.mark.parametrize(
    ("answer", "code", "idea"),
    [("keep", 0, (1.8, 2)), ("discard", 1, (-0.5, 1)), (RUN_MORE, 3, (0.6, 1))],
)
def test_trials_of_one_model_are_decided_over_tasks(answer, code, idea, tmp_path, seedproof):
    base = write(tmp_path / "base.csv", rewards(0.0, 5, seed=1), "trial")
    new = write(tmp_path / "idea.csv", rewards(*idea, seed=2), "trial")
    command = ("decide", base, new, *COLUMNS, "--ledger", "loop.jsonl")

    exit_code, out, err = seedproof(*command, "--json")

    content = json.loads(out)
    assert (exit_code, err, content["answer"]) == (code, "", answer)
    assert (content["metric"], content["repeats"], content["max_runs"]) == ("mean", "trials", 5)
    assert content["effect"]["over"] == "examples"
    exit_code, out, _ = seedproof(*command)
    assert exit_code == code
    assert "trial" in out
    assert max(map(len, out.splitlines())) <= 80


def test_retrained_runs_are_not_kept_before_the_fifth(tmp_path, seedproof):
    base = write(tmp_path / "base.csv", rewards(0.0, 5, seed=1, run_sd=0.1), "run")
    better = rewards(2.5, 5, seed=2, run_sd=0.1)
    command = ("decide", base, tmp_path / "idea.csv", *COLUMNS, "--ledger", "loop.jsonl", "--json")

    answers = []
    for n_runs in (2, 4, 5):
        write(tmp_path / "idea.csv", better[:n_runs], "run")
        _, out, _ = seedproof(*command)
        answers.append((json.loads(out)["answer"], json.loads(out)["effect"]["over"]))

    assert answers == [(RUN_MORE, "examples")] * 2 + [("keep", "runs × examples")]


def test_single_numbers_per_run_are_decided(tmp_path, seedproof):
    rng = np.random.default_rng(0)
    rows = ["algorithm,seed,loss,return"]
    for arm, loss in (("sgd", 1.0), ("adam", 0.6), ("worse", 1.4)):
        rows += [f"{arm},{i},{loss + rng.normal() * 0.1},{rng.normal()}" for i in range(10)]
    path = tmp_path / "runs.csv"
    path.write_text("\n".join(rows) + "\n")
    command = ("decide", path, path, "--baseline-arm", "sgd", "--ledger", "loop.jsonl", "--json")

    contents = [json.loads(seedproof(*command, "--arm", arm)[1]) for arm in ("adam", "worse")]

    assert [content["answer"] for content in contents] == ["keep", "discard"]
    assert {content["metric"] for content in contents} == {"loss"}
    assert all(content["lower_is_better"] for content in contents)
    assert contents[0]["effect"]["over"] == "runs"
    other = ("--arm", "adam", "--metric", "return", "--ledger", "other.jsonl")
    assert json.loads(seedproof(*command, *other)[1])["lower_is_better"] is False


# ------------------------------------------------------------------------------------ the rules


def test_lower_is_better_turns_the_answer_and_is_a_setting_of_the_loop(decide):
    base, idea = rewards(0.0, 5, seed=1), rewards(1.8, 3, seed=2)

    assert decide(base, idea, trials=True, lower_is_better=True).answer == "discard"
    with pytest.raises(OptionError, check=WithFields(option="lower_is_better")):
        decide(base, idea, trials=True)


def test_decision_on_trials_stands_when_trials_are_added(decide):
    base, idea = rewards(0.0, 5, seed=1), rewards(1.8, 5, seed=2)

    first, again = (decide(base, idea[:n], trials=True) for n in (2, 5))

    assert first.answer == again.answer == "keep"
    assert again.result.is_recorded
    assert (again.result.n_runs, again.result.n_candidate) == (2, 5)


def test_kept_trials_need_new_ones_to_become_the_baseline(decide):
    idea, next_idea = rewards(1.8, 5, seed=2), rewards(4.0, 2, seed=3)
    kept = decide(rewards(0.0, 5, seed=1), idea[:2], trials=True)

    too_early, ready = (decide(idea[:n], next_idea, trials=True) for n in (2, 4))

    assert kept.answer == "keep"
    assert (too_early.answer, too_early.more_runs) == (RUN_MORE, (0, 2))
    assert ready.result.n_selecting == 2
    assert ready.result.level is not None


def test_errors_against_targets_are_decided_and_their_mean_is_refused(decide):
    targets = np.random.default_rng(0).normal(20, 5, 200)
    rng = np.random.default_rng(1)
    base, idea = (targets + rng.normal(0, sd, (5, 200)) for sd in (2.0, 1.0))

    report = decide(base, idea, targets=targets)

    assert (report.result.settings.metric, report.answer) == ("mae", "keep")
    with pytest.raises(OptionError, check=WithFields(metric="mean")):
        sp.decide(base, idea, targets=targets, metric="mean", ledger="other.jsonl")


@pytest.mark.parametrize(
    ("metric", "options", "n_trials"),
    [("pass^3", {}, 3), ("flip_rate", {}, 5), ("flip_rate@0.5", {"thresholds": 0.5}, 5)],
)
def test_other_metrics_of_trials_decide(metric, options, n_trials, decide):
    """All tasks of the candidate are solved in every trial."""
    base, idea = rewards(0.0, 5, seed=1), np.ones((n_trials, N_TASKS))
    idea[np.arange(n_trials), np.arange(n_trials)] = 0.0

    report = decide(base, idea, metric=metric, trials=True, **options)

    assert report.answer == "keep"


def test_metric_of_several_trials_waits_for_them(decide):
    report = decide(rewards(0.0, 5, seed=1), rewards(1.8, 2, seed=2), metric="pass^3", trials=True)

    assert (report.answer, report.more_runs) == (RUN_MORE, (1, 0))


def test_trials_of_few_tasks_are_too_few_to_identify_a_candidate(decide):
    """Ten tasks that all pass are likely to be those of another candidate as well."""
    base = rewards(0.0, 5, seed=1, n_tasks=10)

    report = decide(base, np.ones((1, 10)), trials=True)

    assert (report.answer, report.reason, report.more_runs) == (RUN_MORE, "too few runs", (4, 0))


def test_gain_of_numbers_of_any_size_may_exceed_one(decide):
    rng = np.random.default_rng(0)
    base, idea = 100 + rng.normal(0, 1, (5, 50)), 102 + rng.normal(0, 1, (5, 50))

    assert decide(base, idea, trials=True, min_gain=5.0).answer == "keep"
    with pytest.raises(OptionError, check=WithFields(option="min_gain")):
        decide(base, idea, trials=True, metric="mean_difference", min_gain=5.0)


def test_single_run_of_one_number_needs_more(decide):
    base = pa.table({"seed": range(5), "loss": [0.31, 0.42, 0.23, 0.34, 0.45]})
    idea = pa.table({"seed": [0], "loss": [0.2]})

    report = decide(base, idea)

    assert (report.answer, report.more_runs) == (RUN_MORE, (4, 0))


# ---------------------------------------------------------------------- error under repeated looks


@pytest.mark.skipif(not FULL, reason="a simulation of several minutes")
@pytest.mark.parametrize(
    ("run_sd", "steps"), [(0.0, (1, 2, 3, 5)), (0.3, (2, 5, 10, 20))], ids=["trials", "runs"]
)
def test_candidates_that_are_not_better_are_kept_within_the_level(run_sd, steps, tmp_path):
    """However often they are looked at, and even if each is better on tasks of its own."""
    n_studies, n_kept, level = 400, 0, 0.0
    for study in range(n_studies):
        rng = np.random.default_rng(study)
        base, idea = (
            rewards(
                0.3 * rng.standard_normal(N_TASKS), steps[-1], seed=[study, side], run_sd=run_sd
            )
            for side in (1, 2)
        )
        ledger = tmp_path / f"{study}.jsonl"
        options = {"false_keeps": 0.5, "max_runs": steps[-1], "trials": run_sd == 0.0}
        for n_repeats in steps:
            report = sp.decide(base, idea[:n_repeats], ledger=ledger, **options)
        n_kept += report.answer == "keep"
        level = report.result.level
    error = np.sqrt(level * (1 - level) / n_studies)
    assert n_kept / n_studies <= level + 2 * error
