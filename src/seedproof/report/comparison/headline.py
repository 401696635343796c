"""The headline of a comparison: the primary metric, and the quality that is judged with it.

An arm that is steadier and worse is never praised together with arms that are steadier alone.
"""

from collections.abc import Iterator, Sequence
from dataclasses import replace

from seedproof.comparison.arms.result import ComparedArm, Comparison
from seedproof.messages import Message, Sentences
from seedproof.metrics.card import card
from seedproof.report.comparison import amounts
from seedproof.report.comparison.amounts import Amounts
from seedproof.report.comparison.groups import (
    BAD,
    GOOD,
    NEUTRAL,
    Series,
    names,
    verdict_on,
    with_verdict,
)
from seedproof.report.comparison.sentences import on_metric, subject_of, verb
from seedproof.report.numbers import NO_BREAK
from seedproof.stats.effect import Verdict

MAX_NAMED = 3
MAX_NAME_LENGTH = 44
# A fraction replaces percentages if every estimate is within so many points of it.
NEAR = 10.0
FRACTIONS = {25.0: "a quarter", 33.3: "a third", 50.0: "half", 66.7: "two thirds"}
SENTENCES = {
    "at-matched-rates": "At matched rates: {finding}",
    "equivalent": "Equivalent within {margin}: {noun} {changes} with {arms}.",
    "no-difference-shown": "No difference in {noun} is shown.",
    "too-few-runs": "Too few runs for a verdict on {noun}.",
    "no-verdict": "No verdict on {noun}.",
    "no-verdict-because": "No verdict on {noun}: {note}.",
    "several-open": "{noun}: {parts}.",
    "arms-equivalent": "equivalent within {margin} with {arms}",
    "arms-open": "no difference shown with {arms}",
    "arms-of-few-runs": "too few runs with {arms}",
    "arms-not-tested": "no verdict on {arms}",
    "accuracy-rises": "; accuracy rises",
    "no-accuracy-loss-shown": "; no loss of accuracy shown",
    "untrusted-input": "No verdict on {arms}, because the check {check} reports an error: {remedy}",
    "partly-untrusted": "{finding} {untrusted}",
    "flips-and-quality": "{parts}.",
    "primary-and-quality": "{parts}.",
}
OPEN: dict[Verdict, str] = {
    "equivalent": "arms-equivalent",
    "no difference shown": "arms-open",
    "too few runs": "arms-of-few-runs",
    "not tested": "arms-not-tested",
}
_say = Sentences(SENTENCES)


def headline(comparison: Comparison) -> Message:
    """Return the finding on the primary metric and its quality, in one sentence.

    Arms with an error-level check have no finding: a second sentence has the remedy.
    """
    errors = comparison.errors
    stopped = [arm for arm in comparison.arms if arm.name in errors]
    if stopped:
        check = errors[stopped[0].name]
        untrusted = _say(
            "untrusted-input",
            arms=names(stopped),
            check=check.name,
            remedy=in_sentence(check.remedy),
        )
        if len(stopped) == len(comparison.arms):
            return untrusted
        return _say("partly-untrusted", finding=_finding(comparison), untrusted=untrusted)
    return _finding(comparison)


def _finding(comparison: Comparison) -> Message:
    finding = on_flips(comparison) if comparison.primary == "flip_rate" else _on_primary(comparison)
    return _say("at-matched-rates", finding=finding) if comparison.match_rates else finding


def on_flips(comparison: Comparison) -> Message:
    """Return the finding on flips, as strong as the verdicts allow.

    Arms that lose accuracy, or pay for it with flips, are groups of their own.
    """
    quality = comparison.quality or "accuracy"
    losing = with_verdict(comparison, quality, "worse")
    gaining = with_verdict(comparison, quality, "better")
    all_steadier = with_verdict(comparison, "flip_rate", "steadier")
    all_less_steady = with_verdict(comparison, "flip_rate", "less steady")
    steadier = _without(all_steadier, losing)
    less_steady = _without(all_less_steady, (*losing, *gaining))
    shown = (*all_steadier, *all_less_steady)
    groups = [
        _group(arms, comparison, quality, verdict, word)
        for arms, verdict, word in (
            (_both(gaining, all_less_steady), "raise", "gain"),
            (_without(gaining, shown), "", "gain"),
            (_both(losing, all_steadier), "cut", "lose"),
            (_both(losing, all_less_steady), "raise", "lose"),
            (_without(losing, shown), "", "lose"),
        )
        if arms
    ]
    if not groups:
        return _on_flips_alone(comparison, steadier, less_steady)
    if not (steadier or less_steady) and len(groups) == 1 and _both(losing, all_steadier):
        cut = f"{{arms}} {verb(losing, 'cut')} flips by {{amount}}{{accuracy}}."
        falls = Message("accuracy-falls", " but {lose}", lose=_change(losing, quality, "lose"))
        fields = {"arms": _few(losing, comparison), "amount": _about(losing), "accuracy": falls}
        return Message("flips-cut", cut, **fields)
    parts = list(_leading(comparison, steadier, less_steady, gaining, quality))
    if not shown:
        unchanged = str(_on_no_change(comparison, "flip_rate", "flips")).removesuffix(".")
        groups.append(Message("flips-open", "{unchanged}", unchanged=in_sentence(unchanged)))
    return _say("flips-and-quality", parts=Series((*parts, *groups)))


