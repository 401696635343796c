"""The same examples of several sides, whatever the size of their shards."""

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
    """Rows of a source from position `first` to before `last`, across the limits of its shards."""
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
    """Several sides that predict the same examples, shard by shard of the first.

    Args:
        names: What each side is called, for messages.
        sources: The sides.

    Raises:
        MissingExampleError: They do not have the same number of examples.
    """

    names: tuple[str, ...]
    sources: tuple[ShardSource, ...]
    _kept: dict[int, tuple[int, Shard]] = field(default_factory=dict, init=False, repr=False)

    def __post_init__(self) -> None:
        for name, source in zip(self.names, self.sources, strict=True):
            n_first, n_here = self.sources[0].n_examples, source.n_examples
            if n_here != n_first:
                raise MissingExampleError(
                    "{name!r} has {n_first:,} examples and {other_name!r} has {n_here:,}. "
                    "Compare predictions of the same examples.",
                    name=self.names[0],
                    n_first=n_first,
                    other_name=name,
                    n_here=n_here,
                )

    def _read(self, side: int, index: int) -> Shard:
        """A shard of a side; the last one is kept if shards of the first are smaller."""
        source = self.sources[side]
        if source.rows_per_shard <= self.sources[0].rows_per_shard:
            return source.shard(index)
        if self._kept.get(side, (-1, None))[0] != index:
            self._kept[side] = index, source.shard(index)
        return self._kept[side][1]

    @property
    def n_shards(self) -> int:
        """How many shards the first side has."""
        return self.sources[0].n_shards

    def shard(self, index: int) -> Shard:
        """Shard `index` of the first side."""
        return self.sources[0].shard(index)

    def beside(self, side: int, first: Shard) -> Shard:
        """What one side says of the examples of a shard of the first."""
        start = first.index * self.sources[0].rows_per_shard
        found = rows_of(self.sources[side], start, start + len(first), partial(self._read, side))
        if not found.ids.equals(first.ids):
            raise self._other_example(side, first, found)
        self._check_labels(side, first, found)
        return found

    def _other_example(self, side: int, first: Shard, found: Shard) -> MissingExampleError:
        names = {"name": self.names[0], "other_name": self.names[side]}
        if found.ids.type != first.ids.type:
            return MissingExampleError(
                "{name!r} and {other_name!r} have ids of different types ({id_type} and "
                "{other_id_type}). Give the same ids in both.",
                **names,
                id_type=first.ids.type,
                other_id_type=found.ids.type,
            )
        pairs = zip(first.ids.to_pylist(), found.ids.to_pylist(), strict=True)
        here, there = next(pair for pair in pairs if pair[0] != pair[1])
        return MissingExampleError(
            "{name!r} and {other_name!r} hold different examples: where one has {example!r}, the "
            "other has {other_example!r}. Compare predictions of the same examples.",
            **names,
            example=here,
            other_example=there,
        )

    def _check_labels(self, side: int, first: Shard, found: Shard) -> None:
        if first.labels is None or found.labels is None:
            return
        mine = _names(first.labels, self.sources[0].classes)
        theirs = _names(found.labels, self.sources[side].classes)
        different = np.flatnonzero(mine != theirs)
        if len(different):
            place = int(different[0])
            here, there = (
                f"the label {one[place]!r}" if one[place] else "no label" for one in (mine, theirs)
            )
            raise LabelConflictError(
                "Example {example!r} has {here} in {name!r} and "
                "{there} in {other_name!r}. Give one label for each example, the same ones "
                "everywhere.",
                example=first.ids[place].as_py(),
                here=here,
                name=self.names[0],
                there=there,
                other_name=self.names[side],
                label=mine[place] or None,
                other_label=theirs[place] or None,
            )


def _names(labels: IntArray, classes: tuple[str, ...]) -> np.ndarray:
    """Class names of labels; an empty one where unknown."""
    return np.where(labels == UNLABELED, "", np.array(classes, dtype=object)[labels])
