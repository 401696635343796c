"""Sentences about a measurement, each with its condition.

If a condition does not hold, a weaker sentence is used, never a stronger one.
"""

from dataclasses import dataclass

import numpy as np

from seedproof.measurement.clusters import in_clusters
from seedproof.measurement.dynamics import ENTROPY, DynamicsMeasurement
from seedproof.measurement.result import Measurement
from seedproof.messages import Message, Sentences
from seedproof.metrics.card import Unit
from seedproof.metrics.statistic import VERDICT_FROM
from seedproof.report import groups
from seedproof.report.explanations import sentences as explanations
from seedproof.report.numbers import NO_BREAK, WithInterval, WithUnit, is_too_wide
from seedproof.stats.extremes import extreme_runs
from seedproof.stats.intervals import Estimate
from seedproof.typing import FloatArray

_ACCURACY = f"Accuracy is {{accuracy:bare}} ±{NO_BREAK}{{spread}} across runs"
_CHANCE = f"{_ACCURACY}. Independent flips alone would give ±{NO_BREAK}{{chance}}"
SENTENCES = {
    "measured": "{n_runs} runs · {n_examples:,} examples{clusters}{labeled} · {n_classes:,} "
    "classes",
    "some-labels": " ({n_labeled:,} labeled)",
    "labels-missing": " (no labels)",
    "no-answer-changed": "No answer changed between runs.",
    "no-answer-of-few-runs-differs": "No answer differs between these {n_runs} runs.",
    "answers-of-few-runs-differ": "Two of these {n_runs} runs differ on about {n_changed} in "
    "{per:,} answers.",
    "answers-of-two-runs-differ": "These two runs differ on about {n_changed} in {per:,} answers.",
    "answers-changed": "A different {repeat} changes about {n_changed} in {per:,} answers.",
    "answers-changed-roughly": "A different {repeat} changes between {low} and {high} in "
    "{per:,} answers.",
    "no-prediction-flipped": "No prediction flipped between the {n_runs} runs. The true flip rate "
    "could still be up to {at_most}.",
    "two-runs-agree": "These two runs give the same answer to every example. Another pair of runs "
    "may not.",
    "two-runs-differ": "These two runs differ on {flip_rate} of the examples.",
    "predictions-flipped": "Retraining flips {flip_rate} of the predictions. On {ambiguity} of the "
    "examples the {n_runs} runs do not all agree.",
    "accuracies-equal": f"{_ACCURACY}: all {{n_runs}} runs are equally accurate.",
    "accuracy-spread-of-few-runs": f"{_ACCURACY}. {{n_runs}} runs are too few to explain that "
    "spread.",
    "accuracy-spread-within-chance": f"{_CHANCE}; with {{n_runs}} runs, no significant excess "
    "is shown.",
    "accuracy-spread-from-drift": f"{_CHANCE}, so errors are correlated, mostly because {{drift}}.",
    "accuracy-spread-from-drift-and-runs": f"{_CHANCE}, so errors are correlated, and {{drift}}.",
    "accuracy-spread-from-runs": f"{_CHANCE}, so errors are correlated: some runs are better than "
    "others.",
    "accuracies-against-chance": "If the {n_labeled:,} examples flipped independently, accuracies "
    f"would differ by ±{NO_BREAK}{{chance}}. They differ by ±{NO_BREAK}{{spread}}.",
    "accuracies-moved-by-drift": "Most of that comes from shifting class shares: {drift}.",
    "spread-of-one-run": "Run {runs[0]!r} causes most of it: accuracies of the others differ "
    f"by ±{NO_BREAK}{{rest}}.",
    "spread-of-few-runs": "Runs {runs} cause most of it: accuracies of the others differ by "
    f"±{NO_BREAK}{{rest}}.",
    "best-and-worst-run": "Reporting the best of {n_runs} runs would claim {best}; an unlucky "
    "single run would show {worst}.",
    "true-spread": "With {n_runs} runs, the true spread may be {low:.2f} to {high:.2f} times the "
    "observed {spread}.",
    "class-share-drifts": "the share of {class_name!r} predictions ranges from {low:bare} to "
    "{high}",
    "probability-spread": "The probability of {followed} has a standard deviation of {spread} "
    "across runs.",
    "calibration-error-of-every-run": "Every run has a calibration error of {ece}.",
    "calibration-error-range": "Calibration error ranges from {low:bare} to {high} across runs. "
    "Without the part that chance adds, its mean is {mean}.",
    "entropy-within-one-run": "Within one run the label entropy over its steps is {entropy} nats.",
    "gold-class": "the right answer",
    "gold-class-or-consensus": "the right answer (the majority answer where it is unknown)",
    "consensus": "the majority answer",
    "two-runs": "With two runs, intervals are over examples only; another pair of runs may differ "
    "more.",
    "no-labels": "There are no labels, so accuracy and calibration are left out.",
    "no-probabilities": "There are no probabilities, so confidence and calibration are left out.",
    "only-top-classes": "Only the most probable classes were kept: flips, entropy, accuracy and "
    "calibration errors are exact, probability_sd within probability_sd_error; divergences and "
    "scores are left out.",
}
_say = Sentences(SENTENCES)
NO_LABELS, NO_PROBABILITIES = _say("no-labels"), _say("no-probabilities")
ONLY_TOP = _say("only-top-classes")


