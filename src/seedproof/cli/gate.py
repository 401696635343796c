"""`seedproof gate`: may it ship?"""

from pathlib import Path
from typing import Annotated, Any

import typer

from seedproof.cli import options
from seedproof.errors import OptionError
from seedproof.messages import Message, problem_of


@options.add_options(*options.READING, *options.OTHER_KINDS, *options.ENGINE)
def gate(
    targets: options.Targets,
    *,
    at_most: Annotated[
        list[str] | None,
        typer.Option("--max", metavar="METRIC=LIMIT", help="Maximum allowed value of a metric."),
    ] = None,
    at_least: Annotated[
        list[str] | None,
        typer.Option("--min", metavar="METRIC=LIMIT", help="Minimum allowed value of a metric."),
    ] = None,
    baseline: Annotated[
        list[str] | None,
        typer.Option(
            metavar="TARGET",
            help="Baseline for --no-worse; with one number per run also another arm.",
        ),
    ] = None,
    no_worse: Annotated[
        list[str] | None,
        typer.Option(
            metavar="METRIC[=MARGIN]",
            help="The metric may not be worse than the baseline's by more than the margin.",
        ),
    ] = None,
    declared_runs: Annotated[
        int | None,
        typer.Option(
            metavar="N",
            help="Number of runs that was decided before any were looked at. A store records it "
            "once.",
        ),
    ] = None,
    config: Annotated[
        Path | None,
        typer.Option(help="File with the rules.  [default: seedproof.toml, then pyproject.toml]"),
    ] = None,
    junit: Annotated[Path | None, typer.Option(help="Write JUnit XML for CI.")] = None,
    markdown: Annotated[
        Path | None, typer.Option(help="Write Markdown for a pull-request comment.")
    ] = None,
    as_json: options.Json = False,
    allow: Annotated[
        list[str] | None,
        typer.Option(
            metavar="CHECK",
            help="Decide even if this check, such as duplicate-runs, finds an error in the input.",
        ),
    ] = None,
    allow_different_environments: Annotated[
        bool,
        typer.Option(
            "--allow-different-environments",
            help="Accept records from different software versions or hardware, and add a note.",
        ),
    ] = False,
    baseline_arm: Annotated[
        str | None, typer.Option(help="Arm of the baseline's store.  [default: same as --arm]")
    ] = None,
    lower: options.Lower = None,
    reading: dict[str, Any],
) -> None:
    """Check predictions against limits before a model ships.

    A target may also be a folder written by seedproof measure --out.

    Exit code 0: every rule holds. 1: a rule is broken. 3: no rule is broken, but an interval
    includes its limit; or a check finds an error in the input.
    """
    from seedproof.api import gate as api
    from seedproof.cli.progress import progress_bar
    from seedproof.cli.thresholds import thresholds

    for option, path in (("--junit", junit), ("--markdown", markdown)):
        if path is not None:
            _check_file(option, path)
    allowed = options.split_names(allow) or ()
    limits = thresholds(at_most or (), at_least or (), no_worse or (), allowed, config=config)
    with progress_bar() as reading["progress"]:
        report = api.gate(
            targets,
            **limits,
            baseline=baseline or None,
            baseline_arm=baseline_arm,
            lower=options.split_names(lower),
            declared_runs=declared_runs,
            allow_different_environments=allow_different_environments,
            **reading,
        )
    if junit is not None:
        _write("--junit", junit, report.to_junit())
    if markdown is not None:
        _write("--markdown", markdown, report.to_markdown(command=options.command_line()))
    options.print_result(report, as_json=as_json)
    raise typer.Exit(report.exit_code)


def _check_file(option: str, path: Path) -> None:
    """Refuse a path that cannot be a file, before the work begins."""
    try:
        is_folder, is_below_file = path.is_dir(), any(parent.is_file() for parent in path.parents)
    except OSError as error:
        raise _unwritable(option, path, problem_of(error)) from error
    if is_folder:
        raise _unwritable(option, path, "it is a folder")
    if is_below_file:
        raise _unwritable(option, path, "its parent is a file, not a folder")


def _write(option: str, path: Path, content: str) -> None:
    from seedproof.report.files import write_file

    try:
        write_file(path, content.encode())
    except OSError as error:
        raise _unwritable(option, path, problem_of(error)) from error


def _unwritable(option: str, path: Path, reason: Message | str) -> OptionError:
    return OptionError(
        "{option} {path!r} cannot be written: {reason}. Pass a file, such as {usual_name}.",
        option=option,
        path=str(path),
        reason=reason,
        usual_name="gate.xml" if option == "--junit" else "gate.md",
    )
