"""Command `seedproof compare`: compare arms, or two versions of a model."""

from pathlib import Path
from typing import Annotated, Any

import typer

from seedproof.cli import options
from seedproof.errors import OptionError


@options.add_options(*options.READING, *options.ENGINE)
def compare(
    targets: Annotated[
        list[str] | None,
        typer.Argument(
            metavar="TARGET",
            help="A store with several arms; or several tables, stores, .npz files or report "
            "folders, with the baseline first.",
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
        str | None, typer.Option(help="An arm, such as an ensemble, whose gain counts as 100 %.")
    ] = None,
    old: Annotated[str | None, typer.Option(help="Runs of the deployed version.")] = None,
    new: Annotated[
        str | None, typer.Option(help="Runs of the version that may replace it.")
    ] = None,
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
    from seedproof.cli.progress import progress_bar

    has_arm_options = any((baseline, gold, paired, match_rates, metrics))
    _check_targets(targets or [], old, new, has_arm_options=has_arm_options)
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
                metrics=options.split_names(metrics),
                paired=paired,
                match_rates=match_rates,
                **reading,
            )
    if out is not None:
        result.save(out, show=show or (), title=title, command=options.command_line())
    options.print_result(result, as_json=as_json, show=show or ())
    if out is not None and not as_json:
        typer.echo(f"Written to {out}: {files}", err=True)


def _check_targets(
    targets: list[str], old: str | None, new: str | None, *, has_arm_options: bool
) -> None:
    """Refuse missing targets, and options of arms together with two versions."""
    if (old is None) != (new is None):
        raise OptionError(
            "--old and --new go together. Give both versions.",
            option="--new" if new is None else "--old",
        )
    if old is not None and (targets or has_arm_options):
        raise OptionError(
            "--old and --new take no further target, --baseline, --gold, --paired, --match-rates "
            "or --metrics. Remove them.",
            options=("--old", "--new"),
        )
    if old is None and not targets:
        raise OptionError(
            "Nothing to compare. Give a store, two targets, or --old and --new.", n_targets=0
        )
