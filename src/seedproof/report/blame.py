"""Report of `sp.blame`: which source of randomness causes the flips."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar

import pyarrow as pa
from rich.console import Group, RenderableType
from rich.text import Text

from seedproof.comparison.blame.compute import USEFUL_BLOCKS, Blame
from seedproof.comparison.blame.distances import FLIPS, LOGITS, OVERLAP, QUALITY
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

# If even the smallest total share is as large as this, the training hardly uses its sources.
UNUSED_SOURCES_SHARE = 0.9
# Sources among the key figures, which are side by side on the page; the table has all sources.
MAX_SOURCES = 3
HEADER = ("source", "first-order", "total")
LEGEND = (
    "First-order: the share that fixing only this source removes. "
    "Total: the share that remains if only this source varies. "
    "Interaction: the share not due to any single source, 100 % minus the first-order shares. "
    "May be 0: not distinguishable from 0."
)
# What the shares are of, by the kind of shares.
KIND_NAMES = {
    FLIPS: "flips",
    LOGITS: "logit variance",
    OVERLAP: "Jaccard distance",
    QUALITY: "quality variance",
}
# What a flip is, by the kind of answers.
FLIP_NAMES = {
    "classes": "another class",
    "rankings": "another first item",
    "sets": "another set",
    "texts": "another answer",
}
SENTENCES = {
    "runs-apart": "Two runs that share none of these seeds give {other} on {apart} of the "
    "examples.",
    "source-to-blame": "{source} causes the most flips: if only {source} varies, {share} of them "
    "remain, significantly more than for any other source.",
    "no-source-to-blame": "No source is shown to cause more flips than all others.",
    "source-not-resolvable": "These runs are too few to show which source causes the most flips.",
    "interaction": "The sources interact: {share} of the flips have no single source, so fixing "
    "one source does not remove them.",
    "one-block": "All these runs are connected by shared seeds, so there are no independent blocks "
    "and no intervals. seedproof run --blame {useful} creates such blocks.",
    "few-blocks": "{n_blocks} blocks are too few for intervals. At least {least} are needed, and "
    "{useful} are useful. Run the same seedproof run with --blame {useful} to add runs.",
    "sources-unheeded": "Runs that share all sources but one still differ as much as unrelated "
    "runs. The training may draw random numbers outside of its sources: run seedproof doctor.",
    "interaction-by-rounding": "Taking the most probable class creates interaction by itself; the "
    "logit variance is free of that.",
    "shares-cut": "Shares are between 0 and 100 %. Estimates beyond are due to chance and are cut "
    "off, so that shares need not add up to 100 %.",
    "quality-of-examples": "The quality is that of each example: NDCG of a list, F1 of a set, a "
    "right or wrong answer.",
    "flips-of-lists": "No first item differs between runs, so flips are lists that differ in any "
    "place.",
    "no-shares-of-accuracy": "Shares of the variance of the mean quality, such as accuracy, need "
    "about 100 runs, so they are left out.",
    "apart": "of the examples get {other} from a run that shares no seed.",
    "total-share": "of these flips remain if only this source varies.",
}
_say = Sentences(SENTENCES)


@dataclass(frozen=True, eq=False, repr=False)
class BlameReport(Result):
    """The share of the flips that each source of randomness causes.

    Args:
        result: Shares of flips and of other distances between runs.

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
        """Return the findings, the most important first."""
        return tuple(_sentences(self.result))

    def notes(self) -> tuple[Message, ...]:
        """Return notes on the limits of the figures."""
        return tuple(_notes(self.result))

    def _render(self, show: Sequence[str]) -> RenderableType:
        refuse_columns(show)
        parts: list[RenderableType] = [Text(str(_title(self.result)), style="dim"), Text("")]
        for sentence in self.sentences():
            parts += [Prose(str(sentence)), Text("")]
        for kind, shares in self.result.shares.items():
            table = bare_table(3)
            table.add_column(f"share of {KIND_NAMES[kind]}", style="bold", no_wrap=True)
            for name in HEADER[1:]:
                table.add_column(name, no_wrap=True)
            for source, *cells in _rows(shares):
                table.add_row(Text(printable(source)), *cells)
            parts += [table, Text("")]
        notes = (LEGEND, *(f"Note: {note}" for note in self.notes()))
        return Group(*parts, *(Prose(note, style="dim") for note in notes))

    def _records(self) -> list[dict[str, Any]]:
        return [
            {"of": kind, "source": source, "share": order, **share.summary()}
            for kind, shares in self.result.shares.items()
            for source, order, share in _known_shares(shares)
        ]

    def _figures(self) -> tuple[Figure, ...]:
        return tuple(
            _figure(kind, shares)
            for kind, shares in self.result.shares.items()
            if _known_shares(shares)
        )

    def _overview(self, show: Sequence[str]) -> Overview:
        refuse_columns(show)
        return Overview(
            headline=self._headline,
            title=str(_title(self.result)),
            sentences=tuple(("Flips", str(sentence)) for sentence in self.sentences()),
            key_figures=tuple(_key_figures(self.result)),
            sections=tuple(
                Section(
                    _capitalized(KIND_NAMES[kind]),
                    f"Shares of {KIND_NAMES[kind]}",
                    (TextTable(HEADER, _rows(shares), notes=(LEGEND,)),),
                )
                for kind, shares in self.result.shares.items()
            ),
            notes=tuple(map(str, self.notes())),
        )

    @property
    def _headline(self) -> str:
        if self.result.flips.most is None:
            return "No source of randomness is shown to cause more flips than the others"
        return f"{self.result.flips.most} causes the most flips"

    def _about(self) -> str:
        return f"of {self.result.n_runs:,} runs: {self._headline}"


