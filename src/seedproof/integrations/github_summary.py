"""Job summaries of GitHub: the verdict, then a table of figures, as Markdown."""

import re
from collections.abc import Iterator, Mapping
from typing import Any

from seedproof.messages import printable

SIGNS = {"pass": "✅", "fail": "❌", "investigate": "🔍", "error": "⚠️"}
HEADER = ("metric", "arm", "baseline", "value", "change", "verdict")
LEGEND = (
    "Brackets are intervals. A change is a multiple of the baseline (×) or a difference from it; "
    "shares are between 0 and 1."
)
MARKS = re.compile(r"([\\`*_\[\]|~#!@])")


def comparison_summary(document: Mapping[str, Any], outcome: str) -> str:
    """Return a comparison of arms, or of one number per run, as Markdown."""
    primary = document["primary"]
    rows = list(_rows(document))
    first = [cells for metric, cells in rows if metric == primary]
    others = [cells for metric, cells in rows if metric != primary]
    words = {
        "pass": f"every arm is shown to be better or equivalent by {escaped(primary)}.",
        "fail": f"an arm is shown to be worse by {escaped(primary)}.",
        "investigate": f"these runs do not decide by {escaped(primary)}.",
    }
    lines = [f"**{SIGNS[outcome]} {outcome.capitalize()}: {words[outcome]}**"]
    for check in document["checks"]:
        if check["severity"] != "note":
            text = escaped(f"{check['message']} {check['remedy']}")
            lines += ["", f"**{check['severity']}** {escaped(check['name'])}: {text}"]
    lines += ["", *_table(first)]
    if others:
        title = "All other metrics, which are exploratory"
        lines += ["", f"<details><summary>{title}</summary>", "", *_table(others), "", "</details>"]
    lines += ["", LEGEND]
    return "\n".join(lines) + "\n"


def error_summary(command: str, document: object) -> str:
    """Return an error as Markdown."""
    problem = document.get("error") if isinstance(document, dict) else None
    text = "The command ended without a result; see its log."
    if isinstance(problem, dict):
        text = f"{escaped(problem['code'] or 'internal error')}: {escaped(problem['message'])}"
    return f"**{SIGNS['error']} Error: `seedproof {command}` decided nothing.**\n\n{text}\n"


def escaped(words: str) -> str:
    """Return a text in one line, without marks of Markdown or HTML."""
    line = printable(words).replace("&", "&amp;").replace("<", "&lt;").replace(">", "&gt;")
    return MARKS.sub(r"\\\1", line)


def _rows(document: Mapping[str, Any]) -> Iterator[tuple[str, tuple[str, ...]]]:
    """Yield the metric and the cells of each effect against the baseline."""
    baseline = document["baseline"]
    if isinstance(baseline, dict):
        arms = [(arm["name"], arm["metrics"], arm["effects"]) for arm in document["arms"]]
        before = baseline["metrics"]
    else:
        metrics = {arm["name"]: arm["metrics"] for arm in document["arms"]}
        pairs = [pair for pair in document["pairs"] if pair["against"] == baseline]
        arms = [(pair["arm"], metrics[pair["arm"]], pair["effects"]) for pair in pairs]
        before = metrics[baseline]
    for metric in dict.fromkeys(name for _, _, effects in arms for name in effects):
        for arm, metrics, effects in arms:
            if metric in effects:
                effect = effects[metric]
                figures = (_estimate(before.get(metric)), _estimate(metrics.get(metric)))
                cells = (metric, arm, *figures, _change(effect), effect["verdict"])
                yield metric, tuple(map(escaped, cells))


def _table(rows: list[tuple[str, ...]]) -> Iterator[str]:
    yield f"| {' | '.join(HEADER)} |"
    yield "|---|---|---:|---:|---:|---|"
    for cells in rows:
        yield f"| {' | '.join(cells)} |"


def _estimate(estimate: Mapping[str, Any] | None) -> str:
    if estimate is None:
        return ""
    return f"{estimate['value']:.4g}{_interval(estimate, '.4g')}"


def _change(effect: Mapping[str, Any]) -> str:
    if effect["value"] is None:
        return ""
    if effect["scale"] == "ratio":
        return f"×{effect['value']:.3g}{_interval(effect, '.3g')}"
    return f"{effect['value']:+.3g}{_interval(effect, '+.3g')}"


def _interval(ends: Mapping[str, Any], form: str) -> str:
    """Return the interval in brackets; an unbounded end has the sign of infinity."""
    if ends["low"] is None and ends["high"] is None:
        return ""
    low = "−∞" if ends["low"] is None else format(ends["low"], form)
    high = "∞" if ends["high"] is None else format(ends["high"], form)
    return f" [{low}, {high}]"
