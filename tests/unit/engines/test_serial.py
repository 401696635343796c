"""The engine that works here and now."""

import os

import pytest

from seedproof.engines import SerialEngine
from seedproof.engines.serial import as_failure


def test_items_are_done_in_order_in_this_process():
    """So breakpoints work, and prints come in order."""
    done = []

    outcomes = list(SerialEngine().map(lambda item: done.append(item) or os.getpid(), "abc"))

    assert done == ["a", "b", "c"]
    assert [outcome.index for outcome in outcomes] == [0, 1, 2]
    assert {outcome.value() for outcome in outcomes} == {os.getpid()}


def test_the_error_itself_is_kept():
    """Its frames are still there."""
    error = ValueError("no such luck")

    def unlucky(_):
        raise error

    (outcome,) = SerialEngine().map(unlucky, [0])

    assert outcome.failure.error is error


def test_an_interrupt_is_no_failure_of_the_task():
    """Ctrl-C is meant for everything, and ends everything."""

    def interrupted(_):
        raise KeyboardInterrupt

    outcomes = SerialEngine().map(interrupted, [0, 1])

    with pytest.raises(KeyboardInterrupt):
        next(outcomes)


@pytest.mark.parametrize(
    ("error", "message"),
    [
        (ValueError("no such luck"), "ValueError: no such luck"),
        (KeyError("loss"), "KeyError: 'loss'"),
        (RuntimeError(), "RuntimeError"),
        (SyntaxError("invalid syntax", ("f.py", 1, 1, "a b", 1, 2)), "SyntaxError: invalid syntax (f.py, line 1)"),
        (ExceptionGroup("two", [ValueError(), KeyError()]), "ExceptionGroup: two (2 sub-exceptions)"),
    ],
)  # fmt: skip
def test_the_message_of_a_failure_names_the_error(error, message):
    """What people look at first."""
    failure = as_failure(error)

    assert (failure.status, failure.message) == ("failed", message)
    assert message.split(" (f.py")[0] in failure.traceback


def test_a_note_on_an_error_is_not_its_message():
    """It stands below the error in the traceback."""
    error = ValueError("no such luck")
    error.add_note("Try again tomorrow.")

    assert as_failure(error).message == "ValueError: no such luck"


def test_the_message_of_a_failure_is_one_line():
    """The rest is in the traceback."""
    failure = as_failure(ValueError("no such luck\nsize mismatch for layer 1"))

    assert failure.message == "ValueError: no such luck"
    assert "size mismatch" in failure.traceback


def test_an_error_that_cannot_say_what_it_is_is_a_failure_all_the_same():
    """Its class is known."""

    class SpeechlessError(Exception):
        def __str__(self):
            raise RuntimeError("no words")

    failure = as_failure(SpeechlessError())

    assert failure.message.startswith("SpeechlessError")
