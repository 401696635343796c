"""A temporary folder that lives as long as a report."""

import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from tempfile import mkdtemp


@contextmanager
def scratch_folder() -> Iterator[Path]:
    """Yield a temporary folder; remove it only if the block fails."""
    folder = Path(mkdtemp(prefix="seedproof-"))
    try:
        yield folder
    except BaseException:
        shutil.rmtree(folder, ignore_errors=True)
        raise
