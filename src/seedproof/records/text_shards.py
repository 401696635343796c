"""Free texts of aligned runs in memory, as shards."""

from collections.abc import Sequence
from dataclasses import replace

import pyarrow as pa

from seedproof.records.answer_settings import AnswerSettings
from seedproof.records.schema import Kind, Layout
from seedproof.records.shards import Shard, ShardSource
from seedproof.records.text_answers import TextAnswers


class TextShards(ShardSource):
    """Free texts of aligned runs in memory, in the order in which a store would have them.

    Args:
        runs: Names of the runs.
        ids: Ids of the examples, in canonical order.
        answers: Answers of all runs.
        settings: Choices for the metrics.
        extras: Further columns.
    """

    is_in_memory = True
    kind = Kind.TEXTS
    classes = ()

    def __init__(
        self,
        runs: Sequence[str],
        ids: pa.Array,
        answers: TextAnswers,
        *,
        settings: AnswerSettings,
        extras: pa.Table | None = None,
    ) -> None:
        self.runs = tuple(runs)
        self.settings = replace(settings, by_meaning=answers.equivalent is not None)
        self.rows_per_shard = Layout(self.kind, ()).rows_per_group
        self.n_examples = len(ids)
        self.n_labeled = int(answers.is_known.sum())
        self.extras = () if extras is None else tuple(extras.column_names)
        self._ids, self._extras, self._answers = ids, extras, answers
        self._keys = answers.keys(settings.normalization)
        self._labels = answers.labels if self.n_labeled else None

    def shard(self, index: int) -> Shard:
        """Return one shard, without a copy."""
        start = index * self.rows_per_shard
        rows = slice(start, start + self.rows_per_shard)
        return Shard(
            index,
            self._ids[rows],
            None if self._labels is None else self._labels[rows],
            probs=None,
            predictions=None,
            extras=None if self._extras is None else self._extras[rows],
            answers=self._keys[:, rows],
            texts=self._answers.examples(rows),
        )
