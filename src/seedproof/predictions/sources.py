"""Read inputs of every kind as aligned runs."""

import shutil
import weakref
from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from tempfile import mkdtemp
from typing import Any, NamedTuple

from seedproof.errors import OptionError
from seedproof.messages import Message
from seedproof.predictions.options import DEFAULT_MEMORY
from seedproof.predictions.readers import read_with, reader_of
from seedproof.predictions.shared_examples import common_ids, on_shared_examples
from seedproof.predictions.targets import Input, opened
from seedproof.records.arrays import ArrayShards
from seedproof.records.columns import Columns
from seedproof.records.location import Location
from seedproof.records.manifest import RunManifest
from seedproof.records.memory_limit import parse_memory
from seedproof.records.npz import open_npz, open_npz_apart
from seedproof.records.reader import Store
from seedproof.records.scan import run_names
from seedproof.records.shards import ShardSource
from seedproof.records.small_tables import read_small_tables
from seedproof.seeds.seed_design import note_on_shared_seeds
from seedproof.typing import ArrowStream, Progress

# What arrays of clusters are called in the table of examples.
CLUSTER = "cluster"


class TemporaryFolder:
    """A folder that is removed with the last object that holds it."""

    def __init__(self) -> None:
        self.path = Path(mkdtemp(prefix="seedproof-"))
        weakref.finalize(self, shutil.rmtree, self.path, ignore_errors=True)


class Loaded(NamedTuple):
    """What an input holds, as `Predictions` takes it."""

    source: ShardSource
    notes: tuple[Message, ...] = ()
    clusters: str | None = None
    slices: tuple[str, ...] = ()
    pairs: tuple[str, ...] | None = None
    folder: TemporaryFolder | None = None


def read(found: Input, options: Mapping[str, Any], *, least_runs: int) -> Loaded:
    """Read an input."""
    match found.kind:
        case "array":
            return _from_arrays(found, options, least_runs)
        case "store":
            store = opened(found, skip_damaged=bool(options.get("skip_damaged")))
            return _from_store(store, options, least_runs)
        case "npz":
            return _from_npz(found, options, least_runs)
    return _from_tables(found, options, least_runs)


def _from_arrays(found: Input, options: Mapping[str, Any], least_runs: int) -> Loaded:
    slices, clusters = options.get("slices"), options.get("clusters")
    if slices is not None and not isinstance(slices, Mapping):
        raise OptionError(
            "`{option}` of arrays are values per example by name, not a {type_name}. Write "
            'slices={{"language": languages}}.',
            option="slices",
            type_name=type(slices).__name__,
        )
    if isinstance(clusters, str):
        raise OptionError(
            "`{option}` of arrays is one value per example, not a name.", option="clusters"
        )
    extras = dict(slices or {})
    if clusters is not None and CLUSTER in extras:
        raise OptionError(
            "A slice cannot be called {name!r}, because clusters are. Rename it.",
            option="slices",
            name=CLUSTER,
        )
    if clusters is not None:
        extras[CLUSTER] = clusters
    source = ArrayShards(
        found.parts,
        labels=options.get("labels"),
        ids=options.get("ids"),
        classes=options.get("classes"),
        runs=options.get("runs") or found.names,
        positive=options.get("positive"),
        extras=extras,
        alone=least_runs == 1,
    )
    name = None if clusters is None else CLUSTER
    return Loaded(source, clusters=name, slices=tuple(slices or ()))


def _from_npz(found: Input, options: Mapping[str, Any], least_runs: int) -> Loaded:
    settings: dict[str, Any] = {
        "names": found.names,
        "classes": options.get("classes"),
        "positive": options.get("positive"),
        "extras": _names("slices", options) + _names("clusters", options),
    }
    source: ShardSource
    notes: list[Message] = []
    if options.get("common_examples") and len(found.parts) > 1:
        source, notes = on_shared_examples(open_npz_apart(found.parts, **settings))
    else:
        source = open_npz(found.parts, alone=least_runs == 1, **settings)
    return Loaded(source, tuple(notes), clusters=_cluster(options), slices=_slices(options))


def read_arm(store: Store, options: Mapping[str, Any], *, least_runs: int = 2) -> Loaded:
    """Read one arm of an open store."""
    choice: dict[str, Any] = {name: options.get(name) for name in ("arm", "split")}
    notes: list[Message] = []
    source: ShardSource
    if options.get("common_examples"):
        apart = store.again().apart(**choice, alone=least_runs == 1)
        ids, n_all = common_ids(apart)
        if len(ids) < n_all:
            source, notes = on_shared_examples(apart)
            return _described(from_store(source, notes), options)
    source = store.shards(**choice, alone=least_runs == 1)
    return _described(from_store(source), options)


def _described(loaded: Loaded, options: Mapping[str, Any]) -> Loaded:
    return loaded._replace(clusters=_cluster(options), slices=_slices(options))


