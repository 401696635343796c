"""Sentences about two versions. Each has a condition; where it fails, a weaker one is used."""

from collections.abc import Sequence
from dataclasses import dataclass

from rich.cells import cell_len

from seedproof.comparison.versions.result import GroupFigures, VersionComparison
from seedproof.measurement.clusters import in_clusters
from seedproof.messages import Message, Sentences, printable
from seedproof.predictions.checks import Check
from seedproof.report.comparison.amounts import change_with_ends
from seedproof.report.comparison.headline import in_sentence
from seedproof.report.comparison.text import shortened
from seedproof.report.numbers import NO_BREAK, WithInterval, WithUnit, in_brackets, signless
from seedproof.report.text import MAX_CELL
from seedproof.stats.intervals import WITHOUT_RUNS, Estimate

N_LISTED = 10
MAX_NAMED = 3
IN_FILE = "all are in versions.json (--out)"
RATE = f"false discovery rate {{percent:.0f}}{NO_BREAK}%"
RUNS = "two new {unit}s disagree on {new} of the answers, two old ones on {old}"
ITS_RUNS = "two of its {unit}s disagree on {new} of the answers, two old ones on {old}"
CHANGED = "The new version changes {flip_rate} of the answers; two {unit}s of"
# The version whose runs estimate the noise.
BASELINES = {"both": "the same version", "old": "the old one", "new": "the new one"}
# Headlines by the sentence on stability: for a change beyond noise, and for none.
HEADLINES = {
    "new-version-steadier": ("more-changes-and-steadier", "steadier"),
    "new-version-less-steady": ("more-changes-and-less-steady", "less-steady"),
}
USUAL_HEADLINES = ("more-changes", "no-change-shown")
SENTENCES = {
    "more-changes-and-steadier": "The new version is steadier, and changes more answers than "
    "another {repeat} would",
    "steadier": "The new version is steadier; no change beyond {unit}-to-{unit} noise is shown",
    "more-changes-and-less-steady": "The new version is less steady, and changes more answers than "
    "another {repeat} would",
    "less-steady": "The new version is less steady; no change beyond {unit}-to-{unit} noise is "
    "shown",
    "more-changes": "The new version changes more answers than another {repeat} would",
    "no-change-shown": "No change beyond {unit}-to-{unit} noise is shown",
    "quality-and-change": "{quality}; {change}",
    "accuracy-rose": "Accuracy rises by {size}",
    "accuracy-fell": "Accuracy falls by {size}",
    "untrusted-input": "No verdict, because the check {check} reports an error: {remedy}",
    "steadiness-untrusted": f"Stability is not judged: {RUNS}.",
    "accuracy-untrusted": "Accuracy goes from {old} to {new}; there is no verdict.",
    "examples-untrusted": "No individual example is judged.",
    "intervals": f"Intervals: {{percent:.4g}}{NO_BREAK}%.",
    "two-primaries": f"Intervals: 95{NO_BREAK}%, and {{percent:.4g}}{NO_BREAK}% of {{distance}} "
    "beyond noise and of the {quality}, which are judged together.",
    "few-runs": "Too few {unit}s to distinguish the new version from another {repeat}",
    "compared-versions": "{old} · {new} · {n_examples:,} examples{clusters} · {n_classes:,} "
    "classes",
    "compared-texts": "{old} · {new} · {n_examples:,} examples{clusters}",
    "steadiness-unknown": "The {version} version has a single {unit}, so its stability is unknown.",
    "new-version-steadier": f"The new version is steadier: {ITS_RUNS} ({{change}}).",
    "new-version-less-steady": f"The new version is less steady: {ITS_RUNS} ({{change}}).",
    "steadiness-of-few-runs": "Too few {unit}s to compare the stability of the versions: "
    f"{RUNS}.",
    "directions": "{negative} of the answers were right and are now wrong{negative_beyond}; "
    "{positive} were wrong and are now right{positive_beyond}. Another {repeat} of "
    "the same version would by itself give {no_change} of each.",
    "more-than-seed": ", more than another {repeat} would give",
    "fewer-than-seed": ", fewer than another {repeat} would give",
    "not-shown-to-exceed-seed": " (not shown to exceed noise)",
    "accuracy-of-few-runs": "Accuracy goes from {old} to {new}; these {unit}s are too few to "
    "separate luck from progress.",
    "accuracy-open": "Accuracy goes from {old} to {new} ({change}); no change is shown.",
    "accuracy-better": "Accuracy rises from {old} to {new} ({change}).",
    "accuracy-worse": "Accuracy falls from {old} to {new} ({change}).",
    "no-example-contested": "No individual example is shown to change: with {old} and {new}, no "
    "example has enough disagreement to be tested.",
    "no-example-changed": "No individual example is shown to change by more than "
    f"{{repeat}}-to-{{repeat}} noise ({RATE}).",
    "one-run": "The {version} version has one {unit}. The effect of another {repeat} is estimated "
    "from the {other} one, which assumes that both are equally steady.",
    "two-runs": "With two runs of the {version} version, intervals cover examples only: other runs "
    "may differ more.",
    "examples-of-few-runs": "No individual example is judged: with {old} and {new} there is no "
    "verdict.",
    "no-labels": "No labels were given, so right and wrong answers are left out.",
    "no-references": "No references were given, so right and wrong answers are left out.",
    "right-and-wrong": "r→w: right before, wrong now. w→r: wrong before, right now.",
    "parts-left-out": f"{{n_shown}} of {{n_parts:,}} shown; {IN_FILE}.",
}
_say = Sentences(SENTENCES)


