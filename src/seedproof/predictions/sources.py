"""Read inputs of every kind as aligned runs."""

import shutil
import weakref
from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from tempfile import mkdtemp
from typing import Any, NamedTuple

from seedproof.errors import OptionError, UnreadableError
from seedproof.messages import Message
from seedproof.predictions.checks import Check, missing_runs, transposed
from seedproof.predictions.options import DEFAULT_MEMORY, NUMBERS, TEXTS
from seedproof.predictions.readers import read_with, reader_of
from seedproof.predictions.shared_examples import common_ids, on_shared_examples
from seedproof.predictions.targets import Input, opened
from seedproof.records.arrays import ArrayShards
from seedproof.records.columns import Columns
from seedproof.records.location import Location
from seedproof.records.memory_limit import parse_memory
from seedproof.records.npz import open_npz, open_npz_apart
from seedproof.records.number_arrays import are_numbers, number_shards
from seedproof.records.number_settings import NumberSettings, Tolerance
from seedproof.records.number_tables import have_numbers, read_numbers
from seedproof.records.reader import Store
from seedproof.records.schema import Kind
from seedproof.records.shards import ShardSource
from seedproof.records.small_tables import read_small_tables
from seedproof.records.sort import Phases
from seedproof.records.tables import TableOptions
from seedproof.records.text_answers import Normalization
from seedproof.records.text_arrays import text_shards
from seedproof.records.text_files import run_names
from seedproof.records.text_tables import have_texts, read_texts
from seedproof.seeds.seed_design import note_on_shared_seeds
from seedproof.typing import ArrowStream, Progress

# Column of array clusters in the table of examples.
CLUSTER = "cluster"


class TemporaryFolder:
    """A folder that is deleted together with the last object that holds it."""

    def __init__(self) -> None:
        self.path = Path(mkdtemp(prefix="seedproof-"))
        weakref.finalize(self, shutil.rmtree, self.path, ignore_errors=True)


class Loaded(NamedTuple):
    """Fields of `Predictions`, as they were read."""

    source: ShardSource
    notes: tuple[Message, ...] = ()
    clusters: str | None = None
    slices: tuple[str, ...] = ()
    pairs: tuple[str, ...] | None = None
    folder: TemporaryFolder | None = None
    checks: tuple[Check, ...] = ()


def read(target: Input, options: Mapping[str, Any], *, least_runs: int) -> Loaded:
    """Read an input."""
    match target.kind:
        case "array":
            return _from_arrays(target, options, least_runs)
        case "store":
            store = opened(target, skip_damaged=bool(options.get("skip_damaged")))
            loaded = read_arm(store, options, least_runs=least_runs)
            return loaded._replace(notes=(*store.notes, *store.left_out, *loaded.notes))
        case "npz":
            return _from_npz(target, options, least_runs)
    return _from_tables(target, options, least_runs)


def _from_arrays(target: Input, options: Mapping[str, Any], least_runs: int) -> Loaded:
    slices, clusters = options.get("slices"), options.get("clusters")
    if slices is not None and not isinstance(slices, Mapping):
        raise OptionError(
            "For arrays, `{option}` must map a name to one value per example, not be a "
            '{type_name}. Write slices={{"language": languages}}.',
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
            "The slice name {name!r} is reserved for clusters. Rename it.",
            option="slices",
            name=CLUSTER,
        )
    if clusters is not None:
        extras[CLUSTER] = clusters
    name = None if clusters is None else CLUSTER
    is_named = bool(target.names) or any(options.get(x) is not None for x in ("runs", "ids"))
    if options.get("texts") or any(options.get(option) is not None for option in TEXTS):
        texts, answers = text_shards(
            target.parts,
            references=options.get("references"),
            equivalent=options.get("equivalent"),
            ids=options.get("ids"),
            runs=options.get("runs") or target.names,
            extras=extras,
            settings=_number_settings(options),
            least_runs=least_runs,
        )
        notes = tuple(answers.notes(texts.settings.normalization))
        checks = _transposed(texts, is_named=is_named)
        return Loaded(texts, notes, name, tuple(slices or ()), checks=checks)
    if _is_of_numbers(target, options):
        numbers = number_shards(
            target.parts,
            targets=options.get("targets"),
            ids=options.get("ids"),
            runs=options.get("runs") or target.names,
            extras=extras,
            settings=_number_settings(options),
            least_runs=least_runs,
        )
        checks = _transposed(numbers, is_named=is_named)
        return Loaded(numbers, clusters=name, slices=tuple(slices or ()), checks=checks)
    source = ArrayShards(
        target.parts,
        labels=options.get("labels"),
        ids=options.get("ids"),
        classes=options.get("classes"),
        runs=options.get("runs") or target.names,
        positive=options.get("positive"),
        extras=extras,
        alone=least_runs == 1,
    )
    checks = _transposed(source, is_named=is_named)
    return Loaded(source, clusters=name, slices=tuple(slices or ()), checks=checks)


