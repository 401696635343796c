"""The verdicts of a gate in words: for a terminal, a pull request, CI systems and programs."""

import json
import re
import textwrap
from collections.abc import Mapping
from dataclasses import asdict
from typing import Any
from xml.etree import ElementTree as ET

from seedproof.comparison.effect import Effect, scale_of
from seedproof.comparison.gate.judge import (
    MEAN_FROM,
    MOST_RUNS,
    Check,
    GateResult,
    Outcome,
    least_runs,
)
from seedproof.comparison.gate.rules import Rule, limit_of
from seedproof.measurement.intervals import SPREAD_FROM, Estimate
from seedproof.metrics import METRIC_NAMES
from seedproof.metrics.card import Unit, card
from seedproof.report.numbers import MINUS, NO_BREAK, number, sign
from seedproof.report.printable import printable
from seedproof.report.text import PLAIN_WIDTH

FORMAT = 1
SIGNS: Mapping[Outcome, str] = {"pass": "✅", "fail": "❌", "investigate": "🔍"}
# What is advised beside the least number of runs.
BETTER_RUNS: Mapping[int, int] = {MEAN_FROM: 5, SPREAD_FROM: 10}
# Marks that Markdown or HTML give a meaning to.
_MARKS = re.compile(r"([\\`*_\[\]|~#!@])")


def headline(result: GateResult) -> str:
    """The verdict in one sentence."""
    n_rules = len(result.checks)
    n_failed = sum(check.outcome == "fail" for check in result.checks)
    n_open = sum(check.outcome == "investigate" for check in result.checks)
    from_runs = f" Judged from {result.n_runs} runs."
    if result.outcome == "pass":
        return ("Pass: the rule holds." if n_rules == 1 else f"Pass: all {n_rules} rules hold.") + (
            from_runs
        )
    if n_rules == 1:
        verdict = "Fail: the rule is broken." if n_failed else "Investigate: the rule is open."
        return f"{verdict}{from_runs}"
    is_open = f"{n_open} {'is' if n_open == 1 else 'are'} open"
    if result.outcome == "investigate":
        return f"Investigate: of {n_rules} rules, {is_open}; none is broken.{from_runs}"
    broken = f"{n_failed} {'is' if n_failed == 1 else 'are'} broken"
    return f"Fail: of {n_rules} rules, {broken}{f' and {is_open}' if n_open else ''}.{from_runs}"


def sentence(check: Check) -> str:
    """What was found, and how it stands to the limit."""
    return f"{printable(check.rule.metric)} {_found(check)} {_relation(check)}{_caveat(check)}."


def advice(check: Check) -> str:
    """What to do about it; nothing where the rule holds."""
    if check.outcome == "pass":
        return ""
    if check.outcome == "fail":
        return "Mend the training, or change the limit and say why."
    where = " on each side" if check.rule.kind == "no-worse" else ""
    more = f"{check.more_runs} more run{'s' * (check.more_runs != 1)}{where}"
    least = least_runs(check.rule.metric)
    return {
        "more runs": f"About {more} would settle it, if the value stays.",
        "too near": f"It is too near the limit: more than {MOST_RUNS} runs would be needed. "
        "Decide by hand, or change the limit.",
        "too few examples": "No number of runs would settle it: there are too few examples.",
        "too few runs": f"Make at least {least} runs{where}, better {BETTER_RUNS[least]}.",
        "unlike numbers of runs": "Give both sides the same number of runs: it grows with them.",
        "no interval": "It has no interval here, as where one run makes all of the spread: add "
        "runs.",
    }[check.reason]


def _found(check: Check) -> str:
    """The value with its interval, or the change against the baseline with its own."""
    rule, effect, unit = check.rule, check.effect, _unit(check.rule.metric)
    if effect is None or check.baseline is None:
        return _bracketed(check.found, unit, rule.limit)
    own, base = (number(one.value, unit) + sign(unit) for one in (check.found, check.baseline))
    if effect.value is None:
        return f"{own} against the baseline's {base}"
    change = Estimate(effect.value, effect.low, effect.high)
    if effect.scale == "ratio":
        return f"{own}, {_bracketed(change, 'ratio', limit_of(rule))} times the baseline's {base},"
    of_change: Unit = "points" if unit == "percent" else unit
    return f"{own}, {_bracketed(change, of_change, limit_of(rule))} from the baseline's {base},"


