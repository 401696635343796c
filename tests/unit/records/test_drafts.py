"""Temporary folders are removed with what uses them, and those of killed processes by the next."""

import os
import subprocess
import sys
import tempfile
from pathlib import Path
from unittest.mock import Mock

import pytest

from seedproof.errors import LockError
from seedproof.records import drafts
from seedproof.records.drafts import (
    DRAFT,
    SCRATCH,
    TemporaryFolder,
    make_temporary_folder,
    remove_abandoned,
    remove_temporary_folder,
    temporary_folder,
)
from seedproof.records.locks import acquire

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


def test_draft_of_a_process_that_was_killed_before_its_lock_is_removed(tmp_path):
    """One that cannot be locked has a file, and is never taken for such a draft."""
    empty, unlocked = (tmp_path / f".seedproof-{digit * 32}" for digit in "01")
    empty.mkdir()
    unlocked.mkdir()
    (unlocked / "unlocked").touch()

    remove_abandoned(tmp_path, DRAFT)

    assert list(tmp_path.iterdir()) == [unlocked]


def test_draft_that_another_process_removed_before_its_lock_is_made_again(tmp_path, monkeypatch):
    def take_away(path, **options):
        path.parent.rmdir()
        return acquire(path, **options)

    monkeypatch.setattr(drafts, "acquire", take_away)

    with drafts.draft_in(tmp_path) as draft:
        (draft / "file").touch()


def test_draft_without_a_lock_is_not_empty(tmp_path, monkeypatch):
    refusal = LockError("{path} cannot be locked.", path=str(tmp_path))
    monkeypatch.setattr(drafts, "acquire", Mock(side_effect=refusal))

    with drafts.draft_in(tmp_path) as draft:
        remove_abandoned(tmp_path, DRAFT)
        (draft / "file").touch()

    assert list(tmp_path.iterdir()) == []


@pytest.mark.skipif(not hasattr(os, "fork"), reason="no fork")
def test_forked_process_leaves_the_folder_of_its_parent(scratch):
    subprocess.run([sys.executable, "-c", FORK], check=True)

    assert list(scratch.iterdir()) == []
