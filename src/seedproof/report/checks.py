"""Checks of the input for people: errors and warnings first, notes with the other notes."""

from collections.abc import Iterable

from seedproof.predictions.checks import SEVERITIES, Check


def alerts(checks: Iterable[Check]) -> tuple[Check, ...]:
    """Return errors, then warnings."""
    shown = (check for check in checks if check.severity != "note")
    return tuple(sorted(shown, key=lambda check: SEVERITIES.index(check.severity)))


def notes(checks: Iterable[Check]) -> tuple[str, ...]:
    """Return the checks that are notes, as text."""
    texts = (check for check in checks if check.severity == "note")
    return tuple(f"{finding(check)} {check.remedy}".strip() for check in texts)


def finding(check: Check) -> str:
    """Return the message, after the name of the arm if there is one."""
    return check.message if check.arm is None else f"{check.arm}: {check.message}"
