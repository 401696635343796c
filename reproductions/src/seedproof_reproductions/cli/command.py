"""`seedproof reproduce`: train what a paper trained, under many seeds, and compare with it."""

from typing import Annotated

import typer

from seedproof.errors import NotFoundError, OptionError
from seedproof_reproductions.cli.asked import (
    INTERRUPTED,
    Asked,
    refuse_file,
    refuse_other_pages,
)

PAPERS = ("conll2019", "findings2023")
# Options that one paper alone has.
ONLY = {
    "conll2019": ("encoder", "attention", "explain", "lime_examples", "lime_samples"),
    "findings2023": ("track",),
}


def reproduce(
    paper: Annotated[
        str,
        typer.Argument(metavar="PAPER", help="conll2019 or findings2023.", show_default=False),
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
            help="Names of arms, with commas.  [default: none,aswa,naswa; all of the track]"
        ),
    ] = None,
    seeds: Annotated[
        int | None, typer.Option(help="How many seeds.  [default: 10; 50, with finetune 5]")
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
        typer.Option("--smoke", help="Few examples, 2 epochs, 2 or 3 seeds, few arms."),
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
    given = {
        "encoder": encoder,
        "attention": attention,
        "track": track,
        "explain": explain or None,
        "lime_examples": lime_examples,
        "lime_samples": lime_samples,
    }
    _refuse_what_has_no_effect(paper, [name for name, value in given.items() if value is not None])
    if page is not None and not from_results:
        raise OptionError("A page is made of stored results. Add --from-results, or no --page.")
    if page is not None:
        refuse_other_pages(page)
    refuse_file(store, option="store")
    refuse_file(results, option="results")
    if not explain and not (lime_examples is None and lime_samples is None):
        raise OptionError("--lime-examples and --lime-samples go with --explain. Add it.")
    asked = Asked(
        dataset=dataset,
        arms=None if arms is None else tuple(arm.strip() for arm in arms.split(",")),
        seeds=seeds,
        epochs=epochs,
        n_train=n_train,
        n_test=n_test,
        smoke=smoke,
        store=store,
        results=results,
        engine=engine,
        workers=workers,
    )
    if from_results:
        _show_stored(paper, asked, page)
        return
    try:
        if paper == "findings2023":
            from seedproof_reproductions.cli.findings2023 import make_findings2023

            made = make_findings2023(asked, track="head" if track is None else track)
        else:
            from seedproof_reproductions.cli.conll2019 import Explained, make_conll2019

            made = make_conll2019(
                asked,
                encoder="cnn" if encoder is None else encoder,
                attention="additive" if attention is None else attention,
                explained=Explained(lime_examples, lime_samples) if explain else None,
            )
    except KeyboardInterrupt:
        typer.echo("Stopped. Finished runs are kept: the same command goes on from here.", err=True)
        raise typer.Exit(INTERRUPTED) from None
    typer.echo(f"Compare the arms with: seedproof compare {made}", err=True)


def _refuse_what_has_no_effect(paper: str, given: list[str]) -> None:
    """Whoever gives an option expects it to do something."""
    if paper not in PAPERS:
        raise OptionError(f"There is no recipe for {paper!r}. Known: {', '.join(PAPERS)}.")
    for other in PAPERS:
        unfit = [name for name in given if name in ONLY[other]]
        if other != paper and unfit:
            option = unfit[0].replace("_", "-")
            raise OptionError(f"--{option} goes with {other}, not with {paper}. Leave it out.")


def _show_stored(paper: str, asked: Asked, page: str | None) -> None:
    if asked.trains:
        raise OptionError(
            f"--{asked.trains[0]} is about training, and --from-results trains nothing. Leave one "
            "of them out."
        )
    folder = asked.results
    if paper == "findings2023":
        from seedproof_reproductions.cli.findings2023 import show_findings2023 as show
        from seedproof_reproductions.findings2023.page.document import write_page
        from seedproof_reproductions.findings2023.results import stored_results
    else:
        from seedproof_reproductions.cli.conll2019 import show_conll2019 as show
        from seedproof_reproductions.conll2019.page.document import write_page
        from seedproof_reproductions.conll2019.results import stored_results
    found = stored_results(folder)
    if not found:
        where = "The package" if folder is None else repr(folder)
        raise NotFoundError(
            f"{where} holds no results. Make some with --results, or leave --from-results out."
        )
    if page is not None:
        for path in write_page(found, page):
            typer.echo(f"Written: {path}", err=True)
        return
    for place, one in enumerate(found):
        if place:
            typer.echo()
        show(one)
