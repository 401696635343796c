"""The same examples of several arms, for any size of their shards."""

from collections.abc import Callable
from dataclasses import dataclass, field
from functools import partial

import numpy as np

from seedproof.errors import LabelConflictError, MissingExampleError
from seedproof.records.probabilities import UNLABELED
from seedproof.records.shards import Shard, ShardSource
from seedproof.typing import IntArray


def rows_of(
    source: ShardSource, first: int, last: int, read: Callable[[int], Shard] | None = None
) -> Shard:
    """Return the rows of a source from position `first` to before `last`, across its shards."""
    size, read = source.rows_per_shard, read or source.shard
    pieces = []
    for index in range(first // size, (last - 1) // size + 1):
        shard, start = read(index), index * size
        cut = slice(max(first - start, 0), min(last - start, len(shard)))
        is_whole = (cut.start, cut.stop) == (0, len(shard))
        pieces.append(shard if is_whole else shard.rows(cut))
    return Shard.joined(pieces)


@dataclass(frozen=True, eq=False)
class ArmAlignment:
    """Several arms that predict the same examples, shard by shard of the first."""

    names: tuple[str, ...]
    sources: tuple[ShardSource, ...]
    _kept: dict[int, tuple[int, Shard]] = field(default_factory=dict, init=False, repr=False)

    def __post_init__(self) -> None:
        n_first = self.sources[0].n_examples
        for name, source in zip(self.names, self.sources, strict=True):
            if source.n_examples != n_first:
                raise MissingExampleError(
                    "{name!r} has {n_first:,} examples and {other_name!r} has {n_here:,}. "
                    "Compare predictions of the same examples.",
                    name=self.names[0],
                    n_first=n_first,
                    other_name=name,
                    n_here=source.n_examples,
                )

    @property
    def n_shards(self) -> int:
        """Number of shards of the first arm."""
        return self.sources[0].n_shards

    def shard(self, index: int) -> Shard:
        """Read shard `index` of the first arm."""
        return self.sources[0].shard(index)

    def match(self, arm_idx: int, first: Shard) -> Shard:
        """Read the examples of a shard of the first arm from another arm, and check them."""
        start = first.index * self.sources[0].rows_per_shard
        read = partial(self._read, arm_idx)
        shard = rows_of(self.sources[arm_idx], start, start + len(first), read)
        if not shard.ids.equals(first.ids):
            raise self._different_examples(arm_idx, first, shard)
        self._check_labels(arm_idx, first, shard)
        return shard

    def _read(self, arm_idx: int, index: int) -> Shard:
        """Read a shard of an arm; keep the last one if shards of the first arm are smaller."""
        source = self.sources[arm_idx]
        if source.rows_per_shard <= self.sources[0].rows_per_shard:
            return source.shard(index)
        if self._kept.get(arm_idx, (-1, None))[0] != index:
            self._kept[arm_idx] = index, source.shard(index)
        return self._kept[arm_idx][1]

    def _different_examples(self, arm_idx: int, first: Shard, shard: Shard) -> MissingExampleError:
        names = {"name": self.names[0], "other_name": self.names[arm_idx]}
        if shard.ids.type != first.ids.type:
            return MissingExampleError(
                "{name!r} and {other_name!r} have ids of different types ({id_type} and "
                "{other_id_type}). Use the same ids in both.",
                **names,
                id_type=first.ids.type,
                other_id_type=shard.ids.type,
            )
        pairs = zip(first.ids.to_pylist(), shard.ids.to_pylist(), strict=True)
        here, there = next(pair for pair in pairs if pair[0] != pair[1])
        return MissingExampleError(
            "{name!r} and {other_name!r} hold different examples: {example!r} in the first is "
            "{other_example!r} in the second. Compare predictions of the same examples.",
            **names,
            example=here,
            other_example=there,
        )

    def _check_labels(self, arm_idx: int, first: Shard, shard: Shard) -> None:
        if first.labels is None or shard.labels is None:
            return
        labels = _names(first.labels, self.sources[0].classes)
        others = _names(shard.labels, self.sources[arm_idx].classes)
        different = np.flatnonzero(labels != others)
        if len(different):
            place = int(different[0])
            label, other = labels[place] or None, others[place] or None
            here, there = ("no label" if x is None else f"the label {x!r}" for x in (label, other))
            raise LabelConflictError(
                "Example {example!r} has {here} in {name!r} and {there} in {other_name!r}. Give "
                "each example the same label everywhere.",
                example=first.ids[place].as_py(),
                here=here,
                name=self.names[0],
                there=there,
                other_name=self.names[arm_idx],
                label=label,
                other_label=other,
            )


def _names(labels: IntArray, classes: tuple[str, ...]) -> np.ndarray:
    """Class names of labels; an empty one where unknown."""
    return np.where(labels == UNLABELED, "", np.array(classes, dtype=object)[labels])
