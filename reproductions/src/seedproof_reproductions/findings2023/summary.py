"""The harness in a terminal: every arm in a line of at most 80 columns."""

from collections.abc import Mapping
from typing import Any

from seedproof.report.numbers import MINUS
from seedproof_reproductions.findings2023.names import BASELINE
from seedproof_reproductions.findings2023.settings import WHOLE, Setting
from seedproof_reproductions.page.words import listed

MISSING = "–"
HEADER = ("arm", "acc. %", "flips %", "change % [95 %]", "train", "serve")
# From here on a cost needs no digits behind the point.
DEAR = 10
# With fewer runs, an interval would pretend to a judgement.
JUDGED = 3


def summary_table(results: Mapping[str, Any]) -> list[tuple[str, ...]]:
    """Every arm with its accuracy, its flips, what it changes in them, and what it costs.

    Args:
        results: What `collect` gave.

    Returns:
        For each arm as many texts as `HEADER` has: accuracy and flip rate in percent, the change of
        the flip rate in percent with its 95 % interval, and the costs of training and of serving in
        units of the control. An arm whose runs share a teacher or their first weights has a star.
    """
    few = _too_few(results)
    return [_row(name, arm, is_judged=name not in few) for name, arm in results["arms"].items()]


def summary_notes(results: Mapping[str, Any]) -> list[str]:
    """What has to be known to read the table.

    Args:
        results: What `collect` gave.

    Returns:
        Sentences, each for a line of its own.
    """
    arms = results["arms"]
    notes = []
    if any(arm["shares"] for arm in arms.values()):
        notes.append(
            "* All runs share a teacher or their first weights: they vary less than yours."
        )
    if BASELINE not in arms:
        notes.append(f"Nothing to compare with: add {BASELINE} to --arms.")
    elif len(arms) > 1:
        notes.append(
            f"Changes are against {BASELINE}, each arm asked alone; `seedproof compare` widens its "
            "intervals for all arms."
        )
    if _too_few(results):
        notes.append("Two runs of an arm judge nothing: the change has no interval.")
    less = _departures(results)
    if less:
        notes.append(f"Not the paper's setting: {listed(less)}.")
    return notes


def _too_few(results: Mapping[str, Any]) -> set[str]:
    """Arms whose change is not judged, because they or the control have two runs."""
    arms = results["arms"]
    if BASELINE not in arms:
        return set()
    control = arms[BASELINE]["n_runs"]
    return {
        name
        for name, arm in arms.items()
        if name != BASELINE and min(control, arm["n_runs"]) < JUDGED
    }


def _departures(results: Mapping[str, Any]) -> list[str]:
    """Where a setting is not the recipe's usual one; encoder and learning rate are as always."""
    setting, sizes = results["setting"], results["sizes"]
    n_train, n_test = WHOLE[setting["dataset"]]
    usual = Setting(setting["dataset"], setting["track"])
    found = [
        f"{sizes[split]:,} of {whole:,} {noun} utterances"
        for split, noun, whole in (("train", "training", n_train), ("test", "test", n_test))
        if sizes[split] != whole
    ]
    found += [
        f"{setting[name]:,} in place of {getattr(usual, name):,} {noun}"
        for name, noun in (("epochs", "epochs"), ("batch_size", "utterances a step"))
        if setting[name] != getattr(usual, name)
    ]
    if setting["dropout"] != usual.dropout:
        found.append(f"a dropout of {setting['dropout']:g} in place of {usual.dropout:g}")
    return found


def _row(name: str, arm: Mapping[str, Any], *, is_judged: bool) -> tuple[str, ...]:
    accuracy, flips = (100 * arm["metrics"][metric][0] for metric in ("accuracy", "flip_rate"))
    costs = arm["costs"] or {}
    return (
        name if arm["shares"] is None else f"{name}*",
        f"{accuracy:.2f}",
        f"{flips:.2f}",
        _change(arm["effects"].get("flip_rate"), is_judged=is_judged),
        _times(costs.get("training")),
        _times(costs.get("serving")),
    )


def _change(effect: Mapping[str, Any] | None, *, is_judged: bool) -> str:
    """Such as "−50 [−68, −20]"."""
    if effect is None or effect["value"] is None:
        return MISSING
    value = _percent(effect["value"])
    if not is_judged or effect["low"] is None or effect["high"] is None:
        return value
    return f"{value} [{_percent(effect['low'])}, {_percent(effect['high'])}]"


def _percent(ratio: float) -> str:
    """Such as "−50" or "+20"; what rounds to nothing has no sign."""
    text = f"{100 * (ratio - 1):+.0f}".replace("-", MINUS)
    return "0" if text[1:] == "0" else text


def _times(cost: float | None) -> str:
    if cost is None:
        return MISSING
    return f"×{cost:.0f}" if cost >= DEAR else f"×{cost:.2f}"
