"""Runs and tables of W&B on disk: what is there twice or damaged is named."""

import json
import os
import shutil
import struct
import zlib
from pathlib import Path

import pytest

import seedproof as sp
from seedproof.errors import ColumnError, DamagedStoreError, UnreadableError
from seedproof.logs.wandb import HEADER, read_logged_table, read_run
from seedproof.testing.errors import WithFields

RUNS = Path(__file__).parents[3] / "examples" / "logs" / "wandb"


def field(number, content):
    """Return a field of a message: a number, or bytes."""
    if isinstance(content, int):
        assert content < 128
        return bytes([*tag(number, 0), content])
    return bytes([*tag(number, 2), len(content)]) + content


def tag(number, kind):
    """Return the tag of a field."""
    value = number << 3 | kind
    return [value] if value < 128 else [value & 127 | 128, value >> 7]


def part(data, kind=1):
    """Return a part of a record as the log has it."""
    checksum = zlib.crc32(data, zlib.crc32(bytes([kind])))
    return struct.pack("<IHB", checksum, len(data), kind) + data


RUN = part(field(17, field(1, b"id") + field(8, b"seed-1")))
EXIT = part(field(18, field(1, 0)))


@pytest.fixture
def table(tmp_path):
    """Writes the file of a logged table."""

    def write(content):
        file = tmp_path / "predictions.table.json"
        file.write_text(json.dumps(content))
        return file

    return write


def test_two_columns_of_one_name_are_refused(table):
    file = table({"columns": ["id", "value", "value"], "data": [["a", 1, 2], ["b", 3, 4]]})

    with pytest.raises(ColumnError, check=WithFields(column="value", difference="differ")):
        read_logged_table(file)


@pytest.mark.parametrize(
    "content",
    [
        [],
        {"columns": ["a"]},
        {"columns": "ab", "data": ["cd", "ef"]},
        {"columns": ["a", "b"], "data": [[1]]},
        {"columns": ["a"], "data": [[1, 2]]},
        {"columns": ["a"], "data": [1]},
    ],
)
def test_what_is_no_table_is_refused(table, content):
    with pytest.raises(UnreadableError):
        read_logged_table(table(content))


def test_large_whole_numbers_are_texts(table):
    read = read_logged_table(table({"columns": ["id"], "data": [[2**70], [1]]}))

    assert read.column("id").to_pylist() == [str(2**70), "1"]


def test_end_of_a_killed_run_is_not_damage(tmp_path):
    file = tmp_path / "run-1.wandb"
    file.write_bytes(HEADER + RUN + EXIT[:-1])

    assert read_run(file).exit_code is None


@pytest.mark.parametrize("offset", [4, 5, 6])
def test_damage_before_the_end_is_refused(tmp_path, offset):
    """Size and kind of a part; a wrong size used to hide the rest of the block."""
    content = bytearray(HEADER + RUN + EXIT + EXIT * 4000)
    content[len(HEADER) + offset] ^= 0x80 if offset == 5 else 1
    file = tmp_path / "run-1.wandb"
    file.write_bytes(content)

    with pytest.raises(UnreadableError):
        read_run(file)


def test_record_after_an_unfinished_one_is_read(tmp_path):
    """The first part of a record that a killed process left."""
    file = tmp_path / "run-1.wandb"
    file.write_bytes(HEADER + part(b"\x00\x01", kind=2) + RUN + EXIT)

    run = read_run(file)

    assert (run.name, run.exit_code) == ("seed-1", 0)


def test_exit_without_a_number_is_success(tmp_path):
    """0 is not written; a field of another type is not a code."""
    for content in (b"", field(1, b"")):
        file = tmp_path / "run-1.wandb"
        file.write_bytes(HEADER + RUN + part(field(18, content)))
        assert read_run(file).exit_code == 0


def test_crashed_retry_does_not_replace_the_run_that_finished(tmp_path):
    """Whatever the times of the files are: a copy of a folder has others."""
    folder = tmp_path / "wandb"
    shutil.copytree(RUNS, folder)
    first = next(folder.glob("*ws6b4cb3"))
    retry = shutil.copytree(first, folder / "offline-run-20271116_095601-ws6b4cb3")
    file = next(retry.glob("*.wandb"))
    file.write_bytes(file.read_bytes()[:-10])
    os.utime(file, (4e9, 4e9))

    report = sp.measure(folder)

    assert len(report.measurement.runs) == 5
    (note,) = (n for n in report.measurement.notes if n.code == "log-chosen")
    assert note.fields["folder"] == first.name
    assert note.fields["others"] == (retry.name,)


def test_links_out_of_the_folder_are_refused(tmp_path):
    folder = tmp_path / "wandb"
    shutil.copytree(RUNS, folder)
    table = next(folder.rglob("*.table.json"))
    outside = tmp_path / "outside.json"
    table.rename(outside)
    table.symlink_to(outside)

    with pytest.raises(DamagedStoreError):
        sp.measure(folder)
