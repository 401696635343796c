"""The headline groups arms by what they gain and what they lose."""

from dataclasses import replace

import numpy as np
import pytest

import seedproof as sp
from seedproof.report.comparison.figures import build_figures
from seedproof.report.comparison.groups import MIXED
from seedproof.report.comparison.headline import headline, in_sentence
from seedproof.report.comparison.reading import brackets
from seedproof.report.next_steps import after_comparing
from seedproof.stats.effect import Effect

NB = "\N{NO-BREAK SPACE}"
N_EXAMPLES = 500
LABELS = np.random.default_rng(0).integers(0, 2, N_EXAMPLES)


def runs_of(accuracy, noise, *, seed, n_runs=8):
    """Return predicted classes of runs that are right on the easiest examples, with noise."""
    difficulty, rng = np.random.default_rng(1).random(N_EXAMPLES), np.random.default_rng(seed)
    rows = []
    for _ in range(n_runs):
        rank = np.argsort(np.argsort(difficulty + noise * rng.standard_normal(N_EXAMPLES)))
        rows.append(np.where(rank < accuracy * N_EXAMPLES, LABELS, 1 - LABELS))
    return np.array(rows)


@pytest.fixture(scope="module")
def report():
    """A steadier arm, one that loses accuracy for it, and one that pays for accuracy with flips."""
    arms = {
        "none": runs_of(0.85, 0.08, seed=2),
        "calm": runs_of(0.85, 0.03, seed=3),
        "long": runs_of(0.70, 0.01, seed=4),
        "wild": runs_of(0.93, 2.0, seed=5),
    }
    return sp.compare(arms, labels=LABELS)


def groups(message):
    """Return the parts of a headline: code, arms, and code of the change in quality."""
    return [
        (
            part.code,
            part.fields["arms"].fields["arms"].names if "arms" in part.fields else (),
            getattr(part.fields.get("change"), "code", None),
        )
        for part in message.fields["parts"].parts
    ]


def test_headline_has_three_groups(report):
    """From records, through the public call: each group has its verb and its amount."""
    message = headline(report.comparison)

    assert (report.comparison.primary, report.comparison.quality) == ("flip_rate", "accuracy")
    assert groups(message) == [
        ("cuts-flips", ("calm",), None),
        ("flips-and-quality-change", ("wild",), "gains-points"),
        ("flips-and-quality-change", ("long",), "loses-points"),
    ]
    long = message.fields["parts"].parts[-1].fields
    lost = 100 * abs(report.effect("long", "accuracy").value)
    assert str(long["change"].fields["size"]) == f"{lost:.1f}{NB}points"
    assert long["amount"].code in {"fraction", "percentage"}
    assert report.view().headline == str(message)


def test_text_and_page_mark_the_arm_that_is_steadier_and_worse(report):
    """In 80 columns, on the page and in the chart; the JSON has the verdicts of each metric."""
    text = str(report)
    marked = MIXED["steadier", "worse"]
    (row,) = [line for line in text.splitlines() if line.startswith("  long") and marked in line]

    assert row.endswith(marked)
    assert max(map(len, text.splitlines())) <= 80
    assert marked in report.to_html()
    points = next(x for x in build_figures(report.comparison) if x.name == "stability_accuracy")
    kinds = {row["arm"]: row["kind"] for row in points.rows}
    assert (kinds["calm"], kinds["long"]) == ("good", "bad")
    assert report.effect("long", "flip_rate").verdict == "steadier"


def test_arm_that_loses_accuracy_is_never_advised(report):
    steps = {x.code: x for x in after_comparing(report.comparison, has_cautions=False)}

    assert steps["adopt"].fields["arm"] == "calm"


def test_primary_rows_have_the_confidence_that_is_printed(report):
    """Two metrics of three arms: at most 1 − 0.05/6 each."""
    message = brackets(report.comparison)

    assert report.summary()["quality"] == "accuracy"
    assert 0.975 < report.comparison.confidence <= 1 - 0.05 / 6 + 1e-12
    assert message.fields["percent"] == pytest.approx(100 * report.comparison.confidence)


def test_saved_reports_have_the_same_groups(report):
    """Their intervals are wider, and each of six is judged at 1 − 0.05/6."""
    arms = {
        "none": runs_of(0.85, 0.08, seed=2),
        "calm": runs_of(0.85, 0.03, seed=3),
        "long": runs_of(0.70, 0.01, seed=4),
        "again": runs_of(0.85, 0.08, seed=6),
    }
    saved = sp.compare({name: sp.measure(x, labels=LABELS) for name, x in arms.items()})

    assert saved.comparison.confidence == pytest.approx(1 - 0.05 / 6)
    assert saved.comparison.quality == report.comparison.quality
    assert ("flips-and-quality-change", ("long",), "loses-points") in groups(
        headline(saved.comparison)
    )
    assert not saved.effect("long", "accuracy").exploratory


