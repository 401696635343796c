"""Command `seedproof compare`: compare arms, or two versions of a model."""

from pathlib import Path
from typing import Annotated, Any

import typer

from seedproof.cli import options, thresholds
from seedproof.errors import OptionError


@options.add_options(*options.READING, *options.OTHER_KINDS, *options.ENGINE)
def compare(
    targets: Annotated[
        list[str] | None,
        typer.Argument(
            metavar="TARGET",
            help="A store with several arms, or runs of MLflow with several values of a parameter "
            "(mlflow:EXPERIMENT); or several tables, stores, .npz files or report folders, with "
            "the baseline first.",
            show_default=False,
        ),
    ] = None,
    *,
    baseline: Annotated[
        str | None,
        typer.Option(
            help="The arm to compare with.  [default: the arm named none, or else the first]"
        ),
    ] = None,
    gold: Annotated[
        str | None,
        typer.Option(help="Reference arm, such as an ensemble, whose gain counts as 100 %."),
    ] = None,
    old: Annotated[str | None, typer.Option(help="Runs of the deployed version.")] = None,
    new: Annotated[
        str | None, typer.Option(help="Runs of the version that may replace it.")
    ] = None,
    primary: Annotated[
        str | None,
        typer.Option(
            metavar="METRIC",
            help="The metric that decides; all others are exploratory.  [default: flip_rate; mae "
            "or mean of numbers]",
        ),
    ] = None,
    margin: Annotated[
        list[str] | None,
        typer.Option(
            metavar="METRIC=MARGIN",
            help="A change within the margin does not matter, and can be shown to be equivalent.  "
            "[default: 0.1 of a ratio, 0.005 of a difference]",
        ),
    ] = None,
    sequential: Annotated[
        bool,
        typer.Option(
            "--sequential",
            help="Runs are added until a difference shows: compare at 5, 10, 20, 40 and 80 runs.",
        ),
    ] = False,
    declared_runs: Annotated[
        int | None,
        typer.Option(min=1, help="Number of runs per arm that was declared beforehand."),
    ] = None,
    all_pairs: Annotated[bool, typer.Option("--all-pairs", help="Compare every two arms.")] = False,
    paired: Annotated[
        bool, typer.Option("--paired", help="Treat runs with the same name as sharing their seeds.")
    ] = False,
    match_rates: Annotated[
        bool,
        typer.Option(
            "--match-rates",
            help="Move the thresholds so that all runs of an arm predict the second of two "
            "classes equally often.",
        ),
    ] = False,
    lower: options.Lower = None,
    out: Annotated[
        Path | None, typer.Option(help="Write comparison.html and comparison.json to this folder.")
    ] = None,
    as_json: options.Json = False,
    show: options.Show = None,
    title: options.Title = None,
    metrics: options.Metrics = None,
    reading: dict[str, Any],
) -> None:
    """Compare arms to a baseline, or a new version to the old one.

    A difference is reported only if its interval, over runs and examples, excludes zero.
    """
    from seedproof.api import compare as api
    from seedproof.api.scalars import compare_scalars
    from seedproof.cli.progress import progress_bar
    from seedproof.scalars.read import has_scalars

    margins = thresholds.margins(margin or ())
    of_arms = (baseline, gold, primary, margins, sequential, declared_runs, all_pairs)
    has_arm_options = any((*of_arms, paired, match_rates, metrics))
    _check_targets(targets or [], old, new, has_arm_options=has_arm_options)
    names = options.split_names(metrics)
    if has_scalars(targets, reading, [*(names or ()), *([primary] if primary else ())]):
        options.refuse({"--gold": gold, "--match-rates": match_rates})
        scalars = compare_scalars(
            targets or [],
            baseline=baseline,
            metrics=names,
            primary=primary,
            lower=options.split_names(lower),
            margins=margins,
            sequential=sequential,
            declared_runs=declared_runs,
            all_pairs=all_pairs,
            paired=paired,
            **options.for_runs(reading),
        )
        options.print_and_save(scalars, out, as_json=as_json, show=show or (), title=title)
        return
    options.refuse({"--lower": lower}, "metrics of your own, one number per run")
    with progress_bar() as reading["progress"]:
        result: Any
        if old is not None and new is not None:
            files = "versions.html, versions.json, versions.txt, examples.parquet"
            result = api.compare_versions(old, new, **reading)
        else:
            files = "comparison.html, comparison.json"
            result = api.compare(
                targets or [],
                baseline=baseline,
                gold=gold,
                metrics=names,
                primary=primary,
                margins=margins,
                sequential=sequential,
                declared_runs=declared_runs,
                all_pairs=all_pairs,
                paired=paired,
                match_rates=match_rates,
                **reading,
            )
    if out is not None:
        result.save(out, show=show or (), title=title, command=options.command_line())
    options.print_result(result, as_json=as_json, show=show or ())
    if out is not None and not as_json:
        typer.echo(f"Wrote {files} to {out}/", err=True)


def _check_targets(
    targets: list[str], old: str | None, new: str | None, *, has_arm_options: bool
) -> None:
    """Refuse missing targets, and options of arms together with two versions."""
    if (old is None) != (new is None):
        raise OptionError(
            "--old and --new go together. Pass both versions.",
            option="--new" if new is None else "--old",
        )
    if old is not None and (targets or has_arm_options):
        raise OptionError(
            "--old and --new take no further target, and no option for arms such as --baseline, "
            "--primary or --metrics. Remove them.",
            options=("--old", "--new"),
        )
    if old is None and not targets:
        raise OptionError(
            "Nothing to compare. Pass a store, two targets, or --old and --new.", n_targets=0
        )
