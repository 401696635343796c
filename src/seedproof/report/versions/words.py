"""Sentences about two versions. Every sentence has a condition."""

from collections.abc import Sequence
from dataclasses import dataclass

from rich.cells import cell_len

from seedproof.comparison.versions.result import GroupFigures, VersionComparison
from seedproof.messages import Message, printable
from seedproof.report.comparison.amounts import change, ends
from seedproof.report.comparison.text import shortened
from seedproof.report.numbers import NO_BREAK, WithInterval, WithUnit, signless
from seedproof.report.text import MAX_CELL
from seedproof.stats.intervals import TAIL, Estimate

N_LISTED = 10
MAX_NAMED = 3
IN_FILE = "all are in versions.json (--out)"
# By what is shown of its stability: the new version changes more than another seed would, or not.
HEADLINES = {
    "steadier": (
        Message(
            "more-changes-and-steadier",
            "The new version is steadier, and changes more answers than another seed would",
        ),
        Message("steadier", "The new version is steadier; no change beyond the seed is shown"),
    ),
    "less steady": (
        Message(
            "more-changes-and-less-steady",
            "The new version is less steady, and changes more answers than another seed would",
        ),
        Message(
            "less-steady", "The new version is less steady; no change beyond the seed is shown"
        ),
    ),
    "no difference shown": (
        Message("more-changes", "The new version changes more answers than another seed would"),
        Message("no-change-shown", "No change beyond the seed is shown"),
    ),
}
TOO_FEW_RUNS = Message("few-runs", "Too few runs to distinguish the new version from another seed")


@dataclass(frozen=True)
class Points:
    """A difference of shares, written such as "0.7 points [−0.1, 1.5]".

    Args:
        estimate: The difference and its interval.
    """

    estimate: Estimate

    def __str__(self) -> str:
        text = f"{signless(self.estimate.value)}{NO_BREAK}points"
        if self.estimate.low is None or self.estimate.high is None:
            return text
        return f"{text} [{signless(self.estimate.low)}, {signless(self.estimate.high)}]"


@dataclass(frozen=True)
class PValue:
    """A p-value, written such as "p = .002".

    Args:
        value: The p-value.
    """

    value: float

    def __str__(self) -> str:
        if self.value < 0.001:
            return f"p{NO_BREAK}<{NO_BREAK}.001"
        return f"p{NO_BREAK}={NO_BREAK}{f'{self.value:.3f}'.removeprefix('0')}"


def interval(value: Estimate) -> str:
    """Return an interval in percent or points, such as "[−0.1, 1.5]"; nothing without one."""
    if value.low is None or value.high is None:
        return ""
    return f"[{signless(value.low)}, {signless(value.high)}]"


def title(comparison: VersionComparison) -> Message:
    """What was compared, in one line."""
    return Message(
        "compared-versions",
        "{old} · {new} · {n_examples:,} examples · {n_classes:,} classes",
        old=_runs(len(comparison.old_runs), "old"),
        new=_runs(len(comparison.new_runs), "new"),
        n_examples=comparison.n_examples,
        n_classes=len(comparison.classes),
    )


def _runs(n_runs: int, kind: str) -> Message:
    noun = "run" if n_runs == 1 else "runs"
    return Message(f"{kind}-runs", f"{{n_runs:,}} {kind} {noun}", n_runs=n_runs)


def sentences(comparison: VersionComparison) -> tuple[Message, ...]:
    """What a person wants to know first; the weaker words where the figures allow no more."""
    messages = [_changed(comparison), steadier(comparison)]
    if "accuracy_change" in comparison.whole.figures:
        messages += [_directions(comparison), _accuracy(comparison)]
    return (*messages, _single_examples(comparison))