def _relation(check: Check) -> str:
    limit = limit_text(check.rule)
    by_value = "; it is judged by its value alone" if check.reason == "value" else ""
    if check.rule.kind == "no-worse":
        verdict = {"pass": "is no worse", "fail": "is worse", "investigate": "may be worse"}
        return f"{verdict[check.outcome]} ({limit}){by_value}"
    if check.outcome == "pass":
        return f"is {limit}{by_value}"
    if check.outcome == "fail":
        return f"is not {limit}{by_value}"
    has_interval = check.reason in {"more runs", "too near", "too few examples"}
    return f"straddles its limit, {limit}" if has_interval else f"may or may not be {limit}"


def _caveat(check: Check) -> str:
    """What the interval of two runs is silent about."""
    found = check.found if check.effect is None else check.effect
    if check.reason != "too few runs" or found.low is None or found.over != "examples":
        return ""
    where = " on a side" if check.rule.kind == "no-worse" else ""
    return (
        f"; with two runs{where} the interval is over examples only, so that nothing is known of "
        "other runs"
    )


def limit_text(rule: Rule) -> str:
    """A limit as people say it: "at most 5 %", or the margin against a baseline."""
    unit = _unit(rule.metric)
    if rule.kind == "no-worse":
        is_ratio = scale_of(rule.metric) == "ratio"
        of_margin: Unit = "percent" if is_ratio else "points" if unit == "percent" else unit
        margin = _exact(rule.limit, of_margin)
        return f"margin {margin} of the baseline" if is_ratio else f"margin {margin}"
    return f"at {'most' if rule.kind == 'max' else 'least'} {_exact(rule.limit, unit)}"


def _exact(limit: float, unit: Unit) -> str:
    scaled = 100 * limit if unit in {"percent", "points"} else limit
    text = f"{scaled:.6g}"
    return text + (f"{NO_BREAK}pt" if (text, unit) == ("1", "points") else sign(unit))


def _unit(metric: str) -> Unit:
    return card(metric).unit if metric in METRIC_NAMES else "score"


def _bracketed(found: Estimate, unit: Unit | str, limit: float) -> str:
    text = _written(found.value, unit, limit) + ("" if unit == "ratio" else sign(unit))  # type: ignore[arg-type] # a unit then
    if found.low is None or found.high is None:
        return text
    return f"{text} [{_written(found.low, unit, limit)}, {_written(found.high, unit, limit)}]"


def _written(value: float, unit: Unit | str, limit: float) -> str:
    """A number with as many digits as it takes to see on which side of the limit it is."""
    factor = 100 if unit in {"percent", "points"} else 1
    text = f"{value:.2f}" if unit == "ratio" else number(value, unit)  # type: ignore[arg-type] # same
    for digits in range(2, 8):
        shown = round(float(text.replace(MINUS, "-")) - factor * limit, 9)
        if (shown > 0, shown < 0) == (value > limit, value < limit):
            break
        text = f"{factor * value:.{digits}f}".replace("-", MINUS)
    return text


def as_text(result: GateResult, *, width: int = PLAIN_WIDTH) -> str:
    """What a terminal shows: the verdict, a line for each rule, what else to know."""
    blocks = [headline(result), ""]
    for check in result.checks:
        words = f"{sentence(check)} {advice(check)}"
        blocks.append(_wrapped(words, f"{check.outcome.upper():<13}", width))
    notes = [_wrapped(printable(note), "Note: ", width) for note in result.notes]
    return "\n".join([*blocks, *([""] if notes else []), *notes])


def _wrapped(words: str, start: str, width: int) -> str:
    return textwrap.fill(
        words, width, initial_indent=start, subsequent_indent=" " * len(start),
        break_on_hyphens=False,
    )  # fmt: skip


