"""Explanations of all runs of an arm, aligned: the same examples, draws and tokens."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import zip_longest
from typing import TypeAlias

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from seedproof.errors import (
    DamagedStoreError,
    MissingExampleError,
    NotFoundError,
    SeedproofError,
    TooFewRunsError,
)
from seedproof.messages import Message
from seedproof.records.arrow import to_arrow
from seedproof.records.explanations import ROWS_PER_GROUP, explanation_schema
from seedproof.records.location import Location
from seedproof.records.manifest import RunManifest
from seedproof.records.reader import Store, as_reason, listed
from seedproof.records.run_reader import PartFiles
from seedproof.records.schema import Group, ids_digest
from seedproof.records.shards import ShardSource
from seedproof.typing import FloatArray, IntArray

# The code of a note that some method is not measured.
EXPLANATIONS_LEFT_OUT = "explanations-left-out"
COLUMNS = ("example", "tokens", "scores", "draw")


@dataclass(frozen=True, eq=False)
class ExplanationShard:
    """The examples whose first draw is in row group `index`, as all runs explain them."""

    index: int  # partial results are merged in this order
    ids: pa.Array  # example ids, int64 or text
    tokens: pa.ListArray  # tokens of each example
    scores: FloatArray  # (runs, tokens of all examples and draws), draw after draw per example
    n_draws: IntArray  # draws per example

    def __len__(self) -> int:
        return len(self.ids)

    @property
    def lengths(self) -> IntArray:
        """Number of tokens per example."""
        return np.asarray(np.diff(self.tokens.offsets.to_numpy())).astype(np.int64)


def open_explanations(store: Store, *, arm: str, split: str, method: str) -> "ExplanationShards":
    """Open the explanations of all finished runs of an arm by one method, aligned."""
    chosen = [run for run in store.runs if run.arm == arm and run.status == "finished"]
    if len(chosen) < 2:
        raise TooFewRunsError(
            "Two explanations need two runs to differ, but arm {arm!r} of study "
            "{study!r} has {n_runs} finished run(s). Explain at least 2 runs.",
            arm=arm,
            study=store.study.name,
            n_runs=len(chosen),
        )
    return _aligned(store.location, chosen, split, method)


def _aligned(
    store: Location, runs: Sequence[RunManifest], split: str, method: str
) -> "ExplanationShards":
    readers = [PartFiles(store, run, f"explanations/{split}/{method}/") for run in runs]
    for reader in readers:
        if not reader.groups:
            raise NotFoundError(
                "Run {run!r} of arm {arm!r} has no explanations by {method!r} on {split!r}. "
                "Explain every run of the arm.",
                run=reader.run.name,
                arm=reader.run.arm,
                method=method,
                split=split,
            )
        reader.check_columns(explanation_schema(text_ids=reader.has_text_ids))
    n_rows = [sum(group.rows for group in reader.groups) for reader in readers]
    few = [r.run.name for r, n in zip(readers, n_rows, strict=True) if n < max(n_rows)]
    if few:
        firsts = [FirstDraws(reader) for reader in readers]
        return ExplanationShards(firsts, method, notes=(_on_draws(few),))
    return ExplanationShards(readers, method)


def _on_draws(few: Sequence[str]) -> Message:
    return Message(
        "fewer-draws",
        "Only the first draw of each example is used, and the explainer’s own noise is unknown: "
        "{who} fewer draws than others. Log the same draws in every run.",
        who=f"run {listed(few)} has" if len(few) == 1 else f"runs {listed(few)} have",
        runs=tuple(few),
    )


def explanations_of(
    source: ShardSource, *, skip_damaged: bool = False
) -> tuple[dict[str, "ExplanationShards"], tuple[Message, ...]]:
    """Return the explanations of the runs whose predictions a source holds, and notes."""
    refused: tuple[type[SeedproofError], ...] = (NotFoundError, MissingExampleError)
    if skip_damaged:
        refused += (DamagedStoreError,)
    location, runs, split = source.location, source.manifests, source.split
    if location is None or split is None:
        return {}, ()
    paths = [part.path.split("/") for run in runs for part in run.parts]
    splits: dict[str, set[str]] = {}
    for path in paths:
        if path[0] == "explanations":
            splits.setdefault(path[2], set()).add(path[1])
    methods, notes = {}, []
    for method in sorted(splits):
        if split not in splits[method]:
            others = sorted(splits[method])
            why = Message(
                "other-split",
                "They belong to the split {listed}, but {split!r} is measured.",
                listed=" and ".join(map(repr, others)),
                splits=tuple(others),
                split=split,
            )
            notes.append(_left_out(method, why))
            continue
        try:
            methods[method] = _aligned(location, runs, split, method)
        except refused as error:
            notes.append(left_out(method, error, source))
    return methods, tuple(notes)


def left_out(method: str, error: SeedproofError, source: ShardSource) -> Message:
    """Return a note on explanations that cannot be measured."""
    return _left_out(method, as_reason(error, source.location))


def _left_out(method: str, why: Message | SeedproofError) -> Message:
    return Message(
        EXPLANATIONS_LEFT_OUT,
        "Explanations by {method!r} are left out. {why}",
        method=method,
        why=why,
    )


class FirstDraws:
    """The first draw of each example of a run, in row groups of its own; read like `PartFiles`.

    For runs that were not explained equally often.
    """

    def __init__(self, files: PartFiles) -> None:
        self.run = files.run
        self._files = files
        self._rows: list[IntArray] = []
        self.groups = [Group(len(ids), 0, ids_digest(ids), "") for ids in self._cut_ids()]
        # Number of first draws up to the end of each row group of the files.
        self._ends = np.cumsum([len(rows) for rows in self._rows])

    def _cut_ids(self) -> Iterator[pa.Array]:
        """Yield the ids of first draws per row group; keep their rows."""
        last, left = None, pa.array([])
        for group_idx in range(len(self._files.groups)):
            ids = _column(self._files.read(group_idx, ["example"]), "example")
            firsts = _examples(ids)[0]
            self._rows.append(firsts[1:] if ids[0].as_py() == last else firsts)
            last = ids[-1].as_py()
            new = ids.take(to_arrow(self._rows[-1]))
            left = pa.concat_arrays([left, new]) if len(left) else new
            while len(left) >= ROWS_PER_GROUP:
                yield left[:ROWS_PER_GROUP]
                left = left[ROWS_PER_GROUP:]
        if len(left):
            yield left

    def read(self, group_idx: int, columns: Sequence[str]) -> pa.Table:
        """Read some columns of the first draws of a row group."""
        start = group_idx * ROWS_PER_GROUP
        stop = start + self.groups[group_idx].rows
        pieces = []
        for place in range(self._place_of(start), self._place_of(stop - 1) + 1):
            before = int(self._ends[place]) - len(self._rows[place])
            rows = self._rows[place][max(start - before, 0) : stop - before]
            pieces.append(self._files.read(place, columns).take(rows))
        return pa.concat_tables(pieces)

    def _place_of(self, row: int) -> int:
        """Return the row group of the files that holds a first draw."""
        return int(np.searchsorted(self._ends, row, side="right"))

    def file_of(self, group_idx: int) -> Location:
        """Return the file that holds a row group, for messages."""
        return self._files.file_of(self._place_of(group_idx * ROWS_PER_GROUP))

    def damaged(self, group_idx: int) -> DamagedStoreError:
        """Return the error for a row group that was changed after it was written."""
        return self._files.damaged(self._place_of(group_idx * ROWS_PER_GROUP))


Reader: TypeAlias = PartFiles | FirstDraws


class ExplanationShards:
    """Aligned explanations of several runs, one shard per row group.

    A row is one draw of one example, so an example may continue in the next row group: it belongs
    to the shard in which it begins.
    """

    def __init__(
        self, readers: Sequence[Reader], method: str, *, notes: tuple[Message, ...] = ()
    ) -> None:
        self.method = method
        self.notes = notes
        self._readers = list(readers)
        self.runs = tuple(reader.run.name for reader in self._readers)
        first = self._readers[0]
        for reader in self._readers[1:]:
            if _digests(first) != _digests(reader):
                raise _other_examples(first, reader)

    def is_alike(self, other: "ExplanationShards") -> bool:
        """Return whether other runs explain the same examples, equally often."""
        first, second = self._readers[0], other._readers[0]  # noqa: SLF001 - of its own kind
        return _digests(first) == _digests(second)

    def check_alike(self, other: "ExplanationShards") -> None:
        """Raise an error if other runs do not explain the same examples, equally often."""
        if not self.is_alike(other):
            raise _other_examples(self._readers[0], other._readers[0])  # noqa: SLF001

    def of_first_draws(self) -> "ExplanationShards":
        """Return the same with one draw per example, to compare with runs of other draws."""
        firsts = [r if isinstance(r, FirstDraws) else FirstDraws(r) for r in self._readers]
        return ExplanationShards(firsts, self.method, notes=self.notes)

    @property
    def n_shards(self) -> int:
        """Number of shards."""
        return len(self._readers[0].groups)

    def shard(self, index: int) -> ExplanationShard:
        """Read row group `index` of every run, with the end of its last example."""
        extent = self._extent(index)
        first = self._readers[0]
        facts, scores = extent.read(first)
        all_scores = np.empty((len(self._readers), len(scores)), dtype=np.float32)
        all_scores[0] = scores
        for values, reader in zip(all_scores[1:], self._readers[1:], strict=True):
            other_facts, scores = extent.read(reader)
            if not other_facts.equals(facts):
                raise _other_rows(facts, other_facts, reader, first.run.name, extent)
            values[:] = scores
        ids, tokens = _column(facts, "example"), _column(facts, "tokens")
        firsts, n_draws = _examples(ids)
        if n_draws.max(initial=0) > 1 and not tokens.equals(
            tokens.take(np.repeat(firsts, n_draws))
        ):
            raise _other_tokens(facts, firsts, first, extent)
        return ExplanationShard(index, ids.take(firsts), tokens.take(firsts), all_scores, n_draws)

    def _extent(self, index: int) -> "_Extent":
        """Return the rows of the examples that begin in a row group."""
        first = self._readers[0]

        def ids(group_idx: int) -> pa.Array:
            return _column(first.read(group_idx, ["example"]), "example")

        own = ids(index)
        start = _n_leading(own, ids(index - 1)[-1]) if index else 0
        groups, n_rows, goes_on = [index], len(own) - start, start < len(own)
        while goes_on and groups[-1] + 1 < self.n_shards:
            following = ids(groups[-1] + 1)
            more = _n_leading(following, own[-1])
            goes_on = more == len(following)
            if more:
                groups.append(groups[-1] + 1)
                n_rows += more
        return _Extent(tuple(groups), start, n_rows)


@dataclass(frozen=True)
class _Extent:
    """Consecutive rows of one or more row groups."""

    groups: tuple[int, ...]
    start: int  # first row, within the first group
    n_rows: int

    def read(self, reader: Reader) -> tuple[pa.Table, FloatArray]:
        """Read the rows of one run without their scores, and all scores in one array."""
        table = pa.concat_tables([reader.read(group_idx, COLUMNS) for group_idx in self.groups])
        table = table.slice(self.start, self.n_rows).combine_chunks()
        tokens, scores = _column(table, "tokens"), _column(table, "scores")
        values = scores.flatten().to_numpy()
        # Checksums cover the content of a page, not the size in its header.
        fine = tokens.value_lengths().equals(scores.value_lengths())
        if not fine or not np.isfinite(values).all():
            raise reader.damaged(self.groups[0])
        return table.drop_columns("scores"), values

    def file_of(self, row: int, reader: Reader) -> Location:
        """Return the file of a run that holds a row."""
        ends = np.cumsum([reader.groups[group_idx].rows for group_idx in self.groups])
        place = int(np.searchsorted(ends, self.start + row, side="right"))
        return reader.file_of(self.groups[place])


def _digests(reader: Reader) -> list[tuple[int, str]]:
    return [(group.rows, group.ids_digest) for group in reader.groups]


def _column(table: pa.Table, name: str) -> pa.Array:
    column = table.column(name)
    return pa.concat_arrays(column.chunks) if column.num_chunks else pa.array([], column.type)


def _n_leading(ids: pa.Array, last: pa.Scalar) -> int:
    """Count the ids at the beginning that equal `last`."""
    if ids[0] != last:
        return 0
    differs = pc.not_equal(ids, last).to_numpy(zero_copy_only=False)
    return int(differs.argmax()) if differs.any() else len(ids)


def _examples(ids: pa.Array) -> tuple[IntArray, IntArray]:
    """Return the first row of each example, and its number of rows."""
    begins = np.ones(len(ids), dtype=np.bool_)
    begins[1:] = pc.not_equal(ids[1:], ids[:-1]).to_numpy(zero_copy_only=False)
    firsts = np.flatnonzero(begins)
    return firsts, np.diff(np.append(firsts, len(ids)))


def _other_examples(first: Reader, reader: Reader) -> MissingExampleError:
    """Return the error for two runs that explain different examples."""
    for (_, expected), (group_idx, example) in zip_longest(
        _numbered_ids(first), _numbered_ids(reader), fillvalue=(-1, None)
    ):
        if example != expected:
            return MissingExampleError(
                "{file} of run {run!r} has {row} where run {other_run!r} has {other_row}. "
                "Explain the same examples, equally often, in every run.",
                file=reader.file_of(group_idx),
                run=reader.run.name,
                row=_named(example),
                other_run=first.run.name,
                other_row=_named(expected),
                example=example,
                other_example=expected,
            )
    return MissingExampleError(
        "The explanations of the runs {run!r} and {other_run!r} have different row groups. "
        "Log both with the same version of seedproof.",
        run=first.run.name,
        other_run=reader.run.name,
    )


def _numbered_ids(reader: Reader) -> Iterator[tuple[int, object]]:
    for group_idx in range(len(reader.groups)):
        for example in _column(reader.read(group_idx, ["example"]), "example").to_pylist():
            yield group_idx, example


def _named(example: object) -> str:
    return "no more rows" if example is None else f"example {example!r}"


def _other_rows(
    facts: pa.Table, other_facts: pa.Table, reader: Reader, first: str, extent: _Extent
) -> MissingExampleError:
    """Return the error for two runs with different draws or tokens of an example."""
    row, column = next(
        (row, column)
        for row in range(len(facts))
        for column in ("draw", "tokens")
        if facts.column(column)[row] != other_facts.column(column)[row]
    )
    return MissingExampleError(
        "Example {example!r} has the {column} {cell!s} in {file} of run {run!r}, but "
        "{other_cell!s} in run {other_run!r}. Log the same draws and tokens in every run.",
        example=facts.column("example")[row].as_py(),
        column=column,
        cell=other_facts.column(column)[row].as_py(),
        file=extent.file_of(row, reader),
        run=reader.run.name,
        other_cell=facts.column(column)[row].as_py(),
        other_run=first,
    )


def _other_tokens(
    facts: pa.Table, firsts: IntArray, reader: Reader, extent: _Extent
) -> MissingExampleError:
    """Return the error for two draws of one example with different tokens."""
    ids, tokens = facts.column("example"), facts.column("tokens")
    row = next(
        row for row in range(1, len(ids)) if row not in firsts and tokens[row] != tokens[row - 1]
    )
    return MissingExampleError(
        "Example {example!r} has the tokens {other_tokens!s} in one draw and {tokens!s} in "
        "another, in {file} of run {run!r}. Log the same tokens in every draw.",
        example=ids[row].as_py(),
        other_tokens=tokens[row - 1].as_py(),
        tokens=tokens[row].as_py(),
        file=extent.file_of(row, reader),
        run=reader.run.name,
    )
