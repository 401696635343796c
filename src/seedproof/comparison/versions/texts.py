"""Two versions that give free texts: which examples get other answers than another run gives."""

from collections.abc import Sequence
from dataclasses import replace

import numpy as np
import pyarrow as pa

from seedproof.comparison.versions.result import TEXT_COLUMNS, VersionComparison
from seedproof.comparison.versions.sums import ClassVersionSums, VersionSums
from seedproof.measurement.texts import RIGHT_NAME
from seedproof.messages import Message
from seedproof.records.arrow import to_arrow
from seedproof.records.location import Location
from seedproof.records.probabilities import UNLABELED
from seedproof.records.schema import Kind
from seedproof.records.shards import Shard, ShardSource
from seedproof.records.text_answers import codes_of
from seedproof.typing import IntArray


class TextVersionSums(ClassVersionSums):
    """Sums over the answers of two versions, numbered within each example."""

    own_columns = TEXT_COLUMNS
    kind = str(Kind.TEXTS)
    is_small = True

    def __init__(
        self,
        sources: tuple[ShardSource, ShardSource],
        slices: Sequence[str],
        clusters: str | None = None,
    ) -> None:
        # The only class that examples have is that of their right answer.
        VersionSums.__init__(self, sources, (RIGHT_NAME,), slices, clusters)

    def answers(self, old: Shard, new: Shard) -> list[np.ndarray]:
        """Return the same code for the same answer in both versions."""
        keys = [np.asarray(shard.answers) for shard in (old, new)]
        return np.split(codes_of(np.concatenate(keys)), [len(keys[0])])

    def gold(self, old: Shard, new: Shard) -> IntArray | None:
        """Return the code of right answers, where they are known."""
        labels = old.labels if new.labels is None else new.labels
        return np.full(len(old), UNLABELED) if labels is None and self._is_labeled else labels

    def column(self, values: np.ndarray, name: str) -> pa.Array:
        """Return a column of the table of examples."""
        if name == TEXT_COLUMNS[1]:
            return to_arrow(values != UNLABELED)
        return to_arrow(values, missing=np.isnan(values))

    def result(self, examples_file: Location, notes: tuple[Message, ...]) -> VersionComparison:
        """Return the result after all shards have been added, without classes."""
        return replace(super().result(examples_file, notes), classes=(), by_class=())
