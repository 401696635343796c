"""Stored results of one setting: figures and effects by arm and path, with their intervals."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar, TypeVar

from seedproof.errors import EmptyInputError
from seedproof.stats.effect import Effect
from seedproof.stats.intervals import Estimate

# Metric of effects whose path does not end with its name.
METRIC_OF = {"high": "label_entropy", "single_run_effects": "single_run_entropy"}


def lookup(content: Any, path: str) -> Any:  # noqa: ANN401 - nested plain data
    """Return the value at a path of keys, such as `costs.training`; None if a part is missing."""
    for key in path.split("."):
        content = (content or {}).get(key)
    return content


def as_estimate(stored: Sequence[Any] | None) -> Estimate | None:
    """Return a stored figure, with its interval if it has one; None if it was not measured."""
    return None if stored is None or stored[0] is None else Estimate(*stored)


@dataclass(frozen=True, eq=False)
class StoredResults:
    """Results of one setting, from the content of a stored file."""

    # Parts of a setting, each with its values in the order of the page.
    order: ClassVar[Mapping[str, Sequence[str | int]]] = {}

    content: Mapping[str, Any]

    @property
    def dataset(self) -> str:
        """Name of the data set in code."""
        return str(self.content["setting"]["dataset"])

    @property
    def n_each(self) -> list[int]:
        """Runs of each arm."""
        return [int(arm["n_runs"]) for arm in self.content["arms"].values()]

    @property
    def n_runs(self) -> int:
        """Runs of the largest arm."""
        return max(self.n_each, default=0)

    @property
    def seeds(self) -> str:
        """Seeds per arm, such as "10", or "7 to 10" if arms differ."""
        return " to ".join(map(str, sorted({min(self.n_each, default=0), self.n_runs})))

    def of(self, arm: str, path: str) -> Any:  # noqa: ANN401 - nested plain data
        """Return the content of an arm at a path, such as `drift.class`; None if not stored."""
        return lookup(self.content["arms"].get(arm), path)

    def estimate(self, arm: str, path: str) -> Estimate | None:
        """Return a figure, such as `metrics.flip_rate`; None if it was not measured."""
        return as_estimate(self.of(arm, path))

    def effect(self, arm: str, path: str) -> Effect | None:
        """Return the effect at a path, such as `effects.flip_rate`; None if it is not stored."""
        stored = self.of(arm, path)
        metric = METRIC_OF.get(path.partition(".")[0], path.rpartition(".")[2])
        if isinstance(stored, int | float):
            return Effect(metric, "ratio", stored)  # without an interval
        return None if stored is None else Effect(metric, **stored)


def fewer(noun: str, ours: int, paper: int) -> tuple[str, ...]:
    """Return what the paper had more of, such as "400 of 6,355 texts"; empty if nothing."""
    return (f"{ours:,} of {paper:,} {noun}",) if ours < paper else ()


AnyResults = TypeVar("AnyResults", bound=StoredResults)


def in_order(settings: Iterable[AnyResults]) -> tuple[AnyResults, ...]:
    """Sort settings by `order`, then by name; if there are none, raise an `EmptyInputError`."""

    def place(setting: AnyResults) -> tuple[list[int], str]:
        chosen = setting.content["setting"]
        # Values that the page does not name come last.
        places = [
            [*values, chosen[part]].index(chosen[part]) for part, values in setting.order.items()
        ]
        return places, setting.content["name"]

    if ordered := tuple(sorted(settings, key=place)):
        return ordered
    raise EmptyInputError("There are no results to make a page of. Collect some first.")
