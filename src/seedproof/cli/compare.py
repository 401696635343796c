"""`seedproof compare`: is the difference real?"""

import sys
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from seedproof.cli import options
from seedproof.errors import OptionError

if TYPE_CHECKING:
    from seedproof.predictions.options import LoadOptions


@options.reads_predictions
def compare(
    targets: Annotated[
        list[str] | None,
        typer.Argument(
            metavar="TARGET...",
            help="A store with several arms; or two and more tables, stores, .npz files or folders "
            "of reports, the baseline first.",
            show_default=False,
        ),
    ] = None,
    *,
    baseline: Annotated[
        str | None, typer.Option(help="The arm to compare with.  [default: none, or the first]")
    ] = None,
    gold: Annotated[
        str | None, typer.Option(help="An arm, such as an ensemble, whose gain counts as 100 %.")
    ] = None,
    old: Annotated[str | None, typer.Option(help="Runs of the version that is deployed.")] = None,
    new: Annotated[
        str | None, typer.Option(help="Runs of the version that may replace it.")
    ] = None,
    paired: Annotated[
        bool, typer.Option("--paired", help="Runs of one name in several tables share seeds.")
    ] = False,
    match_rates: Annotated[
        bool,
        typer.Option(
            "--match-rates",
            help="Move thresholds, so that all runs of an arm give one of two answers equally "
            "often.",
        ),
    ] = False,
    out: Annotated[
        Path | None, typer.Option(help="Write comparison.html and comparison.json here.")
    ] = None,
    as_json: Annotated[
        bool, typer.Option("--json", help="Print the result as JSON and nothing else.")
    ] = False,
    show: options.Show = None,
    metrics: options.Metrics = None,
    engine: options.Engine = "serial",
    workers: options.Workers = None,
    address: options.Address = None,
    reading: "LoadOptions",
) -> None:
    """Compare arms with a baseline, or a new version with the old one.

    A difference is called one only if its interval, over seeds and examples, excludes that
    nothing changed.
    """
    from rich.console import Console

    from seedproof.api import compare as api
    from seedproof.cli.progress import watching

    others: list[object] = [targets, baseline, gold, paired, match_rates, metrics]
    is_of_versions = _is_of_versions(old, new, others)
    where: dict[str, Any] = {"engine": engine, "workers": workers, "address": address}
    with watching(Console(stderr=True)) as reading["progress"]:
        found: Any
        if is_of_versions:
            written = "versions.html, versions.json, versions.txt, examples.parquet"
            found = api.compare_versions(old or "", new or "", **where, **reading)
        else:
            written = "comparison.html, comparison.json"
            found = api.compare(
                targets or [],
                baseline=baseline,
                gold=gold,
                metrics=options.listed(metrics),
                paired=paired,
                match_rates=match_rates,
                **where,
                **reading,
            )
    if out is not None:
        found.save(out, show=show or (), command=options.command_line())
    if as_json:
        sys.stdout.write(found.to_json())
        return
    if sys.stdout.isatty():
        found.show(show=show or ())
    else:
        typer.echo(found.text(show=show or ()))
    if out is not None:
        typer.echo(f"Written to {out}: {written}", err=True)


def _is_of_versions(old: str | None, new: str | None, others: list[object]) -> bool:
    """Whether two versions are compared, or arms; what does not go together is refused."""
    if (old is None) != (new is None):
        raise OptionError(
            "--old and --new go together. Give both versions.",
            option="--new" if new is None else "--old",
        )
    if old is not None and any(others):
        raise OptionError(
            "--old and --new take no further target, --baseline, --gold, --paired, --match-rates "
            "or --metrics. Leave them out.",
            options=("--old", "--new"),
        )
    if old is None and not others[0]:
        raise OptionError(
            "Nothing to compare. Give a store, two targets, or --old and --new.", n_targets=0
        )
    return old is not None
