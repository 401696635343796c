"""What is said about a comparison. Every sentence has a condition.

Where it does not hold the weaker sentence is said. An interval that includes no change is "no
difference shown", together with what these runs would have shown.
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace

from seedproof.comparison.arms.result import ComparedArm, Comparison
from seedproof.messages import Message, Sentences
from seedproof.metrics.card import card
from seedproof.report.comparison import amounts
from seedproof.report.comparison.groups import (
    BAD,
    GOOD,
    Series,
    explained_by,
    names,
    of_method,
    verdict_on,
    with_verdict,
)
from seedproof.report.explanations.words import TOP_WORDS, named
from seedproof.report.numbers import NO_BREAK, WithUnit
from seedproof.report.sentences import (
    ENOUGH_RUNS,
    NO_LABELS,
    NO_PROBABILITIES,
    ONLY_TOP,
    VERDICT_RUNS,
    spread_cause,
)

MAX_NAMED = 3
MAX_NAME_LENGTH = 44
# A fraction is said instead of a percentage if every estimate is within so many points of it.
NEAR = 10.0
FRACTIONS = {25.0: "a quarter", 33.3: "a third", 50.0: "half", 66.7: "two thirds"}
# Further metrics that a person is warned of; the others have a sentence of their own.
WATCHED = ("ece", "nll", "brier", "predictive_js", "label_entropy_corrected", "ece_sd", "nll_sd")
MAX_WATCHED = 2
# How many times as much as the baseline is worth a word.
COSTLY = 1.5
SENTENCES = {
    "at-matched-rates": "At matched rates: {finding}",
    "no-difference-shown": "No difference in the flips is shown.",
    "too-few-runs": "Too few runs for a verdict on the flips.",
    "no-verdict": "No verdict on the flips.",
    "accuracy-rises": "; accuracy rises",
    "no-accuracy-loss-shown": "; no loss of accuracy shown",
    "noise-of-arm": "{noise} with {arm}",
    "explainer-noise": "Two draws of one explainer already differ in {listed}.",
    "spread-within-chance": "With {baseline} it is not shown to exceed what independent flips "
    "give, {chance}.",
    "spread-beyond-chance": "Independent flips alone would give {chance} with {baseline}.",
    "spread-settled": "Beyond them, no spread is seen any longer with {arms}.",
    "metric-worse": "{title}: {verdict} with {arms} ({direction} by {amount}).",
    "runs-of-arm": "{arm} {n_runs}",
    "uneven-arms": "Arms differ in their number of runs: {counts}.",
    "two-runs": "With two runs an arm, intervals are over examples only: no verdict. Make at least "
    "{at_least}.",
    "few-runs": "{n_runs} runs an arm say little; make at least {at_least} for verdicts.",
    "gold-without-gain": "{gold} does not show a gain of its own, so no arm has a share of it.",
}
_say = Sentences(SENTENCES)


@dataclass(frozen=True)
class ArmFinding:
    """One line of thought; without a metric it is about several, and no verdict."""

    topic: str
    verdict: Message | None
    messages: tuple[Message, ...]
    metric: str = ""
    method: str = ""

    @property
    def text(self) -> str:
        """The words."""
        return " ".join(map(str, self.messages))


def title(comparison: Comparison) -> Message:
    """What was compared, in one line."""
    first, n_arms = comparison.baseline.measurement, len(comparison.arms)
    arms = "1 arm" if n_arms == 1 else "{n_arms} arms"
    labeled = "" if first.n_labeled else " (no labels)"
    matched = " · rates matched" if comparison.match_rates else ""
    paired = {arm.is_paired for arm in comparison.arms}
    pairing = ", paired by seed" if True in paired else ", not paired"
    return Message(
        "compared",
        f"{arms} against {{baseline}} · {{n_runs}} runs{pairing if len(paired) <= 1 else ''} · "
        f"{{n_examples:,}} examples{labeled} · {{n_classes:,}} classes{matched}",
        n_arms=n_arms,
        baseline=comparison.baseline.name,
        n_runs=first.n_runs + sum(arm.measurement.n_runs for arm in comparison.arms),
        n_examples=first.n_examples,
        n_classes=first.n_classes,
    )


def headline(comparison: Comparison) -> Message:
    """The finding on the answers, and whether accuracy pays for it."""
    finding = _on_answers(comparison)
    return _say("at-matched-rates", finding=finding) if comparison.match_rates else finding


def _on_answers(comparison: Comparison) -> Message:
    steadier = with_verdict(comparison, "flip_rate", "steadier")
    shaken = with_verdict(comparison, "flip_rate", "less steady")
    if steadier:
        cut = f"{{arms}} {_verb(steadier, 'cut')} the flips by {{amount}}"
        fields = {"arms": _few(steadier, comparison), "amount": _about(steadier)}
        if not shaken:
            accuracy = _accuracy_clause(steadier)
            return Message("flips-cut", f"{cut}{{accuracy}}.", **fields, accuracy=accuracy)
        words = f"{cut}; {{shaken}} {_verb(shaken, 'raise')} them."
        return Message("flips-cut-and-raised", words, **fields, shaken=_few(shaken, comparison))
    if shaken:
        return Message(
            "flips-raised",
            f"{{arms}} {_verb(shaken, 'make')} answers less steady{{accuracy}}.",
            arms=_few(shaken, comparison),
            accuracy=_accuracy_clause(shaken, loss_only=True),
        )
    if with_verdict(comparison, "flip_rate", "no difference shown"):
        return _say("no-difference-shown")
    is_short = with_verdict(comparison, "flip_rate", "too few runs")
    return _say("too-few-runs" if is_short else "no-verdict")


def _few(arms: Sequence[ComparedArm], comparison: Comparison) -> Message:
    """Names if they are few and short, else how many of how many."""
    listed, n_arms = names(arms), len(comparison.arms)
    is_short = len(arms) <= MAX_NAMED and len(str(listed)) <= MAX_NAME_LENGTH
    if is_short or len(arms) == n_arms == 1:
        return Message("arms-named", "{arms}", arms=listed)
    words = "All {n_arms} arms" if len(arms) == n_arms else "{n_of_them} of {n_arms} arms"
    return Message("arms-counted", words, arms=listed, n_of_them=len(arms), n_arms=n_arms)


def _verb(arms: Sequence[ComparedArm], verb: str) -> str:
    return f"{verb}s" if len(arms) == 1 else verb


def _about(arms: Sequence[ComparedArm]) -> Message:
    """By how much flips are cut: a fraction where all estimates are near it."""
    cuts = sorted(
        cut for arm in arms if (cut := amounts.in_percent(arm.effects["flip_rate"])) is not None
    )
    middle = (cuts[0] + cuts[-1]) / 2
    nearest = min(FRACTIONS, key=lambda fraction: abs(fraction - middle))
    if all(abs(cut - nearest) <= NEAR for cut in cuts):
        return Message("fraction", f"about {FRACTIONS[nearest]}", percent=nearest)
    is_one = f"{cuts[0]:.0f}" == f"{cuts[-1]:.0f}"
    words = "{low:.0f}" if is_one else "{low:.0f} to {high:.0f}"
    return Message("percentage", f"{words}{NO_BREAK}%", low=cuts[0], high=cuts[-1])


def _accuracy_clause(arms: Sequence[ComparedArm], *, loss_only: bool = False) -> Message | str:
    """What may be said of accuracy in addition; an empty text if nothing."""
    verdicts = {verdict_on(arm, "accuracy") for arm in arms}
    if "worse" in verdicts:
        worse = [arm for arm in arms if verdict_on(arm, "accuracy") == "worse"]
        words = "; accuracy falls" + ("" if len(worse) == len(arms) else " with {arms}")
        return Message("accuracy-falls", words, arms=names(worse))
    if loss_only or not verdicts <= {"better", "no difference shown"}:
        return ""
    return _say("accuracy-rises" if verdicts == {"better"} else "no-accuracy-loss-shown")


def findings(comparison: Comparison) -> tuple[ArmFinding, ...]:
    """What a person wants to know first."""
    metrics = comparison.baseline.measurement.metrics
    found = [_on(comparison, "Answers", "flip_rate", "The flip rate")]
    if "accuracy" in metrics:
        spread = _on(comparison, "Good and bad runs", "accuracy_sd", "Accuracy’s sd over runs")
        found += [
            _on(comparison, "Accuracy", "accuracy", "Accuracy"),
            replace(spread, messages=(*spread.messages, *_parts_of_spread(comparison))),
        ]
    if "probability_sd" in metrics:
        found.append(_on(comparison, "Confidence", "probability_sd", "A probability’s sd"))
    found += [_on_reasons(comparison, method) for method in explained_by(comparison)]
    watched = warnings(comparison)
    if watched:
        found.append(ArmFinding("Watch", None, tuple(watched)))
    return tuple(found)


def _on_reasons(comparison: Comparison, method: str) -> ArmFinding:
    """What changes in the top words, beside the explainer's own noise where it is known."""
    several = len(explained_by(comparison)) > 1
    topic = f"Reasons ({named(method)})" if several else "Reasons"
    explained = of_method(comparison, method)
    finding = _on(explained, topic, TOP_WORDS, "The share of top words that differ")
    noise = {
        arm.name: found[TOP_WORDS].value
        for arm in (explained.baseline, *explained.arms)
        if (found := arm.measurement.explanations[method].noise) is not None
    }
    messages = finding.messages
    if noise:
        parts = tuple(
            _say("noise-of-arm", noise=amounts.figure(TOP_WORDS, value), arm=arm)
            for arm, value in noise.items()
        )
        messages += (_say("explainer-noise", listed=Series(parts, ", "), noise=noise),)
    return replace(finding, messages=messages, method=method)


