"""Ranked lists and sets of tables that are larger than memory, sorted by DuckDB into a store.

Every item becomes one row: run and item as numbers, the example as text, and what orders the list.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace
from itertools import groupby
from operator import itemgetter
from typing import TYPE_CHECKING

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from seedproof.errors import EmptyInputError, TooFewRunsError
from seedproof.messages import Message
from seedproof.records.arrow import texts_to_arrow, to_arrow, to_numpy
from seedproof.records.checks import example_of as named_example
from seedproof.records.item_cells import item_cells
from seedproof.records.item_columns import Form, ItemRoles
from seedproof.records.item_rows import check_distinct, distinct, gathered, right_items
from seedproof.records.item_tables import (
    common_item_roles,
    conflicting_labels,
    notes_on_lists,
    order_of,
    repeated_example,
    split_by_run,
)
from seedproof.records.items import NO_ITEM, Relevance
from seedproof.records.levels import (
    Repeat,
    refuse_levels_of_items,
    settings_of,
    split_repeats,
)
from seedproof.records.location import Location
from seedproof.records.manifest import RunManifest, StudyManifest
from seedproof.records.normalize import accented_names, composed, joined_names
from seedproof.records.partition import Spellings, are_integers
from seedproof.records.right_rows import RightRows, read_relevant
from seedproof.records.scan import Scan, quote_name
from seedproof.records.schema import Layout
from seedproof.records.shards import canonical_order, check_run_count
from seedproof.records.sort import SPLIT, Phases, run_id_of
from seedproof.records.table_rows import dropped_examples, ids_of, joined_levels, numbers_of
from seedproof.records.tables import TableOptions, notes_on_dropped_columns
from seedproof.records.writer import RunWriter
from seedproof.typing import BoolArray, IntArray

if TYPE_CHECKING:
    import duckdb

BATCH_ROWS = 100_000


@dataclass
class _Codes:
    """Names in Unicode's form C, by the order in which they occur."""

    names: list[str] = field(default_factory=list)
    place: dict[str, int] = field(default_factory=dict)
    spelled: set[str] = field(default_factory=set)  # as they were written, with other letters

    def encode(self, texts: pa.Array) -> IntArray:
        """Return the number of each name, new ones included."""
        encoded = texts.dictionary_encode()
        self.spelled |= accented_names(encoded.dictionary)
        table = []
        for name in map(composed, encoded.dictionary.to_pylist()):
            if name not in self.place:
                self.place[name] = len(self.names)
                self.names.append(name)
            table.append(self.place[name])
        return np.asarray(np.array(table, dtype=np.int32)[to_numpy(encoded.indices)])


