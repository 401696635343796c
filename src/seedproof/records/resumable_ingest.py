"""Tables into a store that stays: killed at any moment, the same call goes on."""

import os
import shutil
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

import pyarrow as pa

from seedproof.errors import NotFoundError, OptionError, SeedproofError, StoreError
from seedproof.records.columns import Columns
from seedproof.records.ingest import Ingest, may_pass
from seedproof.records.ingest_state import MARK, WORKING, IngestPlan, lock
from seedproof.records.location import Location
from seedproof.records.reader import Store
from seedproof.records.sort import Phases


def ingest_tables(
    tables: Sequence[str | os.PathLike[str]],
    store: str | os.PathLike[str],
    *,
    columns: Columns | None = None,
    memory: int = 2 * 10**9,
    progress: Phases | None = None,
) -> Store:
    """A store of all runs of the tables, which may be larger than memory.

    Rows come in any order. They are gathered by run in a working folder inside the store, then
    sorted and written run by run. Until the last run is there, the store is marked as unfinished,
    and nobody measures it. An error that lies in the tables leaves nothing behind.
    """
    if "://" in os.fspath(store):
        raise OptionError(
            "{store!r} is no local folder. Ingest into one, and copy it there: "
            "a store is plain files.",
            store=os.fspath(store),
        )
    plan = IngestPlan(tuple(Path(table) for table in tables), Path(store), columns or Columns())
    for table in plan.tables:
        if not table.is_file():
            raise NotFoundError(
                "{table!r} is not a file. Give CSV, TSV, Parquet or JSONL.", table=str(table)
            )
    place = Location.of(plan.store)
    with _frugal_pool(), _claimed(plan) as working:
        # Otherwise it was stopped when all was done but the tidying up.
        if not (place / "study.json").is_file():
            ingest = Ingest(columns=plan.columns, memory=memory, scratch=working)
            ingest.run(plan.tables, place, progress=progress)
    return Store(place)


@contextmanager
def _claimed(plan: IngestPlan) -> Iterator[Path]:
    """Inside, this process alone works on the store; it is finished afterwards, or can be."""
    mark, working = plan.store / MARK, plan.store / WORKING
    if not mark.is_file():
        _refuse_other_things(plan.store)
        plan.write()
    with mark.open("rb") as file:
        if not lock(file):
            raise StoreError(
                "Another process is ingesting into {store}. Wait until it has ended.",
                store=plan.store,
            )
        plan.check()
        # What was spilled belongs to a process that is no more.
        shutil.rmtree(working / "spill", ignore_errors=True)
        working.mkdir(exist_ok=True)
        try:
            yield working
        except SeedproofError as error:
            if not may_pass(error):
                shutil.rmtree(plan.store)
            raise
        shutil.rmtree(working)
    mark.unlink(missing_ok=True)


def _refuse_other_things(store: Path) -> None:
    # A mark that was cut short while it was written is ours.
    inside = store.glob("*") if store.is_dir() else [store] if store.exists() else []
    if any(not path.name.startswith(f"{MARK}.") for path in inside):
        raise StoreError(
            "{store} exists already, and is no unfinished ingest. "
            "Records are never overwritten: choose another {option}.",
            store=store,
            option="--out",
        )


@contextmanager
def _frugal_pool() -> Iterator[None]:
    """Inside, Arrow gives back what it frees; its usual pool keeps some 30 MB for later."""
    usual = pa.default_memory_pool()
    pa.set_memory_pool(pa.system_memory_pool())
    try:
        yield
    finally:
        pa.set_memory_pool(usual)
