"""Sentences about two versions. Every sentence has a condition."""

from collections.abc import Sequence
from dataclasses import dataclass

from rich.cells import cell_len

from seedproof.comparison.versions.result import GroupFigures, VersionComparison
from seedproof.messages import Message, Sentences, printable
from seedproof.report.comparison.amounts import change, ends
from seedproof.report.comparison.text import shortened
from seedproof.report.numbers import NO_BREAK, WithInterval, WithUnit, in_brackets, signless
from seedproof.report.text import MAX_CELL
from seedproof.stats.intervals import TAIL, Estimate

N_LISTED = 10
MAX_NAMED = 3
IN_FILE = "all are in versions.json (--out)"
RATE = f"false discovery rate {{percent:.0f}}{NO_BREAK}%"
RUNS = "two new runs disagree on {new} of the answers, two old ones on {old}"
ITS_RUNS = "two of its runs disagree on {new} of the answers, two old ones on {old}"
# The version whose retrains say what another seed changes.
BASELINES = {"both": "one version", "old": "the old one", "new": "the new one"}
# Codes of the headline, by the code of what is said of stability: the new version changes more than
# another seed would, or not.
HEADLINES = {
    "new-version-steadier": ("more-changes-and-steadier", "steadier"),
    "new-version-less-steady": ("more-changes-and-less-steady", "less-steady"),
}
USUAL_HEADLINES = ("more-changes", "no-change-shown")
SENTENCES = {
    "more-changes-and-steadier": "The new version is steadier, and changes more answers than "
    "another seed would",
    "steadier": "The new version is steadier; no change beyond the seed is shown",
    "more-changes-and-less-steady": "The new version is less steady, and changes more answers than "
    "another seed would",
    "less-steady": "The new version is less steady; no change beyond the seed is shown",
    "more-changes": "The new version changes more answers than another seed would",
    "no-change-shown": "No change beyond the seed is shown",
    "few-runs": "Too few runs to distinguish the new version from another seed",
    "compared-versions": "{old} · {new} · {n_examples:,} examples · {n_classes:,} classes",
    "steadiness-unknown": "Whether the new version is steadier is not known: the {version} one has "
    "a single run.",
    "new-version-steadier": f"The new version is steadier: {ITS_RUNS} ({{change}}).",
    "new-version-less-steady": f"The new version is less steady: {ITS_RUNS} ({{change}}).",
    "steadiness-of-few-runs": f"Too few runs to say which version is steadier: {RUNS}.",
    "directions": "{negative} of the answers were right and are wrong now{negative_beyond}; "
    "{positive} were wrong and are right now{positive_beyond}. Another seed alone gives "
    "{no_change} of each.",
    "more-than-seed": ", more than the seed explains",
    "fewer-than-seed": ", fewer than another seed would give",
    "not-shown-to-exceed-seed": ", not shown to be more than another seed would give",
    "accuracy-of-few-runs": "Accuracy goes from {old} to {new}; so few runs cannot tell luck from "
    "progress.",
    "accuracy-open": "Accuracy goes from {old} to {new}: no change is shown, {change}.",
    "accuracy-better": "Accuracy goes from {old} to {new}: better, {change}.",
    "accuracy-worse": "Accuracy goes from {old} to {new}: worse, {change}.",
    "no-example-contested": "No single example can be named: no example's votes are contested "
    "enough to be tested with {old} and {new}.",
    "no-example-changed": f"On no single example is the change shown to be more than the seed's "
    f"({RATE}).",
    "one-run": "The {version} version has one run: what another seed changes is taken from the "
    "{other} one, and holds if both are equally steady.",
    "two-runs": "With two runs of the {version} version intervals are over examples only: other "
    "runs may differ more.",
    "no-small-p-value": "So few runs cannot give a small p-value; 4 runs of each version can.",
    "no-labels": "No labels were given, so right and wrong are left out.",
    "right-and-wrong": "r→w: right before, wrong now. w→r: wrong before, right now.",
    "parts-left-out": f"{{n_shown}} of {{n_parts:,}} shown; {IN_FILE}.",
}
_say = Sentences(SENTENCES)


