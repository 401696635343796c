"""What is said about a measurement, as plain data: sentences first, then rows.

Every sentence has a condition. Where it does not hold the weaker sentence is said, never a stronger
one.
"""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from seedproof.errors import ColumnError
from seedproof.measurement.intervals import Estimate
from seedproof.measurement.result import Measurement
from seedproof.metrics.card import Unit, card

NO_BREAK = "\N{NO-BREAK SPACE}"
MINUS = "\N{MINUS SIGN}"
# Fewer runs than this support no verdict on a spread.
VERDICT_RUNS = 5
N_UNSTABLE = 5


@dataclass(frozen=True)
class Row:
    """One line of the table of figures."""

    name: str
    title: str
    value: str
    interval: str
    over: str
    better: str


@dataclass(frozen=True)
class Unstable:
    """One of the examples on which runs disagree most.

    Args:
        example: Its id.
        label: Its gold class, if known.
        consensus: The class that most runs predict.
        votes: How many of the runs do, such as "6 of 10".
        shown: Further columns that were asked for, by name.
    """

    example: str
    label: str | None
    consensus: str
    votes: str
    shown: dict[str, str]


@dataclass(frozen=True)
class View:
    """A measurement in words and rows.

    Args:
        title: What was measured, in one line.
        sentences: What a person wants to know first.
        rows: Every figure.
        unstable: The examples on which runs disagree most; none if no run disagrees.
        notes: How the input was read, and what limits the figures.
    """

    title: str
    sentences: tuple[str, ...]
    rows: tuple[Row, ...]
    unstable: tuple[Unstable, ...]
    notes: tuple[str, ...]


def build_view(measurement: Measurement, *, show: Sequence[str] = ()) -> View:
    """The view of a measurement.

    Args:
        measurement: What was measured.
        show: Further columns of the user's own to show with examples, such as a text.

    Returns:
        Plain data.

    Raises:
        ColumnError: A column that is to be shown was not carried along.
    """
    for name in show:
        if name not in measurement.extras():
            known = ", ".join(map(repr, measurement.extras())) or "none"
            raise ColumnError(
                f"There is no further column {name!r} to show. Carried along: {known}."
            )
    sentences = [
        _answers(measurement),
        _accuracy(measurement),
        _confidence(measurement),
        _calibration(measurement),
    ]
    return View(
        title=_title(measurement),
        sentences=tuple(sentence for sentence in sentences if sentence),
        rows=tuple(_row(name, value) for name, value in measurement.metrics.items()),
        unstable=_unstable(measurement, show),
        notes=(*measurement.notes, *_limits(measurement)),
    )


def _title(measurement: Measurement) -> str:
    labeled = ""
    if 0 < measurement.n_labeled < measurement.n_examples:
        labeled = f" ({measurement.n_labeled:,} labeled)"
    elif not measurement.n_labeled:
        labeled = " (no labels)"
    return (
        f"{measurement.n_runs} runs · {measurement.n_examples:,} examples{labeled} · "
        f"{measurement.n_classes:,} classes"
    )


def _answers(measurement: Measurement) -> str:
    flips = measurement.metrics["flip_rate"]
    if flips.value == 0.0 and flips.high is not None:
        return (
            f"No prediction flipped between the {measurement.n_runs} runs; a true flip rate of up "
            f"to {number(flips.high, 'percent')}{NO_BREAK}% would look the same."
        )
    touched = measurement.metrics["ambiguity"].value
    return (
        f"Retraining flips {bracketed(flips, 'percent')} of the predictions; "
        f"{number(touched, 'percent')}{NO_BREAK}% of the examples are touched by at least one of "
        f"{measurement.n_runs} runs."
    )


def _accuracy(measurement: Measurement) -> str | None:
    metrics = measurement.metrics
    if "accuracy" not in metrics:
        return None
    spread, independent = metrics["accuracy_sd"], metrics["accuracy_sd_independent"]
    start = (
        f"Accuracy {number(metrics['accuracy'].value, 'percent')} ± "
        f"{number(spread.value, 'percent')} over runs"
    )
    if spread.low is None or measurement.n_runs < VERDICT_RUNS:
        return f"{start}; {measurement.n_runs} runs are too few to say what that spread is made of."
    start += f"; flips spread at random would give ± {number(independent.value, 'percent')}"
    if spread.low <= independent.value:
        return f"{start}; as far as {measurement.n_runs} runs can tell, there is no more than that."
    net = metrics["net_flip_rate"].value / metrics["flip_rate"].value
    if net > 0.5:
        return f"{start}: examples move together, mostly because {_drift(measurement)}."
    return f"{start}: examples move together, because some runs are better than others."


