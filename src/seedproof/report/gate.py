"""Verdicts of a gate as text: for a terminal, a pull request, CI systems and programs."""

import re
from collections.abc import Iterator, Mapping
from dataclasses import asdict, dataclass, replace
from typing import Any, Literal, NamedTuple
from xml.etree import ElementTree as ET

from seedproof.comparison.gate.judge import NEEDS_RUNS, GateResult, Outcome, RuleVerdict
from seedproof.comparison.gate.rules import Rule
from seedproof.comparison.gate.stage import Stage
from seedproof.measurement.selection import is_metric
from seedproof.messages import Message, printable
from seedproof.metrics.card import Unit
from seedproof.predictions.checks import CHECK_NAMES, Check
from seedproof.report.checks import alerts, finding, notes
from seedproof.report.gate_advice import advice, unit_of
from seedproof.report.numbers import (
    NO_BREAK,
    SAME_DECIMALS,
    WithUnit,
    in_brackets,
    number_format,
    sign,
    with_minus,
)
from seedproof.report.text import PLAIN_WIDTH, check_lines, wrapped
from seedproof.stats.intervals import PLAIN, WITHOUT_RUNS, Estimate

FORMAT = 3
SIGNS: Mapping[Outcome, str] = {"pass": "✅", "fail": "❌", "investigate": "🔍"}
HEADER = ("value, with its 95 % interval", "judged by", "limit", "what to do")
# Characters with a meaning in Markdown.
_MARKS = re.compile(r"([\\`*_\[\]|~#!@])")
ONE_RULE: Mapping[Outcome, str] = {
    "pass": "Pass: the rule holds.",
    "fail": "Fail: the rule is broken.",
    "investigate": "Investigate: the rule is undecided.",
}
UNTRUSTED = "Investigate: the input cannot be trusted."
ALLOW = "If this is intended, pass `--allow {}`."
# Code and text of the relation to the limit, or to the baseline.
TO_LIMIT: Mapping[Outcome, tuple[str, str]] = {
    "pass": ("within-limit", "meets the limit ({limit})"),
    "fail": ("beyond-limit", "{misses} the limit ({limit})"),
    "investigate": ("limit-open", "may or may not meet the limit ({limit})"),
}
MISSES = {"max": "exceeds", "min": "is below"}
STRADDLED = ("limit-straddled", "has an interval that includes the limit ({limit})")
NOT_JUDGED = ("not-judged", "is not judged ({limit}): {hold}")
TO_BASELINE: Mapping[Outcome, tuple[str, str]] = {
    "pass": ("no-worse", "is no worse ({limit})"),
    "fail": ("worse", "is worse ({limit})"),
    "investigate": ("maybe-worse", "may be worse ({limit})"),
}
# Reasons why a rule is not judged.
HOLDS: Mapping[str, str] = {
    "too few runs": "too few runs",
    "declared runs missing": "declared runs are missing",
    "between looks": "not at a look",
}


def headline(result: GateResult) -> Message:
    """Return the verdict in one sentence, with the number of runs."""
    outcomes = [verdict.outcome for verdict in result.rules]
    n_rules = len(outcomes)
    n_failed, n_open = outcomes.count("fail"), outcomes.count("investigate")
    is_open = f"{{n_open}} {'is' if n_open == 1 else 'are'} undecided"
    broken = f"{{n_failed}} {'is' if n_failed == 1 else 'are'} broken"
    words = {
        "pass": "Pass: all {n_rules} rules hold.",
        "fail": f"Fail: of {{n_rules}} rules, {broken}{f' and {is_open}' if n_open else ''}.",
        "investigate": f"Investigate: of {{n_rules}} rules, {is_open}; none is broken.",
    }
    stage = result.stage
    is_part = stage.judged_runs < stage.n_runs
    noun = stage.repeats.removesuffix("s") if stage.n_runs == 1 else stage.repeats
    part = "the first {judged_runs} of " if is_part else ""
    runs_text = f"{part}{{n_runs}} {noun}"
    verdict = f"{(ONE_RULE if n_rules == 1 else words)[result.outcome]} Based on {runs_text}."
    return Message(
        result.outcome,
        UNTRUSTED if result.blocking else verdict,
        n_rules=n_rules,
        n_failed=n_failed,
        n_open=n_open,
        n_runs=stage.n_runs,
        judged_runs=stage.judged_runs,
    )


