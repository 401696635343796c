"""Tries at items: handed out in order, and again after a death."""

import pickle

import pytest

from seedproof.engines import Failure, Outcome
from seedproof.engines.attempts import Attempts
from seedproof.messages import Message

DEATH = Failure("killed", Message("process-signal", "{signal}", signal="SIGKILL"))


def outcome(attempt, failure=None):
    """What came of a try."""
    return Outcome(attempt.index, failure=failure, attempts=attempt.number)


def test_items_are_handed_out_in_order_and_read_one_by_one():
    """Each with its index, as the first try."""
    read = []
    attempts = Attempts(len, (read.append(item) or item for item in "abc"), retries=0)

    first = attempts.following()

    assert (first.index, first.number, read) == (0, 1, ["a"])
    assert pickle.loads(first.request.item) == "a"  # noqa: S301 - packed a line above
    assert [attempts.following().index for _ in range(2)] == [1, 2]
    assert attempts.following() is None


def test_a_death_is_tried_again_before_anything_new():
    """A run that was begun is finished first; the request is the same."""
    attempts = Attempts(len, ["a", "b"], retries=1)
    first = attempts.following()

    assert list(attempts.settled(first, outcome(first, DEATH))) == []
    again = attempts.following()

    assert (again.index, again.number, again.request) == (0, 2, first.request)
    assert attempts.following().index == 1


def test_the_last_death_is_the_outcome():
    """One retry is two tries."""
    attempts = Attempts(len, ["a"], retries=1)
    first = attempts.following()
    list(attempts.settled(first, outcome(first, DEATH)))
    second = attempts.following()

    (found,) = attempts.settled(second, outcome(second, DEATH))

    assert (found.failure, found.attempts) == (DEATH, 2)
    assert attempts.following() is None


def test_a_death_after_the_last_item_is_still_tried_again():
    """There was nothing to do for a moment."""
    attempts = Attempts(len, ["a"], retries=1)
    first = attempts.following()
    assert attempts.following() is None

    list(attempts.settled(first, outcome(first, DEATH)))

    assert attempts.following().number == 2


@pytest.mark.parametrize("status", ["failed", "timeout"])
def test_what_raised_or_took_too_long_is_not_tried_again(status):
    """It would do so again."""
    attempts = Attempts(len, ["a"], retries=2)
    first = attempts.following()

    (found,) = attempts.settled(first, outcome(first, Failure(status, Message(status, ""))))

    assert found.failure.status == status
    assert attempts.following() is None


def test_no_item_runs_far_ahead_of_the_first_that_is_open():
    """So that only a few results ever wait for it."""
    attempts = Attempts(len, "abcdef", retries=0)
    first, second, third = (attempts.following(ahead=3) for _ in range(3))

    assert attempts.following(ahead=3) is None
    list(attempts.settled(second, outcome(second)))
    list(attempts.settled(third, outcome(third)))
    assert attempts.following(ahead=3) is None

    list(attempts.settled(first, outcome(first)))
    assert [attempts.following(ahead=3).index for _ in range(3)] == [3, 4, 5]


def test_a_death_does_not_make_room():
    """Its item is still open, and is tried again."""
    attempts = Attempts(len, "abc", retries=1)
    first = attempts.following(ahead=1)
    list(attempts.settled(first, outcome(first, DEATH)))

    assert attempts.following(ahead=1).index == 0
    assert attempts.following(ahead=1) is None