@dataclass(frozen=True)
class Points:
    """A difference of shares, written such as "0.7 points [−0.1, 1.5]"."""

    estimate: Estimate

    def __str__(self) -> str:
        ends = in_brackets(self.estimate, signless)
        return f"{signless(self.estimate.value)}{NO_BREAK}points{ends}"


@dataclass(frozen=True)
class PValue:
    """A p-value, written such as "p = 0.002"."""

    value: float

    def __str__(self) -> str:
        if self.value < 0.001:
            return f"p{NO_BREAK}<{NO_BREAK}0.001"
        return f"p{NO_BREAK}={NO_BREAK}{self.value:.3f}"


def title(comparison: VersionComparison) -> Message:
    """Return what was compared, in one line."""
    return _say(
        "compared-texts" if comparison.has_texts else "compared-versions",
        **runs(comparison),
        n_examples=comparison.n_examples,
        clusters=in_clusters(comparison.clusters),
        n_classes=len(comparison.classes),
    )


def runs(comparison: VersionComparison) -> dict[str, Message]:
    """Return the number of runs, or trials, of each version."""
    noun = unit_of(comparison)
    counts = {"old": len(comparison.old_runs), "new": len(comparison.new_runs)}
    return {
        kind: Message(f"{kind}-runs", f"{{n_runs:,}} {kind} {noun}{'s' * (n != 1)}", n_runs=n)
        for kind, n in counts.items()
    }


def unit_of(comparison: VersionComparison) -> str:
    """Return `trial` if one model was asked again, otherwise `run`."""
    return "trial" if comparison.are_trials else "run"


def _repeat(comparison: VersionComparison) -> str:
    """Return `seed` if seeds are known to vary, otherwise `run`."""
    return comparison.repeats.removesuffix("s")


def sentences(comparison: VersionComparison) -> tuple[Message, ...]:
    """Return the sentences, the most important first: a change of accuracy, if it is shown."""
    messages = [_changed(comparison), steadier(comparison)]
    if "accuracy_change" in comparison.whole.figures:
        messages += [_directions(comparison), _accuracy(comparison)]
    if comparison.quality_side is not None:
        messages = [messages[-1], *messages[:-1]]
    return (*messages, single_examples(comparison))