@dataclass(frozen=True)
class Sentence:
    """One or several messages on a topic."""

    topic: str
    messages: tuple[Message, ...]

    @property
    def text(self) -> str:
        """The messages as text."""
        return " ".join(map(str, self.messages))


def are_two_runs(measurement: Measurement) -> bool:
    """Return whether there are two runs, whose intervals are over examples only.

    One pair of runs does not show how much others differ: as a statement on retraining, such an
    interval covers the truth in 28 to 63 % of studies.
    """
    return measurement.n_runs == 2 and measurement.repeats != "trials"


def amount(measurement: Measurement, estimate: Estimate, unit: Unit) -> WithInterval | WithUnit:
    """Return an estimate with its interval for a sentence; of two runs the value alone."""
    if are_two_runs(measurement):
        return WithUnit(estimate.value, unit)
    return WithInterval(estimate, unit)


def title(measurement: Measurement) -> Message:
    """Return the size of the input in one line."""
    labeled: Message | str = ""
    if not measurement.n_labeled:
        labeled = _say("labels-missing")
    elif measurement.n_labeled < measurement.n_examples:
        labeled = _say("some-labels", n_labeled=measurement.n_labeled)
    return _say(
        "measured",
        n_runs=measurement.n_runs,
        n_examples=measurement.n_examples,
        clusters=in_clusters(measurement.clusters),
        labeled=labeled,
        n_classes=measurement.n_classes,
    )


def headline(measurement: Measurement) -> Message:
    """Return the finding on the answers, as precise as its interval allows.

    Few runs are described, and nothing is said about other seeds.
    """
    flips, n_runs = measurement.metrics["flip_rate"], measurement.n_runs
    is_short = n_runs < VERDICT_FROM
    if flips.low is None or flips.high is None or flips.value == 0.0:
        few, many = "no-answer-of-few-runs-differs", "no-answer-changed"
        return _say(few if is_short else many, n_runs=n_runs)
    per, repeat = 100, measurement.repeats.removesuffix("s")
    while per * flips.value < 1:
        per *= 10
    if is_short:
        code = "answers-of-few-runs-differ" if n_runs > 2 else "answers-of-two-runs-differ"
        return _say(code, n_runs=n_runs, n_changed=round(per * flips.value), per=per)
    if flips.high - flips.low <= 2 * flips.value:
        return _say("answers-changed", n_changed=round(per * flips.value), per=per, repeat=repeat)
    low, high = round(per * flips.low), round(per * flips.high)
    return _say("answers-changed-roughly", low=low, high=high, per=per, repeat=repeat)


