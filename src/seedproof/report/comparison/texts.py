"""A comparison of free texts: its title, its topics, and what it cannot show."""

from seedproof.comparison.arms.result import Comparison
from seedproof.measurement.clusters import in_clusters
from seedproof.messages import Message, Sentences
from seedproof.metrics.distinct import DRAWN, RAREFIED
from seedproof.report.comparison import numeric
from seedproof.report.comparison.groups import all_arms

# Topic, metric and subject of the sentences, in their usual order.
TOPICS = (
    ("Accuracy", "accuracy", "The share of right answers"),
    ("Answers", "flip_rate", "The share of answers that differ"),
    ("Distinct answers", "distinct_answers", "The number of distinct answers"),
    ("Distinct answers", RAREFIED, f"The number of distinct answers of {DRAWN} runs"),
    ("Spread of accuracy", "accuracy_sd", "The sd of the share of right answers"),
)
KEY_METRICS = tuple(metric for _, metric, _ in TOPICS)
SENTENCES = {
    "compared-texts": "{arms} against {baseline!r} · {n_runs} {repeats}{pairing} · "
    "{n_examples:,} examples{clusters}{references}",
    "no-references": " (no references)",
    "accuracy-left-out": "There are no references, so the share of right answers is left out.",
}
_say = Sentences(SENTENCES)


def title(comparison: Comparison) -> Message:
    """Return what was compared, in one line."""
    first, n_arms = comparison.baseline.measurement, len(comparison.arms)
    return _say(
        "compared-texts",
        arms="1 arm" if n_arms == 1 else f"{n_arms} arms",
        baseline=comparison.baseline.name,
        n_runs=sum(arm.measurement.n_runs for arm in all_arms(comparison)),
        repeats=first.repeats,
        pairing=numeric.pairing(comparison),
        n_examples=first.n_examples,
        clusters=in_clusters(first.clusters),
        references="" if first.n_labeled else _say("no-references"),
    )


def topics(comparison: Comparison) -> tuple[tuple[str, str, str], ...]:
    """Return topic, metric and subject of each sentence: of metrics that are compared."""
    compared = {metric for arm in comparison.arms for metric in arm.effects}
    return tuple(topic for topic in TOPICS if topic[1] in compared)


def limits(comparison: Comparison, *, at_least: int) -> tuple[Message, ...]:
    """Return what was assumed about repeats, and what is left out."""
    assumed = numeric.assumed(comparison, at_least=at_least)
    is_graded = bool(comparison.baseline.measurement.n_labeled)
    return (assumed,) if is_graded else (assumed, _say("accuracy-left-out"))
