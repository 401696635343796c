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
from seedproof.records.arrow import to_arrow, to_numpy
from seedproof.records.decoding import DecodingError, parse_json
from seedproof.records.table_rows import concatenated
from seedproof.records.text_files import reason_of, unpacked, unreadable

# Bytes that are parsed at a time, and those of a block that one thread parses.
CHUNK_BYTES, BLOCK_BYTES = 2**26, 2**20
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
    chunks = [_unfolded(rows, steps, unfolded, position) for rows in _chunks(file)]
    if not chunks:
        return pa.table({name: pa.nulls(0) for name in names})
    table = concatenated(chunks)
    for name in names:
        if pa.types.is_null(table.schema.field(name).type):
            first = next(_chunks(file))
            raise ColumnError(
                "{table} has no value at {path!r}. Its lines have: {listed}.",
                table=file.name,
                path=name,
                listed=", ".join(_paths_in(first.schema)),
            )
    return table


def read_numbered(file: Path, name: str) -> pa.Table:
    """Read the texts and numbers of a file, with a further column for the number of the line."""
    table = read_paths(file, sorted(top_names(file)), "")
    return table.append_column(name, to_arrow(np.arange(1, len(table) + 1)))


def top_names(file: Path) -> set[str]:
    """Return the names of texts and numbers in the first line of a file."""
    with unpacked(file) as (stream, _):
        line = stream.read(CHUNK_BYTES).partition(b"\n")[0]
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


def _chunks(file: Path) -> Iterator[pa.Table]:
    """Yield the lines of a file as tables of bounded size."""
    options = pyarrow.json.ReadOptions(block_size=BLOCK_BYTES)
    with unpacked(file) as (stream, _):
        rest = b""
        while True:
            content = stream.read(CHUNK_BYTES)
            lines, end, rest = (rest + content).rpartition(b"\n") if content else (rest, b"", b"")
            if lines.strip():
                try:
                    yield pyarrow.json.read_json(
                        pa.BufferReader(lines + end), _fitting(options, lines)
                    )
                except pa.ArrowException as error:
                    raise unreadable((file.name,), reason_of(error)) from error
            if not content:
                return


def _fitting(options: pyarrow.json.ReadOptions, lines: bytes) -> pyarrow.json.ReadOptions:
    """Return options whose blocks hold the longest line."""
    longest = max(map(len, lines.split(b"\n")), default=0)
    if longest < options.block_size:
        return options
    return pyarrow.json.ReadOptions(block_size=2 * longest)


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
    places = np.concatenate([np.arange(1, n + 1) for n in lengths] or [np.arange(0)])
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