def sentence(verdict: RuleVerdict) -> Message:
    """Return the value and its relation to the limit."""
    value = value_text(verdict)
    # A comma ends the clause on the baseline.
    comma = "," if value.code == "change" else ""
    if verdict.reason in HOLDS:
        code, relation = NOT_JUDGED
    elif verdict.rule.kind == "no-worse":
        code, relation = TO_BASELINE[verdict.outcome]
    elif verdict.outcome == "investigate" and _includes(verdict.estimate, verdict.rule.limit):
        code, relation = STRADDLED
    else:
        code, relation = TO_LIMIT[verdict.outcome]
    by_value = verdict.reason == "value"
    if by_value:
        relation += "; judged by its value, which describes these {repeats} only"
    caveat = _caveat(verdict)
    return Message(
        code,
        f"{{name}} {{value}}{comma} {relation}{caveat}.",
        name=printable(verdict.rule.metric),
        metric=verdict.rule.metric,
        value=value,
        limit=limit_text(verdict.rule),
        misses=MISSES.get(verdict.rule.kind),
        by_value=by_value,
        repeats=verdict.stage.repeats,
        hold=HOLDS.get(verdict.reason),
        over_examples_only=bool(caveat),
    )


def stated(verdict: RuleVerdict) -> str:
    """Return the verdict in words, with the caution about its interval."""
    return " ".join(str(x) for x in (sentence(verdict), verdict.caution) if x is not None)


def _includes(estimate: Estimate, limit: float) -> bool:
    return estimate.low is not None and estimate.low <= limit <= (estimate.high or 0.0)


def judged_by(verdict: RuleVerdict) -> Message | None:
    """Return the interval that decided, if it is written differently from the 95 % one."""
    effect, deciding = verdict.effect, verdict.deciding
    plain = verdict.estimate if effect is None else effect
    if deciding is None or plain.low is None or plain.high is None or plain.value is None:
        return None
    unit: Unit | Literal["ratio"] = unit_of(verdict.rule)
    limit = verdict.limit
    if effect is not None:
        of_change: Unit = "points" if unit == "percent" else unit_of(verdict.rule)
        unit = "ratio" if effect.scale == "ratio" else of_change
    usual = Estimate(plain.value, plain.low, plain.high)
    brackets, shown = (NearLimit(x, unit, limit).brackets for x in (deciding, usual))
    if brackets == shown:
        return None
    is_growing = verdict.stage.level != PLAIN
    return Message(
        "judged-by-looks" if is_growing else "judged-by-rules",
        "Judged by {interval}, which allows for {cause}.",
        interval=brackets,
        cause=f"looking again after more {verdict.stage.repeats}"
        if is_growing
        else "several rules",
    )


def value_text(verdict: RuleVerdict) -> Message:
    """Return the value with its interval, or the change against the baseline with its own."""
    rule, effect, unit = verdict.rule, verdict.effect, unit_of(verdict.rule)
    if effect is None or verdict.baseline is None:
        return Message("value", "{value}", value=NearLimit(verdict.estimate, unit, rule.limit))
    own, base = WithUnit(verdict.estimate.value, unit), WithUnit(verdict.baseline.value, unit)
    if effect.value is None:
        words = "{own} against the baseline's {baseline}"
        return Message("no-change", words, own=own, baseline=base)
    of_change: Unit | Literal["ratio"] = "points" if unit == "percent" else unit
    words = "{own}, {change} from the baseline's {baseline}"
    if effect.scale == "ratio":
        of_change, words = "ratio", "{own}, {change} times the baseline's {baseline}"
    change = Estimate(effect.value, effect.low, effect.high)
    near = NearLimit(change, of_change, verdict.limit)
    return Message("change", words, own=own, change=near, baseline=base)


def _caveat(verdict: RuleVerdict) -> str:
    """Return the limitation of an interval from two runs; empty if there are more."""
    interval = verdict.estimate if verdict.effect is None else verdict.effect
    if (
        verdict.reason not in HOLDS
        or verdict.stage.n_runs > 2
        or interval.low is None
        or interval.over not in WITHOUT_RUNS
    ):
        return ""
    where = " on a side" if verdict.rule.kind == "no-worse" else ""
    return f"; with two runs{where} the interval covers examples only, not other runs"


def limit_text(rule: Rule) -> Message:
    """Return a limit such as "at most 5 %", or the margin against a baseline."""
    unit = unit_of(rule)
    if rule.kind == "no-worse":
        is_ratio = rule.scale == "ratio"
        of_margin: Unit = "percent" if is_ratio else "points" if unit == "percent" else unit
        words = "margin {margin} of the baseline" if is_ratio else "margin {margin}"
        return Message("margin", words, margin=_exact(rule.limit, of_margin), limit=rule.limit)
    words = "at most {written}" if rule.kind == "max" else "at least {written}"
    return Message(rule.kind, words, written=_exact(rule.limit, unit), limit=rule.limit)


def _exact(limit: float, unit: Unit) -> str:
    text = f"{100 * limit if unit in {'percent', 'points'} else limit:.6g}"
    return text + (f"{NO_BREAK}pt" if (text, unit) == ("1", "points") else sign(unit))


