"""What is said about a comparison. Every sentence has a condition.

Where it does not hold the weaker sentence is said. An interval that includes no change is "no
difference shown", together with what these runs would have shown.
"""

from collections.abc import Sequence
from dataclasses import dataclass

from seedproof.comparison.arms.result import ComparedArm, Comparison
from seedproof.comparison.effect import Effect
from seedproof.report.comparison import amounts
from seedproof.report.comparison.cautions import warnings
from seedproof.report.comparison.groups import BAD, GOOD, names, verdict_on, with_verdict
from seedproof.report.comparison.reasons import explained_by, of_method
from seedproof.report.numbers import NO_BREAK, number
from seedproof.report.reasons.words import TOP_WORDS, named
from seedproof.report.words import VERDICT_RUNS, spread_cause

MAX_NAMED = 3
MAX_NAME_LENGTH = 44
# A fraction is said instead of a percentage if every estimate is within so many points of it.
NEAR = 10.0
FRACTIONS = {25.0: "a quarter", 33.3: "a third", 50.0: "half", 66.7: "two thirds"}


@dataclass(frozen=True)
class Finding:
    """One line of thought: its topic, what may be said in a word, and the words themselves."""

    topic: str
    verdict: str
    text: str


def title(comparison: Comparison) -> str:
    """What was compared, in one line."""
    first = comparison.baseline.measurement
    n_arms = len(comparison.arms)
    n_runs = first.n_runs + sum(arm.measurement.n_runs for arm in comparison.arms)
    arms = "1 arm" if n_arms == 1 else f"{n_arms} arms"
    labeled = "" if first.n_labeled else " (no labels)"
    matched = " · rates matched" if comparison.match_rates else ""
    return (
        f"{arms} against {comparison.baseline.name} · {n_runs} runs{_pairing(comparison)} · "
        f"{first.n_examples:,} examples{labeled} · {first.n_classes:,} classes{matched}"
    )


def _pairing(comparison: Comparison) -> str:
    paired = {arm.is_paired for arm in comparison.arms}
    if len(paired) > 1:
        return ""
    return ", paired by seed" if True in paired else ", not paired"


def headline(comparison: Comparison) -> str:
    """The finding on the answers, and whether accuracy pays for it."""
    start = "At matched rates: " if comparison.match_rates else ""
    return start + _on_answers(comparison)


def _on_answers(comparison: Comparison) -> str:
    steadier = with_verdict(comparison, "flip_rate", "steadier")
    shaken = with_verdict(comparison, "flip_rate", "less steady")
    if steadier:
        start = f"{_few(steadier, comparison)} {_verb(steadier, 'cut')} the flips"
        cuts = f"{start} by {_about(steadier)}"
        if not shaken:
            return cuts + _accuracy_clause(steadier) + "."
        return f"{cuts}; {_few(shaken, comparison)} {_verb(shaken, 'raise')} them."
    if shaken:
        start = f"{_few(shaken, comparison)} {_verb(shaken, 'make')} answers less steady"
        return f"{start}{_accuracy_clause(shaken, loss_only=True)}."
    if with_verdict(comparison, "flip_rate", "no difference shown"):
        return "No difference in the flips is shown."
    if with_verdict(comparison, "flip_rate", "too few runs"):
        return "Too few runs for a verdict on the flips."
    return "No verdict on the flips."


def _few(arms: Sequence[ComparedArm], comparison: Comparison) -> str:
    """Names if they are few and short, else how many of how many."""
    listed = names(arms)
    if len(arms) <= MAX_NAMED and len(listed) <= MAX_NAME_LENGTH:
        return listed
    n_arms = len(comparison.arms)
    if len(arms) == n_arms:
        return listed if n_arms == 1 else f"All {n_arms} arms"
    return f"{len(arms)} of {n_arms} arms"


def _verb(arms: Sequence[ComparedArm], verb: str) -> str:
    return f"{verb}s" if len(arms) == 1 else verb


