"""Reasons why a table cannot be read, from what DuckDB and Arrow say about it.

Neither has error codes or fields for damage in a table, so their texts are all there is to go by.
"""

import re

from seedproof.errors import UnreadableError
from seedproof.messages import Message, recorded

# Bytes of text that DuckDB reads at a time; its own 32 MB would not fit into a small share.
BUFFER_BYTES = 8 * 10**6
# What DuckDB allows an object of JSON to take, unless it is given more.
OBJECT_BYTES = 16 * 2**20
_MEGABYTES = BUFFER_BYTES // 10**6
OPEN_QUOTE = "open-quote", "line {line} has a quote that does not close"
_LINE = re.compile(r"CSV Error on Line: (\d+)")
# How DuckDB's second line begins, the code of the reason, and how we say it.
_IN_A_LINE = (
    (
        "Expected Number of Columns",
        "other-number-of-fields",
        "line {line} has more or fewer fields than the header",
    ),
    ("Value with unterminated quote", *OPEN_QUOTE),
    ("Invalid unicode", "no-utf-8", "line {line} is not UTF-8"),
    ("Maximum line size", "long-line", "line {line} is longer than {megabytes} MB"),
)


def reason_of(error: Exception) -> Message:
    """Return why a table cannot be read."""
    first, *others = str(error).strip().split("\n")
    if (match := _LINE.search(first)) is not None:
        line = int(match[1])
        for sign, code, template in _IN_A_LINE:
            if any(other.startswith(sign) for other in others):
                return Message(code, template, line=line, megabytes=_MEGABYTES)
        return Message("invalid-line", "line {line} is not valid", line=line)
    if "CSV Parser state machine" in first:
        return Message("mixed-line-ends", "its line ends are mixed, or its quotes do not match")
    if "Parallel CSV Reader" in first:
        return Message("long-line", "a line is longer than {megabytes} MB", megabytes=_MEGABYTES)
    return recorded(
        first.removeprefix("Conversion Error: ").removeprefix("Invalid Input Error: ").rstrip(".")
    )


def unreadable(tables: tuple[str, ...], reason: Message) -> UnreadableError:
    """Return the error for tables, by the names of their files, that cannot be read."""
    return UnreadableError(
        "{tables} cannot be read: {reason}. Look whether it is complete and of the format "
        "that its name says, or save it again.",
        tables=tables,
        reason=reason,
    )
