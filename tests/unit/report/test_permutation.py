import json

import numpy as np
import pytest

import seedproof as sp
from seedproof.errors import ShapeError, TooFewRunsError, UnknownNameError
from seedproof.records.permutation import PermutedAttention

N_EXAMPLES = 400
LABELS = np.random.default_rng(9).integers(0, 2, N_EXAMPLES)


def make_run(seed, *, floor=0.5, size=1.0, n_examples=N_EXAMPLES):
    """Return the result of one run, whose floors are a share of its changes on average."""
    rng = np.random.default_rng(seed)
    odds = 2 * LABELS[:n_examples] - 1 + rng.normal(size=n_examples)
    second = 1 / (1 + np.exp(-odds))
    change = size * (0.5 + rng.random(n_examples))
    slope = second * (1 - second)
    floors = floor * change * 2 * rng.random(n_examples)
    return PermutedAttention(
        probs=np.stack([1 - second, second], axis=1),
        probability_change=slope * change,
        probability_floor=slope * floors,
        logit_change=change,
        logit_floor=floors,
        n_shuffles=20,
    )


def codes(report):
    """Return the codes of the findings."""
    return [sentence.code for sentence in report.sentences()]


def test_report_compares_changes_with_shuffles_and_runs():
    """Change, floor, their difference and the distance of runs, with intervals over both."""
    report = sp.measure_permutation([make_run(i) for i in range(5)], labels=LABELS)

    for scale in ("probability", "logit"):
        excess = report[f"{scale}_change"].value - report[f"{scale}_floor"].value
        assert report[f"{scale}_excess"].value == pytest.approx(excess)
        assert report[f"{scale}_other_run"].over == "runs × examples"
    assert codes(report) == ["changes", "like-runs", "beyond-random-weights"]


@pytest.mark.parametrize(
    ("options", "n_runs", "code"),
    [
        ({"floor": 1.0}, 6, "like-random-weights"),
        ({"floor": 1.3}, 6, "like-random-weights"),
        ({"floor": 0.2}, 4, "few-runs"),
        ({"size": 0.0}, 6, "nothing-changes"),
        ({"size": 9.0}, 6, "more-than-runs"),
        ({"size": 0.1}, 6, "less-than-runs"),
    ],
)
def test_findings_follow_from_the_intervals(options, n_runs, code):
    """Few runs give no verdict either."""
    report = sp.measure_permutation([make_run(i, **options) for i in range(n_runs)])

    assert code in codes(report)


def test_charts_have_the_bins_of_the_reliability():
    """Each group has its changes in both scales, next to the share of right answers."""
    report = sp.measure_permutation([make_run(i) for i in range(5)], labels=LABELS)
    figures = {figure.name: figure for figure in report._figures()}

    for suffix, reliability in [
        ("", "reliability"),
        ("_by_answer_1", "reliability_1"),
        ("_by_label_0", "reliability_by_label_0"),
    ]:
        probability, logit = (
            figures[f"{scale}_change{suffix}"] for scale in ("probability", "logit")
        )
        assert figures[reliability].section == probability.section == logit.section
        right = [row for row in figures[reliability].rows if row.get("kind", "all") == "all"]
        assert len(right) == len(probability.rows) == len(logit.rows)
    by_confidence = [row["change"] for row in figures["probability_change"].rows]
    assert by_confidence == sorted(by_confidence, reverse=True)  # p (1 − p) falls
    assert report.figure("logit_change").to_bytes("svg")[:4] == b"<svg"


def test_labels_are_not_needed():
    """Without them there are no gold classes and no reliability."""
    report = sp.measure_permutation([make_run(i) for i in range(3)])

    assert {group.part for group in report.groups} == {"all", "answer"}
    assert not any(figure.name.startswith("reliability") for figure in report._figures())


def test_results_are_saved(tmp_path):
    """As a page and as JSON with every group and bin; a table has a row per figure."""
    runs = {name: make_run(i) for i, name in enumerate("abc")}
    report = sp.measure_permutation(runs, labels=LABELS, classes=["no", "yes"])

    report.save(tmp_path)

    summary = json.loads((tmp_path / "permutation.json").read_text())
    assert summary["runs"] == ["a", "b", "c"]
    assert [group["part"] for group in summary["groups"]] == [
        "all",
        *["answer"] * 2,
        *["label"] * 2,
    ]
    page = (tmp_path / "permutation.html").read_text()
    assert "logit_change_by_answer_1" in page
    frame = report.to_frame()
    assert len(frame) == 3 * 8 + 2 * 4


def test_clusters_widen_intervals():
    """Examples that are copies of each other count once."""
    runs = [make_run(0, n_examples=100)] * 5
    places = np.repeat(np.arange(100), 4)
    copies = [
        PermutedAttention(
            **{name: x if name == "n_shuffles" else x[places] for name, x in vars(run).items()}
        )
        for run in runs
    ]

    plain, clustered = (
        sp.measure_permutation(copies, clusters=given)["logit_change"] for given in (None, places)
    )

    assert clustered.high - clustered.low > 1.3 * (plain.high - plain.low)
    assert clustered.over == "runs × clusters"


def test_arrays_must_fit_each_other():
    """Each has one number per example."""
    whole = vars(make_run(0))

    with pytest.raises(ShapeError):
        PermutedAttention(**{**whole, "logit_floor": whole["logit_floor"][1:]})
    with pytest.raises(ShapeError):
        PermutedAttention(**{**whole, "probs": whole["probs"][:, 0]})


def test_runs_must_have_the_same_examples():
    """And there must be two of them."""
    with pytest.raises(ShapeError):
        sp.measure_permutation([make_run(0), make_run(1, n_examples=399)])
    with pytest.raises(TooFewRunsError):
        sp.measure_permutation([make_run(0)])


def test_unknown_name_lists_the_known_ones():
    """As in other reports."""
    report = sp.measure_permutation([make_run(i) for i in range(2)])

    with pytest.raises(UnknownNameError) as info:
        report["change"]

    assert "logit_change" in info.value.fields["known"]
