"""Places on any filesystem."""

import socket
from pathlib import Path

import pyarrow.fs
import pytest

from seedproof.errors import DamagedStoreError, NotFoundError, OptionError, RunExistsError
from seedproof.records.location import Location
from seedproof.testing.errors import WithFields


@pytest.fixture
def remote(tmp_path):
    """A filesystem that `Location` does not recognize as local."""
    files = pyarrow.fs.SubTreeFileSystem(str(tmp_path), pyarrow.fs.LocalFileSystem())
    return Location(files, "bucket")


def test_a_relative_path_is_made_absolute(tmp_path, monkeypatch):
    """A location means the same after the working directory changed."""
    monkeypatch.chdir(tmp_path)

    place = Location.of("store")

    assert place.path == (tmp_path / "store").as_posix()
    assert place.is_local
    assert str(place) == place.path


def test_paths_urls_and_locations_are_accepted(tmp_path):
    """`file://` names the same place as the path, and is local."""
    place = Location.of(tmp_path)

    assert Location.of(place) is place
    assert Location.of(str(tmp_path)) == place
    url = Location.of(f"file://{tmp_path.as_posix()}/")
    assert (url.path, url.is_local) == (place.path, True)


@pytest.mark.parametrize("url", ["nowhere://bucket/folder", "ftp://host/x"])
def test_an_unknown_kind_of_url_is_refused(url):
    """The address is shown."""
    with pytest.raises(NotFoundError, check=WithFields(location=url)):
        Location.of(url)


def test_a_url_of_fsspec_is_opened():
    """Files are written and read through it."""
    place = Location.of("memory://bucket/store")

    (place / "file").replace(b"content")

    assert not place.is_local
    assert (Location.of("memory://bucket/store") / "file").read_bytes() == b"content"


def test_a_filesystem_that_does_not_answer_is_refused(monkeypatch):
    """It accepts a connection, and never answers."""
    monkeypatch.setattr("seedproof.records.remote.ANSWER_SECONDS", 0.3)
    with socket.create_server(("127.0.0.1", 0)) as server:
        address = "{}:{}".format(*server.getsockname())
        url = f"gs://anonymous@bucket/x?scheme=http&endpoint_override={address}"

        with pytest.raises(NotFoundError, check=WithFields(location=url)):
            Location.of(url)


def test_files_and_folders_are_distinguished(tmp_path):
    """A missing path is neither; `/` and `name` work as in pathlib."""
    (tmp_path / "file").write_bytes(b"0123456789")
    place = Location.of(tmp_path)
    file = place / "file"

    assert (file.path, file.name) == ((tmp_path / "file").as_posix(), "file")
    assert [(p.is_file(), p.is_folder()) for p in (place, file, place / "missing")] == [
        (False, True), (True, False), (False, False),
    ]  # fmt: skip
    assert file.size() == 10
    assert file.read_bytes(7) == b"789"


def test_folders_are_sorted_by_name(tmp_path):
    """Without files; a missing folder has none."""
    for name in ("b", "a", "10"):
        (tmp_path / name).mkdir()
    (tmp_path / "file").touch()

    place = Location.of(tmp_path)

    assert [folder.name for folder in place.folders()] == ["10", "a", "b"]
    assert [file.name for file in place.files_inside()] == ["file"]
    assert (place / "missing").folders() == []


def test_open_write_replaces_a_file(tmp_path):
    """It is for files without readers."""
    place = Location.of(tmp_path) / "deep" / "file"
    Location.of(tmp_path / "deep").make_folder()

    for content in (b"first and longer", b"second"):
        with place.open_write() as file:
            file.write(content)

    assert place.read_bytes() == b"second"


def test_folder_below_a_file_is_refused(tmp_path):
    """The error has the path, and the reason as a code."""
    (tmp_path / "file").write_text("")
    place = tmp_path / "file" / "store"

    with pytest.raises(OptionError, check=WithFields(folder=str(place))) as caught:
        Location.of(place).make_folder()

    assert caught.value.fields["reason"].code == "file-in-path"


def test_creating_makes_folders_and_leaves_nothing_else(tmp_path):
    """The temporary file is deleted, and the file is complete."""
    (Location.of(tmp_path) / "new" / "run.json").commit(b"{}")

    assert [path.name for path in (tmp_path / "new").iterdir()] == ["run.json"]
    assert (tmp_path / "new" / "run.json").read_bytes() == b"{}"


def test_creating_twice_is_refused_locally(tmp_path):
    """The first file stays, and no temporary file is left."""
    place = Location.of(tmp_path) / "run.json"
    place.commit(b"first")

    with pytest.raises(RunExistsError, check=WithFields(path=place.path)):
        place.commit(b"second")

    assert place.read_bytes() == b"first"
    assert [path.name for path in Path(tmp_path).iterdir()] == ["run.json"]


def test_last_writer_wins_in_object_stores(remote):
    """Object stores have no exclusive creation."""
    remote.make_folder()
    place = remote / "run.json"
    assert not place.is_local

    place.commit(b"first")
    place.commit(b"second")

    assert place.read_bytes() == b"second"


def test_link_out_of_a_folder_is_neither_read_nor_written(tmp_path):
    outside, store = tmp_path / "outside", tmp_path / "store"
    outside.mkdir()
    (outside / "file").write_bytes(b"secret")
    store.mkdir()
    (store / "folder").symlink_to(outside)
    (store / "file").symlink_to(outside / "file")
    place = Location.of(store)

    for use in (
        (place / "file").read_bytes,
        (place / "folder" / "file").read_bytes,
        (place / "folder").folders,
        (place / "folder" / "new").make_folder,
        lambda: (place / "folder" / "new").commit(b""),
        lambda: (place / "folder" / "new").replace(b""),
        lambda: (place / "file").open_write().__enter__(),
    ):
        with pytest.raises(DamagedStoreError):
            use()
    assert [path.name for path in outside.iterdir()] == ["file"]
    assert (outside / "file").read_bytes() == b"secret"


def test_link_inside_a_folder_and_the_folder_itself_may_be_links(tmp_path):
    store = tmp_path / "store"
    store.mkdir()
    (store / "file").write_bytes(b"content")
    (store / "link").symlink_to("file")
    (tmp_path / "linked").symlink_to(store)

    assert (Location.of(tmp_path / "linked") / "link").read_bytes() == b"content"


def test_drafts_of_a_file_are_removed_and_nothing_else(tmp_path):
    """As a killed process leaves them."""
    kept = {"trials.json", "trials.json.bak", f"other.json.{'a' * 32}"}
    for name in (*kept, f"trials.json.{'a' * 32}"):
        (tmp_path / name).write_text("{}")

    (Location.of(tmp_path) / "trials.json").remove_drafts()

    assert {path.name for path in tmp_path.iterdir()} == kept
