"""The arms of a store, to be compared."""

import os
from pathlib import Path
from tempfile import TemporaryDirectory

from seedproof.comparison.arms.compare import Side
from seedproof.comparison.sides import Reading, open_sides
from seedproof.records.columns import Columns

# No table is read here, so that nothing is sorted in it.
MEMORY = 10**9


def sides_of(store: str | os.PathLike[str], *, baseline: str | None, split: str) -> list[Side]:
    """The arms of a store that have at least two finished runs.

    Args:
        store: The store of a study with at least two such arms.
        baseline: The arm that comes first; without it, the first of the study does.
        split: Which split.

    Returns:
        The baseline, then the others in the order of the study.
    """
    with TemporaryDirectory(prefix="seedproof-") as working:
        reading = Reading(columns=Columns(), working=Path(working), memory=MEMORY, split=split)
        return open_sides([os.fspath(store)], baseline, reading)