class ItemIngest:
    """Writes the lists or sets of tables into a store."""

    def __init__(
        self,
        db: "duckdb.DuckDBPyConnection",
        scans: Sequence[Scan],
        options: TableOptions,
        progress: Phases | None,
    ) -> None:
        # Another connection, because writing ends the reading of the first.
        self._db, self._tables = db, db.cursor()
        self._scans, self._options = scans, options
        self._progress = progress
        named = [(scan.title, list(scan.types)) for scan in scans]
        self._roles: ItemRoles = common_item_roles(named, options)
        self._runs, self._items = _Codes(), _Codes()
        self._has_integer_ids = True
        self._are_single = self._has_single_gold = True
        self._n_rows = 0
        self._right: list[RightRows] = []
        self._spelled_ids = Spellings()

    def write(self, store: Location) -> tuple[Message, ...]:
        """Read all tables, and write their runs."""
        self._read()
        levels = [level for level, _ in self._roles.levels]
        repeats: dict[str, Repeat] = {run: (run,) for run in self._runs.names}
        if levels:
            levels, repeats = split_repeats(self._runs.names, levels)
        check_run_count(len(repeats))
        known = settings_of(levels, list(repeats.values()))
        refuse_levels_of_items(self._roles.form.kind, known)
        are_trials = known.are_trials
        if len(repeats) < self._options.least_runs and not are_trials:
            raise TooFewRunsError(
                "There is only one run: {run!r}. Pass the {kind} of at least 2 runs or trials.",
                run="/".join(next(iter(repeats.values()))),
                kind=str(self._roles.form.kind),
                n_runs=len(repeats),
            )
        self._check_rows(["/".join(repeats[name]) for name in self._runs.names])
        right = self._right_rows()
        ids = self._ids(right)
        notes: list[Message] = []
        if right is not None:
            matched, notes = right.matched(ids)
            self._items.encode(matched.items)  # items that no run has
        names = canonical_order(sorted(self._items.names))
        place = {name: index for index, name in enumerate(names)}
        codes = np.array([place[name] for name in self._items.names], dtype=np.int32)
        relevance = Relevance.unknown(len(ids))
        if right is not None:
            relevance = right_items(
                matched.example_of,
                codes[self._items.encode(matched.items)],
                matched.grades,
                matched.is_known,
                names=names,
                ids=ids,
            )
        extras, dropped = self._extras(ids)
        width, further = self._measure_lists()
        notes += joined_names(self._spelled_ids.names, "examples")
        notes += joined_names(self._items.spelled, "items")
        notes += [*further, *notes_on_dropped_columns(dropped)]
        layout = Layout(
            self._roles.form.kind,
            tuple(names),
            text_ids=bool(pa.types.is_string(ids.type)),
            n_top=width,
            extras=tuple((name, pa.string()) for name in extras.column_names),
            graded=relevance.grades is not None,
        )
        manifests = [
            RunManifest(
                run_id_of(text),
                "/".join(repeat),
                facts={
                    "notes": [str(note) for note in notes],
                    "levels": dict(zip(levels, repeat, strict=True)) if levels else {},
                },
            )
            for text, repeat in repeats.items()
        ]
        lists = _Lists(
            self._sorted(repeats, ids),
            np.append(codes, NO_ITEM),
            names,
            ids,
            runs=[run.name for run in manifests],
            is_ranked=self._roles.order is not None,
            keep=self._options.keep,
        )
        leftover = store / "runs"  # of a process that was stopped
        if leftover.is_folder():
            leftover.files.delete_dir(leftover.path)
        writer = _RunsWriter(store, layout, manifests, relevance=relevance, extras=extras, ids=ids)
        is_there = writer.write(lists, fills=self._roles.form is Form.SPANS)
        if not is_there.all():
            # Examples are dropped when the store is read, which notes it.
            dropped_examples(lists.runs, ids, is_there, may_differ=self._options.may_differ)
        StudyManifest("ingested", layout.rows_per_group, runs=lists.runs).write(store)
        return tuple(notes)

    def _read(self) -> None:
        """Write one row per item into the table `items`, and right ones into `gold`."""
        roles = self._roles
        self._tables.execute("CREATE TABLE items (row BIGINT, r INT, e VARCHAR, i INT, k DOUBLE)")
        self._tables.execute("CREATE TABLE gold (row BIGINT, e VARCHAR, i INT, g DOUBLE)")
        texts = "".join(f", x{index} VARCHAR" for index in range(len(roles.extras)))
        self._tables.execute(f"CREATE TABLE facts (e VARCHAR{texts})")
        run_names = self._options.run_names([scan.path for scan in self._scans])
        columns = ", ".join(quote_name(name) for name in roles.names)
        for index, (scan, run) in enumerate(zip(self._scans, run_names, strict=True)):
            n_before = self._n_rows
            query = f"SELECT {columns} FROM ({scan.sql})"
            with self._db.sql(query).to_arrow_reader(BATCH_ROWS) as reader:
                for batch in reader:
                    self._add(pa.Table.from_batches([batch]), run)
                    self._report("reading", index)
            scan.check_rows(self._n_rows - n_before)
        if not self._runs.names:
            raise EmptyInputError("{table} has no rows.", table=self._scans[0].title)
        if self._options.relevant is not None:
            is_of_spans = roles.form is Form.SPANS
            self._right.append(
                read_relevant(self._options.relevant, self._options, is_of_spans=is_of_spans)
            )

    def _report(self, phase: str, done: int) -> None:
        if self._progress is not None:
            self._progress(phase, done, len(self._scans))

    def _add(self, table: pa.Table, run: str) -> None:
        roles, first_row = self._roles, self._n_rows
        self._n_rows += len(table)
        table, without_run = split_by_run(table, roles)
        if without_run is not None and len(without_run):
            self._right.append(RightRows.of_items(without_run, roles))
        if not len(table):
            return
        self._spelled_ids.add(table.column(roles.example))
        examples = ids_of(table.column(roles.example), roles.example).combine_chunks()
        self._has_integer_ids &= are_integers(examples)
        runs = pa.chunked_array([texts_to_arrow([run] * len(table))])
        if roles.levels:
            runs = joined_levels(table, roles.levels)
        run_of = self._runs.encode(runs.combine_chunks())
        cells = item_cells(table, roles.form, roles.answer)
        self._are_single &= cells.are_single
        # A row without an item shows that the run has the example.
        empty = np.setdiff1d(np.arange(len(table)), cells.rows)
        rows = np.concatenate([cells.rows, empty])
        items = np.concatenate([self._items.encode(cells.texts), np.full(len(empty), NO_ITEM)])
        order = np.zeros(len(rows))
        if roles.order is not None:

            def where(row: int) -> Message:
                return named_example(self._runs.names[int(run_of[row])], examples[row].as_py())

            order[: len(cells.rows)] = order_of(table, roles, cells.rows, where)
        taken = examples.take(to_arrow(rows))
        self._insert("items", row=rows + first_row, r=run_of[rows], e=taken, i=items, k=order)
        self._add_gold(table, examples, first_row)
        if roles.extras:
            further = {
                f"x{index}": _as_text(table.column(name)) for index, name in enumerate(roles.extras)
            }
            self._insert("facts", e=examples, **further)

    def _add_gold(self, table: pa.Table, examples: pa.Array, first_row: int) -> None:
        """Add the right items that the rows themselves have."""
        roles = self._roles
        if roles.gold is None:
            return
        if roles.form is Form.RANKED:
            cells = item_cells(table, roles.form, roles.answer)
            grades = numbers_of(table.column(roles.gold), roles.gold, "relevance")
        else:
            cells = item_cells(table, roles.form, (roles.gold,))
            self._has_single_gold &= cells.are_single
            grades = np.where(cells.is_given, 1.0, np.nan)
        # A row without an item shows that the right items of the example are known.
        empty = np.setdiff1d(np.arange(len(table)), cells.rows)
        rows = np.concatenate([cells.rows, empty])
        items = np.concatenate([self._items.encode(cells.texts), np.full(len(empty), NO_ITEM)])
        is_known = ~np.isnan(grades[rows])
        rows, items = rows[is_known], items[is_known]
        taken = examples.take(to_arrow(rows))
        self._insert("gold", row=rows + first_row, e=taken, i=items, g=grades[rows])

    def _insert(self, table: str, **columns: pa.Array | IntArray) -> None:
        batch = pa.table(
            {
                name: to_arrow(column) if isinstance(column, np.ndarray) else column
                for name, column in columns.items()
            }
        )
        self._tables.register("batch", batch)
        self._tables.execute(f"INSERT INTO {table} SELECT {', '.join(columns)} FROM batch")
        self._tables.unregister("batch")

    def _check_rows(self, runs: Sequence[str]) -> None:
        """Raise an error if a run has an example twice."""
        if self._roles.form in {Form.RANKED, Form.SPANS} or self._are_single:
            return
        twice = self._tables.execute(
            "SELECT r, e, count(DISTINCT row) FROM items GROUP BY r, e "
            "HAVING min(row) < max(row) LIMIT 1"
        ).fetchall()
        if twice:
            run, example, n_rows = twice[0]
            raise repeated_example(runs[run], example, n_rows)

    def _right_rows(self) -> RightRows | None:
        """Return all right items; None if none are known."""
        pieces = list(self._right)
        if self._roles.gold is not None:
            rows = self._tables.sql("SELECT DISTINCT e, i, g FROM gold").to_arrow_table()
            items = to_numpy(rows.column("i"))
            examples, is_item = rows.column("e").combine_chunks(), items != NO_ITEM
            texts = texts_to_arrow([self._items.names[item] for item in items[is_item]])
            grades = None
            if self._roles.form is Form.RANKED:
                grades = to_numpy(rows.column("g"))[is_item]
            elif not self._has_single_gold:
                self._check_gold()
            pieces.append(RightRows(examples.filter(to_arrow(is_item)), texts, grades, examples))
        return RightRows.joined(pieces) if pieces else None

    def _check_gold(self) -> None:
        """Raise an error if rows of the same example have other right labels."""
        conflict = self._tables.execute(
            "SELECT e, i FROM (SELECT e, i, count(DISTINCT row) AS n FROM gold WHERE i >= 0 "
            "GROUP BY e, i) JOIN (SELECT e, count(DISTINCT row) AS n_all FROM gold GROUP BY e) "
            "USING (e) WHERE n < n_all LIMIT 1"
        ).fetchall()
        if conflict:
            raise conflicting_labels(self._items.names[conflict[0][1]], conflict[0][0])

    def _ids(self, right: RightRows | None) -> pa.Array:
        """Return the ids of all examples, in canonical order."""
        ids = self._tables.sql("SELECT DISTINCT e FROM items").to_arrow_table().column("e")
        if right is not None and self._roles.form is Form.SPANS:
            ids = pa.chunked_array([*ids.chunks, right.examples]).unique()
            self._has_integer_ids &= are_integers(right.examples)
        ids = pa.chunked_array([ids]) if isinstance(ids, pa.Array) else ids
        ids = ids.combine_chunks()
        if self._has_integer_ids:
            ids = ids.cast(pa.int64())
        return ids.take(pc.sort_indices(ids))

    def _measure_lists(self) -> tuple[int, list[Message]]:
        """Return the length of the longest list, and notes on lists that are cut or have ties."""
        keep = self._options.keep
        width, n_cut = self._tables.execute(
            "SELECT max(n), count(*) FILTER (n > ?) FROM "
            "(SELECT count(DISTINCT i) AS n FROM items WHERE i >= 0 GROUP BY r, e)",
            [keep],
        ).fetchall()[0]
        width = max(1, width or 0)
        if self._roles.order is None:
            return width, []
        (n_tied,) = self._tables.execute(
            "SELECT count(DISTINCT (r, e)) FROM (SELECT r, e FROM items WHERE i >= 0 "
            "GROUP BY r, e, k HAVING count(*) > 1)"
        ).fetchall()[0]
        return min(width, keep), notes_on_lists(n_cut=n_cut, n_tied=n_tied, keep=keep)

    def _extras(self, ids: pa.Array) -> tuple[pa.Table, list[str]]:
        """Return columns with one value per example, in the order of the ids, and other names."""
        kept, dropped = {}, []
        for index, name in enumerate(self._roles.extras):
            value = f"x{index}"
            query = (
                f"SELECT e, any_value({value}) AS x, count(DISTINCT {value}) + "
                f"CAST(count({value}) < count(*) AS INT) AS n FROM facts GROUP BY e"
            )
            rows = self._tables.sql(query).to_arrow_table()
            if (to_numpy(rows.column("n")) > 1).any():
                dropped.append(name)
                continue
            places = pc.index_in(ids.cast(pa.string()), rows.column("e").combine_chunks())
            kept[name] = rows.column("x").combine_chunks().take(places)
        return pa.table(kept), dropped

    def _sorted(self, repeats: dict[str, Repeat], ids: pa.Array) -> Iterator[pa.Table]:
        """Yield rows by run and example, in the order of the runs: r, e, i and k."""
        rank = {name: index for index, name in enumerate(repeats)}
        order = pa.table(
            {
                "r": to_arrow(np.arange(len(self._runs.names), dtype=np.int32)),
                "rank": to_arrow(np.array([rank[x] for x in self._runs.names], dtype=np.int32)),
            }
        )
        places = pa.table({"e": ids.cast(pa.string()), "place": to_arrow(np.arange(len(ids)))})
        self._tables.register("run_order", order)
        self._tables.register("places", places)
        query = (
            "SELECT rank AS r, place AS e, i, k FROM items JOIN run_order USING (r) "
            "JOIN places USING (e) ORDER BY rank, place"
        )
        with self._tables.sql(query).to_arrow_reader(BATCH_ROWS) as reader:
            for batch in reader:
                yield pa.Table.from_batches([batch])


