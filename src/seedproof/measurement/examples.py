"""The table with one row an example: a Parquet file, or a folder with one for each shard."""

from collections.abc import Iterator, Sequence

import pyarrow as pa
import pyarrow.parquet as pq

from seedproof.records.location import Location


def example_files(place: Location) -> list[Location]:
    """The files of a table of examples, in the order of their ids.

    Args:
        place: The file, or the folder.

    Returns:
        At least one file.
    """
    return [place] if place.is_file() else place.files_inside()


def read_examples(place: Location, columns: Sequence[str] | None = None) -> pa.Table:
    """The whole table.

    Args:
        place: The file, or the folder.
        columns: Which columns; all without them.

    Returns:
        One row an example.
    """
    found = [
        pq.read_table(file.path, filesystem=file.files, columns=columns)
        for file in example_files(place)
    ]
    return pa.concat_tables(found)


def example_batches(
    place: Location, columns: Sequence[str] | None = None
) -> Iterator[pa.RecordBatch]:
    """The table in pieces, of which one is in memory at a time.

    Args:
        place: The file, or the folder.
        columns: Which columns, as far as the table has them; all without them.

    Yields:
        Rows, in the order of their ids.
    """
    for one in example_files(place):
        with one.files.open_input_file(one.path) as opened, pq.ParquetFile(opened) as file:
            has = file.schema_arrow.names
            names = None if columns is None else [name for name in columns if name in has]
            yield from file.iter_batches(columns=names)
