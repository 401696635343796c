"""`seedproof gate`: may it ship?"""

import sys
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from seedproof.cli import options
from seedproof.errors import OptionError, first_line

if TYPE_CHECKING:
    from seedproof.predictions.options import LoadOptions


@options.reads_predictions
def gate(
    targets: options.Targets,
    *,
    at_most: Annotated[
        list[str] | None,
        typer.Option("--max", metavar="METRIC=LIMIT", help="The metric may be at most this."),
    ] = None,
    at_least: Annotated[
        list[str] | None,
        typer.Option("--min", metavar="METRIC=LIMIT", help="The metric must be at least this."),
    ] = None,
    baseline: Annotated[
        list[str] | None,
        typer.Option(metavar="TARGET", help="What --no-worse compares with: a target as well."),
    ] = None,
    no_worse: Annotated[
        list[str] | None,
        typer.Option(
            metavar="METRIC[=MARGIN]",
            help="The metric may not be worse than the baseline's, by more than the margin.",
        ),
    ] = None,
    config: Annotated[
        Path | None,
        typer.Option(help="Read rules from this file; seedproof.toml or pyproject.toml without."),
    ] = None,
    junit: Annotated[Path | None, typer.Option(help="Write JUnit XML for a CI system.")] = None,
    markdown: Annotated[
        Path | None, typer.Option(help="Write Markdown for a comment on a pull request.")
    ] = None,
    as_json: Annotated[bool, typer.Option("--json", help="Print JSON and nothing else.")] = False,
    allow_different_environments: Annotated[
        bool,
        typer.Option(
            "--allow-different-environments",
            help="Judge records of different versions or hardware, and note it.",
        ),
    ] = False,
    baseline_arm: Annotated[
        str | None, typer.Option(help="Arm of the baseline's store; that of --arm if omitted.")
    ] = None,
    engine: options.Engine = "serial",
    workers: options.Workers = None,
    address: options.Address = None,
    reading: "LoadOptions",
) -> None:
    """Judge predictions by limits, as CI does before a retrained model ships.

    A target may also be a folder that seedproof measure --out wrote.

    Exit code 0 if every rule holds, 1 if one is broken, 3 if the interval of one straddles its
    limit and none is broken.
    """
    from rich.console import Console

    from seedproof.api import gate as api
    from seedproof.cli.progress import watching
    from seedproof.cli.thresholds import thresholds

    for option, path in (("--junit", junit), ("--markdown", markdown)):
        if path is not None:
            _check_file(option, path)
    limits = thresholds(at_most or (), at_least or (), no_worse or (), config=config)
    with watching(Console(stderr=True)) as reading["progress"]:
        report = api.gate(
            targets,
            max=limits.at_most,
            min=limits.at_least,
            no_worse=limits.no_worse,
            baseline=baseline or None,
            baseline_arm=baseline_arm,
            allow_different_environments=allow_different_environments,
            engine=engine,
            workers=workers,
            address=address,
            **reading,
        )
    if junit is not None:
        _write("--junit", junit, report.to_junit())
    if markdown is not None:
        _write("--markdown", markdown, report.to_markdown(command=options.command_line()))
    if as_json:
        sys.stdout.write(report.to_json())
    elif sys.stdout.isatty():
        report.show()
    else:
        typer.echo(report.text())
    raise typer.Exit(report.exit_code)


def _check_file(option: str, path: Path) -> None:
    """Refuse a place where no file can be, before anything is judged."""
    try:
        is_folder, is_below_file = path.is_dir(), any(parent.is_file() for parent in path.parents)
    except OSError as error:
        raise _unwritable(option, path, first_line(error)) from error
    if is_folder:
        raise _unwritable(option, path, "it is a folder")
    if is_below_file:
        raise _unwritable(option, path, "what should be its folder is a file")


def _write(option: str, path: Path, content: str) -> None:
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(content, encoding="utf-8")
    except OSError as error:
        raise _unwritable(option, path, first_line(error)) from error


def _unwritable(option: str, path: Path, reason: str) -> OptionError:
    return OptionError(
        "{option} {path!r} cannot be written: {reason}. Give a file, such as {usual_name}.",
        option=option,
        path=str(path),
        reason=reason,
        usual_name="gate.xml" if option == "--junit" else "gate.md",
    )
