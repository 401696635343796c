"""Verdicts of a gate as text: for a terminal, a pull request, CI systems and programs."""

import re
import textwrap
from collections.abc import Mapping
from dataclasses import asdict, dataclass
from typing import Any, Literal
from xml.etree import ElementTree as ET

from seedproof.comparison.gate.judge import (
    MEAN_FROM,
    MOST_RUNS,
    GateResult,
    Outcome,
    RuleVerdict,
    least_runs,
)
from seedproof.comparison.gate.rules import Rule, limit_of
from seedproof.messages import Message, printable
from seedproof.metrics import METRIC_NAMES
from seedproof.metrics.card import Unit, card
from seedproof.report.numbers import (
    NO_BREAK,
    SAME_DECIMALS,
    WithUnit,
    in_brackets,
    number_format,
    sign,
    with_minus,
)
from seedproof.report.text import PLAIN_WIDTH
from seedproof.stats.effect import Effect, scale_of
from seedproof.stats.intervals import SPREAD_FROM, WITHOUT_RUNS, Estimate

FORMAT = 1
SIGNS: Mapping[Outcome, str] = {"pass": "✅", "fail": "❌", "investigate": "🔍"}
# Recommended runs, by the least number of runs.
BETTER_RUNS: Mapping[int, int] = {MEAN_FROM: 5, SPREAD_FROM: 10}
HEADER = ("value, with its 95 % interval", "limit", "what to do")
# Characters with a meaning in Markdown.
_MARKS = re.compile(r"([\\`*_\[\]|~#!@])")
ONE_RULE: Mapping[Outcome, str] = {
    "pass": "Pass: the rule holds.",
    "fail": "Fail: the rule is broken.",
    "investigate": "Investigate: the rule is undecided.",
}
# Code and text of the relation to the limit, or to the baseline.
TO_LIMIT: Mapping[Outcome, tuple[str, str]] = {
    "pass": ("within-limit", "meets the limit ({limit})"),
    "fail": ("beyond-limit", "{misses} the limit ({limit})"),
    "investigate": ("limit-open", "may or may not meet the limit ({limit})"),
}
MISSES = {"max": "exceeds", "min": "is below"}
STRADDLED = ("limit-straddled", "has an interval that includes the limit ({limit})")
TO_BASELINE: Mapping[Outcome, tuple[str, str]] = {
    "pass": ("no-worse", "is no worse ({limit})"),
    "fail": ("worse", "is worse ({limit})"),
    "investigate": ("maybe-worse", "may be worse ({limit})"),
}
# Advice by the reason why a rule is open; `{where}` becomes " on each side" of a comparison.
ADVICE = {
    "more runs": "About {more_runs} more {runs}{where} would decide it if the value does not "
    "change.",
    "too near": "The value is too close to the limit: it would take more than {most_runs} runs. "
    "Decide manually, or change the limit.",
    "too few examples": "There are too few examples: no number of runs would decide it.",
    "too few runs": "Use at least {least_runs} runs{where}, or better {better_runs}.",
    "unlike numbers of runs": "Use equally many runs on both sides: the metric grows with them.",
    "no interval": "There is no interval, for example because one run causes all of the spread. "
    "Add runs.",
}


def headline(result: GateResult) -> Message:
    """Return the verdict in one sentence, with the number of runs."""
    outcomes = [check.outcome for check in result.checks]
    n_rules = len(outcomes)
    n_failed, n_open = outcomes.count("fail"), outcomes.count("investigate")
    is_open = f"{{n_open}} {'is' if n_open == 1 else 'are'} undecided"
    broken = f"{{n_failed}} {'is' if n_failed == 1 else 'are'} broken"
    words = {
        "pass": "Pass: all {n_rules} rules hold.",
        "fail": f"Fail: of {{n_rules}} rules, {broken}{f' and {is_open}' if n_open else ''}.",
        "investigate": f"Investigate: of {{n_rules}} rules, {is_open}; none is broken.",
    }
    return Message(
        result.outcome,
        f"{(ONE_RULE if n_rules == 1 else words)[result.outcome]} Based on {{n_runs}} runs.",
        n_rules=n_rules,
        n_failed=n_failed,
        n_open=n_open,
        n_runs=result.n_runs,
    )


def sentence(check: RuleVerdict) -> Message:
    """Return the value and its relation to the limit."""
    value = value_text(check)
    # A comma ends the clause on the baseline.
    comma = "," if value.code == "change" else ""
    if check.rule.kind == "no-worse":
        code, relation = TO_BASELINE[check.outcome]
    elif check.reason in {"more runs", "too near", "too few examples"}:  # it has an interval
        code, relation = STRADDLED
    else:
        code, relation = TO_LIMIT[check.outcome]
    by_value = check.reason == "value"
    if by_value:
        relation += "; judged by its value alone"
    caveat = _caveat(check)
    return Message(
        code,
        f"{{name}} {{value}}{comma} {relation}{caveat}.",
        name=printable(check.rule.metric),
        metric=check.rule.metric,
        value=value,
        limit=limit_text(check.rule),
        misses=MISSES.get(check.rule.kind),
        by_value=by_value,
        over_examples_only=bool(caveat),
    )