def _changed(comparison: VersionComparison) -> Message:
    beyond = comparison["flip_rate_beyond"]
    start = f"{CHANGED} {BASELINES[comparison.baseline_from]} already differ on {{no_change}}"
    fields: dict[str, object] = {
        "flip_rate": WithInterval(comparison["flip_rate"], "percent"),
        "baseline_from": comparison.baseline_from,
        "no_change": WithInterval(comparison["flip_rate_no_change"], "percent"),
        "beyond": Points(beyond),
        "repeat": _repeat(comparison),
        "unit": unit_of(comparison),
    }
    in_parentheses = after_comma = ""
    if _can_be_small(comparison):
        in_parentheses, after_comma = " ({p_value})", ", {p_value}"
        fields["p_value"] = PValue(comparison.permutation_test.p_value)
    if comparison.whole.is_beyond:
        code = "change-beyond-seed"
        end = f"; {{beyond}} are beyond {{unit}}-to-{{unit}} noise{in_parentheses}."
    elif comparison.is_beyond:
        code = "change-of-unknown-size"
        end = f". That is more than another {{repeat}} would{in_parentheses}, but by an unknown "
        end += "amount: {beyond}."
    elif comparison.error is not None:
        code = "change-untrusted"
        end = "; whether that is more than another {repeat} would is not judged."
    elif not has_runs(comparison, beyond) or not comparison.is_judged:
        code = "change-of-few-runs"
        end = (
            "; these {unit}s are too few to show whether that is more than another {repeat} would."
        )
    else:
        code = "change-not-shown"
        end = ". No change beyond {unit}-to-{unit} noise is shown "
        end += f"({{beyond}}{after_comma}){{shown_for}}."
        fields["shown_for"] = _but_shown(comparison)
    return Message(code, start + end, **fields)


def steadier(comparison: VersionComparison) -> Message:
    """Return whether the new version is steadier than the old one, if the runs show it."""
    effect = comparison.steadiness
    if effect is None:
        version = "old" if len(comparison.old_runs) == 1 else "new"
        return _say("steadiness-unknown", version=version, unit=unit_of(comparison))
    fields: dict[str, object] = {
        "old": WithUnit(comparison["flip_rate_old"].value, "percent"),
        "new": WithUnit(comparison["flip_rate_new"].value, "percent"),
        "change": change_with_ends(effect),
        "effect": effect,
        "unit": unit_of(comparison),
    }
    if effect.verdict in {"steadier", "less steady"}:
        return _say(f"new-version-{effect.verdict.replace(' ', '-')}", **fields)
    if effect.verdict == "too few runs":
        return _say("steadiness-of-few-runs", **fields)
    if comparison.error is not None:
        return _say("steadiness-untrusted", **fields)
    size = "" if effect.low is None else " ({change})"
    words = f"No difference in stability is shown: {RUNS}{size}."
    return Message("steadiness-not-shown", words, **fields)


def headline(comparison: VersionComparison) -> Message:
    """Return the finding in one short sentence: that on accuracy first, if there is one."""
    if comparison.error is not None:
        return untrusted(comparison.error)
    change, side = _on_change(comparison), comparison.quality_side
    if comparison.quality is None or side is None:
        return change
    code = "accuracy-rose" if side == "better" else "accuracy-fell"
    size = f"{100 * abs(comparison[comparison.quality].value):.1f}{NO_BREAK}points"
    clause = Message(change.code, "{change}", change=in_sentence(str(change)))
    return _say("quality-and-change", quality=_say(code, size=size), change=clause)


def untrusted(error: Check) -> Message:
    """Return the headline over an error: that there is no verdict, why, and what to do."""
    remedy = in_sentence(error.remedy).removesuffix(".")
    return _say("untrusted-input", check=error.name, remedy=remedy)


def on_intervals(comparison: VersionComparison, quality: str, *, distance: str) -> Message:
    """Return the confidence of the intervals in the table of figures."""
    if comparison.quality is None:
        return _say("intervals", percent=100 * comparison.confidence)
    return _say(
        "two-primaries",
        percent=100 * comparison.confidence,
        distance=distance,
        quality=quality,
    )


