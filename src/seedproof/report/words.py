"""What is said about a measurement. Every sentence has a condition.

Where it does not hold the weaker sentence is said, never a blank, never a stronger one.
"""

from dataclasses import dataclass

import numpy as np

from seedproof.measurement.result import Measurement
from seedproof.messages import Message
from seedproof.report import dynamics
from seedproof.report.explanations import words as reasons
from seedproof.report.numbers import PercentText, WithInterval, WithUnit
from seedproof.typing import FloatArray

# Fewer runs than this support no verdict on a spread.
VERDICT_RUNS = 5
ENOUGH_RUNS = 8
ONLY_TOP = Message(
    "only-top-classes",
    "Only the most probable classes were kept: flips, entropy, accuracy and calibration errors are "
    "exact, probability_sd within probability_sd_error; divergences and scores are left out.",
)
NO_LABELS = Message("no-labels", "No labels were given, so accuracy and calibration are left out.")
NO_PROBABILITIES = Message(
    "no-probabilities",
    "No probabilities were given, so confidence and calibration are left out.",
)


@dataclass(frozen=True)
class Sentence:
    """One line of thought, under the topic that it is about.

    Args:
        topic: Its topic.
        messages: What is said of it, in one or several sentences.
    """

    topic: str
    messages: tuple[Message, ...]

    @property
    def text(self) -> str:
        """The words."""
        return " ".join(map(str, self.messages))


def title(measurement: Measurement) -> Message:
    """What was measured, in one line."""
    labeled: Message | str = ""
    if 0 < measurement.n_labeled < measurement.n_examples:
        labeled = Message(
            "some-labels", " ({n_labeled:,} labeled)", n_labeled=measurement.n_labeled
        )
    elif not measurement.n_labeled:
        labeled = Message("no-labels", " (no labels)")
    return Message(
        "measured",
        "{n_runs} runs · {n_examples:,} examples{labeled} · {n_classes:,} classes",
        n_runs=measurement.n_runs,
        n_examples=measurement.n_examples,
        labeled=labeled,
        n_classes=measurement.n_classes,
    )


def headline(measurement: Measurement) -> Message:
    """The verdict on the answers, as sharp as its interval allows."""
    flips = measurement.metrics["flip_rate"]
    if flips.low is None or flips.high is None or flips.value == 0.0:
        return Message("no-answer-changed", "No answer changed with the seed.")
    per = 100
    while per * flips.value < 1:
        per *= 10
    if flips.high - flips.low <= 2 * flips.value:
        return Message(
            "answers-changed",
            "Another seed changes about {n_changed} in {per:,} answers.",
            n_changed=round(per * flips.value),
            per=per,
        )
    return Message(
        "answers-changed-roughly",
        "Another seed changes between {low} and {high} in {per:,} answers.",
        low=round(per * flips.low),
        high=round(per * flips.high),
        per=per,
    )


def sentences(measurement: Measurement) -> tuple[Sentence, ...]:
    """What a person wants to know first."""
    by_topic = {
        "Answers": _answers(measurement),
        "Accuracy": _accuracy(measurement),
        "Confidence": _confidence(measurement),
        "Calibration": _calibration(measurement),
        "Reasons": reasons.sentences(measurement.explanations, measurement.n_examples),
        "Dynamics": dynamics.sentences(measurement.dynamics),
    }
    return tuple(Sentence(topic, messages) for topic, messages in by_topic.items() if messages)


def _answers(measurement: Measurement) -> tuple[Message, ...]:
    flips = measurement.metrics["flip_rate"]
    if flips.value == 0.0 and flips.high is not None:
        return (
            Message(
                "no-prediction-flipped",
                "No prediction flipped between the {n_runs} runs; a true flip rate of up to "
                "{at_most} would look the same.",
                n_runs=measurement.n_runs,
                at_most=WithUnit(flips.high, "percent"),
            ),
        )
    return (
        Message(
            "predictions-flipped",
            "Retraining flips {flip_rate} of the predictions; {ambiguity} of the examples are "
            "touched by at least one of {n_runs} runs.",
            flip_rate=WithInterval(flips, "percent"),
            ambiguity=WithUnit(measurement.metrics["ambiguity"].value, "percent"),
            n_runs=measurement.n_runs,
        ),
    )


# What is said of the spread of accuracies, by the code of the sentence.
SPREAD = {
    "accuracies-equal": ": all {n_runs} runs are right equally often.",
    "accuracy-spread-of-few-runs": (
        "; {n_runs} runs are too few to say what that spread is made of."
    ),
    "accuracy-spread-within-chance": (
        "; flips spread at random would give ± {chance:bare}, and {n_runs} runs do not show more "
        "than that."
    ),
    "accuracy-spread-from-drift": (
        "; flips spread at random would give ± {chance:bare}: examples move together, mostly "
        "because {drift}."
    ),
    "accuracy-spread-from-drift-and-runs": (
        "; flips spread at random would give ± {chance:bare}: examples move together, and {drift}."
    ),
    "accuracy-spread-from-runs": (
        "; flips spread at random would give ± {chance:bare}: examples move together, that is, "
        "some runs are better than others."
    ),
}
BY_CAUSE = {
    None: "accuracy-spread-within-chance",
    "drift": "accuracy-spread-from-drift",
    "both": "accuracy-spread-from-drift-and-runs",
    "runs": "accuracy-spread-from-runs",
}


