"""Options of `seedproof reproduce`, and how results are printed."""

from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import chain
from pathlib import Path
from textwrap import fill
from typing import Any, TypeVar

import typer

from seedproof.errors import OptionError
from seedproof_reproductions.known import check_known
from seedproof_reproductions.settings import BaseSetting

AnySetting = TypeVar("AnySetting", bound=BaseSetting)
WIDTH = 80
# Further options of a setting.
TRAINING = ("seed", "optimizer", "learning_rate", "epochs", "held_out")
# Sizes of the data.
SIZES = ("n_train", "n_test", "n_users")
# Options that not every paper has.
PAPER_OPTIONS = {
    "conll2019": (
        "dataset", "encoder", "attention", "optimizer", "learning_rate", "explain", "lime_examples",
        "lime_samples", "cross", "blocks", "n_train", "n_test",
    ),
    "findings2023": ("dataset", "track", "n_train", "n_test"),
    "thesis2019": ("model", "output", "n_users", "held_out"),
}  # fmt: skip


@dataclass(frozen=True)
class Request:
    """Options of a training and of its results; None means the value of the paper."""

    dataset: str | None
    encoder: str | None
    attention: str | None
    optimizer: str | None
    learning_rate: float | None
    track: str | None
    model: str | None
    output: str | None
    arms: str | None
    seeds: int | None
    seed: int | None
    epochs: int | None
    n_train: int | None
    n_test: int | None
    n_users: int | None
    held_out: int | None
    smoke: bool
    explain: bool
    lime_examples: int | None
    lime_samples: int | None
    cross: bool
    blocks: int | None
    store: str | None
    results: str | None
    engine: str
    workers: int | None

    def check(self, paper: str) -> None:
        """Refuse options that have no effect, and files in place of folders."""
        check_known("paper", paper, PAPER_OPTIONS, error=OptionError)
        for other, names in PAPER_OPTIONS.items():
            given = self._given([name for name in names if name not in PAPER_OPTIONS[paper]])
            if given:
                raise OptionError(
                    "--{option} applies to {other}, not to {paper}. Remove it.",
                    option=given[0],
                    other=other,
                    paper=paper,
                )
        for option, name in (("store", self.store), ("results", self.results)):
            if name is not None and Path(name).is_file():
                raise OptionError(
                    "--{option} is {name!r}, which is a file. Name a folder.",
                    option=option,
                    name=name,
                )
        if not self.explain and self._given(("lime_examples", "lime_samples")):
            raise OptionError("--lime-examples and --lime-samples need --explain. Add it.")

    @property
    def arm_names(self) -> tuple[str, ...] | None:
        """Names of arms, if they were given."""
        return None if self.arms is None else tuple(arm.strip() for arm in self.arms.split(","))

    def training_options(self) -> list[str]:
        """Return the options that were given and describe a training."""
        common = ("arms", "seeds", "seed", "epochs", "smoke", "store")
        return self._given(dict.fromkeys((*chain(*PAPER_OPTIONS.values()), *common)))

    def _given(self, names: Collection[str]) -> list[str]:
        values = {name.replace("_", "-"): getattr(self, name) for name in names}
        return [name for name, value in values.items() if value is not None and value is not False]

    def setting(self, kind: type[AnySetting]) -> AnySetting:
        """Return the setting that was chosen, with everything else that was given."""
        choices, others = (
            {name: getattr(self, name) for name in names if getattr(self, name) is not None}
            for names in (kind.choices, (*TRAINING, *SIZES))
        )
        setting = kind(**choices)
        return replace(setting.smoke() if self.smoke else setting, **others)

    def or_usual(self, name: str, usual: int) -> int:
        """Return the given number, or the usual one if omitted."""
        given = getattr(self, name)
        return usual if given is None else int(given)

    def finish(
        self,
        results: Mapping[str, Any],
        show: Callable[[Mapping[str, Any]], None],
        store: str | None = None,
    ) -> None:
        """Show results and what a store lacks, and write them into the folder that was given."""
        from seedproof_reproductions.results import write_results
        from seedproof_reproductions.runs import incomplete_arms

        show(results)
        arms = () if store is None else incomplete_arms(store, results["arms"])
        if arms:
            show_sentence(f"Left out, with fewer than 2 finished runs: {', '.join(arms)}.")
        if self.results is not None:
            typer.echo(f"Written: {write_results(results, self.results)}", err=True)


def check_page(page: str) -> None:
    """Refuse a name that is not a Markdown file, before anything is written."""
    if Path(page).suffix != ".md" or Path(page).is_dir():
        kind = "a folder" if Path(page).is_dir() else "not a Markdown file"
        raise OptionError(
            "--page is {page!r}, which is {kind}. Pass a name that ends in .md, such as "
            "results.md.",
            page=page,
            kind=kind,
        )


def show_table(title: str, header: tuple[str, ...], body: Sequence[tuple[str, ...]]) -> None:
    """Print a title and rows of text in columns."""
    typer.echo(title)
    rows = [header, *body]
    widths = [max(len(row[column]) for row in rows) for column in range(len(rows[0]))]
    for row in rows:
        typer.echo("  ".join(text.ljust(w) for text, w in zip(row, widths, strict=True)).rstrip())


def show_sentence(text: str) -> None:
    """Print a sentence, wrapped to the width of a terminal."""
    typer.echo(fill(text, width=WIDTH, break_on_hyphens=False))
