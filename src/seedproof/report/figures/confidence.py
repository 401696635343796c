"""Charts of confidence and calibration, over runs and over the steps of a run."""

from typing import Any

import numpy as np

from seedproof.measurement.dynamics import N_CELLS, DynamicsMeasurement
from seedproof.measurement.result import Measurement
from seedproof.messages import Message, Sentences
from seedproof.metrics.confidence import AGREEMENTS, LARGEST_SD
from seedproof.metrics.entropy import HIGH_ENTROPY
from seedproof.report.figures.base import (
    BIN_WIDTH,
    BINS,
    MAX_NAMED_RUNS,
    Figure,
    bin_numbers,
    drawn,
    drawn_runs,
    quoted,
)
from seedproof.report.numbers import NO_BREAK
from seedproof.report.sentences import followed
from seedproof.stats.intervals import NORMAL
from seedproof.typing import IntArray

# With more examples, the map counts them in a grid.
MAX_POINTS = 2500
# Shares of fewer examples reflect chance more than the run.
MIN_BIN = 10
_SHARE_RIGHT = (
    f"Answers with a confidence of {{confidence:.2f}} are right in {{low:.0f}} to {{high:.0f}}"
    f"{NO_BREAK}% of the cases"
)
_BY_CHANCE = (
    "with {n_examples:,} examples, chance alone spreads 95 of 100 runs over {chance:.0f} points"
)
SENTENCES = {
    "decided-by-seed": "Examples at the top vary most between runs.",
    "wrong-to-right": "Left: mostly wrong; right: mostly right.",
    "sure-to-split": "Right: every run is confident; further left and up: runs differ.",
    "counts-by-shade": "Darker cells hold more examples, on a logarithmic scale.",
    "largest-spread": "Near {probability:.2f}, the probability varies by ± {sd:.2f} between runs.",
    "bins-left-out": "Bins with fewer than {at_least} examples of a run are left out.",
    "share-right-within-chance": f"{_SHARE_RIGHT}, no more than by chance: {_BY_CHANCE}.",
    "share-right-by-run": f"{_SHARE_RIGHT}, depending on the run; {_BY_CHANCE}.",
    "calibration-error-by-run": f"From {{lowest:.1f}}{NO_BREAK}% (run {{best}}) to {{highest:.1f}}"
    f"{NO_BREAK}% (run {{worst}}).",
    "mean-tick": "The tall tick is the mean. These values include what chance adds on few "
    "examples.",
    "low-confidence": "On {n_low:,} of {n_examples:,} examples the right answer gets less than "
    "half of the probability, on average over the steps.",
    "counts-by-color": "Stronger color: more examples, on a logarithmic scale. Left: hard to "
    "learn; right: easy; top: ambiguous.",
}
_say = Sentences(SENTENCES)


def confidence_map(measurement: Measurement) -> Figure:
    """Return mean against spread of a probability: a point per example, or counts if many."""
    is_small = measurement.n_examples <= MAX_POINTS
    reading = [_say("wrong-to-right" if measurement.n_labeled else "sure-to-split")]
    return Figure(
        name="confidence_map",
        section="Confidence",
        title="Confidence and variability, "
        + ("one point per example" if is_small else "counts per cell"),
        takeaway=_say("decided-by-seed"),
        reading=reading if is_small else [*reading, _say("counts-by-shade")],
        rows=_points(measurement) if is_small else _group_cells(measurement),
        facts={
            "x": f"mean probability of {followed(measurement)}, over {measurement.n_runs} runs",
            "y": "standard deviation over runs",
        },
        legend=[
            ("dot", "quiet", "all runs agree"),
            ("dot", "accent", "some differ"),
            ("diamond", "alert-mark", f"label entropy above {HIGH_ENTROPY}"),
        ],
        kind="confidence_points" if is_small else "confidence_cells",
    )


def _points(measurement: Measurement) -> list[dict[str, Any]]:
    names = ["example", "probability_mean", "probability_sd", "flip_rate", "label_entropy"]
    return [
        {
            "example": drawn(str(row["example"])),
            "mean": round(row["probability_mean"], 4),
            "sd": round(row["probability_sd"], 4),
            "group": AGREEMENTS[int(row["flip_rate"] > 0) + (row["label_entropy"] > HIGH_ENTROPY)],
        }
        for row in measurement.example_table.read(names).to_pylist()
    ]


