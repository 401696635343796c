"""Commits reach the disk in order; filesystems that cannot do it are used as they are."""

import errno
import os
from dataclasses import replace

import pytest

from seedproof.records import durability
from seedproof.records.durability import Syncs, make_folder, sync
from seedproof.records.location import Location
from support.power_failure import LateExecutor


@pytest.fixture
def synced(monkeypatch, tmp_path):
    """Return the list of what is forced to the disk, relative to the folder of the test."""
    paths = []
    original = durability.sync

    def noted(path):
        original(path)
        paths.append(path.relative_to(tmp_path).as_posix())

    monkeypatch.setattr(durability, "sync", noted)
    monkeypatch.setattr(durability, "ThreadPoolExecutor", LateExecutor)
    return paths


def test_commit_follows_the_files_and_folders_that_it_refers_to(tmp_path, synced):
    """Then the new file, and after the renaming its folder."""
    store = Location.of(tmp_path)
    run = store / "runs" / "f00d"
    part = run / "predictions" / "part-0"
    part.parent.make_folder()
    part.replace(b"rows")

    (run / "run.json").commit(b"{}", files=[part], root=store)

    draft = synced[-2]
    assert draft.startswith("runs/f00d/run.json.")
    assert synced == [
        "runs/f00d/predictions/part-0",
        "runs/f00d/predictions",
        "runs/f00d",
        "runs",
        ".",
        draft,
        "runs/f00d",
    ]


def test_temporary_stores_are_not_forced_to_the_disk(tmp_path, synced):
    """Nor are the folders and files below them."""
    store = replace(Location.of(tmp_path), is_durable=False)

    (store / "runs" / "run.json").commit(b"{}", root=store)

    assert (tmp_path / "runs" / "run.json").read_bytes() == b"{}"
    assert synced == []


def test_names_of_new_folders_are_forced_to_the_disk(tmp_path, synced):
    """Existing ones are not touched."""
    make_folder(tmp_path / "a" / "b")
    make_folder(tmp_path / "a" / "b")

    assert sorted(synced) == [".", "a"]


@pytest.mark.parametrize("kind", ["file", "folder"])
def test_filesystem_that_cannot_sync_is_used_as_it_is(tmp_path, monkeypatch, kind):
    """Some network filesystems refuse it."""
    path = tmp_path / "file" if kind == "file" else tmp_path
    (tmp_path / "file").touch()

    def refuse(_):
        raise OSError(errno.EINVAL, os.strerror(errno.EINVAL))

    monkeypatch.setattr(os, "fsync", refuse)

    sync(path)


def test_write_error_fails_the_commit(tmp_path, monkeypatch):
    """A damaged disk is not ignored, and no draft is left."""

    def fail(_):
        raise OSError(errno.EIO, os.strerror(errno.EIO))

    monkeypatch.setattr(os, "fsync", fail)

    with pytest.raises(OSError):
        (Location.of(tmp_path) / "run.json").commit(b"{}")

    assert list(tmp_path.iterdir()) == []


def test_commit_needs_no_hard_links(tmp_path, monkeypatch):
    """Some filesystems have none."""

    def refuse(*_, **__):
        raise OSError(errno.EPERM, os.strerror(errno.EPERM))

    monkeypatch.setattr(os, "link", refuse)

    (Location.of(tmp_path) / "run.json").commit(b"{}")

    assert [path.name for path in tmp_path.iterdir()] == ["run.json"]


def test_write_error_in_the_background_fails_the_block(tmp_path, monkeypatch):
    """Nothing may be committed after it."""

    def fail(_):
        raise OSError(errno.EIO, os.strerror(errno.EIO))

    monkeypatch.setattr(os, "fsync", fail)

    with pytest.raises(OSError), Syncs() as syncs:
        syncs.add([tmp_path])
