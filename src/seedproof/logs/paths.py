"""Files of JSON lines whose values are inside objects and lists, named by paths.

A path has names with dots between, `[n]` for an item of a list, and one `[*]` for all of its items:
`item.uid`, `item.tags[0]`, `samples[*].ok`. Each item of that list becomes a row of its own: a
trial of its example.
"""

import re
from codecs import BOM_UTF8
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.json

from seedproof.errors import ColumnError, MissingValueError, UnreadableError
from seedproof.messages import Message
from seedproof.records.arrow import to_arrow, to_numpy
from seedproof.records.decoding import DecodingError, parse_log
from seedproof.records.table_rows import concatenated
from seedproof.records.text_files import reason_of, unpacked, unreadable
from seedproof.typing import IntArray

# Bytes that are parsed at a time, those of a block that one thread parses, and those of the first
# lines, which show the types.
CHUNK_BYTES, BLOCK_BYTES, SAMPLE_BYTES = 2**24, 2**20, 2**18
EACH = "*"
# Names, and indices of up to nine digits.
_STEP = re.compile(r"([^.\[\]]+)|\[([0-9]{1,9}|\*)\]")
_PATH = re.compile(rf"(?:{_STEP.pattern})(?:\.[^.\[\]]+|\[(?:[0-9]{{1,9}}|\*)\])*")
# Numbers of lines that a message shows.
MOST_LINES = 5


class PathRows(NamedTuple):
    """The values of a file, and notes on lines that have none."""

    table: pa.Table
    notes: list[Message]


class _Lines(NamedTuple):
    """Some lines of a file, and how many are before them."""

    content: bytes
    n_before: int

    def numbers(self, rows: Sequence[int]) -> list[int]:
        """Return the number in the file of the line of each row; blank lines are no rows."""
        lines = self.content.split(b"\n")
        of_rows = [number for number, line in enumerate(lines, 1) if line.strip()]
        return [self.n_before + of_rows[row] for row in rows]


def is_path(name: str) -> bool:
    """Return whether a name leads into objects or lists."""
    return "." in name or "[" in name


def read_paths(
    file: Path, names: Sequence[str], position: str, *, may_lack: bool = False
) -> PathRows:
    """Read values of a file, in bounded memory for everything else in it.

    Args:
        file: A file with one JSON object per line.
        names: Columns or paths; the table has a column of each name.
        position: Column for the position in the list of a path with `[*]`, from 1 on.
        may_lack: Whether lines without an item in that list are left out, with a note.

    Returns:
        A row per line, or per item of that list.

    Raises:
        ColumnError: No line has a value at a path, or two paths unfold different lists.
        MissingValueError: A line has no item in the list that is unfolded.
    """
    steps = {name: _steps(name) for name in names}
    lists = {tuple(x[: x.index(EACH)]) for x in steps.values() if EACH in x}
    if len(lists) > 1:
        raise ColumnError(
            "The paths {paths} unfold different lists. Name values in one list.",
            paths=tuple(name for name, path in steps.items() if EACH in path),
        )
    unfolded = next(iter(lists), None)
    tables: list[pa.Table] = []
    n_lines, n_empty, first_empty = 0, 0, list[int]()
    for lines, rows in _chunks(file, list(steps.values())):
        table, empty = _unfolded(file, rows, steps, unfolded, position)
        tables.append(table)
        n_lines += len(rows)
        n_empty += len(empty)
        first_empty += lines.numbers(empty[: MOST_LINES - len(first_empty)].tolist())
    if not tables:
        return PathRows(pa.table({name: pa.nulls(0) for name in names}), [])
    table = concatenated(tables)
    for name in names:
        if pa.types.is_null(table.schema.field(name).type):
            first = next(_pieces(file)).content
            raise ColumnError(
                "{table} has no value at {path!r}. Its lines have: {listed}.",
                table=file.name,
                path=name,
                listed=", ".join(_paths_in(_parsed(file, first).schema)),
            )
    if not n_empty:
        return PathRows(table, [])
    path = next(name for name, path in steps.items() if EACH in path)
    lacking = _lacking(file, path.partition(f"[{EACH}]")[0], n_empty, n_lines, first_empty)
    if not may_lack:
        raise MissingValueError(
            "{lacking}. Fill it in, or pass --common-examples, or common_examples=True, to leave "
            "such lines out.",
            lacking=lacking,
            **lacking.fields,
        )
    note = Message("lists-empty", "Left out: {lacking}.", lacking=lacking, **lacking.fields)
    return PathRows(table, [note])


def _lacking(file: Path, path: str, n_empty: int, n_lines: int, first: list[int]) -> Message:
    """Return which lines have no item in a list."""
    ellipsis = ", …" * (n_empty > len(first))
    return Message(
        "lines-without-items",
        "{n_empty:,} of {n_lines:,} lines of {table} have an empty list at {path!r}, null, or "
        "nothing: lines {listed}",
        table=file.name,
        path=path,
        n_empty=n_empty,
        n_lines=n_lines,
        listed=", ".join(map(str, first)) + ellipsis,
        lines=tuple(first),
    )


