"""`seedproof reproduce`: train what a paper trained, under many seeds, and compare with it."""

from collections.abc import Mapping
from dataclasses import replace
from typing import TYPE_CHECKING, Annotated, Any

import typer

from seedproof.errors import NotFoundError, OptionError

if TYPE_CHECKING:
    from seedproof.papers.conll2019.settings import Setting

PAPERS = ("conll2019",)
SMOKE_SEEDS, SMOKE_ARMS = 3, ("none", "aswa")
DEFAULT_SEEDS, DEFAULT_ARMS = 10, "none,aswa,naswa"
INTERRUPTED = 130


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
    from_results: Annotated[
        bool,
        typer.Option("--from-results", help="Train nothing: show the results in the package."),
    ] = False,
    store: Annotated[
        str | None,
        typer.Option(help="Where records go.  [default: runs/PAPER/NAME OF THE SETTING]"),
    ] = None,
    results: Annotated[
        str | None, typer.Option(help="A folder for the small file with the results.")
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
        _show_stored()
        return
    from seedproof.papers.conll2019.recipe import reproduce as make
    from seedproof.papers.conll2019.results import write_results
    from seedproof.papers.conll2019.settings import Setting

    setting = Setting(dataset=dataset, encoder=encoder, attention=attention)
    setting = _adapted(setting.smoke() if smoke else setting, epochs, n_train, n_test)
    if seeds is None:
        seeds = SMOKE_SEEDS if smoke else DEFAULT_SEEDS
    place = store or f"runs/{paper}/{setting.name}"
    try:
        found = make(
            setting,
            store=place,
            seeds=seeds,
            arms=_arms(arms, smoke=smoke),
            engine=engine,
            workers=workers,
        )
    except KeyboardInterrupt:
        typer.echo("Stopped. Finished runs are kept: the same command goes on from here.", err=True)
        raise typer.Exit(INTERRUPTED) from None
    _show(found)
    if results is not None:
        typer.echo(f"Written: {write_results(found, results)}", err=True)
    typer.echo(f"Compare the arms with: seedproof compare {place}", err=True)


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


def _show_stored() -> None:
    from seedproof.papers.conll2019.results import stored_results

    found = stored_results()
    if not found:
        raise NotFoundError(
            "The package holds no results yet. Make some with --results, or leave --from-results "
            "out."
        )
    for place, one in enumerate(found):
        if place:
            typer.echo()
        _show(one)


def _show(found: Mapping[str, Any]) -> None:
    from seedproof.papers.conll2019.results import accuracy_table

    setting = found["setting"]
    n_runs = max(len(arm["runs"]) for arm in found["arms"].values())
    typer.echo(f"{found['name']}: {n_runs} runs an arm, {found['n_examples']} test examples")
    typer.echo(f"word vectors {setting['vectors']}, trained like all other weights")
    rows = [("arm", "accuracy, ours", "published"), *accuracy_table(found)]
    widths = [max(len(row[column]) for row in rows) for column in range(3)]
    for row in rows:
        typer.echo("  ".join(text.ljust(w) for text, w in zip(row, widths, strict=True)).rstrip())
