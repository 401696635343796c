"""A comparison of numbers, lists or sets: topics, key metrics, and the most changed examples."""

from collections.abc import Iterator, Sequence
from typing import Any

import pyarrow as pa

from seedproof.comparison.arms.result import ComparedArm, Comparison
from seedproof.measurement.clusters import in_clusters
from seedproof.messages import Message, Sentences
from seedproof.metrics.card import card, card_name
from seedproof.records.answer_settings import weighted_by
from seedproof.report.comparison.groups import all_arms
from seedproof.report.numbers import number
from seedproof.report.overview import Section, TextTable

# Topic and subject of each metric that has a sentence, in their order.
TOPICS = {
    "mae": ("Error", "The mean absolute error"),
    "rmse": ("Large errors", "The root mean squared error"),
    "mean": ("Mean", "The mean"),
    "pass^k": ("Reliability", "The chance that all of {k} pass"),
    "flip_rate": ("Stability", "The share of pairs that disagree"),
    "mean_difference": ("Stability", "The difference of two {repeats} on one example"),
    "mean_sd": ("Spread of the mean", "The sd of the mean"),
    "beyond_tolerance": ("Tolerance", "The share of pairs beyond the tolerance"),
    "flip_rate@t": ("Threshold {k}", "The share of pairs across {k}"),
    "ndcg@k": ("Quality", "NDCG at {k}"),
    "micro_f1": ("Quality", "Micro F1"),
    "macro_f1": ("Rare labels", "Macro F1"),
    "first_item_flips": ("Stability", "The share of first items that change"),
    "set_flips": ("Stability", "The share of sets that change"),
    "jaccard_distance@k": ("Overlap", "The Jaccard distance of the first {k} items"),
    "jaccard_distance": ("Overlap", "The Jaccard distance of two sets"),
}
EXAMPLES = "Example by example"
# On the page, in each direction.
N_CHANGED = 10
SENTENCES = {
    "compared-numbers": "{arms} against {baseline!r} · {n_runs} {repeats} each{pairing} · "
    "{n_examples:,} examples{clusters}{weights}",
    "assumed-trials": "Repeats are taken as independent trials of one model: intervals are over "
    "examples, whose means contain the noise of the trials. The interval of one arm is that of "
    "the stderr that Inspect prints{paired}.",
    "paired-examples": "; the interval of a difference is that of the paired differences per "
    "example",
    "assumed-runs": "Repeats are taken as models of their own: verdicts need {at_least} of each "
    "arm, and intervals are over runs and examples. If one model was asked repeatedly, name its "
    "trials with --trial, or trials=True in Python: then few repeats suffice.",
    "assumed-levels": "Runs are taken as models of their own, each with the mean of its trials: "
    "verdicts need {at_least} runs of each arm, and intervals are over runs and examples.",
    "no-margin": "No change of the {metrics} is called equivalent without a margin, such as "
    "--margin {first}=0.1.",
    "no-direction": "With targets, neither a higher nor a lower mean is better.",
    "fallen": "Mean falls most with {arm}",
    "risen": "Mean rises most with {arm}",
    "distance-fallen": "Runs agree more with {arm}",
    "distance-risen": "Runs agree less with {arm}",
}
_say = Sentences(SENTENCES)


def title(comparison: Comparison) -> Message:
    """Return what was compared, in one line."""
    first, n_arms = comparison.baseline.measurement, len(comparison.arms)
    ranges = [arm.measurement.run_range for arm in all_arms(comparison)]
    fewest, most = min(low for low, _ in ranges), max(high for _, high in ranges)
    return _say(
        "compared-numbers",
        arms="1 arm" if n_arms == 1 else f"{n_arms} arms",
        baseline=comparison.baseline.name,
        n_runs="–".join(map(str, dict.fromkeys((fewest, most)))),
        repeats=first.repeats.removesuffix("s" * (most == 1)),
        pairing=pairing(comparison),
        n_examples=first.n_examples,
        clusters=in_clusters(first.clusters),
        weights=weighted_by(first.weights),
    )


def pairing(comparison: Comparison) -> str:
    """Return whether runs are paired, for titles; empty for trials, which never are."""
    if comparison.baseline.measurement.repeats == "trials":
        return ""
    paired = {arm.is_paired for arm in comparison.arms}
    return ", paired by seed" if paired == {True} else "" if True in paired else ", unpaired"


