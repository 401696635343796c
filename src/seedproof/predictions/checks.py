"""Checks of the input: what is suspicious, how severe it is, and what to do."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from typing import Any

from seedproof.errors import OptionError

# All names, for options that take one.
CHECK_NAMES = (
    "duplicate-runs",
    "constant-run",
    "outlier-run",
    "identical-arms",
    "missing-runs",
    "unexpected-classes",
    "few-runs",
    "transposed",
    "not-categorical",
)
# The most severe first.
SEVERITIES = ("error", "warning", "note")


@dataclass(frozen=True)
class Check:
    """A finding about the input.

    Args:
        name: Its name, such as duplicate-runs.
        severity: note, warning or error.
        runs: The runs that it is about.
        message: The finding in words.
        remedy: How to fix it.
        arm: The arm that it is about, in a comparison; None if there is only one.

    Examples:
        >>> import seedproof as sp
        >>> check = sp.Check(
        ...     "few-runs", "warning", ("0", "1"), "2 runs.", "Use at least 5."
        ... )
        >>> check.severity
        'warning'
    """

    name: str
    severity: str
    runs: tuple[str, ...]
    message: str
    remedy: str
    arm: str | None = None

    def __post_init__(self) -> None:
        if self.severity not in SEVERITIES:
            raise OptionError(
                "The severity {severity!r} of a check is not one of: {known}. Give one of these.",
                severity=self.severity,
                known=SEVERITIES,
            )

    @classmethod
    def from_summary(cls, summary: Mapping[str, Any]) -> "Check":
        """Return the check that a summary was made from."""
        texts = {key: str(summary[key]) for key in ("name", "severity", "message", "remedy")}
        return cls(**texts, runs=tuple(map(str, summary["runs"])), arm=summary.get("arm"))

    def summary(self) -> dict[str, Any]:
        """Return everything as plain data."""
        return vars(self) | {"runs": list(self.runs)}


def of_arms(checks: Mapping[str, Iterable[Check]]) -> tuple[Check, ...]:
    """Return the checks of several arms, each with the name of its arm."""
    return tuple(replace(check, arm=arm) for arm, own in checks.items() for check in own)
