"""Rates near 0 and 1, means of scores, and differences of few examples, as users ask for them."""

import numpy as np
import pytest

import seedproof as sp

load = sp.Predictions.from_arrays


def trials(numbers, **further):
    """Trials of one model."""
    return load(np.asarray(numbers, dtype=np.float64), trials=True, **further)


def with_failures(n_failing, *, n_trials=4, n_tasks=200, failed=slice(None)):
    """Trials whose first tasks fail, in some or all of the trials."""
    passed = np.ones((n_trials, n_tasks))
    passed[failed, :n_failing] = 0.0
    return trials(passed)


@pytest.mark.parametrize("failed", [slice(None), 0])
def test_each_failing_task_lowers_a_pass_rate_a_little(failed):
    """Also the first one, in all trials or in one of them."""
    figures = [sp.measure(with_failures(n, failed=failed)) for n in range(5)]

    for metric in ("mean", "pass^2", "pass^4"):
        lows = [figure[metric].low for figure in figures]
        assert lows == sorted(lows, reverse=True)
        assert lows[-1] > 0.94


def test_one_flaky_task_leaves_flips_rare():
    """At most 3 % of the pairs of trials differ."""
    flips = sp.measure(with_failures(1, failed=0))["flip_rate"]

    assert 0.0 < flips.low < flips.value < flips.high < 0.03


def test_shares_of_trials_have_intervals_over_tasks_and_of_runs_none():
    """Tasks that would come out so in as many trials; runs may differ as a whole."""
    passed = (np.random.default_rng(1).random((3, 80)) < 0.5).astype(float)

    of_trials, of_runs = sp.measure(trials(passed)), sp.measure(load(passed))

    for metric in ("solid_share", "flaky_share", "broken_share"):
        figure = of_trials[metric]
        assert figure.low < figure.value < figure.high
        assert figure.over == "examples"
        assert of_runs[metric].value == figure.value
        assert of_runs[metric].low is None
    assert of_trials["solid_share"].low == pytest.approx(of_trials["pass^3"].low)


def test_a_share_of_trials_decides_a_gate_by_its_interval():
    """Three broken tasks of 200 are at most 6 % at every look, but may be more than 2 %."""
    outcomes = [
        sp.gate(with_failures(3), max={"broken_share": limit}, allow=["duplicate-runs"]).outcome
        for limit in (0.08, 0.02)
    ]

    assert outcomes == ["pass", "investigate"]


@pytest.mark.parametrize("is_of_trials", [False, True])
def test_means_of_scores_stay_between_0_and_1(is_of_trials):
    """With a single lower score, and narrow."""
    scores = np.ones((5, 40))
    scores[:, 0] = 0.3
    scores += np.random.default_rng(2).uniform(-0.01, 0.0, scores.shape)

    mean = sp.measure(load(scores, trials=is_of_trials))["mean"]

    assert 0.85 < mean.low < mean.high <= 1.0


def test_a_difference_of_pass_rates_is_at_least_minus_one():
    """Everything passed, now nothing does."""
    old, new = np.ones((4, 6)), np.zeros((4, 6))
    old[0, 0] = new[0, 1] = 0.5

    effect = sp.compare({"old": trials(old), "new": trials(new)}, baseline="old").effect(
        "new", "mean"
    )

    assert effect.low == -1.0
    assert effect.verdict != "no difference shown"


def classes(wrong):
    """Predictions of class 0, which is right, or of class 1."""
    return load(np.asarray(wrong, dtype=np.int64), labels=np.zeros(np.shape(wrong)[1], np.int64))


def test_twenty_examples_show_no_equivalence_of_accuracies():
    """Two models that differ on no example, though runs are not equal."""
    wrong = np.zeros((5, 20))
    wrong[np.arange(5), np.arange(5)] = 1
    arms = {"a": classes(wrong), "b": classes(wrong[:, ::-1])}

    effect = sp.compare(arms, baseline="a", primary="accuracy").effect("b", "accuracy")
    change = sp.compare_versions(arms["a"], arms["b"])["accuracy_change"]

    assert effect.verdict == "no difference shown"
    # Student's quantile with 19 degrees of freedom, times half an example each way.
    assert effect.high == -effect.low > 2.09 / 20
    assert change.high > 2.09 / 20


def test_shares_of_weighted_trials_in_clusters_count_each_task_once(tmp_path):
    """Weights change means, not the shares of tasks nor their intervals."""
    rng = np.random.default_rng(3)
    passed = (rng.random((3, 60)) < rng.beta(1, 1, 60)).astype(float)
    lines = ["example,trial,value,family,weight,once"]
    lines += [
        f"t{task},{trial},{passed[trial, task]},f{task // 4},{1 + task % 5},1"
        for task in range(60)
        for trial in range(3)
    ]
    (tmp_path / "trials.csv").write_text("\n".join(lines))

    weighted, plain = (
        sp.measure(tmp_path / "trials.csv", clusters="family", weight=column)
        for column in ("weight", "once")
    )

    assert weighted["mean"].value != pytest.approx(plain["mean"].value, rel=1e-3)
    for metric in ("solid_share", "flaky_share", "broken_share"):
        figures = [(x[metric].value, x[metric].low, x[metric].high) for x in (weighted, plain)]
        assert figures[0] == pytest.approx(figures[1])
        assert weighted[metric].over == "clusters"


@pytest.mark.parametrize("compare", ["arms", "versions"])
def test_a_difference_is_as_wide_whichever_arm_has_partial_scores(compare):
    """Half an example each way also counts if only one of two arms is pass or fail."""
    passed = np.ones((3, 12))
    passed[:, :2] = 0.0
    partial = passed.copy()
    partial[:, 2] = 0.75
    outcomes, scores = trials(passed), trials(partial)

    if compare == "arms":
        forth, back = (
            sp.compare({"a": a, "b": b}, primary="mean").effect("b", "mean")
            for a, b in ((outcomes, scores), (scores, outcomes))
        )
    else:
        forth, back = (
            sp.compare_versions(a, b)["mean_change"]
            for a, b in ((outcomes, scores), (scores, outcomes))
        )

    assert (forth.low, forth.high) == pytest.approx((-back.high, -back.low))
    # One of twelve tasks differs, by a quarter: half a task in each direction says more.
    assert forth.high - forth.low > 0.9 * 2 * 2.2 / 12
