"""Flips beyond noise and a change of quality are judged together; an error leaves no verdict."""

import numpy as np
import pytest
from scipy import stats

import seedproof as sp
from seedproof.report.versions import numeric
from seedproof.report.versions.sentences import headline, sentences

N_EXAMPLES, N_RUNS = 400, 6
LABELS = np.zeros(N_EXAMPLES, int)


def answers(accuracy, n_runs=N_RUNS, *, seed):
    """Runs that are wrong on independent examples."""
    rng = np.random.default_rng(seed)
    return (rng.random((n_runs, N_EXAMPLES)) > accuracy).astype(int)


OLD, SAME, BETTER = answers(0.8, seed=1), answers(0.8, seed=2), answers(0.9, seed=3)


def versions(old, new, *, labels=LABELS):
    return sp.compare_versions(old, new, labels=labels).comparison


@pytest.mark.parametrize(
    ("labels", "n_new", "largest"),
    [
        (None, N_RUNS, 0.05),
        (LABELS, N_RUNS, 0.025),
        (None, 1, 0.025),
        (LABELS, 1, 0.0125),  # one tail, and half of it
    ],
)
def test_quality_halves_the_largest_p_value_and_the_level(labels, n_new, largest):
    result = versions(OLD, SAME[:n_new], labels=labels)

    assert result.largest_p_value == pytest.approx(largest)
    assert result.quality == (None if labels is None else "accuracy_change")
    assert result.confidence == pytest.approx(0.95 if labels is None else 0.975)
    assert result.summary()["quality"] == result.quality


def test_a_p_value_between_both_thresholds_shows_no_change():
    """Only without labels, where answers that change are judged alone."""
    rng = np.random.default_rng(4)
    for _ in range(200):
        old, new = (answers(p, seed=rng.integers(2**31)) for p in (0.8, 0.815))
        alone = versions(old, new, labels=None)
        if 0.025 < alone.permutation_test.p_value <= 0.05 and not alone.whole.is_beyond:
            break
    guarded = versions(old, new)

    assert alone.permutation_test == guarded.permutation_test
    assert (alone.is_beyond, guarded.is_beyond) == (True, False)


def test_printed_interval_of_the_quality_is_the_judged_one():
    """By hand: Student's t over runs and examples, with 1.25 % on each side.

    Half an example is added in each direction.
    """
    change = versions(OLD, BETTER)["accuracy_change"]

    right = [1.0 - OLD, 1.0 - BETTER]
    runs = sum(x.mean(axis=1).var(ddof=1) / N_RUNS for x in right)
    examples = (right[1].mean(axis=0) - right[0].mean(axis=0)).var(ddof=1) / N_EXAMPLES
    noise = sum(x.var(axis=0, ddof=1).sum() / N_RUNS for x in right) / N_EXAMPLES**2
    examples += 1 / N_EXAMPLES**2
    t, z = (stats.t.ppf(0.9875, n - 1) for n in (N_RUNS, N_EXAMPLES))
    squared = max(t**2 * runs + z**2 * max(examples - noise, 0.0), z**2 * examples)
    assert change.high - change.value == pytest.approx(np.sqrt(squared), rel=1e-6)
    assert change.value - change.low == pytest.approx(np.sqrt(squared), rel=1e-6)


def test_flips_beyond_noise_are_wider_by_half_the_level():
    """By hand: each part of the variance with its quantile; without labels 2.5 % are outside."""
    alone, guarded = (versions(OLD, BETTER, labels=x) for x in (None, LABELS))
    widths = [x.whole.beyond.high - x.whole.beyond.value for x in (alone, guarded)]

    runs = stats.t.ppf(0.9875, N_RUNS - 1) / stats.t.ppf(0.975, N_RUNS - 1)
    examples = stats.norm.ppf(0.9875) / stats.norm.ppf(0.975)
    assert examples - 1e-9 <= widths[1] / widths[0] <= runs + 1e-9
    assert widths[1] > widths[0]
    assert guarded.whole.beyond == guarded["flip_rate_beyond"]
    assert guarded.whole.figures["flip_rate"] == alone.whole.figures["flip_rate"]