@dataclass(frozen=True)
class NearLimit:
    """An estimate with enough digits to see on which side of a limit it is."""

    estimate: Estimate
    unit: Unit | Literal["ratio"]
    limit: float

    def __str__(self) -> str:
        unit = "" if self.unit == "ratio" else sign(self.unit)
        ends = f" {self.brackets}" if self.brackets else ""
        return f"{self._written(self.estimate.value)}{unit}{ends}"

    @property
    def brackets(self) -> str:
        """The interval alone."""
        return in_brackets(self.estimate, self._written, limit=self.limit).strip()

    def _written(self, value: float) -> str:
        factor = 100 if self.unit in {"percent", "points"} else 1
        scaled = round(factor * value, SAME_DECIMALS)
        first = ".2f" if self.unit == "ratio" else number_format(scaled, self.unit)
        for spec in (first, *(f".{n_digits}f" for n_digits in range(2, 8))):
            beyond = round(float(format(scaled, spec)) - factor * self.limit, 9)
            if (beyond > 0, beyond < 0) == (value > self.limit, value < self.limit):
                break
        return with_minus(scaled, spec)


def cells(verdict: RuleVerdict) -> tuple[str, str, str, str]:
    """Return the cells of a rule in a table, after its metric and verdict."""
    return (
        str(value_text(verdict)),
        "–" if (judged := judged_by(verdict)) is None else str(judged.fields["interval"]),
        str(limit_text(verdict.rule)),
        " ".join(str(x) for x in (verdict.caution, advice(verdict)) if x is not None) or "–",
    )


def as_text(result: GateResult, *, width: int = PLAIN_WIDTH) -> str:
    """Return the text for a terminal: the verdict, checks, each rule, notes.

    If the input cannot be trusted, rules are left out: they are not judged.
    """
    checks = check_lines(shown_checks(result), width, allowed=result.allowed)
    rules = [
        wrapped(_text(verdict), f"{verdict.outcome.upper():<13}", width)
        for verdict in (() if result.blocking else result.rules)
    ]
    notes = [wrapped(printable(note), "Note: ", width) for note in notes_of(result)]
    blocks = ([str(headline(result))], *([lines] for lines in checks), rules, notes)
    return "\n\n".join("\n".join(lines) for lines in blocks if lines)


def shown_checks(result: GateResult) -> tuple[Check, ...]:
    """Return errors, then warnings; the remedy of an error that blocks includes how to allow it."""
    return tuple(
        replace(check, remedy=f"{check.remedy} {ALLOW.format(check.name)}".strip())
        if check.severity == "error" and check.name not in result.allowed
        else check
        for check in alerts(result.checks)
    )


def notes_of(result: GateResult) -> list[str]:
    """Return everything that is noted: allowed checks, checks that are notes, and remarks."""
    allowed = [f"Allowed by request: {', '.join(result.allowed)}."] if result.allowed else []
    return [*allowed, *notes(result.checks), *map(str, result.notes)]


def _text(verdict: RuleVerdict) -> str:
    parts = sentence(verdict), judged_by(verdict), verdict.caution, advice(verdict)
    return " ".join(str(part) for part in parts if part is not None)


def as_markdown(result: GateResult, *, command: str | None = None) -> str:
    """Return a comment for a pull request: the verdict, checks, a row per rule, the command."""
    lines = [f"**{SIGNS[result.outcome]} {headline(result)}**"]
    for check in shown_checks(result):
        is_allowed = " (allowed)" if check.name in result.allowed else ""
        text = _escaped(f"{finding(check)} {check.remedy}")
        lines += ["", f"**{check.severity}** {_escaped(check.name)}{is_allowed}: {text}"]
    lines += [
        "",
        f"| verdict | metric | {' | '.join(HEADER)} |",
        "|---|---|---|---|---|---|",
    ]
    for verdict in result.rules:
        outcome = f"{SIGNS[verdict.outcome]} {verdict.outcome}"
        texts = (outcome, _escaped(verdict.rule.metric), *cells(verdict))
        lines.append(f"| {' | '.join(texts)} |")
    for note in notes_of(result):
        lines += ["", f"Note: {_escaped(note)}"]
    if command is not None:
        ticks = max(map(len, re.findall("`+", command)), default=0)
        fence = "`" * max(3, ticks + 1)
        lines += ["", f"{fence}sh", command, fence]
    return "\n".join(lines) + "\n"


def _escaped(words: str) -> str:
    line = printable(words)
    if is_metric(line) or line in CHECK_NAMES:
        return f"`{line}`"
    line = line.replace("&", "&amp;").replace("<", "&lt;").replace(">", "&gt;")
    return _MARKS.sub(r"\\\1", line)


