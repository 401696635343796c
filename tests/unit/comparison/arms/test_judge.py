"""A primary metric and the quality that guards it; no verdict over an error."""

from dataclasses import replace
from functools import partial
from types import SimpleNamespace

import numpy as np
import pyarrow as pa
import pytest
from scipy import stats

import seedproof as sp
from seedproof.comparison.arms.judge import judge_together, primary_metric, without_verdicts
from seedproof.comparison.arms.kinds import answer_kind
from seedproof.comparison.arms.result import ArmPair, ComparedArm, MatchedRate
from seedproof.errors import OptionError
from seedproof.metrics.statistic import MeanOverRuns
from seedproof.predictions.checks import Check, errors_of
from seedproof.records.schema import Kind
from seedproof.report.comparison.headline import headline
from seedproof.report.comparison.sentences import findings
from seedproof.stats.effect import Effect
from seedproof.stats.families import MetricContrast
from seedproof.stats.intervals import PLAIN
from seedproof.testing.errors import WithFields

N_RUNS, COPIES = 6, "duplicate-runs"
CLASSES = ("flip_rate", "accuracy", "nll", "ece", "accuracy_sd", "macro_f1")
NUMBERS = ("mean_difference", "mae", "mean", "rmse", "bias", "pass^2")
LISTS = ("first_item_flips", "recall@5", "mrr", "ndcg@5", "ndcg@10")
SETS = ("set_flips", "precision", "micro_f1")


@pytest.mark.parametrize(
    ("kind", "primary", "compared", "better", "quality"),
    [
        (Kind.LABELS, "flip_rate", CLASSES, "neither", "accuracy"),
        (Kind.PROBS, "accuracy_sd", CLASSES, "neither", "accuracy"),
        # Probabilities may get better while answers get worse.
        *((Kind.PROBS, name, CLASSES, "neither", "accuracy") for name in ("nll", "ece", "brier")),
        (Kind.LABELS, "accuracy", CLASSES, "neither", None),
        (Kind.LABELS, "macro_f1", CLASSES, "neither", None),
        (Kind.LABELS, "flip_rate", ("flip_rate",), "neither", None),  # no labels
        (Kind.TEXTS, "flip_rate", ("flip_rate", "accuracy"), "neither", "accuracy"),
        (Kind.NUMBERS, "mean_difference", NUMBERS, "neither", "mae"),
        (Kind.NUMBERS, "mean_difference", ("mean_difference", "mean"), "higher", "mean"),
        (Kind.NUMBERS, "mean_difference", ("mean_difference", "mean"), "neither", None),
        (Kind.NUMBERS, "mean", NUMBERS, "neither", "mae"),  # of predictions with targets
        (Kind.NUMBERS, "mean", ("mean",), "higher", None),
        (Kind.NUMBERS, "rmse", NUMBERS, "neither", None),
        (Kind.NUMBERS, "bias", NUMBERS, "neither", "mae"),
        (Kind.NUMBERS, "pass^2", NUMBERS, "higher", None),
        (Kind.RANKINGS, "first_item_flips", LISTS, "neither", "ndcg@5"),
        (Kind.RANKINGS, "first_item_flips", LISTS[:3], "neither", "mrr"),
        (Kind.RANKINGS, "ndcg@10", LISTS, "neither", None),
        (Kind.SETS, "set_flips", SETS, "neither", "micro_f1"),
        (Kind.SETS, "set_flips", SETS[:2], "neither", "precision"),
    ],
)
def test_a_primary_metric_that_says_nothing_of_quality_is_guarded(
    kind, primary, compared, better, quality
):
    """The first usual quality of the kind that is compared, and has a direction."""
    assert answer_kind(kind).quality(primary, compared, better=better) == quality


def test_a_primary_metric_that_is_not_compared_says_why():
    """It leaves out examples with few trials, or was not measured."""
    choose = partial(primary_metric, measured=["mean"], usual=("mae", "mean"))

    assert choose(None, left_out={"flip_rate"}) == choose("mean") == "mean"
    with pytest.raises(OptionError, check=WithFields(metric="flip_rate", metrics=("mean",))):
        choose("flip_rate", left_out={"flip_rate"})
    with pytest.raises(OptionError, check=WithFields(primary="flip_rate", metrics=("mean",))):
        choose("flip_rate")