def _from_store(store: Store, options: Mapping[str, Any], least_runs: int) -> Loaded:
    loaded = read_arm(store, options, least_runs=least_runs)
    return loaded._replace(notes=(*store.notes, *store.left_out, *loaded.notes))


def from_store(source: ShardSource, notes: Sequence[Message] = ()) -> Loaded:
    """Aligned runs of a store, with a note on runs that are not independent draws."""
    runs = source.manifests
    shared = note_on_shared_seeds([run.seeds for run in runs])
    notes = (*notes, *([] if shared is None else [shared]))
    return Loaded(source, notes, pairs=_pairs(runs))


def _pairs(runs: Sequence[RunManifest]) -> tuple[str, ...] | None:
    """The seeds of each run as text; None where a run has none, or two have the same."""
    found = tuple(repr(sorted(run.seeds.items())) for run in runs)
    return found if all(run.seeds for run in runs) and len(set(found)) == len(found) else None


def _from_tables(found: Input, options: Mapping[str, Any], least_runs: int) -> Loaded:
    tables = [_table(part) for part in found.parts]
    files = [part for part in found.parts if isinstance(part, Path)]
    file_names = run_names(files) if len(files) == len(found.parts) else None
    if not options.get("common_examples"):
        small = read_small_tables(
            tables,
            columns_of(options),
            memory=parse_memory(options.get("memory") or DEFAULT_MEMORY),
            least_runs=least_runs,
            classes=options.get("classes"),
            names=found.names,
            file_names=file_names,
        )
        if small is not None:
            source, found_notes = small
            return _described(Loaded(source, (*found_notes, *_several_folders(files))), options)
    from seedproof.records.ingest import Ingest  # DuckDB is slow to load

    folder = TemporaryFolder()
    place = Location.of(folder.path / "store")
    is_common = bool(options.get("common_examples"))
    ingest = Ingest(
        columns=columns_of(options),
        memory=parse_memory(options.get("memory") or DEFAULT_MEMORY),
        scratch=folder.path,
        alone=least_runs == 1,
        classes=options.get("classes"),
        may_differ=is_common,
    )
    progress = options.get("progress")
    notes = ingest.run(
        tables,
        place,
        names=found.names,
        file_names=file_names,
        progress=None if progress is None else _writing(progress),
    )
    loaded = read_arm(Store(place), {**options, "arm": None, "split": None}, least_runs=least_runs)
    notes = (*notes, *_several_folders(files), *loaded.notes)
    return loaded._replace(notes=notes, pairs=None, folder=folder)


def _several_folders(files: Sequence[Path]) -> list[Message]:
    """Return a note on folders that hold runs of the same names: they may be several arms."""
    parents = [file.absolute().parent for file in files]
    are_alike = len({file.name for file in files}) == 1
    if not are_alike or len({folder.name for folder in parents}) == len(files):
        return []
    above = sorted({str(folder.parent) for folder in parents})
    note = Message(
        "several-folders",
        "Runs of the same names in {n_folders} folders are read as one group. If the folders are "
        "different trainings, compare them with each other instead.",
        n_folders=len(above),
        folders=tuple(above),
    )
    return [note]


def _table(part: Path | ArrowStream) -> Path | ArrowStream:
    """A file that DuckDB reads as it is; rows in memory if an installed reader knows it."""
    name = reader_of(part) if isinstance(part, Path) else None
    return part if name is None or not isinstance(part, Path) else read_with(name, part)


def columns_of(options: Mapping[str, Any]) -> Columns:
    """Names of the columns, those of single options included."""
    columns: Columns = options.get("columns") or Columns()
    for option, role in (("labels", "label"), ("ids", "example")):
        name = options.get(option)
        if name is not None and not isinstance(name, str):
            raise OptionError(
                "`{option}` of a table is the name of a column, not a {type_name}. Put the values "
                "into the table.",
                option=option,
                type_name=type(name).__name__,
            )
        if name is not None:
            columns = replace(columns, **{role: name})
    if options.get("positive") is not None:
        columns = replace(columns, positive=str(options["positive"]))
    return columns


def _names(option: str, options: Mapping[str, Any]) -> tuple[str, ...]:
    """The columns that an option names."""
    given = options.get(option)
    if given is None:
        return ()
    names = [given] if isinstance(given, str) else given
    if isinstance(names, Mapping) or not all(isinstance(name, str) for name in names):
        raise OptionError(
            "`{option}` takes names of columns here, not values. Put the values into the table.",
            option=option,
        )
    return tuple(names)


def _slices(options: Mapping[str, Any]) -> tuple[str, ...]:
    return _names("slices", options)


def _cluster(options: Mapping[str, Any]) -> str | None:
    names = _names("clusters", options)
    return names[0] if names else None


def _writing(progress: Progress) -> Any:  # noqa: ANN401 - what ingesting calls
    """One bar for all phases: rows written."""

    def report(phase: str, done: int, total: int) -> None:
        if phase == "writing":
            progress(done, total)

    return report