def _changed(comparison: VersionComparison) -> Message:
    which = {"both": "one version", "old": "the old one", "new": "the new one"}
    beyond = comparison["flip_rate_beyond"]
    start = (
        "The new version changes {flip_rate} of the answers; two retrains of "
        f"{which[comparison.baseline_from]} already change {{no_change}}"
    )
    fields: dict[str, object] = {
        "flip_rate": WithInterval(comparison["flip_rate"], "percent"),
        "baseline_from": comparison.baseline_from,
        "no_change": WithInterval(comparison["flip_rate_no_change"], "percent"),
        "beyond": Points(beyond),
    }
    has_p_value = _can_be_small(comparison)
    if has_p_value:
        fields["p_value"] = PValue(comparison.exchange.p_value)
    in_brackets = " ({p_value})" if has_p_value else ""
    if comparison.whole.is_beyond:
        words = f"{start}; {{beyond}} are beyond the seed{in_brackets}."
        return Message("change-beyond-seed", words, **fields)
    if comparison.is_beyond:
        words = (
            f"{start}. That is more than another seed would{in_brackets}, but how much is not "
            "known: {beyond}."
        )
        return Message("change-of-unknown-size", words, **fields)
    if beyond.over == "examples":
        words = f"{start}; so few runs cannot tell whether that is more than another seed would."
        return Message("change-of-few-runs", words, **fields)
    p_value = ", {p_value}" if has_p_value else ""
    words = (
        f"{start}. That is not shown to be more than another seed would change "
        f"({{beyond}}{p_value}){{shown_for}}."
    )
    return Message("change-not-shown", words, **fields, shown_for=_but_shown(comparison))


def steadier(comparison: VersionComparison) -> Message:
    """Say whether the new version is steadier than the old one, as far as the runs show it."""
    effect = comparison.steadiness
    if effect is None:
        version = "old" if len(comparison.old_runs) == 1 else "new"
        return Message(
            "steadiness-unknown",
            "Whether the new version is steadier is not known: the {version} one has a single run.",
            version=version,
        )
    fields: dict[str, object] = {
        "old": WithUnit(comparison["flip_rate_old"].value, "percent"),
        "new": WithUnit(comparison["flip_rate_new"].value, "percent"),
        "change": f"{change(effect)} {ends(effect)}".strip(),
        "effect": effect,
    }
    runs = "two of its runs disagree on {new} of the answers, two old ones on {old}"
    if effect.verdict == "steadier":
        words = f"The new version is steadier: {runs} ({{change}})."
        return Message("new-version-steadier", words, **fields)
    if effect.verdict == "less steady":
        words = f"The new version is less steady: {runs} ({{change}})."
        return Message("new-version-less-steady", words, **fields)
    runs = "two new runs disagree on {new} of the answers, two old ones on {old}"
    if effect.verdict == "too few runs":
        words = f"Too few runs to say which version is steadier: {runs}."
        return Message("steadiness-of-few-runs", words, **fields)
    if effect.low is None:
        words = f"No difference in stability is shown: {runs}."
    else:
        words = f"No difference in stability is shown: {runs} ({{change}})."
    return Message("steadiness-not-shown", words, **fields)


def headline(comparison: VersionComparison) -> Message:
    """Return the finding in one short sentence."""
    changed = _changed(comparison).code
    headlines = {
        "new-version-steadier": HEADLINES["steadier"],
        "new-version-less-steady": HEADLINES["less steady"],
    }
    beyond, not_beyond = headlines.get(steadier(comparison).code, HEADLINES["no difference shown"])
    if changed in {"change-beyond-seed", "change-of-unknown-size"}:
        return beyond
    if changed == "change-of-few-runs" and not_beyond.code == "no-change-shown":
        return TOO_FEW_RUNS
    return not_beyond


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
    if n_more:
        listed.append(f"{n_more:,} more")
    *first, last = listed
    return Message(
        "change-shown-for-parts",
        ", but shown for {listed}",
        listed=f"{', '.join(first)} and {last}" if first else last,
        names=tuple(name for _, name in shown[:MAX_NAMED]),
        n_more=n_more,
    )


def _directions(comparison: VersionComparison) -> Message:
    beyond = [comparison[f"{name}_flip_rate_beyond"] for name in ("negative", "positive")]
    return Message(
        "directions",
        "{negative} of the answers were right and are wrong now{negative_beyond}; {positive} were "
        "wrong and are right now{positive_beyond}. Another seed alone gives {no_change} of each.",
        negative=WithInterval(comparison["negative_flip_rate"], "percent"),
        negative_beyond=_than_the_seed(beyond[0]),
        positive=WithInterval(comparison["positive_flip_rate"], "percent"),
        positive_beyond=_than_the_seed(beyond[1]),
        no_change=WithInterval(comparison["directed_flip_rate_no_change"], "percent"),
    )


def _than_the_seed(beyond: Estimate) -> Message | str:
    if beyond.over == "examples":
        return ""
    side = _side(beyond)
    if side > 0:
        return Message("more-than-seed", ", more than the seed explains")
    if side < 0:
        return Message("fewer-than-seed", ", fewer than another seed would give")
    return Message(
        "not-shown-to-exceed-seed", ", not shown to be more than another seed would give"
    )


