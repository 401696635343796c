"""`seedproof reproduce`: train what a paper trained, under many seeds, and compare with it."""

from collections.abc import Mapping
from dataclasses import dataclass, replace
from textwrap import fill
from typing import TYPE_CHECKING, Annotated, Any

import typer

from seedproof.errors import NotFoundError, OptionError

if TYPE_CHECKING:
    from seedproof.papers.conll2019.settings import Setting

PAPERS = ("conll2019",)
SMOKE_SEEDS, SMOKE_ARMS = 3, ("none", "aswa")
DEFAULT_SEEDS, DEFAULT_ARMS = 10, "none,aswa,naswa"
LIME_EXAMPLES, LIME_SAMPLES = 200, 5000
SMOKE_LIME_EXAMPLES, SMOKE_LIME_SAMPLES = 20, 100
INTERRUPTED = 130
WIDTH = 80


def reproduce(
    paper: Annotated[str, typer.Argument(metavar="PAPER", help="conll2019.", show_default=False)],
    *,
    dataset: Annotated[
        str, typer.Option(help="sst, imdb, agnews, snli, adr, diabetes or anemia.")
    ] = "sst",
    encoder: Annotated[str, typer.Option(help="cnn or lstm.")] = "cnn",
    attention: Annotated[str, typer.Option(help="additive or dot.")] = "additive",
    arms: Annotated[
        str | None,
        typer.Option(help=f"Stabilizers, with commas.  [default: {DEFAULT_ARMS}]"),
    ] = None,
    seeds: Annotated[
        int | None, typer.Option(help=f"How many seeds.  [default: {DEFAULT_SEEDS}]")
    ] = None,
    epochs: Annotated[int | None, typer.Option(help="Epochs.  [default: the paper's]")] = None,
    n_train: Annotated[
        int | None, typer.Option(help="Train on a fixed random part of so many examples.")
    ] = None,
    n_test: Annotated[
        int | None, typer.Option(help="Test on a fixed random part of so many examples.")
    ] = None,
    smoke: Annotated[
        bool,
        typer.Option("--smoke", help="A few hundred examples, 2 epochs, 3 seeds, 2 arms."),
    ] = False,
    explain: Annotated[
        bool,
        typer.Option("--explain", help="Then explain the models by gradients and LIME."),
    ] = False,
    lime_examples: Annotated[
        int | None,
        typer.Option(help=f"Test examples that LIME explains.  [default: {LIME_EXAMPLES}]"),
    ] = None,
    lime_samples: Annotated[
        int | None, typer.Option(help=f"Perturbed copies of each.  [default: {LIME_SAMPLES}]")
    ] = None,
    from_results: Annotated[
        bool,
        typer.Option(
            "--from-results",
            help="Train nothing: show the results in the package, or in the folder --results.",
        ),
    ] = False,
    page: Annotated[
        str | None,
        typer.Option(help="With --from-results: a page of them, such as results.md."),
    ] = None,
    store: Annotated[
        str | None,
        typer.Option(help="Where records go.  [default: runs/PAPER/NAME OF THE SETTING]"),
    ] = None,
    results: Annotated[
        str | None, typer.Option(help="A folder for the small files with the results.")
    ] = None,
    engine: Annotated[str, typer.Option(help="serial, processes, ray or slurm.")] = "processes",
    workers: Annotated[int | None, typer.Option(help="How many runs at a time.")] = None,
) -> None:
    """Train what a paper trained; what is finished is never repeated.

    Data sets are fetched and checked, or taken from the folder that SEEDPROOF_DATA names.
    """
    if paper not in PAPERS:
        raise OptionError(f"There is no recipe for {paper!r}. Known: {', '.join(PAPERS)}.")
    if from_results:
        _show_stored(results, page)
        return
    if page is not None:
        raise OptionError("A page is made of stored results. Add --from-results, or no --page.")
    if not explain and not (lime_examples is None and lime_samples is None):
        raise OptionError("--lime-examples and --lime-samples go with --explain. Add it.")
    from seedproof.papers.conll2019.settings import Setting

    setting = Setting(dataset=dataset, encoder=encoder, attention=attention)
    setting = _adapted(setting.smoke() if smoke else setting, epochs, n_train, n_test)
    if seeds is None:
        seeds = SMOKE_SEEDS if smoke else DEFAULT_SEEDS
    asked = _Asked(
        setting=setting,
        store=store or f"runs/{paper}/{setting.name}",
        seeds=seeds,
        arms=_arms(arms, smoke=smoke),
        engine=engine,
        workers=workers,
        results=results,
    )
    try:
        asked.train()
        if explain:
            usual = (
                (SMOKE_LIME_EXAMPLES, SMOKE_LIME_SAMPLES)
                if smoke
                else (LIME_EXAMPLES, LIME_SAMPLES)
            )
            asked.explain(
                usual[0] if lime_examples is None else lime_examples,
                usual[1] if lime_samples is None else lime_samples,
            )
    except KeyboardInterrupt:
        typer.echo("Stopped. Finished runs are kept: the same command goes on from here.", err=True)
        raise typer.Exit(INTERRUPTED) from None
    typer.echo(f"Compare the arms with: seedproof compare {asked.store}", err=True)