@dataclass(frozen=True)
class Points:
    """A difference of shares, written such as "0.7 points [−0.1, 1.5]"."""

    estimate: Estimate

    def __str__(self) -> str:
        return (
            f"{signless(self.estimate.value)}{NO_BREAK}points{in_brackets(self.estimate, signless)}"
        )


@dataclass(frozen=True)
class PValue:
    """A p-value, written such as "p = .002"."""

    value: float

    def __str__(self) -> str:
        if self.value < 0.001:
            return f"p{NO_BREAK}<{NO_BREAK}.001"
        return f"p{NO_BREAK}={NO_BREAK}{f'{self.value:.3f}'.removeprefix('0')}"


def interval(value: Estimate) -> str:
    """Return an interval in percent or points, such as "[−0.1, 1.5]"; nothing without one."""
    return in_brackets(value, signless).strip()


def title(comparison: VersionComparison) -> Message:
    """What was compared, in one line."""
    return _say(
        "compared-versions",
        **_runs(comparison),
        n_examples=comparison.n_examples,
        n_classes=len(comparison.classes),
    )


def _runs(comparison: VersionComparison) -> dict[str, Message]:
    """How many runs each version has."""
    counts = {"old": len(comparison.old_runs), "new": len(comparison.new_runs)}
    return {
        kind: Message(
            f"{kind}-runs", f"{{n_runs:,}} {kind} {'run' if n == 1 else 'runs'}", n_runs=n
        )
        for kind, n in counts.items()
    }


def sentences(comparison: VersionComparison) -> tuple[Message, ...]:
    """What a person wants to know first; the weaker words where the figures allow no more."""
    messages = [_changed(comparison), steadier(comparison)]
    if "accuracy_change" in comparison.whole.figures:
        messages += [_directions(comparison), _accuracy(comparison)]
    return (*messages, _single_examples(comparison))


def _changed(comparison: VersionComparison) -> Message:
    beyond = comparison["flip_rate_beyond"]
    start = (
        "The new version changes {flip_rate} of the answers; two retrains of "
        f"{BASELINES[comparison.baseline_from]} already change {{no_change}}"
    )
    fields: dict[str, object] = {
        "flip_rate": WithInterval(comparison["flip_rate"], "percent"),
        "baseline_from": comparison.baseline_from,
        "no_change": WithInterval(comparison["flip_rate_no_change"], "percent"),
        "beyond": Points(beyond),
    }
    in_brackets = after_comma = ""
    if _can_be_small(comparison):
        in_brackets, after_comma = " ({p_value})", ", {p_value}"
        fields["p_value"] = PValue(comparison.exchange.p_value)
    if comparison.whole.is_beyond:
        code, end = "change-beyond-seed", f"; {{beyond}} are beyond the seed{in_brackets}."
    elif comparison.is_beyond:
        code = "change-of-unknown-size"
        end = f". That is more than another seed would{in_brackets}, but how much is not known: "
        end += "{beyond}."
    elif beyond.over == "examples":
        code = "change-of-few-runs"
        end = "; so few runs cannot tell whether that is more than another seed would."
    else:
        code = "change-not-shown"
        end = ". That is not shown to be more than another seed would change "
        end += f"({{beyond}}{after_comma}){{shown_for}}."
        fields["shown_for"] = _but_shown(comparison)
    return Message(code, start + end, **fields)