def _accuracy(measurement: Measurement) -> tuple[Message, ...]:
    metrics = measurement.metrics
    if "accuracy" not in metrics:
        return ()
    spread = metrics["accuracy_sd"]
    fields: dict[str, object] = {
        "accuracy": WithUnit(metrics["accuracy"].value, "percent"),
        "spread": WithUnit(spread.value, "percent"),
        "n_runs": measurement.n_runs,
    }
    if spread.value == 0.0:
        code = "accuracies-equal"
    elif spread.low is None or measurement.n_runs < VERDICT_RUNS:
        code = "accuracy-spread-of-few-runs"
    else:
        cause = spread_cause(measurement)
        code = BY_CAUSE[cause]
        fields["chance"] = WithUnit(metrics["accuracy_sd_independent"].value, "percent")
        if cause in {"drift", "both"}:
            fields["drift"] = _drifts(measurement)
    start = "Accuracy {accuracy:bare} ± {spread:bare} over runs"
    return (Message(code, start + SPREAD[code], **fields),)


def on_accuracy(measurement: Measurement) -> tuple[Message, ...]:
    """What to think of the accuracies of the runs, in short paragraphs."""
    metrics, by_run = measurement.metrics, measurement.detail["accuracy_by_run"]
    spread = metrics["accuracy_sd"]
    paragraphs = [
        Message(
            "accuracies-against-chance",
            "If every example flipped on its own, luck would nearly cancel out over "
            "{n_labeled:,} examples: accuracies would differ by ±\N{NO-BREAK SPACE}{chance:bare}. "
            "They differ by ±\N{NO-BREAK SPACE}{spread}.",
            n_labeled=measurement.n_labeled,
            chance=WithUnit(metrics["accuracy_sd_independent"].value, "points"),
            spread=WithInterval(spread, "points"),
        )
    ]
    if spread_cause(measurement) == "drift":
        paragraphs.append(
            Message(
                "accuracies-moved-by-drift",
                "Most of that is a moving decision: {drift}.",
                drift=_drifts(measurement),
            )
        )
    paragraphs.append(
        Message(
            "best-and-worst-run",
            "Reporting the best of {n_runs} runs would have claimed {best}; an unlucky single run, "
            "{worst}.",
            n_runs=measurement.n_runs,
            best=WithUnit(float(by_run.max()), "percent"),
            worst=WithUnit(float(by_run.min()), "percent"),
        )
    )
    if spread.low is not None and spread.high is not None:
        paragraphs.append(
            Message(
                "true-spread",
                "With {n_runs} runs, the true spread may be {low:.2f} to {high:.2f} times this.",
                n_runs=measurement.n_runs,
                low=spread.low / spread.value,
                high=spread.high / spread.value,
            )
        )
    return tuple(paragraphs)


def spread_cause(measurement: Measurement) -> str | None:
    """What makes accuracies differ beyond chance.

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
    """The class whose share of the predictions moves most over runs; the second of two."""
    moving, shares = measurement.detail["drift_classes"], measurement.detail["drift_shares"]
    place = int(np.flatnonzero(moving == 1)[0]) if measurement.n_classes == 2 else 0
    return measurement.classes[int(moving[place])], shares[:, place]


def _drifts(measurement: Measurement) -> Message:
    """Which class is predicted more by some runs than by others."""
    name, shares = drift(measurement)
    return Message(
        "class-share-drifts",
        "the share of {class_name!r} predictions drifts from {low} to {high}",
        class_name=name,
        low=PercentText(float(shares.min())),
        high=PercentText(float(shares.max())),
    )


def _confidence(measurement: Measurement) -> tuple[Message, ...]:
    if "probability_sd" not in measurement.metrics:
        return ()
    return (
        Message(
            "probability-spread",
            "The probability of {followed} moves by {spread} between runs (standard deviation).",
            followed=followed(measurement),
            spread=WithInterval(measurement.metrics["probability_sd"], "probability"),
        ),
    )


def _calibration(measurement: Measurement) -> tuple[Message, ...]:
    if "ece" not in measurement.metrics:
        return ()
    by_run = measurement.detail["ece_by_run"]
    low, high = (WithUnit(float(end), "percent") for end in (by_run.min(), by_run.max()))
    if str(low) == str(high):
        return (
            Message(
                "calibration-error-of-every-run",
                "Every run shows a calibration error of {ece}.",
                ece=low,
            ),
        )
    return (
        Message(
            "calibration-error-range",
            "One run shows a calibration error anywhere from {low:bare} to {high}; their mean is "
            "{mean}.",
            low=low,
            high=high,
            mean=WithInterval(measurement.metrics["ece"], "percent"),
        ),
    )


def followed(measurement: Measurement) -> Message:
    """Whose probability is followed over runs: the gold class where it is known."""
    if measurement.n_labeled == measurement.n_examples:
        return Message("gold-class", "the right answer")
    if measurement.n_labeled:
        return Message(
            "gold-class-or-consensus", "the right answer (the consensus where it is unknown)"
        )
    return Message("consensus", "the answer most runs give")


def limits(measurement: Measurement) -> tuple[Message, ...]:
    """What these runs cannot tell."""
    found = []
    if measurement.n_runs == 2:
        found.append(
            Message(
                "two-runs",
                "With two runs intervals are over examples only: another pair may differ more.",
            )
        )
    elif measurement.n_runs < ENOUGH_RUNS:
        found.append(
            Message(
                "few-runs",
                "{n_runs} runs say little; make at least {at_least} for verdicts.",
                n_runs=measurement.n_runs,
                at_least=ENOUGH_RUNS,
            )
        )
    if not measurement.n_labeled:
        found.append(NO_LABELS)
    match measurement.kind:
        case "labels":
            found.append(NO_PROBABILITIES)
        case "top":
            found.append(ONLY_TOP)
    return tuple(found)
