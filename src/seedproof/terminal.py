"""Text for a terminal: no character of the data controls it.

A terminal obeys escape sequences, and some write to the clipboard or hide what was printed. The
command line replaces its streams with `SafeStream`; tables and colors are drawn by
`report.console.SafeConsole`, whose own sequences pass.
"""

import os
import re
import sys
from collections.abc import Iterable, Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import Any, TextIO, cast

# C0 except tab and line end, DEL, C1, marks that change the direction of text, line separators, and
# halves of characters, which no stream can encode.
UNSAFE = re.compile(
    "[\x00-\x08\x0b-\x1f\x7f-\x9f\u202a-\u202e\u2028\u2029\u2066-\u2069\ud800-\udfff]"
)


def escaped(text: str) -> str:
    r"""Return a text in which control characters are visible, such as \u001b.

    The escapes are those of JSON, so that JSON keeps its meaning. A return to the start of the line
    becomes a new line.

    >>> print(escaped("a\x1b[2Jb"))
    a\u001b[2Jb
    """
    if text.isascii() and text.isprintable():
        return text
    text = text.replace("\r\n", "\n").replace("\r", "\n")
    return UNSAFE.sub(lambda match: f"\\u{ord(match[0]):04x}", text)


class SafeStream:
    """A text stream that escapes control characters; everything else is that of the stream."""

    def __init__(self, stream: TextIO) -> None:
        # rich writes its own sequences to the stream of this name.
        self.rich_proxied_file = stream

    def write(self, text: str) -> int:
        """Write a text, and return its length."""
        self.rich_proxied_file.write(escaped(text))
        return len(text)

    def writelines(self, lines: Iterable[str]) -> None:
        """Write several texts."""
        for line in lines:
            self.write(line)

    def __getattr__(self, name: str) -> Any:  # noqa: ANN401 - of the stream
        return getattr(self.rich_proxied_file, name)


@contextmanager
def safe_output() -> Iterator[None]:
    """Let standard output and standard error escape control characters."""
    before = sys.stdout, sys.stderr
    with ExitStack() as stack:
        # A stream that the caller has closed is None.
        streams = (
            stack.enter_context(Path(os.devnull).open("w", encoding="utf-8"))
            if stream is None
            else stream
            for stream in before
        )
        sys.stdout, sys.stderr = (cast("TextIO", SafeStream(stream)) for stream in streams)
        try:
            yield
        finally:
            sys.stdout, sys.stderr = before
