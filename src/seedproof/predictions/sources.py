"""Read inputs of every kind as aligned runs."""

import os
from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any, NamedTuple, cast

from seedproof.errors import NotFoundError, OptionError
from seedproof.logs.paths import read_numbered
from seedproof.logs.samples import Log
from seedproof.logs.wandb import is_logged_table, read_logged_table
from seedproof.messages import Message
from seedproof.predictions.checks import Check, checks_of_log, failed_runs, missing_runs, transposed
from seedproof.predictions.json_lines import UNLIMITED, lack_ids, unfolded_lines
from seedproof.predictions.options import DEFAULT_MEMORY, NUMBERS, TEXTS
from seedproof.predictions.readers import read_with, reader_of
from seedproof.predictions.shared_examples import common_ids, on_shared_examples
from seedproof.predictions.table_columns import columns_of, further_columns, names_in
from seedproof.predictions.targets import Input, log_in, opened
from seedproof.predictions.thresholds import have_probs, sets_above
from seedproof.predictions.weights import weighted
from seedproof.records.answer_settings import AnswerSettings, ExampleWeights, Tolerance
from seedproof.records.arrays import ArrayShards
from seedproof.records.columns import Columns
from seedproof.records.drafts import TemporaryFolder
from seedproof.records.item_arrays import item_kind, item_shards, set_threshold
from seedproof.records.item_columns import DOCUMENT
from seedproof.records.item_tables import have_items, read_items
from seedproof.records.items import MOST_KEPT
from seedproof.records.location import Location
from seedproof.records.memory_limit import parse_memory
from seedproof.records.normalize import joined_names
from seedproof.records.npz import open_npz, open_npz_apart
from seedproof.records.number_arrays import are_numbers, number_shards
from seedproof.records.number_tables import have_numbers, read_numbers
from seedproof.records.reader import Store
from seedproof.records.row_counts import LineCounter, count_rows
from seedproof.records.schema import Kind
from seedproof.records.shards import ShardSource
from seedproof.records.small_tables import read_small_tables
from seedproof.records.sort import Phases
from seedproof.records.tables import TableOptions
from seedproof.records.text_answers import Normalization, comparison_note
from seedproof.records.text_arrays import text_shards
from seedproof.records.text_files import run_names
from seedproof.records.text_tables import have_texts, read_texts
from seedproof.records.trec import is_trec_run, read_trec_run
from seedproof.seeds.seed_design import note_on_shared_seeds
from seedproof.typing import ArrowStream, Progress, is_count

# Columns of array clusters and weights in the table of examples.
CLUSTER, WEIGHT = "cluster", "weight"


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
        case "log":
            return _from_log(log_in(target), options, least_runs)
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
    extras = dict(slices or {})
    for option, name in (("clusters", CLUSTER), ("weight", WEIGHT)):
        values = options.get(option)
        if isinstance(values, str):
            raise OptionError(
                "`{option}` of arrays is one value per example, not a name.", option=option
            )
        if values is not None and name in extras:
            raise OptionError(
                "The slice name {name!r} is reserved for `{reserved}`. Rename it.",
                option="slices",
                name=name,
                reserved=option,
            )
        if values is not None:
            extras[name] = values
    cluster = None if clusters is None else CLUSTER
    is_named = bool(target.names) or any(options.get(x) is not None for x in ("runs", "ids"))
    if options.get("texts") or any(options.get(option) is not None for option in TEXTS):
        texts, answers = text_shards(
            target.parts,
            references=options.get("references"),
            equivalent=options.get("equivalent"),
            ids=options.get("ids"),
            runs=options.get("runs") or target.names,
            extras=extras,
            settings=_answer_settings(options),
            least_runs=least_runs,
        )
        remarks = tuple(answers.notes(texts.settings.normalization))
        checks = _transposed(texts, is_named=is_named)
        return Loaded(texts, remarks, cluster, tuple(slices or ()), checks=checks)
    kind = item_kind(target.parts, options)
    if kind is Kind.RANKINGS and options.get("labels") is not None:
        raise OptionError(
            "Whole numbers or texts with the axes (runs, examples, items) are ranked lists, and "
            "`{option}` is for classes and sets. Pass `relevant` for the right items of lists, "
            "kind='sets' for sets, or predicted classes with the axes (runs, examples).",
            option="labels",
        )
    if kind is not None:
        items = item_shards(
            target.parts,
            kind=kind,
            right=options.get("relevant" if kind is Kind.RANKINGS else "labels"),
            ids=options.get("ids"),
            names=options.get("classes"),
            runs=options.get("runs") or target.names,
            extras=extras,
            settings=_answer_settings(options),
            threshold=set_threshold(_answer_settings(options), kind),
            least_runs=least_runs,
            keep=kept_items(options),
        )
        return Loaded(items, _joined(items), cluster, tuple(slices or ()))
    if _is_of_numbers(target, options):
        numbers, notes = weighted(
            number_shards(
                target.parts,
                targets=options.get("targets"),
                ids=options.get("ids"),
                runs=options.get("runs") or target.names,
                extras=extras,
                settings=_answer_settings(options),
                least_runs=least_runs,
            )
        )
        checks = _transposed(numbers, is_named=is_named)
        return Loaded(numbers, tuple(notes), cluster, tuple(slices or ()), checks=checks)
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
    return Loaded(source, _joined(source), cluster, tuple(slices or ()), checks=checks)