def _about(arms: Sequence[ComparedArm]) -> str:
    """By how much flips are cut: a fraction where all estimates are near it."""
    cuts = sorted(
        cut for arm in arms if (cut := amounts.in_percent(arm.effects["flip_rate"])) is not None
    )
    middle = (cuts[0] + cuts[-1]) / 2
    nearest = min(FRACTIONS, key=lambda fraction: abs(fraction - middle))
    if all(abs(cut - nearest) <= NEAR for cut in cuts):
        return f"about {FRACTIONS[nearest]}"
    low, high = f"{cuts[0]:.0f}", f"{cuts[-1]:.0f}"
    return f"{low}{NO_BREAK}%" if low == high else f"{low} to {high}{NO_BREAK}%"


def _accuracy_clause(arms: Sequence[ComparedArm], *, loss_only: bool = False) -> str:
    verdicts = {verdict_on(arm, "accuracy") for arm in arms}
    if "worse" in verdicts:
        worse = [arm for arm in arms if verdict_on(arm, "accuracy") == "worse"]
        return "; accuracy falls" + ("" if len(worse) == len(arms) else f" with {names(worse)}")
    if loss_only:
        return ""
    if verdicts == {"better"}:
        return "; accuracy rises"
    if verdicts <= {"better", "no difference shown"}:
        return "; no loss of accuracy shown"
    return ""


def findings(comparison: Comparison) -> tuple[Finding, ...]:
    """What a person wants to know first."""
    found = [_on(comparison, "Answers", "flip_rate", "The flip rate")]
    if "accuracy" in comparison.baseline.measurement.metrics:
        found += [
            _on(comparison, "Accuracy", "accuracy", "Accuracy"),
            _on(comparison, "Good and bad runs", "accuracy_sd", "Accuracy’s sd over runs"),
        ]
        found[-1] = _with_parts(comparison, found[-1])
    if "probability_sd" in comparison.baseline.measurement.metrics:
        found.append(_on(comparison, "Confidence", "probability_sd", "A probability’s sd"))
    found += [_on_reasons(comparison, method) for method in explained_by(comparison)]
    watched = warnings(comparison)
    if watched:
        found.append(Finding("Watch", "", " ".join(watched)))
    return tuple(found)


def _on_reasons(comparison: Comparison, method: str) -> Finding:
    """What changes in the top words, beside the explainer's own noise where it is known."""
    several = len(explained_by(comparison)) > 1
    topic = f"Reasons ({named(method)})" if several else "Reasons"
    explained = of_method(comparison, method)
    found = _on(explained, topic, TOP_WORDS, "The share of top words that differ")
    floor = _floors(explained, method)
    return Finding(topic, found.verdict, f"{found.text} {floor}") if floor else found


def _floors(explained: Comparison, method: str) -> str:
    """How far two draws of one run are apart, with each arm of which that is known."""
    told = []
    for arm in (explained.baseline, *explained.arms):
        noise = arm.measurement.explanations[method].noise
        if noise is not None:
            told.append(f"{amounts.figure(TOP_WORDS, noise[TOP_WORDS].value)} with {arm.name}")
    return f"Two draws of one explainer already differ in {', '.join(told)}." if told else ""


def _on(comparison: Comparison, topic: str, metric: str, subject: str) -> Finding:
    """All arms' effects on one metric, the shown ones first."""
    parts = []
    for verdicts in (GOOD, BAD):
        for direction in ("falls", "rises"):
            arms = [
                arm
                for arm in with_verdict(comparison, metric, *verdicts)
                if amounts.direction(arm.effects[metric]) == direction
            ]
            if arms:
                parts.append(_shown(comparison, metric, subject, arms, direction))
    n_judged = sum(metric in arm.effects for arm in comparison.arms)
    unclear = with_verdict(comparison, metric, "no difference shown")
    if unclear:
        parts.append(_open(metric, unclear, is_all=len(unclear) == n_judged))
    few = with_verdict(comparison, metric, "too few runs")
    if few:
        parts.append(_too_few(metric, few, is_all=len(few) == n_judged))
    rest = with_verdict(comparison, metric, "not tested")
    if rest:
        parts.append(_untested(metric, rest))
    return Finding(topic, _in_a_word(comparison, metric), " ".join(parts))