def _group_cells(measurement: Measurement) -> list[dict[str, Any]]:
    """Return cells in the color of their largest group."""
    counts = measurement.detail["confidence_map"]
    leading = counts.argmax(axis=0).T
    return [
        cell | {"strength": round(0.25 + 0.75 * share, 3), "group": AGREEMENTS[leading[place]]}
        for place, cell, share in _cells(counts.sum(axis=0).T, LARGEST_SD)
    ]


def _cells(counts: IntArray, top: float) -> list[tuple[tuple[int, int], dict[str, Any], float]]:
    """Return the cells of a map that are not empty, and their count on a log scale up to 1."""
    n_columns, n_rows = counts.shape
    log_largest = np.log(max(float(counts.max()), 2.0))
    return [
        (
            (column, row),
            {
                "x": column / n_columns,
                "x2": (column + 1) / n_columns,
                "y": row * top / n_rows,
                "y2": (row + 1) * top / n_rows,
                "count": int(counts[column, row]),
            },
            float(np.log(counts[column, row]) / log_largest),
        )
        for column, row in np.argwhere(counts > 0)
    ]


def sd_by_confidence(measurement: Measurement) -> Figure:
    """Return the spread of the probability in ten bins of its mean, with a band over examples."""
    count = measurement.detail["sd_curve_count"]
    mean, error = measurement.detail["sd_curve_mean"], measurement.detail["sd_curve_error"]
    rows = [
        {
            "x": round((i + 0.5) * BIN_WIDTH, 4),
            "sd": float(mean[i]),
            "low": max(float(mean[i] - NORMAL * error[i]), 0.0),
            "high": float(mean[i] + NORMAL * error[i]),
            "count": int(count[i]),
        }
        for i in np.flatnonzero(count)
    ]
    peak = max(rows, key=lambda row: row["sd"])
    is_binary = measurement.n_classes == 2
    whose = quoted(measurement.classes[1]) if is_binary else followed(measurement)
    return Figure(
        name="sd_by_confidence",
        section="Confidence",
        title="Spread by confidence",
        takeaway=_say("largest-spread", probability=peak["x"], sd=peak["sd"]),
        reading=[BINS],
        rows=rows,
        facts={
            "x": f"mean probability of {whose}, over runs (ten bins)",
            "y": "sd of the probability",
            "value": "sd",
            "format": ".3f",
            "ticks": "~g",
        },
        header=("mean probability", "sd", "95 % over examples", "examples"),
        numbers=bin_numbers(rows, "sd", digits=3),
        alone={
            "title": "Spread of the probability by confidence",
            "legend": [("line", "accent", "mean"), ("band", "accent-soft", "95 % over examples")],
        },
    )


def reliability(measurement: Measurement) -> list[Figure]:
    """Return the share of right answers by confidence, also per predicted class if there are few.

    A class has a chart if a bin holds enough examples of two runs.
    """
    figures = []
    for start in ("reliability", "reliability_by_answer"):
        counts = measurement.detail.get(f"{start}_count")
        if counts is not None:
            is_enough = (counts >= MIN_BIN).sum(axis=0) >= 2
            figures += [
                _reliability(measurement, start, int(group), np.flatnonzero(is_enough[group]))
                for group in np.flatnonzero(is_enough.any(axis=1))
            ]
    return figures


