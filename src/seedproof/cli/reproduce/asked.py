"""What somebody asked for, whichever the paper is."""

from dataclasses import dataclass
from typing import Any

import typer

INTERRUPTED = 130


@dataclass(frozen=True)
class Asked:
    """Options that every paper's recipe has; None stands for what the paper did.

    Args:
        dataset: Name of a data set.
        arms: Names of arms.
        seeds: How many.
        epochs: How many.
        n_train: Size of the part that is trained on.
        n_test: Size of the part that is tested on.
        smoke: Whether a few seconds must do.
        store: Where records go.
        results: A folder for small files with the results.
        engine: Where runs are made.
        workers: How many runs at a time.
    """

    dataset: str | None
    arms: tuple[str, ...] | None
    seeds: int | None
    epochs: int | None
    n_train: int | None
    n_test: int | None
    smoke: bool
    store: str | None
    results: str | None
    engine: str
    workers: int | None

    def sizes(self) -> dict[str, Any]:
        """Sizes that were given, by their names in a setting."""
        sizes = {"epochs": self.epochs, "n_train": self.n_train, "n_test": self.n_test}
        return {name: value for name, value in sizes.items() if value is not None}

    @property
    def trains(self) -> list[str]:
        """Options that were given and say what is trained."""
        given = {
            "dataset": self.dataset,
            "arms": self.arms,
            "seeds": self.seeds,
            "epochs": self.epochs,
            "n-train": self.n_train,
            "n-test": self.n_test,
            "smoke": self.smoke or None,
            "store": self.store,
        }
        return [name for name, value in given.items() if value is not None]


def show_table(rows: list[tuple[str, ...]]) -> None:
    """Print rows of text in columns."""
    widths = [max(len(row[column]) for row in rows) for column in range(len(rows[0]))]
    for row in rows:
        typer.echo("  ".join(text.ljust(w) for text, w in zip(row, widths, strict=True)).rstrip())