def advice(check: RuleVerdict) -> Message | None:
    """Return what to do; None if the rule holds."""
    if check.outcome == "pass":
        return None
    if check.outcome == "fail":
        return Message("fail", "Fix the training, or change the limit and document why.")
    least, each_side = least_runs(check.rule.metric), check.rule.kind == "no-worse"
    return Message(
        check.reason.replace(" ", "-"),
        ADVICE[check.reason],
        runs="run" if check.more_runs == 1 else "runs",
        where=" on each side" if each_side else "",
        more_runs=check.more_runs,
        most_runs=MOST_RUNS,
        least_runs=least,
        better_runs=BETTER_RUNS[least],
        each_side=each_side,
    )


def value_text(check: RuleVerdict) -> Message:
    """Return the value with its interval, or the change against the baseline with its own."""
    rule, effect, unit = check.rule, check.effect, unit_of(check.rule.metric)
    if effect is None or check.baseline is None:
        return Message("value", "{value}", value=NearLimit(check.estimate, unit, rule.limit))
    own, base = WithUnit(check.estimate.value, unit), WithUnit(check.baseline.value, unit)
    if effect.value is None:
        words = "{own} against the baseline's {baseline}"
        return Message("no-change", words, own=own, baseline=base)
    of_change: Unit | Literal["ratio"] = "points" if unit == "percent" else unit
    words = "{own}, {change} from the baseline's {baseline}"
    if effect.scale == "ratio":
        of_change, words = "ratio", "{own}, {change} times the baseline's {baseline}"
    change = Estimate(effect.value, effect.low, effect.high)
    near = NearLimit(change, of_change, limit_of(rule))
    return Message("change", words, own=own, change=near, baseline=base)


def _caveat(check: RuleVerdict) -> str:
    """Return the limitation of an interval from two runs; empty if there are more."""
    interval = check.estimate if check.effect is None else check.effect
    if check.reason != "too few runs" or interval.low is None or interval.over not in WITHOUT_RUNS:
        return ""
    where = " on a side" if check.rule.kind == "no-worse" else ""
    return f"; with two runs{where} the interval covers examples only, not other runs"


def limit_text(rule: Rule) -> Message:
    """Return a limit such as "at most 5 %", or the margin against a baseline."""
    unit = unit_of(rule.metric)
    if rule.kind == "no-worse":
        is_ratio = scale_of(rule.metric) == "ratio"
        of_margin: Unit = "percent" if is_ratio else "points" if unit == "percent" else unit
        words = "margin {margin} of the baseline" if is_ratio else "margin {margin}"
        return Message("margin", words, margin=_exact(rule.limit, of_margin), limit=rule.limit)
    words = "at most {written}" if rule.kind == "max" else "at least {written}"
    return Message(rule.kind, words, written=_exact(rule.limit, unit), limit=rule.limit)


def _exact(limit: float, unit: Unit) -> str:
    text = f"{100 * limit if unit in {'percent', 'points'} else limit:.6g}"
    return text + (f"{NO_BREAK}pt" if (text, unit) == ("1", "points") else sign(unit))


def unit_of(metric: str) -> Unit:
    """Return the unit of a metric; `score` if it is not a known metric."""
    return card(metric).unit if metric in METRIC_NAMES else "score"


@dataclass(frozen=True)
class NearLimit:
    """An estimate with enough digits to see on which side of a limit it is."""

    estimate: Estimate
    unit: Unit | Literal["ratio"]
    limit: float

    def __str__(self) -> str:
        unit = "" if self.unit == "ratio" else sign(self.unit)
        ends = in_brackets(self.estimate, self._written)
        return f"{self._written(self.estimate.value)}{unit}{ends}"

    def _written(self, value: float) -> str:
        factor = 100 if self.unit in {"percent", "points"} else 1
        scaled = round(factor * value, SAME_DECIMALS)
        first = ".2f" if self.unit == "ratio" else number_format(scaled, self.unit)
        for spec in (first, *(f".{n_digits}f" for n_digits in range(2, 8))):
            beyond = round(float(format(scaled, spec)) - factor * self.limit, 9)
            if (beyond > 0, beyond < 0) == (value > self.limit, value < self.limit):
                break
        return with_minus(scaled, spec)


def cells(check: RuleVerdict) -> tuple[str, str, str]:
    """Return the cells of a rule in a table, after its metric and verdict."""
    return str(value_text(check)), str(limit_text(check.rule)), str(advice(check) or "–")