def _on(comparison: Comparison, topic: str, metric: str, subject: str) -> ArmFinding:
    """All arms' effects on one metric, the shown ones first."""
    messages = []
    for verdicts in (GOOD, BAD):
        for direction in ("falls", "rises"):
            arms = [
                arm
                for arm in with_verdict(comparison, metric, *verdicts)
                if amounts.direction(arm.effects[metric]) == direction
            ]
            if arms:
                messages.append(_shown(comparison, metric, subject, arms, direction))
    n_judged = sum(metric in arm.effects for arm in comparison.arms)
    unclear = with_verdict(comparison, metric, "no difference shown")
    if unclear:
        messages.append(_open(metric, unclear, is_all=len(unclear) == n_judged))
    few = with_verdict(comparison, metric, "too few runs")
    if few:
        words = "Too few runs for a verdict on {arms}: {changes}."
        if len(few) == n_judged:
            words = "With {arms}: {changes}, without an interval over runs."
        changes = amounts.Amounts(tuple(arm.effects[metric] for arm in few))
        fields = {"metric": metric, "arms": names(few), "changes": changes}
        messages.append(Message("too-few-runs", words, **fields))
    rest = with_verdict(comparison, metric, "not tested")
    if rest:
        note = rest[0].effects[metric].note
        words = "No verdict on {arms}: {note}." if note else "No verdict on {arms}."
        messages.append(Message("no-verdict", words, metric=metric, arms=names(rest), note=note))
    return ArmFinding(topic, _in_a_word(comparison, metric), tuple(messages), metric)