def _accuracy(comparison: VersionComparison) -> Message:
    moved = comparison["accuracy_change"]
    fields = {
        "old": WithUnit(comparison["accuracy_old"].value, "percent"),
        "new": WithUnit(comparison["accuracy_new"].value, "percent"),
        "change": Points(moved),
    }
    start = "Accuracy goes from {old} to {new}"
    if moved.over == "examples":
        words = f"{start}; so few runs cannot tell luck from progress."
        return Message("accuracy-of-few-runs", words, **fields)
    if not _side(moved):
        return Message("accuracy-open", f"{start}: no change is shown, {{change}}.", **fields)
    word = "better" if moved.value > 0 else "worse"
    return Message(f"accuracy-{word}", f"{start}: {word}, {{change}}.", **fields)


def _side(value: Estimate) -> int:
    """Whether an interval is above 0, below it, or neither."""
    if value.low is None or value.high is None or value.over == "examples":
        return 0
    return 1 if value.low > 0.0 else -1 if value.high < 0.0 else 0


def _single_examples(comparison: VersionComparison) -> Message:
    discoveries = comparison.discoveries
    fields: dict[str, object] = {
        "percent": 100 * discoveries.rate,
        "n_found": discoveries.n_found,
        "n_tested": discoveries.n_tested,
    }
    rate = f"false discovery rate {{percent:.0f}}{NO_BREAK}%"
    if discoveries.n_found:
        noun = "example" if discoveries.n_found == 1 else "examples"
        words = (
            f"On {{n_found:,}} {noun} the seed does not explain the change ({rate}; {{n_tested:,}} "
            "were contested enough to be tested)."
        )
        return Message("examples-changed", words, **fields)
    if not discoveries.n_tested:
        return Message(
            "no-example-contested",
            "No single example can be named: no example's votes are contested enough to be tested "
            "with {old} and {new}.",
            old=_runs(len(comparison.old_runs), "old"),
            new=_runs(len(comparison.new_runs), "new"),
        )
    if discoveries.n_needed == 1:
        words = f"On no single example is the change shown to be more than the seed's ({rate})."
        return Message("no-example-changed", words, **fields)
    fields |= {"n_needed": discoveries.n_needed, "runs_needed": discoveries.runs_needed}
    more = ""
    if discoveries.runs_needed is not None:
        more = "; with {runs_needed} runs of each version one would be enough"
    words = (
        f"No single example can be named ({rate}): of {{n_tested:,}} that were contested enough to "
        f"be tested, {{n_needed:,}} would have to change in every run{more}."
    )
    return Message("too-few-runs-for-examples", words, **fields)


def limits(comparison: VersionComparison) -> tuple[Message, ...]:
    """What these runs cannot tell."""
    n_runs = {"old": len(comparison.old_runs), "new": len(comparison.new_runs)}
    messages = []
    for version, other in (("old", "new"), ("new", "old")):
        if n_runs[version] == 1:
            messages.append(
                Message(
                    "one-run",
                    "The {version} version has one run: what another seed changes is taken from "
                    "the {other} one, and holds if both are equally steady.",
                    version=version,
                    other=other,
                )
            )
        if n_runs[version] == 2:
            messages.append(
                Message(
                    "two-runs",
                    "With two runs of the {version} version intervals are over examples only: "
                    "other runs may differ more.",
                    version=version,
                )
            )
    if not _can_be_small(comparison) and 1 not in n_runs.values():
        messages.append(
            Message(
                "no-small-p-value",
                "So few runs cannot give a small p-value; 4 runs of each version can.",
            )
        )
    if not comparison.whole.n_labeled:
        messages.append(
            Message("no-labels", "No labels were given, so right and wrong are left out.")
        )
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
    messages = [_judged(parts)]
    shown = ordered(parts)[:n_listed]
    if any(part.n_labeled for part in shown):
        messages.append(
            Message(
                "right-and-wrong", "r→w: right before, wrong now. w→r: wrong before, right now."
            )
        )
    if len(shown) < len(parts):
        left_out = Message(
            "parts-left-out",
            f"{{n_shown}} of {{n_parts:,}} shown; {IN_FILE}.",
            n_shown=len(shown),
            n_parts=len(parts),
        )
        messages.insert(0, left_out)
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
