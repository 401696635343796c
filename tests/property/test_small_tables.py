"""The fast path for small tables gives the same results as ingest, or leaves the table to it."""

from unittest.mock import patch

import hypothesis.strategies as st
import numpy as np
import pyarrow as pa
import pyarrow.csv
import pyarrow.parquet as pq
import pytest
from hypothesis import given, settings

import seedproof as sp
from seedproof.errors import SeedproofError
from seedproof.predictions import sources
from seedproof.records.shards import TableShards

# Signs that text files quote or that readers take for something else.
TEXTS = st.text(st.sampled_from("ab1 ,;\"'\n\r\té0.-"), max_size=4)
NAMES = st.sampled_from(["a", "b", "yes", "1", "0", "1.0", "-1", "true", " a", "NaN", "null", "é"])
IDS = st.one_of(
    st.integers(-5, 30).map(str), st.sampled_from(["007", "7", "+1", "x", "1e3", " 2", "A", "á"])
)


@st.composite
def tables(draw):
    """A long table, mostly whole, sometimes with what must be refused."""
    n_runs, n_examples = draw(st.integers(1, 4)), draw(st.integers(1, 6))
    ids = draw(st.lists(IDS, min_size=n_examples, max_size=n_examples, unique=True))
    runs = draw(
        st.sampled_from(
            [[str(i) for i in range(4)], ["s2", "s10", "s1", "x"], ["b", "a", "1", "02"]]
        )
    )[:n_runs]
    names = draw(st.lists(NAMES, min_size=1, max_size=3, unique=True))
    maybe = st.one_of(st.sampled_from(names), st.sampled_from([*names, ""]))
    gold = draw(st.lists(maybe, min_size=n_examples, max_size=n_examples))
    notes = draw(st.lists(TEXTS, min_size=n_examples, max_size=n_examples))
    rows = [(run, place) for run in runs for place in range(n_examples)]
    if draw(st.booleans()):
        rows = draw(st.permutations(rows))
    if draw(st.integers(0, 9)) == 0:
        rows = rows[:-1]
    columns = {"run": [run for run, _ in rows], "example": [ids[place] for _, place in rows]}
    if draw(st.booleans()):
        columns["label"] = [gold[place] for _, place in rows]
    if draw(st.booleans()):
        columns["note"] = [notes[place] for _, place in rows]
    if draw(st.integers(0, 3)) == 0:
        columns["remark"] = [draw(TEXTS) for _ in rows]
    if draw(st.booleans()):
        classes = sorted({*names, "b", "a"})
        for name, values in zip(classes, draw(probs(len(rows), len(classes))), strict=True):
            columns[f"p_{name}"] = values
    else:
        columns["prediction"] = [draw(maybe) for _ in rows]
    return columns


@st.composite
def probs(draw, n_rows, n_classes):
    """Columns of probabilities as text, mostly valid."""
    rng = np.random.default_rng(draw(st.integers(0, 2**32 - 1)))
    values = rng.dirichlet(np.ones(n_classes), size=n_rows).astype(str)
    if draw(st.integers(0, 5)) == 0 and n_rows:
        values[0, 0] = draw(st.sampled_from(["", "nan", "2", " 0.5", "-0.1", "x", "1e-3"]))
    return values.T.tolist()


def outcome(target, *, small, **options):
    """Everything that a table is read as, or the code of its error; and the kind of its source."""
    way = sources.read_small_tables if small else lambda *_, **__: None
    with patch.object(sources, "read_small_tables", way):
        try:
            predictions = sp.Predictions.load(target, **options)
        except SeedproofError as error:
            return (type(error), str(error)), None
        shards = [predictions.source.shard(i) for i in range(predictions.source.n_shards)]
    content = [
        (
            shard.ids.to_pylist(),
            str(shard.ids.type),
            None if shard.labels is None else shard.labels.tolist(),
            None if shard.probs is None else shard.probs.tolist(),
            None if shard.predictions is None else shard.predictions.tolist(),
            None if shard.extras is None else shard.extras.to_pydict(),
        )
        for shard in shards
    ]
    facts = (
        predictions.runs,
        predictions.classes,
        predictions.kind,
        predictions.n_examples,
        predictions.n_labeled,
    )
    return (facts, content, [str(note) for note in predictions.notes]), type(predictions.source)


