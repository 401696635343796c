"""`seedproof measure`: how much did the seed decide?"""

from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager
from typing import TYPE_CHECKING, Annotated, Any

import typer

from seedproof.cli import options

if TYPE_CHECKING:
    from seedproof.records.location import Location
    from seedproof.records.reader import Store
    from seedproof.report.calibration import CalibrationReport
    from seedproof.report.report import Report
    from seedproof.report.side_by_side import SideBySide


@options.add_options(*options.READING, *options.OTHER_KINDS, *options.ENGINE)
def measure(
    targets: options.Targets,
    *,
    out: Annotated[
        str | None,
        typer.Option(help="Write report.html, summary.json and examples.parquet to this folder."),
    ] = None,
    pairs: Annotated[
        bool,
        typer.Option(
            "--pairs",
            help="With --out, also write pairs.parquet: the flip rate of each pair of runs.",
        ),
    ] = False,
    as_json: options.Json = False,
    show: Annotated[
        list[str] | None,
        typer.Option(
            help="Also show this column, such as text, for the least stable examples. Pass "
            "'tokens' to show the words of explained examples."
        ),
    ] = None,
    all_metrics: Annotated[
        bool, typer.Option("--all", help="Print every metric, not only the key metrics.")
    ] = False,
    calibrate_on: Annotated[
        str | None,
        typer.Option(
            help="Fit a temperature per run on this split, or on this table of the same runs, and "
            "compare calibrated with raw probabilities."
        ),
    ] = None,
    title: options.Title = None,
    metrics: options.Metrics = None,
    reading: dict[str, Any],
) -> None:
    """Measure how many predictions depend on the seed.

    A table has the columns run, example, label (optional) and either prediction or one probability
    per class, p_<class>; or one column per run: id, label, seed_0, seed_1, …

    Scores and other numbers are in a column value, with target (optional) and run or trial.

    Answers in free text are in a column answer, with reference (optional) and run or trial.

    One number per run, without examples: columns run or seed, arm (optional), and any metrics.
    """
    from seedproof.api.scalars import measure_scalars
    from seedproof.cli.progress import progress_bar
    from seedproof.errors import OptionError
    from seedproof.report.files import check_folder
    from seedproof.scalars.read import has_scalars

    how: dict[str, Any] = {"metrics": options.split_names(metrics)}
    if pairs and out is None:
        raise OptionError("--pairs goes with --out. Name a folder to write to.", option="--pairs")
    if out is not None:
        check_folder(out)
    store = None
    if reading["arm"] is None:
        store = options.store_of(targets, skip_damaged=reading["skip_damaged"])
    if has_scalars(store or targets, reading, how["metrics"]):
        options.refuse({"--pairs": pairs})
        scalars = measure_scalars(store or targets, **how, **options.for_runs(reading))
        options.print_and_save(scalars, out, as_json=as_json, show=show or (), title=title)
        return
    if calibrate_on is not None:
        options.refuse({"--pairs": pairs, "--show": show, "--all": all_metrics}, "raw predictions")
        calibrated = _calibrated(store or targets, calibrate_on, {**how, **reading})
        options.print_and_save(calibrated, out, as_json=as_json, show=(), title=title)
        return
    result: Report | SideBySide
    arms = options.several_arms(store or targets, reading)
    with ExitStack() as drafts:
        if arms is not None:
            from seedproof.api.measure import measure_arms

            with progress_bar() as reading["progress"]:
                result = measure_arms(arms, **how, **reading)
            shown: Sequence[str] = ()
            files = f"a folder for each of {', '.join(result)}"
        else:
            if out is not None and reading["engine"] != "serial":
                how["examples"] = drafts.enter_context(_rows_of_workers(out))
            result = options.measured(store or targets, reading, **how)
            shown = show or ()
            result.view(show=shown)  # refuses an unknown column before anything is written
            files = "report.html, summary.json, examples.parquet" + ", pairs.parquet" * pairs
        if out is not None:
            command = options.command_line()
            result.save(out, show=show or (), title=title, command=command, pairs=pairs)
        options.print_result(result, as_json=as_json, show=shown, all_metrics=all_metrics)
        if out is not None and not as_json:
            typer.echo(f"Wrote {files} to {out.rstrip('/')}/", err=True)
        _suggest(result, [] if as_json else targets)


@contextmanager
def _rows_of_workers(out: str) -> Iterator["Location"]:
    """Yield a place for the examples of a folder of results; on an object store the final one."""
    from seedproof.records.location import Location
    from seedproof.report.files import draft_next_to

    place = Location.of(out)
    if not place.is_local:
        yield place / "examples.parquet"
        return
    with draft_next_to(out) as folder:
        yield Location.of(folder / "examples.parquet")


def _suggest(result: "Report | SideBySide", targets: Sequence[str]) -> None:
    """Print the command for answers of tables that are not classes."""
    from seedproof.report.report import Report

    are_tables = bool(targets) and not any(target.endswith(".npz") for target in targets)
    if not are_tables or not isinstance(result, Report):
        return
    for role in filter(None, (check.role for check in result.checks)):
        has_labels = result.measurement.n_labeled > 0
        command = options.command_as(role, has_labels=has_labels)
        if command is not None:
            typer.echo(f"Try: {command}", err=True)


def _calibrated(
    target: "Sequence[str] | Store", on: str, how: dict[str, Any]
) -> "CalibrationReport":
    """Return the comparison of calibrated with raw probabilities."""
    from seedproof.api.calibrate import calibrate
    from seedproof.cli.progress import progress_bar

    with progress_bar() as how["progress"]:
        return calibrate(target, on=on, **how)