def _in_a_word(comparison: Comparison, metric: str) -> Message:
    verdicts = [arm.effects[metric].verdict for arm in comparison.arms if metric in arm.effects]
    n_arms = len(verdicts)
    if len(set(verdicts)) == 1:
        word = "No verdict" if verdicts[0] == "not tested" else verdicts[0].capitalize()
        return Message("one-verdict", f"{word}.", counts={verdicts[0]: n_arms}, n_arms=n_arms)
    shown = [verdict for verdict in GOOD + BAD if verdict in verdicts] or ["no difference shown"]
    counts = {verdict: verdicts.count(verdict) for verdict in shown}
    listed = ", ".join(f"{verdict} with {n}" for verdict, n in counts.items())
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
        span = amounts.Amounts(tuple(arm.effects[metric] for arm in arms), amounts.span)
        return Message("change-shown", f"{start} with {{arms}}, by {{span}}.", **fields, span=span)
    changes = Series(tuple(_one_shown(arm, metric) for arm in arms))
    return Message("change-shown", f"{start} {{changes}}.", **fields, changes=changes)


def _one_shown(arm: ComparedArm, metric: str) -> Message:
    effect, after = arm.effects[metric], arm.measurement.metrics[metric].value
    fields = {"after": amounts.figure(metric, after), "arm": arm.name, "size": amounts.Size(effect)}
    words = "to {after} with {arm}"
    if effect.value is not None:
        noun = "cut" if amounts.direction(effect) == "falls" else "rise"
        words += f", {'by' if effect.scale == 'difference' else f'a {noun} of'} {{size}}"
    return Message("change-of-arm", words, **fields)


def _open(metric: str, arms: Sequence[ComparedArm], *, is_all: bool) -> Message:
    """An open effect always comes with what these runs would have shown."""
    effects = tuple(arm.effects[metric] for arm in arms)
    words = f"{'With' if is_all else 'No difference shown with'} {{arms}}: {{changes}}"
    if amounts.would_show(effects):
        words += "; these runs would show {would_show}"
    return Message(
        "no-difference-shown",
        f"{words}.",
        metric=metric,
        arms=names(arms),
        changes=amounts.Amounts(effects),
        would_show=amounts.Amounts(effects, amounts.would_show),
    )


def _parts_of_spread(comparison: Comparison) -> tuple[Message, ...]:
    """What the spread is made of, where that can be said."""
    base = comparison.baseline.measurement
    if base.n_runs < VERDICT_RUNS:
        return ()
    chance = WithUnit(base.metrics["accuracy_sd_independent"].value, "points")
    code = "spread-within-chance" if spread_cause(base) is None else "spread-beyond-chance"
    spread = _say(code, baseline=comparison.baseline.name, chance=chance)
    calm = settled_runs(comparison)
    return (spread, _say("spread-settled", arms=names(calm))) if calm else (spread,)


