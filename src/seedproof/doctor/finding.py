"""Findings of the doctor: a verdict per check, with the observation as data."""

from dataclasses import dataclass
from typing import Any, Literal

from seedproof.messages import Message

# A statement that should hold for a training, by the code of its check, in display order.
CHECKS = {
    "logs-predictions": "Predictions are logged",
    "same-seed-same-bits": "The same seed gives bit-identical results",
    "other-seed-changes-something": "A different seed changes something",
    "other-seed-other-start": "A different seed gives different initial weights",
    "sources-change-something": "Each source has an effect",
    "stable-ids": "Examples keep their ids",
    "seeds-before-draws": "Seeds are set before anything is drawn",
    "separate-files": "Runs do not write the same files",
    "number-of-threads": "The thread limit is respected",
    "usable-answers": "Answers can be measured as classes",
}

Verdict = Literal["pass", "fail", "warn", "skip"]


@dataclass(frozen=True)
class Phrases:
    """Messages that are joined and printed as one phrase."""

    parts: tuple[Message, ...]
    separator: str = " and "

    def __bool__(self) -> bool:
        return bool(self.parts)

    def __str__(self) -> str:
        return self.separator.join(map(str, self.parts))


@dataclass(frozen=True)
class Finding:
    """Result of one check: what was observed, its likely cause, and the fix.

    The verdict `warn` asks the user to take a look; `skip` means that the check was not possible.
    """

    code: str
    verdict: Verdict
    observed: Message
    cause: Message | None = None
    fix: Message | None = None

    @property
    def check(self) -> str:
        """Statement that the check tests."""
        return CHECKS[self.code]

    def as_json(self) -> dict[str, Any]:
        """Return the finding for JSON: its texts, and in `details` the data behind them."""
        messages = {"found": self.observed, "cause": self.cause, "fix": self.fix}
        return {
            "check": self.check,
            "verdict": self.verdict,
            **{name: str(message or "") for name, message in messages.items()},
            "code": self.code,
            "details": {name: details(message) for name, message in messages.items()},
        }


def details(value: object) -> Any:  # noqa: ANN401 - any JSON value
    """Return the data of a message: its code and fields, including those of nested messages.

    >>> details(Message("late-seed", "{place} seeds too late.", place="train.py:3"))
    {'code': 'late-seed', 'place': 'train.py:3'}
    """
    if isinstance(value, Message):
        return {"code": value.code} | {name: details(part) for name, part in value.fields.items()}
    parts = value.parts if isinstance(value, Phrases) else value
    return [details(part) for part in parts] if isinstance(parts, list | tuple) else value
