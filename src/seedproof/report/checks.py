"""Checks of the input for people: errors and warnings first, notes with the other notes.

A check that several arms share is shown once, with the names of all of them.
"""

from collections.abc import Iterable
from dataclasses import replace

from seedproof.predictions.checks import Check, by_severity, named


def alerts(checks: Iterable[Check]) -> tuple[Check, ...]:
    """Return errors, then warnings."""
    return by_severity(_merged(check for check in checks if check.severity != "note"))


def notes(checks: Iterable[Check]) -> tuple[str, ...]:
    """Return the checks that are notes, as text."""
    merged = _merged(check for check in checks if check.severity == "note")
    return tuple(f"{finding(check)} {check.remedy}".strip() for check in merged)


def _merged(checks: Iterable[Check]) -> list[Check]:
    arms: dict[Check, list[str]] = {}
    for check in checks:
        own = [] if check.arm is None else [check.arm]
        arms.setdefault(replace(check, arm=None), []).extend(own)
    return [replace(check, arm=named(names) if names else None) for check, names in arms.items()]


def finding(check: Check) -> str:
    """Return the message, after the name of the arm if there is one."""
    return check.message if check.arm is None else f"{check.arm}: {check.message}"
