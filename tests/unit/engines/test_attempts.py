"""Attempts at items, with retries after a crash."""

import pickle

import pytest

from seedproof.engines import Failure, Outcome
from seedproof.engines.attempts import Attempts
from seedproof.messages import Message

CRASH = Failure("killed", Message("process-signal", "{signal}", signal="SIGKILL"))


def outcome(attempt, failure=None):
    """Return the outcome of an attempt."""
    return Outcome(attempt.index, failure=failure, attempts=attempt.number)


def test_items_are_read_in_order_and_as_needed():
    """Each has its index and the attempt number 1."""
    read = []
    attempts = Attempts(len, (read.append(item) or item for item in "abc"), retries=0)

    first = attempts.following()

    assert (first.index, first.number, read) == (0, 1, ["a"])
    assert pickle.loads(first.request.item) == "a"  # noqa: S301 - packed a line above
    assert [attempts.following().index for _ in range(2)] == [1, 2]
    assert attempts.following() is None


def test_crashed_item_is_retried_before_new_ones():
    """A run that was begun is finished first; the request is the same."""
    attempts = Attempts(len, ["a", "b"], retries=1)
    first = attempts.following()

    assert list(attempts.settled(first, outcome(first, CRASH))) == []
    again = attempts.following()

    assert (again.index, again.number, again.request) == (0, 2, first.request)
    assert attempts.following().index == 1


def test_last_crash_is_the_outcome():
    """One retry means two attempts."""
    attempts = Attempts(len, ["a"], retries=1)
    first = attempts.following()
    list(attempts.settled(first, outcome(first, CRASH)))
    second = attempts.following()

    (settled,) = attempts.settled(second, outcome(second, CRASH))

    assert (settled.failure, settled.attempts) == (CRASH, 2)
    assert attempts.following() is None


def test_crash_after_the_last_item_is_retried():
    """There was nothing to do for a moment."""
    attempts = Attempts(len, ["a"], retries=1)
    first = attempts.following()
    assert attempts.following() is None

    list(attempts.settled(first, outcome(first, CRASH)))

    assert attempts.following().number == 2


@pytest.mark.parametrize("status", ["failed", "timeout"])
def test_exception_and_timeout_are_not_retried(status):
    """They would happen again."""
    attempts = Attempts(len, ["a"], retries=2)
    first = attempts.following()

    (settled,) = attempts.settled(first, outcome(first, Failure(status, Message(status, ""))))

    assert settled.failure.status == status
    assert attempts.following() is None


def test_items_stay_close_to_the_first_open_one():
    """So that only a few results wait for it."""
    attempts = Attempts(len, "abcdef", retries=0)
    first, second, third = (attempts.following(ahead=3) for _ in range(3))

    assert attempts.following(ahead=3) is None
    list(attempts.settled(second, outcome(second)))
    list(attempts.settled(third, outcome(third)))
    assert attempts.following(ahead=3) is None

    list(attempts.settled(first, outcome(first)))
    assert [attempts.following(ahead=3).index for _ in range(3)] == [3, 4, 5]


def test_crash_does_not_make_room():
    """Its item is still open, and is retried."""
    attempts = Attempts(len, "abc", retries=1)
    first = attempts.following(ahead=1)
    list(attempts.settled(first, outcome(first, CRASH)))

    assert attempts.following(ahead=1).index == 0
    assert attempts.following(ahead=1) is None