def _on_change(comparison: VersionComparison) -> Message:
    changed = _changed(comparison).code
    words = {"repeat": _repeat(comparison), "unit": unit_of(comparison)}
    beyond, not_beyond = HEADLINES.get(steadier(comparison).code, USUAL_HEADLINES)
    if changed in {"change-beyond-seed", "change-of-unknown-size"}:
        return _say(beyond, **words)
    is_short = changed == "change-of-few-runs" and not_beyond == "no-change-shown"
    return _say("few-runs" if is_short else not_beyond, **words)


def _can_be_small(comparison: VersionComparison) -> bool:
    """Return whether the exact test over these runs can give a small p-value."""
    return comparison.permutation_test.least <= comparison.largest_p_value


def _but_shown(comparison: VersionComparison) -> Message | str:
    """Return the classes and slices that change beyond noise, although the whole does not."""
    kinds = {"class ": comparison.by_class}
    kinds |= {f"{column} = ": parts for column, parts in comparison.slices.items()}
    ranked = [(kind, part) for kind, parts in kinds.items() for part in ordered(parts)]
    shown = [(kind, part.name) for kind, part in ranked if part.is_beyond]
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
    repeat = _repeat(comparison)
    fields: dict[str, object] = {"repeat": repeat}
    for direction in ("negative", "positive"):
        beyond = comparison[f"{direction}_flip_rate_beyond"]
        codes = {1: "more-than-seed", -1: "fewer-than-seed", 0: "not-shown-to-exceed-seed"}
        fields[direction] = WithInterval(comparison[f"{direction}_flip_rate"], "percent")
        is_judged = has_runs(comparison, beyond) and comparison.is_judged
        fields[f"{direction}_beyond"] = (
            _say(codes[_side(comparison, beyond)], repeat=repeat) if is_judged else ""
        )
    no_change = WithInterval(comparison["directed_flip_rate_no_change"], "percent")
    return _say("directions", **fields, no_change=no_change)


def _accuracy(comparison: VersionComparison) -> Message:
    moved = comparison["accuracy_change"]
    codes = {1: "accuracy-better", -1: "accuracy-worse", 0: "accuracy-open"}
    code = codes[_side(comparison, moved)]
    if not has_runs(comparison, moved) or not comparison.is_judged:
        code = "accuracy-of-few-runs" if comparison.error is None else "accuracy-untrusted"
    return _say(
        code,
        old=WithUnit(comparison["accuracy_old"].value, "percent"),
        new=WithUnit(comparison["accuracy_new"].value, "percent"),
        change=Points(moved),
        unit=unit_of(comparison),
    )


def has_runs(comparison: VersionComparison, value: Estimate) -> bool:
    """Return whether an interval covers what another run, or trial, would give."""
    return comparison.are_trials or value.over not in WITHOUT_RUNS


def _side(comparison: VersionComparison, value: Estimate) -> int:
    """Return 1 for an interval above 0, -1 for one below it, otherwise 0."""
    if value.low is None or value.high is None or not has_runs(comparison, value):
        return 0
    return 1 if value.low > 0.0 else -1 if value.high < 0.0 else 0


def single_examples(comparison: VersionComparison) -> Message:
    """Return how many single examples are shown to change."""
    tests = comparison.discoveries
    if comparison.error is not None:
        return _say("examples-untrusted")
    if not comparison.is_judged:
        return _say("examples-of-few-runs", **runs(comparison))
    fields: dict[str, object] = {
        "percent": 100 * tests.rate,
        "n_found": tests.n_found,
        "n_tested": tests.n_tested,
        "repeat": unit_of(comparison),
    }
    if tests.n_found:
        noun = "example" if tests.n_found == 1 else "examples"
        words = (
            f"On {{n_found:,}} {noun} {{repeat}}-to-{{repeat}} noise does not explain the change "
            f"({RATE}; "
            "{n_tested:,} had enough disagreement to be tested)."
        )
        return Message("examples-changed", words, **fields)
    if not tests.n_tested:
        return _say("no-example-contested", **runs(comparison))
    if tests.n_needed == 1:
        return _say("no-example-changed", **fields)
    more = "; with {runs_needed} {repeat}s of each version, one example would be enough"
    words = (
        f"No individual example is shown to change ({RATE}). With these {{repeat}}s, that would "
        "take at least {n_needed:,} of the {n_tested:,} testable examples changing in every "
        "{repeat}"
        f"{'' if tests.runs_needed is None else more}."
    )
    fields |= {"n_needed": tests.n_needed, "runs_needed": tests.runs_needed}
    return Message("too-few-runs-for-examples", words, **fields)


