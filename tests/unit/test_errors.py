"""Errors: a code that never changes, a template, and fields that code can ask for."""

import pickle

import cloudpickle
import pytest
from hypothesis import given
from hypothesis import strategies as st

from seedproof import errors
from seedproof.errors import (
    ColumnError,
    MissingExtraError,
    NotFoundError,
    OptionError,
    SeedproofError,
    first_line,
)
from seedproof.messages import Message
from seedproof.records.location import Location

CLASSES = [
    value
    for value in vars(errors).values()
    if isinstance(value, type) and issubclass(value, SeedproofError)
]
every_class = pytest.mark.parametrize("kind", CLASSES, ids=lambda kind: kind.__name__)


@every_class
def test_error_has_text_and_fields(kind):
    """Also if the builtin class that it inherits from treats arguments differently."""
    error = kind("{path}: {n:,} {arms!r}", path="t.csv", n=1234, arms=("a", "b"), further=None)

    assert str(error) == "t.csv: 1,234 'a', 'b'"
    assert error.fields == {"path": "t.csv", "n": 1234, "arms": ("a", "b"), "further": None}
    assert error.args == (error.template,)


@every_class
def test_error_without_fields_is_its_template(kind):
    """Braces mean nothing in it, and an error may say nothing at all."""
    assert str(kind("max={flip_rate: 1}")) == "max={flip_rate: 1}"
    assert str(kind()) == ""
    assert kind("x").fields == {}


@every_class
@pytest.mark.parametrize("module", [pickle, cloudpickle], ids=lambda module: module.__name__)
def test_error_survives_the_way_from_another_process(kind, module):
    """Class, text, code and fields, with locations and reasons among them."""
    reason = Message("gone", "{name}!", name="{x}")
    error = kind("{path}: {reason} {n}", path=Location.of("store/run.json"), reason=reason, n=3)

    again = pickle.loads(module.dumps(error))  # noqa: S301 - our own bytes

    assert type(again) is kind
    assert (str(again), again.code, again.template) == (str(error), error.code, error.template)
    assert again.fields["n"] == 3
    assert again.fields["reason"] == reason
    assert str(again.fields["path"]) == str(error.fields["path"])


@every_class
def test_replaced_fields_give_the_same_error(kind):
    """Another error of the same class; the first stays as it is."""
    error = kind("{path} {n}", path="a", n=1)

    other = error.replace(path="b", run="0")

    assert type(other) is kind
    assert (str(other), other.fields) == ("b 1", {"path": "b", "n": 1, "run": "0"})
    assert error.fields == {"path": "a", "n": 1}


@every_class
def test_representation_has_class_and_text(kind):
    """As it is shown in a list of errors."""
    assert repr(kind("{arm}", arm="it's")) == f"""{kind.__name__}("it's")"""


@given(st.text(), st.text())
def test_error_is_one_printable_line(template, value):
    """Names of files and classes may hold line ends, control codes and braces."""
    for error in (OptionError(template), OptionError("<{name}>", name=value)):
        assert str(error).isprintable()
        assert "\n" not in str(error)


def test_braces_in_values_mean_nothing():
    """A class may be called {x}."""
    error = ColumnError("{column!r} {columns}", column="{0}", columns=["{a}", "}"])

    assert str(error) == "'{0}' {a}, }"


def test_fields_do_not_take_the_place_of_attributes():
    """Python's own ImportError and OSError have attributes of such names."""
    missing = MissingExtraError("{name} {path}", name="ray", path="x")
    gone = NotFoundError("{filename} {errno}", filename="a", errno=2)

    assert (missing.fields, missing.name) == ({"name": "ray", "path": "x"}, None)
    assert (gone.fields, gone.filename) == ({"filename": "a", "errno": 2}, None)


def test_codes_are_those_of_the_tree():
    """One for each class, none twice; the tree in the module's docstring has all of them."""
    codes = {kind.__name__: kind.code for kind in CLASSES}

    assert len(set(codes.values())) == len(codes)
    lines = [line.split() for line in errors.__doc__.splitlines()]
    for name, code in codes.items():
        assert any(name in words for words in lines)
        assert any(code in words for words in lines)


@pytest.mark.parametrize(
    ("text", "line"),
    [("a\nb", "a"), ("\n a. \nb", "a. "), ("a.", "a"), ("", "")],
    ids=["two", "space", "stop", "none"],
)
def test_first_line_of_another_error(text, line):
    """For the middle of a sentence: without the lines that follow, and without its full stop."""
    assert first_line(ValueError(text)) == line