def read_numbered(file: Path, name: str) -> pa.Table:
    """Read the texts and numbers of a file, with a further column for the number of the line."""
    table = read_paths(file, sorted(top_names(file)), "").table
    return table.append_column(name, to_arrow(np.arange(1, len(table) + 1)))


def top_names(file: Path) -> set[str]:
    """Return the names of texts and numbers in the first line of a file."""
    with unpacked(file) as (stream, _):
        line = b""
        while b"\n" not in line and len(line) < CHUNK_BYTES:
            content = stream.read(BLOCK_BYTES)
            line = (line + content).lstrip()
            if not content:
                break
    line = line.removeprefix(BOM_UTF8).partition(b"\n")[0]
    try:
        first = parse_log(line)
    except DecodingError:
        return set()  # reported where the file is read
    values = first.items() if isinstance(first, dict) else ()
    return {name for name, value in values if not isinstance(value, dict | list)}


def _steps(path: str) -> list[str | int]:
    """Return the names, indices and `*` of a path."""
    steps: list[str | int] = []
    parts = _STEP.findall(path)
    # A line is an object, so that a path begins with a name.
    if _PATH.fullmatch(path) is None or not parts[0][0] or (EACH, "") in parts:
        raise ColumnError(
            "{path!r} is not a path. Write names with dots between, [0] for an item of a list, "
            "and [*] for all of its items, such as samples[*].ok.",
            path=path,
        )
    for name, index in parts:
        steps.append(name or (EACH if index == EACH else int(index)))
    if steps.count(EACH) > 1:
        raise ColumnError("The path {path!r} has [*] more than once.", path=path)
    return steps


def _pieces(file: Path) -> Iterator[_Lines]:
    """Yield the lines of a file, as many at a time as are parsed together."""
    n_before = 0
    with unpacked(file) as (stream, _):
        rest: list[bytes] = []
        while content := stream.read(CHUNK_BYTES):
            if not n_before and not rest:
                content = content.removeprefix(BOM_UTF8)
            end = content.rfind(b"\n") + 1
            if end:
                lines = b"".join((*rest, memoryview(content)[:end]))
                if not lines.isspace():
                    yield _Lines(lines, n_before)
                n_before += lines.count(b"\n")
                rest = []
            rest.append(content[end:])
        lines = b"".join(rest)
        if lines and not lines.isspace():
            yield _Lines(lines, n_before)


def _chunks(file: Path, paths: Sequence[list[str | int]]) -> Iterator[tuple[_Lines, pa.Table]]:
    """Yield the values at paths as tables of bounded size.

    Values that no path leads to are not converted, once the types of the others are known.
    """
    schema: pa.Schema | None = None
    for index, piece in enumerate(_pieces(file)):
        lines = piece.content
        _check_lines(file, piece)
        if index == 0:
            schema = _needed(_parsed(file, _sample(lines)).schema, paths)
        rows = None if schema is None else _parsed_as(schema, lines)
        if rows is None:  # other types than before, or no values so far
            rows = _parsed(file, lines)
            schema = _needed(rows.schema, paths)
        n_lines = _count_lines(lines, len(rows))
        if len(rows) != n_lines:
            raise unreadable(
                (file.name,),
                Message(
                    "rows-lost",
                    "{n_rows:,} rows were counted, and {n_read:,} were read",
                    n_rows=n_lines,
                    n_read=len(rows),
                ),
            )
        yield piece, rows


def _check_lines(file: Path, lines: _Lines) -> None:
    """Refuse texts that are not UTF-8: the parser takes them, and fails where one is used.

    Lines at which the parser ends the process are refused where rows are counted.
    """
    try:
        lines.content.decode()
    except UnicodeDecodeError as error:
        raise UnreadableError(
            "{file} cannot be read: line {line} is wrong: {reason}.",
            file=file.name,
            line=lines.n_before + lines.content.count(b"\n", 0, error.start) + 1,
            reason="not UTF-8",
        ) from error


def _sample(lines: bytes) -> bytes:
    """Return the first of some lines."""
    end = lines.find(b"\n", SAMPLE_BYTES)
    return lines if end < 0 else lines[: end + 1]


def _parsed(file: Path, lines: bytes) -> pa.Table:
    """Return all values of some lines."""
    try:
        return pyarrow.json.read_json(pa.BufferReader(lines), _blocks(lines))
    except pa.ArrowException as error:
        raise unreadable((file.name,), reason_of(error)) from error


def _parsed_as(schema: pa.Schema, lines: bytes) -> pa.Table | None:
    """Return the values of a schema in some lines; None if their types differ."""
    options = pyarrow.json.ParseOptions(explicit_schema=schema, unexpected_field_behavior="ignore")
    try:
        return pyarrow.json.read_json(pa.BufferReader(lines), _blocks(lines), options)
    except pa.ArrowException:
        return None


def _blocks(lines: bytes) -> pyarrow.json.ReadOptions:
    """Return options whose blocks hold the longest line."""
    half = BLOCK_BYTES // 2
    starts = range(0, len(lines) - half, half)
    # A line that is longer than a block has a half without a line end.
    if all(lines.find(b"\n", start, start + half) >= 0 for start in starts):
        return pyarrow.json.ReadOptions(block_size=BLOCK_BYTES)
    longest = max(map(len, lines.split(b"\n")))
    return pyarrow.json.ReadOptions(block_size=max(BLOCK_BYTES, 2 * longest))


