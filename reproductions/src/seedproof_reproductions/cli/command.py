"""`seedproof reproduce`: train the models of a paper with many seeds, and compare the results."""

from dataclasses import fields
from importlib import import_module
from typing import Annotated, Any

import typer

from seedproof.errors import NotFoundError, OptionError
from seedproof_reproductions.cli.request import Request, check_page
from seedproof_reproductions.packaged import read_toml

INTERRUPTED = 130


def option(name: str) -> Any:  # noqa: ANN401 - Typer's class is not public
    """Return an option of `options.toml`."""
    known = read_toml(__package__, "options.toml")
    if name in known["flags"]:
        return typer.Option(f"--{name.replace('_', '-')}", help=known["flags"][name])
    return typer.Option(help=known["options"][name])


def reproduce(
    paper: Annotated[
        str,
        typer.Argument(
            metavar="PAPER", help="conll2019, findings2023 or thesis2019.", show_default=False
        ),
    ],
    *,
    dataset: Annotated[str | None, option("dataset")] = None,
    encoder: Annotated[str | None, option("encoder")] = None,
    attention: Annotated[str | None, option("attention")] = None,
    optimizer: Annotated[str | None, option("optimizer")] = None,
    learning_rate: Annotated[float | None, option("learning_rate")] = None,
    track: Annotated[str | None, option("track")] = None,
    model: Annotated[str | None, option("model")] = None,
    output: Annotated[str | None, option("output")] = None,
    arms: Annotated[str | None, option("arms")] = None,
    seeds: Annotated[int | None, option("seeds")] = None,
    seed: Annotated[int | None, option("seed")] = None,
    epochs: Annotated[int | None, option("epochs")] = None,
    n_train: Annotated[int | None, option("n_train")] = None,
    n_test: Annotated[int | None, option("n_test")] = None,
    n_users: Annotated[int | None, option("n_users")] = None,
    held_out: Annotated[int | None, option("held_out")] = None,
    smoke: Annotated[bool, option("smoke")] = False,
    explain: Annotated[bool, option("explain")] = False,
    lime_examples: Annotated[int | None, option("lime_examples")] = None,
    lime_samples: Annotated[int | None, option("lime_samples")] = None,
    cross: Annotated[bool, option("cross")] = False,
    blocks: Annotated[int | None, option("blocks")] = None,
    from_results: Annotated[bool, option("from_results")] = False,
    page: Annotated[str | None, option("page")] = None,
    store: Annotated[str | None, option("store")] = None,
    results: Annotated[str | None, option("results")] = None,
    engine: Annotated[str, option("engine")] = "processes",
    workers: Annotated[int | None, option("workers")] = None,
) -> None:
    """Train the models of a paper; finished runs are never repeated.

    Data sets are downloaded and verified, or read from the folder in SEEDPROOF_DATA.
    """
    given = locals()
    request = Request(**{option.name: given[option.name] for option in fields(Request)})
    request.check(paper)
    if page is not None:
        if not from_results:
            raise OptionError("A page needs stored results. Add --from-results, or remove --page.")
        check_page(page)
    if from_results:
        _show_stored(paper, request, page)
        return
    try:
        made = import_module(f"seedproof_reproductions.cli.{paper}").make(request)
    except KeyboardInterrupt:
        typer.echo("Stopped. Finished runs are kept: the same command resumes.", err=True)
        raise typer.Exit(INTERRUPTED) from None
    typer.echo(f"Compare the arms with: seedproof compare {made}", err=True)


def _show_stored(paper: str, request: Request, page: str | None) -> None:
    options = request.training_options()
    if options:
        raise OptionError(
            "--{option} applies to training, and --from-results trains nothing. Remove one of "
            "them.",
            option=options[0],
        )
    stored = import_module(f"seedproof_reproductions.{paper}.results").stored_results(
        request.results
    )
    if not stored:
        where = "The package" if request.results is None else repr(request.results)
        raise NotFoundError(
            "{where} has no results. Create some with --results, or remove --from-results.",
            where=where,
        )
    if page is not None:
        for path in import_module("seedproof_reproductions.build").PAGES[paper](stored, page):
            typer.echo(f"Written: {path}", err=True)
        return
    for place, results in enumerate(stored):
        if place:
            typer.echo()
        import_module(f"seedproof_reproductions.cli.{paper}").show(results)