def _is_of_numbers(target: Input, options: Mapping[str, Any]) -> bool:
    """Return whether arrays hold numbers: an option says so, or they are floats with two axes."""
    if any(options.get(name) for name in ("trials", *NUMBERS)) or any(
        options.get(name) is not None for name in ("targets", "weight")
    ):
        return True
    is_of_classes = any(options.get(name) is not None for name in ("positive", "labels", "classes"))
    return not is_of_classes and are_numbers(target.parts)


def _answer_settings(
    options: Mapping[str, Any], recorded: AnswerSettings | None = None
) -> AnswerSettings:
    """Return the choices of the user, added to what a store has recorded."""
    known = recorded or AnswerSettings()
    tolerance, thresholds = options.get("tolerance"), options.get("thresholds")
    weight = options.get("weight")
    if weight is not None:
        weight = ExampleWeights(weight if isinstance(weight, str) else WEIGHT)
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
        normalization=Normalization.distinguishing(names_in("distinguish", options)),
        weights=weight,
        depth=_whole_number("depth", options, known.depth),
    )


def _from_npz(target: Input, options: Mapping[str, Any], least_runs: int) -> Loaded:
    settings: dict[str, Any] = {
        "names": target.names,
        "classes": options.get("classes"),
        "positive": options.get("positive"),
        "extras": further_columns(options),
        "memory": parse_memory(options.get("memory") or DEFAULT_MEMORY),
        "settings": _answer_settings(options),
    }
    source: ShardSource
    notes: list[Message] = []
    if options.get("common_examples") and len(target.parts) > 1:
        source, notes = on_shared_examples(open_npz_apart(target.parts, **settings))
    else:
        source = open_npz(target.parts, alone=least_runs == 1, **settings)
    checks = _transposed(source, is_named=len(target.parts) > 1)
    return _described(Loaded(source, (*notes, *_joined(source)), checks=checks), options)


def _joined(source: ShardSource) -> tuple[Message, ...]:
    """Return a note on names in arrays that are the same in one form of Unicode."""
    return joined_names(source.spelled, "items" if source.kind.has_items else "classes")


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
    if not source.kind.has_classes:
        source.settings = _answer_settings(options, source.settings)
    if source.kind is Kind.TEXTS:
        settings = source.settings
        notes.append(comparison_note(settings.normalization, has_meanings=settings.by_meaning))
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
    clusters = names_in("clusters", options)
    if names_in("weight", options) and loaded.source.kind is not Kind.NUMBERS:
        raise OptionError(
            "`{option}` applies to numbers, and these runs give classes. Remove it.",
            option="weight",
        )
    source, notes = weighted(loaded.source)
    return loaded._replace(
        source=source,
        notes=(*loaded.notes, *notes),
        clusters=clusters[0] if clusters else None,
        slices=names_in("slices", options),
    )


def _by_document(loaded: Loaded) -> Loaded:
    """Return sets whose examples are parts of documents, clustered by document."""
    is_of_parts = loaded.source.kind is Kind.SETS and DOCUMENT in loaded.source.extras
    if not is_of_parts or loaded.clusters is not None:
        return loaded
    note = Message(
        "clusters-are-documents",
        "Examples of the same {column!r} are taken as related. Choose other clusters with "
        "--cluster.",
        column=DOCUMENT,
    )
    return loaded._replace(clusters=DOCUMENT, notes=(*loaded.notes, note))