@dataclass
class _Lists:
    """Lists of runs and examples, from rows in the order of both."""

    rows: Iterator[pa.Table]
    codes: IntArray  # place of each item by its number, NO_ITEM last
    names: Sequence[str]
    ids: pa.Array
    runs: Sequence[str]
    is_ranked: bool
    keep: int

    def __iter__(self) -> Iterator[tuple[int, IntArray, IntArray]]:
        """Yield a run, some of its examples in order, and the items of each."""
        waiting: pa.Table | None = None
        for batch in self.rows:
            table = batch if waiting is None else pa.concat_tables([waiting, batch])
            run_of, example_of = to_numpy(table.column("r")), to_numpy(table.column("e"))
            # The last example may go on in the next batch.
            is_last = (run_of == run_of[-1]) & (example_of == example_of[-1])
            n_whole = int(np.flatnonzero(is_last)[0])
            yield from self._by_run(table[:n_whole])
            waiting = table[n_whole:]
        if waiting is not None:
            yield from self._by_run(waiting)

    def _by_run(self, table: pa.Table) -> Iterator[tuple[int, IntArray, IntArray]]:
        run_of = to_numpy(table.column("r"))
        for run in np.unique(run_of).tolist():
            rows = table.filter(to_arrow(run_of == run))
            examples, group_of = np.unique(to_numpy(rows.column("e")), return_inverse=True)
            item_of = self.codes[to_numpy(rows.column("i"))]
            is_item = item_of != NO_ITEM
            order = to_numpy(rows.column("k"))[is_item]
            group_of, item_of = group_of[is_item], item_of[is_item]
            if self.is_ranked:
                self._check(run, examples, group_of, item_of)
                items = gathered(group_of, item_of, len(examples), order=order, at_most=self.keep)
            else:
                first = distinct(group_of, item_of)
                items = gathered(group_of[first], item_of[first], len(examples))
            yield run, examples, items

    def _check(self, run: int, examples: IntArray, group_of: IntArray, item_of: IntArray) -> None:
        def where(group: int) -> Message:
            return named_example(self.runs[run], self.ids[int(examples[group])].as_py())

        check_distinct(group_of, item_of, self.names, where)