def limits(comparison: VersionComparison) -> tuple[Message, ...]:
    """Return what these runs cannot show."""
    n_runs = {"old": len(comparison.old_runs), "new": len(comparison.new_runs)}
    repeat = _repeat(comparison)
    messages = []
    for version, other in (("old", "new"), ("new", "old")):
        if n_runs[version] == 1:
            unit = unit_of(comparison)
            messages.append(_say("one-run", version=version, unit=unit, other=other, repeat=repeat))
        if n_runs[version] == 2 and not comparison.are_trials:
            messages.append(_say("two-runs", version=version))
    if not comparison.whole.n_labeled:
        messages.append(_say("no-references" if comparison.has_texts else "no-labels"))
    return tuple(messages)


def ordered(parts: Sequence[GroupFigures]) -> list[GroupFigures]:
    """Return parts that change beyond noise first, then those that change most."""
    return sorted(parts, key=lambda part: (not part.is_beyond, -part.beyond.value))


def fitted(name: str, width: int) -> str:
    """Return a name with its middle left out until it fits; a width of 5 or more is enough."""
    text, length = printable(name), width
    while cell_len(text) > width:
        text = shortened(printable(name), length)
        length -= 1
    return text


def legend(
    comparison: VersionComparison, parts: Sequence[GroupFigures], *, n_listed: int = N_LISTED
) -> tuple[Message, ...]:
    """Return how to read the table of classes, or of the slices of a column."""
    shown = ordered(parts)[:n_listed]
    messages = [_judged(comparison, parts)]
    if any(part.n_labeled for part in shown):
        messages.append(_say("right-and-wrong"))
    if len(shown) < len(parts):
        messages.insert(0, _say("parts-left-out", n_shown=len(shown), n_parts=len(parts)))
    return tuple(messages)


def _judged(comparison: VersionComparison, parts: Sequence[GroupFigures]) -> Message:
    """Return what the intervals of groups cover, and what the star means."""
    rows = {1: "for its one row", 2: "simultaneously for both rows"}
    together = rows.get(len(parts), "simultaneously for all {n_parts:,} rows")
    start = f"“Beyond noise” is in points; its intervals hold {together}"
    if not all(has_runs(comparison, part.beyond) for part in parts):
        words = f"{start}, but cover examples only, so no row is judged."
        return Message("rows-not-judged", words, n_parts=len(parts))
    if comparison.error is not None:
        return Message("rows-not-judged", f"{start}; no row is judged.", n_parts=len(parts))
    if not comparison.is_judged:
        words = f"{start}; the {{unit}}s are too few to judge a row."
        return Message("rows-not-judged", words, n_parts=len(parts), unit=unit_of(comparison))
    alone = "; a single example has none" if any(part.n_examples == 1 for part in parts) else ""
    return Message(
        "rows-judged", f"{start}. * marks values shown to be above 0{alone}.", n_parts=len(parts)
    )


def left_out_examples(comparison: VersionComparison, *, n_listed: int = N_LISTED) -> Message | None:
    """Return where to find the examples that are not listed; None if all are listed."""
    n_found, n_kept = comparison.discoveries.n_found, len(comparison.unexplained)
    if n_found <= n_listed:
        return None
    where = f"{IN_FILE}."
    if n_kept < n_found:
        where = (
            "{n_kept:,} with the smallest p-values are in versions.json, and all in "
            "examples.parquet: those whose p_value is at most the threshold in versions.json."
        )
    return Message(
        "examples-left-out",
        f"{{n_shown}} of {{n_found:,}} shown; {where}",
        n_shown=n_listed,
        n_found=n_found,
        n_kept=n_kept,
    )