def as_junit(result: GateResult) -> str:
    """Return JUnit XML: one test suite, a test case for each rule, and one for each error found.

    Names of cases are constant, such as `max flip_rate` and `check.duplicate-runs`.

    An open rule is a failure of the type `investigate`: the schema of Jenkins has no errors in test
    cases, and most systems show skipped ones in green.
    """
    cases = [
        *_check_cases(result),
        *map(_rule_case, result.rules),
    ]
    n_failures = sum(case.outcome != "pass" for case in cases)
    counts = {"tests": str(len(cases)), "failures": str(n_failures), "errors": "0"}
    root = ET.Element("testsuites", counts)
    suite = ET.SubElement(root, "testsuite", {"name": "seedproof gate", **counts, "skipped": "0"})
    facts: list[tuple[str, str]] = [("outcome", result.outcome)]
    facts += [(name, str(n)) for name, n in _runs(result.stage).items() if n is not None]
    facts += [("allowed", name) for name in result.allowed]
    facts += [
        ("warning", printable(f"{check.name}: {finding(check)} {check.remedy}"))
        for check in result.checks
        if check.severity == "warning"
    ]
    facts += [("note", printable(note)) for note in notes_of(result)]
    properties = ET.SubElement(suite, "properties")
    for name, value in facts:
        ET.SubElement(properties, "property", {"name": name, "value": value})
    for case in cases:
        names = {"classname": "seedproof.gate", "name": case.name, "time": "0"}
        element = ET.SubElement(suite, "testcase", names)
        if case.outcome == "pass":
            ET.SubElement(element, "system-out").text = case.words
        else:
            kind = {"type": case.outcome, "message": f"{case.outcome}: {case.message}"}
            ET.SubElement(element, "failure", kind).text = case.words
    ET.indent(root)
    return f'<?xml version="1.0" encoding="UTF-8"?>\n{ET.tostring(root, encoding="unicode")}\n'


class _Case(NamedTuple):
    """A test case of JUnit."""

    name: str
    outcome: Outcome
    message: str
    words: str


def _check_cases(result: GateResult) -> Iterator[_Case]:
    """Yield a case for each name of a check that reports an error; one that is allowed passes."""
    errors = [check for check in shown_checks(result) if check.severity == "error"]
    for name in dict.fromkeys(check.name for check in errors):
        same = [check for check in errors if check.name == name]
        message = printable(" ".join(map(finding, same)))
        words = printable(" ".join(f"{finding(check)} {check.remedy}" for check in same))
        outcome: Outcome = "pass" if name in result.allowed else "investigate"
        yield _Case(f"check.{printable(name)}", outcome, message, words)


def _rule_case(verdict: RuleVerdict) -> _Case:
    # Without the limit, so that CI follows the rule when its limit changes.
    name = f"{verdict.rule.kind} {printable(verdict.rule.metric)}"
    message, words = _plain_spaces(str(sentence(verdict))), _plain_spaces(_text(verdict))
    return _Case(name, verdict.outcome, message, words)


def _plain_spaces(words: str) -> str:
    return words.replace(NO_BREAK, " ")


def summary(result: GateResult) -> dict[str, Any]:
    """Return the verdicts as plain data, with their sentences."""
    return {
        "format": FORMAT,
        "outcome": result.outcome,
        "exit_code": result.exit_code,
        **_runs(result.stage),
        "rules": [
            {
                "rule": asdict(verdict.rule),
                "outcome": verdict.outcome,
                "reason": verdict.reason,
                "more_runs": more_runs(verdict),
                "found": asdict(verdict.estimate),
                "deciding": None if verdict.deciding is None else _finite(asdict(verdict.deciding)),
                "chance": verdict.chance,
                "baseline": None if verdict.baseline is None else asdict(verdict.baseline),
                "effect": None if verdict.effect is None else _finite(verdict.effect.summary()),
                "text": _plain_spaces(stated(verdict)),
                "advice": _plain_spaces(str(advice(verdict) or "")),
            }
            for verdict in result.rules
        ],
        "checks": [check.summary() for check in result.checks],
        "allowed": list(result.allowed),
        "notes": [str(note) for note in result.notes],
    }


def _runs(stage: Stage) -> dict[str, int | None]:
    return {
        "n_runs": stage.n_runs,
        "judged_runs": stage.judged_runs,
        "next_look": stage.next_look,
        "declared_runs": stage.declared,
    }


def more_runs(verdict: RuleVerdict) -> int | None:
    """Return the number of runs to the next look, if they may decide a rule."""
    return verdict.stage.more_runs if verdict.reason in NEEDS_RUNS else None


def _finite(ends: dict[str, Any]) -> dict[str, Any]:
    """Return an interval with None for infinite ends, which JSON does not have."""
    infinite = {float("inf"), float("-inf")}
    return {name: None if end in infinite else end for name, end in ends.items()}
