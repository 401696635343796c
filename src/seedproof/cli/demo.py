"""`seedproof demo`: the main results, from real records that come with the package."""

import sys
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from seedproof.cli import options
from seedproof.cli.documents import print_files

if TYPE_CHECKING:
    from collections.abc import Iterator

    from rich.console import RenderableType

PAGES = ("report.html", "comparison.html")


def demo(
    *,
    out: Annotated[
        Path, typer.Option(help="Output folder: new, empty, or written by an earlier demo.")
    ] = Path("seedproof-demo"),
    as_json: options.Json = False,
) -> None:
    """Show how much depends on the random seed, using real runs.

    We trained a small text classifier ten times in each of two ways, with the same ten seeds. The
    demo prints the results and writes two pages for your browser. It takes a few seconds, and
    needs no internet connection, no torch and no data set.
    """
    from seedproof.api.compare import compare
    from seedproof.api.measure import measure
    from seedproof.cli import demo_text as text
    from seedproof.demo.bundle import Bundle
    from seedproof.demo.unpack import unpack
    from seedproof.report.console import SafeConsole

    bundle = Bundle.load()
    pages, store = (out / "report", out / "comparison"), str(unpack(bundle, out))
    waiting = SafeConsole(stderr=True)
    with waiting.status("measuring ten runs"):
        report = measure(store, arm=text.BASELINE)
        words = (
            "measure",
            store,
            "--arm",
            text.BASELINE,
            "--show",
            *text.SHOWN,
            "--out",
            str(pages[0]),
        )
        report.save(pages[0], show=text.SHOWN, command=text.command(*words))
        size = (report.measurement.n_runs, report.measurement.n_examples)
    if not as_json:
        _show(text.luck(report.view(), *size))
    with waiting.status("comparing them with ten others"):
        comparison = compare(store, baseline=text.BASELINE)
        matched = compare(store, baseline=text.BASELINE, match_rates=True)
        caution = text.cautions(comparison.view(), matched.view(), bundle)
        notes = (*comparison.comparison.notes, caution)
        comparison.comparison = replace(comparison.comparison, notes=notes)
        comparison.save(pages[1], command=text.command("compare", store, "--out", str(pages[1])))
    if as_json:
        files = [str(page / name) for page, name in zip(pages, PAGES, strict=True)]
        print_files(files, store=store)
        return
    _show(text.averaging(comparison.view(), caution))
    _show(text.next_steps(store, *pages))


def _show(parts: "Iterator[RenderableType]") -> None:
    from rich.console import Group

    from seedproof.report.console import SafeConsole
    from seedproof.report.text import plain_text

    group = Group(*parts)
    if sys.stdout.isatty():
        SafeConsole().print(group)
    else:
        typer.echo(plain_text(group))
