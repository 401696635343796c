"""Trials and runs that a difference of two means of numbers needs."""

import json

import numpy as np
import pytest

import seedproof as sp
from seedproof.errors import OptionError

N_TASKS = 100


def outcomes(rng, chance, n_trials):
    return (rng.random((n_trials, len(chance))) < chance).astype(float)


def pilot(n_trials=4, n_tasks=N_TASKS, seed=0):
    rng = np.random.default_rng(seed)
    return outcomes(rng, rng.beta(1, 1, n_tasks), n_trials)


def test_pilot_of_trials_separates_noise_from_tasks():
    plan = sp.plan(pilot=pilot(n_trials=20, n_tasks=5000), trials=True, detect=0.05)

    # Chances are uniform: p·(1 − p) is 1/6 on average, and they have the variance 1/12.
    assert plan.figures.sd == pytest.approx(np.sqrt(1 / 6 / 5000), rel=0.03)
    assert plan.figures.examples["mean"].variance == pytest.approx(1 / 12 / 5000, rel=0.05)


def test_any_number_of_trials_may_be_enough():
    plan = sp.plan(pilot=pilot(), trials=True, detect=0.5)

    assert plan.answers[0].n_seeds == 1
    assert "trial" in plan.text()
    assert sp.plan(pilot=pilot(), trials=True, seeds=2).reaches[0].n_seeds == 2


def test_too_few_tasks_are_named():
    (answer,) = sp.plan(pilot=pilot(), trials=True, detect=0.02).answers

    assert answer.n_seeds is None
    assert answer.n_examples > 10 * N_TASKS


def test_two_arms_with_the_same_tasks_need_fewer_trials():
    rng = np.random.default_rng(1)
    chance = rng.beta(1, 1, N_TASKS)
    arms = {name: outcomes(rng, chance, 6) for name in ("old", "new")}

    alone = sp.plan(pilot=arms["old"], trials=True, detect=0.15)
    together = sp.plan(pilot=sp.compare(arms, trials=True), detect=0.15)

    assert together.figures.examples["mean"].correlation > 0.8
    assert together.answers[0].n_seeds < (alone.answers[0].n_seeds or 1000)


def test_planned_trials_show_the_difference_with_the_promised_power():
    rng = np.random.default_rng(2)
    chance = rng.beta(2, 2, N_TASKS) * 0.8
    first = {name: outcomes(rng, chance, 20) for name in ("old", "new")}
    n_trials = sp.plan(pilot=sp.compare(first, trials=True), detect=0.1).answers[0].n_seeds

    shown = 0
    for _ in range(100):
        drawn = rng.beta(2, 2, N_TASKS) * 0.8
        arms = {
            "old": outcomes(rng, drawn, n_trials),
            "new": outcomes(rng, drawn + 0.1, n_trials),
        }
        report = sp.compare(arms, trials=True, metrics=["mean"])
        shown += report.effect("new", "mean").is_shown

    assert 0.68 <= shown / 100 <= 0.95  # 0.8, with a standard error of 0.04


def test_pilot_of_runs_needs_five_and_takes_any_size():
    rng = np.random.default_rng(3)
    quality = rng.normal(0, 2.0, (8, 1))
    numbers = 100 + rng.normal(0, 5, 300) + quality + rng.normal(0, 1, (8, 300))

    plan = sp.plan(pilot=numbers, detect=3.0)

    assert plan.answers[0].n_seeds >= 5
    assert plan.figures.sd == pytest.approx(numbers.mean(axis=1).std(ddof=1))
    with pytest.raises(OptionError):
        sp.plan(pilot=numbers, detect_flip_ratio=0.5)
    with pytest.raises(OptionError):
        sp.plan(pilot=pilot(), trials=True, detect_sd_ratio=2.0)


def test_command_reads_a_pilot_of_trials(seedproof, tmp_path):
    rows = [
        f"{task},{trial},{value:g}"
        for trial, of_trial in enumerate(pilot())
        for task, value in enumerate(of_trial)
    ]
    path = tmp_path / "pilot.csv"
    path.write_text("\n".join(["task,trial,reward", *rows]), encoding="utf-8")

    columns = ["--example", "task", "--value", "reward", "--detect", "0.5"]
    code, out, err = seedproof("plan", "--pilot", path, *columns, "--json")

    assert code == 0, err
    summary = json.loads(out)
    assert summary["pilot"]["are_trials"]
    assert summary["answers"][0]["n_seeds"] == 1


def test_more_tasks_may_replace_more_trials():
    """As many as the same plan with that many tasks finds sufficient."""
    arms = {name: pilot(seed=seed, n_trials=8) for seed, name in enumerate(("old", "new"))}
    plan = sp.plan(pilot=sp.compare(arms, trials=True), detect=0.15, example_correlation=0.9)
    (answer,) = plan.answers

    n_tasks = answer.n_examples
    more = pilot(n_trials=8, n_tasks=n_tasks)
    again = sp.plan(pilot=more, trials=True, detect=0.15, example_correlation=0.9)

    assert again.answers[0].n_seeds == pytest.approx(8, abs=4)