def as_markdown(result: GateResult, *, command: str | None = None) -> str:
    """A comment for a pull request: the verdict, a row for each rule, the command.

    Args:
        result: The verdicts.
        command: The command that made it.

    Returns:
        GitHub's Markdown, in which a user's words can neither leave their cell nor be HTML.
    """
    lines = [
        f"**{SIGNS[result.outcome]} {headline(result)}**",
        "",
        "| verdict | metric | found, with its 95 % interval | limit | what to do |",
        "|---|---|---|---|---|",
    ]
    for check in result.checks:
        cells = (
            f"{SIGNS[check.outcome]} {check.outcome}",
            _escaped(check.rule.metric),
            _found(check).removesuffix(","),
            limit_text(check.rule),
            advice(check) or "–",
        )
        lines.append(f"| {' | '.join(cells)} |")
    for note in result.notes:
        lines += ["", f"Note: {_escaped(note)}"]
    if command is not None:
        ticks = max((len(run) for run in re.findall("`+", command)), default=0)
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
    """JUnit XML: one test suite, one test case for each rule, under a name that never changes.

    An open rule is a failure of the type `investigate`: the schema that Jenkins checks has no
    errors in test cases, and skipped ones are green in most systems.

    Args:
        result: The verdicts.

    Returns:
        An XML document.
    """
    n_failures = sum(check.outcome != "pass" for check in result.checks)
    counts = {"tests": str(len(result.checks)), "failures": str(n_failures), "errors": "0"}
    root = ET.Element("testsuites", counts)
    suite = ET.SubElement(root, "testsuite", {"name": "seedproof gate", **counts, "skipped": "0"})
    facts = {"outcome": result.outcome, "n_runs": str(result.n_runs)}
    properties = ET.SubElement(suite, "properties")
    for name, value in [*facts.items(), *(("note", printable(note)) for note in result.notes)]:
        ET.SubElement(properties, "property", {"name": name, "value": value})
    for check in result.checks:
        # Without the limit, so that CI follows the rule when its limit changes.
        name = f"{check.rule.kind} {printable(check.rule.metric)}"
        case = ET.SubElement(
            suite, "testcase", {"classname": "seedproof.gate", "name": name, "time": "0"}
        )
        words = _plain_spaces(f"{sentence(check)} {advice(check)}".rstrip())
        if check.outcome == "pass":
            ET.SubElement(case, "system-out").text = words
        else:
            message = f"{check.outcome}: {_plain_spaces(sentence(check))}"
            kind = {"type": check.outcome, "message": message}
            ET.SubElement(case, "failure", kind).text = words
    ET.indent(root)
    return f'<?xml version="1.0" encoding="UTF-8"?>\n{ET.tostring(root, encoding="unicode")}\n'


def _plain_spaces(words: str) -> str:
    return words.replace(NO_BREAK, " ")


def as_json(result: GateResult) -> str:
    """The verdicts as plain data, with the sentences of the terminal."""
    content = {
        "format": FORMAT,
        "outcome": result.outcome,
        "exit_code": result.exit_code,
        "n_runs": result.n_runs,
        "checks": [_plain(check) for check in result.checks],
        "notes": list(result.notes),
    }
    return json.dumps(content, ensure_ascii=False, allow_nan=False) + "\n"


def _plain(check: Check) -> dict[str, Any]:
    return {
        "rule": asdict(check.rule),
        "outcome": check.outcome,
        "reason": check.reason,
        "more_runs": check.more_runs,
        "found": asdict(check.found),
        "baseline": None if check.baseline is None else asdict(check.baseline),
        "effect": None if check.effect is None else _finite(check.effect),
        "text": _plain_spaces(sentence(check)),
        "advice": _plain_spaces(advice(check)),
    }


def _finite(effect: Effect) -> dict[str, Any]:
    """An effect with None for ends that are infinite, which JSON cannot say."""
    fields = asdict(effect)
    infinite = {float("inf"), float("-inf")}
    return {name: None if value in infinite else value for name, value in fields.items()}
