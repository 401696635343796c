"""`seedproof demo`: the main results, from real records that come with the package."""

import sys
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

if TYPE_CHECKING:
    from collections.abc import Iterator

    from rich.console import RenderableType


def demo(
    *,
    out: Annotated[Path, typer.Option(help="A new or empty folder for records and pages.")] = Path(
        "seedproof-demo"
    ),
) -> None:
    """Show what a random seed decides, in real runs.

    We trained a small text classifier ten times in each of two ways, with the same ten seeds. The
    demo prints the results and writes two pages for your browser. It takes a few seconds, and
    needs no network, no torch and no data set.
    """
    from rich.console import Console

    from seedproof.api.compare import compare
    from seedproof.api.measure import measure
    from seedproof.cli.demo_text import BASELINE, SHOWN, averaging, command, luck, next_steps
    from seedproof.demo.bundle import Bundle
    from seedproof.demo.unpack import unpack

    bundle = Bundle.load()
    pages, store = (out / "report", out / "comparison"), str(unpack(bundle, out))
    waiting = Console(stderr=True)
    with waiting.status("measuring ten runs"):
        report = measure(store, arm=BASELINE)
        words = ("measure", store, "--arm", BASELINE, "--show", *SHOWN, "--out", str(pages[0]))
        report.save(pages[0], show=SHOWN, command=command(*words))
        size = (report.measurement.n_runs, report.measurement.n_examples)
    _show(luck(report.view(), *size))
    with waiting.status("comparing them with ten others"):
        comparison = compare(store, baseline=BASELINE)
        comparison.save(pages[1], command=command("compare", store, "--out", str(pages[1])))
        matched = compare(store, baseline=BASELINE, match_rates=True)
    _show(averaging(comparison.view(), matched.view(), bundle))
    _show(next_steps(store, *pages))


def _show(parts: "Iterator[RenderableType]") -> None:
    from rich.console import Console, Group

    from seedproof.report.text import plain_text

    group = Group(*parts)
    if sys.stdout.isatty():
        Console().print(group)
    else:
        typer.echo(plain_text(group))