def sentences(measurement: Measurement) -> tuple[Sentence, ...]:
    """Return the main findings by topic."""
    by_topic = {
        "Answers": (_answers(measurement),),
        **groups.findings(measurement),
        "Accuracy": _accuracy(measurement),
        "Confidence": _confidence(measurement),
        "Calibration": _calibration(measurement),
        "Explanations": explanations.sentences(measurement.explanations, measurement.n_examples),
        "Dynamics": _dynamics(measurement.dynamics),
    }
    return tuple(Sentence(topic, messages) for topic, messages in by_topic.items() if messages)


def _answers(measurement: Measurement) -> Message:
    flips, n_runs = measurement.metrics["flip_rate"], measurement.n_runs
    if are_two_runs(measurement):
        code = "two-runs-agree" if flips.value == 0.0 else "two-runs-differ"
        return _say(code, flip_rate=WithUnit(flips.value, "percent"))
    if flips.value == 0.0 and flips.high is not None:
        at_most = WithUnit(flips.high, "percent")
        return _say("no-prediction-flipped", n_runs=n_runs, at_most=at_most)
    return _say(
        "predictions-flipped",
        flip_rate=WithInterval(flips, "percent"),
        ambiguity=WithUnit(measurement.metrics["ambiguity"].value, "percent"),
        n_runs=n_runs,
    )


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
    elif spread.low is None or measurement.n_runs < VERDICT_FROM:
        code = "accuracy-spread-of-few-runs"
    else:
        cause = spread_cause(measurement)
        code = SPREAD_CODES[cause]
        fields["chance"] = WithUnit(metrics["accuracy_sd_independent"].value, "percent")
        if cause in {"drift", "both"}:
            fields["drift"] = _drift_range(measurement)
    return (_say(code, **fields), *spread_runs(measurement))


def spread_runs(measurement: Measurement) -> tuple[Message, ...]:
    """Return the runs that cause most of the spread of accuracies, if a few do."""
    values = measurement.detail["accuracy_by_run"]
    places = extreme_runs(values)
    if not places:
        return ()
    rest = WithUnit(float(np.delete(values, places).std(ddof=1)), "percent")
    code = "spread-of-one-run" if len(places) == 1 else "spread-of-few-runs"
    return (_say(code, runs=tuple(measurement.runs[place] for place in places), rest=rest),)


def on_accuracy(measurement: Measurement) -> tuple[Message, ...]:
    """Return short paragraphs on the accuracies of the runs."""
    metrics, by_run = measurement.metrics, measurement.detail["accuracy_by_run"]
    spread, n_runs = metrics["accuracy_sd"], measurement.n_runs
    paragraphs = [
        _say(
            "accuracies-against-chance",
            n_labeled=measurement.n_labeled,
            chance=WithUnit(metrics["accuracy_sd_independent"].value, "points"),
            spread=amount(measurement, spread, "points"),
        )
    ]
    if spread_cause(measurement) == "drift":
        paragraphs.append(_say("accuracies-moved-by-drift", drift=_drift_range(measurement)))
    paragraphs += spread_runs(measurement)
    best, worst = (WithUnit(float(end), "percent") for end in (by_run.max(), by_run.min()))
    paragraphs.append(_say("best-and-worst-run", n_runs=n_runs, best=best, worst=worst))
    if spread.low is not None and spread.high is not None and not is_too_wide(spread):
        low, high = spread.low / spread.value, spread.high / spread.value
        observed = WithUnit(spread.value, "points")
        paragraphs.append(_say("true-spread", n_runs=n_runs, low=low, high=high, spread=observed))
    return tuple(paragraphs)


# Code of the sentence on the spread of accuracies, by its cause.
SPREAD_CODES = {
    None: "accuracy-spread-within-chance",
    "drift": "accuracy-spread-from-drift",
    "both": "accuracy-spread-from-drift-and-runs",
    "runs": "accuracy-spread-from-runs",
}


def spread_cause(measurement: Measurement) -> str | None:
    """Return why accuracies differ beyond chance, as a key of `SPREAD_CODES`."""
    metrics = measurement.metrics
    spread = metrics["accuracy_sd"]
    if spread.low is None or measurement.n_runs < VERDICT_FROM:
        return None
    chance = metrics["accuracy_sd_independent"]
    if spread.low <= (chance.value if chance.high is None else chance.high):
        return None
    # Drift needs both: most flips are net flips of the class shares, and the shares explain most
    # of the variance of the accuracies.
    if metrics["net_flip_rate"].value <= metrics["flip_rate"].value / 2:
        return "runs"
    return "drift" if _explained_by_shares(measurement) > 0.5 else "both"


