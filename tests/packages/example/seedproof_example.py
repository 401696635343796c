"""A complete package that adds a file format, a verb and an engine."""

from collections.abc import Callable, Iterable, Iterator
from pathlib import Path
from typing import Any

import pyarrow as pa
import typer

from seedproof.engines import Engine, SerialEngine


class Semicolons:
    """A file format: `run;example;prediction` in files that end in .answers."""

    @staticmethod
    def recognizes(path: Path) -> bool:
        """Return whether a file has this format."""
        return path.suffix == ".answers"

    @staticmethod
    def read(path: Path) -> pa.Table:
        """Return the rows of a file."""
        rows = [line.split(";") for line in path.read_text(encoding="utf-8").splitlines()]
        names = ("run", "example", "prediction")
        return pa.table(dict(zip(names, zip(*rows, strict=True), strict=True)))


def runs(target: str) -> None:
    """Print the names of the runs of a target."""
    import seedproof as sp

    typer.echo(" ".join(sp.Predictions.load(target).runs))


class Backwards(Engine):
    """An engine that processes its items in reverse order."""

    def __init__(self, *, workers: int = 1) -> None:
        del workers

    def map(
        self,
        task: Callable[[Any], Any],
        items: Iterable[Any],
        *,
        on_start: Callable[[int], None] | None = None,
    ) -> Iterator[Any]:
        """Apply the task to every item."""
        outcomes = list(SerialEngine().map(task, list(items), on_start=on_start))
        typer.echo(f"backwards: {len(outcomes)}", err=True)
        yield from reversed(outcomes)
