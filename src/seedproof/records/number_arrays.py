"""Numbers in memory, as shards."""

from collections.abc import Iterator, Mapping, Sequence

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from seedproof.errors import DtypeError, EmptyInputError, ShapeError, TooFewRunsError
from seedproof.messages import Message
from seedproof.records.answer_settings import AnswerSettings
from seedproof.records.arrays import as_extras, taken
from seedproof.records.checks import check_numbers, check_targets, example_of
from seedproof.records.normalize import (
    as_ids,
    as_text,
    canonical_rows,
    sized_column,
    unique_names,
)
from seedproof.records.schema import Layout, Values, need_double
from seedproof.records.shards import NumberShards, check_run_count
from seedproof.typing import FloatArray


def are_numbers(values: npt.ArrayLike | Sequence[npt.ArrayLike]) -> bool:
    """Return whether arrays have one float per run and example, and not one row per class."""
    try:
        array = np.asarray(values)
    except ValueError:  # the runs have different shapes
        return False
    is_float = np.issubdtype(array.dtype, np.floating) and array.ndim == 2
    return is_float and not np.allclose(array.sum(axis=1), 1, atol=1e-3)


def number_shards(
    values: npt.ArrayLike | Sequence[npt.ArrayLike],
    *,
    targets: npt.ArrayLike | None,
    ids: npt.ArrayLike | None,
    runs: Sequence[str] | None,
    extras: Mapping[str, npt.ArrayLike],
    settings: AnswerSettings,
    least_runs: int,
) -> NumberShards:
    """Return arrays of numbers (runs, examples) as the shards that a store of them would have."""
    array = np.asarray(values)
    if array.ndim != 2 or array.dtype.kind not in "fiub":
        raise ShapeError(
            "Numbers have two axes, (runs, examples), but this is {dtype} of shape {shape!s}.",
            dtype=array.dtype,
            shape=array.shape,
        )
    n_runs, n_examples = array.shape
    check_run_count(n_runs)
    if n_runs < least_runs and not settings.are_trials:
        raise TooFewRunsError(
            "There is {n_runs} run. Pass the numbers of at least 2 runs; axes are (runs, "
            "examples).",
            n_runs=n_runs,
        )
    if n_examples == 0:
        raise EmptyInputError(
            "There are no examples in an array of shape {shape}.", shape=(n_runs, 0)
        )
    numbers = array.astype(np.float64)
    gold = None if targets is None else _as_targets(targets, n_examples)
    example_ids = as_ids(ids, n_examples)
    columns = as_extras(extras, n_examples) if extras else None
    names = unique_names(range(n_runs) if runs is None else runs, n_runs, "run", ShapeError)

    def where(row: int) -> Message:
        run, example = divmod(row, n_examples)
        return example_of(names[run], example_ids[example].as_py())

    check_numbers(numbers.ravel(), where)
    if gold is not None:
        check_targets(gold, where)
    if ids is not None:
        order = canonical_rows(example_ids)
        example_ids, numbers = taken(example_ids, order), numbers[:, order]
        gold = None if gold is None else gold[order]
        columns = None if columns is None else taken(columns, order)
    return NumberShards(
        names, example_ids, numbers, targets=gold, settings=settings, extras=columns
    )


def _as_targets(targets: npt.ArrayLike, n_examples: int) -> FloatArray:
    """Return the right number of each example, NaN where unknown."""
    given = sized_column(targets, n_examples, "targets")
    if given.dtype == object:
        given = np.array([np.nan if as_text(value) is None else value for value in given])
    if given.dtype.kind not in "fiub":
        raise DtypeError(
            "Targets must be numbers, not {dtype}. Pass None where one is unknown.",
            dtype=given.dtype,
        )
    return given.astype(np.float64)


class NumberRows:
    """Numbers of one run, in canonical order and in the form that a writer takes."""

    def __init__(
        self,
        values: npt.NDArray[np.generic],
        *,
        run: str,
        ids: npt.ArrayLike,
        targets: npt.ArrayLike | None,
        is_whole: bool,
    ) -> None:
        self._shards = shards = number_shards(
            values[np.newaxis],
            targets=targets,
            ids=ids,
            runs=(run,),
            extras={},
            settings=AnswerSettings(),
            least_runs=1,
        )
        # Rows that follow may need what these do not.
        is_single = values.dtype.kind == "f" and values.dtype.itemsize <= 4
        double = need_double(shards.numbers) if is_whole else not is_single
        self.layout = Layout(shards.kind, (), text_ids=shards.has_text_ids, double=double)

    def __iter__(self) -> Iterator[tuple[pa.Array, FloatArray, Values]]:
        """Yield ids, targets and numbers of some rows, checked."""
        for index in range(self._shards.n_shards):
            shard = self._shards.shard(index)
            targets = np.full(len(shard), np.nan) if shard.targets is None else shard.targets
            yield shard.ids, targets, np.asarray(shard.numbers)[0]
