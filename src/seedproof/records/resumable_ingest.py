"""Ingest tables into a permanent store: the same call resumes a killed ingest."""

import os
import shutil
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path

import pyarrow as pa

from seedproof.errors import NotFoundError, OptionError, SeedproofError, StoreError
from seedproof.records.columns import Columns
from seedproof.records.durability import sync
from seedproof.records.ingest import Ingest, may_pass
from seedproof.records.ingest_state import MARK, WORKING, IngestPlan
from seedproof.records.items import MOST_KEPT
from seedproof.records.location import Location
from seedproof.records.locks import LOCK_FILE, claim
from seedproof.records.reader import Store
from seedproof.records.sort import Phases
from seedproof.records.tables import TableOptions
from seedproof.records.text_files import run_names


def ingest_tables(
    tables: Sequence[str | os.PathLike[str]],
    store: str | os.PathLike[str],
    *,
    columns: Columns | None = None,
    memory: int = 2 * 10**9,
    progress: Phases | None = None,
    relevant: Path | None = None,
    keep: int = MOST_KEPT,
) -> Store:
    """Write all runs of the tables, which may be larger than memory, into a store.

    Rows come in any order. They are grouped by run in a working folder inside the store, then
    sorted and written run by run. Until the last run is written, the store is marked as unfinished
    and cannot be measured. An error in the tables leaves nothing behind.
    """
    if "://" in os.fspath(store):
        raise OptionError(
            "{store!r} is not a local folder. Ingest into one, and copy the store there: it is "
            "plain files.",
            store=os.fspath(store),
        )
    plan = IngestPlan(
        *(tuple(Path(table) for table in tables), Path(store), columns or Columns()),
        relevant=relevant,
        keep=keep,
    )
    for table in plan.tables:
        if not table.is_file():
            raise NotFoundError(
                "{table!r} is not a file. Pass CSV, TSV, Parquet or JSONL.", table=str(table)
            )
    place = Location.of(plan.store)
    with _frugal_pool(), _claimed(plan) as working:
        # Otherwise it was stopped during the final clean-up.
        if not (place / "study.json").is_file():
            options = TableOptions(
                plan.columns,
                memory,
                file_names=run_names(plan.tables),
                relevant=relevant,
                keep=keep,
            )
            ingest = Ingest(options, scratch=working, progress=progress, is_durable=True)
            ingest.run(plan.tables, place)
    return Store(place)


@contextmanager
def _claimed(plan: IngestPlan) -> Iterator[Path]:
    """Hold an exclusive lock on the store, and yield its working folder."""
    mark, working = plan.store / MARK, plan.store / WORKING
    if not mark.is_file():
        _check_empty(plan.store)
    place = Location.of(plan.store)
    place.make_folder(durable=True)
    lock = claim(place)
    if lock is None:
        raise StoreError(
            "Another process is ingesting into {store}. Wait until it ends.",
            store=plan.store,
        )
    try:
        if not mark.is_file():
            _check_empty(plan.store)  # another process may have finished it meanwhile
            plan.write()
        plan.check()
        (place / WORKING / "spill").check_links()
        # Spilled rows belong to a process that has ended.
        shutil.rmtree(working / "spill", ignore_errors=True)
        working.mkdir(exist_ok=True)
        try:
            yield working
        except SeedproofError as error:
            if not may_pass(error):
                _clear(plan.store)
            raise
        shutil.rmtree(working)
        mark.unlink(missing_ok=True)
        sync(plan.store)
    finally:
        lock.release(delete=True)
        with suppress(OSError):  # there is something in it, if nothing went wrong
            plan.store.rmdir()


def _clear(store: Path) -> None:
    """Delete everything but the lock."""
    for path in store.iterdir():
        if path.is_dir():
            shutil.rmtree(path)
        elif path.name not in {LOCK_FILE, MARK}:
            path.unlink()
    (store / MARK).unlink()  # last, so that an interrupted deletion is still an unfinished ingest


def _check_empty(store: Path) -> None:
    # A lock or a partially written marker is from an interrupted ingest.
    inside = store.glob("*") if store.is_dir() else [store] if store.exists() else []
    if any(path.name != LOCK_FILE and not path.name.startswith(f"{MARK}.") for path in inside):
        raise StoreError(
            "{store} already exists, and it is not from an interrupted ingest. "
            "Records are never overwritten: choose another {option}.",
            store=store,
            option="--out",
        )


@contextmanager
def _frugal_pool() -> Iterator[None]:
    """Make Arrow return freed memory at once; its default pool keeps some 30 MB."""
    usual = pa.default_memory_pool()
    pa.set_memory_pool(pa.system_memory_pool())
    try:
        yield
    finally:
        pa.set_memory_pool(usual)
