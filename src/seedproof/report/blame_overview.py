"""The page, the short form and the table of shares of randomness, as plain data."""

from collections.abc import Iterator, Sequence
from typing import Any

from seedproof.comparison.blame.compute import Blame
from seedproof.comparison.blame.shares import Share, Shares
from seedproof.messages import Message
from seedproof.report.figures.base import Figure
from seedproof.report.figures.intervals import Line, intervals
from seedproof.report.overview import Overview, Section, TextTable, key_figure
from seedproof.report.view import KeyFigure
from seedproof.stats.intervals import Estimate

# More have no room next to each other; the table has all.
MAX_SOURCES = 3
TITLES = {"flips": "Flips", "logits": "Variance of the logit"}


def kinds(result: Blame) -> Iterator[tuple[str, Shares]]:
    """Yield the shares that are known: of the flips, and of the logit's variance."""
    yield "flips", result.flips
    if result.logits is not None:
        yield "logits", result.logits


def headline(result: Blame) -> str:
    """Return the finding in one short sentence."""
    if result.flips.most is None:
        return "No source of randomness is shown to cause more flips than the others"
    return f"{result.flips.most} causes most flips"


def build_overview(
    result: Blame,
    *,
    title: Message,
    sentences: Sequence[Message],
    notes: Sequence[Message],
    cells: dict[str, tuple[tuple[str, ...], ...]],
    legend: str,
) -> Overview:
    """Return sentences and a table of shares."""
    header = ("source", "first-order", "total")
    return Overview(
        headline=headline(result),
        title=str(title),
        sentences=tuple(("Flips", str(sentence)) for sentence in sentences),
        key_figures=tuple(_key_figures(result)),
        sections=tuple(
            Section(
                TITLES[kind],
                f"Shares of {'the flips' if kind == 'flips' else 'the variance of the logit'}",
                (TextTable(header, cells[kind], notes=(legend,)),),
            )
            for kind, _ in kinds(result)
        ),
        notes=tuple(map(str, notes)),
    )


def _key_figures(result: Blame) -> Iterator[KeyFigure]:
    apart = Message("apart", "of the predictions differ between runs that share no seed.")
    yield key_figure("apart", "Flip rate", Estimate(result.flips.apart), apart, is_difference=False)
    left = Message("total-share", "of these flips are left if this source alone varies.")
    for source, share in list(result.flips.total.items())[:MAX_SOURCES]:
        if share is not None:
            title = f"{source}, total"
            yield key_figure(source, title, _estimate(share), left, is_difference=False)


def build_figures(result: Blame) -> tuple[Figure, ...]:
    """Return a chart of total and first-order shares, of the flips and of the logit's variance."""
    return tuple(figure for kind, shares in kinds(result) for figure in _figures(kind, shares))


def _figures(kind: str, shares: Shares) -> Iterator[Figure]:
    lines = []
    for source in shares.first:
        for order, found in (("total", shares.total), ("first", shares.first)):
            share = found[source]
            if share is not None:
                mark = "good" if order == "total" else "open"
                name = source if order == "total" else f"{source} (first)"
                lines.append(Line(name, _estimate(share), "good" if mark == "good" else "open"))
    if shares.interaction is not None:
        lines.append(Line("interaction", _estimate(shares.interaction)))
    if lines:
        yield intervals(
            f"shares_of_{kind}",
            f"{TITLES[kind]}: shares of each source of randomness",
            lines,
            section=TITLES[kind],
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


def records(result: Blame) -> list[dict[str, Any]]:
    """Return one row per share."""
    rows = []
    for kind, shares in kinds(result):
        known: list[tuple[str | None, str, Share | None]] = [
            (source, order, share)
            for order, by_source in (("first", shares.first), ("total", shares.total))
            for source, share in by_source.items()
        ]
        known.append((None, "interaction", shares.interaction))
        rows += [
            {
                "of": kind,
                "source": source,
                "share": order,
                "value": share.value,
                "low": share.low,
                "high": share.high,
                "is_resolved": share.is_resolved,
            }
            for source, order, share in known
            if share is not None
        ]
    return rows