def _in_a_word(comparison: Comparison, metric: str) -> str:
    verdicts = [arm.effects[metric].verdict for arm in comparison.arms if metric in arm.effects]
    if len(set(verdicts)) == 1:
        return "No verdict." if verdicts[0] == "not tested" else f"{verdicts[0].capitalize()}."
    shown = [one for one in GOOD + BAD if one in verdicts] or ["no difference shown"]
    counted = ", ".join(f"{one} with {verdicts.count(one)}" for one in shown)
    return f"{counted[0].upper()}{counted[1:]} of {len(verdicts)} arms."


def _shown(
    comparison: Comparison,
    metric: str,
    subject: str,
    arms: Sequence[ComparedArm],
    direction: str,
) -> str:
    before = amounts.figure(metric, comparison.baseline.measurement.metrics[metric].value)
    if len(arms) > MAX_NAMED:
        span = amounts.span([arm.effects[metric] for arm in arms])
        return f"{subject} {direction} from {before} with {names(arms)}, by {span}."
    told = [_one_shown(arm, metric) for arm in arms]
    return f"{subject} {direction} from {before} " + "; ".join(told) + "."


def _one_shown(arm: ComparedArm, metric: str) -> str:
    effect, after = arm.effects[metric], arm.measurement.metrics[metric].value
    start = f"to {amounts.figure(metric, after)} with {arm.name}"
    if effect.value is None:
        return start
    word = "by" if effect.scale == "difference" else f"a {_noun(effect)} of"
    return f"{start}, {word} {amounts.size(effect)}"


def _noun(effect: Effect) -> str:
    return "cut" if amounts.direction(effect) == "falls" else "rise"


def _open(metric: str, arms: Sequence[ComparedArm], *, is_all: bool) -> str:
    """An open effect always comes with what these runs would have shown."""
    effects = [arm.effects[metric] for arm in arms]
    start = "With" if is_all else "No difference shown with"
    found = f"{start} {names(arms)}: {_range(effects)}"
    shows = amounts.would_show(effects)
    return f"{found}; these runs would show {shows}." if shows else f"{found}."


def _range(effects: Sequence[Effect]) -> str:
    """The estimates of several effects, or one with its interval."""
    if len(effects) == 1:
        return f"{amounts.change(effects[0])} {amounts.ends(effects[0])}".strip()
    known = [effect for effect in effects if effect.value is not None]
    ordered = sorted(known, key=lambda effect: effect.value or 0.0)
    if not ordered:
        return amounts.NONE
    low, high = amounts.change(ordered[0]), amounts.change(ordered[-1])
    return low if low == high else f"{low.removesuffix(amounts.unit(ordered[0]))} to {high}"


def _too_few(metric: str, arms: Sequence[ComparedArm], *, is_all: bool) -> str:
    amount = _range([arm.effects[metric] for arm in arms])
    if is_all:
        return f"With {names(arms)}: {amount}, without an interval over runs."
    return f"Too few runs for a verdict on {names(arms)}: {amount}."


def _untested(metric: str, arms: Sequence[ComparedArm]) -> str:
    note = arms[0].effects[metric].note
    return f"No verdict on {names(arms)}" + (f": {note}." if note else ".")


def _with_parts(comparison: Comparison, finding: Finding) -> Finding:
    """What the spread is made of, where that can be said."""
    base = comparison.baseline
    if base.measurement.n_runs < VERDICT_RUNS:
        return finding
    independent = base.measurement.metrics["accuracy_sd_independent"].value
    chance = f"{number(independent, 'points')}{NO_BREAK}pts"
    if spread_cause(base.measurement) is None:
        more = f"With {base.name} it is not shown to exceed what independent flips give, {chance}."
        return Finding(finding.topic, finding.verdict, f"{finding.text} {more}")
    more = f"Independent flips alone would give {chance} with {base.name}."
    calm = settled_runs(comparison)
    if calm:
        more += f" Beyond them, no spread is seen any longer with {names(calm)}."
    return Finding(finding.topic, finding.verdict, f"{finding.text} {more}")


def settled_runs(comparison: Comparison) -> list[ComparedArm]:
    """Arms with a spread of accuracy shown to be smaller, and no longer beyond chance."""
    if spread_cause(comparison.baseline.measurement) is None:
        return []
    return [
        arm
        for arm in with_verdict(comparison, "accuracy_sd", "steadier")
        if spread_cause(arm.measurement) is None
    ]
