"""Small stores of every kind, made for one test each."""

from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pytest

from seedproof.records.arrow import texts_to_arrow
from seedproof.records.items import NO_ITEM, Relevance, sorted_items
from seedproof.records.location import Location
from seedproof.records.manifest import RunManifest, StudyManifest
from seedproof.records.reader import Store
from seedproof.records.schema import Kind, Layout
from seedproof.records.text_answers import TextAnswers
from seedproof.records.text_records import reference_lists
from seedproof.records.writer import RunWriter

CLASSES = ("cat", "dog", "fox")
WORDS = ("Cat.", "", "füchse 🦊")


@dataclass(frozen=True)
class Written:
    """A store on disk, and what was written into it."""

    path: Path
    layout: Layout
    rows_per_group: int
    ids: pa.Array
    labels: np.ndarray
    extras: list[pa.Array]
    values: list[Any] = field(default_factory=list)

    @property
    def place(self) -> Location:
        """The store as a location."""
        return Location.of(self.path)

    def open(self) -> Store:
        """The store, opened anew."""
        return Store(self.place)

    def run_folder(self, index: int) -> Path:
        """Folder of a run."""
        return self.path / "runs" / f"id{index}"

    def parts(self, index: int) -> list[Path]:
        """Parquet files of a run."""
        return sorted(self.run_folder(index).rglob("part-*.parquet"))

    def read(self) -> list[tuple[Any, ...]]:
        """Everything that a reader gets, as plain values."""
        whole = self.open().shards()
        return [
            plain(shards.shard(index))
            for shards in (whole, whole.predictions_alone())
            for index in range(shards.n_shards)
        ]


def plain(shard: Any) -> tuple[Any, ...]:
    """A shard as plain values that can be compared."""
    return (
        shard.ids.to_pylist(),
        None if shard.labels is None else shard.labels.tolist(),
        None if shard.probs is None else shard.probs.tolist(),
        None if shard.predictions is None else shard.predictions.tolist(),
        None if shard.extras is None else shard.extras.to_pydict(),
        None if shard.top is None else [part.tolist() for part in shard.top],
        None if shard.numbers is None else shard.numbers.tolist(),
        None if shard.targets is None else shard.targets.astype(str).tolist(),  # NaN equals itself
        None if shard.items is None else shard.items.tolist(),
        None if shard.relevance is None else right_of(shard.relevance),
        None if shard.answers is None else shard.answers.tolist(),
        None if shard.texts is None else texts_of(shard.texts),
    )


def texts_of(answers: TextAnswers) -> list[Any]:
    """Texts, meanings and references as plain values."""
    meanings = None if answers.equivalent is None else answers.equivalent.tolist()
    return [answers.texts.tolist(), meanings, list(answers.right)]


def right_of(relevance: Relevance) -> list[Any]:
    """Right items and grades as plain values."""
    return [
        relevance.items.tolist(),
        relevance.all_grades.tolist(),
        relevance.is_known.tolist(),
    ]


def as_gold(kind: Kind, labels: np.ndarray) -> Any:
    """Labels as a kind keeps them: the label is the only right item, with a grade of 2."""
    if kind is Kind.TEXTS:
        return reference_lists([() if label < 0 else (WORDS[label], "x") for label in labels])
    if not kind.has_items:
        return labels
    items = labels.astype(np.int32)[:, np.newaxis]
    return Relevance(items, labels >= 0, np.where(items >= 0, 2.0, 0.0))


def n_top_of(kind: Kind) -> int:
    """Classes or items that a kind keeps of each example."""
    return 2 if kind is Kind.TOP else len(CLASSES) if kind.has_items else 0


def draw(kind: Kind, n_rows: int, rng: np.random.Generator) -> Any:
    """Values of one run, of any kind."""
    if kind is Kind.NUMBERS:
        return rng.normal(0, 10, n_rows).astype(np.float32)
    if kind is Kind.TEXTS:
        words, meanings = (rng.choice([*WORDS, None], n_rows).tolist() for _ in range(2))
        return pa.table({"text": texts_to_arrow(words), "equivalent": texts_to_arrow(meanings)})
    if kind.has_items:
        sizes = rng.integers(0, len(CLASSES) + 1, (n_rows, 1))
        items = rng.permuted(np.tile(np.arange(len(CLASSES)), (n_rows, 1)), axis=1)
        items = np.where(np.arange(len(CLASSES)) < sizes, items, NO_ITEM)
        return sorted_items(items) if kind is Kind.SETS else items.astype(np.int32)
    probs = rng.dirichlet(np.ones(len(CLASSES)), n_rows).astype(np.float32)
    if kind is Kind.PROBS:
        return probs
    if kind is Kind.LABELS:
        return probs.argmax(axis=1).astype(np.int32)
    top = np.argsort(-probs, axis=1)[:, :2].astype(np.int32)
    return top, np.take_along_axis(probs, top, axis=1)


