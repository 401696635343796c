"""`sp.blame`: a store in, and out comes which source of randomness its flips come with."""

import textwrap
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar

import pyarrow as pa
from rich.console import Console, ConsoleOptions, RenderableType, RenderResult
from rich.table import Table
from rich.text import Text

from seedproof.comparison.blame.compute import USEFUL_BLOCKS, Blame
from seedproof.comparison.blame.shares import LEAST_BLOCKS, Share, Shares
from seedproof.messages import Message, printable
from seedproof.report import blame_overview
from seedproof.report.figures.base import Figure
from seedproof.report.numbers import MINUS, NO_BREAK, WithUnit
from seedproof.report.overview import Overview
from seedproof.report.result import Result, refuse_columns
from seedproof.report.text import MAX_LINE

# If varying any one source alone leaves nearly all flips, the training hardly heeds its sources.
UNHEEDED = 0.9
LEGEND = (
    "First-order: what fixing this source alone takes away. "
    "Total: what is left when this source alone varies. "
    "Interaction: what belongs to no source alone, 100 % less the first-order shares."
)


@dataclass(frozen=True, eq=False, repr=False)
class BlameReport(Result):
    """Which source of randomness causes the flips, for people and as JSON.

    Args:
        result: Shares of flips and of logits.

    Examples:
        >>> import seedproof as sp
        >>> def train(run: sp.Run) -> None:
        ...     drawn = run.rng("init").normal(size=200) + run.rng("order").normal(size=200)
        ...     run.log_predictions("test", predictions=(drawn > 0).astype(int))
        >>> plan = sp.SeedPlan.blocks(4, sources=["init", "order"])
        >>> _ = sp.Study("blame", train, seeds=plan, store="blamed").run(engine="serial")
        >>> type(sp.blame("blamed")).__name__
        'BlameReport'
    """

    result: Blame

    _page_file = "blame.html"
    _json_file = "blame.json"
    _columns: ClassVar = {
        "of": pa.string(),
        "source": pa.string(),
        "share": pa.string(),
        "value": pa.float64(),
        "low": pa.float64(),
        "high": pa.float64(),
        "is_resolved": pa.bool_(),
    }

    def summary(self) -> dict[str, Any]:
        """Return everything as plain data."""
        return self.result.summary()

    def sentences(self) -> tuple[Message, ...]:
        """Return what may be said, the most important first."""
        return tuple(_sentences(self.result))

    def notes(self) -> tuple[Message, ...]:
        """Return what limits the figures."""
        return tuple(_notes(self.result))

    def __rich_console__(self, console: Console, options: ConsoleOptions) -> RenderResult:
        found, width = self.result, min(options.max_width, MAX_LINE)
        yield Text(str(_title(found)), style="dim")
        yield Text("")
        for sentence in self.sentences():
            yield Text(textwrap.fill(str(sentence), width))
            yield Text("")
        yield _table("of the flips", found.flips)
        yield Text("")
        if found.logits is not None:
            yield _table("of the logit's variance", found.logits)
            yield Text("")
        yield Text(textwrap.fill(LEGEND, width), style="dim")
        for note in self.notes():
            yield Text(textwrap.fill(f"Note: {note}", width), style="dim")

    def _render(self, show: Sequence[str]) -> RenderableType:
        refuse_columns(show)
        return self

    def _records(self) -> list[dict[str, Any]]:
        return blame_overview.records(self.result)

    def _figures(self) -> tuple[Figure, ...]:
        return blame_overview.build_figures(self.result)

    def _overview(self, show: Sequence[str]) -> Overview:
        refuse_columns(show)
        return blame_overview.build_overview(
            self.result,
            title=_title(self.result),
            sentences=self.sentences(),
            notes=self.notes(),
            cells={
                kind: (
                    *(
                        (source, _cell(first), _cell(shares.total[source]))
                        for source, first in shares.first.items()
                    ),
                    ("interaction", _cell(shares.interaction), ""),
                )
                for kind, shares in blame_overview.kinds(self.result)
            },
            legend=LEGEND,
        )

    def _about(self) -> str:
        return f"of {self.result.n_runs:,} runs: {blame_overview.headline(self.result)}"


def _title(found: Blame) -> Message:
    blocks = "1 block" if found.n_blocks == 1 else "{n_blocks} blocks"
    return Message(
        "blamed",
        f"{{n_runs}} runs in {blocks} · {{n_examples:,}} examples · {{listed}} vary",
        n_runs=found.n_runs,
        n_blocks=found.n_blocks,
        n_examples=found.n_examples,
        listed=printable(", ".join(found.sources)),
        sources=found.sources,
    )