def assert_same(target, **options):
    """Both paths agree, also on errors."""
    short, _ = outcome(target, small=True, **options)
    long, kind = outcome(target, small=False, **options)
    assert short == long
    assert kind is not TableShards


@settings(max_examples=60, deadline=None)
@given(columns=tables(), separator=st.sampled_from(",;\t"))
def test_text_tables_are_read_alike(tmp_path_factory, columns, separator):
    """Quotes, line ends, missing cells, odd numbers and spellings."""
    path = tmp_path_factory.mktemp("tables") / "table.csv"
    table = pa.table({name: pa.array(values, pa.string()) for name, values in columns.items()})
    pyarrow.csv.write_csv(table, path, pyarrow.csv.WriteOptions(delimiter=separator))

    assert_same(path)


@settings(max_examples=30, deadline=None)
@given(columns=tables(), is_typed=st.booleans())
def test_parquet_tables_and_frames_are_read_alike(tmp_path_factory, columns, is_typed):
    """Numbers as numbers, texts as dictionaries, and nothing where a cell is empty."""
    arrays = {}
    for name, values in columns.items():
        array = pa.array([value or None for value in values], pa.string())
        if name.startswith("p_"):
            try:
                array = array.cast(pa.float64())
            except pa.ArrowInvalid:
                pytest.skip("no number")
        elif is_typed and all(v is not None and v.lstrip("-").isdigit() for v in values):
            array = array.cast(pa.int64())
        elif is_typed and name in {"run", "label", "prediction"}:
            array = array.dictionary_encode()
        arrays[name] = array
    table = pa.table(arrays)
    path = tmp_path_factory.mktemp("tables") / "table.parquet"
    pq.write_table(table, path)

    assert_same(path)
    assert_same(table)


@settings(max_examples=25, deadline=None)
@given(columns=tables(), packed=st.booleans())
def test_one_file_per_run_is_read_alike(tmp_path_factory, columns, packed):
    """The runs are named after the files."""
    folder = tmp_path_factory.mktemp("tables")
    table = pa.table({name: pa.array(values, pa.string()) for name, values in columns.items()})
    for run in dict.fromkeys(columns["run"]):
        rows = table.filter(pa.compute.field("run") == run).drop_columns("run")
        path = folder / f"seed_{run}.csv{'.gz' if packed else ''}"
        with pa.output_stream(str(path), compression="gzip" if packed else None) as file:
            pyarrow.csv.write_csv(rows, file)

    assert_same(str(folder / "*.csv*"))


@settings(max_examples=25, deadline=None)
@given(columns=tables(), as_probability=st.booleans(), data=st.data())
def test_wide_tables_are_read_alike(tmp_path_factory, columns, as_probability, data):
    """One column per run: answers, or the probability of one class."""
    ids = list(dict.fromkeys(columns["example"]))
    wide = {"id": ids}
    if "label" in columns:
        wide["label"] = [columns["label"][columns["example"].index(name)] for name in ids]
    rng = np.random.default_rng(data.draw(st.integers(0, 2**32 - 1)))
    for run in range(3):
        answers = [data.draw(st.sampled_from(["a", "b", "c"])) for _ in ids]
        wide[f"seed_{run}"] = rng.random(len(ids)).astype(str) if as_probability else answers
    path = tmp_path_factory.mktemp("tables") / "wide.csv"
    pyarrow.csv.write_csv(
        pa.table({n: pa.array(list(v), pa.string()) for n, v in wide.items()}), path
    )
    options = {"positive": "a"} if as_probability else {}

    assert_same(path, **options)


def test_usual_table_takes_the_fast_path(tmp_path):
    """No temporary store, no database."""
    path = tmp_path / "table.csv"
    path.write_text('run,example,label,p_a,p_b,text\n0,1,a,.9,.1,"x, y"\n1,1,a,.2,.8,"x, y"\n')

    predictions = sp.Predictions.load(path)

    assert isinstance(predictions.source, TableShards)
    assert predictions.folder is None


def test_table_above_its_part_of_the_memory_is_ingested(tmp_path, monkeypatch):
    """It is sorted on disk."""
    monkeypatch.setattr("seedproof.records.small_tables.MEMORY_PART", 10**9)
    path = tmp_path / "table.csv"
    path.write_text("run,example,prediction\n0,1,a\n1,1,b\n")

    predictions = sp.Predictions.load(path)

    assert not isinstance(predictions.source, TableShards)
    assert predictions.folder is not None
