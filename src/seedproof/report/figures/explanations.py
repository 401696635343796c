"""Are reasons steadier where runs are sure? Top words that differ, by confidence."""

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from seedproof.measurement.explanations.curves import Curves
from seedproof.measurement.explanations.result import ExplanationMeasurement
from seedproof.measurement.result import Measurement
from seedproof.messages import Message
from seedproof.metrics.confidence import N_BINS
from seedproof.report.explanations.words import TOP_WORDS, named
from seedproof.report.figures.base import BINS, Figure, quoted
from seedproof.stats.intervals import NORMAL

WIDTH = 1 / N_BINS
COUNTED_BY_CLASS = Message("counted-by-class", "An example counts once for each class.")
AGAINST = (
    "{sure:.0f}\N{NO-BREAK SPACE}% of the top words differ where runs are sure, against "
    "{doubtful:.0f}\N{NO-BREAK SPACE}% where they are not"
)
DRAWN_TWICE = ("dash", "ink-3", "between two draws of one run")


def top_words(measurement: Measurement) -> tuple[Figure, ...]:
    """One chart a method: the share of the top words that differ, in bins of the confidence."""
    several = len(measurement.explanations) > 1
    return tuple(
        _figure(found, rows, measurement.n_classes, names_method=several)
        for found in measurement.explanations.values()
        if (rows := _rows(found.curves))
    )


def _rows(curves: Curves | None) -> list[dict[str, Any]]:
    """Percentages of all followed classes together.

    With several classes an example counts once a class, in one bin or another. Their means then
    share examples, so that the standard error of the whole is at most the mean of theirs.
    """
    if curves is None:
        return []
    means, errors = curves.means[TOP_WORDS], curves.errors[TOP_WORDS]
    found = []
    for i in range(N_BINS):
        count, known = curves.counts[:, i], ~np.isnan(errors[:, i])
        if not known.any():  # no band without two examples of a class
            continue
        weight = count / count.sum()
        value = 100 * float(np.nansum(weight * means[:, i]))
        widest = np.where(known, errors[:, i], np.nanmax(errors[:, i]))
        reach = 100 * NORMAL * float(weight @ widest)
        found.append(
            {
                "x": round((i + 0.5) * WIDTH, 4),
                "differ": value,
                "low": max(value - reach, 0.0),
                "high": min(value + reach, 100.0),
                "count": int(count.sum()),
            }
        )
    return found


def _figure(
    found: ExplanationMeasurement,
    rows: Sequence[Mapping[str, Any]],
    n_classes: int,
    *,
    names_method: bool,
) -> Figure:
    curves = found.curves
    whose = "a class" if curves is None or n_classes != 2 else quoted(curves.classes[0])
    noise = None if found.noise is None else found.noise[TOP_WORDS].value
    by_class = [] if n_classes == 2 else [COUNTED_BY_CLASS]
    return Figure(
        name=f"top_words_{found.method}",
        section="Reasons",
        title="Top words by confidence" + (f": {named(found.method)}" if names_method else ""),
        takeaway=_takeaway(rows, n_classes),
        reading=[BINS, *by_class],
        rows=rows,
        facts={
            "x": f"mean probability of {whose}, over runs (ten bins)",
            "y": "% of the top words that differ",
            "value": "differ",
            "format": ".1f",
            "ticks": "d",
            "floor": None if noise is None else 100 * noise,
        },
        legend=[]
        if noise is None
        else [
            ("line", "accent", "between two runs"),
            DRAWN_TWICE,
        ],
        header=("mean probability", "differ, %", "95 % over examples", "examples"),
        numbers=[
            (
                f"{r['x'] - WIDTH / 2:.1f}–{r['x'] + WIDTH / 2:.1f}",
                f"{r['differ']:.1f}",
                f"{r['low']:.1f}–{r['high']:.1f}",
                f"{r['count']:,}",
            )
            for r in rows
        ],
        kind="top_words",
        alone={
            "title": f"Top words that differ, by confidence: {named(found.method)}",
            "legend": [
                ("line", "accent", "between two runs"),
                ("band", "accent-soft", "95 % over examples"),
                *([] if noise is None else [DRAWN_TWICE]),
            ],
        },
    )


def _takeaway(rows: Sequence[Mapping[str, Any]], n_classes: int) -> Message:
    """What sure and doubtful examples have in common, or not, as far as their bands tell."""
    # Of three classes one may be out of the question while runs waver between the others.
    sure = [row for row in rows if row["x"] > 0.9 or (n_classes == 2 and row["x"] < 0.1)]
    doubtful = [row for row in rows if 0.2 < row["x"] < 0.8]
    if sure and doubtful:
        fields = {"sure": _mean(sure), "doubtful": _mean(doubtful)}
        is_far = min(row["low"] for row in sure) > fields["doubtful"] / 2
        if max(row["high"] for row in sure) < min(row["low"] for row in doubtful):
            if is_far:
                return Message(
                    "steadier-but-not-steady-where-sure",
                    f"Reasons are steadier where runs are sure, but not steady: {AGAINST}.",
                    **fields,
                )
            return Message(
                "steadier-where-sure",
                f"Reasons are steadier where runs are sure: {AGAINST}.",
                **fields,
            )
        if is_far:
            return Message(
                "not-steady-where-sure",
                f"A sure answer does not mean a steady reason: {AGAINST}.",
                **fields,
            )
    peak = max(rows, key=lambda row: row["differ"])
    return Message(
        "top-words-differ-most",
        "Near {probability:.2f}, {differ:.0f}\N{NO-BREAK SPACE}% of the top words differ.",
        probability=peak["x"],
        differ=peak["differ"],
    )


def _mean(rows: Sequence[Mapping[str, Any]]) -> float:
    """Mean over the examples of several bins."""
    counts = np.array([row["count"] for row in rows], dtype=np.float64)
    return float(counts @ np.array([row["differ"] for row in rows]) / counts.sum())
