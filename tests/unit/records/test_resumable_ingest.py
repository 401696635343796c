"""Resumable ingest: interrupted, resumed, never mixed."""

import json
import os
import shlex

import pytest

from seedproof.errors import MissingExampleError, NotFoundError, OptionError, StoreError
from seedproof.records.columns import Columns
from seedproof.records.ingest import Ingest
from seedproof.records.location import Location
from seedproof.records.locks import claim
from seedproof.records.reader import Store
from seedproof.records.resumable_ingest import ingest_tables
from seedproof.testing.errors import WithFields

ROWS = "run,example,prediction\n0,1,a\n0,2,b\n1,2,b\n1,1,b\n"


@pytest.fixture
def table(tmp_path):
    """Two runs, two examples."""
    path = tmp_path / "t.csv"
    path.write_text(ROWS, encoding="utf-8")
    return path


@pytest.fixture
def unfinished(table, tmp_path, monkeypatch):
    """A store whose ingest was stopped after reading."""
    store = tmp_path / "store"

    def stop(*_):
        raise KeyboardInterrupt

    with monkeypatch.context() as patch:
        patch.setattr("seedproof.records.sort.SortedRows.write", stop)
        with pytest.raises(KeyboardInterrupt):
            ingest_tables([table], store)
    assert (store / "ingest" / "read.json").is_file()
    return store


def test_a_finished_store_holds_nothing_else(table, tmp_path):
    """Neither the marker nor the working folder."""
    store = ingest_tables([table], tmp_path / "store")

    assert sorted(path.name for path in (tmp_path / "store").iterdir()) == ["runs", "study.json"]
    assert [run.tolist() for run in store.shards().shard(0).predictions] == [[0, 1], [1, 1]]


def test_tables_are_not_read_again(table, unfinished, monkeypatch):
    """The next call starts with sorting."""
    monkeypatch.setattr(Ingest, "_read", None)

    assert ingest_tables([table], unfinished).shards().n_examples == 2


def test_store_that_lacks_only_the_clean_up_is_finished_at_once(table, tmp_path, monkeypatch):
    """It was stopped between its last file and the deletion of the marker."""
    store = tmp_path / "store"
    run = Ingest.run

    def run_and_stop(*given, **named):
        run(*given, **named)
        raise KeyboardInterrupt

    with monkeypatch.context() as patch:
        patch.setattr(Ingest, "run", run_and_stop)
        with pytest.raises(KeyboardInterrupt):
            ingest_tables([table], store)
    assert (store / "ingest.json").is_file()
    monkeypatch.setattr(Ingest, "run", None)

    assert ingest_tables([table], store).shards().n_examples == 2
    assert not (store / "ingest.json").exists()


def test_an_unfinished_store_is_refused_with_the_command_that_finishes_it(table, unfinished):
    """A store cannot be opened before."""
    command = shlex.join(["seedproof", "ingest", str(table), "--out", str(unfinished)])

    with pytest.raises(StoreError, check=WithFields(command=command)) as error:
        Store(Location.of(unfinished))

    assert str(error.value).endswith(command)


def test_a_table_that_has_changed_is_not_mixed_in(table, unfinished):
    """Its size or time differs."""
    os.utime(table, (1, 1))

    with pytest.raises(StoreError, check=WithFields(table=str(table), store=unfinished)):
        ingest_tables([table], unfinished)

    assert (unfinished / "ingest" / "read.json").is_file()


@pytest.mark.parametrize("change", ["options", "tables"])
def test_another_command_does_not_resume_it(table, unfinished, tmp_path, change):
    """With other column names, or another table."""
    other = tmp_path / "other.csv"
    other.write_text(ROWS, encoding="utf-8")
    tables = [other if change == "tables" else table]
    columns = Columns(example="run", run="example") if change == "options" else None

    first = shlex.join(["seedproof", "ingest", str(table), "--out", str(unfinished)])
    with pytest.raises(StoreError, check=WithFields(store=unfinished, command=first)):
        ingest_tables(tables, unfinished, columns=columns)


def test_the_command_names_the_columns(table, tmp_path):
    """Those that are not the default, quoted for a shell."""
    store = tmp_path / "the store"
    table.write_text(ROWS.replace("run", "my seed"), encoding="utf-8")

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(Ingest, "run", lambda *_, **__: 1 / 0)
        with pytest.raises(ZeroDivisionError):
            ingest_tables([table], store, columns=Columns(run="my seed"))

    command = json.loads((store / "ingest.json").read_text(encoding="utf-8"))["command"]
    words = ["seedproof", "ingest", str(table), "--out", str(store), "--run", "my seed"]
    assert shlex.split(command) == words


def test_two_processes_cannot_ingest_into_one_store(table, unfinished):
    """The second one gets an error."""
    with (
        claim(Location.of(unfinished)),
        pytest.raises(StoreError, check=WithFields(store=unfinished)) as refused,
    ):
        ingest_tables([table], unfinished)

    assert "command" not in refused.value.fields


def test_an_error_in_the_table_leaves_nothing_behind(table, tmp_path):
    """The same command would fail again."""
    table.write_text(ROWS + "1,3,a\n", encoding="utf-8")

    with pytest.raises(MissingExampleError, check=WithFields(run="0", n_missing=1, n_examples=3)):
        ingest_tables([table], tmp_path / "store")

    assert list(tmp_path.iterdir()) == [table]


@pytest.mark.parametrize("kind", ["store", "file", "folder"])
def test_existing_files_are_not_overwritten(table, tmp_path, kind):
    """A finished store, a file, a folder with other files."""
    place = tmp_path / "there"
    if kind == "store":
        ingest_tables([table], place)
    elif kind == "file":
        place.write_text("mine", encoding="utf-8")
    else:
        place.mkdir()
        (place / "mine.txt").write_text("mine", encoding="utf-8")

    with pytest.raises(StoreError, check=WithFields(store=place, option="--out")):
        ingest_tables([table], place)

    assert place.exists()


def test_empty_folder_is_accepted(table, tmp_path):
    """Also one with a partially written marker."""
    (tmp_path / "store").mkdir()
    (tmp_path / "store" / "ingest.json.1234").touch()

    assert ingest_tables([table], tmp_path / "store").shards().n_examples == 2


def test_damaged_marker_is_refused(table, unfinished):
    """It cannot show what to resume."""
    (unfinished / "ingest.json").write_text("{", encoding="utf-8")

    marker = Location.of(unfinished) / "ingest.json"
    with pytest.raises(StoreError, check=WithFields(path=marker)):
        ingest_tables([table], unfinished)


def test_url_and_missing_table_are_refused(table, tmp_path):
    """Before anything is created."""
    with pytest.raises(OptionError, check=WithFields(store="s3://bucket/store")):
        ingest_tables([table], "s3://bucket/store")
    with pytest.raises(NotFoundError, check=WithFields(table=str(tmp_path / "none.csv"))):
        ingest_tables([tmp_path / "none.csv"], tmp_path / "store")

    assert not (tmp_path / "store").exists()
