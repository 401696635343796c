"""A folder of results holds the old result or the new one, whole, whatever happens."""

import errno
import multiprocessing
import os
import re
import stat
from contextlib import suppress
from pathlib import Path
from urllib.parse import unquote

import pytest

import seedproof as sp
from seedproof.errors import OptionError
from seedproof.records import durability
from seedproof.report import files
from seedproof.report.files import check_folder, draft_next_to, result_folder, write_file
from seedproof.report.side_by_side import folder_name

RUNS = [[0, 1, 1, 0], [0, 1, 0, 0], [0, 1, 1, 0]]
FILES = {"report.html", "summary.json", "examples.parquet"}


def contents(folder):
    """Return the content of all files below a folder, hidden ones as well."""
    return {
        path.relative_to(folder).as_posix(): path.read_bytes()
        for path in folder.rglob("*")
        if path.is_file()
    }


def save(place, name, n_lines=1, own=()):
    """Write a result of two files that both say its name."""
    with result_folder(place, own=own) as draft:
        files.write_results(draft, {"a.json": name, "page.html": name * n_lines})


@pytest.fixture(params=["swapped", "moved"])
def way(request, monkeypatch):
    """Both ways to replace a folder."""
    if request.param == "moved":
        monkeypatch.setattr(durability, "exchange", lambda *_: False)
    return request.param


@pytest.mark.usefixtures("way")
def test_result_replaces_an_earlier_one_and_nothing_else(tmp_path):
    out = tmp_path / "out"
    (tmp_path / "out").mkdir(mode=0o750)
    (out / "notes.txt").write_text("mine")
    (out / "link").symlink_to("notes.txt")
    save(out, "old")
    (out / "stale").write_text("of the old result")

    save(out, "new", own=["stale"])

    assert contents(out) == {
        "a.json": b"new", "page.html": b"new", "notes.txt": b"mine", "link": b"mine"
    }  # fmt: skip
    assert (out / "link").is_symlink()
    assert stat.S_IMODE(out.stat().st_mode) == 0o750
    assert [path.name for path in tmp_path.iterdir()] == ["out"]


@pytest.mark.usefixtures("way")
def test_folders_of_others_stay(tmp_path):
    """They cannot be linked, so that files are moved one by one."""
    save(tmp_path / "out", "old")
    (tmp_path / "out" / "data").mkdir()
    (tmp_path / "out" / "data" / "rows.csv").write_text("1")

    save(tmp_path / "out", "new")

    assert contents(tmp_path) == {
        "out/a.json": b"new", "out/page.html": b"new", "out/data/rows.csv": b"1"
    }  # fmt: skip


def test_current_folder_stays_the_same_folder(tmp_path, monkeypatch):
    """A shell that stands in a swapped folder would be nowhere."""
    monkeypatch.chdir(tmp_path)
    save(".", "old")
    before = tmp_path.stat().st_ino

    save(".", "new")

    assert tmp_path.stat().st_ino == before
    assert contents(tmp_path) == {"a.json": b"new", "page.html": b"new"}


def test_links_to_files_are_replaced_and_not_followed(tmp_path):
    (tmp_path / "out").mkdir()
    (tmp_path / "secret").write_text("mine")
    (tmp_path / "out" / "a.json").symlink_to(tmp_path / "secret")

    save(tmp_path / "out", "new")

    assert (tmp_path / "secret").read_text() == "mine"
    assert not (tmp_path / "out" / "a.json").is_symlink()


def test_every_file_is_on_the_disk_before_it_has_its_name(tmp_path, monkeypatch):
    steps = []
    original, exchange = durability.sync, durability.exchange

    def sync(path):
        steps.append(re.sub("[0-9a-f]{32}", "draft", path.relative_to(tmp_path).as_posix()))
        original(path)

    monkeypatch.setattr(durability, "sync", sync)
    monkeypatch.setattr(
        durability, "exchange", lambda *paths: steps.append("exchange") or exchange(*paths)
    )
    save(tmp_path / "out", "old")
    assert steps[-1] == "."
    steps.clear()

    save(tmp_path / "out", "new")

    assert set(steps[:2]) == {
        ".seedproof-draft/new/a.json", ".seedproof-draft/new/page.html"
    }  # fmt: skip
    assert steps[-2:] == ["exchange", "."]