def _drift(measurement: Measurement) -> str:
    """Which class is predicted more by some runs than by others."""
    shares = measurement.detail["class_shares"]
    moved = int(np.argmax(np.ptp(shares, axis=0)))
    if measurement.n_classes == 2:
        moved = 1
    low, high = float(shares[:, moved].min()), float(shares[:, moved].max())
    return (
        f"the share of {measurement.classes[moved]!r} predictions drifts from {_short(low)} to "
        f"{_short(high)}"
    )


def _confidence(measurement: Measurement) -> str | None:
    if "probability_sd" not in measurement.metrics:
        return None
    followed = "right answer" if measurement.n_labeled else "answer most runs give"
    spread = bracketed(measurement.metrics["probability_sd"], "probability")
    return f"The probability of the {followed} moves by {spread} between runs (standard deviation)."


def _calibration(measurement: Measurement) -> str | None:
    if "ece" not in measurement.metrics:
        return None
    by_run = measurement.detail["ece_by_run"]
    low, high = number(float(by_run.min()), "percent"), number(float(by_run.max()), "percent")
    return (
        f"One run shows a calibration error anywhere from {low} to {high}{NO_BREAK}%; "
        f"their mean is {bracketed(measurement.metrics['ece'], 'percent')}."
    )


def _limits(measurement: Measurement) -> list[str]:
    limits = []
    if measurement.n_runs == 2:
        limits.append(
            "With two runs intervals are over examples only: another pair may differ more."
        )
    elif measurement.n_runs < VERDICT_RUNS:
        limits.append(f"{measurement.n_runs} runs say little; make at least 8 for verdicts.")
    if not measurement.n_labeled:
        limits.append("No labels were given, so accuracy and calibration are left out.")
    if measurement.kind != "probs":
        limits.append("No probabilities were given, so confidence and calibration are left out.")
    return limits


def _unstable(measurement: Measurement, show: Sequence[str]) -> tuple[Unstable, ...]:
    first = measurement.worst.slice(0, N_UNSTABLE).to_pylist()
    found = [row for row in first if row["flip_rate"] > 0]
    return tuple(
        Unstable(
            example=str(row["example"]),
            label=row.get("label"),
            consensus=row["consensus"],
            votes=f"{round(row['consensus_share'] * measurement.n_runs)} of {measurement.n_runs}",
            shown={name: str(row[name]) for name in show},
        )
        for row in found
    )


def _row(name: str, value: Estimate) -> Row:
    about = card(name)
    interval = ""
    if value.low is not None and value.high is not None:
        interval = f"[{number(value.low, about.unit)}, {number(value.high, about.unit)}]"
    return Row(
        name=name,
        title=about.title,
        value=number(value.value, about.unit) + _sign(about.unit),
        interval=interval,
        over=value.over or "",
        better=about.better,
    )


def bracketed(value: Estimate, unit: Unit) -> str:
    """A value with its unit and interval, such as "9.0 % [5.7, 14.0]"."""
    text = number(value.value, unit) + _sign(unit)
    if value.low is None or value.high is None:
        return text
    return f"{text} [{number(value.low, unit)}, {number(value.high, unit)}]"


def number(value: float, unit: Unit) -> str:
    """A value in its unit, with as many digits as its size needs."""
    scaled = 100 * value if unit in {"percent", "points"} else value
    digits = {"percent": 1, "points": 2, "probability": 3, "nats": 3, "score": 3}[unit]
    is_tiny = 0 < abs(scaled) < 10**-digits
    text = f"{scaled:.1g}" if is_tiny else f"{scaled:.{digits}f}"
    return text.replace("-", MINUS, 1) if text.startswith("-") else text


def _sign(unit: Unit) -> str:
    return f"{NO_BREAK}%" if unit == "percent" else ""


def _short(share: float) -> str:
    return f"{share:.2f}".removeprefix("0")
