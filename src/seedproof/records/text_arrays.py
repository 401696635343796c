"""Free texts in memory, as shards."""

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from seedproof.errors import DtypeError, EmptyInputError, ShapeError, TooFewRunsError
from seedproof.records.answer_settings import AnswerSettings
from seedproof.records.arrays import as_extras, taken
from seedproof.records.normalize import (
    as_ids,
    as_text,
    canonical_rows,
    check_text,
    unique_names,
)
from seedproof.records.schema import Gold, Kind, Layout, Values
from seedproof.records.shards import check_run_count
from seedproof.records.text_answers import TextAnswers
from seedproof.records.text_records import reference_lists, text_columns
from seedproof.records.text_shards import TextShards


def text_shards(
    values: npt.ArrayLike | Sequence[npt.ArrayLike],
    *,
    references: Sequence[Any] | None,
    equivalent: npt.ArrayLike | Sequence[npt.ArrayLike] | None,
    ids: npt.ArrayLike | None,
    runs: Sequence[str] | None,
    extras: Mapping[str, npt.ArrayLike],
    settings: AnswerSettings,
    least_runs: int,
) -> tuple[TextShards, TextAnswers]:
    """Return arrays of texts (runs, examples) as the shards that a store of them would have."""
    texts = _as_texts(values, "texts")
    n_runs, n_examples = texts.shape
    check_run_count(n_runs)
    if n_runs < least_runs and not settings.are_trials:
        raise TooFewRunsError(
            "There is {n_runs} run. Pass the texts of at least 2 runs; axes are (runs, examples).",
            n_runs=n_runs,
        )
    if n_examples == 0:
        raise EmptyInputError(
            "There are no examples in an array of shape {shape}.", shape=(n_runs, 0)
        )
    named = None if equivalent is None else _as_texts(equivalent, "equivalent")
    if named is not None and named.shape != texts.shape:
        raise ShapeError(
            "`{option}` has shape {other!s}, and the texts have {shape!s}. Pass one name per text.",
            option="equivalent",
            other=named.shape,
            shape=texts.shape,
        )
    right = None if references is None else as_references(references, n_examples)
    example_ids = as_ids(ids, n_examples)
    columns = as_extras(extras, n_examples) if extras else None
    names = unique_names(range(n_runs) if runs is None else runs, n_runs, "run", ShapeError)
    if ids is not None:
        order = canonical_rows(example_ids)
        example_ids, texts = taken(example_ids, order), texts[:, order]
        named = None if named is None else named[:, order]
        right = None if right is None else [right[place] for place in order.tolist()]
        columns = None if columns is None else taken(columns, order)
    answers = TextAnswers(texts, named, right)
    source = TextShards(names, example_ids, answers, settings=settings, extras=columns)
    return source, answers


class TextRows:
    """Texts of one run, in canonical order and in the form that a writer takes."""

    def __init__(
        self,
        texts: npt.NDArray[np.generic],
        *,
        run: str,
        ids: npt.ArrayLike,
        references: npt.NDArray[np.generic] | None,
        equivalent: npt.NDArray[np.generic] | None,
    ) -> None:
        self._shards, _ = text_shards(
            [texts],
            references=None if references is None else references.tolist(),
            equivalent=None if equivalent is None else [equivalent],
            ids=ids,
            runs=(run,),
            extras={},
            settings=AnswerSettings(),
            least_runs=1,
        )
        has_text_ids = bool(pa.types.is_string(self._shards.ids(0).type))
        self.layout = Layout(
            Kind.TEXTS, (), text_ids=has_text_ids, by_meaning=equivalent is not None
        )

    def __iter__(self) -> Iterator[tuple[pa.Array, Gold, Values]]:
        """Yield ids, references and texts of some rows."""
        for index in range(self._shards.n_shards):
            shard = self._shards.shard(index)
            if shard.texts is not None:
                yield shard.ids, reference_lists(shard.texts.right), text_columns(shard.texts)


def as_references(references: Sequence[Any], n_examples: int) -> list[tuple[str, ...]]:
    """Return the right answers of each example, given one or a list of them; none for None.

    >>> as_references(["a", ["b", "c"], None], 3)
    [('a',), ('b', 'c'), ()]
    """
    if len(references) != n_examples:
        raise ShapeError(
            "There are {n_references} references and {n_examples} examples. Pass one, or a list of "
            "right answers, for each example.",
            n_references=len(references),
            n_examples=n_examples,
        )
    listed = [x if isinstance(x, list | tuple | np.ndarray) else [x] for x in references]
    known = [[as_text(text) for text in of_example] for of_example in listed]
    right = [tuple(text for text in texts if text is not None) for texts in known]
    check_text([text for texts in right for text in texts])
    return right


def _as_texts(values: npt.ArrayLike | Sequence[npt.ArrayLike], name: str) -> np.ndarray:
    """Return texts with the axes (runs, examples), None where there is none."""
    rows = [np.asarray(row, dtype=object) for row in values]  # type: ignore[union-attr] # iterable
    shapes = {row.shape for row in rows}
    if len(shapes) != 1 or rows[0].ndim != 1:
        raise ShapeError(
            "`{option}` needs one text per run and example, axes (runs, examples), but runs have "
            "the shapes {shapes}.",
            option=name,
            shapes=tuple(sorted(map(str, shapes))),
        )
    texts = np.empty((len(rows), len(rows[0])), dtype=object)
    for place, row in enumerate(rows):
        if any(isinstance(value, list | tuple | dict) for value in row):
            raise DtypeError(
                "`{option}` has lists or objects, not texts. Pass one text per run and example.",
                option=name,
            )
        texts[place] = [as_text(value) for value in row.tolist()]
        check_text([text for text in texts[place] if text is not None])
    return texts
