"""Free texts of aligned runs in memory, as shards."""

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np
import pyarrow as pa

from seedproof.messages import Message
from seedproof.records.number_settings import NumberSettings
from seedproof.records.probabilities import UNLABELED
from seedproof.records.schema import Kind, Layout
from seedproof.records.shards import Shard, ShardSource
from seedproof.records.text_answers import (
    MISSING,
    RIGHT,
    VERBATIM,
    AnswerKeys,
    Normalization,
    answer_keys,
    equal_any,
    reference_keys,
    share_of_answer,
)
from seedproof.typing import BoolArray, FloatArray

# An answer is right if more than this share of its rows is marked as right.
MAJORITY = 0.5


@dataclass(frozen=True, eq=False)
class TextAnswers:
    """Answers of all runs to the same examples, and how it is decided which are the same."""

    texts: np.ndarray  # str, or None where missing; axes (runs, examples)
    # Names of the answers with the same meaning, the same axes; None if equal texts decide.
    equivalent: np.ndarray | None = None
    references: Sequence[Sequence[str]] | None = None  # right answers of each example
    correct: FloatArray | None = None  # 1 if right, 0 if wrong, NaN if unknown; (runs, examples)

    def keys(self, normalization: Normalization) -> AnswerKeys:
        """Return a key for each answer: `RIGHT` for all that are right."""
        keys = self._keys(self.texts, normalization)
        of_texts = keys
        if self.equivalent is not None:
            # Texts decide where no meaning is given.
            named = self._keys(self.equivalent, VERBATIM)
            keys = np.where(named == MISSING, keys, named)
        is_right = np.zeros(keys.shape, dtype=np.bool_)
        if self.correct is not None:
            is_right = share_of_answer(self.correct == 1.0, keys) > MAJORITY
        elif self.references is not None:
            right = reference_keys(self.references, normalization)
            is_right = equal_any(of_texts, right)
            if self.equivalent is not None:
                is_right |= equal_any(self._keys(self.equivalent, normalization), right)
                # An answer that means the same as a right one is right.
                is_right = share_of_answer(is_right, keys) > 0.0
        return np.where(is_right & self.is_known, np.uint64(RIGHT), keys)

    @property
    def is_known(self) -> BoolArray:
        """True for each example whose right answers are known: (examples)."""
        if self.correct is not None:
            return np.asarray(~np.isnan(self.correct).any(axis=0))
        if self.references is not None:
            return np.array([bool(of_example) for of_example in self.references], dtype=np.bool_)
        return np.zeros(self.texts.shape[1], dtype=np.bool_)

    def notes(self, normalization: Normalization) -> list[Message]:
        """Return how answers are compared, and remarks on missing and contradictory ones."""
        notes = [_comparison(normalization, has_meanings=self.equivalent is not None)]
        n_missing = int(sum(text is None for text in self.texts.flat))
        if n_missing:
            notes.append(
                Message(
                    "answers-missing",
                    "{n_missing:,} of {n_answers:,} answers are empty; they are the same answer.",
                    n_missing=n_missing,
                    n_answers=self.texts.size,
                )
            )
        if self.correct is not None:
            shares = share_of_answer(self.correct == 1.0, self._own_keys(normalization))
            n_split = int(((shares > 0.0) & (shares < 1.0)).any(axis=0).sum())
            if n_split:
                notes.append(
                    Message(
                        "answers-judged-both-ways",
                        "On {n_examples:,} examples the same answer is marked as right in some "
                        "rows and as wrong in others; the majority decides.",
                        n_examples=n_split,
                    )
                )
        return notes

    def _own_keys(self, normalization: Normalization) -> AnswerKeys:
        """Return a key for each answer, right or not."""
        return TextAnswers(self.texts, self.equivalent).keys(normalization)

    def _keys(self, texts: np.ndarray, normalization: Normalization) -> AnswerKeys:
        return answer_keys(texts.ravel().tolist(), normalization).reshape(texts.shape)


def _comparison(normalization: Normalization, *, has_meanings: bool) -> Message:
    if has_meanings:
        return Message(
            "answers-by-meaning",
            "Answers are the same if the column for equivalent answers says so, whatever their "
            "texts.",
        )
    if not normalization.ignored:
        return Message("answers-verbatim", "Answers are the same only if their texts are equal.")
    return Message(
        "answers-normalized",
        "Answers are the same if their texts are equal apart from {ignored}; --distinguish makes "
        "some of these count.",
        ignored=in_words([_WORDS[name] for name in normalization.ignored]),
        differences=normalization.ignored,
    )


def in_words(names: Sequence[str]) -> str:
    """Return names as a list in a sentence.

    >>> in_words(["case", "spaces", "numbers"])
    'case, spaces and numbers'
    """
    *others, last = names
    return f"{', '.join(others)} and {last}" if others else last


_WORDS = {
    "case": "case",
    "spaces": "spaces",
    "punctuation": "punctuation",
    "numbers": "the way numbers are written",
}


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
        settings: NumberSettings,
        extras: pa.Table | None = None,
    ) -> None:
        self.runs = tuple(runs)
        self.settings = replace(settings, by_meaning=answers.equivalent is not None)
        self.rows_per_shard = Layout(self.kind, ()).rows_per_group
        self.n_examples = len(ids)
        self.n_labeled = int(answers.is_known.sum())
        self.extras = () if extras is None else tuple(extras.column_names)
        self._ids, self._extras, self._texts = ids, extras, answers.texts
        self._keys = answers.keys(settings.normalization)
        self._labels = np.where(answers.is_known, RIGHT, UNLABELED) if self.n_labeled else None

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
            texts=self._texts[:, rows],
        )