def cut(values: Any, start: int, stop: int) -> Any:
    """Some rows of values, whatever their kind."""
    if isinstance(values, tuple):
        return tuple(part[start:stop] for part in values)
    if isinstance(values, Relevance):
        return values.rows(slice(start, stop))
    return values[start:stop]


@pytest.fixture
def draw_values() -> Callable[..., Any]:
    """Values of one run, of any kind."""
    return draw


@pytest.fixture
def write_run() -> Callable[..., RunWriter]:
    """Writes one run in batches that end at given rows, and commits it."""

    def write(
        place: Location,
        layout: Layout,
        ids: pa.Array,
        labels: np.ndarray,
        values: Any,
        *,
        name: str = "0",
        run_id: str | None = None,
        rows_per_group: int = 20,
        ends: tuple[int, ...] = (),
        extras: tuple[pa.Array, ...] = (),
        split: str = "all",
        **facts: Any,
    ) -> RunWriter:
        run = RunManifest(run_id or f"id{name}", name, **facts)
        writer = RunWriter(place, run, layout, rows_per_group=rows_per_group, split=split)
        with writer:
            for start, stop in pairwise((0, *ends, len(ids))):
                further = [column[start:stop] for column in extras]
                rows = cut(values, start, stop)
                gold = cut(as_gold(layout.kind, labels), start, stop)
                writer.write(ids[start:stop], gold, rows, further)
        return writer

    return write


@pytest.fixture
def make_store(tmp_path, write_run) -> Iterator[Callable[..., Written]]:
    """Makes a store of two or more runs of 50 examples."""

    def make(
        kind: Kind = Kind.PROBS,
        *,
        n_runs: int = 2,
        n_examples: int = 50,
        rows_per_group: int = 20,
        text_ids: bool = False,
        labeled: str = "all",
        with_extras: bool = False,
        name: str = "store",
    ) -> Written:
        rng = np.random.default_rng(7)
        extras = (("text", pa.string()), ("size", pa.float64())) if with_extras else ()
        are_numbers = kind is Kind.NUMBERS
        layout = Layout(
            kind,
            () if kind in {Kind.NUMBERS, Kind.TEXTS} else CLASSES,
            text_ids,
            n_top=n_top_of(kind),
            extras=extras,
            graded=kind.has_items,
            by_meaning=kind is Kind.TEXTS,
        )
        names = [f"é{i:04}" for i in range(n_examples)]
        labels = rng.integers(0, len(CLASSES), n_examples)
        labels = labels / 3 if are_numbers else labels.astype(np.int32)
        if labeled != "all":
            labels[:: 3 if labeled == "some" else 1] = np.nan if are_numbers else -1
        store = Written(
            path=tmp_path / name,
            layout=layout,
            rows_per_group=rows_per_group,
            ids=pa.array(names) if text_ids else pa.array(np.arange(n_examples) * 3 - 30),
            labels=labels,
            extras=[pa.array([f"text {i}" for i in range(n_examples)]), pa.array(labels / 2)]
            if with_extras
            else [],
            values=[draw(kind, n_examples, rng) for _ in range(n_runs)],
        )
        StudyManifest("small", rows_per_group).write(store.place)
        for index, values in enumerate(store.values):
            write_run(
                store.place, layout, store.ids, labels, values,
                name=str(index), rows_per_group=rows_per_group, extras=tuple(store.extras),
            )  # fmt: skip
        return store

    return make


@pytest.fixture
def flip_byte() -> Callable[[Path, int], None]:
    """Turns over all bits of one byte of a file."""

    def flip(path: Path, position: int) -> None:
        content = bytearray(path.read_bytes())
        content[position] ^= 0xFF
        path.write_bytes(bytes(content))

    return flip
