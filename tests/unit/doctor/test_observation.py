"""Differences between trainings that are made by hand."""

from dataclasses import replace

from seedproof.doctor.finding import details
from seedproof.doctor.observation import Observed, SplitSeen, compared, differences


def trained(*digests, **facts):
    """Return a training with these weights: at the start, after step 1, and so on."""
    return Observed(weights=dict(enumerate(digests)), n_steps=max(0, len(digests) - 1), **facts)


def logged(values="aab", *, ids="012", labels="xyx", split="test", has_ids=True, **facts):
    """Return a training that predicts this for three examples."""
    split_seen = SplitSeen(list(ids), list(labels), [v.encode() for v in values], has_ids=has_ids)
    return Observed(splits={split: split_seen}, **facts)


ONE = logged("aab")
OTHER = logged("abb")


def test_predictions_are_compared_by_id():
    """One of three examples changed; another order is not a difference."""
    assert details(differences(ONE, OTHER)) == [
        {"code": "predictions", "n_changed": 1, "n_examples": 3, "split": "test"}
    ]
    assert not differences(ONE, logged("baa", ids="210", labels="xyx"))


def test_first_step_at_which_weights_differ_is_named():
    """Later steps follow from it; step 0 is the start."""
    after_start = differences(trained("s", "a", "b"), trained("s", "x", "y"))
    at_start = differences(trained("s", "a"), trained("t", "x"))

    assert details(after_start) == [{"code": "weights", "step": 1}]
    assert details(at_start) == [{"code": "weights", "step": 0}]
    assert str(after_start) != str(at_start)
    assert not differences(trained("s", "a"), trained("s", "a", "b"))


def test_ids_and_splits_count_unless_a_training_was_cut():
    """A training that was ended early has logged less, from which nothing follows."""
    fewer, renamed = logged("aa", ids="01", labels="xy"), logged(split="held-out")

    assert details(differences(ONE, fewer)) == [{"code": "ids", "split": "test"}]
    assert details(differences(ONE, renamed)) == [{"code": "splits"}]
    assert not differences(ONE, replace(fewer, is_cut=True))
    assert not differences(ONE, replace(renamed, is_cut=True))


def test_example_that_was_cut_off_while_it_was_logged_is_not_compared():
    """It has an id, and no value."""
    torn = logged("aa", ids="012", labels="xy", is_cut=True)

    assert not differences(ONE, torn)


def test_everything_that_differs_is_named():
    """Weights first, then predictions by split."""
    one = replace(trained("s", "a"), splits=ONE.splits)
    two = replace(trained("s", "b"), splits=OTHER.splits)

    changes = differences(one, two)

    assert [part.code for part in changes.parts] == ["weights", "predictions"]
    assert str(changes) == " and ".join(str(part) for part in changes.parts)


def test_only_what_both_have_is_compared():
    """Steps and examples of the shorter training; nothing if they share nothing."""
    one = replace(trained("s", "a", "b"), splits=ONE.splits)
    two = replace(trained("s", "a"), splits=logged("a", ids="2", labels="x").splits)

    assert details(compared(one, two)) == [
        {"code": "weights", "n_steps": 1},
        {"code": "predictions", "n_examples": 1, "split": "test"},
    ]
    assert not compared(ONE, trained("s"))