def _title(blame: Blame) -> Message:
    blocks = "1 block" if blame.n_blocks == 1 else "{n_blocks} blocks"
    return Message(
        "blamed",
        f"{{n_runs}} runs in {blocks} · {{n_examples:,}} examples · varying {{listed}}",
        n_runs=blame.n_runs,
        n_blocks=blame.n_blocks,
        n_examples=blame.n_examples,
        listed=printable(", ".join(blame.sources)),
        sources=blame.sources,
    )


def _flip_name(blame: Blame) -> str:
    """Return what a flip is."""
    return "another list" if blame.are_of_lists else FLIP_NAMES[blame.answers]


def _sentences(blame: Blame) -> Iterator[Message]:
    flips = blame.flips
    other = _flip_name(blame)
    yield _say("runs-apart", other=other, apart=WithUnit(flips.apart, "percent"))
    shares = (*flips.first.values(), *flips.total.values())
    most = flips.total.get(flips.most or "")
    if most is not None:
        yield _say("source-to-blame", source=flips.most, share=WrittenShare(most))
    elif all(share is not None and share.is_resolved for share in shares):
        yield _say("no-source-to-blame")
    else:
        yield _say("source-not-resolvable")
    interaction = flips.interaction
    if (
        interaction is not None
        and interaction.is_resolved
        and round(100 * (interaction.low or 0.0)) > 0
    ):
        yield _say("interaction", share=WrittenShare(interaction))


def _notes(blame: Blame) -> Iterator[Message]:
    if blame.n_blocks == 1:
        yield _say("one-block", useful=USEFUL_BLOCKS)
    elif blame.n_blocks < LEAST_BLOCKS:
        yield _say("few-blocks", n_blocks=blame.n_blocks, least=LEAST_BLOCKS, useful=USEFUL_BLOCKS)
    totals = [share.value for share in blame.flips.total.values() if share is not None]
    if totals and min(totals) >= UNUSED_SOURCES_SHARE:
        yield _say("sources-unheeded")
    if blame.are_of_lists:
        yield _say("flips-of-lists")
    if blame.logits is not None:
        yield _say("interaction-by-rounding")
    known = [_known_shares(shares) for shares in blame.shares.values()]
    values = [share.value for shares in known for _, _, share in shares]
    if any(value in {0.0, 1.0} for value in values):
        yield _say("shares-cut")
    if QUALITY in blame.further:
        yield _say("quality-of-examples")
    yield _say("no-shares-of-accuracy")


def _known_shares(shares: Shares) -> list[tuple[str | None, str, Share]]:
    """Return source, order ("first", "total" or "interaction") and value of each known share."""
    all_shares: list[tuple[str | None, str, Share | None]] = [
        *((source, "first", share) for source, share in shares.first.items()),
        *((source, "total", share) for source, share in shares.total.items()),
        (None, "interaction", shares.interaction),
    ]
    return [(source, order, share) for source, order, share in all_shares if share is not None]


def _rows(shares: Shares) -> tuple[tuple[str, str, str], ...]:
    rows = [(name, _cell(first), _cell(shares.total[name])) for name, first in shares.first.items()]
    return (*rows, ("interaction", _cell(shares.interaction), ""))


def _cell(share: Share | None) -> str:
    if share is None:
        return "no such runs"
    if not share.is_resolved:
        return f"{WrittenShare(share)} not resolvable"
    return f"{WrittenShare(share)}{', may be 0' if share.may_be_none else ''}"


def _key_figures(blame: Blame) -> Iterator[KeyFigure]:
    apart, caption = Estimate(blame.flips.apart), _say("apart", other=_flip_name(blame))
    yield key_figure("apart", "Flip rate", apart, caption, is_difference=False)
    for source, share in list(blame.flips.total.items())[:MAX_SOURCES]:
        if share is not None:
            caption, title = _say("total-share"), f"{source}, total"
            yield key_figure(source, title, _estimate(share), caption, is_difference=False)


def _figure(kind: str, shares: Shares) -> Figure:
    lines = []
    for source, first in shares.first.items():
        total = shares.total[source]
        if total is not None:
            lines.append(Line(source, _estimate(total), "good"))
        if first is not None:
            lines.append(Line(f"{source} (first)", _estimate(first), "open"))
    if shares.interaction is not None:
        lines.append(Line("interaction", _estimate(shares.interaction)))
    title = _capitalized(KIND_NAMES[kind])
    return intervals(
        f"shares_of_{kind}",
        f"{title}: shares of each source of randomness",
        lines,
        section=title,
        axis="share, % (intervals over blocks of runs)",
        unit="percent",
        marks={
            "good": "total: remains if only this source varies",
            "open": "first-order: removed if only this source is fixed",
            "base": "interaction: of no single source",
        },
        reference=0.0,
    )


def _capitalized(name: str) -> str:
    return name[0].upper() + name[1:]


def _estimate(share: Share) -> Estimate:
    return Estimate(share.value, share.low, share.high)


@dataclass(frozen=True)
class WrittenShare:
    """A share that is printed with its interval, such as "34 % [21, 47]"."""

    share: Share

    def __str__(self) -> str:
        interval = in_brackets(_estimate(self.share), _percent)
        return f"{_percent(self.share.value)}{NO_BREAK}%{interval}"


def _percent(share: float) -> str:
    # Shares are known to a few points at best, so decimals would mislead.
    return f"{round(100 * share)}".replace("-", MINUS)
