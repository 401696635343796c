"""What is said about a measurement. Every sentence has a condition.

Where it does not hold the weaker sentence is said, never a blank, never a stronger one.
"""

from dataclasses import dataclass

import numpy as np

from seedproof.measurement.result import Measurement
from seedproof.report.dynamics import words as dynamics
from seedproof.report.numbers import NO_BREAK, bracketed, number, short
from seedproof.report.reasons import words as reasons
from seedproof.typing import FloatArray

# Fewer runs than this support no verdict on a spread.
VERDICT_RUNS = 5
ENOUGH_RUNS = 8
ONLY_TOP = (
    "Only the most probable classes were kept: flips, entropy, accuracy and calibration errors are "
    "exact, probability_sd within probability_sd_error; divergences and scores are left out."
)


@dataclass(frozen=True)
class Sentence:
    """One line of thought, under the topic that it is about."""

    topic: str
    text: str


def title(measurement: Measurement) -> str:
    """What was measured, in one line."""
    labeled = ""
    if 0 < measurement.n_labeled < measurement.n_examples:
        labeled = f" ({measurement.n_labeled:,} labeled)"
    elif not measurement.n_labeled:
        labeled = " (no labels)"
    return (
        f"{measurement.n_runs} runs · {measurement.n_examples:,} examples{labeled} · "
        f"{measurement.n_classes:,} classes"
    )


def headline(measurement: Measurement) -> str:
    """The verdict on the answers, as sharp as its interval allows."""
    flips = measurement.metrics["flip_rate"]
    if flips.low is None or flips.high is None or flips.value == 0.0:
        return "No answer changed with the seed."
    per = 100
    while per * flips.value < 1:
        per *= 10
    if flips.high - flips.low <= 2 * flips.value:
        return f"Another seed changes about {round(per * flips.value)} in {per:,} answers."
    low, high = round(per * flips.low), round(per * flips.high)
    return f"Another seed changes between {low} and {high} in {per:,} answers."


def sentences(measurement: Measurement) -> tuple[Sentence, ...]:
    """What a person wants to know first."""
    found = {
        "Answers": _answers(measurement),
        "Accuracy": _accuracy(measurement),
        "Confidence": _confidence(measurement),
        "Calibration": _calibration(measurement),
        "Reasons": reasons.sentence(measurement.explanations, measurement.n_examples),
        "Dynamics": dynamics.sentence(measurement.dynamics),
    }
    return tuple(Sentence(topic, text) for topic, text in found.items() if text is not None)


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
    n_runs = measurement.n_runs
    if spread.value == 0.0:
        return f"{start}: all {n_runs} runs are right equally often."
    if spread.low is None or n_runs < VERDICT_RUNS:
        return f"{start}; {n_runs} runs are too few to say what that spread is made of."
    chance = f"flips spread at random would give ± {number(independent.value, 'percent')}"
    cause = spread_cause(measurement)
    if cause is None:
        return f"{start}; {chance}, and {n_runs} runs do not show more than that."
    why = {
        "drift": "mostly because " + _drifts(measurement),
        "both": "and " + _drifts(measurement),
        "runs": "that is, some runs are better than others",
    }[cause]
    return f"{start}; {chance}: examples move together, {why}."


def on_accuracy(measurement: Measurement) -> tuple[str, ...]:
    """What to think of the accuracies of the runs, in short paragraphs."""
    metrics, by_run = measurement.metrics, measurement.detail["accuracy_by_run"]
    spread, independent = metrics["accuracy_sd"], metrics["accuracy_sd_independent"]
    chance = number(independent.value, "points")
    expected = (
        "If every example flipped on its own, luck would nearly cancel out over "
        f"{measurement.n_labeled:,} examples: accuracies would differ by ±{NO_BREAK}{chance}. "
        f"They differ by ±{NO_BREAK}{bracketed(spread, 'points')}."
    )
    found = [expected]
    if spread_cause(measurement) == "drift":
        found.append(f"Most of that is a moving decision: {_drifts(measurement)}.")
    best, worst = (number(float(x), "percent") for x in (by_run.max(), by_run.min()))
    found.append(
        f"Reporting the best of {measurement.n_runs} runs would have claimed {best}{NO_BREAK}%; "
        f"an unlucky single run, {worst}{NO_BREAK}%."
    )
    if spread.low is not None and spread.high is not None:
        low, high = spread.low / spread.value, spread.high / spread.value
        found.append(
            f"With {measurement.n_runs} runs, the true spread may be {low:.2f} to {high:.2f} times "
            "this."
        )
    return tuple(found)