def _explained_by_shares(measurement: Measurement) -> float:
    """Return the adjusted R² of the accuracies on a parabola in the drifting class share.

    A parabola, because a threshold loses accuracy on both sides of its optimum.
    """
    accuracy, shares = measurement.detail["accuracy_by_run"], measurement.detail["drift_shares"]
    share = shares[:, 0] - shares[:, 0].mean()
    design = np.stack([np.ones_like(share), share, share**2], axis=1)
    rest = accuracy - design @ np.linalg.lstsq(design, accuracy, rcond=None)[0]
    n_free = max(measurement.n_runs - 3, 1)
    return 1 - float(rest @ rest) / n_free / float(accuracy.var(ddof=1))


def drift(measurement: Measurement) -> tuple[str, FloatArray]:
    """Return the class whose share varies most over runs (the second of two), and the shares."""
    moving, shares = measurement.detail["drift_classes"], measurement.detail["drift_shares"]
    place = int(np.flatnonzero(moving == 1)[0]) if measurement.n_classes == 2 else 0
    return measurement.classes[int(moving[place])], shares[:, place]


def _drift_range(measurement: Measurement) -> Message:
    name, shares = drift(measurement)
    low, high = (WithUnit(float(end), "percent") for end in (shares.min(), shares.max()))
    return _say("class-share-drifts", class_name=name, low=low, high=high)


def _confidence(measurement: Measurement) -> tuple[Message, ...]:
    if "probability_sd" not in measurement.metrics:
        return ()
    spread = amount(measurement, measurement.metrics["probability_sd"], "probability")
    return (_say("probability-spread", followed=followed(measurement), spread=spread),)


def _calibration(measurement: Measurement) -> tuple[Message, ...]:
    if "ece_corrected" not in measurement.metrics:
        return ()
    by_run = measurement.detail["ece_by_run"]
    low, high = (WithUnit(float(end), "percent") for end in (by_run.min(), by_run.max()))
    if str(low) == str(high):
        return (_say("calibration-error-of-every-run", ece=low),)
    mean = amount(measurement, measurement.metrics["ece_corrected"], "percent")
    return (_say("calibration-error-range", low=low, high=high, mean=mean),)


def _dynamics(dynamics: DynamicsMeasurement | None) -> tuple[Message, ...]:
    if dynamics is None:
        return ()
    entropy = WithInterval(dynamics.metrics[ENTROPY], "nats")
    return (_say("entropy-within-one-run", entropy=entropy),)


def dynamics_title(dynamics: DynamicsMeasurement) -> Message:
    """Return how many runs were traced, on how many examples, at how many steps."""
    low, high = dynamics.n_steps
    steps = "{n_steps:,}" if low == high else "{n_steps:,} to {most_steps:,}"
    runs = "1 run" if len(dynamics.runs) == 1 else "{n_traced} runs"
    return Message(
        "traced",
        f"{runs} traced on {{n_examples:,}} examples, at {steps} steps each",
        n_traced=len(dynamics.runs),
        n_examples=dynamics.n_examples,
        n_steps=low,
        most_steps=high,
    )


def followed(measurement: Measurement) -> Message:
    """Return which class's probability is followed over runs: the gold class if it is known."""
    if measurement.n_labeled == measurement.n_examples:
        return _say("gold-class")
    return _say("gold-class-or-consensus" if measurement.n_labeled else "consensus")


def limits(measurement: Measurement) -> tuple[Message, ...]:
    """Return the limitations of these runs and their records."""
    messages = []
    if measurement.n_runs == 2:
        messages.append(_say("two-runs"))
    if not measurement.n_labeled:
        messages.append(NO_LABELS)
    match measurement.kind:
        case "labels":
            messages.append(NO_PROBABILITIES)
        case "top":
            messages.append(ONLY_TOP)
    return tuple(messages)