def steadier(comparison: VersionComparison) -> Message:
    """Say whether the new version is steadier than the old one, as far as the runs show it."""
    effect = comparison.steadiness
    if effect is None:
        version = "old" if len(comparison.old_runs) == 1 else "new"
        return _say("steadiness-unknown", version=version)
    fields: dict[str, object] = {
        "old": WithUnit(comparison["flip_rate_old"].value, "percent"),
        "new": WithUnit(comparison["flip_rate_new"].value, "percent"),
        "change": f"{change(effect)} {ends(effect)}".strip(),
        "effect": effect,
    }
    if effect.verdict in {"steadier", "less steady"}:
        return _say(f"new-version-{effect.verdict.replace(' ', '-')}", **fields)
    if effect.verdict == "too few runs":
        return _say("steadiness-of-few-runs", **fields)
    size = "" if effect.low is None else " ({change})"
    words = f"No difference in stability is shown: {RUNS}{size}."
    return Message("steadiness-not-shown", words, **fields)


def headline(comparison: VersionComparison) -> Message:
    """Return the finding in one short sentence."""
    changed = _changed(comparison).code
    beyond, not_beyond = HEADLINES.get(steadier(comparison).code, USUAL_HEADLINES)
    if changed in {"change-beyond-seed", "change-of-unknown-size"}:
        return _say(beyond)
    is_short = changed == "change-of-few-runs" and not_beyond == "no-change-shown"
    return _say("few-runs" if is_short else not_beyond)


def _can_be_small(comparison: VersionComparison) -> bool:
    """Whether the exact test over so many runs can have a small p-value."""
    return comparison.exchange.least <= 2 * TAIL


def _but_shown(comparison: VersionComparison) -> Message | str:
    """The classes and slices that change beyond the seed where the whole is not shown to."""
    kinds = {"class ": comparison.by_class}
    kinds |= {f"{column} = ": parts for column, parts in comparison.slices.items()}
    shown = [
        (kind, part.name) for kind, parts in kinds.items() for part in ordered(parts)
        if part.is_beyond
    ]  # fmt: skip
    if not shown:
        return ""
    listed = [kind + fitted(name, MAX_CELL) for kind, name in shown[:MAX_NAMED]]
    n_more = max(len(shown) - MAX_NAMED, 0)
    *first, last = [*listed, *([f"{n_more:,} more"] if n_more else [])]
    return Message(
        "change-shown-for-parts",
        ", but shown for {listed}",
        listed=f"{', '.join(first)} and {last}" if first else last,
        names=tuple(name for _, name in shown[:MAX_NAMED]),
        n_more=n_more,
    )


def _directions(comparison: VersionComparison) -> Message:
    return _say(
        "directions",
        negative=WithInterval(comparison["negative_flip_rate"], "percent"),
        negative_beyond=_than_the_seed(comparison["negative_flip_rate_beyond"]),
        positive=WithInterval(comparison["positive_flip_rate"], "percent"),
        positive_beyond=_than_the_seed(comparison["positive_flip_rate_beyond"]),
        no_change=WithInterval(comparison["directed_flip_rate_no_change"], "percent"),
    )


def _than_the_seed(beyond: Estimate) -> Message | str:
    if beyond.over == "examples":
        return ""
    codes = {1: "more-than-seed", -1: "fewer-than-seed", 0: "not-shown-to-exceed-seed"}
    return _say(codes[_side(beyond)])


def _accuracy(comparison: VersionComparison) -> Message:
    moved = comparison["accuracy_change"]
    code = {1: "accuracy-better", -1: "accuracy-worse", 0: "accuracy-open"}[_side(moved)]
    return _say(
        "accuracy-of-few-runs" if moved.over == "examples" else code,
        old=WithUnit(comparison["accuracy_old"].value, "percent"),
        new=WithUnit(comparison["accuracy_new"].value, "percent"),
        change=Points(moved),
    )


def _side(value: Estimate) -> int:
    """Whether an interval is above 0, below it, or neither."""
    if value.low is None or value.high is None or value.over == "examples":
        return 0
    return 1 if value.low > 0.0 else -1 if value.high < 0.0 else 0