def contrast(metric, gain, arm="arm"):
    """Two arms of runs whose values differ by a gain."""
    values = 0.5 + 0.01 * stats.norm.ppf((np.arange(N_RUNS) + 0.5) / N_RUNS)
    sides = MeanOverRuns(values), MeanOverRuns(values + gain)
    return MetricContrast(metric, ("none", arm), *sides, is_paired=False, n_runs=(N_RUNS,) * 2)


def compared_arm(name="arm", **gains):
    contrasts = {metric: contrast(metric, gain, name) for metric, gain in gains.items()}
    return ComparedArm(name, SimpleNamespace(), contrasts=contrasts)


def judged(arms, primary, quality, level=PLAIN):
    return judge_together(arms, (), primary, quality=quality, level=level, margins={})


def test_primary_metric_and_quality_share_the_level_equally():
    """By hand: t of 10 degrees of freedom, 2.5 % / 2 outside on each side."""
    arm = compared_arm(accuracy=0.0, macro_f1=0.0, balanced_accuracy=0.0)

    result = judged([arm], "macro_f1", "accuracy")

    effects = result.arms[0].effects
    variance = 2 * np.var(arm.contrasts["accuracy"].base.values, ddof=1) / N_RUNS
    half_width = stats.t.ppf(1 - 0.0125, 10) * np.sqrt(variance)
    for metric in ("macro_f1", "accuracy"):
        assert not effects[metric].exploratory
        assert effects[metric].high - effects[metric].low == pytest.approx(2 * half_width)
        assert effects[metric].confidence == result.confidence == pytest.approx(0.975)
    assert effects["balanced_accuracy"].exploratory
    assert effects["balanced_accuracy"].confidence == pytest.approx(0.95)
    assert result.quality == "accuracy"


@pytest.mark.parametrize("quality", [None, "mae"])
def test_a_primary_metric_alone_keeps_the_whole_level(quality):
    """Also if no arm has the quality."""
    result = judged([compared_arm(accuracy=0.0, macro_f1=0.0)], "accuracy", quality)

    assert (result.quality, result.confidence) == (None, pytest.approx(0.95))
    assert result.arms[0].effects["macro_f1"].exploratory


def test_matched_rates_leave_no_quality_to_judge():
    """Accuracy follows the rate of the arm, so that it has no interval."""
    arm = replace(compared_arm(accuracy=0.0, macro_f1=0.0), matched_rate=MatchedRate("b", 0, 1, 1))

    result = judged([arm], "flip_rate", "accuracy")

    assert result.quality is None
    assert result.arms[0].effects["accuracy"].low is None


def test_a_loss_of_quality_is_shown_where_it_was_one_of_many_rows():
    """The loss is shown at 97.5 %, and hidden among 30 exploratory rows."""
    others = {f"recall@{k}": 0.0 for k in range(1, 30)}
    arm = compared_arm(accuracy=-0.018, macro_f1=0.0, **others)

    guarded, unguarded = (judged([arm], "macro_f1", name) for name in ("accuracy", None))

    assert guarded.arms[0].effects["accuracy"].verdict == "worse"
    assert unguarded.arms[0].effects["accuracy"].verdict == "no difference shown"


# ------------------------------------------------------------------------------------- errors


def check(name="duplicate-runs", severity="error", **fields):
    return Check(name, severity, (), "All runs are equal.", "Remove the copies.", **fields)


@pytest.mark.parametrize(
    ("error", "arms"),
    [
        (check(arm="b"), {"b"}),
        (check(arm="none"), {"b", "c"}),  # the baseline
        (check(), {"b", "c"}),  # the whole input
        (check("identical-arms", arms=("b", "none")), {"b", "c"}),
        (check("identical-arms", arms=("b", "other")), {"b"}),
        (check("missing-runs", arm="planned"), set()),  # no arm of the comparison
        (check(severity="warning", arm="b"), set()),
    ],
)
def test_an_error_concerns_its_arms_and_one_of_the_baseline_all(error, arms):
    errors = errors_of([error], ["b", "c"], "none")

    assert errors == dict.fromkeys(arms, error)


