"""`sp.blame`: a store in, and out comes which source of randomness its flips come with."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar

import pyarrow as pa
from rich.console import Group, RenderableType
from rich.text import Text

from seedproof.comparison.blame.compute import USEFUL_BLOCKS, Blame
from seedproof.comparison.blame.variance_shares import LEAST_BLOCKS, Share, Shares
from seedproof.messages import Message, Sentences, printable
from seedproof.report.figures.base import Figure
from seedproof.report.figures.intervals import Line, intervals
from seedproof.report.numbers import MINUS, NO_BREAK, WithUnit, in_brackets
from seedproof.report.overview import Overview, Section, TextTable, key_figure
from seedproof.report.result import Result, refuse_columns
from seedproof.report.text import Prose, bare_table
from seedproof.report.view import KeyFigure
from seedproof.stats.intervals import Estimate

# If varying any one source alone leaves nearly all flips, the training hardly heeds its sources.
UNHEEDED = 0.9
# More have no room next to each other; the table has all.
MAX_SOURCES = 3
LEGEND = (
    "First-order: what fixing this source alone takes away. "
    "Total: what is left when this source alone varies. "
    "Interaction: what belongs to no source alone, 100 % less the first-order shares."
)
# Titles of the section, of what it shows, and of the terminal's table.
TITLES = {
    "flips": ("Flips", "Shares of the flips", "of the flips"),
    "logits": (
        "Variance of the logit",
        "Shares of the variance of the logit",
        "of the logit's variance",
    ),
}
SENTENCES = {
    "runs-apart": "Two runs that share none of these seeds disagree on {apart} of the predictions.",
    "source-to-blame": "{source} is to blame most: varied alone, it leaves {share} of these flips, "
    "and each other source leaves fewer, by more than chance.",
    "no-source-to-blame": "No source is shown to be more to blame than all others.",
    "source-not-resolvable": "Which source is to blame is not resolvable with this many runs.",
    "interaction": "The sources do not add up: {share} of the flips belong to no source alone, and "
    "fixing a single one leaves them.",
    "one-block": "all these runs share seeds with one another, directly or through others, so "
    "there are no independent blocks and no intervals. seedproof run --blame {useful} makes such "
    "blocks.",
    "few-blocks": "{n_blocks} blocks are too few for intervals, {least} are the least, {useful} "
    "are useful. The same seedproof run with --blame {useful} adds to these runs.",
    "sources-unheeded": "runs that share all sources but one still differ like strangers. Perhaps "
    "the training draws outside of its sources: ask seedproof doctor.",
    "interaction-by-rounding": "taking the most probable class creates interaction by itself; the "
    "variance of the logit has none of that.",
    "shares-out-of-range": "true shares are between 0 and 100 %; what lies beyond is chance.",
    "no-shares-of-accuracy": "shares of the accuracy's variance are not resolvable below about 100 "
    "runs, so there are none here.",
    "apart": "of the predictions differ between runs that share no seed.",
    "total-share": "of these flips are left if this source alone varies.",
}
_say = Sentences(SENTENCES)


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
        **dict.fromkeys(("of", "source", "share"), pa.string()),
        **dict.fromkeys(("value", "low", "high"), pa.float64()),
        "is_resolved": pa.bool_(),
    }

    def summary(self) -> dict[str, Any]:
        """Return everything as plain data."""
        return self.result.summary()

    def sentences(self) -> tuple[Message, ...]:
        """Return what may be said, the most important first."""
        return tuple(_sentences(self.result.flips))

    def notes(self) -> tuple[Message, ...]:
        """Return what limits the figures."""
        return tuple(_notes(self.result))

    @property
    def _kinds(self) -> dict[str, Shares]:
        """The shares that are known: of the flips, and of the logit's variance."""
        kinds = {"flips": self.result.flips, "logits": self.result.logits}
        return {kind: shares for kind, shares in kinds.items() if shares is not None}

    def _render(self, show: Sequence[str]) -> RenderableType:
        refuse_columns(show)
        parts: list[RenderableType] = [Text(str(_title(self.result)), style="dim"), Text("")]
        for sentence in self.sentences():
            parts += [Prose(str(sentence)), Text("")]
        for kind, shares in self._kinds.items():
            table = bare_table(3)
            table.add_column(TITLES[kind][2], style="bold", no_wrap=True)
            table.add_column("first-order", no_wrap=True)
            table.add_column("total", no_wrap=True)
            for source, *cells in _cells(shares):
                table.add_row(Text(printable(source)), *cells)
            parts += [table, Text("")]
        notes = (LEGEND, *(f"Note: {note}" for note in self.notes()))
        return Group(*parts, *(Prose(note, style="dim") for note in notes))

    def _records(self) -> list[dict[str, Any]]:
        return [
            {"of": kind, "source": source, "share": order, **share.summary()}
            for kind, shares in self._kinds.items()
            for source, order, share in _known(shares)
        ]

    def _figures(self) -> tuple[Figure, ...]:
        return tuple(
            _figure(kind, shares) for kind, shares in self._kinds.items() if _known(shares)
        )

    def _overview(self, show: Sequence[str]) -> Overview:
        refuse_columns(show)
        header = ("source", "first-order", "total")
        return Overview(
            headline=self._headline,
            title=str(_title(self.result)),
            sentences=tuple(("Flips", str(sentence)) for sentence in self.sentences()),
            key_figures=tuple(_key_figures(self.result.flips)),
            sections=tuple(
                Section(*TITLES[kind][:2], (TextTable(header, _cells(shares), notes=(LEGEND,)),))
                for kind, shares in self._kinds.items()
            ),
            notes=tuple(map(str, self.notes())),
        )

    @property
    def _headline(self) -> str:
        if self.result.flips.most is None:
            return "No source of randomness is shown to cause more flips than the others"
        return f"{self.result.flips.most} causes most flips"

    def _about(self) -> str:
        return f"of {self.result.n_runs:,} runs: {self._headline}"


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


