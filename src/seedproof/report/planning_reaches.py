"""Effects that numbers of seeds can detect: cells of a table, and charts."""

import sys
from collections.abc import Iterator, Sequence
from itertools import groupby

from seedproof.comparison.planning.answers import Reach
from seedproof.comparison.planning.pilot import Kind
from seedproof.report.figures.base import Figure
from seedproof.report.figures.intervals import Line, intervals
from seedproof.report.numbers import NO_BREAK, span
from seedproof.stats.intervals import Estimate

# Larger ratios mean that nothing can be detected.
LARGEST_RATIO = 1000.0
REACH = "Detectable differences"
KINDS: dict[Kind, str] = {
    "mean": "difference in means",
    "sd": "ratio of spreads",
    "flip_rate": "ratio of flip rates",
}


def reach_cells(reach: Reach) -> tuple[str, ...]:
    """Return what differs, the number of seeds, and the differences that they can detect."""
    observed, true = (_size(reach, effect) for effect in (reach.observed, reach.detectable))
    if reach.low is not None and reach.high is not None and reach.high <= LARGEST_RATIO:
        true += f" ({span(_end(reach, reach.low), _end(reach, reach.high))})"
    return _name(reach), f"{reach.n_seeds:,}", observed, true


def _name(reach: Reach) -> str:
    """Return what differs, with its assumed spread."""
    if reach.kind == "mean":
        return "mean" if reach.given is None else f"mean (sd {reach.given:.3g})"
    return "sd (ratio)" if reach.kind == "sd" else f"flip rate (ratio, cv {reach.given:.2g})"


def _end(reach: Reach, effect: float) -> str:
    """Return a detectable effect at an end of the range that the pilot allows."""
    return f"{effect:.3g}" if reach.kind == "mean" else f"{effect:.2f}"


def _size(reach: Reach, effect: float) -> str:
    if reach.kind == "mean":
        return f"{effect:.2f}{NO_BREAK}sd" if reach.given is None else f"{effect:.3g}"
    return "not detectable" if effect > LARGEST_RATIO else f"{effect:.2f} or {1 / effect:.2f}"


def reach_figures(reaches: Sequence[Reach], repeats: str) -> Iterator[Figure]:
    """Yield a chart for each quantity, with the range that the pilot allows."""
    n_drawn = dict.fromkeys(KINDS, 0)
    for (kind, name), members in groupby(reaches, lambda reach: (reach.kind, _name(reach))):
        most = sys.float_info.max if kind == "mean" else LARGEST_RATIO
        shown = [reach for reach in members if reach.detectable <= most]
        if not shown:
            continue
        n_drawn[kind] += 1
        unit = " (in standard deviations)" if kind == "mean" and shown[0].given is None else ""
        yield intervals(
            f"reach_{kind}" + ("" if n_drawn[kind] == 1 else f"_{n_drawn[kind]}"),
            f"Smallest true {KINDS[kind]} that can be detected: {name}",
            [
                Line(
                    f"{reach.n_seeds:,} {repeats}",
                    Estimate(reach.detectable, reach.low, reach.high),
                )
                for reach in shown
            ],
            section=REACH,
            axis=f"true {KINDS[kind]}{unit}",
            unit="score",
            reference=0.0 if kind == "mean" else 1.0,
        )