def _count_lines(lines: bytes, expected: int) -> int:
    """Return the number of lines that are not blank; only their ends if that is as expected."""
    n_ends = lines.count(b"\n") + (not lines.endswith(b"\n"))
    if n_ends == expected:
        return n_ends
    return sum(not line.isspace() and line != b"" for line in lines.split(b"\n"))


def _needed(schema: pa.Schema, paths: Sequence[list[str | int]]) -> pa.Schema | None:
    """Return the part of a schema that paths lead to; None if one of them leads nowhere yet."""
    # A name may have dots in it.
    whole = [
        [name] if (name := ".".join(map(str, path))) in schema.names else path for path in paths
    ]
    kind = _part(pa.struct(list(schema)), whole)
    return None if kind is None else pa.schema(list(kind))


def _part(kind: pa.DataType, paths: Sequence[Sequence[str | int]]) -> pa.DataType | None:
    """Return a type with nothing but the values at paths; None if there are none."""
    if pa.types.is_list(kind):
        if not all(not path or path[0] == EACH or isinstance(path[0], int) for path in paths):
            return None
        item = _part(kind.value_type, [path[1:] for path in paths])
        return None if item is None else pa.list_(item)
    if pa.types.is_struct(kind):
        names = dict.fromkeys(str(path[0]) for path in paths if path)
        if not all(paths):  # the object itself is a value
            names = dict.fromkeys(field.name for field in kind)
        fields = []
        for name in names:
            index = kind.get_field_index(name)
            below = [path[1:] for path in paths if not path or str(path[0]) == name]
            field = None if index < 0 else _part(kind.field(index).type, below)
            if field is None:
                return None
            fields.append((name, field))
        return pa.struct(fields)
    if pa.types.is_null(kind) or any(paths):
        return None
    # A text that looks like a time is a text.
    return pa.string() if pa.types.is_timestamp(kind) else kind


def _unfolded(
    file: Path,
    rows: pa.Table,
    steps: dict[str, list[str | int]],
    unfolded: tuple[str | int, ...] | None,
    position: str,
) -> tuple[pa.Table, IntArray]:
    """Return the values of some lines, one row per item of the list if there is one.

    The second part has the lines without an item, by their index.
    """
    if unfolded is None:
        values = {name: _value(rows, path) for name, path in steps.items()}
        return pa.table(values), np.empty(0, dtype=np.int64)
    lists = _value(rows, list(unfolded))
    if pa.types.is_null(lists.type):
        nothing = pa.table({name: pa.nulls(0) for name in (*steps, position)})
        return nothing, np.arange(len(rows))
    if not pa.types.is_list(lists.type):
        raise ColumnError(
            "{table} has no list at {path!r}, but {kind}. Name it without [*].",
            table=file.name,
            path=".".join(map(str, unfolded)),
            kind=str(lists.type),
        )
    items = pa.table({EACH: pc.list_flatten(lists)})
    parents = to_numpy(pc.list_parent_indices(lists))
    columns = {}
    for name, path in steps.items():
        if EACH in path:
            columns[name] = _value(items, [EACH, *path[len(unfolded) + 1 :]])
        else:
            columns[name] = _value(rows, path).take(to_arrow(parents))
    lengths = to_numpy(pc.list_value_length(lists), missing=0)
    before = np.cumsum(lengths) - lengths
    places = np.arange(1, lengths.sum() + 1) - np.repeat(before, lengths)
    return pa.table(columns | {position: to_arrow(places)}), np.flatnonzero(lengths == 0)


def _value(rows: pa.Table, path: Sequence[str | int]) -> pa.Array:
    """Return the values at a path without `[*]`; null where there is none."""
    whole = ".".join(map(str, path))
    if whole in rows.column_names:  # a name with dots in it
        return rows.column(whole).combine_chunks()
    values: Any = None
    for step in path:
        if values is None:
            name = str(step)
            values = rows.column(name).combine_chunks() if name in rows.column_names else None
        elif isinstance(step, int) and pa.types.is_list(values.type):
            item = pc.list_slice(values, step, step + 1, return_fixed_size_list=True)
            values = pc.list_element(item, 0)
        elif pa.types.is_struct(values.type) and values.type.get_field_index(str(step)) >= 0:
            values = pc.struct_field(values, str(step))
        else:
            values = None
        if values is None:
            return pa.nulls(len(rows))
    return values


def _paths_in(schema: pa.Schema) -> Iterator[str]:
    """Yield the paths of all values."""

    def below(name: str, kind: pa.DataType) -> Iterator[str]:
        if pa.types.is_struct(kind):
            for field in kind:
                yield from below(f"{name}.{field.name}", field.type)
        elif pa.types.is_list(kind):
            yield from below(f"{name}[*]", kind.value_type)
        else:
            yield name

    for field in schema:
        yield from below(field.name, field.type)
