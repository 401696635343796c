"""JSON documents of commands that have no result object, and of errors."""

import json
import math
import os
import sys
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, redirect_stdout
from typing import Any

from seedproof.messages import printable

# Version of these documents; it grows when a key is removed or changes its meaning.
FORMAT = 1
STDOUT, STDERR = 1, 2


def print_document(content: Mapping[str, Any]) -> None:
    """Print a document as one line of JSON, with null for NaN and infinite numbers."""
    text = json.dumps(_plain({"format": FORMAT, **content}), ensure_ascii=False, allow_nan=False)
    sys.stdout.write(text + "\n")


@contextmanager
def stdout_kept(*, is_kept: bool) -> Iterator[None]:
    """Send what a training prints to standard error, so that a document is alone on its stream.

    A training of the serial engine runs in this process, and programs that it starts inherit the
    descriptor.
    """
    if not is_kept:
        yield
        return
    sys.stdout.flush()
    descriptor = os.dup(STDOUT)
    os.dup2(STDERR, STDOUT)
    try:
        with redirect_stdout(sys.stderr):
            yield
    finally:
        os.dup2(descriptor, STDOUT)
        os.close(descriptor)


def print_files(files: list[str], **more: object) -> None:
    """Print which files a command wrote."""
    print_document({**more, "files": files})


def print_error(
    exit_code: int, code: str | None, message: str, fields: Mapping[str, object]
) -> None:
    """Print an error: its code, the message, and the facts behind it."""
    error = {"code": code, "message": printable(message), "fields": fields}
    print_document({"exit_code": exit_code, "error": error})


def _plain(value: object) -> Any:  # noqa: ANN401 - any JSON value
    """Return a value as JSON has it; what JSON does not have becomes a text."""
    if isinstance(value, Mapping):
        return {str(name): _plain(part) for name, part in value.items()}
    if isinstance(value, list | tuple | set | frozenset):
        parts = sorted(value, key=str) if isinstance(value, set | frozenset) else value
        return [_plain(part) for part in parts]
    if isinstance(value, bool) or value is None:
        return value
    if isinstance(value, int):
        return int(value)
    if isinstance(value, float):
        return float(value) if math.isfinite(value) else None
    return str(value)