def topics(comparison: Comparison) -> Iterator[tuple[str, str, str]]:
    """Yield topic, metric and subject of each sentence: of pass^k only for the largest k."""
    repeats = comparison.baseline.measurement.repeats
    is_pass_or_fail = any("pass^2" in arm.effects for arm in comparison.arms)
    for name, (topic, subject) in TOPICS.items():
        for metric in _of_card(comparison, name):
            words = "The pass rate" if name == "mean" and is_pass_or_fail else subject
            k = metric.partition("^" if name == "pass^k" else "@")[2]
            yield topic.format(k=k), metric, words.format(k=k, repeats=repeats)


def key_metrics(comparison: Comparison) -> tuple[str, ...]:
    """Return the metrics that are shown first: those with a sentence, if they have a direction."""
    metrics = [metric for _, metric, _ in topics(comparison)]
    is_open = comparison.better == "neither"
    return tuple(metric for metric in metrics if not (is_open and metric == "mean"))


def _of_card(comparison: Comparison, name: str) -> list[str]:
    effects = dict.fromkeys(metric for arm in comparison.arms for metric in arm.effects)
    metrics = [metric for metric in effects if card_name(metric) == name]
    return metrics[-1:] if name == "pass^k" else metrics


def assumed(comparison: Comparison, *, at_least: int) -> Message:
    """Return what was assumed about repeats."""
    if comparison.baseline.measurement.repeats != "trials":
        has_levels = any(arm.measurement.levels for arm in (comparison.baseline, *comparison.arms))
        return _say("assumed-levels" if has_levels else "assumed-runs", at_least=at_least)
    # Reports have no examples to pair.
    paired = "" if comparison.runs is None else str(_say("paired-examples"))
    return _say("assumed-trials", paired=paired)


def limits(comparison: Comparison, *, at_least: int) -> tuple[Message, ...]:
    """Return what was assumed about repeats, and what no verdict says."""
    messages = [assumed(comparison, at_least=at_least)] if comparison.has_numbers else []
    effects = [effect for arm in comparison.arms for effect in arm.effects.values()]
    unbounded = dict.fromkeys(
        effect.metric for effect in effects if effect.low is not None and effect.margin is None
    )
    if comparison.has_numbers and comparison.better == "neither":
        messages.append(_say("no-direction"))
    if unbounded:
        listed = " and the ".join(card(metric).title.lower() for metric in unbounded)
        messages.append(_say("no-margin", metrics=listed, first=next(iter(unbounded))))
    return tuple(messages)


def changed_examples(comparison: Comparison, show: Sequence[str]) -> tuple[TextTable, ...]:
    """Return the examples of each arm whose mean, or distance, falls most and rises most."""
    start = "" if comparison.has_numbers else "distance-"
    return tuple(
        _changed(comparison, arm, str(_say(f"{start}{code}", arm=arm.name)), rows, show)
        for arm in comparison.arms
        for code, rows in (("fallen", arm.fallen), ("risen", arm.risen))
        if rows is not None and len(rows)
    )


def _changed(
    comparison: Comparison, arm: ComparedArm, heading: str, rows: pa.Table, show: Sequence[str]
) -> TextTable:
    has_targets = "target" in rows.column_names
    base, what = comparison.baseline.name, "mean" if comparison.has_numbers else "distance"
    header = ("example", f"{what}, {base}", f"{what}, {arm.name}", base, arm.name)
    header += (*(("target",) if has_targets else ()), *show)
    return TextTable(
        header,
        tuple(_cells(row, show, has_targets=has_targets) for row in rows.to_pylist()[:N_CHANGED]),
        title=heading,
    )


def _cells(row: dict[str, Any], show: Sequence[str], *, has_targets: bool) -> tuple[str, ...]:
    texts = [row["target"]] if has_targets else []
    return (
        str(row["example"]),
        *(_amount(row, when) for when in ("before", "after")),
        *(_answers(row, when) for when in ("before", "after")),
        *("" if x is None else number(x, "value") for x in texts),
        *("" if row[name] is None else str(row[name]) for name in show),
    )


def _amount(row: dict[str, Any], when: str) -> str:
    if f"mean_{when}" in row:
        return number(row[f"mean_{when}"], "value")
    return f"{number(row[f'distance_{when}'], 'percent')} %"


def _answers(row: dict[str, Any], when: str) -> str:
    """Return the numbers of all runs, or the most frequent items."""
    if f"items_{when}" in row:
        return str(row[f"items_{when}"])
    return " ".join(f"{x:.3g}" for x in row[f"numbers_{when}"] if x is not None)


def sections(tables: Sequence[TextTable]) -> tuple[Section, ...]:
    """Return the section of a page with the examples that change most."""
    if not tables:
        return ()
    return (Section(EXAMPLES, "The examples that change most", tuple(tables)),)