def _single_examples(comparison: VersionComparison) -> Message:
    found = comparison.discoveries
    fields: dict[str, object] = {
        "percent": 100 * found.rate,
        "n_found": found.n_found,
        "n_tested": found.n_tested,
    }
    if found.n_found:
        noun = "example" if found.n_found == 1 else "examples"
        words = (
            f"On {{n_found:,}} {noun} the seed does not explain the change ({RATE}; {{n_tested:,}} "
            "were contested enough to be tested)."
        )
        return Message("examples-changed", words, **fields)
    if not found.n_tested:
        return _say("no-example-contested", **_runs(comparison))
    if found.n_needed == 1:
        return _say("no-example-changed", **fields)
    fields |= {"n_needed": found.n_needed, "runs_needed": found.runs_needed}
    more = "; with {runs_needed} runs of each version one would be enough"
    words = (
        f"No single example can be named ({RATE}): of {{n_tested:,}} that were contested enough to "
        "be tested, {n_needed:,} would have to change in every run"
        f"{'' if found.runs_needed is None else more}."
    )
    return Message("too-few-runs-for-examples", words, **fields)


def limits(comparison: VersionComparison) -> tuple[Message, ...]:
    """What these runs cannot tell."""
    n_runs = {"old": len(comparison.old_runs), "new": len(comparison.new_runs)}
    messages = []
    for version, other in (("old", "new"), ("new", "old")):
        if n_runs[version] == 1:
            messages.append(_say("one-run", version=version, other=other))
        if n_runs[version] == 2:
            messages.append(_say("two-runs", version=version))
    if not _can_be_small(comparison) and 1 not in n_runs.values():
        messages.append(_say("no-small-p-value"))
    if not comparison.whole.n_labeled:
        messages.append(_say("no-labels"))
    return tuple(messages)


def ordered(parts: Sequence[GroupFigures]) -> list[GroupFigures]:
    """Parts that change beyond the seed first, then those that change most."""
    return sorted(parts, key=lambda part: (not part.is_beyond, -part.beyond.value))


def fitted(name: str, width: int) -> str:
    """A user's words, their middle left out until they are no wider; from 5 on there is a way."""
    text, length = printable(name), width
    while cell_len(text) > width:
        text = shortened(printable(name), length)
        length -= 1
    return text


def legend(parts: Sequence[GroupFigures], *, n_listed: int = N_LISTED) -> tuple[Message, ...]:
    """Say how to read the table of classes, or of the slices of a column."""
    shown = ordered(parts)[:n_listed]
    messages = [_judged(parts)]
    if any(part.n_labeled for part in shown):
        messages.append(_say("right-and-wrong"))
    if len(shown) < len(parts):
        messages.insert(0, _say("parts-left-out", n_shown=len(shown), n_parts=len(parts)))
    return tuple(messages)


def _judged(parts: Sequence[GroupFigures]) -> Message:
    """What the intervals of groups are, and what the star says."""
    rows = {1: "its one row", 2: "both rows together"}
    together = rows.get(len(parts), "all {n_parts:,} rows together")
    start = f"Beyond the seed: in points, intervals hold for {together}"
    if any(part.beyond.over == "examples" for part in parts):
        words = f"{start}, but over examples only, so that no row is judged."
        return Message("rows-not-judged", words, n_parts=len(parts))
    alone = "; a single example has none" if any(part.n_examples == 1 for part in parts) else ""
    return Message("rows-judged", f"{start}; * above 0{alone}.", n_parts=len(parts))


def left_out_examples(comparison: VersionComparison, *, n_listed: int = N_LISTED) -> Message | None:
    """Say where the examples are that the list has no room for; None if it has all."""
    n_found, n_kept = comparison.discoveries.n_found, len(comparison.unexplained)
    if n_found <= n_listed:
        return None
    where = f"{IN_FILE}."
    if n_kept < n_found:
        where = (
            "the surest {n_kept:,} are in versions.json, and all in examples.parquet: those whose "
            "p_value is at most the threshold in versions.json."
        )
    return Message(
        "examples-left-out",
        f"{{n_shown}} of {{n_found:,}} shown; {where}",
        n_shown=n_listed,
        n_found=n_found,
        n_kept=n_kept,
    )
