import pytest
from seedproof_reproductions.page.words import (
    changed,
    clauses,
    epochs,
    figure,
    in_all,
    judged,
    listed,
    paragraphs,
    table,
)

from seedproof.comparison.effect import Effect
from seedproof.measurement.intervals import Estimate

CUT = Effect("flip_rate", "ratio", 0.5, 0.3, 0.8, verdict="steadier")
RISE = Effect("flip_rate", "ratio", 1.5, 1.2, 1.9, verdict="less steady")
OPEN = Effect("flip_rate", "ratio", 0.9, 0.7, 1.2, verdict="no difference shown")
OPEN_CHANGE = "(−10\xa0% [−30, +20])."
FEW = Effect("accuracy_sd", "ratio", 0.7, verdict="too few runs")


def test_a_table_has_a_line_a_row():
    """Markdown that every renderer takes; an interval stays in one piece."""
    assert table(("", "a"), [("x", "1")]) == "|  | a |\n| --- | --- |\n| x | 1 |"
    assert table(("a",), [("1 [0, 2], x",)]).endswith("| 1 [0,\xa02], x |")


def test_figures_and_changes_have_units_and_intervals():
    """A share in percent, a ratio as a change, what is not there as a dash."""
    assert figure("flip_rate", Estimate(0.09, 0.06, 0.14)) == "9.0\xa0% [6.0, 14.0]"
    assert figure("flip_rate", None) == changed(None) == judged(None) == "–"
    assert changed(CUT) == "−50\xa0% [−70, −20]"
    assert judged(OPEN) == "−10\xa0% [−30, +20], no difference shown"
    assert judged(FEW) == "−30\xa0%, too few runs"


@pytest.mark.parametrize(
    ("metric", "estimate", "text"),
    [
        ("probability_sd", Estimate(0.0139, 0.0135, 0.0143), "0.0139 [0.0135, 0.0143]"),
        ("probability_sd", Estimate(0.014, 0.012, 0.015), "0.014 [0.012, 0.015]"),
        ("accuracy_sd", Estimate(0.00223, 0.00215, 0.0023), "0.223\xa0pts [0.215, 0.230]"),
        ("ece", Estimate(0.06849, 0.06834, 0.06864), "6.85\xa0% [6.83, 6.86]"),
        ("flip_rate", Estimate(0.1, 0.1, 0.1), "10.0\xa0% [10.0, 10.0]"),
        ("accuracy_sd", Estimate(0.0122), "1.22\xa0pts"),
    ],
)
def test_the_ends_of_an_interval_are_told_apart(metric, estimate, text):
    """By one digit more where they are close; without width there is nothing."""
    assert figure(metric, estimate) == text


@pytest.mark.parametrize(
    ("effect", "text"),
    [
        (Effect("accuracy", "difference", 0.0044, -3.9e-5, 0.0088), "[−0.00, +0.88]"),
        (Effect("nll", "difference", 0.011, 0.0002, 0.021), "[+0.000, +0.021]"),
        (Effect("flip_rate", "ratio", 0.95, 0.9, 0.9997), "[−10, −0.0]"),
        (Effect("flip_rate", "ratio", 0.95, 0.9, 1.0), "[−10, 0.0]"),
    ],
)
def test_an_end_near_no_change_keeps_its_side(effect, text):
    """The verdict depends on it, and no digit more is needed; exactly no change has none."""
    assert changed(effect).endswith(text)


@pytest.mark.parametrize(
    ("low", "high", "is_untold"),
    [(0.01, 42.38, True), (0.19, 5.1, True), (0.21, 5.1, False), (0.19, 4.9, False)],
)
def test_an_interval_that_allows_everything_is_put_in_words(low, high, is_untold):
    """From a hundredth to forty times as much: no number says anything."""
    effect = Effect("accuracy_sd", "ratio", 0.8, low, high, verdict="no difference shown")

    found = {changed(effect), judged(effect)}

    assert (found == {"cannot be told with so few runs"}) == is_untold
    assert ("(cannot be told with so few runs)" in clauses([("ASWA", effect)])) == is_untold


def test_the_same_verdict_everywhere_is_counted_as_people_do():
    """One, both, all."""
    assert [in_all(count) for count in (1, 2, 3)] == [
        "",
        ", in both comparisons",
        ", in all 3 comparisons",
    ]


@pytest.mark.parametrize(
    ("effects", "sentence"),
    [
        (
            [("ASWA", CUT), ("NASWA", CUT)],
            "A cut is shown: 50\xa0% [20, 70] with ASWA and 50\xa0% [20, 70] with NASWA.",
        ),
        (
            [("ASWA", RISE), ("NASWA", OPEN)],
            "A rise is shown: 50\xa0% [20, 90] with ASWA; no difference is shown with NASWA "
            + OPEN_CHANGE,
        ),
        ([("ASWA", FEW), ("NASWA", None)], "No verdict is possible with ASWA and NASWA."),
        ([], ""),
    ],
)
def test_a_sentence_is_as_strong_as_its_verdicts(effects, sentence):
    """An interval with no change in it never makes a cut."""
    assert clauses(effects) == sentence


def test_lists_and_paragraphs():
    """As people write them; what is empty leaves no gap."""
    assert listed(["a", "b", "c"]) == "a, b and c"
    assert listed(["a"]) == "a"
    assert paragraphs(["a", "", "b"]) == "a\n\nb"


def test_epochs_have_a_median_and_a_range():
    """One number where all runs have the same."""
    assert epochs([2.0, 2.0]) == "2"
    assert epochs([20.0, 14.0, 15.0, 16.0]) == "15.5 (14 to 20)"
    assert epochs([]) == "–"
