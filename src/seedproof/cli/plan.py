"""`seedproof plan`: how many seeds do I need?"""

import sys
from typing import TYPE_CHECKING, Annotated

import typer

from seedproof.cli import options
from seedproof.errors import OptionError

if TYPE_CHECKING:
    from seedproof.predictions.options import LoadOptions


@options.reads_predictions
def plan(
    *,
    detect: Annotated[
        float | None, typer.Option(help="A true difference between two means, such as 0.005.")
    ] = None,
    sd: Annotated[
        float | None, typer.Option(help="Standard deviation over runs of that figure.")
    ] = None,
    detect_sd_ratio: Annotated[
        float | None, typer.Option(help="A true ratio of two standard deviations, such as 2.")
    ] = None,
    detect_flip_ratio: Annotated[
        float | None, typer.Option(help="A true ratio of two flip rates, such as 0.8.")
    ] = None,
    cv: Annotated[
        float | None,
        typer.Option(help="How much a run's mean disagreement varies: its sd over its mean."),
    ] = None,
    seeds: Annotated[
        int | None, typer.Option(help="How many seeds an arm there are: what can they show?")
    ] = None,
    pilot: Annotated[
        list[str] | None,
        typer.Option(help="A store or table with first runs, for --sd and --cv.", metavar="TARGET"),
    ] = None,
    power: Annotated[
        float, typer.Option(help="Probability with which a true difference is shown.")
    ] = 0.8,
    confidence: Annotated[float, typer.Option(help="That of the interval.")] = 0.95,
    paired_correlation: Annotated[
        float | None, typer.Option(help="How runs of two arms that share a seed correlate.")
    ] = None,
    example_correlation: Annotated[
        float | None, typer.Option(help="How two arms' flips correlate over the pilot's examples.")
    ] = None,
    as_json: Annotated[bool, typer.Option("--json", help="Print JSON and nothing else.")] = False,
    reading: "LoadOptions",
) -> None:
    """Say how many seeds an arm a difference needs, or what a number of seeds can show."""
    from rich.console import Console

    from seedproof.api import plan as api
    from seedproof.predictions.options import check_options

    report = None
    if pilot:
        _refuse_report(pilot)
        report = options.measured(pilot, reading)
    else:
        check_options(["nothing"], reading)
    found = api.plan(
        detect=detect,
        detect_sd_ratio=detect_sd_ratio,
        detect_flip_ratio=detect_flip_ratio,
        sd=sd,
        cv=cv,
        pilot=report,
        seeds=seeds,
        power=power,
        confidence=confidence,
        paired_correlation=paired_correlation,
        example_correlation=example_correlation,
    )
    if as_json:
        sys.stdout.write(found.to_json())
    elif sys.stdout.isatty():
        Console().print(found)
    else:
        typer.echo(str(found))


def _refuse_report(pilot: list[str]) -> None:
    """The folder of a report holds figures, and a pilot is measured from records."""
    from seedproof.measurement.load import is_saved
    from seedproof.records.location import Location

    for path in pilot:
        if "://" not in path and is_saved(Location.of(path)):
            raise OptionError(
                "{path!r} is a report, and a pilot needs records. Give --pilot the table or store "
                "that the report was made from.",
                option="--pilot",
                path=path,
            )
