"""`seedproof plan`: how many seeds do I need?"""

from typing import TYPE_CHECKING, Annotated, Any

import typer

from seedproof.cli import options
from seedproof.errors import OptionError

if TYPE_CHECKING:
    from seedproof.report.comparison.report import ComparisonReport
    from seedproof.report.report import Report


@options.add_options(*options.READING, *options.OTHER_KINDS)
def plan(
    *,
    detect: Annotated[
        float | None, typer.Option(help="Difference between two means to detect, such as 0.005.")
    ] = None,
    sd: Annotated[
        float | None, typer.Option(help="Standard deviation of the metric over runs.")
    ] = None,
    detect_sd_ratio: Annotated[
        float | None, typer.Option(help="Ratio of two standard deviations to detect, such as 2.")
    ] = None,
    detect_flip_ratio: Annotated[
        float | None, typer.Option(help="Ratio of two flip rates to detect, such as 0.8.")
    ] = None,
    cv: Annotated[
        float | None,
        typer.Option(help="Coefficient of variation (sd / mean) of a run's mean disagreement."),
    ] = None,
    seeds: Annotated[
        int | None, typer.Option(help="Report what this many seeds per arm can detect.")
    ] = None,
    pilot: Annotated[
        list[str] | None,
        typer.Option(
            help="Store or table of pilot runs, to estimate --sd and --cv.", metavar="TARGET"
        ),
    ] = None,
    pilot_arm: Annotated[
        list[str] | None,
        typer.Option(
            help="The same of a second arm, to estimate --example-correlation.", metavar="TARGET"
        ),
    ] = None,
    metric: Annotated[
        str | None,
        typer.Option(help="Metric of a pilot with one number per run that --detect refers to."),
    ] = None,
    n_examples: Annotated[
        int | None, typer.Option(help="Number of test examples, without a pilot.")
    ] = None,
    example_sd: Annotated[
        float | None,
        typer.Option(help="Standard deviation of the metric over examples, without a pilot."),
    ] = None,
    arms: Annotated[
        int, typer.Option(help="Number of arms that are compared with the baseline.")
    ] = 1,
    power: Annotated[float, typer.Option(help="Probability of detecting a true difference.")] = 0.8,
    confidence: Annotated[float, typer.Option(help="Confidence level of the interval.")] = 0.95,
    paired_correlation: Annotated[
        float | None, typer.Option(help="Correlation of two arms' runs with the same seed.")
    ] = None,
    example_correlation: Annotated[
        float | None, typer.Option(help="Correlation of two arms over examples.")
    ] = None,
    as_json: options.Json = False,
    reading: dict[str, Any],
) -> None:
    """Compute how many seeds per arm are needed to detect a change.

    With --seeds, compute what this number of seeds can detect.
    """
    from seedproof.api import plan as api
    from seedproof.scalars.read import has_scalars

    has_own = has_scalars(pilot, reading, [metric] if metric else [])
    options.refuse({"--pilot-arm": pilot_arm} if has_own else {})
    result = api.plan(
        detect=detect,
        detect_sd_ratio=detect_sd_ratio,
        detect_flip_ratio=detect_flip_ratio,
        sd=sd,
        cv=cv,
        n_examples=n_examples,
        example_sd=example_sd,
        pilot=pilot if has_own else _pilot(pilot or [], pilot_arm or [], reading),
        metric=metric,
        seeds=seeds,
        arms=arms,
        power=power,
        confidence=confidence,
        paired_correlation=paired_correlation,
        example_correlation=example_correlation,
        **(options.for_runs(reading) if has_own else {}),
    )
    options.print_result(result, as_json=as_json)


def _pilot(
    pilot: list[str], other: list[str], reading: dict[str, Any]
) -> "Report | ComparisonReport | None":
    """Measure a pilot, or compare its two arms."""
    from seedproof.api.compare import compare
    from seedproof.cli.progress import progress_bar
    from seedproof.predictions.options import check_options

    _refuse_report([*pilot, *other])
    if not pilot:
        check_options(["nothing"], reading)
        if other:
            raise OptionError(
                "--pilot-arm needs the runs of the baseline. Pass them with --pilot.",
                option="--pilot-arm",
            )
        return None
    if not other:
        return options.measured(pilot, reading)
    with progress_bar() as reading["progress"]:
        return compare({"pilot": pilot, "pilot-arm": other}, **reading)


def _refuse_report(pilot: list[str]) -> None:
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