@pytest.mark.parametrize("number", range(12))
@pytest.mark.usefixtures("way")
def test_interrupt_at_any_step_leaves_a_whole_result(number, tmp_path, monkeypatch):
    """Also where files are moved one by one: those that were moved are moved back."""
    save(tmp_path / "out", "old")
    (tmp_path / "out" / "data").mkdir()
    left = iter([*[None] * number, KeyboardInterrupt])

    def interrupted(function):
        def call(*args, **options):
            error = next(left, None)
            if error is not None:
                raise error
            return function(*args, **options)

        return call

    for name in ("rename", "link"):
        monkeypatch.setattr(os, name, interrupted(getattr(os, name)))
    monkeypatch.setattr(Path, "rename", interrupted(Path.rename))
    monkeypatch.setattr(durability, "sync", interrupted(durability.sync))
    with suppress(KeyboardInterrupt):
        save(tmp_path / "out", "new")
    monkeypatch.undo()

    (name,) = set(contents(tmp_path).values())  # and nothing is left next to the folder
    assert name in {b"old", b"new"}
    assert contents(tmp_path).keys() == {"out/a.json", "out/page.html"}
    save(tmp_path / "out", "next")
    assert set(contents(tmp_path).values()) == {b"next"}


@pytest.mark.parametrize("number", [errno.ENOSPC, errno.EIO, errno.EDQUOT])
def test_failing_write_keeps_the_old_result_and_has_a_name(number, tmp_path, monkeypatch):
    save(tmp_path / "out", "old")

    def fails(_):
        raise OSError(number, os.strerror(number))

    monkeypatch.setattr(durability, "sync", fails)
    with pytest.raises(OptionError) as failure:
        save(tmp_path / "out", "new")
    monkeypatch.undo()

    assert failure.value.fields["folder"] == str(tmp_path / "out")
    assert failure.value.fields["reason"].fields["errno"] == number
    assert contents(tmp_path) == {"out/a.json": b"old", "out/page.html": b"old"}


def test_draft_of_a_killed_process_is_removed_by_the_next(tmp_path):
    """And that of a live one is not."""
    process = multiprocessing.get_context("spawn").Process(
        target=_die_with_a_draft, args=(tmp_path,)
    )
    process.start()
    process.join()
    (left,) = tmp_path.iterdir()
    assert left.name.startswith(".seedproof-")

    with draft_next_to(tmp_path / "out") as live:
        save(tmp_path / "out", "new")
        assert live.is_dir()

    assert contents(tmp_path) == {"out/a.json": b"new", "out/page.html": b"new"}


def _die_with_a_draft(folder):
    with draft_next_to(folder / "out") as draft:
        (draft / "half").write_text("a page")
        os._exit(1)


def test_two_writers_leave_one_whole_result(tmp_path):
    context = multiprocessing.get_context("spawn")
    names = ["first", "second", "third"]
    writers = [context.Process(target=_save_often, args=(tmp_path / "out", name)) for name in names]
    for writer in writers:
        writer.start()
    seen = set()
    while any(writer.is_alive() for writer in writers):
        try:
            handle = os.open(tmp_path / "out", os.O_RDONLY)
        except FileNotFoundError:
            continue
        try:  # what is open is one result: a swap opens another folder
            texts = [_read(handle, name) for name in ("page.html", "a.json")]
        except FileNotFoundError:  # removed meanwhile
            continue
        finally:
            os.close(handle)
        seen.add(tuple(texts))
    assert [writer.exitcode for writer in writers] == [0, 0, 0]

    assert {text for pair in seen for text in pair} <= {name.encode() for name in names}
    assert all(page == document for page, document in seen)
    assert len(set(contents(tmp_path).values())) == 1
    assert [path.name for path in tmp_path.iterdir()] == ["out"]


def _save_often(out, name):
    for _ in range(30):
        save(out, name)


