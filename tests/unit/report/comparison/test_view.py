"""A comparison as plain data."""

from dataclasses import replace

import pyarrow as pa
import pytest

import seedproof as sp
from seedproof.errors import ColumnError
from seedproof.report.comparison.view import KEY_METRICS, build_view
from seedproof.testing.errors import WithFields

NB = "\N{NO-BREAK SPACE}"


def test_entropy_cut_is_one_minus_the_ratio(usual):
    """ΔLE is 100 · (1 - ratio of the mean label entropies)."""
    sheet = usual.view().sheet
    row = next(row for row in sheet.rows if row[0] == "aswa")

    before, after = (
        usual.arm(name).measurement.metrics["label_entropy"].value for name in ("none", "aswa")
    )
    assert row[sheet.columns.index("entropy_cut")] == f"{100 * (1 - after / before):.1f}{NB}%"


def test_published_entropy_cut_is_larger_and_noted(usual):
    """The note explains the regression to the mean."""
    sheet = usual.view().sheet
    fitted, published = (
        sheet.columns.index(name) for name in ("high_entropy_cut", "high_entropy_cut_as_published")
    )
    again = next(row for row in sheet.rows if row[0] == "again")

    def share(text):
        return float(text.replace("−", "-").split(f"{NB}%")[0])

    assert share(again[published]) > share(again[fitted])
    assert "regression-to-the-mean" in [note.code for note in sheet.notes]


def test_shares_of_the_reference_and_costs_have_columns(usual):
    """The reference arm itself has 100 %; costs are there for the baseline too."""
    sheet = usual.view().sheet
    rows = {row[0]: dict(zip(sheet.columns, row, strict=True)) for row in sheet.rows}

    assert rows["ensemble"]["share_of_gold"] == f"100.0{NB}%"
    assert rows["none"]["cost_seconds"] == "60"
    assert rows["ensemble"]["cost_serving_multiplier"] == "10"
    assert len(sheet.header) == len(sheet.columns)


def test_column_without_data_is_absent(compare, drawn_probs):
    """No reference arm, no costs: no such columns."""
    base, labels = drawn_probs(2, 6, noise=0.9)
    arm = drawn_probs(3, 6, noise=0.4)[0]

    sheet = compare({"none": base, "arm": arm}, labels=labels).view().sheet

    assert sheet.columns == (
        "arm",
        "entropy_cut",
        "high_entropy_cut",
        "high_entropy_cut_by_arm",
        "high_entropy_cut_as_published",
    )


def test_reductions_on_high_entropy_examples_have_intervals_or_a_reason(compare, drawn_probs):
    """Ten runs have an interval in both columns; six runs have a note instead."""
    views = {
        n_runs: compare(
            {
                "none": drawn_probs(2, n_runs, noise=0.9)[0],
                "arm": drawn_probs(3, n_runs, noise=0.5)[0],
            }
        ).view()
        for n_runs in (6, 10)
    }

    cells = {
        n_runs: dict(zip(view.sheet.columns, view.sheet.rows[1], strict=True))
        for n_runs, view in views.items()
    }
    codes = {n_runs: [note.code for note in view.sheet.notes] for n_runs, view in views.items()}
    for name in ("high_entropy_cut", "high_entropy_cut_by_arm"):
        assert "[" in cells[10][name]
        assert "[" not in cells[6][name]
    assert "high-entropy-intervals" in codes[10]
    assert "high-entropy-no-interval" not in codes[10]
    assert "high-entropy-no-interval" in codes[6]


def test_dots_compare_only_arms_with_equally_many_runs(usual):
    """With more runs, more examples have a run that differs."""
    last = replace(usual.comparison, arms=usual.comparison.arms[-1:])

    assert [name for name, _ in usual.view().dots] == ["none", "aswa"]
    assert [name for name, _ in build_view(last).dots] == ["none"]
    assert all(sum(counts) == 100 for _, counts in usual.view().dots)


@pytest.mark.parametrize(
    ("has_labels", "absent"), [(True, ()), (False, ("accuracy", "accuracy_sd", "ece_corrected"))]
)
def test_missing_metrics_have_no_block(compare, drawn_probs, has_labels, absent):
    """Accuracy needs gold labels; where it is judged, it comes second."""
    base, labels = drawn_probs(2, 6, noise=0.9)
    arm = drawn_probs(3, 6, noise=0.4)[0]
    report = compare({"none": base, "arm": arm}, labels=labels if has_labels else None)

    metrics = [block.metric for block in report.view().key_blocks]

    first = ("flip_rate", "accuracy") if has_labels else ("flip_rate",)
    usual = dict.fromkeys((*first, *KEY_METRICS))
    assert metrics == [name for name in usual if name not in absent]


def _table(predictions, texts):
    rows = [
        {"run": r, "example": e, "prediction": str(votes[e]), "text": texts[e]}
        for r, votes in enumerate(predictions)
        for e in range(4)
    ]
    return pa.Table.from_pylist(rows)


def test_user_column_is_shown_on_request():
    """Example 3 is split before and unanimous after."""
    texts = [f"text {example}" for example in range(4)]
    before = _table([[0, 0, 0, 0], [0, 0, 0, 1], [0, 0, 0, 1], [0, 0, 0, 0]], texts)
    after = _table([[0, 0, 0, 1]] * 3 + [[0, 1, 0, 1]], texts)
    report = sp.compare([before, after])

    settled = report.view(show=["text"]).moved[0].settled

    (example,) = settled
    assert (example.example, example.shown) == ("3", (texts[3],))
    assert (example.before, example.after) == ("0 (2), 1 (2)", "1 (4)")
    assert report.view().moved[0].settled[0].shown == ()
    with pytest.raises(ColumnError, check=WithFields(column="words", known=("text",))):
        report.view(show=["words"])
