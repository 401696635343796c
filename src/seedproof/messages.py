"""Messages for people: a template and its fields, which become text when they are read.

Code that needs to know what a message says looks at its code and fields, never at its words.
"""

from collections.abc import Mapping
from string import Formatter
from typing import Any


def printable(text: str) -> str:
    """Return the text on one line, without characters that could steer a terminal."""
    line = " ".join(text.split())
    return "".join(sign if sign.isprintable() else f"\\x{ord(sign):02x}" for sign in line)


def render(template: str, fields: Mapping[str, object]) -> str:
    """Return the text of a message."""
    if not fields:
        return template
    try:
        return _RENDERER.vformat(template, (), fields)
    except (IndexError, KeyError, TypeError, ValueError):
        return f"{template} {fields}"


class _Renderer(Formatter):
    """`str.format` for which a list of names is "a, b, c"."""

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
    """A sentence for people that code can ask for its parts.

    Two messages are equal if they say the same.

    Args:
        code: Stable name of what it says, such as "explanations-left-out".
        template: Its words, with the names of fields: "{n_runs:,} runs of {arm!r}".
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
    """Templates by the codes of their messages: called with a code and fields, it gives one."""

    def __init__(self, templates: Mapping[str, str]) -> None:
        self._templates = templates

    def __call__(self, code: str, /, **fields: object) -> Message:
        """Return a message."""
        return Message(code, self._templates[code], **fields)


def recorded(text: str) -> Message:
    """Return a message of which only the text is left, such as one that was read from a file."""
    return Message("recorded", "{text}", text=text)