def _reliability(measurement: Measurement, start: str, group: int, bins: IntArray) -> Figure:
    count, right, confidence = (
        measurement.detail[f"{start}_{name}"][:, group] for name in ("count", "right", "confidence")
    )
    is_by_answer = measurement.detail[f"{start}_count"].shape[1] > 1
    # Lines of single runs in many charts would make a large page.
    is_one_of_many = is_by_answer and measurement.n_classes > 2
    has_lines = measurement.n_runs <= MAX_NAMED_RUNS and not is_one_of_many
    names = drawn_runs(measurement)
    rows: list[dict[str, Any]] = []
    for i in bins:
        enough = np.flatnonzero(count[:, i] >= MIN_BIN)
        shares = right[enough, i] / count[enough, i]
        n_all = count[enough, i].sum()
        x = round(float(confidence[enough, i].sum() / n_all), 4)
        rows.append(
            {
                "kind": "all",
                "x": x,
                "right": round(float(right[enough, i].sum() / n_all), 4),
                "low": round(float(shares.min()), 4),
                "high": round(float(shares.max()), 4),
                "count": int(count[:, i].mean()),
            }
        )
        if has_lines:
            rows += [
                {"kind": "one", "run": names[run], "x": x, "right": round(float(share), 4)}
                for run, share in zip(enough, shares, strict=True)
            ]
    summary = [row for row in rows if row["kind"] == "all"]
    name, title, alone = "reliability", "Share right by confidence", "Share right by confidence"
    if is_by_answer:
        answer = f"the answer is “{drawn(measurement.classes[group])}”"
        name, title, alone = f"{name}_{group}", f"When {answer}", f"{title}, where {answer}"
    return Figure(
        name=name,
        section="Calibration",
        title=title,
        takeaway=_widest(summary),
        reading=[_say("bins-left-out", at_least=MIN_BIN)],
        rows=rows,
        facts={
            "x": "confidence in the answer",
            "y": "share right",
            "start": 1 / measurement.n_classes,
        },
        legend=[
            ("line", "accent", "all runs together"),
            *([("thin", "accent-2", "one run")] if has_lines else []),
            ("band", "accent-soft", "lowest to highest run"),
            ("dash", "ink-3", "perfectly calibrated"),
        ],
        header=("confidence", "share right", "lowest to highest run", "examples per run"),
        numbers=[
            (
                f"{row['x']:.2f}",
                f"{row['right']:.2f}",
                f"{row['low']:.2f}–{row['high']:.2f}",
                f"{row['count']:,}",
            )
            for row in summary
        ],
        alone={"title": alone},
    )


def _widest(rows: list[dict[str, Any]]) -> Message:
    """Return the bin whose runs differ most, with the spread expected by chance."""
    row = max(rows, key=lambda row: row["high"] - row["low"])
    chance = 2 * NORMAL * np.sqrt(row["right"] * (1 - row["right"]) / max(row["count"], 1))
    is_chance = row["high"] - row["low"] <= chance
    return _say(
        "share-right-within-chance" if is_chance else "share-right-by-run",
        confidence=row["x"],
        low=100 * row["low"],
        high=100 * row["high"],
        n_examples=row["count"],
        chance=100 * chance,
    )


def ece_by_run(measurement: Measurement) -> Figure:
    """Return the calibration error of each run on one line."""
    values = 100 * measurement.detail["ece_by_run"]
    rows: list[dict[str, Any]] = [
        {"run": name, "ece": round(float(value), 4)}
        for name, value in zip(drawn_runs(measurement), values, strict=True)
    ]
    low, high = int(values.argmin()), int(values.argmax())
    return Figure(
        name="ece_by_run",
        section="Calibration",
        title="Expected calibration error, one mark per run",
        takeaway=_say(
            "calibration-error-by-run",
            lowest=float(values[low]),
            best=measurement.runs[low],
            highest=float(values[high]),
            worst=measurement.runs[high],
        ),
        reading=[_say("mean-tick")],
        rows=rows,
        facts={"mean": float(values.mean()), "axis": "ECE of one run, %"},
        header=("run", "ECE, %"),
        numbers=[(row["run"], f"{row['ece']:.2f}") for row in rows],
        alone={"legend": [("dot", "accent", "one run"), ("line", "ink", "mean")]},
    )


def cartography(dynamics: DynamicsMeasurement) -> list[Figure]:
    """Return the dataset map of traced runs; nothing without gold labels or probabilities."""
    counts = dynamics.cartography
    if counts is None:
        return []
    by_confidence = counts.sum(axis=1)
    n_low, n_examples = int(by_confidence[: N_CELLS // 2].sum()), int(counts.sum())
    # Six shades, by the logarithm of the count.
    rows = [cell | {"step": round(5 * share)} for _, cell, share in _cells(counts, top=0.5)]
    return [
        Figure(
            name="cartography",
            section="Dynamics",
            title="Confidence and variability over the steps, counts per cell",
            takeaway=_say("low-confidence", n_low=n_low, n_examples=n_examples),
            reading=[_say("counts-by-color")],
            rows=rows,
            facts={
                "x": "mean probability of the right answer, over the steps",
                "y": "its standard deviation",
            },
            legend=[("band", "r3", "examples")],
            header=("confidence", "examples"),
            numbers=[
                (f"{row / N_CELLS:.2f}–{(row + 1) / N_CELLS:.2f}", f"{count:,}")
                for row, count in enumerate(by_confidence)
                if count
            ],
        )
    ]
