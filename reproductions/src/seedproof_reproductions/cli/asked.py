"""What somebody asked for, whichever the paper is."""

from collections.abc import Collection
from dataclasses import dataclass
from pathlib import Path
from textwrap import fill
from typing import Any

import typer

from seedproof.errors import OptionError

INTERRUPTED = 130
WIDTH = 80
PAGE_SUFFIX = ".md"


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


def show_sentence(text: str) -> None:
    """Print a sentence in lines that a terminal holds."""
    typer.echo(fill(text, width=WIDTH, break_on_hyphens=False))


def show_left_out(store: str, shown: Collection[str]) -> None:
    """Tell which arms a table lacks."""
    from seedproof_reproductions.making import left_out

    arms = left_out(store, shown)
    if arms:
        show_sentence(f"Left out, with fewer than 2 finished runs: {', '.join(arms)}.")


def refuse_file(name: str | None, *, option: str) -> None:
    """Check that what should be a folder is no file, before anything is trained.

    Args:
        name: What was given; None if nothing was.
        option: Which option it was given to.

    Raises:
        OptionError: There is a file of that name.
    """
    if name is not None and Path(name).is_file():
        raise OptionError(f"--{option} is {name!r}, which is a file. Name a folder.")


def refuse_other_pages(page: str) -> None:
    """Check what a page is to be called, before anything is written.

    Args:
        page: Its name.

    Raises:
        OptionError: It is no file of Markdown.
    """
    if Path(page).suffix != PAGE_SUFFIX or Path(page).is_dir():
        what = "a folder" if Path(page).is_dir() else "no file of Markdown"
        raise OptionError(
            f"--page is {page!r}, which is {what}. Give a name that ends in {PAGE_SUFFIX}, such as "
            f"results{PAGE_SUFFIX}."
        )
