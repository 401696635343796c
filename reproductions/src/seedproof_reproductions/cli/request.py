"""Options of `seedproof reproduce`, and how results are printed."""

from collections.abc import Collection, Mapping
from dataclasses import dataclass
from pathlib import Path
from textwrap import fill
from typing import Any

import typer

from seedproof.errors import OptionError

WIDTH = 80
# Options that only one paper has.
PAPER_OPTIONS = {
    "conll2019": ("encoder", "attention", "explain", "lime_examples", "lime_samples"),
    "findings2023": ("track",),
}


@dataclass(frozen=True)
class Request:
    """What to train and where results go; None stands for the paper's value."""

    dataset: str | None
    encoder: str | None
    attention: str | None
    track: str | None
    arms: str | None
    seeds: int | None
    epochs: int | None
    n_train: int | None
    n_test: int | None
    smoke: bool
    explain: bool
    lime_examples: int | None
    lime_samples: int | None
    store: str | None
    results: str | None
    engine: str
    workers: int | None

    def check(self, paper: str) -> None:
        """Refuse options that have no effect, and files in place of folders."""
        if paper not in PAPER_OPTIONS:
            known = ", ".join(PAPER_OPTIONS)
            raise OptionError(f"There is no recipe for {paper!r}. Known: {known}.")
        for other, names in PAPER_OPTIONS.items():
            given = self._given(names)
            if given and other != paper:
                raise OptionError(f"--{given[0]} goes with {other}, not {paper}. Leave it out.")
        for option, name in (("store", self.store), ("results", self.results)):
            if name is not None and Path(name).is_file():
                raise OptionError(f"--{option} is {name!r}, which is a file. Name a folder.")
        if not self.explain and self._given(("lime_examples", "lime_samples")):
            raise OptionError("--lime-examples and --lime-samples go with --explain. Add it.")

    @property
    def arm_names(self) -> tuple[str, ...] | None:
        """Names of arms, if they were given."""
        return None if self.arms is None else tuple(arm.strip() for arm in self.arms.split(","))

    def training_options(self) -> list[str]:
        """Return the options that were given and describe a training."""
        common = ("dataset", "arms", "seeds", "epochs", "n_train", "n_test", "smoke", "store")
        return self._given((*common, *PAPER_OPTIONS["conll2019"], *PAPER_OPTIONS["findings2023"]))

    def _given(self, names: Collection[str]) -> list[str]:
        values = {name.replace("_", "-"): getattr(self, name) for name in names}
        return [name for name, value in values.items() if value is not None and value is not False]

    def choose(self, *names: str) -> dict[str, Any]:
        """Return the fields that were given, by their names in a setting."""
        return {n: getattr(self, n) for n in names if getattr(self, n) is not None}


def check_page(page: str) -> None:
    """Refuse a name that is not a Markdown file, before anything is written."""
    if Path(page).suffix != ".md" or Path(page).is_dir():
        kind = "a folder" if Path(page).is_dir() else "not a Markdown file"
        raise OptionError(
            f"--page is {page!r}, which is {kind}. Give a name that ends in .md, such as "
            "results.md."
        )


def show_table(rows: list[tuple[str, ...]]) -> None:
    """Print rows of text in columns."""
    widths = [max(len(row[column]) for row in rows) for column in range(len(rows[0]))]
    for row in rows:
        typer.echo("  ".join(text.ljust(w) for text, w in zip(row, widths, strict=True)).rstrip())


def show_sentence(text: str) -> None:
    """Print a sentence, wrapped to the width of a terminal."""
    typer.echo(fill(text, width=WIDTH, break_on_hyphens=False))


def show_incomplete(store: str, shown: Collection[str]) -> None:
    """Print which arms a table lacks."""
    from seedproof_reproductions.runs import incomplete_arms

    arms = incomplete_arms(store, shown)
    if arms:
        show_sentence(f"Left out, with fewer than 2 finished runs: {', '.join(arms)}.")


def keep(results: Mapping[str, Any], folder: str | None) -> None:
    """Write results into the folder that was given, if any."""
    from seedproof_reproductions.results import write_results

    if folder is not None:
        typer.echo(f"Written: {write_results(results, folder)}", err=True)