def _verdicts(report, flips, accuracy):
    """The comparison of one arm with these verdicts."""
    arm = report.comparison.arms[0]
    sizes = {"steadier": 0.5, "less steady": 1.5}
    effects = {
        "flip_rate": Effect("flip_rate", "ratio", sizes.get(flips, 1.0), 0.4, 1.6, verdict=flips),
        "accuracy": Effect("accuracy", "difference", 0.131, 0.1, 0.2, verdict=accuracy),
    }
    return replace(report.comparison, arms=(replace(arm, effects=arm.effects | effects),))


OPEN = "no difference shown"


@pytest.mark.parametrize(
    ("flips", "accuracy", "expected"),
    [
        ("less steady", "worse", [("flips-and-quality-change", ("calm",), "loses-points")]),
        ("less steady", "better", [("flips-and-quality-change", ("calm",), "gains-points")]),
        (OPEN, "worse", [("quality-changes", ("calm",), "loses-points"), ("flips-open", (), None)]),
        (
            OPEN,
            "better",
            [("quality-changes", ("calm",), "gains-points"), ("flips-open", (), None)],
        ),
    ],
)
def test_a_shown_change_of_quality_is_in_the_headline(report, flips, accuracy, expected):
    assert groups(headline(_verdicts(report, flips, accuracy))) == expected


@pytest.mark.parametrize(
    ("flips", "accuracy", "code", "clause"),
    [
        ("steadier", "worse", "flips-cut", "accuracy-falls"),
        ("steadier", OPEN, "flips-cut", "no-accuracy-loss-shown"),
        ("steadier", "better", "flips-cut", "accuracy-rises"),
        ("less steady", OPEN, "flips-raised", None),
        (OPEN, OPEN, "no-difference-shown", None),
        ("too few runs", "too few runs", "too-few-runs", None),
    ],
)
def test_one_group_has_one_sentence(report, flips, accuracy, code, clause):
    message = headline(_verdicts(report, flips, accuracy))

    assert message.code == code
    assert getattr(message.fields.get("accuracy"), "code", None) == clause


def test_headline_on_another_primary_metric_names_the_loss():
    """The guard is judged with whatever metric says nothing of it."""
    arms = {"none": runs_of(0.85, 0.3, seed=2), "long": runs_of(0.70, 0.05, seed=4)}
    other = sp.compare(arms, labels=LABELS, primary="label_entropy_corrected")

    (part,) = groups(headline(other.comparison))
    assert other.comparison.quality == "accuracy"
    assert other.effect("long", "label_entropy_corrected").verdict == "steadier"
    assert part == ("quality-changes", ("long",), "loses-points")


def test_verdicts_on_one_contrast_never_contradict_each_other(report):
    """An equivalent arm and one without a verdict are named apart, in one headline."""
    arms = [
        replace(arm, effects=arm.effects | {"flip_rate": effect, "accuracy": _open_accuracy()})
        for arm, effect in zip(
            report.comparison.arms,
            (
                Effect("flip_rate", "ratio", 1.0, 0.95, 1.05, verdict="equivalent", margin=0.1),
                Effect("flip_rate", "ratio", 1.0, 0.95, 1.05, verdict="too few runs"),
                Effect("flip_rate", "ratio", None, verdict="not tested"),
            ),
            strict=True,
        )
    ]

    message = headline(replace(report.comparison, arms=tuple(arms)))

    parts = [(x.code, x.fields["arms"].names) for x in message.fields["parts"].parts]
    assert message.code == "several-open"
    assert parts == [
        ("arms-equivalent", ("calm",)),
        ("arms-of-few-runs", ("long",)),
        ("arms-not-tested", ("wild",)),
    ]


def _open_accuracy():
    return Effect("accuracy", "difference", 0.0, -0.1, 0.1, verdict=OPEN)


@pytest.mark.parametrize("n_runs", [2, 4, 5, 8])
def test_equal_arms_are_never_equivalent_and_without_a_verdict(n_runs):
    """Headline, sentence and table have the verdict of the effect, whatever the number of runs."""
    arms = {"none": runs_of(0.9, 0.02, seed=2), "same": runs_of(0.9, 0.02, seed=3)}
    report = sp.compare({name: x[:n_runs] for name, x in arms.items()}, labels=LABELS)

    for metric in ("flip_rate", "accuracy"):
        verdict = report.effect("same", metric).verdict
        (block,) = [x for x in report.view().key_blocks if x.metric == metric]
        (finding,) = [x for x in report.view().findings if x.metric == metric]
        assert block.cells[0][1].verdict == verdict
        assert [x.code for x in finding.messages][:1] == [verdict.replace(" ", "-")]
        assert (verdict == "too few runs") == (n_runs < 5)
    of_flips = report.effect("same", "flip_rate").verdict
    assert headline(report.comparison).code == of_flips.replace(" ", "-")


@pytest.mark.parametrize(("text", "inside"), [("Check", "check"), ("NDCG", "NDCG"), ("A", "a")])
def test_abbreviations_keep_their_capitals_in_a_sentence(text, inside):
    assert in_sentence(text) == inside
