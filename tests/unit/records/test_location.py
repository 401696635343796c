"""Places on any filesystem."""

from pathlib import Path

import pyarrow.fs
import pytest

from seedproof.errors import NotFoundError, RunExistsError
from seedproof.records.location import Location
from seedproof.testing.errors import WithFields


@pytest.fixture
def remote(tmp_path):
    """A filesystem that is not this machine's own, as far as `Location` can tell."""
    files = pyarrow.fs.SubTreeFileSystem(str(tmp_path), pyarrow.fs.LocalFileSystem())
    return Location(files, "bucket")


def test_a_relative_path_is_made_absolute(tmp_path, monkeypatch):
    """A location means the same after the working directory changed."""
    monkeypatch.chdir(tmp_path)

    place = Location.of("store")

    assert place.path == (tmp_path / "store").as_posix()
    assert place.is_local
    assert str(place) == place.path


def test_a_file_url_is_local(tmp_path):
    """`file://` names the same place as the path."""
    place = Location.of(f"file://{tmp_path.as_posix()}/")

    assert place.path == tmp_path.as_posix()
    assert place.is_local


def test_paths_urls_and_locations_are_taken(tmp_path):
    """Whoever has a location keeps it."""
    place = Location.of(tmp_path)

    assert Location.of(place) is place
    assert Location.of(str(tmp_path)) == place


@pytest.mark.parametrize("url", ["nowhere://bucket/folder", "ftp://host/x"])
def test_an_unknown_kind_of_url_is_refused(url):
    """The address is shown."""
    with pytest.raises(NotFoundError, check=WithFields(location=url)):
        Location.of(url)


def test_going_down(tmp_path):
    """`/` and `name`, as with pathlib."""
    place = Location.of(tmp_path) / "runs" / "f00d"

    assert place.path == (tmp_path / "runs" / "f00d").as_posix()
    assert place.name == "f00d"


def test_files_and_folders_are_told_apart(tmp_path):
    """What is not there is neither."""
    (tmp_path / "file").write_bytes(b"abc")
    place = Location.of(tmp_path)

    assert place.is_folder()
    assert not place.is_file()
    assert (place / "file").is_file()
    assert not (place / "file").is_folder()
    assert not (place / "gone").is_file()
    assert not (place / "gone").is_folder()
    assert (place / "file").size() == 3


def test_folders_come_by_name(tmp_path):
    """Files between them are left out; a missing folder has none."""
    for name in ("b", "a", "10"):
        (tmp_path / name).mkdir()
    (tmp_path / "file").touch()

    place = Location.of(tmp_path)

    assert [folder.name for folder in place.folders()] == ["10", "a", "b"]
    assert (place / "gone").folders() == []


def test_bytes_from_somewhere_on(tmp_path):
    """A reader looks at a footer without reading the file."""
    (tmp_path / "file").write_bytes(b"0123456789")

    assert (Location.of(tmp_path) / "file").read_bytes(7) == b"789"


def test_writing_replaces(tmp_path):
    """`open_write` is for files that nobody reads yet."""
    place = Location.of(tmp_path) / "deep" / "file"
    Location.of(tmp_path / "deep").make_folder()

    for content in (b"first and longer", b"second"):
        with place.open_write() as file:
            file.write(content)

    assert place.read_bytes() == b"second"


def test_creating_makes_folders_and_leaves_nothing_else(tmp_path):
    """The draft is gone, and the file is complete."""
    (Location.of(tmp_path) / "new" / "run.json").create(b"{}")

    assert [path.name for path in (tmp_path / "new").iterdir()] == ["run.json"]
    assert (tmp_path / "new" / "run.json").read_bytes() == b"{}"


def test_creating_twice_is_refused_locally(tmp_path):
    """The first one stays, and no draft is left behind."""
    place = Location.of(tmp_path) / "run.json"
    place.create(b"first")

    with pytest.raises(RunExistsError, check=WithFields(path=place.path)):
        place.create(b"second")

    assert place.read_bytes() == b"first"
    assert [path.name for path in Path(tmp_path).iterdir()] == ["run.json"]


def test_the_last_writer_wins_elsewhere(remote):
    """Object stores have no exclusive creation."""
    remote.make_folder()
    place = remote / "run.json"
    assert not place.is_local

    place.create(b"first")
    place.create(b"second")

    assert place.read_bytes() == b"second"
