"""Ingest of a table, interrupted in every way."""

import json
import os
import resource
import shlex
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.csv
import pyarrow.parquet as pq
import pytest

import seedproof as sp
from seedproof.cli.ingest import STOPPED
from seedproof.records.location import Location
from seedproof.records.reader import Store
from seedproof.records.resumable_ingest import ingest_tables

N_RUNS, N_EXAMPLES = 8, 40_000
PATIENCE_SECONDS = 120


@pytest.fixture(scope="module")
def table(tmp_path_factory) -> Path:
    """Return 320,000 rows in random order: too many for the buffer of the smallest memory."""
    rng = np.random.default_rng(3)
    order = rng.permutation(N_RUNS * N_EXAMPLES)
    probs = rng.integers(0, 65, len(order)) / 64
    path = tmp_path_factory.mktemp("tables") / "t.csv"
    columns = {
        "run": order % N_RUNS,
        "example": order // N_RUNS,
        "label": (order // N_RUNS) % 2,
        "p_0": probs,
        "p_1": 1 - probs,
        "text": pa.array([f"text of example {i:>12}" for i in order // N_RUNS]),
        "loss": rng.random(len(order)),
    }
    pyarrow.csv.write_csv(pa.table(columns), path)
    return path


@pytest.fixture(scope="module")
def expected(table, tmp_path_factory) -> bytes:
    return summary(table, tmp_path_factory.mktemp("expected"))


def summary(target: Path, folder: Path) -> bytes:
    sp.measure(target).save(folder)
    return (folder / "summary.json").read_bytes()


def start(table: Path, store: Path) -> "subprocess.Popen[str]":
    command = [sys.executable, "-m", "seedproof", "ingest", table, "--out", store]
    return subprocess.Popen(
        [*map(str, command), "--memory", "100MB"], stderr=subprocess.PIPE, text=True
    )


def stop_when(
    process: "subprocess.Popen[str]", condition: Callable[[], bool], how: int = signal.SIGKILL
) -> str:
    """Send a signal as soon as a condition holds; return what the process printed."""
    end = time.monotonic() + PATIENCE_SECONDS
    try:
        while not condition():
            assert process.poll() is None, "it has ended before it could be stopped"
            assert time.monotonic() < end, "it never came so far"
        os.kill(process.pid, how)
        return process.communicate(timeout=PATIENCE_SECONDS)[1]
    finally:
        process.kill()
        process.wait()


def commits(store: Path) -> dict[str, tuple[int, int]]:
    """Return inode and time of the commit of each run."""
    stats = {path.parent.name: path.stat() for path in store.glob("runs/*/run.json")}
    return {run_id: (status.st_ino, status.st_mtime_ns) for run_id, status in stats.items()}


def n_gathered(store: Path) -> int:
    """Return the number of files that wait to be sorted."""
    return len(list(store.glob("ingest/rows/*.arrow")))


def test_ingest_that_is_killed_in_every_phase_gives_the_same_summary(
    table, expected, tmp_path, refused
):
    """Reading is repeated; sorted and written data are not."""
    store = tmp_path / "store"
    read = store / "ingest" / "read.json"

    stop_when(start(table, store), lambda: n_gathered(store) >= 2)
    assert not read.exists()

    stop_when(start(table, store), read.exists)
    assert not commits(store)
    since = read.stat().st_mtime_ns

    stop_when(start(table, store), lambda: len(commits(store)) >= 2)
    finished = commits(store)
    assert 2 <= len(finished) < N_RUNS
    assert read.stat().st_mtime_ns == since

    for verb in ("measure", "compare", "report", "blame", "status"):
        error = refused(verb, store, *([store] if verb == "compare" else []))
        assert error.code == "SP200", verb
        assert str(error.fields["store"]) == str(store), verb
        assert shlex.split(error.fields["command"]) == [
            "seedproof", "ingest", str(table), "--out", str(store),
        ], verb  # fmt: skip

    process = start(table, store)
    messages = process.communicate(timeout=PATIENCE_SECONDS)[1]

    assert process.returncode == 0, messages
    assert commits(store).items() >= finished.items()
    assert sorted(path.name for path in store.iterdir()) == ["runs", "study.json"]
    (note,) = Store(Location.of(store)).notes
    assert "'loss'" in str(note)
    assert str(note) in messages
    assert summary(store, tmp_path / "out") == expected
    assert Store(Location.of(store)).shards().shard(0).extras.column_names == ["text"]


@pytest.mark.skipif(os.name == "nt", reason="Windows has no SIGINT for a child")
@pytest.mark.parametrize("phase", ["reading", "writing"])
def test_interrupt_keeps_finished_work(table, tmp_path, phase):
    """Exit code 130 and one line at the end."""
    reached = {
        "reading": lambda: n_gathered(store) >= 1,
        "writing": lambda: len(commits(store)) > 0,
    }

    for attempt in range(5):
        store = tmp_path / f"store{attempt}"
        process = start(table, store)
        messages = stop_when(process, reached[phase], signal.SIGINT)
        if len(commits(store)) < N_RUNS:
            break  # on a loaded machine the signal may come after the last run

    assert process.returncode == 130, messages
    assert messages.endswith(f"{STOPPED}\n")
    assert "Traceback" not in messages
    assert (store / "ingest.json").is_file()


@pytest.fixture
def no_progress(monkeypatch) -> None:
    """Keep lines about the progress out of the messages of a slow machine."""
    monkeypatch.setattr("seedproof.cli.progress.LINE_SECONDS", np.inf)


@pytest.mark.usefixtures("no_progress")
def test_ingest_continues_after_a_full_disk(table, expected, tmp_path, seedproof, refused):
    """Simulated by a limit on the size of files; the same command continues."""
    store = tmp_path / "store"
    usual = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (10**6, usual[1]))
    try:
        error = refused("ingest", table, "--out", store, "--memory", "100MB")
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, usual)

    assert error.code == "SP200"
    assert (store / "ingest.json").is_file()
    assert seedproof("ingest", table, "--out", store)[0] == 0
    assert summary(store, tmp_path / "out") == expected


def test_half_precision_is_stored_as_such(study, tmp_path):
    """Two bytes per probability on disk, and the same figures."""
    halves = study.table
    for index, name in enumerate(halves.column_names):
        if name.startswith("p_"):
            half = pa.array(halves.column(name).to_numpy().astype(np.float16))
            halves = halves.set_column(index, name, half)
    pq.write_table(halves, tmp_path / "t.parquet")

    store = ingest_tables([tmp_path / "t.parquet"], tmp_path / "store")

    part = next((tmp_path / "store" / "runs").rglob("*.parquet"))
    assert pq.read_schema(part).field("probs").type == pa.binary(2 * len(study.classes))
    assert store.shards().shard(0).probs.dtype == np.float32
    assert summary(tmp_path / "store", tmp_path / "a") == summary(
        tmp_path / "t.parquet", tmp_path / "b"
    )


@pytest.mark.parametrize("ending", ["csv", "tsv", "csv.gz", "csv.zst", "parquet", "jsonl"])
def test_every_format_gives_the_same_figures_as_measuring_it(study, tmp_path, ending):
    """Byte for byte, including notes and further columns."""
    path = tmp_path / f"t.{ending}"
    if ending == "parquet":
        pq.write_table(study.table, path)
    elif ending == "jsonl":
        lines = (json.dumps(row) + "\n" for row in study.table.to_pylist())
        path.write_text("".join(lines), encoding="utf-8")
    else:
        options = pyarrow.csv.WriteOptions(delimiter="\t" if ending == "tsv" else ",")
        with pa.output_stream(str(path)) as file:  # packed as the name says
            pyarrow.csv.write_csv(study.table, file, options)

    store = ingest_tables([path], tmp_path / "store")
    directly = summary(path, tmp_path / "a")

    assert summary(Path(str(store.location)), tmp_path / "b") == directly


def test_run_missing_from_the_store_is_detected(tmp_path):
    rows = "".join(f"{run},{i},{(run + i) % 2}\n" for run in range(4) for i in range(5))
    (tmp_path / "t.csv").write_text("run,example,prediction\n" + rows, encoding="utf-8")
    store = ingest_tables([tmp_path / "t.csv"], tmp_path / "store", memory=10**9)
    assert sp.measure(tmp_path / "store").measurement.notes == ()
    lost = next(run for run in store.runs if run.name == "2")

    shutil.rmtree(tmp_path / "store" / "runs" / lost.run_id)

    measurement = sp.measure(tmp_path / "store").measurement
    assert measurement.n_runs == 3
    missing = {check.name: check for check in measurement.checks}["missing-runs"]
    assert (missing.severity, missing.runs) == ("warning", ("2",))
