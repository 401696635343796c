"""Terminal summary of a study: one line of at most 80 columns per arm."""

from collections.abc import Mapping
from typing import Any

from seedproof.report.numbers import MINUS
from seedproof_reproductions.figures import MISSING, listed
from seedproof_reproductions.findings2023.names import BASELINE, layout
from seedproof_reproductions.findings2023.settings import WHOLE, Setting
from seedproof_reproductions.reading import fewer

HEADER = ("arm", "acc. %", "flips %", "change % [95 %]", "train", "serve")
# With fewer runs the change has no interval.
JUDGED = 3


def summary_table(results: Mapping[str, Any]) -> list[tuple[str, ...]]:
    """Return the texts of `HEADER` for every arm.

    Costs are multiples of the control's. An arm whose runs share a teacher or their first weights
    has a star.
    """
    few, rows = _few_runs(results), []
    for name, arm in results["arms"].items():
        accuracy, flips = (100 * arm["metrics"][metric][0] for metric in ("accuracy", "flip_rate"))
        change = _change(arm["effects"].get("flip_rate"), is_judged=name not in few)
        costs = [_times((arm["costs"] or {}).get(kind)) for kind in ("training", "serving")]
        title = name if arm["shares"] is None else f"{name}*"
        rows.append((title, f"{accuracy:.2f}", f"{flips:.2f}", change, *costs))
    return rows


def summary_notes(results: Mapping[str, Any]) -> list[str]:
    """Return sentences that the reader of the table needs, each for a line of its own."""
    arms, departures = results["arms"], listed(_departures(results))
    is_needed = {
        "shared": any(arm["shares"] for arm in arms.values()),
        "no_control": BASELINE not in arms,
        "alone": BASELINE in arms and len(arms) > 1,
        "few": bool(_few_runs(results)),
        "departs": bool(departures),
    }
    notes = layout()["notes"]
    return [notes[name].format(departures=departures) for name in notes if is_needed[name]]


def _few_runs(results: Mapping[str, Any]) -> set[str]:
    """Arms with too few runs to judge, here or in the control."""
    n_runs = {name: arm["n_runs"] for name, arm in results["arms"].items()}
    control = n_runs.pop(BASELINE, None)
    return {name for name, n in n_runs.items() if control and min(control, n) < JUDGED}


def _departures(results: Mapping[str, Any]) -> list[str]:
    setting, sizes = results["setting"], results["sizes"]
    usual, whole = Setting(setting["dataset"], setting["track"]), WHOLE[setting["dataset"]]
    nouns = {"epochs": "epochs", "batch_size": "utterances per step", "dropout": "dropout"}
    return [
        *fewer("training utterances", sizes["train"], whole["train"]),
        *fewer("test utterances", sizes["test"], whole[setting.get("test_split", "test")]),
        *(
            f"{setting[name]:,} in place of {getattr(usual, name):,} {noun}"
            for name, noun in nouns.items()
            if setting[name] != getattr(usual, name)
        ),
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
    return MISSING if cost is None else f"×{cost:.{0 if cost >= 10 else 2}f}"
