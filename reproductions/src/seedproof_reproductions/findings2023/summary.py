"""Terminal summary of a study: one line of at most 80 columns per arm."""

from collections.abc import Mapping
from typing import Any

from seedproof.report.numbers import MINUS
from seedproof_reproductions.figures import MISSING, listed
from seedproof_reproductions.findings2023.names import BASELINE
from seedproof_reproductions.findings2023.settings import WHOLE, Setting

HEADER = ("arm", "acc. %", "flips %", "change % [95 %]", "train", "serve")
# With fewer runs the change has no interval.
JUDGED = 3


def summary_table(results: Mapping[str, Any]) -> list[tuple[str, ...]]:
    """Return accuracy, flips, change of flips and costs of every arm.

    Args:
        results: Results of a setting.

    Returns:
        As many texts per arm as `HEADER` has. Costs are multiples of the control's. An arm whose
        runs share a teacher or their first weights has a star.
    """
    few = _few_runs(results)
    rows = []
    for name, arm in results["arms"].items():
        accuracy, flips = (100 * arm["metrics"][metric][0] for metric in ("accuracy", "flip_rate"))
        change = _change(arm["effects"].get("flip_rate"), is_judged=name not in few)
        costs = [_times((arm["costs"] or {}).get(kind)) for kind in ("training", "serving")]
        title = name if arm["shares"] is None else f"{name}*"
        rows.append((title, f"{accuracy:.2f}", f"{flips:.2f}", change, *costs))
    return rows


def summary_notes(results: Mapping[str, Any]) -> list[str]:
    """Return sentences that the reader of the table needs, each for a line of its own."""
    arms, notes = results["arms"], []
    if any(arm["shares"] for arm in arms.values()):
        notes.append("* All runs share a teacher or their first weights: they vary less.")
    if BASELINE not in arms:
        notes.append(f"Nothing to compare with: add {BASELINE} to --arms.")
    elif len(arms) > 1:
        notes.append(
            f"Changes are against {BASELINE}, with the interval of each arm alone; `seedproof "
            "compare` widens its intervals for all arms."
        )
    if _few_runs(results):
        notes.append("Two runs per arm are too few: the change has no interval.")
    departures = _departures(results)
    if departures:
        notes.append(f"Not the paper's setting: {listed(departures)}.")
    return notes


def _few_runs(results: Mapping[str, Any]) -> set[str]:
    """Arms with too few runs to judge, here or in the control."""
    arms = results["arms"]
    control = arms[BASELINE]["n_runs"] if BASELINE in arms else JUDGED
    return {
        name
        for name, arm in arms.items()
        if BASELINE in arms and name != BASELINE and min(control, arm["n_runs"]) < JUDGED
    }


def _departures(results: Mapping[str, Any]) -> list[str]:
    setting, sizes = results["setting"], results["sizes"]
    usual, whole = Setting(setting["dataset"], setting["track"]), WHOLE[setting["dataset"]]
    nouns = {"epochs": "epochs", "batch_size": "utterances per step", "dropout": "dropout"}
    return [
        f"{sizes[split]:,} of {n_all:,} {split}{'ing' if split == 'train' else ''} utterances"
        for split, n_all in zip(("train", "test"), whole, strict=True)
        if sizes[split] != n_all
    ] + [
        f"{setting[name]:,} in place of {getattr(usual, name):,} {noun}"
        for name, noun in nouns.items()
        if setting[name] != getattr(usual, name)
    ]


def _change(effect: Mapping[str, Any] | None, *, is_judged: bool) -> str:
    """Such as "−50 [−68, −20]"."""
    if effect is None or effect["value"] is None:
        return MISSING
    value, low, high = (_percent(effect[key]) for key in ("value", "low", "high"))
    return f"{value} [{low}, {high}]" if is_judged and low and high else value


def _percent(ratio: float | None) -> str:
    """Such as "−50" or "+20"; a change that rounds to nothing has no sign."""
    text = "" if ratio is None else f"{100 * (ratio - 1):+.0f}".replace("-", MINUS)
    return "0" if text[1:] == "0" else text


def _times(cost: float | None) -> str:
    return MISSING if cost is None else f"×{cost:.0f}" if cost >= 10 else f"×{cost:.2f}"