def test_no_effect_has_a_verdict_over_an_error():
    """Values and intervals stay, of predictions, explanations and pairs; the note has the check."""
    effect = Effect("accuracy", "difference", 0.1, 0.05, 0.2, "runs", 0.1, "better")
    same = replace(effect, value=0.0, low=-0.001, high=0.001, verdict="equivalent")
    arms = [
        replace(
            compared_arm(name),
            effects={"accuracy": effect, "f": same},
            explanations={"lime": {"x": effect}},
        )
        for name in ("b", "c")
    ]
    pairs = [ArmPair("c", "b", is_paired=False, effects={"accuracy": effect})]

    (b, c), (pair,) = without_verdicts(arms, pairs, {"b": check(arm="b")})

    silenced = [*b.effects.values(), *b.explanations["lime"].values(), *pair.effects.values()]
    assert {(x.verdict, x.note.code, x.detectable) for x in silenced} == {
        ("not tested", "duplicate-runs", None)
    }
    assert not any(x.is_shown for x in silenced)
    assert (b.effects["accuracy"].low, b.effects["accuracy"].high) == (0.05, 0.2)
    assert c == arms[1]


def answers(n_runs=6, seed=0, accuracy=0.8):
    rng = np.random.default_rng(seed)
    return (rng.random((n_runs, 300)) > accuracy).astype(int)


def test_an_arm_of_copies_has_no_verdict_and_others_have():
    """From records and from saved reports; one headline names the check and the remedy."""
    labels = np.zeros(300, int)
    arms = {"none": answers(), "calm": answers(seed=1, accuracy=0.95)}
    arms["copies"] = np.repeat(answers(1, seed=2, accuracy=0.95), 6, axis=0)
    inputs = {name: sp.Predictions.from_arrays(x, labels=labels) for name, x in arms.items()}
    reports = {name: sp.measure(x) for name, x in inputs.items()}

    for result in (sp.compare(inputs), sp.compare(reports)):
        verdicts = {name: e.verdict for name, e in result.effects("copies").items()}
        assert set(verdicts.values()) == {"not tested"}
        assert result.effect("calm", "accuracy").verdict == "better"
        assert result.effect("copies", "accuracy").value > 0.1
        message = headline(result.comparison).fields["untrusted"]
        assert message.code == "untrusted-input"
        assert (message.fields["arms"].names, message.fields["check"]) == (("copies",), COPIES)
        assert {
            arm
            for finding in findings(result.comparison)
            for sentence in finding.messages
            if sentence.code == "no-verdict"
            for arm in sentence.fields["arms"].names
        } <= {"calm"}
        (copies,) = [x for x in result.checks if x.arm == "copies" and x.name == COPIES]
        assert message.fields["remedy"][1:] == copies.remedy[1:]


def test_an_error_of_the_baseline_leaves_no_verdict_at_all():
    arms = {"none": np.repeat(answers(1), 6, axis=0), "calm": answers(seed=1)}

    result = sp.compare(arms, labels=np.zeros(300, int))

    assert {e.verdict for e in result.effects("calm").values()} == {"not tested"}
    assert headline(result.comparison).code == "untrusted-input"
    codes = [x.code for finding in findings(result.comparison) for x in finding.messages]
    assert "no-verdict" not in codes  # the headline says it
    assert "Equivalent" not in str(result)


def test_single_numbers_over_an_error_have_no_verdict():
    """Copies of one run in an arm: no verdict, with the check and not the interval as the reason."""
    seeds = list(range(5)) * 2
    table = pa.table(
        {
            "arm": ["a"] * 5 + ["b"] * 5,
            "seed": seeds,
            "score": [0.5, 0.51, 0.52, 0.49, 0.48] + [0.7] * 5,
        }
    )

    report = sp.compare_scalars(table)

    assert report["b"]["score"].verdict == "not tested"
    assert report["b"]["score"].note.code == COPIES
    assert COPIES in report._overview(()).headline