def _on_flips_alone(
    comparison: Comparison, steadier: Sequence[ComparedArm], less_steady: Sequence[ComparedArm]
) -> Message:
    """Return the finding on flips if no arm loses accuracy, or gains it at the cost of flips."""
    if steadier:
        cut = f"{{arms}} {verb(steadier, 'cut')} flips by {{amount}}"
        fields = {"arms": _few(steadier, comparison), "amount": _about(steadier)}
        if not less_steady:
            accuracy = _accuracy_clause(steadier)
            return Message("flips-cut", f"{cut}{{accuracy}}.", **fields, accuracy=accuracy)
        words = f"{cut}; {{less_steady}} {verb(less_steady, 'raise')} them."
        fields["less_steady"] = _few(less_steady, comparison)
        return Message("flips-cut-and-raised", words, **fields)
    if less_steady:
        return Message(
            "flips-raised",
            f"{{arms}} {verb(less_steady, 'make')} answers less steady.",
            arms=_few(less_steady, comparison),
        )
    return _on_no_change(comparison, "flip_rate", "flips")


def _leading(
    comparison: Comparison,
    steadier: Sequence[ComparedArm],
    less_steady: Sequence[ComparedArm],
    gaining: Sequence[ComparedArm],
    quality: str,
) -> Iterator[Message]:
    """Yield the parts on arms that lose no accuracy: those that also gain it before the others."""
    for arms, words in (
        (_both(steadier, gaining), " and {gain}"),
        (_without(steadier, gaining), ""),
    ):
        if arms:
            yield Message(
                "cuts-flips",
                f"{{arms}} {verb(arms, 'cut')} flips by {{amount}}{words}",
                arms=_few(arms, comparison),
                amount=_about(arms),
                gain=_change(arms, quality, "gain") if words else "",
            )
    if less_steady:
        words = f"{{arms}} {verb(less_steady, 'raise')} flips"
        yield Message("raises-flips", words, arms=_few(less_steady, comparison))


def _group(
    arms: Sequence[ComparedArm],
    comparison: Comparison,
    quality: str,
    of_flips: str,
    of_quality: str,
) -> Message:
    """Return such as "long cuts flips by half but loses 13.3 points of accuracy"."""
    fields = {"arms": _few(arms, comparison), "change": _change(arms, quality, of_quality)}
    if not of_flips:
        return Message("quality-changes", "{arms} {change}", **fields)
    amount = " by {amount}" if of_flips == "cut" else ""
    fields |= {"amount": _about(arms)} if amount else {}
    joined = "and" if (of_flips, of_quality) == ("raise", "lose") else "but"
    words = f"{{arms}} {verb(arms, of_flips)} flips{amount} {joined} {{change}}"
    return Message("flips-and-quality-change", words, **fields)


def _change(arms: Sequence[ComparedArm], quality: str, word: str) -> Message:
    """Return such as "loses 13.3 points of accuracy", or "has a worse mean (−0.1)"."""
    effects = tuple(arm.effects[quality] for arm in arms)
    noun = card(quality).title.removeprefix("The ")
    noun = "accuracy" if quality == "accuracy" else in_sentence(noun)
    fields = {"metric": quality, "noun": noun}
    if not amounts.is_in_points(effects[0]):
        has, valued = "has" if len(arms) == 1 else "have", "worse" if word == "lose" else "better"
        size = Amounts(effects, amounts.values)
        return Message(
            f"quality-{valued}", f"{has} a {valued} {{noun}} ({{size}})", **fields, size=size
        )
    size = Amounts(effects, amounts.points)
    return Message(
        f"{word}s-points", f"{verb(arms, word)} {{size}} of {{noun}}", **fields, size=size
    )


def _on_primary(comparison: Comparison) -> Message:
    """Return the finding on a primary metric other than the flip rate."""
    metric, quality = comparison.primary, comparison.quality
    losing = [] if quality is None else with_verdict(comparison, quality, "worse")
    gaining = [] if quality is None else with_verdict(comparison, quality, "better")
    if quality is None or not (losing or gaining):
        return _on_primary_alone(comparison)
    unchanged = tuple(_without(comparison.arms, (*losing, *gaining)))
    without_losses = replace(comparison, arms=(*_both(comparison.arms, gaining), *unchanged))
    shown = with_verdict(comparison, metric, *GOOD, *BAD, *NEUTRAL)
    parts = []
    if with_verdict(without_losses, metric, *GOOD, *BAD, *NEUTRAL) or not shown:
        first = str(_on_primary_alone(without_losses if shown else comparison)).removesuffix(".")
        parts.append(Message("primary", "{finding}", finding=first))
    for arms, word in ((gaining, "gain"), (losing, "lose")):
        alike_arms: dict[str, list[ComparedArm]] = {}
        for arm in arms:
            verdict = verdict_on(arm, metric)
            is_named = word == "lose" and verdict in (*GOOD, *BAD)
            alike_arms.setdefault(verdict if is_named else "", []).append(arm)
        for named, alike in alike_arms.items():
            be = "is" if len(alike) == 1 else "are"
            joined = f" {be} {named} {'but' if named in GOOD else 'and'}" if named else ""
            fields = {"arms": _few(alike, comparison), "change": _change(alike, quality, word)}
            parts.append(Message("quality-changes", f"{{arms}}{joined} {{change}}", **fields))
    return _say("primary-and-quality", parts=Series(tuple(parts)))


