"""Checks of errors and warnings for tests: by their data, never by their text."""

import warnings
from collections.abc import Iterable
from dataclasses import dataclass

from seedproof.errors import SeedproofError
from seedproof.messages import Message

_ABSENT = object()


@dataclass(frozen=True, init=False)
class WithFields:
    """A check that an error carries some fields, for `pytest.raises(..., check=...)`.

    Args:
        **fields: Names and values; an error may carry more.

    >>> from seedproof.errors import OptionError
    >>> error = OptionError("No arm {arm!r}. Known: {known}.", arm="x", known=("ema",))
    >>> WithFields(arm="x")(error), WithFields(arm="ema")(error)
    (True, False)
    """

    fields: dict[str, object]

    def __init__(self, **fields: object) -> None:
        object.__setattr__(self, "fields", fields)

    def __call__(self, error: BaseException) -> bool:
        """Return whether the error is one of seedproof's and carries all of the fields."""
        if not isinstance(error, SeedproofError):
            return False
        pairs = [(error.fields.get(name, _ABSENT), value) for name, value in self.fields.items()]
        # An object is equal to itself, even NaN.
        return all(carried is value or carried == value for carried, value in pairs)


def warning_codes(recorded: Iterable[warnings.WarningMessage]) -> list[str]:
    """Return the codes of seedproof's warnings, from the result of `pytest.warns`, in order."""
    raised = [warning.message for warning in recorded]
    messages = [
        warning.args[0] for warning in raised if isinstance(warning, Warning) and warning.args
    ]
    return [message.code for message in messages if isinstance(message, Message)]
