"""The serial engine."""

import os

import pytest

from seedproof.engines import SerialEngine
from seedproof.engines.serial import as_failure


def test_items_run_in_order_in_this_process():
    """So that breakpoints work."""
    done = []

    outcomes = list(SerialEngine().map(lambda item: done.append(item) or os.getpid(), "abc"))

    assert done == ["a", "b", "c"]
    assert [outcome.index for outcome in outcomes] == [0, 1, 2]
    assert {outcome.value() for outcome in outcomes} == {os.getpid()}


def test_exception_object_is_kept():
    """With its frames."""
    error = ValueError("no such luck")

    def unlucky(_):
        raise error

    (outcome,) = SerialEngine().map(unlucky, [0])

    assert outcome.failure.error is error


def test_interrupt_is_not_a_failure_of_the_task():
    """Ctrl-C ends everything."""

    def interrupted(_):
        raise KeyboardInterrupt

    outcomes = SerialEngine().map(interrupted, [0, 1])

    with pytest.raises(KeyboardInterrupt):
        next(outcomes)


@pytest.mark.parametrize(
    "error",
    [
        ValueError("no such luck"),
        KeyError("loss"),
        RuntimeError(),
        SyntaxError("invalid syntax", ("f.py", 1, 1, "a b", 1, 2)),
        ExceptionGroup("two", [ValueError(), KeyError()]),
    ],
    ids=lambda error: type(error).__name__,
)
def test_message_of_a_failure_names_the_error(error):
    """Its class and its text; without a text, its class alone."""
    failure = as_failure(error)

    kind, text = type(error).__name__, str(error)
    assert (failure.status, failure.message.code) == ("failed", "raised")
    assert failure.message.fields == {"error_type": kind, "reason": text}
    assert str(failure.message) == (f"{kind}: {text}" if text else kind)
    assert kind in failure.traceback


class SpeechlessError(Exception):
    """An error whose text raises."""

    def __str__(self):
        raise RuntimeError("no words")


def test_reason_of_a_failure_is_the_first_line_of_its_text():
    """Further lines and notes are in the traceback; a broken text is empty."""
    first, second = "no such luck", "size mismatch for layer 1"
    error = ValueError(f"{first}\n{second}")
    error.add_note("Try again tomorrow.")

    failure = as_failure(error)

    assert failure.message.fields["reason"] == first
    assert second in failure.traceback
    assert as_failure(SpeechlessError()).message.fields == {
        "error_type": "SpeechlessError",
        "reason": "",
    }