def spread_cause(measurement: Measurement) -> str | None:
    """What makes accuracies differ beyond chance.

    Args:
        measurement: What was measured, with labels.

    Returns:
        "drift" if most flips are net flips of the class shares, and the shares explain most of the
        accuracies' variance; "both" if they do not; "runs" if flips mostly cancel out; None if the
        interval of the spread does not exclude chance, or the runs are too few.
    """
    metrics = measurement.metrics
    spread = metrics["accuracy_sd"]
    if spread.low is None or measurement.n_runs < VERDICT_RUNS:
        return None
    chance = metrics["accuracy_sd_independent"]
    if spread.low <= (chance.value if chance.high is None else chance.high):
        return None
    if metrics["net_flip_rate"].value <= metrics["flip_rate"].value / 2:
        return "runs"
    return "drift" if _explained_by_shares(measurement) > 0.5 else "both"


def _explained_by_shares(measurement: Measurement) -> float:
    """Share of the accuracies' variance that a parabola in the drifting class share explains.

    A parabola, because a threshold loses on both sides of its optimum. Adjusted for its two
    parameters.
    """
    accuracy, shares = measurement.detail["accuracy_by_run"], measurement.detail["drift_shares"]
    share = shares[:, 0] - shares[:, 0].mean()
    design = np.stack([np.ones_like(share), share, share**2], axis=1)
    rest = accuracy - design @ np.linalg.lstsq(design, accuracy, rcond=None)[0]
    n_free = max(measurement.n_runs - 3, 1)
    return 1 - float(rest @ rest) / n_free / float(accuracy.var(ddof=1))


def drift(measurement: Measurement) -> tuple[str, FloatArray]:
    """The class whose share of the predictions moves most over runs; the second of two.

    Args:
        measurement: What was measured.

    Returns:
        Its name, and its share in each run.
    """
    moving, shares = measurement.detail["drift_classes"], measurement.detail["drift_shares"]
    place = int(np.flatnonzero(moving == 1)[0]) if measurement.n_classes == 2 else 0
    return measurement.classes[int(moving[place])], shares[:, place]


def _drifts(measurement: Measurement) -> str:
    """Which class is predicted more by some runs than by others."""
    name, shares = drift(measurement)
    low, high = short(float(shares.min())), short(float(shares.max()))
    return f"the share of {name!r} predictions drifts from {low} to {high}"


def _confidence(measurement: Measurement) -> str | None:
    if "probability_sd" not in measurement.metrics:
        return None
    spread = bracketed(measurement.metrics["probability_sd"], "probability")
    return (
        f"The probability of {followed(measurement)} moves by {spread} between runs "
        "(standard deviation)."
    )


def _calibration(measurement: Measurement) -> str | None:
    if "ece" not in measurement.metrics:
        return None
    by_run = measurement.detail["ece_by_run"]
    low, high = number(float(by_run.min()), "percent"), number(float(by_run.max()), "percent")
    if low == high:
        return f"Every run shows a calibration error of {low}{NO_BREAK}%."
    return (
        f"One run shows a calibration error anywhere from {low} to {high}{NO_BREAK}%; "
        f"their mean is {bracketed(measurement.metrics['ece'], 'percent')}."
    )


def followed(measurement: Measurement) -> str:
    """Whose probability is followed over runs: the gold class where it is known."""
    if measurement.n_labeled == measurement.n_examples:
        return "the right answer"
    if measurement.n_labeled:
        return "the right answer (the consensus where it is unknown)"
    return "the answer most runs give"


def limits(measurement: Measurement) -> tuple[str, ...]:
    """What these runs cannot tell."""
    found = []
    if measurement.n_runs == 2:
        found.append(
            "With two runs intervals are over examples only: another pair may differ more."
        )
    elif measurement.n_runs < ENOUGH_RUNS:
        found.append(
            f"{measurement.n_runs} runs say little; make at least {ENOUGH_RUNS} for verdicts."
        )
    if not measurement.n_labeled:
        found.append("No labels were given, so accuracy and calibration are left out.")
    match measurement.kind:
        case "labels":
            found.append("No probabilities were given, so confidence and calibration are left out.")
        case "top":
            found.append(ONLY_TOP)
    return tuple(found)
