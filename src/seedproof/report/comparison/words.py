"""What is said about a comparison. Every sentence has a condition.

Where it does not hold the weaker sentence is said. An interval that includes no change is "no
difference shown", together with what these runs would have shown.
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace

from seedproof.comparison.arms.result import ComparedArm, Comparison
from seedproof.messages import Message
from seedproof.report.comparison import amounts
from seedproof.report.comparison.cautions import warnings
from seedproof.report.comparison.groups import (
    BAD,
    GOOD,
    Series,
    names,
    verdict_on,
    with_verdict,
)
from seedproof.report.comparison.reasons import explained_by, of_method
from seedproof.report.numbers import NO_BREAK, WithUnit
from seedproof.report.reasons.words import TOP_WORDS, named
from seedproof.report.words import VERDICT_RUNS, spread_cause
from seedproof.stats.effect import Effect

MAX_NAMED = 3
MAX_NAME_LENGTH = 44
# A fraction is said instead of a percentage if every estimate is within so many points of it.
NEAR = 10.0
FRACTIONS = {25.0: "a quarter", 33.3: "a third", 50.0: "half", 66.7: "two thirds"}


@dataclass(frozen=True)
class ArmFinding:
    """One line of thought.

    Args:
        topic: What it is about, for people.
        verdict: What may be said in a word; None for what is no verdict.
        messages: What is said.
        metric: The metric that it is about; empty for several.
        method: By which method was explained, for figures of explanations.
    """

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
    first = comparison.baseline.measurement
    n_arms = len(comparison.arms)
    arms = "1 arm" if n_arms == 1 else "{n_arms} arms"
    labeled = "" if first.n_labeled else " (no labels)"
    matched = " · rates matched" if comparison.match_rates else ""
    return Message(
        "compared",
        f"{arms} against {{baseline}} · {{n_runs}} runs{_pairing(comparison)} · "
        f"{{n_examples:,}} examples{labeled} · {{n_classes:,}} classes{matched}",
        n_arms=n_arms,
        baseline=comparison.baseline.name,
        n_runs=first.n_runs + sum(arm.measurement.n_runs for arm in comparison.arms),
        n_examples=first.n_examples,
        n_classes=first.n_classes,
    )


def _pairing(comparison: Comparison) -> str:
    paired = {arm.is_paired for arm in comparison.arms}
    if len(paired) > 1:
        return ""
    return ", paired by seed" if True in paired else ", not paired"


def headline(comparison: Comparison) -> Message:
    """The finding on the answers, and whether accuracy pays for it."""
    finding = _on_answers(comparison)
    if not comparison.match_rates:
        return finding
    return Message("at-matched-rates", "At matched rates: {finding}", finding=finding)


def _on_answers(comparison: Comparison) -> Message:
    steadier = with_verdict(comparison, "flip_rate", "steadier")
    shaken = with_verdict(comparison, "flip_rate", "less steady")
    if steadier:
        cut = f"{{arms}} {_verb(steadier, 'cut')} the flips by {{amount}}"
        fields = {"arms": _few(steadier, comparison), "amount": _about(steadier)}
        if not shaken:
            return Message(
                "flips-cut", f"{cut}{{accuracy}}.", **fields, accuracy=_accuracy_clause(steadier)
            )
        return Message(
            "flips-cut-and-raised",
            f"{cut}; {{shaken}} {_verb(shaken, 'raise')} them.",
            **fields,
            shaken=_few(shaken, comparison),
        )
    if shaken:
        return Message(
            "flips-raised",
            f"{{arms}} {_verb(shaken, 'make')} answers less steady{{accuracy}}.",
            arms=_few(shaken, comparison),
            accuracy=_accuracy_clause(shaken, loss_only=True),
        )
    if with_verdict(comparison, "flip_rate", "no difference shown"):
        return Message("no-difference-shown", "No difference in the flips is shown.")
    if with_verdict(comparison, "flip_rate", "too few runs"):
        return Message("too-few-runs", "Too few runs for a verdict on the flips.")
    return Message("no-verdict", "No verdict on the flips.")


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
    if loss_only:
        return ""
    if verdicts == {"better"}:
        return Message("accuracy-rises", "; accuracy rises")
    if verdicts <= {"better", "no difference shown"}:
        return Message("no-accuracy-loss-shown", "; no loss of accuracy shown")
    return ""


def findings(comparison: Comparison) -> tuple[ArmFinding, ...]:
    """What a person wants to know first."""
    found = [_on(comparison, "Answers", "flip_rate", "The flip rate")]
    if "accuracy" in comparison.baseline.measurement.metrics:
        spread = _on(comparison, "Good and bad runs", "accuracy_sd", "Accuracy’s sd over runs")
        found += [
            _on(comparison, "Accuracy", "accuracy", "Accuracy"),
            replace(spread, messages=(*spread.messages, *_parts_of_spread(comparison))),
        ]
    if "probability_sd" in comparison.baseline.measurement.metrics:
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
    messages = (*finding.messages, *_floors(explained, method))
    return replace(finding, messages=messages, method=method)


def _floors(explained: Comparison, method: str) -> tuple[Message, ...]:
    """How far two draws of one run are apart, with each arm of which that is known."""
    noise = {
        arm.name: found[TOP_WORDS].value
        for arm in (explained.baseline, *explained.arms)
        if (found := arm.measurement.explanations[method].noise) is not None
    }
    if not noise:
        return ()
    parts = tuple(
        Message(
            "noise-of-arm",
            "{noise} with {arm}",
            noise=amounts.figure(TOP_WORDS, value),
            arm=arm,
        )
        for arm, value in noise.items()
    )
    return (
        Message(
            "explainer-noise",
            "Two draws of one explainer already differ in {listed}.",
            listed=Series(parts, ", "),
            noise=noise,
        ),
    )


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
        messages.append(_too_few(metric, few, is_all=len(few) == n_judged))
    rest = with_verdict(comparison, metric, "not tested")
    if rest:
        messages.append(_untested(metric, rest))
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
    return Message(
        "several-verdicts",
        f"{listed[0].upper()}{listed[1:]} of {{n_arms}} arms.",
        counts=counts,
        n_arms=n_arms,
    )


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
        effects = tuple(arm.effects[metric] for arm in arms)
        return Message(
            "change-shown",
            f"{start} with {{arms}}, by {{span}}.",
            **fields,
            span=amounts.Amounts(effects, amounts.span),
        )
    changes = Series(tuple(_one_shown(arm, metric) for arm in arms))
    return Message("change-shown", f"{start} {{changes}}.", **fields, changes=changes)


def _one_shown(arm: ComparedArm, metric: str) -> Message:
    effect, after = arm.effects[metric], arm.measurement.metrics[metric].value
    fields = {"after": amounts.figure(metric, after), "arm": arm.name, "size": amounts.Size(effect)}
    words = "to {after} with {arm}"
    if effect.value is not None:
        noun = "by" if effect.scale == "difference" else f"a {_noun(effect)} of"
        words += f", {noun} {{size}}"
    return Message("change-of-arm", words, **fields)


def _noun(effect: Effect) -> str:
    return "cut" if amounts.direction(effect) == "falls" else "rise"


def _open(metric: str, arms: Sequence[ComparedArm], *, is_all: bool) -> Message:
    """An open effect always comes with what these runs would have shown."""
    effects = tuple(arm.effects[metric] for arm in arms)
    start = "With" if is_all else "No difference shown with"
    words = f"{start} {{arms}}: {{changes}}"
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


def _too_few(metric: str, arms: Sequence[ComparedArm], *, is_all: bool) -> Message:
    words = "Too few runs for a verdict on {arms}: {changes}."
    if is_all:
        words = "With {arms}: {changes}, without an interval over runs."
    changes = amounts.Amounts(tuple(arm.effects[metric] for arm in arms))
    return Message("too-few-runs", words, metric=metric, arms=names(arms), changes=changes)


def _untested(metric: str, arms: Sequence[ComparedArm]) -> Message:
    note = arms[0].effects[metric].note
    words = "No verdict on {arms}: {note}." if note else "No verdict on {arms}."
    return Message("no-verdict", words, metric=metric, arms=names(arms), note=note)


def _parts_of_spread(comparison: Comparison) -> tuple[Message, ...]:
    """What the spread is made of, where that can be said."""
    base = comparison.baseline
    if base.measurement.n_runs < VERDICT_RUNS:
        return ()
    fields = {
        "baseline": base.name,
        "chance": WithUnit(base.measurement.metrics["accuracy_sd_independent"].value, "points"),
    }
    if spread_cause(base.measurement) is None:
        return (
            Message(
                "spread-within-chance",
                "With {baseline} it is not shown to exceed what independent flips give, {chance}.",
                **fields,
            ),
        )
    beyond = Message(
        "spread-beyond-chance",
        "Independent flips alone would give {chance} with {baseline}.",
        **fields,
    )
    calm = settled_runs(comparison)
    if not calm:
        return (beyond,)
    settled = Message(
        "spread-settled",
        "Beyond them, no spread is seen any longer with {arms}.",
        arms=names(calm),
    )
    return beyond, settled


def settled_runs(comparison: Comparison) -> list[ComparedArm]:
    """Arms with a spread of accuracy shown to be smaller, and no longer beyond chance."""
    if spread_cause(comparison.baseline.measurement) is None:
        return []
    return [
        arm
        for arm in with_verdict(comparison, "accuracy_sd", "steadier")
        if spread_cause(arm.measurement) is None
    ]