def _from_tables(target: Input, options: Mapping[str, Any], least_runs: int) -> Loaded:
    files = [part for part in target.parts if isinstance(part, Path)]
    remarks = [*target.notes, *_several_folders(files)]
    tables = [_table(part, options, remarks) for part in target.parts]
    if len(files) > 1 and lack_ids(tables, options):
        for file in files:
            count_rows(file, LineCounter(), row_bytes=UNLIMITED)  # refuses what would crash it
        tables = [read_numbered(file, Columns.example) for file in files]
        remarks.append(
            Message(
                "lines-are-examples",
                "The files have no ids: examples are numbered by their lines. If the order of "
                "the lines differs, add ids.",
            )
        )
    table_options = TableOptions(
        columns_of(options),
        parse_memory(options.get("memory") or DEFAULT_MEMORY),
        least_runs,
        options.get("classes"),
        names=target.names,
        file_names=run_names(files) if len(files) == len(target.parts) else None,
        may_differ=bool(options.get("common_examples")),
        relevant=_relevant_table(options.get("relevant")),
        keep=kept_items(options),
    )
    if options.get("thresholds") is not None and have_probs(tables, table_options):
        threshold = set_threshold(_answer_settings(options), Kind.SETS)
        tables = list(sets_above(cast("float", threshold), tables, table_options))
    held: tuple[ShardSource, list[Message]] | None
    if have_items(tables, table_options.columns):
        held = read_items(tables, table_options, _answer_settings(options))
    elif have_texts(tables, table_options.columns):
        held = read_texts(tables, table_options, _answer_settings(options))
    elif have_numbers(tables, table_options.columns):
        held = read_numbers(tables, table_options, _answer_settings(options))
    elif table_options.may_differ:
        held = None
    else:
        held = read_small_tables(tables, table_options)
    if held is not None:
        source, held_notes = held
        loaded = Loaded(source, (*held_notes, *remarks), checks=_failed(target))
        return _by_document(_described(loaded, options))
    from seedproof.records.ingest import Ingest  # DuckDB is slow to load

    folder = TemporaryFolder()
    place = Location.of(folder.path / "store")
    progress = options.get("progress")
    listener = None if progress is None else _writing(progress)
    ingest = Ingest(table_options, scratch=folder.path, progress=listener)
    notes = ingest.run(tables, place)
    loaded = read_arm(Store(place), {**options, "arm": None, "split": None}, least_runs=least_runs)
    all_notes = (*notes, *remarks, *loaded.notes)
    checks = (*loaded.checks, *_failed(target))
    return _by_document(loaded._replace(notes=all_notes, pairs=None, folder=folder, checks=checks))


def _failed(target: Input) -> tuple[Check, ...]:
    """Return the check of runs that left no table."""
    return (failed_runs(target.failed),) if target.failed else ()


def _from_log(log: Log, options: Mapping[str, Any], least_runs: int) -> Loaded:
    log = log.only(arm=options.get("arm"), task=options.get("task"))
    for option, known in (("arm", log.arms), ("task", log.tasks)):
        if len(known) > 1:
            raise OptionError(
                "The log has {n_known} {noun}s: {listed}. Choose one with --{noun}.",
                noun=option,
                n_known=len(known),
                listed=", ".join(known),
                known=known,
            )
    columns: Columns = options.get("columns") or Columns()
    failed_as = options.get("failed_as")
    sheet = log.sheet(columns.changed().get("value"), failed_as=failed_as)
    of_table = {name: value for name, value in options.items() if name != "columns"}
    loaded = _from_tables(Input("table", [sheet.table]), of_table, least_runs)
    checks = checks_of_log(sheet, failed_as)
    return loaded._replace(notes=(*sheet.notes, *loaded.notes), checks=(*loaded.checks, *checks))


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


def _table(
    part: Path | ArrowStream, options: Mapping[str, Any], remarks: list[Message]
) -> Path | ArrowStream:
    """Return the rows of a file if a reader recognizes it or paths lead into it, else the file.

    Notes on rows that are left out are added to the remarks.
    """
    if isinstance(part, Path) and (unfolded := unfolded_lines(part, options)) is not None:
        remarks += unfolded.notes
        return cast("ArrowStream", unfolded.table)
    if isinstance(part, Path) and is_logged_table(part):
        return cast("ArrowStream", read_logged_table(part))
    if is_trec_run(part):
        return cast("ArrowStream", read_trec_run(part))
    name = reader_of(part) if isinstance(part, Path) else None
    return part if name is None or not isinstance(part, Path) else read_with(name, part)


def _relevant_table(given: Any) -> Path | ArrowStream | None:  # noqa: ANN401 - whatever is passed
    """Return the table with right items; None if there is none."""
    if hasattr(given, "__arrow_c_stream__"):
        return cast("ArrowStream", given)
    if given is None or isinstance(given, str | os.PathLike):
        return relevant_file(given)
    raise OptionError(
        "`{option}` of a table is a file or another table, not a {type_name}.",
        option="relevant",
        type_name=type(given).__name__,
    )


def relevant_file(given: str | os.PathLike[str] | None) -> Path | None:
    """Return the file with right items, which must exist; None if there is none."""
    if given is None or Path(given).is_file():
        return None if given is None else Path(given)
    raise NotFoundError("{path!r} does not exist. Pass a file.", path=os.fspath(given))


def kept_items(options: Mapping[str, Any]) -> int:
    """Return how many items of a ranked list are kept."""
    return _whole_number("keep", options, MOST_KEPT)


def _whole_number(name: str, options: Mapping[str, Any], default: int) -> int:
    number = options.get(name)
    if number is None:
        return default
    if not is_count(number, least=1):
        raise OptionError(
            "`{option}` is {number!r}. Pass a whole number from 1 on.", option=name, number=number
        )
    return int(number)


def _writing(progress: Progress) -> Phases:
    """Return a progress listener that reports only the rows written."""

    def report(phase: str, done: int, total: int) -> None:
        if phase == "writing":
            progress(done, total)

    return report
