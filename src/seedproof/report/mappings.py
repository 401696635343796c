"""Results that are mappings, and estimates that print in their unit."""

from abc import abstractmethod
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from operator import attrgetter
from typing import TypeVar, overload

from seedproof.errors import UnknownNameError
from seedproof.metrics.card import Unit
from seedproof.report.numbers import NO_BREAK, bracketed, in_brackets, sign, signless
from seedproof.stats.intervals import Estimate

V = TypeVar("V")
T = TypeVar("T")
FIGURES = attrgetter("value", "low", "high", "over")


class ByName(Mapping[str, V]):
    """A whole mapping by name, whose error for an unknown name lists the known ones."""

    @property
    @abstractmethod
    def _entries(self) -> Mapping[str, V]:
        """Everything by name."""

    @abstractmethod
    def _unknown(self, name: str) -> UnknownNameError:
        """Return the error for an unknown name."""

    def __getitem__(self, name: str) -> V:
        entries = self._entries
        if name not in entries:
            raise self._unknown(name)
        return entries[name]

    def __iter__(self) -> Iterator[str]:
        return iter(self._entries)

    def __len__(self) -> int:
        return len(self._entries)

    def __contains__(self, name: object) -> bool:
        return name in self._entries

    @overload
    def get(self, key: str, /) -> V | None: ...
    @overload
    def get(self, key: str, /, default: V | T) -> V | T: ...
    def get(self, key: str, /, default: V | T | None = None) -> V | T | None:
        """Return the entry of that name, or the default."""
        return self._entries.get(key, default)


@dataclass(frozen=True, slots=True, eq=False)
class WrittenEstimate(Estimate):
    """An estimate that prints as in the table of its report; equal to the plain estimate."""

    unit: Unit = "score"
    # A difference of shares is in points, with the digits of a share.
    is_difference: bool = False

    @classmethod
    def of(
        cls, estimate: Estimate, unit: Unit, *, is_difference: bool = False
    ) -> "WrittenEstimate":
        """Return an estimate with its unit."""
        return cls(*FIGURES(estimate), unit, is_difference)

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, Estimate):
            return NotImplemented
        return bool(FIGURES(self) == FIGURES(other))

    def __hash__(self) -> int:
        return hash(FIGURES(self))

    def __str__(self) -> str:
        text = bracketed(self, self.unit)
        if self.is_difference:
            text = signless(self.value) + sign("points") + in_brackets(self, signless)
        text = text.replace(NO_BREAK, " ")
        return text if self.over is None else f"{text} over {self.over}"
