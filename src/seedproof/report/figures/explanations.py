"""Top words that differ between runs, by confidence: one chart per method."""

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from seedproof.measurement.explanations.curves import Curves
from seedproof.measurement.explanations.result import ExplanationMeasurement
from seedproof.measurement.result import Measurement
from seedproof.messages import Message, Sentences
from seedproof.metrics.confidence import N_BINS
from seedproof.report.explanations.sentences import TOP_WORDS, named
from seedproof.report.figures.base import BIN_WIDTH, BINS, Figure, bin_numbers, quoted
from seedproof.report.numbers import NO_BREAK
from seedproof.stats.intervals import NORMAL

_AGAINST = (
    f"{{sure:.0f}}{NO_BREAK}% of the top words differ where runs are confident, compared with "
    f"{{doubtful:.0f}}{NO_BREAK}% where they are not"
)
SENTENCES = {
    "counted-by-class": "An example counts once for each class.",
    "steadier-but-not-steady-where-sure": "Explanations are more stable where runs are confident, "
    f"but not stable: {_AGAINST}.",
    "steadier-where-sure": f"Explanations are more stable where runs are confident: {_AGAINST}.",
    "not-steady-where-sure": f"A confident answer does not imply a stable explanation: {_AGAINST}.",
    "top-words-differ-most": f"Near {{probability:.2f}}, {{differ:.0f}}{NO_BREAK}% of the top "
    "words differ.",
}
_say = Sentences(SENTENCES)
BETWEEN_RUNS = ("line", "accent", "between two runs")
EXPLAINED_TWICE = ("dash", "ink-3", "same run, explained twice")


def top_words(measurement: Measurement) -> tuple[Figure, ...]:
    """Return one chart per method: the share of top words that differ, by confidence."""
    return tuple(
        _figure(explained, rows, measurement)
        for explained in measurement.explanations.values()
        if (rows := _rows(explained.curves))
    )


def _rows(curves: Curves | None) -> list[dict[str, Any]]:
    """Return percentages of all followed classes together, by bin."""
    if curves is None:
        return []
    means, errors = curves.means[TOP_WORDS], curves.errors[TOP_WORDS]
    rows = []
    for i in range(N_BINS):
        count, known = curves.counts[:, i], ~np.isnan(errors[:, i])
        if not known.any():  # no band without two examples of a class
            continue
        # An example counts once per class, so the means of classes share examples, and the
        # standard error of the whole is at most the mean of theirs.
        weight = count / count.sum()
        value = 100 * float(np.nansum(weight * means[:, i]))
        widest = np.where(known, errors[:, i], np.nanmax(errors[:, i]))
        reach = 100 * NORMAL * float(weight @ widest)
        rows.append(
            {
                "x": round((i + 0.5) * BIN_WIDTH, 4),
                "differ": value,
                "low": max(value - reach, 0.0),
                "high": min(value + reach, 100.0),
                "count": int(count.sum()),
            }
        )
    return rows


def _figure(
    explained: ExplanationMeasurement, rows: Sequence[Mapping[str, Any]], measurement: Measurement
) -> Figure:
    is_binary, method = measurement.n_classes == 2, named(explained.method)
    curves = explained.curves
    whose = quoted(curves.classes[0]) if curves is not None and is_binary else "a class"
    noise = None if explained.noise is None else 100 * explained.noise[TOP_WORDS].value
    floor = [] if noise is None else [EXPLAINED_TWICE]
    return Figure(
        name=f"top_words_{explained.method}",
        section="Explanations",
        title="Top words by confidence"
        + (f": {method}" if len(measurement.explanations) > 1 else ""),
        takeaway=_takeaway(rows, is_binary=is_binary),
        reading=[BINS] if is_binary else [BINS, _say("counted-by-class")],
        rows=rows,
        facts={
            "x": f"mean probability of {whose}, over runs (ten bins)",
            "y": "% of the top words that differ",
            "value": "differ",
            "format": ".1f",
            "ticks": "d",
            "floor": noise,
        },
        legend=[BETWEEN_RUNS, *floor] if floor else [],
        header=("mean probability", "differ, %", "95 % over examples", "examples"),
        numbers=bin_numbers(rows, "differ", digits=1),
        kind="top_words",
        alone={
            "title": f"Top words that differ, by confidence: {method}",
            "legend": [BETWEEN_RUNS, ("band", "accent-soft", "95 % over examples"), *floor],
        },
    )


def _takeaway(rows: Sequence[Mapping[str, Any]], *, is_binary: bool) -> Message:
    """Compare sure with doubtful examples, as far as their bands allow."""
    # With three classes, a class can be improbable while runs waver between the others.
    sure = [row for row in rows if row["x"] > 0.9 or (is_binary and row["x"] < 0.1)]
    doubtful = [row for row in rows if 0.2 < row["x"] < 0.8]
    if sure and doubtful:
        means = {"sure": _mean(sure), "doubtful": _mean(doubtful)}
        is_far = min(row["low"] for row in sure) > means["doubtful"] / 2
        if max(row["high"] for row in sure) < min(row["low"] for row in doubtful):
            code = "steadier-but-not-steady-where-sure" if is_far else "steadier-where-sure"
            return _say(code, **means)
        if is_far:
            return _say("not-steady-where-sure", **means)
    peak = max(rows, key=lambda row: row["differ"])
    return _say("top-words-differ-most", probability=peak["x"], differ=peak["differ"])


def _mean(rows: Sequence[Mapping[str, Any]]) -> float:
    """Return the mean over the examples of several bins."""
    values, counts = ([row[name] for row in rows] for name in ("differ", "count"))
    return float(np.average(values, weights=counts))