def _on_primary_alone(comparison: Comparison) -> Message:
    metric = comparison.primary
    subject = subject_of(comparison, metric)
    if with_verdict(comparison, metric, *GOOD, *BAD, *NEUTRAL):
        return on_metric(comparison, "", metric, subject).messages[0]
    noun = card(metric).title if comparison.has_classes else subject
    return _on_no_change(comparison, metric, in_sentence(noun))


def _on_no_change(comparison: Comparison, metric: str, noun: str) -> Message:
    """Return the finding if no arm is shown to differ: all are equivalent, or it is open."""
    judged = [arm for arm in comparison.arms if arm.name not in comparison.errors]
    by_verdict: dict[Verdict, list[ComparedArm]] = {}
    for verdict in OPEN:
        alike = [arm for arm in judged if verdict_on(arm, metric) == verdict]
        if alike:
            by_verdict[verdict] = alike
    if len(by_verdict) > 1:
        parts = tuple(
            _say(
                OPEN[verdict],
                arms=names(arms),
                margin=amounts.margin(arms[0].effects[metric]) if verdict == "equivalent" else "",
            )
            for verdict, arms in by_verdict.items()
        )
        return _say("several-open", noun=noun[:1].upper() + noun[1:], parts=Series(parts))
    if "equivalent" in by_verdict:
        effects = tuple(arm.effects[metric] for arm in judged)
        return _say(
            "equivalent",
            metric=metric,
            margin=amounts.margin(effects[0]),
            noun=noun,
            changes=Amounts(effects, amounts.changes),
            arms=names(judged),
        )
    if "no difference shown" in by_verdict:
        return _say("no-difference-shown", noun=noun)
    if "too few runs" in by_verdict:
        return _say("too-few-runs", noun=noun)
    notes = {arm.effects[metric].note for arm in judged if metric in arm.effects}
    note = notes.pop() if len(notes) == 1 else None
    return _say("no-verdict", noun=noun) if note is None else _because(noun, note)


def _because(noun: str, note: Message) -> Message:
    return _say("no-verdict-because", noun=noun, note=note)


def _without(arms: Sequence[ComparedArm], others: Sequence[ComparedArm]) -> list[ComparedArm]:
    return [arm for arm in arms if all(arm is not other for other in others)]


def _both(arms: Sequence[ComparedArm], others: Sequence[ComparedArm]) -> list[ComparedArm]:
    return [arm for arm in arms if any(arm is other for other in others)]


def _few(arms: Sequence[ComparedArm], comparison: Comparison) -> Message:
    """Return the names if they are few and short, otherwise "2 of 5 arms"."""
    listed, n_arms = names(arms), len(comparison.arms)
    is_short = len(arms) <= MAX_NAMED and len(str(listed)) <= MAX_NAME_LENGTH
    if is_short or len(arms) == n_arms == 1:
        return Message("arms-named", "{arms}", arms=listed)
    words = "All {n_arms} arms" if len(arms) == n_arms else "{n_of_them} of {n_arms} arms"
    return Message("arms-counted", words, arms=listed, n_of_them=len(arms), n_arms=n_arms)


def _about(arms: Sequence[ComparedArm]) -> Message:
    """Return the cut in flips: a fraction if all estimates are near it."""
    ratios = [arm.effects["flip_rate"].value for arm in arms]
    cuts = sorted(100 * (1 - ratio) for ratio in ratios if ratio is not None)
    low, high = cuts[0], cuts[-1]
    nearest = min(FRACTIONS, key=lambda fraction: abs(fraction - (low + high) / 2))
    if all(abs(cut - nearest) <= NEAR for cut in cuts):
        return Message("fraction", f"about {FRACTIONS[nearest]}", percent=nearest)
    words = "{low:.0f}" if f"{low:.0f}" == f"{high:.0f}" else "{low:.0f} to {high:.0f}"
    return Message("percentage", f"{words}{NO_BREAK}%", low=low, high=high)


def _accuracy_clause(arms: Sequence[ComparedArm]) -> Message | str:
    """Return the clause on accuracy that all verdicts support; empty if there is none."""
    verdicts = {verdict_on(arm, "accuracy") for arm in arms}
    if not verdicts <= {"better", "equivalent", "no difference shown"}:
        return ""
    return _say("accuracy-rises" if verdicts == {"better"} else "no-accuracy-loss-shown")


def in_sentence(text: str) -> str:
    """Return a text to go on in a sentence: without its capital, unless it is an abbreviation."""
    is_word = len(text) < 2 or not text[1].isupper()
    return text[:1].lower() + text[1:] if is_word else text
