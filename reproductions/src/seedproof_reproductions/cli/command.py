"""`seedproof reproduce`: train what a paper trained, under many seeds, and compare with it."""

from dataclasses import fields
from importlib import import_module
from typing import Annotated

import typer

from seedproof.errors import NotFoundError, OptionError
from seedproof_reproductions.cli.request import Request, check_page

INTERRUPTED = 130


def reproduce(
    paper: Annotated[
        str, typer.Argument(metavar="PAPER", help="conll2019 or findings2023.", show_default=False)
    ],
    *,
    dataset: Annotated[
        str | None,
        typer.Option(
            help="conll2019: sst, imdb, agnews, snli, adr, diabetes or anemia; findings2023: "
            "clinc150 or massive.  [default: the first]"
        ),
    ] = None,
    encoder: Annotated[
        str | None, typer.Option(help="conll2019: cnn or lstm.  [default: cnn]")
    ] = None,
    attention: Annotated[
        str | None, typer.Option(help="conll2019: additive or dot.  [default: additive]")
    ] = None,
    track: Annotated[
        str | None,
        typer.Option(help="findings2023: head, on frozen features, or finetune.  [default: head]"),
    ] = None,
    arms: Annotated[
        str | None,
        typer.Option(
            help="Names of arms, separated by commas.  [default: none,aswa,naswa; all of the track]"
        ),
    ] = None,
    seeds: Annotated[
        int | None, typer.Option(help="Number of seeds.  [default: 10; 50, with finetune 5]")
    ] = None,
    epochs: Annotated[int | None, typer.Option(help="Epochs.  [default: the paper's]")] = None,
    n_train: Annotated[
        int | None, typer.Option(help="Train on a fixed random part of so many examples.")
    ] = None,
    n_test: Annotated[
        int | None, typer.Option(help="Test on a fixed random part of so many examples.")
    ] = None,
    smoke: Annotated[
        bool, typer.Option("--smoke", help="Few examples, 2 epochs, 2 or 3 seeds, few arms.")
    ] = False,
    explain: Annotated[
        bool,
        typer.Option("--explain", help="conll2019: then explain the models by gradients and LIME."),
    ] = False,
    lime_examples: Annotated[
        int | None, typer.Option(help="Test examples that LIME explains.  [default: 200]")
    ] = None,
    lime_samples: Annotated[
        int | None, typer.Option(help="Perturbed copies of each.  [default: 5000]")
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
        typer.Option(help="With --from-results: write a page of them, such as results.md."),
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
    """Train what a paper trained; finished runs are never repeated.

    Data sets are fetched and checked, or taken from the folder that SEEDPROOF_DATA names.
    """
    given = locals()
    request = Request(**{option.name: given[option.name] for option in fields(Request)})
    request.check(paper)
    if page is not None:
        if not from_results:
            raise OptionError("A page is made of stored results. Add --from-results, or no --page.")
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
            f"--{options[0]} is about training, and --from-results trains nothing. Leave one of "
            "them out."
        )
    stored = import_module(f"seedproof_reproductions.{paper}.results").stored_results(
        request.results
    )
    if not stored:
        where = "The package" if request.results is None else repr(request.results)
        raise NotFoundError(
            f"{where} holds no results. Make some with --results, or leave --from-results out."
        )
    if page is not None:
        for path in import_module("seedproof_reproductions.build").PAGES[paper](stored, page):
            typer.echo(f"Written: {path}", err=True)
        return
    for place, results in enumerate(stored):
        if place:
            typer.echo()
        import_module(f"seedproof_reproductions.cli.{paper}").show(results)
