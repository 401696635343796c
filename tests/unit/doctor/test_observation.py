"""Differences between constructed observations."""

from dataclasses import replace

from seedproof.doctor.finding import details
from seedproof.doctor.observation import Observed, SplitSeen, compared, differences


def trained(*digests, **facts):
    """Return a training with these weights: at the start, after step 1, and so on."""
    return Observed(weights=dict(enumerate(digests)), n_steps=max(0, len(digests) - 1), **facts)


def logged(values="aab", *, ids="012", labels="xyx", split="test", has_ids=True, **facts):
    """Return a training with these predictions for three examples."""
    split_seen = SplitSeen(list(ids), list(labels), [v.encode() for v in values], has_ids=has_ids)
    return Observed(splits={split: split_seen}, **facts)


FIRST = logged("aab")
OTHER = logged("abb")


def test_predictions_are_compared_by_id():
    """One of three examples changed; another order is not a difference."""
    assert details(differences(FIRST, OTHER)) == [
        {"code": "predictions", "n_changed": 1, "n_examples": 3, "split": "test"}
    ]
    assert not differences(FIRST, logged("baa", ids="210", labels="xyx"))


def test_first_step_at_which_weights_differ_is_named():
    """Later steps follow from it; step 0 is the start."""
    after_start = differences(trained("s", "a", "b"), trained("s", "x", "y"))
    at_start = differences(trained("s", "a"), trained("t", "x"))

    assert details(after_start) == [{"code": "weights", "step": 1}]
    assert details(at_start) == [{"code": "weights", "step": 0}]
    assert str(after_start) != str(at_start)
    assert not differences(trained("s", "a"), trained("s", "a", "b"))


def test_ids_and_splits_count_unless_a_training_was_cut():
    """A training that was stopped has logged less."""
    fewer, renamed = logged("aa", ids="01", labels="xy"), logged(split="held-out")

    assert details(differences(FIRST, fewer)) == [{"code": "ids", "split": "test"}]
    assert details(differences(FIRST, renamed)) == [{"code": "splits"}]
    assert not differences(FIRST, replace(fewer, is_cut=True))
    assert not differences(FIRST, replace(renamed, is_cut=True))


def test_incompletely_logged_example_is_not_compared():
    """It has an id, but no value."""
    torn = logged("aa", ids="012", labels="xy", is_cut=True)

    assert not differences(FIRST, torn)


def test_everything_that_differs_is_named():
    """Weights first, then predictions by split."""
    first = replace(trained("s", "a"), splits=FIRST.splits)
    second = replace(trained("s", "b"), splits=OTHER.splits)

    changes = differences(first, second)

    assert [part.code for part in changes.parts] == ["weights", "predictions"]
    assert str(changes) == " and ".join(str(part) for part in changes.parts)


def test_only_what_both_have_is_compared():
    """Steps and examples of the shorter training."""
    first = replace(trained("s", "a", "b"), splits=FIRST.splits)
    second = replace(trained("s", "a"), splits=logged("a", ids="2", labels="x").splits)

    assert details(compared(first, second)) == [
        {"code": "weights", "n_steps": 1},
        {"code": "predictions", "n_examples": 1, "split": "test"},
    ]
    assert not compared(FIRST, trained("s"))