def _sentences(flips: Shares) -> Iterator[Message]:
    yield _say("runs-apart", apart=WithUnit(flips.apart, "percent"))
    known = (*flips.first.values(), *flips.total.values())
    if flips.most is not None:
        share = WrittenShare(flips.total[flips.most])
        yield _say("source-to-blame", source=flips.most, share=share)
    elif all(share is not None and share.is_resolved for share in known):
        yield _say("no-source-to-blame")
    else:
        yield _say("source-not-resolvable")
    together = flips.interaction
    if together is not None and together.is_resolved and round(100 * (together.low or 0.0)) > 0:
        yield _say("interaction", share=WrittenShare(together))


def _notes(found: Blame) -> Iterator[Message]:
    if found.n_blocks == 1:
        yield _say("one-block", useful=USEFUL_BLOCKS)
    elif found.n_blocks < LEAST_BLOCKS:
        yield _say("few-blocks", n_blocks=found.n_blocks, least=LEAST_BLOCKS, useful=USEFUL_BLOCKS)
    totals = [share.value for share in found.flips.total.values() if share is not None]
    if totals and min(totals) >= UNHEEDED:
        yield _say("sources-unheeded")
    if found.logits is not None:
        yield _say("interaction-by-rounding")
    shown = [shares for shares in (found.flips, found.logits) if shares is not None]
    if any(not 0.0 <= share.value <= 1.0 for one in shown for _, _, share in _known(one)):
        yield _say("shares-out-of-range")
    yield _say("no-shares-of-accuracy")


def _known(shares: Shares) -> list[tuple[str | None, str, Share]]:
    """Source, order and value of every share that is known."""
    orders: dict[str, Mapping[str, Share | None]] = {"first": shares.first, "total": shares.total}
    every = [(source, order, one) for order, of in orders.items() for source, one in of.items()]
    last = (None, "interaction", shares.interaction)
    return [(source, order, one) for source, order, one in (*every, last) if one is not None]


def _cells(shares: Shares) -> tuple[tuple[str, str, str], ...]:
    rows = [(name, _cell(one), _cell(shares.total[name])) for name, one in shares.first.items()]
    return (*rows, ("interaction", _cell(shares.interaction), ""))


def _cell(share: Share | None) -> str:
    if share is None:
        return "no such runs"
    return f"{WrittenShare(share)}{'' if share.is_resolved else ' not resolvable'}"


def _key_figures(flips: Shares) -> Iterator[KeyFigure]:
    apart = Estimate(flips.apart)
    yield key_figure("apart", "Flip rate", apart, _say("apart"), is_difference=False)
    for source, share in list(flips.total.items())[:MAX_SOURCES]:
        if share is not None:
            left, title = _say("total-share"), f"{source}, total"
            yield key_figure(source, title, _estimate(share), left, is_difference=False)


def _figure(kind: str, shares: Shares) -> Figure:
    """Return a chart of total and first-order shares."""
    lines = []
    for source, first in shares.first.items():
        total = shares.total[source]
        if total is not None:
            lines.append(Line(source, _estimate(total), "good"))
        if first is not None:
            lines.append(Line(f"{source} (first)", _estimate(first), "open"))
    if shares.interaction is not None:
        lines.append(Line("interaction", _estimate(shares.interaction)))
    title = TITLES[kind][0]
    return intervals(
        f"shares_of_{kind}",
        f"{title}: shares of each source of randomness",
        lines,
        section=title,
        axis="share, % (intervals over blocks of runs)",
        unit="percent",
        marks={
            "good": "total: left if this source alone varies",
            "open": "first-order: gone if this source alone is fixed",
            "base": "interaction: of no source alone",
        },
        reference=0.0,
    )


def _estimate(share: Share) -> Estimate:
    return Estimate(share.value, share.low, share.high)


@dataclass(frozen=True)
class WrittenShare:
    """A share as people write it, such as "34 % [21, 47]"; None if it is unknown."""

    share: Share | None

    def __str__(self) -> str:
        if self.share is None:
            return "an unknown share"
        ends = in_brackets(_estimate(self.share), _percent)
        return f"{_percent(self.share.value)}{NO_BREAK}%{ends}"


def _percent(share: float) -> str:
    # A share is known to some points at best: decimals would only pretend.
    return f"{round(100 * share)}".replace("-", MINUS)
