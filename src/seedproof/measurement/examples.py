"""The table with one row an example: a Parquet file, or a folder with one for each shard."""

import re
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack, contextmanager

import pyarrow as pa
import pyarrow.parquet as pq

from seedproof.errors import NotFoundError, OptionError
from seedproof.records.location import Location

# As `part_name` writes them: others call theirs `part-0.parquet`.
PART = re.compile(r"part-\d{6,}\.parquet")


def example_files(place: Location) -> list[Location]:
    """The files of a table of examples, in the order of their ids.

    None if there is no table.
    """
    return [place] if place.is_file() else place.files_inside()


def part_name(index: int) -> str:
    """What the file of one shard is called."""
    return f"part-{index:06}.parquet"


def clear_examples(place: Location) -> None:
    """Remove the table that an earlier pass left, so that two are never mixed."""
    is_one = place.is_file()
    found = [place] if is_one else place.files_inside()
    for file in found:
        if not (_has_examples(file) if is_one else PART.fullmatch(file.name)):
            raise OptionError(
                "{path} already exists and is not a table of examples. Give another folder.",
                path=file,
            )
    for file in found:
        file.files.delete_file(file.path)
    if place.is_folder():
        place.files.delete_dir(place.path)


def _has_examples(file: Location) -> bool:
    try:
        schema = pq.read_schema(file.path, filesystem=file.files)
    except (pa.ArrowException, OSError):
        return False
    return {"example", "flip_rate"} <= set(schema.names)


def read_examples(place: Location, columns: Sequence[str] | None = None) -> pa.Table:
    """The whole table."""
    files = example_files(place)
    if not files:
        raise NotFoundError(
            "{path} is gone: a report that is not saved takes its examples with it. Keep the "
            "report, or save it.",
            path=place,
        )
    return pa.concat_tables([read_parquet(file, columns) for file in files])


def read_parquet(file: Location, columns: Sequence[str] | None = None) -> pa.Table:
    """A file; `pq.read_table` would load pandas for it."""
    with file.files.open_input_file(file.path) as opened, pq.ParquetFile(opened) as content:
        return content.read(columns)


def example_batches(
    place: Location, columns: Sequence[str] | None = None
) -> Iterator[pa.RecordBatch]:
    """The table in pieces, of which one is in memory at a time."""
    for one in example_files(place):
        with one.files.open_input_file(one.path) as opened, pq.ParquetFile(opened) as file:
            has = file.schema_arrow.names
            names = None if columns is None else [name for name in columns if name in has]
            yield from file.iter_batches(columns=names)


@contextmanager
def written_examples(file: Location) -> Iterator[Callable[[pa.Table], None]]:
    """Yield what writes tables of examples to a file, one after another."""
    with ExitStack() as stack:
        stream = stack.enter_context(file.open_write())
        writers: list[pq.ParquetWriter] = []  # one, which knows the columns of the first table

        def write(rows: pa.Table) -> None:
            if not writers:
                writer = pq.ParquetWriter(stream, rows.schema, compression="zstd")
                writers.append(stack.enter_context(writer))
            writers[0].write_table(rows)

        yield write