def _is_of_numbers(target: Input, options: Mapping[str, Any]) -> bool:
    """Return whether arrays hold numbers: an option says so, or they are floats with two axes."""
    if (
        any(options.get(name) for name in ("trials", *NUMBERS))
        or options.get("targets") is not None
    ):
        return True
    is_of_classes = any(options.get(name) is not None for name in ("positive", "labels", "classes"))
    return not is_of_classes and are_numbers(target.parts)


def _number_settings(
    options: Mapping[str, Any], recorded: NumberSettings | None = None
) -> NumberSettings:
    """Return the choices of the user, added to what a store has recorded."""
    known = recorded or NumberSettings()
    tolerance, thresholds = options.get("tolerance"), options.get("thresholds")
    if thresholds is None:
        thresholds = ()
    elif isinstance(thresholds, int | float):
        thresholds = (thresholds,)
    return replace(
        known,
        tolerance=None if tolerance is None else Tolerance.parse(tolerance),
        thresholds=tuple(dict.fromkeys(float(threshold) for threshold in thresholds)),
        are_trials=known.are_trials or bool(options.get("trials")),
        better="lower" if options.get("lower_is_better") else "higher",
        normalization=Normalization.keeping(_names("keep", options)),
    )


def _from_npz(target: Input, options: Mapping[str, Any], least_runs: int) -> Loaded:
    settings: dict[str, Any] = {
        "names": target.names,
        "classes": options.get("classes"),
        "positive": options.get("positive"),
        "extras": _names("slices", options) + _names("clusters", options),
        "memory": parse_memory(options.get("memory") or DEFAULT_MEMORY),
        "settings": _number_settings(options),
    }
    source: ShardSource
    notes: list[Message] = []
    if options.get("common_examples") and len(target.parts) > 1:
        source, notes = on_shared_examples(open_npz_apart(target.parts, **settings))
    else:
        source = open_npz(target.parts, alone=least_runs == 1, **settings)
    checks = _transposed(source, is_named=len(target.parts) > 1)
    return _described(Loaded(source, tuple(notes), checks=checks), options)


def _transposed(source: ShardSource, *, is_named: bool) -> tuple[Check, ...]:
    """Return a check of arrays without names or labels that have more runs than examples."""
    n_runs = len(source.runs)
    if is_named or source.n_labeled or n_runs <= source.n_examples:
        return ()
    return (transposed(n_runs, source.n_examples),)


def read_arm(store: Store, options: Mapping[str, Any], *, least_runs: int = 2) -> Loaded:
    """Read one arm of an open store."""
    choice: dict[str, Any] = {name: options.get(name) for name in ("arm", "split")}
    notes: list[Message] = []
    source: ShardSource | None = None
    if options.get("common_examples"):
        apart = store.again().apart(**choice, alone=least_runs == 1)
        ids, n_all = common_ids(apart)
        if len(ids) < n_all:
            source, notes = on_shared_examples(apart)
    if source is None:
        source = store.shards(**choice, alone=least_runs == 1)
    if source.kind is Kind.NUMBERS:
        source.settings = _number_settings(options, source.settings)
    seeds = [run.seeds for run in source.manifests]
    shared = note_on_shared_seeds(seeds)
    pairs = tuple(repr(sorted(of_run.items())) for of_run in seeds)
    are_pairs = all(seeds) and len(set(pairs)) == len(pairs)
    missing = store.missing(source.manifests[0].arm)
    loaded = Loaded(
        source,
        (*notes, *([] if shared is None else [shared])),
        pairs=pairs if are_pairs else None,
        checks=() if missing is None else (missing_runs(missing),),
    )
    return _described(loaded, options)


