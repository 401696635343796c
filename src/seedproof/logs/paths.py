"""Files of JSON lines whose values are inside objects and lists, named by paths.

A path has names with dots between, `[n]` for an item of a list, and one `[*]` for all of its items:
`item.uid`, `item.tags[0]`, `samples[*].ok`. Each item of that list becomes a row of its own: a
trial of its example.
"""

import re
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.json

from seedproof.errors import ColumnError
from seedproof.messages import Message
from seedproof.records.arrow import to_arrow, to_numpy
from seedproof.records.decoding import DecodingError, parse_json
from seedproof.records.table_rows import concatenated
from seedproof.records.text_files import reason_of, unpacked, unreadable

# Bytes that are parsed at a time, those of a block that one thread parses, and those of the first
# lines, which show the types.
CHUNK_BYTES, BLOCK_BYTES, SAMPLE_BYTES = 2**24, 2**20, 2**18
EACH = "*"
_STEP = re.compile(r"([^.\[\]]+)|\[(\d+|\*)\]")


def is_path(name: str) -> bool:
    """Return whether a name leads into objects or lists."""
    return "." in name or "[" in name


def read_paths(file: Path, names: Sequence[str], position: str) -> pa.Table:
    """Read values of a file, in bounded memory for everything else in it.

    Args:
        file: A file with one JSON object per line.
        names: Columns or paths; the table has a column of each name.
        position: Column for the position in the list of a path with `[*]`, from 1 on.

    Returns:
        A row per line, or per item of that list.

    Raises:
        ColumnError: No line has a value at a path, or two paths unfold different lists.
    """
    steps = {name: _steps(name) for name in names}
    lists = {tuple(x[: x.index(EACH)]) for x in steps.values() if EACH in x}
    if len(lists) > 1:
        raise ColumnError(
            "The paths {paths} unfold different lists. Name values in one list.",
            paths=tuple(name for name, path in steps.items() if EACH in path),
        )
    unfolded = next(iter(lists), None)
    chunks = [
        _unfolded(rows, steps, unfolded, position) for rows in _chunks(file, list(steps.values()))
    ]
    if not chunks:
        return pa.table({name: pa.nulls(0) for name in names})
    table = concatenated(chunks)
    for name in names:
        if pa.types.is_null(table.schema.field(name).type):
            first = next(_pieces(file))
            raise ColumnError(
                "{table} has no value at {path!r}. Its lines have: {listed}.",
                table=file.name,
                path=name,
                listed=", ".join(_paths_in(_parsed(file, first).schema)),
            )
    return table


def read_numbered(file: Path, name: str) -> pa.Table:
    """Read the texts and numbers of a file, with a further column for the number of the line."""
    table = read_paths(file, sorted(top_names(file)), "")
    return table.append_column(name, to_arrow(np.arange(1, len(table) + 1)))


def top_names(file: Path) -> set[str]:
    """Return the names of texts and numbers in the first line of a file."""
    with unpacked(file) as (stream, _):
        line = b""
        while b"\n" not in line and len(line) < CHUNK_BYTES:
            content = stream.read(BLOCK_BYTES)
            line += content
            if not content:
                break
    line = line.partition(b"\n")[0]
    try:
        first = parse_json(line, allow_nan=True)
    except DecodingError:
        return set()  # reported where the file is read
    values = first.items() if isinstance(first, dict) else ()
    return {name for name, value in values if not isinstance(value, dict | list)}


def _steps(path: str) -> list[str | int]:
    """Return the names, indices and `*` of a path."""
    steps: list[str | int] = []
    for name, index in _STEP.findall(path):
        steps.append(name or (EACH if index == EACH else int(index)))
    if steps.count(EACH) > 1:
        raise ColumnError("The path {path!r} has [*] more than once.", path=path)
    return steps


def _pieces(file: Path) -> Iterator[bytes]:
    """Yield the lines of a file, as many at a time as are parsed together."""
    with unpacked(file) as (stream, _):
        rest: list[bytes] = []
        while content := stream.read(CHUNK_BYTES):
            end = content.rfind(b"\n") + 1
            if end:
                lines = b"".join((*rest, memoryview(content)[:end]))
                if not lines.isspace():
                    yield lines
                rest = []
            rest.append(content[end:])
        lines = b"".join(rest)
        if lines and not lines.isspace():
            yield lines


def _chunks(file: Path, paths: Sequence[list[str | int]]) -> Iterator[pa.Table]:
    """Yield the values at paths as tables of bounded size.

    Values that no path leads to are not converted, once the types of the others are known.
    """
    schema: pa.Schema | None = None
    for index, lines in enumerate(_pieces(file)):
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
        yield rows


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
    rows: pa.Table,
    steps: dict[str, list[str | int]],
    unfolded: tuple[str | int, ...] | None,
    position: str,
) -> pa.Table:
    """Return the values of some lines, one row per item of the list if there is one."""
    if unfolded is None:
        return pa.table({name: _value(rows, path) for name, path in steps.items()})
    lists = _value(rows, list(unfolded))
    if pa.types.is_null(lists.type):
        return pa.table({name: pa.nulls(0) for name in (*steps, position)})
    items = pa.table({EACH: pc.list_flatten(lists)})
    parents = to_numpy(pc.list_parent_indices(lists))
    columns = {}
    for name, path in steps.items():
        if EACH in path:
            columns[name] = _value(items, [EACH, *path[len(unfolded) + 1 :]])
        else:
            columns[name] = _value(rows, path).take(to_arrow(parents))
    lengths = to_numpy(pc.list_value_length(lists).drop_null())
    before = np.cumsum(lengths) - lengths
    places = np.arange(1, lengths.sum() + 1) - np.repeat(before, lengths)
    return pa.table(columns | {position: to_arrow(places)})


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
