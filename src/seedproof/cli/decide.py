"""Command `seedproof decide`: keep a candidate, discard it, or run more."""

from pathlib import Path
from typing import Annotated, Any

import typer

from seedproof.cli import options


@options.add_options(*options.READING, *options.OTHER_KINDS, *options.ENGINE)
def decide(
    baseline: Annotated[
        str,
        typer.Argument(
            metavar="BASELINE",
            help="Runs of the current best: a table, a folder or glob pattern of tables, or a "
            "store.",
            show_default=False,
        ),
    ],
    candidate: Annotated[
        str,
        typer.Argument(
            metavar="CANDIDATE",
            help="Runs of the variant that may replace it.",
            show_default=False,
        ),
    ],
    *,
    metric: Annotated[
        str | None,
        typer.Option(
            help="Metric that decides.  [default: accuracy; mae or mean of numbers; the first "
            "of one number per run]"
        ),
    ] = None,
    max_runs: Annotated[
        int | None,
        typer.Option(
            help="Runs at which a candidate is decided at last: 5, 10, 20, 40 or 80; any number "
            "of trials.  [default: 20 runs, 5 trials]",
        ),
    ] = None,
    false_keeps: Annotated[
        float, typer.Option(help="Largest expected share of keeps that are not better.")
    ] = 0.1,
    min_gain: Annotated[
        float, typer.Option(help="Discard a candidate whose interval excludes this gain.")
    ] = 0.0,
    ledger: Annotated[
        Path | None,
        typer.Option(
            help="File that remembers the candidates of the loop.  [default: decisions.jsonl in "
            "the baseline's store]"
        ),
    ] = None,
    allow: Annotated[
        list[str] | None,
        typer.Option(
            metavar="CHECK",
            help="Decide even if this check, such as duplicate-runs, finds an error in the input.",
        ),
    ] = None,
    baseline_arm: Annotated[
        str | None, typer.Option(help="Arm of the baseline's store.  [default: same as --arm]")
    ] = None,
    lower: options.Lower = None,
    as_json: options.Json = False,
    reading: dict[str, Any],
) -> None:
    """Keep a candidate of a research loop, discard it, or run more.

    Call it again whenever runs are added: the answer stays valid however often you look, and over
    all candidates the share of false keeps is limited.

    Exit code 0: keep. 1: discard. 3: run more, or repair the input.
    """
    from seedproof.api import decide as api
    from seedproof.cli.progress import progress_bar

    with progress_bar() as reading["progress"]:
        report = api.decide(
            baseline,
            candidate,
            metric=metric,
            max_runs=max_runs,
            false_keeps=false_keeps,
            min_gain=min_gain,
            ledger=ledger,
            baseline_arm=baseline_arm,
            lower=options.split_names(lower),
            allow=options.split_names(allow) or (),
            **reading,
        )
    options.print_result(report, as_json=as_json)
    raise typer.Exit(report.exit_code)
