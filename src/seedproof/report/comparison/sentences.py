"""Sentences about a comparison. Each has a condition; where it fails, a weaker sentence is used.

An interval that includes no change is "no difference shown", with the smallest detectable effect,
or "equivalent" if it is shown to be within the margin.
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace

from seedproof.comparison.arms.result import ComparedArm, Comparison
from seedproof.measurement.clusters import in_clusters
from seedproof.messages import Message, Sentences
from seedproof.metrics.card import card
from seedproof.metrics.statistic import VERDICT_FROM
from seedproof.report.comparison import amounts, numeric, texts
from seedproof.report.comparison.amounts import Amounts
from seedproof.report.comparison.groups import (
    BAD,
    GOOD,
    NEUTRAL,
    Series,
    all_arms,
    explained_by,
    names,
    of_method,
    with_verdict,
)
from seedproof.report.explanations.sentences import TOP_WORDS, named
from seedproof.report.numbers import WithUnit
from seedproof.report.sentences import (
    NO_LABELS,
    NO_PROBABILITIES,
    ONLY_TOP,
    spread_cause,
    spread_runs,
)
from seedproof.stats.effect import Verdict

MAX_NAMED = 3
# Metrics without a sentence of their own, which become a caution if they get worse.
CAUTIONS = (
    *("ece_corrected", "nll", "brier", "predictive_js"),
    *("label_entropy_corrected", "ece_sd", "nll_sd"),
)
MAX_CAUTIONS = 2
# Multiple of the baseline's cost that becomes a caution.
COSTLY = 1.5
# Topic, metric and subject of the sentences on classes, in their usual order.
TOPICS = (
    ("Answers", "flip_rate", "The flip rate"),
    ("Accuracy", "accuracy", "Accuracy"),
    ("Spread of accuracy", "accuracy_sd", "The sd of accuracy"),
    ("Confidence", "probability_sd", "The sd of the predicted probability"),
)
SENTENCES = {
    "noise-of-arm": "{noise} with {arm!r}",
    "explainer-noise": "Explaining the same run twice already changes top words: {listed}.",
    "spread-within-chance": "Runs of the baseline are not shown to differ by more than the "
    "{chance} expected from independent flips.",
    "spread-beyond-chance": "Runs of the baseline differ by more than the {chance} expected from "
    "independent flips.",
    "spread-settled": "With {arms}, the spread no longer exceeds that of independent flips.",
    "metric-worse": "{title} {direction} by {amount} with {arms} ({verdict}).",
    "runs-of-arm": "{arm} {n_runs}",
    "uneven-arms": "Arms differ in their number of {repeats}: {counts}.",
    "two-runs": "With two runs of an arm, intervals cover examples only: other runs may differ "
    "more.",
    "gold-without-gain": "{gold} shows no gain of its own, so no arm has a share of it.",
}
_say = Sentences(SENTENCES)


@dataclass(frozen=True)
class ArmFinding:
    """Sentences on one topic; those on several metrics, or on the baseline, have no verdict."""

    topic: str
    verdict: Message | None
    messages: tuple[Message, ...]
    metric: str = ""
    method: str = ""

    @property
    def text(self) -> str:
        """The sentences as text."""
        return " ".join(map(str, self.messages))


def title(comparison: Comparison) -> Message:
    """Return what was compared, in one line."""
    if not comparison.has_classes:
        return numeric.title(comparison)
    if comparison.has_texts:
        return texts.title(comparison)
    first, n_arms = comparison.baseline.measurement, len(comparison.arms)
    arms = "1 arm" if n_arms == 1 else "{n_arms} arms"
    labeled = "" if first.n_labeled else " (no labels)"
    matched = " · rates matched" if comparison.match_rates else ""
    paired = {arm.is_paired for arm in comparison.arms}
    pairing = ", paired by seed" if True in paired else ", not paired"
    return Message(
        "compared",
        f"{arms} against {{baseline!r}} · {{n_runs}} runs{pairing if len(paired) <= 1 else ''} · "
        f"{{n_examples:,}} examples{{clusters}}{labeled} · {{n_classes:,}} classes{matched}",
        n_arms=n_arms,
        baseline=comparison.baseline.name,
        n_runs=sum(arm.measurement.n_runs for arm in all_arms(comparison)),
        n_examples=first.n_examples,
        clusters=in_clusters(first.clusters),
        n_classes=first.n_classes,
    )


def subject_of(comparison: Comparison, metric: str) -> str:
    """Return the subject of sentences on a metric, such as "The flip rate"."""
    known = (subject for _, name, subject in _topics(comparison) if name == metric)
    return next(known, card(metric).title)


def _topics(comparison: Comparison) -> tuple[tuple[str, str, str], ...]:
    """Return topic, metric and subject of the sentences, in their usual order."""
    if not comparison.has_classes:
        return tuple(numeric.topics(comparison))
    return texts.topics(comparison) if comparison.has_texts else TOPICS


def verb(arms: Sequence[ComparedArm], word: str) -> str:
    """Return a verb for one arm, or for several."""
    return f"{word}s" if len(arms) == 1 else word


def findings(comparison: Comparison) -> tuple[ArmFinding, ...]:
    """Return the sentences by topic, the most important first.

    A topic on which only arms with an error remain is left out: the headline names them.
    """
    measured, primary = comparison.baseline.measurement.metrics, comparison.primary
    topics, usual = [], _topics(comparison)
    if primary not in {metric for _, metric, _ in usual}:
        topics.append(on_metric(comparison, card(primary).title, primary, card(primary).title))
    # The primary metric first, then the quality that is judged with it.
    order = {metric: rank for rank, metric in enumerate(comparison.primaries)}
    for topic, metric, subject in sorted(usual, key=lambda topic: order.get(topic[1], len(order))):
        if metric in measured:
            finding = on_metric(comparison, topic, metric, subject)
            is_explained = metric == "accuracy_sd" and not comparison.has_texts
            further = on_spread(comparison) if is_explained else ()
            topics.append(replace(finding, messages=(*finding.messages, *further)))
    topics += [_on_explanations(comparison, method) for method in explained_by(comparison)]
    topics = [finding for finding in topics if finding.messages]
    messages = cautions(comparison)
    return (*topics, *([ArmFinding("Caution", None, messages)] if messages else []))


def _on_explanations(comparison: Comparison, method: str) -> ArmFinding:
    """Return the change in the top words, with the noise of the explainer if it is known."""
    several = len(explained_by(comparison)) > 1
    topic = f"Explanations ({named(method)})" if several else "Explanations"
    explained = of_method(comparison, method)
    finding = on_metric(explained, topic, TOP_WORDS, "The share of top words that differ")
    noise = {
        arm.name: estimates[TOP_WORDS].value
        for arm in all_arms(explained)
        if (estimates := arm.measurement.explanations[method].noise) is not None
    }
    messages = finding.messages
    if noise:
        parts = tuple(
            _say("noise-of-arm", noise=amounts.figure(TOP_WORDS, value), arm=arm)
            for arm, value in noise.items()
        )
        messages += (_say("explainer-noise", listed=Series(parts, ", "), noise=noise),)
    return replace(finding, messages=messages, method=method)


def on_metric(comparison: Comparison, topic: str, metric: str, subject: str) -> ArmFinding:
    """Return the effects of all arms on one metric, those that are shown first."""
    messages = []
    for verdicts in (GOOD, BAD, NEUTRAL):
        for direction in ("falls", "rises"):
            arms = [
                arm
                for arm in with_verdict(comparison, metric, *verdicts)
                if amounts.direction(arm.effects[metric]) == direction
            ]
            if arms:
                messages.append(_shown(comparison, metric, subject, arms, direction))
    n_judged = sum(metric in arm.effects for arm in comparison.arms)
    undecided: tuple[Verdict, ...] = (
        "equivalent",
        "no difference shown",
        "too few runs",
        "not tested",
    )
    for verdict in undecided:
        arms = with_verdict(comparison, metric, verdict)
        if verdict == "not tested":  # the headline has those with an error, and the remedy
            arms = [arm for arm in arms if arm.name not in comparison.errors]
        if arms:
            messages.append(_undecided(metric, verdict, arms, is_all=len(arms) == n_judged))
    conclusion = _verdict(comparison, metric) if messages else None
    return ArmFinding(topic, conclusion, tuple(messages), metric)


def _verdict(comparison: Comparison, metric: str) -> Message:
    verdicts = [arm.effects[metric].verdict for arm in comparison.arms if metric in arm.effects]
    n_arms = len(verdicts)
    if len(set(verdicts)) == 1:
        word = "No verdict" if verdicts[0] == "not tested" else verdicts[0].capitalize()
        return Message("one-verdict", f"{word}.", counts={verdicts[0]: n_arms}, n_arms=n_arms)
    shown = [verdict for verdict in (*GOOD, *BAD, *NEUTRAL, "equivalent") if verdict in verdicts]
    shown = shown or ["no difference shown"]
    counts = {verdict: verdicts.count(verdict) for verdict in shown}
    listed = ", ".join(f"{verdict} in {n}" for verdict, n in counts.items())
    words = f"{listed[0].upper()}{listed[1:]} of {{n_arms}} arms."
    return Message("several-verdicts", words, counts=counts, n_arms=n_arms)


def _shown(
    comparison: Comparison,
    metric: str,
    subject: str,
    arms: Sequence[ComparedArm],
    direction: str,
) -> Message:
    fields = {
        "metric": metric,
        "direction": direction,
        "arms": names(arms),
        "before": amounts.figure(metric, comparison.baseline.measurement.metrics[metric].value),
    }
    start = f"{subject} {{direction}} from {{before}}"
    if len(arms) > MAX_NAMED:
        span = Amounts(tuple(arm.effects[metric] for arm in arms), amounts.sizes)
        return Message("change-shown", f"{start} with {{arms}}, by {{span}}.", **fields, span=span)
    changes = Series(tuple(_change_of_arm(arm, metric) for arm in arms))
    return Message("change-shown", f"{start} {{changes}}.", **fields, changes=changes)


def _change_of_arm(arm: ComparedArm, metric: str) -> Message:
    effect = arm.effects[metric]
    words = "to {after} with {arm}"
    if effect.value is not None:
        noun = "reduction" if amounts.direction(effect) == "falls" else "rise"
        words += f", {'by' if effect.scale == 'difference' else f'a {noun} of'} {{size}}"
    return Message(
        "change-of-arm",
        words,
        after=amounts.figure(metric, arm.measurement.metrics[metric].value),
        arm=arm.name,
        size=Amounts((effect,), amounts.sizes),
    )


def _undecided(
    metric: str, verdict: Verdict, arms: Sequence[ComparedArm], *, is_all: bool
) -> Message:
    effects = tuple(arm.effects[metric] for arm in arms)
    changes = Amounts(effects, amounts.changes)
    fields = {"metric": metric, "arms": names(arms), "changes": changes}
    if verdict == "not tested":
        words = "No verdict on {arms}: {note}." if effects[0].note else "No verdict on {arms}."
        return Message("no-verdict", words, **fields, note=effects[0].note)
    if verdict == "too few runs":
        words = "With {arms}: {changes}." if is_all else "Too few runs with {arms}: {changes}."
        return Message("too-few-runs", words, **fields)
    if verdict == "equivalent":
        words = "Within {margin} with {arms}: {changes}."
        return Message("equivalent", words, **fields, margin=amounts.margin(effects[0]))
    noun, amount = amounts.smallest_detectable(effects)
    words = f"{'With' if is_all else 'No difference shown with'} {{arms}}: {{changes}}"
    if amount:
        words += f"; smallest detectable {noun}: {{detectable}}"
    return Message("no-difference-shown", f"{words}.", **fields, detectable=amount)


def on_spread(comparison: Comparison) -> tuple[Message, ...]:
    """Return whether accuracies spread beyond chance, and the arms that settle that."""
    base = comparison.baseline
    if base.measurement.n_runs < VERDICT_FROM:
        return ()
    chance = WithUnit(base.measurement.metrics["accuracy_sd_independent"].value, "points")
    if spread_cause(base.measurement) is None:
        return (_say("spread-within-chance", baseline=base.name, chance=chance),)
    beyond = _say("spread-beyond-chance", baseline=base.name, chance=chance)
    beyond_of = (beyond, *spread_runs(base.measurement))
    steadier = with_verdict(comparison, "accuracy_sd", "steadier")
    settled = [arm for arm in steadier if spread_cause(arm.measurement) is None]
    return (*beyond_of, _say("spread-settled", arms=names(settled))) if settled else beyond_of


def cautions(comparison: Comparison) -> tuple[Message, ...]:
    """Return what gets worse, unequal numbers of runs, and higher costs."""
    worse = [name for name in CAUTIONS if with_verdict(comparison, name, *BAD)]
    messages = [_gets_worse(comparison, name) for name in worse[:MAX_CAUTIONS]]
    n_more = len(worse) - MAX_CAUTIONS
    if n_more > 0:
        subject = "1 more metric is" if n_more == 1 else "{n_more} more metrics are"
        words = f"{subject} worse or less steady."
        messages.append(Message("further-metrics-worse", words, n_more=n_more))
    n_base = comparison.baseline.measurement.n_runs
    n_runs = {arm.name: arm.measurement.n_runs for arm in all_arms(comparison)}
    uneven = {arm: n for arm, n in n_runs.items() if n != n_base or arm == comparison.baseline.name}
    if len(uneven) > 1:
        counts = tuple(_say("runs-of-arm", arm=arm, n_runs=n) for arm, n in uneven.items())
        repeats = "trials" if comparison.baseline.measurement.repeats == "trials" else "runs"
        messages.append(
            _say("uneven-arms", repeats=repeats, counts=Series(counts, ", "), n_runs=uneven)
        )
    return (*messages, *costs(comparison))


def _gets_worse(comparison: Comparison, metric: str) -> Message:
    arms = with_verdict(comparison, metric, *BAD)
    effects = tuple(arm.effects[metric] for arm in arms)
    return _say(
        "metric-worse",
        metric=metric,
        title=card(metric).title,
        verdict=effects[0].verdict,
        arms=names(arms),
        direction=amounts.direction(effects[0]),
        amount=Amounts(effects, amounts.sizes),
    )


def costs(comparison: Comparison) -> tuple[Message, ...]:
    """Return which arms cost much more than the baseline, for each logged cost."""
    base, messages = comparison.baseline, []
    for name, cost in base.costs.items():
        times = {arm: arm.costs.get(name, 0.0) / cost for arm in comparison.arms if cost > 0}
        dear = {arm: factor for arm, factor in times.items() if factor >= COSTLY}
        if dear:
            low, high = min(dear.values()), max(dear.values())
            span = "{low:.1f}" if f"{low:.1f}" == f"{high:.1f}" else "{low:.1f} to {high:.1f}"
            costs_more = verb(list(dear), "cost")
            messages.append(
                Message(
                    "costs-more",
                    f"{{arms}} {costs_more} {span} times as much as {{baseline!r}} ({{title}}).",
                    arms=names(list(dear)),
                    low=low,
                    high=high,
                    baseline=base.name,
                    cost=name,
                    title=cost_title(name),
                )
            )
    return tuple(messages)


def cost_title(name: str) -> str:
    """Return the name of a cost for readers."""
    return "training seconds" if name == "seconds" else name.replace("_", " ")


def limits(comparison: Comparison) -> tuple[Message, ...]:
    """Return what these runs cannot show."""
    if not comparison.has_classes:
        return numeric.limits(comparison, at_least=VERDICT_FROM)
    if comparison.has_texts:
        return texts.limits(comparison, at_least=VERDICT_FROM)
    measurements = [arm.measurement for arm in all_arms(comparison)]
    messages = []
    if any(measurement.n_runs == 2 for measurement in measurements):
        messages.append(_say("two-runs"))
    if not comparison.baseline.measurement.n_labeled:
        messages.append(NO_LABELS)
    kinds = {measurement.kind for measurement in measurements}
    if "labels" in kinds and not comparison.match_rates:
        messages.append(NO_PROBABILITIES)
    elif "top" in kinds:
        messages.append(ONLY_TOP)
    reference = comparison.reference
    others = [arm for arm in comparison.arms if arm.name != reference]
    is_judged = not with_verdict(comparison, "label_entropy", "too few runs")
    if reference is not None and is_judged and all(a.share_of_gold is None for a in others):
        messages.append(_say("gold-without-gain", gold=reference))
    return tuple(messages)