class _RunsWriter:
    """Writes lists as the runs of a store, one after the other."""

    def __init__(
        self,
        store: Location,
        layout: Layout,
        runs: Sequence[RunManifest],
        *,
        relevance: Relevance,
        extras: pa.Table,
        ids: pa.Array,
    ) -> None:
        self._store, self._layout, self._runs = store, layout, runs
        self._relevance, self._extras, self._ids = relevance, extras, ids

    def write(self, lists: _Lists, *, fills: bool) -> BoolArray:
        """Write all runs; return which examples each of them has, (runs, examples).

        With `fills`, examples that a run lacks have an empty set.
        """
        is_there = np.zeros((len(self._runs), len(self._ids)), dtype=np.bool_)
        for run, of_run in groupby(lists, key=itemgetter(0)):
            # Facts about examples are kept once, with the first run.
            layout = self._layout if run == 0 else replace(self._layout, extras=())
            n_written = 0
            with RunWriter(
                self._store,
                self._runs[run],
                layout,
                rows_per_group=layout.rows_per_group,
                split=SPLIT,
            ) as writer:
                for _, examples, items in of_run:
                    is_there[run, examples] = True
                    if fills:
                        until = int(examples[-1]) + 1
                        whole = np.arange(n_written, until)
                        filled = np.full((len(whole), items.shape[1]), NO_ITEM)
                        filled[examples - n_written] = items
                        examples, items, n_written = whole, filled, until  # noqa: PLW2901 - with gaps filled
                    self._write(writer, examples, items, has_extras=run == 0)
                rest = np.arange(n_written, len(self._ids) if fills else n_written)
                self._write(writer, rest, np.full((len(rest), 1), NO_ITEM), has_extras=run == 0)
        return np.ones_like(is_there) if fills else is_there

    def _write(
        self, writer: RunWriter, examples: IntArray, items: IntArray, *, has_extras: bool
    ) -> None:
        chosen = to_arrow(examples)
        extras = [column.take(chosen) for column in self._extras.columns] if has_extras else []
        writer.write(self._ids.take(chosen), self._relevance.rows(examples), items, extras)


def _as_text(column: pa.ChunkedArray) -> pa.ChunkedArray:
    """Return a column as text; lists differ between rows, so that they are left out later."""
    if pa.types.is_nested(column.type):
        return pa.chunked_array([texts_to_arrow([str(cell) for cell in column.to_pylist()])])
    return column.cast(pa.string())
