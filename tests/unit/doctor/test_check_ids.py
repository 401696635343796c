"""Check of ids, on constructed observations."""

from dataclasses import replace

from seedproof.doctor.checks import check_ids
from seedproof.doctor.finding import details
from seedproof.doctor.observation import Observed, SplitSeen


def trained(*digests, **facts):
    """Return a training with these weights: at the start, after step 1, and so on."""
    return Observed(weights=dict(enumerate(digests)), n_steps=max(0, len(digests) - 1), **facts)


def logged(values="aab", *, ids="012", labels="xyx", split="test", has_ids=True, **facts):
    """Return a training with these predictions for three examples."""
    split_seen = SplitSeen(list(ids), list(labels), [v.encode() for v in values], has_ids=has_ids)
    return Observed(splits={split: split_seen}, **facts)


FIRST = logged("aab")
SAME, OTHER = logged("aab"), logged("abb")


def test_ids_pass_in_any_order():
    """Another order is reported, and does no harm."""
    moved = logged("baa", ids="210", labels="xyx")

    assert (check_ids(FIRST, OTHER).code, check_ids(FIRST, OTHER).verdict) == ("stable-ids", "pass")
    assert check_ids(FIRST, OTHER).observed.code == "same-order"
    assert check_ids(FIRST, moved).verdict == "pass"
    assert check_ids(FIRST, moved).observed.code == "other-order"


def test_ids_are_skipped_without_predictions():
    """There are no ids."""
    assert check_ids(trained("s", "a"), trained("s", "b")).verdict == "skip"


def test_ids_fail_if_other_examples_are_held_out():
    """One of three examples differs."""
    finding = check_ids(FIRST, logged(ids="013"))

    assert finding.verdict == "fail"
    assert details(finding.observed) == {
        "code": "other-ids",
        "n_other": 1,
        "n_examples": 3,
        "split": "test",
    }
    assert finding.cause.code == "held-out-by-seed"


def test_ids_may_follow_the_source_data():
    """This is what that source is for; with a fixed source, runs can be compared."""
    first, other = replace(FIRST, sources={"data", "init"}), logged(ids="013")

    allowed = check_ids(first, other, [SAME, OTHER])

    assert (allowed.verdict, allowed.cause.code) == ("warn", "split-by-source")
    assert check_ids(first, other, [SAME, other]).verdict == "fail"
    assert check_ids(first, other, []).verdict == "fail"
    assert check_ids(FIRST, other, [SAME]).verdict == "fail"


def test_ids_fail_if_their_labels_change():
    """Two examples have swapped labels, so they are different examples."""
    finding = check_ids(FIRST, logged(labels="yxx"))

    assert finding.verdict == "fail"
    assert details(finding.observed) == {
        "code": "other-labels",
        "n_changed": 2,
        "n_examples": 3,
        "split": "test",
        "example": "0",
        "has_ids": True,
    }
    assert finding.cause.code == "shuffled-ids"
    positions = check_ids(logged(has_ids=False), logged(labels="yxx", has_ids=False)).observed
    assert positions.fields["has_ids"] is False
    assert len(str(positions)) > len(str(finding.observed))


def test_ids_fail_if_the_splits_differ():
    """The name of a split has the seed in it."""
    finding = check_ids(logged(split="test-1"), logged(split="test-2"))

    assert finding.verdict == "fail"
    assert details(finding.observed) == {
        "code": "other-splits",
        "splits": ["test-1"],
        "other_splits": ["test-2"],
    }
    assert finding.cause.code == "split-by-seed"


def test_ids_are_not_faulty_after_a_cut():
    """The budget ended one of the trainings while it logged."""
    half = logged("a", ids="01", labels="x", is_cut=True)
    both = Observed(splits={**FIRST.splits, "other": SplitSeen(["7"], ["x"], [b"a"])})

    assert check_ids(FIRST, half).verdict == "pass"
    assert check_ids(both, replace(FIRST, is_cut=True)).verdict == "pass"


def test_ids_without_labels_pass_and_positions_warn():
    """Nothing shows if an example is the same."""
    blank = ["", "", ""]

    believed = check_ids(logged(labels=blank), logged(labels=blank))
    assert (believed.verdict, believed.observed.code) == ("pass", "no-labels")
    finding = check_ids(logged(labels=blank, has_ids=False), logged(labels=blank, has_ids=False))
    assert (finding.verdict, finding.observed.code) == ("warn", "positions")
