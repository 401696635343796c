"""Messages for users: a template and its fields, rendered when the text is read.

Code reads the code and the fields of a message, never its text.
"""

import errno
from collections.abc import Mapping
from string import Formatter
from typing import Any

# Codes and texts of what prevents writing, by the system's error number.
PROBLEMS = {
    errno.EACCES: ("permission", "permission denied"),
    errno.EPERM: ("permission", "permission denied"),
    errno.EROFS: ("read-only", "the disk is read-only"),
    errno.ENOSPC: ("disk-full", "the disk is full"),
    errno.EDQUOT: ("disk-full", "the disk quota is used up"),
    errno.EEXIST: ("file-in-path", "a file with this name exists"),
    errno.ENOTDIR: ("file-in-path", "part of the path is a file"),
    errno.EISDIR: ("folder", "it is a folder"),
    errno.ENAMETOOLONG: ("long-name", "the name is too long"),
}


def printable(text: str) -> str:
    """Return the text on one line, without control characters for the terminal."""
    line = " ".join(text.split())
    return "".join(char if char.isprintable() else f"\\x{ord(char):02x}" for char in line)


def render(template: str, fields: Mapping[str, object]) -> str:
    """Return the text of a message."""
    if not fields:
        return template
    try:
        return _RENDERER.vformat(template, (), fields)
    except (IndexError, KeyError, TypeError, ValueError):
        return f"{template} {fields}"


class _Renderer(Formatter):
    """`str.format` that renders a list of names as "a, b, c"."""

    def convert_field(self, value: Any, conversion: Any) -> Any:  # noqa: ANN401 - as the base has it
        if conversion == "r" and _are_names(value):
            return [repr(name) for name in value]
        return super().convert_field(value, conversion)

    def format_field(self, value: Any, format_spec: str) -> Any:  # noqa: ANN401 - same
        if _are_names(value):
            return ", ".join(value)
        return super().format_field(value, format_spec)


_RENDERER = _Renderer()


def _are_names(value: object) -> bool:
    return isinstance(value, list | tuple) and all(isinstance(name, str) for name in value)


class Message:
    """A message with a stable code and typed fields.

    Two messages are equal if code and text are equal.

    Args:
        code: Stable name of the message, such as "explanations-left-out".
        template: The text, with the names of fields: "{n_runs:,} runs of {arm!r}".
        **fields: A value for each name; further ones are allowed.

    >>> message = Message(
    ...     "too-few-runs", "{arm!r} has {n_runs} runs.", arm="ema", n_runs=1
    ... )
    >>> str(message)
    "'ema' has 1 runs."
    >>> message.code, message.fields["n_runs"]
    ('too-few-runs', 1)
    """

    __slots__ = ("code", "fields", "template")

    def __init__(self, code: str, template: str, /, **fields: object) -> None:
        self.code = code
        self.template = template
        self.fields = fields

    def replace(self, **fields: object) -> "Message":
        """Return the same message with other values of some fields."""
        return Message(self.code, self.template, **(self.fields | fields))

    def __str__(self) -> str:
        return render(self.template, self.fields)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Message) and (self.code, str(self)) == (other.code, str(other))

    def __hash__(self) -> int:
        return hash((self.code, str(self)))

    def __repr__(self) -> str:
        fields = "".join(f", {name}={value!r}" for name, value in self.fields.items())
        return f"Message({self.code!r}{fields})"


class Sentences:
    """Templates by code; a call with a code and fields returns the message."""

    def __init__(self, templates: Mapping[str, str]) -> None:
        self._templates = templates

    def __call__(self, code: str, /, **fields: object) -> Message:
        """Return a message."""
        return Message(code, self._templates[code], **fields)


def recorded(text: str) -> Message:
    """Return a message of which only the text is known, such as one read from a file."""
    return Message("recorded", "{text}", text=text)


def problem_of(error: OSError) -> Message:
    """Return what prevents writing, as a message of our own; its field `errno` has the number."""
    number = "" if error.errno is None else " (error {errno})"
    code, text = PROBLEMS.get(error.errno or 0, ("system", f"the system refused it{number}"))
    return Message(code, text, errno=error.errno)