def settled_runs(comparison: Comparison) -> list[ComparedArm]:
    """Arms with a spread of accuracy shown to be smaller, and no longer beyond chance."""
    if spread_cause(comparison.baseline.measurement) is None:
        return []
    return [
        arm
        for arm in with_verdict(comparison, "accuracy_sd", "steadier")
        if spread_cause(arm.measurement) is None
    ]


def warnings(comparison: Comparison) -> list[Message]:
    """What else gets worse, arms with other numbers of runs, and what costs more."""
    worse = [name for name in WATCHED if with_verdict(comparison, name, *BAD)]
    messages = [_gets_worse(comparison, name) for name in worse[:MAX_WATCHED]]
    n_more = len(worse) - MAX_WATCHED
    if n_more > 0:
        words = f"{{n_more}} further {'metric is' if n_more == 1 else 'metrics are'} worse or less"
        messages.append(Message("further-metrics-worse", f"{words} steady.", n_more=n_more))
    n_runs = {arm.name: arm.measurement.n_runs for arm in (comparison.baseline, *comparison.arms)}
    n_base = n_runs.pop(comparison.baseline.name)
    uneven = {arm: n for arm, n in n_runs.items() if n != n_base}
    if uneven:
        uneven = {comparison.baseline.name: n_base} | uneven
        counts = tuple(_say("runs-of-arm", arm=arm, n_runs=n) for arm, n in uneven.items())
        messages.append(_say("uneven-arms", counts=Series(counts, ", "), n_runs=uneven))
    return messages + costs(comparison)


def _gets_worse(comparison: Comparison, metric: str) -> Message:
    arms = with_verdict(comparison, metric, *BAD)
    effects = tuple(arm.effects[metric] for arm in arms)
    is_one = len(arms) == 1
    return _say(
        "metric-worse",
        metric=metric,
        title=card(metric).title,
        verdict=effects[0].verdict,
        arms=names(arms),
        direction=amounts.direction(effects[0]),
        amount=amounts.Size(effects[0]) if is_one else amounts.Amounts(effects, amounts.span),
    )


def costs(comparison: Comparison) -> list[Message]:
    """Which arms cost clearly more than the baseline, for each cost that was logged."""
    base, messages = comparison.baseline, []
    for name, cost in base.costs.items():
        times = {arm: arm.costs.get(name, 0.0) / cost for arm in comparison.arms if cost > 0}
        dear = {arm: factor for arm, factor in times.items() if factor >= COSTLY}
        if dear:
            low, high = min(dear.values()), max(dear.values())
            span = "{low:.1f}" if f"{low:.1f}" == f"{high:.1f}" else "{low:.1f} to {high:.1f}"
            verb = _verb(list(dear), "cost")
            messages.append(
                Message(
                    "costs-more",
                    f"{{arms}} {verb} {span} times as much as {{baseline}} ({{title}}).",
                    arms=names(list(dear)),
                    low=low,
                    high=high,
                    baseline=base.name,
                    cost=name,
                    title=cost_title(name),
                )
            )
    return messages


def cost_title(name: str) -> str:
    """A cost as people read it."""
    return "training seconds" if name == "seconds" else name.replace("_", " ")


def brackets(comparison: Comparison) -> Message:
    """What brackets and verdicts mean on the whole page."""
    n_arms = len(comparison.arms)
    together = ""
    if n_arms > 1:
        arms = "both arms" if n_arms == 2 else "all {n_arms} arms"
        together = f", so that those of {arms} hold together with 95{NO_BREAK}%"
    return Message(
        "intervals",
        f"Brackets behind a change are {{percent:.4g}}{NO_BREAK}% intervals{together}. “No "
        "difference shown” is not “no difference”: it comes with the smallest true effect that as "
        "many runs would show in 80 of 100 studies.",
        percent=100 * comparison.confidence,
        n_arms=n_arms,
    )


def limits(comparison: Comparison) -> tuple[Message, ...]:
    """What these runs cannot tell."""
    arms = (comparison.baseline, *comparison.arms)
    fewest = min(arm.measurement.n_runs for arm in arms)
    messages = []
    if any(arm.measurement.n_runs == 2 for arm in arms):
        messages.append(_say("two-runs", at_least=ENOUGH_RUNS))
    if 2 < fewest < ENOUGH_RUNS:
        messages.append(_say("few-runs", n_runs=fewest, at_least=ENOUGH_RUNS))
    if not comparison.baseline.measurement.n_labeled:
        messages.append(NO_LABELS)
    kinds = {arm.measurement.kind for arm in arms}
    if "labels" in kinds and not comparison.match_rates:
        messages.append(NO_PROBABILITIES)
    elif "top" in kinds:
        messages.append(ONLY_TOP)
    others = [arm for arm in comparison.arms if arm.name != comparison.gold]
    if comparison.gold is not None and all(arm.share_of_gold is None for arm in others):
        messages.append(_say("gold-without-gain", gold=comparison.gold))
    return tuple(messages)
