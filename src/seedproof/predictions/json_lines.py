"""Tables in JSON lines: values that paths lead to, and lines without ids."""

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from seedproof.logs.paths import EACH, PathRows, is_path, read_paths, top_names
from seedproof.predictions.table_columns import columns_of, further_columns
from seedproof.records.columns import ID, Columns
from seedproof.records.row_counts import LineCounter, count_rows
from seedproof.records.text_files import JSON_SUFFIXES, suffix_of
from seedproof.typing import ArrowStream

UNLIMITED = 2**62


def lack_ids(tables: Sequence[Path | ArrowStream], options: Mapping[str, Any]) -> bool:
    """Return whether tables are JSON lines with one run each, and without ids."""
    columns = columns_of(options)
    named = {"example", "run", "trial"} & columns.changed().keys()
    usual = {ID, *(getattr(Columns, role) for role in ("example", "run", "trial"))}
    return not named and all(
        isinstance(table, Path)
        and suffix_of(table)[0] in JSON_SUFFIXES
        and (present := top_names(table))
        and present.isdisjoint(usual)
        for table in tables
    )


def unfolded_lines(file: Path, options: Mapping[str, Any]) -> PathRows | None:
    """Return the columns of JSON lines that options name by paths, and those of usual names."""
    columns = columns_of(options)
    given = columns.changed()
    named = [*given.values(), *further_columns(options)]
    if suffix_of(file)[0] not in JSON_SUFFIXES or not any(map(is_path, named)):
        return None
    count_rows(file, LineCounter(), row_bytes=UNLIMITED)  # refuses what would crash the parser
    usual = [name for role, name in vars(Columns()).items() if role not in given]
    present = top_names(file)
    known = [name for name in (*usual, *([] if "example" in given else [ID])) if name in present]
    position = "position" if "trial" in given else columns.trial
    unfolds = any(EACH in name for name in named)
    names = [x for x in dict.fromkeys((*named, *known)) if not (unfolds and x == position)]
    return read_paths(file, names, position, may_lack=bool(options.get("common_examples")))
