"""A temporary folder that lives as long as a report."""

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from seedproof.records.drafts import make_temporary_folder, remove_temporary_folder


@contextmanager
def scratch_folder() -> Iterator[Path]:
    """Yield a temporary folder; remove it only if the block fails."""
    folder = make_temporary_folder()
    try:
        yield folder
    except BaseException:
        remove_temporary_folder(folder)
        raise
