"""Charts of a comparison."""

import re
from dataclasses import replace
from itertools import combinations

import numpy as np
import pytest

from seedproof.report.comparison.figures import (
    build_figures,
    moved_examples,
    place_names,
    vote_legend,
)
from seedproof.report.comparison.view import build_view
from seedproof.stats.effect import Effect


def _figure(comparison, name):
    return next(figure for figure in build_figures(comparison) if figure.name == name)


def test_marks_are_filled_if_a_difference_is_shown(usual):
    """The verdict alone decides."""
    rows = _figure(usual.comparison, "forest_flip_rate").rows

    kinds = {"steadier": "good", "less steady": "bad", "no difference shown": "open"}
    assert [row["kind"] for row in rows] == [
        kinds[arm.effects["flip_rate"].verdict] for arm in usual.arms
    ]
    assert {"good", "open"} <= {row["kind"] for row in rows}


def test_ratios_share_one_axis_and_differences_have_their_own(usual):
    """Only the last of the ratios has labels."""
    forest = [f for f in build_figures(usual.comparison) if f.name.startswith("forest_")]
    ratios = [f for f in forest if f.facts["scale"] == "log"]

    assert len({f.facts["domain"] for f in ratios}) == 1
    assert [f.facts["labeled"] for f in ratios] == [False] * (len(ratios) - 1) + [True]
    assert [f.name for f in forest if f.facts["scale"] == "linear"] == [
        "forest_accuracy",
        "forest_ece_corrected",
    ]


@pytest.mark.parametrize(
    ("low", "high"), [(0.0, 0.5), (2.0, None), (2.0, float("inf")), (None, None)]
)
def test_unbounded_intervals_are_drawn_to_the_edge(usual, low, high):
    """A ratio to a baseline of 0 has no upper end, and JSON has no infinity."""
    effect = Effect("flip_rate", "ratio", None if low else 0.0, low, high, verdict="less steady")
    arm = usual.comparison.arms[0]
    comparison = replace(
        usual.comparison, arms=(replace(arm, effects={**arm.effects, "flip_rate": effect}),)
    )

    figure = _figure(comparison, "forest_flip_rate")

    ends = [x for x in (figure.rows[0]["low"], figure.rows[0]["high"]) if x is not None]
    assert len(ends) == (0 if low is None else 2)
    assert all(figure.facts["domain"][0] <= x <= figure.facts["domain"][1] for x in ends)
    assert np.isfinite(figure.facts["domain"]).all()


def test_parts_of_the_spread_add_up_to_the_variance(usual):
    """The variance is the squared sd of accuracy, in points."""
    rows = _figure(usual.comparison, "spread_parts").rows

    for arm in ("none", "aswa", "again"):
        parts = [row for row in rows if row["arm"] == arm]
        sd = 100 * usual.arm(arm).measurement.metrics["accuracy_sd"].value
        assert parts[0]["to"] == parts[1]["from"]
        assert parts[1]["to"] == pytest.approx(sd**2)  # one product in another order


def test_few_runs_are_left_out_of_the_spread(compare, drawn_probs):
    """Three runs are too few to estimate an sd."""
    base, labels = drawn_probs(2, 6, noise=0.9)
    report = compare({"none": base, "few": base[:3]}, labels=labels)

    figure = _figure(report.comparison, "spread_parts")

    assert {row["arm"] for row in figure.rows} == {"none"}
    left_out = {message.code: message for message in figure.reading}["few-runs-left-out"]
    assert left_out.fields["arms"].names == ("few",)


def test_line_joins_the_undominated_arms(usual):
    """`again` costs as much as `aswa` and flips more; no arm beats the ensemble on both."""
    rows = {
        row["arm"]: row["best"] for row in _figure(usual.comparison, "stability_cost_seconds").rows
    }

    assert rows == {"none": False, "aswa": True, "again": False, "ensemble": True}


def test_large_costs_are_written_out(usual):
    """In the chart and in the table of all arms, never as a power of ten."""
    costs = {"none": 151_580.0, "aswa": 303_161.0, "again": 151_580.0, "ensemble": 1_515_800.0}
    baseline, *arms = (
        replace(arm, costs={"forward_passes": costs[arm.name]})
        for arm in (usual.comparison.baseline, *usual.comparison.arms)
    )
    comparison = replace(usual.comparison, baseline=baseline, arms=tuple(arms))

    figure = _figure(comparison, "stability_cost_forward_passes")
    sheet = build_view(comparison).sheet

    expected = ["151,600", "303,200", "151,600", "1,516,000"]
    assert [row[1] for row in figure.numbers] == expected
    place = sheet.columns.index("cost_forward_passes")
    assert [row[place] for row in sheet.rows] == expected


def test_equal_costs_have_no_chart(usual):
    """All arms would be on one vertical line."""
    arms = tuple(replace(arm, costs={"seconds": 60.0}) for arm in usual.comparison.arms)
    comparison = replace(usual.comparison, arms=arms)

    assert not [f for f in build_figures(comparison) if f.name.startswith("stability_cost")]


def test_votes_count_every_example_once(usual):
    """Rows are after, columns before."""
    arm = usual.arm("aswa")
    more, less = moved_examples(arm)

    assert int(arm.votes.sum()) == usual.baseline.measurement.n_examples
    assert more + less + int(np.trace(arm.votes)) == int(arm.votes.sum())
    assert more > less
    rows = _figure(usual.comparison, "votes_before_after_0").rows
    assert next(r["count"] for r in rows if (r["before"], r["after"]) == ("less", "all")) == int(
        arm.votes[0, 5]
    )


def test_legend_has_a_range_of_counts_per_shade(usual):
    """With a few thousand examples or fewer, the darkest shade begins at 200."""
    starts = [re.match(r"[\d–]+", text).group() for _, _, text in vote_legend(usual.comparison)]

    assert starts == ["1–4", "5–19", "20–59", "60–199", "200"]


def test_names_do_not_overlap():
    """Eight points on a diagonal, close together."""
    rows = [{"arm": f"an-arm-{i}", "x": float(i), "flips": float(i)} for i in range(8)]
    boxes = place_names(rows)

    for box, other in combinations(boxes, 2):
        across = min(box[2], other[2]) - max(box[0], other[0])
        down = min(box[3], other[3]) - max(box[1], other[1])
        assert min(across, down) <= 0, (box, other)
