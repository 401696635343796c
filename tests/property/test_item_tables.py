"""Tables of ranked lists and sets are the same in memory and on disk, whatever their cells are."""

import csv
from pathlib import Path
from tempfile import TemporaryDirectory
from unittest.mock import patch

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import seedproof as sp
from seedproof.errors import SeedproofError

NAMES = st.sampled_from(["1", "01", "10", "NA", "nan", "true", "a b", "a,b", 'a"b', "é", "-3"])
LABELS = st.lists(st.sampled_from(["p", "q", "10", "9", "ü"]), max_size=3, unique=True)
TAGS = st.lists(st.sampled_from(["O", "B-X", "I-X", "I-Y"]), min_size=1, max_size=4).map(" ".join)
GRADES = st.sampled_from(["", "0", "1", "2.5"])
HEADERS = {
    "ranked": ["run", "user", "item", "score", "relevance", "kind"],
    "lists": ["run", "id", "labels", "gold", "kind"],
    "spans": ["run", "document", "start", "end", "type"],
    "tags": ["run", "id", "tags", "gold", "kind"],
}


@st.composite
def tables(draw: st.DrawFn) -> list[list[str]]:
    """Draw the header and the rows of two or three runs, in any order."""
    form = draw(st.sampled_from(list(HEADERS)))
    runs = draw(st.lists(NAMES, min_size=2, max_size=3, unique=True))
    ids = draw(st.lists(NAMES, min_size=1, max_size=5, unique=True))
    rows: list[list[str]] = []
    for example in ids:
        grades = {name: draw(GRADES) for name in ["p", "q", "10", "9", "ü"]}
        gold = "|".join(draw(LABELS)) if form == "lists" else draw(TAGS)
        for run in runs:
            kind = f"kind {example}"
            if form == "lists":
                rows.append([run, example, "|".join(draw(LABELS)), gold, kind])
            elif form == "tags":
                rows.append([run, example, draw(TAGS), gold, kind])
            else:
                for name in draw(LABELS) or ["p"]:
                    score = str(draw(st.integers(0, 2)))
                    ranked = [run, example, name, score, grades[name], kind]
                    rows.append(ranked if form == "ranked" else [run, example, score, "9", name])
    if form == "spans" and draw(st.booleans()):
        rows.append(["", draw(NAMES), "0", "9", "p"])
    return [HEADERS[form], *draw(st.permutations(rows))]


def content(path: Path, *, growth: int) -> object:
    """Return what is read from a table; it is sorted on disk if tables grow much."""
    try:
        with patch("seedproof.records.number_tables.MOST_GROWTH", growth):
            loaded = sp.Predictions.load(path)
    except SeedproofError as error:
        return error.code
    assert (loaded.folder is not None) == (growth > 8)
    shard = loaded.source.shard(0)
    right = shard.relevance
    extras = None if shard.extras is None else shard.extras.to_pydict()
    return (
        (loaded.runs, loaded.classes, loaded.clusters, {note.code for note in loaded.notes}),
        (shard.ids.to_pylist(), shard.items.tolist(), extras),
        None
        if right is None
        else (right.items.tolist(), right.is_known.tolist(), right.all_grades.tolist()),
    )


@settings(max_examples=15, deadline=None)
@given(rows=tables())
def test_tables_are_the_same_in_memory_and_on_disk(rows):
    with TemporaryDirectory() as folder:
        path = Path(folder) / "table.csv"
        with path.open("w", encoding="utf-8", newline="") as file:
            csv.writer(file).writerows(rows)

        assert content(path, growth=8) == content(path, growth=10**12)


@pytest.mark.parametrize(
    "rows",
    [
        [["a", "1", "p|q", "p"], ["a", "1", "q", "p"], ["b", "1", "q", "p"]],  # twice
        [["a", "1", "p|q", "p|q"], ["b", "1", "q", "p"]],  # other right labels
        [["a", "1", "p", "p"], ["b", "2", "q", "p"]],  # other examples
        [["a", "1", "p", "p"], ["", "1", "q", "p"]],  # no run
    ],
)
def test_wrong_tables_are_refused_alike(rows, tmp_path):
    path = tmp_path / "table.csv"
    with path.open("w", encoding="utf-8", newline="") as file:
        csv.writer(file).writerows([HEADERS["lists"][:4], *rows])

    code = content(path, growth=8)

    assert isinstance(code, str)
    assert code == content(path, growth=10**12)
