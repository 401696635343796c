"""Which of our arms are the methods of the paper's tables."""

from seedproof_reproductions.findings2023.names import BASELINE, title_of
from seedproof_reproductions.findings2023.page.reading import SettingResults

# Where predicting after every step was too much, every tenth stands for it.
SHARED_TEACHER = ("tgtss-shared", "tgtss-every-10-shared")
FRESH_TEACHER = ("tgtss", "tgtss-every-10")
ENSEMBLE, PLAIN_EXPONENT = "ensemble-shared", "tgtss-power-1"
# As it was chosen on each data set.
SMOOTHING = {"clinc150": "label-smoothing-0.5", "massive": "label-smoothing-0.1"}
METHODS = ("control", "ensemble", "l2", "swa", "label-smoothing", "tgtss")


def arms_of(found: SettingResults, method: str) -> tuple[str, ...]:
    """Our arms of a method of the paper.

    Args:
        found: Our results.
        method: One of `METHODS`.

    Returns:
        Those that were trained: one, or two of TGTSS, with a shared teacher and with fresh ones.
    """
    known = {
        "control": (BASELINE,),
        "ensemble": (ENSEMBLE,),
        "label-smoothing": (SMOOTHING[found.dataset],),
        "tgtss": (found.first_of(SHARED_TEACHER) or "", found.first_of(FRESH_TEACHER) or ""),
    }.get(method, (method,))
    return tuple(arm for arm in known if found.of(arm))


def where(found: SettingResults, arm: str) -> str:
    """Setting and arm, for people."""
    return f"{found.title}: {title_of(arm)}"


def protocol(found: SettingResults, arm: str) -> str:
    """Whether all runs of an arm learned from one teacher, for people."""
    return "with fresh teachers" if found.shares(arm) is None else "with a shared teacher"
