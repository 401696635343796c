"""Checks of an error's fields."""

import pytest

from seedproof.errors import ColumnError, OptionError
from seedproof.testing.errors import WithFields

ERROR = OptionError("No arm {arm!r}. Known: {known}.", arm="x", known=("ema",), seed=None)


@pytest.mark.parametrize(
    "fields",
    [{}, {"arm": "x"}, {"known": ("ema",)}, {"arm": "x", "known": ("ema",)}, {"seed": None}],
    ids=["none", "name", "names", "several", "empty"],
)
def test_fields_of_the_error_are_accepted(fields):
    assert WithFields(**fields)(ERROR)


@pytest.mark.parametrize(
    "fields",
    [{"arm": "y"}, {"arm": "x", "known": ()}, {"run": "0"}, {"run": None}],
    ids=["value", "second", "name", "absent"],
)
def test_other_fields_are_refused(fields):
    assert not WithFields(**fields)(ERROR)


@pytest.mark.parametrize("error", [ValueError("arm"), KeyError("arm")], ids=["value", "key"])
def test_errors_of_other_libraries_have_no_fields(error):
    assert not WithFields()(error)


def test_check_works_with_pytest_raises():
    with pytest.raises(OptionError, check=WithFields(arm="x")):
        raise ERROR
    with pytest.raises(AssertionError), pytest.raises(OptionError, check=WithFields(arm="y")):
        raise ERROR
    with pytest.raises(OptionError), pytest.raises(ColumnError, check=WithFields(arm="x")):
        raise ERROR


def test_failed_check_shows_the_fields():
    assert repr(WithFields(arm="x")) == "WithFields(fields={'arm': 'x'})"