def test_classes_and_slices_keep_their_levels():
    """They are no primary figures: by class 95 % together."""
    result = versions(OLD, BETTER)
    alone = sp.compare_versions(
        OLD, BETTER, labels=None, slices={"half": np.repeat(["a", "b"], N_EXAMPLES // 2)}
    ).comparison
    sliced = sp.compare_versions(
        OLD, BETTER, labels=LABELS, slices={"half": np.repeat(["a", "b"], N_EXAMPLES // 2)}
    ).comparison

    assert result.whole.beyond != alone.whole.beyond
    assert [x.beyond for x in sliced.slices["half"]] == [x.beyond for x in alone.slices["half"]]


@pytest.mark.parametrize(
    ("old", "new", "side", "code"),
    [
        (OLD, BETTER, "better", "accuracy-rose"),
        (BETTER, OLD, "worse", "accuracy-fell"),
        (OLD, SAME, None, None),
    ],
)
def test_headline_begins_with_the_change_of_accuracy(old, new, side, code):
    result = versions(old, new)

    assert result.quality_side == side
    assert getattr(headline(result).fields.get("quality"), "code", None) == code


@pytest.mark.parametrize(
    ("options", "quality", "side"),
    [
        ({}, "mean_change", "better"),
        ({"lower_is_better": True}, "mean_change", "worse"),
        ({"targets": np.zeros(N_EXAMPLES)}, "error_change", "worse"),
        ({"targets": np.full(N_EXAMPLES, 9.0)}, "error_change", "better"),
    ],
)
def test_quality_of_numbers_is_their_error_or_their_mean(options, quality, side):
    """The mean only if a direction is better, the error if there are targets."""
    rng = np.random.default_rng(5)
    old, new = (rng.normal(mean, 1.0, (N_RUNS, N_EXAMPLES)) for mean in (3.0, 4.0))
    targets = options.pop("targets", None)
    extra = {} if targets is None else {"targets": targets}

    result = sp.compare_versions(old, new, **options, **extra).comparison

    assert (result.quality, result.quality_side) == (quality, side)
    assert result.confidence == pytest.approx(0.975)
    assert numeric.headline(result).code == f"mean-{side}"


def test_an_error_leaves_figures_and_no_verdict():
    """Neither of the whole nor of an example, a slice, or the stability."""
    copies = np.repeat(answers(0.4, 1, seed=6), N_RUNS, axis=0)
    slices = {"half": np.repeat(["a", "b"], N_EXAMPLES // 2)}
    report = sp.compare_versions(OLD, copies, labels=LABELS, slices=slices)
    result = report.comparison

    assert result.error.name == "duplicate-runs"
    assert (result.is_judged, result.is_beyond, result.whole.is_beyond) == (False, False, False)
    assert not any(x.is_beyond for x in (*result.by_class, *result.slices["half"]))
    assert (result.discoveries.n_found, len(result.unexplained)) == (0, 0)
    assert result.steadiness.verdict == "not tested"
    assert result.quality_side is None
    assert result["accuracy_change"].high < 0
    message = headline(result)
    assert (message.code, message.fields["check"]) == ("untrusted-input", "duplicate-runs")
    assert [x.code for x in sentences(result)] == [
        "change-untrusted",
        "steadiness-untrusted",
        "directions",
        "accuracy-untrusted",
        "examples-untrusted",
    ]
    assert " *" not in str(report)  # no group is marked


def test_an_error_of_numbers_leaves_no_verdict():
    rng = np.random.default_rng(7)
    old = rng.normal(0.0, 1.0, (N_RUNS, 50))
    report = sp.compare_versions(old, np.repeat(old[:1] + 5.0, N_RUNS, axis=0))

    assert report.comparison.error is not None
    assert numeric.headline(report.comparison).code == "untrusted-input"
    codes = [x.code for of_topic in numeric.sentences(report.comparison).values() for x in of_topic]
    assert codes == ["mean-untrusted", "numbers-untrusted", "examples-untrusted"]


def test_two_new_runs_of_numbers_have_no_verdict_in_headline_and_sentence_alike():
    """Intervals over examples alone say nothing of other runs."""
    rng = np.random.default_rng(8)
    report = sp.compare_versions(*(rng.normal(0, 1, (n, 60)) for n in (6, 2)))

    assert numeric.headline(report.comparison).code == "few-runs"
    changes = numeric.sentences(report.comparison)[numeric.CHANGES]
    assert [x.code for x in changes] == ["numbers-of-few-runs"]