def as_text(result: GateResult, *, width: int = PLAIN_WIDTH) -> str:
    """Return the text for a terminal: the verdict, each rule, notes."""
    rules = [
        _wrapped(_text(check), f"{check.outcome.upper():<13}", width) for check in result.checks
    ]
    notes = [_wrapped(printable(str(note)), "Note: ", width) for note in result.notes]
    blocks = ([str(headline(result))], rules, notes)
    return "\n\n".join("\n".join(lines) for lines in blocks if lines)


def _wrapped(words: str, start: str, width: int) -> str:
    indent = " " * len(start)
    return textwrap.fill(
        words, width, initial_indent=start, subsequent_indent=indent, break_on_hyphens=False
    )


def _text(check: RuleVerdict) -> str:
    return " ".join(str(part) for part in (sentence(check), advice(check)) if part is not None)


def as_markdown(result: GateResult, *, command: str | None = None) -> str:
    """Return a comment for a pull request: the verdict, a row for each rule, the command."""
    lines = [
        f"**{SIGNS[result.outcome]} {headline(result)}**",
        "",
        f"| verdict | metric | {' | '.join(HEADER)} |",
        "|---|---|---|---|---|",
    ]
    for check in result.checks:
        verdict = f"{SIGNS[check.outcome]} {check.outcome}"
        texts = (verdict, _escaped(check.rule.metric), *cells(check))
        lines.append(f"| {' | '.join(texts)} |")
    for note in map(str, result.notes):
        lines += ["", f"Note: {_escaped(note)}"]
    if command is not None:
        ticks = max(map(len, re.findall("`+", command)), default=0)
        fence = "`" * max(3, ticks + 1)
        lines += ["", f"{fence}sh", command, fence]
    return "\n".join(lines) + "\n"


def _escaped(words: str) -> str:
    line = printable(words)
    if line in METRIC_NAMES:
        return f"`{line}`"
    line = line.replace("&", "&amp;").replace("<", "&lt;").replace(">", "&gt;")
    return _MARKS.sub(r"\\\1", line)


def as_junit(result: GateResult) -> str:
    """Return JUnit XML: one test suite, and a test case with a constant name for each rule.

    An open rule is a failure of the type `investigate`: the schema of Jenkins has no errors in test
    cases, and most systems show skipped ones in green.
    """
    n_failures = sum(check.outcome != "pass" for check in result.checks)
    counts = {"tests": str(len(result.checks)), "failures": str(n_failures), "errors": "0"}
    root = ET.Element("testsuites", counts)
    suite = ET.SubElement(root, "testsuite", {"name": "seedproof gate", **counts, "skipped": "0"})
    facts = [("outcome", result.outcome), ("n_runs", str(result.n_runs))]
    facts += [("note", printable(str(note))) for note in result.notes]
    properties = ET.SubElement(suite, "properties")
    for name, value in facts:
        ET.SubElement(properties, "property", {"name": name, "value": value})
    for check in result.checks:
        # Without the limit, so that CI follows the rule when its limit changes.
        name = f"{check.rule.kind} {printable(check.rule.metric)}"
        names = {"classname": "seedproof.gate", "name": name, "time": "0"}
        case = ET.SubElement(suite, "testcase", names)
        words = _plain_spaces(_text(check))
        if check.outcome == "pass":
            ET.SubElement(case, "system-out").text = words
        else:
            message = f"{check.outcome}: {_plain_spaces(str(sentence(check)))}"
            kind = {"type": check.outcome, "message": message}
            ET.SubElement(case, "failure", kind).text = words
    ET.indent(root)
    return f'<?xml version="1.0" encoding="UTF-8"?>\n{ET.tostring(root, encoding="unicode")}\n'


def _plain_spaces(words: str) -> str:
    return words.replace(NO_BREAK, " ")


def summary(result: GateResult) -> dict[str, Any]:
    """Return the verdicts as plain data, with their sentences."""
    return {
        "format": FORMAT,
        "outcome": result.outcome,
        "exit_code": result.exit_code,
        "n_runs": result.n_runs,
        "checks": [
            {
                "rule": asdict(check.rule),
                "outcome": check.outcome,
                "reason": check.reason,
                "more_runs": check.more_runs,
                "found": asdict(check.estimate),
                "baseline": None if check.baseline is None else asdict(check.baseline),
                "effect": None if check.effect is None else _finite(check.effect),
                "text": _plain_spaces(str(sentence(check))),
                "advice": _plain_spaces(str(advice(check) or "")),
            }
            for check in result.checks
        ],
        "notes": [str(note) for note in result.notes],
    }


def _finite(effect: Effect) -> dict[str, Any]:
    """Return an effect with None for infinite ends, which JSON does not have."""
    infinite = {float("inf"), float("-inf")}
    return {name: None if end in infinite else end for name, end in effect.summary().items()}
