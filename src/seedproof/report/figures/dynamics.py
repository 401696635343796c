"""One run against many, and one run over its steps."""

from typing import Any

import numpy as np

from seedproof.measurement.dynamics.pictures import N_CELLS, EntropyMap
from seedproof.measurement.dynamics.result import DynamicsMeasurement
from seedproof.messages import Message
from seedproof.report.figures.base import Figure
from seedproof.stats.intervals import NORMAL

# A table of more steps helps nobody.
MAX_STEPS = 24
# Share of its last value from which on a curve counts as level.
LEVEL = 0.95


def one_run_map(found: DynamicsMeasurement) -> tuple[Figure, ...]:
    """Entropy over the other runs by entropy within one: counts in cells, and the mean."""
    drawn = found.entropy_map
    if drawn is None:
        return ()
    line = _line(drawn)
    width = drawn.within_top / N_CELLS
    return (
        Figure(
            name="one_run_map",
            section="Dynamics",
            title="Entropy over the other runs, by entropy within one run",
            takeaway=_steeper(line),
            reading=_reading(found),
            rows=[*_cells(drawn), *line],
            facts={
                "x": "label entropy within one run, over its steps (nats)",
                "y": f"over {found.n_others} other runs",
                "x_top": drawn.within_top,
                "y_top": drawn.over_top,
            },
            legend=[
                ("band", "r3", "examples"),
                ("line", "alert-mark", "mean over the other runs"),
            ],
            header=("within one run", "over the others, mean", "95 % over examples", "examples"),
            numbers=[
                (
                    f"{row['x'] - width / 2:.2f}–{row['x'] + width / 2:.2f}",
                    f"{row['mean']:.3f}",
                    "–" if row["low"] is None else f"{row['low']:.3f}–{row['high']:.3f}",
                    f"{row['count'] / len(found.runs):,.1f}",
                )
                for row in line
            ],
        ),
    )


def _cells(drawn: EntropyMap) -> list[dict[str, Any]]:
    width, height = drawn.within_top / N_CELLS, drawn.over_top / N_CELLS
    top = max(float(drawn.counts.max()), 2.0)
    return [
        {
            "kind": "cell",
            "x": column * width,
            "x2": (column + 1) * width,
            "y": row * height,
            "y2": (row + 1) * height,
            "count": int(drawn.counts[row, column]),
            # Six shades, by the logarithm of the count.
            "step": round(5 * float(np.log(drawn.counts[row, column]) / np.log(top))),
        }
        for row, column in np.argwhere(drawn.counts > 0)
    ]


def _line(drawn: EntropyMap) -> list[dict[str, Any]]:
    width, found = drawn.within_top / N_CELLS, []
    for i, count in enumerate(drawn.counts.sum(axis=0)):
        if count == 0:
            continue
        mean, reach = float(drawn.means[i]), NORMAL * float(drawn.errors[i])
        is_known = not np.isnan(reach)
        found.append(
            {
                "kind": "mean",
                "x": (i + 0.5) * width,
                "mean": mean,
                "low": max(mean - reach, 0.0) if is_known else None,
                "high": mean + reach if is_known else None,
                "count": int(count),
            }
        )
    return found


def _reading(found: DynamicsMeasurement) -> list[Message]:
    reading = [
        Message(
            "counts-by-color",
            "Stronger color: more examples, on a logarithmic scale. Bars: 95 % over examples.",
        )
    ]
    if len(found.runs) > 1:
        reading.append(Message("counted-by-run", "An example counts once for each traced run."))
    return reading


def _steeper(line: list[dict[str, Any]]) -> Message:
    """Where a run wavers least and most, of the columns whose mean is known well enough."""
    known = [row for row in line if row["low"] is not None]
    if len(known) < 2:
        return Message("too-few-examples", "Too few examples to say how the two go together.")
    first, last = known[0], known[-1]
    words = (
        "Where a run hardly wavers the others’ entropy is {least:.2f} nats; where it wavers most, "
        "{most:.2f}"
    )
    fields = {"least": first["mean"], "most": last["mean"]}
    if first["high"] < last["low"] or last["high"] < first["low"]:
        return Message("entropy-of-others-differs", f"{words}.", **fields)
    return Message("entropy-of-others-open", f"{words}: no difference shown.", **fields)


def cumulative_entropy(found: DynamicsMeasurement) -> tuple[Figure, ...]:
    """Mean entropy of the labels so far, over the steps."""
    curve = found.curve
    if curve is None:
        return ()
    rows = [
        {"step": float(step), "mean": float(mean), "low": float(low), "high": float(high)}
        for step, mean, low, high in zip(
            curve.steps, curve.mean, curve.low, curve.high, strict=True
        )
    ]
    chosen = sorted({int(i) for i in np.linspace(0, len(rows) - 1, min(len(rows), MAX_STEPS))})
    return (
        Figure(
            name="cumulative_entropy",
            section="Dynamics",
            title="Label entropy so far, over the steps",
            takeaway=_takeaway(rows),
            reading=[
                Message(
                    "mean-over-runs",
                    "Mean over examples and traced runs; shaded: the runs between which it lies.",
                )
                if len(found.runs) > 1
                else Message("mean-over-examples", "Mean over examples.")
            ],
            rows=rows,
            facts={"x": "updates of the recorder", "y": "mean label entropy (nats)"},
            header=("updates", "mean", "lowest run", "highest run"),
            numbers=[
                (
                    f"{rows[i]['step']:,.0f}",
                    f"{rows[i]['mean']:.3f}",
                    f"{rows[i]['low']:.3f}",
                    f"{rows[i]['high']:.3f}",
                )
                for i in chosen
            ],
            alone={
                "legend": [
                    ("line", "accent", "mean"),
                    *([("band", "accent-soft", "lowest to highest run")] * (len(found.runs) > 1)),
                ]
            },
        ),
    )


def _takeaway(rows: list[dict[str, Any]]) -> Message:
    """Where most of the wavering lies: at the start, if the entropy falls from its peak."""
    last, peak = rows[-1], max(rows, key=lambda row: row["mean"])
    if peak["mean"] > 0 and last["mean"] < LEVEL * peak["mean"]:
        return Message(
            "entropy-falls",
            "Runs waver most early on: {peak:.2f} nats after {step:,.0f} updates, {last:.2f} in "
            "the end.",
            peak=peak["mean"],
            step=peak["step"],
            last=last["mean"],
        )
    return Message(
        "entropy-at-end",
        "In the end it is {last:.2f} nats, after {step:,.0f} updates.",
        last=last["mean"],
        step=last["step"],
    )