def _sentences(found: Blame) -> Iterator[Message]:
    flips = found.flips
    yield Message(
        "runs-apart",
        "Two runs that share none of these seeds disagree on {apart} of the predictions.",
        apart=WithUnit(flips.apart, "percent"),
    )
    if flips.most is not None:
        yield Message(
            "source-to-blame",
            "{source} is to blame most: varied alone, it leaves {share} of these flips, and each "
            "other source leaves fewer, by more than chance.",
            source=flips.most,
            share=WrittenShare(flips.total[flips.most]),
        )
    elif _all_resolved(flips):
        yield Message(
            "no-source-to-blame", "No source is shown to be more to blame than all others."
        )
    else:
        yield Message(
            "source-not-resolvable",
            "Which source is to blame is not resolvable with this many runs.",
        )
    together = flips.interaction
    if together is not None and together.is_resolved and round(100 * (together.low or 0.0)) > 0:
        yield Message(
            "interaction",
            "The sources do not add up: {share} of the flips belong to no source alone, and fixing "
            "a single one leaves them.",
            share=WrittenShare(together),
        )


def _all_resolved(shares: Shares) -> bool:
    known = (*shares.first.values(), *shares.total.values())
    return all(share is not None and share.is_resolved for share in known)


def _known(shares: Shares) -> list[Share]:
    every = (*shares.first.values(), *shares.total.values(), shares.interaction)
    return [share for share in every if share is not None]


def _notes(found: Blame) -> Iterator[Message]:
    if found.n_blocks == 1:
        yield Message(
            "one-block",
            "all these runs share seeds with one another, directly or through others, so there "
            "are no independent blocks and no intervals. "
            "seedproof run --blame {useful} makes such blocks.",
            useful=USEFUL_BLOCKS,
        )
    elif found.n_blocks < LEAST_BLOCKS:
        yield Message(
            "few-blocks",
            "{n_blocks} blocks are too few for intervals, {least} are the least, {useful} are "
            "useful. The same seedproof run with --blame {useful} adds to these runs.",
            n_blocks=found.n_blocks,
            least=LEAST_BLOCKS,
            useful=USEFUL_BLOCKS,
        )
    totals = [share.value for share in found.flips.total.values() if share is not None]
    if totals and min(totals) >= UNHEEDED:
        yield Message(
            "sources-unheeded",
            "runs that share all sources but one still differ like strangers. Perhaps the "
            "training draws outside of its sources: ask seedproof doctor.",
        )
    if found.logits is not None:
        yield Message(
            "interaction-by-rounding",
            "taking the most probable class creates interaction by itself; the variance of the "
            "logit has none of that.",
        )
    shown = [shares for shares in (found.flips, found.logits) if shares is not None]
    if any(share.value < 0.0 or share.value > 1.0 for one in shown for share in _known(one)):
        yield Message(
            "shares-out-of-range",
            "true shares are between 0 and 100 %; what lies beyond is chance.",
        )
    yield Message(
        "no-shares-of-accuracy",
        "shares of the accuracy's variance are not resolvable below about 100 runs, so there are "
        "none here.",
    )


def _table(title: str, shares: Shares) -> Table:
    table = Table(box=None, pad_edge=False, padding=(0, 3, 0, 0), header_style="dim")
    table.add_column(title, style="bold", no_wrap=True)
    table.add_column("first-order", no_wrap=True)
    table.add_column("total", no_wrap=True)
    for source, first in shares.first.items():
        table.add_row(Text(printable(source)), _cell(first), _cell(shares.total[source]))
    table.add_row("interaction", _cell(shares.interaction), "")
    return table


def _cell(share: Share | None) -> str:
    if share is None:
        return "no such runs"
    text = str(WrittenShare(share))
    return text if share.is_resolved else f"{text} not resolvable"


@dataclass(frozen=True)
class WrittenShare:
    """A share as people write it, such as "34 % [21, 47]".

    Args:
        share: The share; None if it is unknown.
    """

    share: Share | None

    def __str__(self) -> str:
        if self.share is None:
            return "an unknown share"
        text = f"{_percent(self.share.value)}{NO_BREAK}%"
        if self.share.low is None or self.share.high is None:
            return text
        return f"{text} [{_percent(self.share.low)}, {_percent(self.share.high)}]"


def _percent(share: float) -> str:
    # A share is known to some points at best: decimals would only pretend.
    return f"{round(100 * share)}".replace("-", MINUS)
