"""Tables of numbers are the same in memory and on disk, whatever their cells are."""

import csv
from pathlib import Path
from tempfile import TemporaryDirectory
from unittest.mock import patch

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

import seedproof as sp

NAMES = st.sampled_from(["1", "01", "NA", "null", "nan", "true", "a b", "a,b", 'a"b', "é", "-3", "9" * 20])  # fmt: skip
# Numbers beyond are refused by name.
SIZES = st.floats(1e-70, 1e36) | st.floats(-1e36, -1e-70) | st.just(0.0)
NUMBERS = SIZES | st.sampled_from(["true", "False", "1e3"])
TARGETS = (
    st.floats(-1e3, -1e-3)
    | st.floats(1e-3, 1e3)
    | st.just(0.0)
    | st.sampled_from(["", "NA", "null", "nan"])
)


@st.composite
def tables(draw: st.DrawFn) -> list[list[str]]:
    """Draw the rows of two or three runs on the same examples, in any order."""
    runs = draw(st.lists(NAMES, min_size=2, max_size=3, unique=True))
    ids = draw(st.lists(NAMES, min_size=1, max_size=6, unique=True))
    targets = [draw(TARGETS) for _ in ids]
    rows = [
        [run, example, str(draw(NUMBERS)), str(target), f"kind {example}"]
        for run in runs
        for example, target in zip(ids, targets, strict=True)
    ]
    return draw(st.permutations(rows))


def content(path: Path, *, growth: int) -> tuple[object, ...]:
    """Return what is read from a table; it is sorted on disk if tables grow much."""
    with patch("seedproof.records.number_tables.MOST_GROWTH", growth):
        loaded = sp.Predictions.load(path)
    assert (loaded.folder is not None) == (growth > 8)
    shard = loaded.source.shard(0)
    targets = None if shard.targets is None else np.nan_to_num(shard.targets, nan=-1e9).tolist()
    assert shard.extras is not None
    kinds = shard.extras["kind"].to_pylist()
    return loaded.runs, shard.ids.to_pylist(), np.asarray(shard.numbers).tolist(), targets, kinds


@settings(max_examples=15, deadline=None)
@given(rows=tables())
def test_tables_are_the_same_in_memory_and_on_disk(rows):
    with TemporaryDirectory() as folder:
        path = Path(folder) / "table.csv"
        with path.open("w", encoding="utf-8", newline="") as file:
            csv.writer(file).writerows([["run", "example", "value", "target", "kind"], *rows])

        assert content(path, growth=8) == content(path, growth=10**12)
