"""Temporary folders are removed with what uses them, and those of killed processes by the next."""

import os
import subprocess
import sys
import tempfile
from pathlib import Path

import pytest

from seedproof.records.drafts import (
    SCRATCH,
    TemporaryFolder,
    make_temporary_folder,
    remove_abandoned,
    remove_temporary_folder,
    temporary_folder,
)

DIE = """
import os
from seedproof.records.drafts import make_temporary_folder
(make_temporary_folder() / "spill").write_text("rows")
os._exit(1)
"""
FORK = """
import gc, os
from seedproof.records.drafts import TemporaryFolder, temporary_folder
folder = TemporaryFolder()
if os.fork() == 0:
    with temporary_folder() as other:
        assert other.parent != folder.path.parent
    del folder
    gc.collect()
    os._exit(0)
os.wait()
assert folder.path.is_dir()
"""


@pytest.fixture
def scratch(tmp_path, monkeypatch):
    """The folder for temporary files."""
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    monkeypatch.setenv("TMPDIR", str(tmp_path))
    return tmp_path


def test_folder_ends_with_its_object(scratch):
    first, second = TemporaryFolder(), TemporaryFolder()
    assert first.path.parent == second.path.parent
    del first
    assert second.path.is_dir()
    del second

    assert list(scratch.iterdir()) == []


def test_folder_ends_with_its_block(scratch):
    with temporary_folder() as folder:
        assert folder.is_dir()

    assert list(scratch.iterdir()) == []


def test_folder_of_a_killed_process_is_removed_and_of_a_live_one_is_not(scratch):
    live = make_temporary_folder()
    subprocess.run([sys.executable, "-c", DIE], check=False)
    assert len(list(scratch.iterdir())) == 2

    subprocess.run(
        [sys.executable, "-c", "from seedproof.records.drafts import *; TemporaryFolder()"],
        check=True,
    )

    assert list(scratch.iterdir()) == [live.parent]
    remove_temporary_folder(live)
    assert list(scratch.iterdir()) == []


def test_folders_of_others_are_never_removed(scratch):
    """Not even if their names match, and not through links."""
    for name in ("seedproof-12345678", "seedproof-mine", "other"):
        (scratch / name).mkdir()
        os.utime(scratch / name, (0, 0))
    (scratch / "data").mkdir()
    (scratch / "data" / "claim").touch()
    (scratch / "seedproof-abcdefgh").symlink_to(scratch / "data")

    remove_abandoned(scratch, SCRATCH)

    assert len(list(scratch.iterdir())) == 5
    assert Path(scratch / "data" / "claim").is_file()


@pytest.mark.skipif(not hasattr(os, "fork"), reason="no fork")
def test_forked_process_leaves_the_folder_of_its_parent(scratch):
    subprocess.run([sys.executable, "-c", FORK], check=True)

    assert list(scratch.iterdir()) == []
