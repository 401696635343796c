"""Messages: a template and its fields, which become text when they are read."""

import copy
import errno
import pickle
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from seedproof.messages import Message, printable, problem_of, recorded, render


@pytest.mark.parametrize(
    ("template", "fields", "text"),
    [
        ("{n:,}+{share:.1f}", {"n": 1234, "share": 0.25}, "1,234+0.2"),
        ("{arm}|{arm!r}", {"arm": "ema"}, "ema|'ema'"),
        ("{path}", {"path": Path("a/b")}, "a/b"),
        ("{none}", {"none": None}, "None"),
        ("{{{n}}}", {"n": 1}, "{1}"),
        ("{n}", {"n": 1, "further": 2}, "1"),
    ],
    ids=["formats", "names", "path", "none", "braces", "further"],
)
def test_template_is_filled_as_by_format(template, fields, text):
    """Formats and conversions are those of `str.format`; fields without a place are allowed."""
    assert render(template, fields) == text


@pytest.mark.parametrize("names", [["a", "b'c"], ("a", "b'c")], ids=["list", "tuple"])
def test_names_are_joined_by_commas(names):
    """Also where each of them is quoted; what they are made of is asked for with `!s`."""
    assert render("{names}", {"names": names}) == "a, b'c"
    assert render("{names!r}", {"names": names}) == "'a', \"b'c\""
    assert render("{names!s}", {"names": names}) == str(names)


def test_no_names_are_no_text():
    """Nothing is listed, so that a shape without axes needs `!s`."""
    assert render("<{names}>", {"names": ()}) == "<>"
    assert render("<{shape!s}>", {"shape": ()}) == "<()>"


@pytest.mark.parametrize("value", [(2, 3), [0.5, 0.5], ["a", 1], {"a": 1}])
def test_what_is_no_list_of_names_stays_as_it_is(value):
    """Shapes and numbers are written as Python writes them."""
    assert render("{value}", {"value": value}) == str(value)
    assert render("{value!r}", {"value": value}) == repr(value)


@given(st.text())
def test_template_without_fields_is_the_text(text):
    """Its braces mean nothing."""
    assert render(text, {}) == text
    assert str(Message("code", text)) == text


@given(st.text())
def test_braces_in_values_mean_nothing(text):
    """A value is never taken for a template."""
    assert render("<{name}>", {"name": text}) == f"<{text}>"
    assert str(recorded(text)) == text


@pytest.mark.parametrize(
    ("template", "fields"),
    [("{arm}", {"arms": 2}), ("{}", {"arm": 2}), ("{n:,}", {"n": "x"}), ("{arm", {"arm": 2})],
    ids=["missing", "without-name", "format", "brace"],
)
def test_template_that_does_not_fit_is_shown_with_its_fields(template, fields):
    """A message never fails while it is shown; `tests/meta/test_messages.py` finds these before."""
    assert render(template, fields) == f"{template} {fields}"
    assert str(Message("code", template, **fields)) == f"{template} {fields}"


@given(st.text())
def test_printable_text_is_one_line_for_any_terminal(text):
    """No line end, no control code, no white space but single spaces."""
    line = printable(text)

    assert line.isprintable()
    assert line == " ".join(line.split(" "))
    assert printable(line) == line


def test_control_codes_are_shown():
    """An escape sequence would steer the terminal."""
    assert printable("a\n\tb \x1b[31mc\x00") == r"a b \x1b[31mc\x00"


def test_parts_of_a_message_can_be_asked_for():
    """Its code and fields; its text is made when it is read."""
    message = Message("too-few-runs", "{arm!r}: {n_runs}", arm="ema", n_runs=1)

    assert (message.code, message.fields) == ("too-few-runs", {"arm": "ema", "n_runs": 1})
    assert str(message) == f"{message}" == "'ema': 1"
    assert repr(message) == "Message('too-few-runs', arm='ema', n_runs=1)"


def test_fields_may_have_any_name():
    """Also those of the first two arguments."""
    message = Message("a", "{code}-{template}", code=1, template=2)

    assert str(message) == "1-2"


def test_replaced_fields_leave_the_message_as_it_is():
    """A new message is made."""
    message = Message("lost", "{path} {n}", path="a", n=1)

    other = message.replace(path="b")

    assert (str(other), other.code) == ("b 1", "lost")
    assert str(message) == "a 1"


def test_messages_within_messages():
    """A reason is a field like others; so is an error."""
    reason = Message("gone", "{path}!", path="a")

    assert str(Message("left-out", "{run}: {why}", run=1, why=reason)) == "1: a!"


def test_messages_are_equal_if_they_say_the_same():
    """So that a note which several runs have is shown once."""
    message = Message("lost", "{path}", path="a")

    assert message == Message("lost", "{path}", path=Path("a"))
    assert message != Message("gone", "{path}", path="a")
    assert message != Message("lost", "{path}", path="b")
    assert message != str(message)
    assert len({message, Message("lost", "a"), Message("lost", "b")}) == 2


@pytest.mark.parametrize(
    "copied",
    [lambda message: pickle.loads(pickle.dumps(message)), copy.copy, copy.deepcopy],  # noqa: S301 - our own bytes
    ids=["pickle", "copy", "deepcopy"],
)
def test_copies_keep_code_and_fields(copied):
    """Notes come back from other processes."""
    message = Message("lost", "{run}: {why}", run="{0}", why=recorded("x"))

    again = copied(message)

    assert (again.code, again.template, again.fields) == ("lost", "{run}: {why}", message.fields)
    assert str(again) == "{0}: x"


@pytest.mark.parametrize(
    ("number", "code"),
    [
        (errno.EACCES, "permission"),
        (errno.EROFS, "read-only"),
        (errno.ENOSPC, "disk-full"),
        (errno.EIO, "system"),
        (None, "system"),
    ],
)
def test_problem_has_a_code_of_ours(number, code):
    """An error of Arrow may have no number."""
    error = OSError("raw text") if number is None else OSError(number, "raw text")

    problem = problem_of(error)

    assert (problem.code, problem.fields) == (code, {"errno": number})