@dataclass(frozen=True)
class _Asked:
    """What is to be made, and where."""

    setting: "Setting"
    store: str
    seeds: int
    arms: list[str]
    engine: str
    workers: int | None
    results: str | None

    def train(self) -> None:
        """Make the runs, show their table, and keep the results."""
        from seedproof.papers.conll2019.recipe import reproduce as make

        found = make(
            self.setting,
            store=self.store,
            seeds=self.seeds,
            arms=self.arms,
            engine=self.engine,
            workers=self.workers,
        )
        _show(found)
        self._keep(found)

    def explain(self, n_lime: int, n_samples: int) -> None:
        """Explain the models that were chosen, in a store beside the first."""
        from seedproof.papers.conll2019.explaining import (
            Explaining,
            arms_to_explain,
            explain_study,
        )
        from seedproof.papers.conll2019.recipe import made

        reasons = explain_study(
            self.setting,
            Explaining(self.store, n_lime=n_lime, n_samples=n_samples),
            store=f"{self.store}-explained",
            seeds=self.seeds,
            arms=arms_to_explain(self.arms),
        )
        found = made(reasons, self.setting, engine=self.engine, workers=self.workers)
        _show_explained(found)
        self._keep(found)

    def _keep(self, found: Mapping[str, Any]) -> None:
        from seedproof.papers.conll2019.results import write_results

        if self.results is not None:
            typer.echo(f"Written: {write_results(found, self.results)}", err=True)


def _adapted(
    setting: "Setting", epochs: int | None, n_train: int | None, n_test: int | None
) -> "Setting":
    """The setting with what was given in place of its own."""
    return replace(
        setting,
        epochs=setting.epochs if epochs is None else epochs,
        n_train=setting.n_train if n_train is None else n_train,
        n_test=setting.n_test if n_test is None else n_test,
    )


def _arms(text: str | None, *, smoke: bool) -> list[str]:
    if text is None:
        return list(SMOKE_ARMS) if smoke else DEFAULT_ARMS.split(",")
    return [arm.strip() for arm in text.split(",")]


def _show_stored(folder: str | None, page: str | None) -> None:
    from seedproof.papers.conll2019.results import stored_results

    found = stored_results(folder)
    if not found:
        where = "The package" if folder is None else repr(folder)
        raise NotFoundError(
            f"{where} holds no results. Make some with --results, or leave --from-results out."
        )
    if page is not None:
        from seedproof.papers.conll2019.page.document import write_page

        for path in write_page(found, page):
            typer.echo(f"Written: {path}", err=True)
        return
    for place, one in enumerate(found):
        if place:
            typer.echo()
        if one["explaining"] is None:
            _show(one)
        else:
            _show_explained(one)


def _show(found: Mapping[str, Any]) -> None:
    from seedproof.papers.conll2019.page.departures import TITLE, departures, is_elsewhere
    from seedproof.papers.conll2019.page.reading import SettingResults
    from seedproof.papers.conll2019.page.words import listed
    from seedproof.papers.conll2019.results import accuracy_table

    setting = found["setting"]
    n_runs = max(len(arm["runs"]) for arm in found["arms"].values())
    typer.echo(f"{found['name']}: {n_runs} runs an arm, {found['n_examples']} test examples")
    typer.echo(f"word vectors {setting['vectors']}, trained like all other weights")
    _show_table([("arm", "accuracy, ours", "published"), *accuracy_table(found)])
    ours = SettingResults(found)
    less = departures(ours)
    if less:
        caution = " What is published cannot be compared with this." if is_elsewhere(ours) else ""
        typer.echo(fill(f"{TITLE} {listed(less)}.{caution}", width=WIDTH))


def _show_explained(found: Mapping[str, Any]) -> None:
    from seedproof.papers.conll2019.results import explanation_table

    typer.echo(f"{found['name']}: of the top 20 % of the words, how many two seeds do not share")
    _show_table([("arm", "method", "between seeds", "noise"), *explanation_table(found)])


def _show_table(rows: list[tuple[str, ...]]) -> None:
    widths = [max(len(row[column]) for row in rows) for column in range(len(rows[0]))]
    for row in rows:
        typer.echo("  ".join(text.ljust(w) for text, w in zip(row, widths, strict=True)).rstrip())