def _described(loaded: Loaded, options: Mapping[str, Any]) -> Loaded:
    clusters = _names("clusters", options)
    return loaded._replace(
        clusters=clusters[0] if clusters else None, slices=_names("slices", options)
    )


def _from_tables(target: Input, options: Mapping[str, Any], least_runs: int) -> Loaded:
    tables = [_table(part) for part in target.parts]
    files = [part for part in target.parts if isinstance(part, Path)]
    table_options = TableOptions(
        columns_of(options),
        parse_memory(options.get("memory") or DEFAULT_MEMORY),
        least_runs,
        options.get("classes"),
        names=target.names,
        file_names=run_names(files) if len(files) == len(target.parts) else None,
        may_differ=bool(options.get("common_examples")),
    )
    held: tuple[ShardSource, list[Message]] | None
    if have_texts(tables, table_options.columns):
        held = read_texts(tables, table_options, _number_settings(options))
        if held is None:
            raise UnreadableError(
                "The texts do not fit into the memory for reading. Raise it with --memory, or "
                "memory= in Python.",
                option="memory",
            )
    elif have_numbers(tables, table_options.columns):
        held = read_numbers(tables, table_options, _number_settings(options))
    elif table_options.may_differ:
        held = None
    else:
        held = read_small_tables(tables, table_options)
    if held is not None:
        source, held_notes = held
        return _described(Loaded(source, (*held_notes, *_several_folders(files))), options)
    from seedproof.records.ingest import Ingest  # DuckDB is slow to load

    folder = TemporaryFolder()
    place = Location.of(folder.path / "store")
    progress = options.get("progress")
    listener = None if progress is None else _writing(progress)
    ingest = Ingest(table_options, scratch=folder.path, progress=listener)
    notes = ingest.run(tables, place)
    loaded = read_arm(Store(place), {**options, "arm": None, "split": None}, least_runs=least_runs)
    all_notes = (*notes, *_several_folders(files), *loaded.notes)
    return loaded._replace(notes=all_notes, pairs=None, folder=folder)


def _several_folders(files: Sequence[Path]) -> list[Message]:
    """Return a note on folders with runs of the same names: they may be several arms."""
    parents = [file.absolute().parent for file in files]
    are_alike = len({file.name for file in files}) == 1
    if not are_alike or len({folder.name for folder in parents}) == len(files):
        return []
    above = sorted({str(folder.parent) for folder in parents})
    note = Message(
        "several-folders",
        "Runs of the same names in {n_folders} folders are read as one group. If the "
        "folders contain different training setups, compare them instead.",
        n_folders=len(above),
        folders=tuple(above),
    )
    return [note]


def _table(part: Path | ArrowStream) -> Path | ArrowStream:
    """Return the rows of a file if an installed reader recognizes it, else the file."""
    name = reader_of(part) if isinstance(part, Path) else None
    return part if name is None or not isinstance(part, Path) else read_with(name, part)


def columns_of(options: Mapping[str, Any]) -> Columns:
    """Return the names of the columns, including those of single options."""
    columns: Columns = options.get("columns") or Columns()
    roles = {"labels": "label", "ids": "example", "targets": "target"}
    roles |= {"references": "reference", "equivalent": "equivalent"}
    for option, role in roles.items():
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
    """Return the columns that an option names."""
    value = options.get(option)
    names = () if value is None else [value] if isinstance(value, str) else value
    if isinstance(names, Mapping) or not all(isinstance(name, str) for name in names):
        raise OptionError(
            "`{option}` takes names of columns here, not values. Put the values into the table.",
            option=option,
        )
    return tuple(names)


def _writing(progress: Progress) -> Phases:
    """Return a progress listener that reports only the rows written."""

    def report(phase: str, done: int, total: int) -> None:
        if phase == "writing":
            progress(done, total)

    return report
