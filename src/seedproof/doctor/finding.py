"""Findings of the doctor: a verdict per check, and what was observed as data."""

from dataclasses import dataclass
from typing import Any, Literal

from seedproof.messages import Message

# The checks by their codes, in the order in which they are shown: sentences that should hold.
CHECKS = {
    "logs-predictions": "It logs predictions",
    "same-seed-same-bits": "The same seed gives the same bits",
    "other-seed-changes-something": "Another seed changes something",
    "other-seed-other-start": "Another seed begins with other weights",
    "sources-change-something": "Each source changes something of its own",
    "stable-ids": "Examples keep their ids",
    "seeds-before-draws": "Seeds are set before anything is drawn",
    "separate-files": "Runs do not write the same files",
    "number-of-threads": "It keeps to its threads",
}

Verdict = Literal["pass", "fail", "warn", "skip"]


@dataclass(frozen=True)
class Phrases:
    """Messages that are read as one phrase.

    Args:
        parts: The messages.
        separator: Text between two of them.
    """

    parts: tuple[Message, ...]
    separator: str = " and "

    def __bool__(self) -> bool:
        return bool(self.parts)

    def __str__(self) -> str:
        return self.separator.join(map(str, self.parts))


@dataclass(frozen=True)
class Finding:
    """The result of one check.

    Args:
        code: Name of the check, one of `CHECKS`.
        verdict: `pass`, `fail`, `warn` (look at it) or `skip` (could not be checked).
        observed: What was seen.
        cause: The likely cause, if there is something to explain.
        fix: What to do, if there is something to do.
    """

    code: str
    verdict: Verdict
    observed: Message
    cause: Message | None = None
    fix: Message | None = None

    @property
    def check(self) -> str:
        """The check, as a sentence that should hold."""
        return CHECKS[self.code]

    def as_json(self) -> dict[str, Any]:
        """Return the finding for JSON: its texts, and in `details` the data behind them."""
        messages = {"found": self.observed, "cause": self.cause, "fix": self.fix}
        texts = {name: "" if said is None else str(said) for name, said in messages.items()}
        return {
            "check": self.check,
            "verdict": self.verdict,
            **texts,
            "code": self.code,
            "details": {name: details(said) for name, said in messages.items()},
        }


def details(value: object) -> Any:  # noqa: ANN401 - whatever JSON knows
    """Return the data of a message: its code and fields, with messages inside resolved too.

    >>> details(Message("late-seed", "{place} seeds too late.", place="train.py:3"))
    {'code': 'late-seed', 'place': 'train.py:3'}
    """
    if isinstance(value, Message):
        return {"code": value.code} | {name: details(said) for name, said in value.fields.items()}
    if isinstance(value, Phrases):
        return [details(part) for part in value.parts]
    if isinstance(value, list | tuple):
        return [details(part) for part in value]
    return value