def _read(folder, name):
    number = os.open(name, os.O_RDONLY, dir_fd=folder)
    try:
        return os.read(number, 100)
    finally:
        os.close(number)


def test_damaged_results_are_replaced(tmp_path):
    """A process that was killed may have left them, with an earlier version."""
    report = sp.measure(RUNS)
    report.save(tmp_path / "out")
    table = (tmp_path / "out" / "examples.parquet").read_bytes()
    for damaged in (b"", table[:100], table[:-50]):
        (tmp_path / "out" / "examples.parquet").write_bytes(damaged)
        (tmp_path / "out" / "report.html").write_text("<html>")

        report.save(tmp_path / "out")

        assert (tmp_path / "out" / "examples.parquet").read_bytes() == table


def test_table_of_others_is_never_replaced(tmp_path):
    out = tmp_path / "out"
    out.mkdir()
    (out / "examples.parquet").write_text("my notes")

    with pytest.raises(OptionError):
        sp.measure(RUNS).save(out)

    assert contents(tmp_path) == {"out/examples.parquet": b"my notes"}


def test_pairs_of_an_earlier_input_are_removed(tmp_path):
    sp.measure(RUNS).save(tmp_path / "out", pairs=True)
    assert (tmp_path / "out" / "pairs.parquet").is_file()
    sp.compare({"old": RUNS, "new": RUNS}).save(tmp_path / "out")  # other files, which stay

    sp.measure(RUNS[:2]).save(tmp_path / "out")

    assert contents(tmp_path / "out").keys() == {*FILES, "comparison.html", "comparison.json"}


def test_check_of_a_folder_leaves_nothing(tmp_path):
    check_folder(tmp_path / "deep" / "out")
    assert list((tmp_path / "deep").iterdir()) == []
    (tmp_path / "file").touch()
    with pytest.raises(OptionError):
        check_folder(tmp_path / "file")
    with pytest.raises(OptionError):
        check_folder(tmp_path / "file" / "out")


def test_file_is_replaced_as_a_whole(tmp_path):
    write_file(tmp_path / "gate.xml", b"old")
    (tmp_path / "gate.xml").chmod(0o640)
    (tmp_path / "latest.xml").symlink_to("gate.xml")

    write_file(tmp_path / "latest.xml", b"new")

    assert (tmp_path / "gate.xml").read_bytes() == b"new"
    assert (tmp_path / "latest.xml").is_symlink()
    assert stat.S_IMODE((tmp_path / "gate.xml").stat().st_mode) == 0o640
    assert {path.name for path in tmp_path.iterdir()} == {"gate.xml", "latest.xml"}


def test_failing_write_keeps_the_file(tmp_path, monkeypatch):
    write_file(tmp_path / "gate.xml", b"old")

    def fails(_):
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    monkeypatch.setattr(durability, "sync", fails)
    with pytest.raises(OSError, check=lambda error: error.errno == errno.ENOSPC):
        write_file(tmp_path / "gate.xml", b"new")

    assert contents(tmp_path) == {"gate.xml": b"old"}


@pytest.mark.skipif(not Path("/dev/null").is_char_device(), reason="no devices")
def test_devices_are_written_to():
    """`--markdown /dev/stdout` prints."""
    write_file("/dev/null", b"text")

    assert Path("/dev/null").is_char_device()


ARMS = [
    "",
    "(empty)",
    ".",
    "..",
    ".ema",
    "_.ema",
    "arms.html",
    "arms.json",
    "a/b",
    "a%2Fb",
    "é",
    "a b",
]


def test_arms_have_folders_of_their_own(tmp_path):
    """Whatever their names."""
    names = [folder_name(arm) for arm in ARMS]
    assert len(set(names)) == len(ARMS)
    assert [unquote(name) for name in names[1:]] == ARMS[1:]
    report = sp.measure(RUNS)

    sp.SideBySide(dict.fromkeys(ARMS, report)).save(tmp_path / "out")

    folders = {path.name for path in (tmp_path / "out").iterdir() if path.is_dir()}
    assert folders == set(names)
    assert all(
        {path.name for path in (tmp_path / "out" / name).iterdir()} == FILES for name in names
    )
