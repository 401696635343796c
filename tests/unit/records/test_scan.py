"""Inputs before their rows are read: header, separator, run name, query."""

import gzip
import os
import subprocess
import sys
from pathlib import Path

import pytest

from seedproof.errors import DtypeError, EmptyInputError, UnreadableError
from seedproof.records.columns import Columns
from seedproof.records.roles import Roles
from seedproof.records.scan import Scan, quote_name, quote_text
from seedproof.records.text_files import check_readable, read_header, run_names, unpacked
from seedproof.testing.errors import WithFields


@pytest.fixture
def header(tmp_path):
    """Writes a file and reads its header."""

    def read(content: str | bytes, name: str = "t.csv") -> tuple[list[str], str]:
        path = tmp_path / name
        path.write_bytes(content.encode() if isinstance(content, str) else content)
        return read_header(path)

    return read


@pytest.mark.parametrize("separator", [",", ";", "\t", "|"])
def test_separator_is_the_one_with_the_most_columns(header, separator):
    """Except in a TSV file, which has tabs even if names hold commas."""
    names = ["run", "example", "p_a"]
    assert header(separator.join(names) + "\n") == (names, separator)
    assert header("a,b,c\td\n", "t.TSV") == (["a,b,c", "d"], "\t")


@pytest.mark.parametrize(
    ("content", "names"),
    [
        ("\ufeffrun,example\n", ["run", "example"]),
        ("run,example\r\n0,1\r\n", ["run", "example"]),
        ("run,example\r0,1\r", ["run", "example"]),
        ("run,example", ["run", "example"]),
        ('"a,b","c ""d"""\n', ["a,b", 'c "d"']),
        ('"two\nlines",b\n', ["two\nlines", "b"]),
        (",run,\n", ["column0", "run", "column2"]),
        ("größe,表\n", ["größe", "表"]),
    ],
    ids=["bom", "windows", "old-mac", "one-line", "quotes", "line-in-a-name", "unnamed", "unicode"],
)
def test_names_follow_the_rules_of_csv(header, content, names):
    """Quotes, line ends and a byte order mark."""
    assert header(content)[0] == names


def test_very_wide_headers_are_read(header):
    """Longer than the limit of Python's csv module for one field."""
    names = [f"p_class_number_{i:06}" for i in range(20_000)]

    assert header(",".join(names) + "\n")[0] == names


@pytest.mark.parametrize(
    ("content", "error", "fields"),
    [
        (b"", EmptyInputError, {}),
        (b" \n\t\n", EmptyInputError, {}),
        (b"\nrun,example\n", UnreadableError, {"problem": "header"}),
        (b'"run,example\n' + b"x" * 200_000, UnreadableError, {"problem": "header"}),
        (b"caf\xe9,b\n", UnreadableError, {"problem": "encoding", "start": 3}),
        (b"a\0b,c\n", UnreadableError, {"problem": "binary"}),
        ("run\n".encode("utf-16"), UnreadableError, {"problem": "encoding", "start": 0}),
    ],
    ids=["empty", "blank", "blank-first", "quote", "latin", "nul", "utf-16"],
)
def test_file_without_a_header_is_refused(header, content, error, fields):
    """The error has the name of the file and the problem."""
    with pytest.raises(error, check=WithFields(file="t.csv", **fields)):
        header(content)


def test_packed_files_are_unpacked_by_their_extension(header):
    """A file with .gz that is not packed is refused."""
    assert header(gzip.compress(b"a;b\n"), "t.csv.gz") == (["a", "b"], ";")
    with pytest.raises(UnreadableError, check=WithFields(file="t.csv.gz")):
        header("run,example\n", "t.csv.gz")


def test_header_may_end_within_a_character(header, monkeypatch):
    """Only the beginning of the file is read."""
    monkeypatch.setattr("seedproof.records.text_files.HEADER_BYTES", 9)

    assert header("run,a\nxé,é\n")[0] == ["run", "a"]


@pytest.mark.parametrize(
    ("titles", "names"),
    [
        (["seed0.csv", "seed1.csv"], ["seed0", "seed1"]),
        (["seed0.csv.gz", "seed1.parquet"], ["seed0", "seed1"]),
        (["seed.1.csv", "seed.2.csv"], ["seed.1.csv", "seed.2.csv"]),
        (["seed0/t.csv", "seed1/t.csv"], ["seed0", "seed1"]),
        (["a/b/t.csv", "c/b/t.csv"], ["a/b", "c/b"]),
        ([None, "t.csv"], ["0", "1"]),
    ],
    ids=["stems", "packed", "dots", "folders", "equal", "in-memory"],
)
def test_runs_are_named_after_their_files(titles, names):
    """By the part that differs."""
    assert run_names([title and Path(title) for title in titles]) == names


def test_names_and_texts_are_quoted():
    """Nothing that a user wrote becomes SQL."""
    name, quoted = 'a"; DROP TABLE rows; --', '"a""; DROP TABLE rows; --"'

    assert quote_name(name) == quoted
    assert quote_text("it's") == "'it''s'"


@pytest.mark.parametrize("kind", ["VARCHAR[]", "STRUCT(a INTEGER)", "DOUBLE[3]", "MAP(A, B)"])
@pytest.mark.parametrize(
    ("names", "column"),
    [
        (["run", "example", "prediction"], "prediction"),
        (["run", "example", "label", "prediction"], "label"),
        (["run", "example", "p_a", "p_b"], "p_b"),
    ],
    ids=["prediction", "label", "probability"],
)
def test_several_values_in_a_cell_are_refused(kind, names, column):
    """Multi-label predictions are not supported."""
    types = dict.fromkeys(names, "VARCHAR") | {column: kind}
    roles = Roles.find(names, Columns(), table="t")

    with pytest.raises(DtypeError, check=WithFields(column=column, table="t.csv")):
        Scan("t.csv", "SELECT 1", types).select(roles, "0", integer_ids=False)


@pytest.mark.parametrize("n_read", [9, 11], ids=["fewer", "more"])
def test_another_number_of_rows_is_refused(n_read):
    """The error has both numbers: a reader that loses a row reports nothing."""
    scan = Scan("t.csv", "SELECT 1", {}, n_rows=10)

    scan.check_rows(10)
    with pytest.raises(
        UnreadableError, check=WithFields(file="t.csv", n_rows=10, n_read=n_read, problem="rows")
    ):
        scan.check_rows(n_read)


def test_long_rows_are_read_few_at_a_time():
    """By their average size; at least one."""
    sizes = {"at_most": 1000, "n_bytes": 10**6}

    assert Scan("t", "", {}, n_rows=100, n_bytes=100).batch_rows(**sizes) == 1000
    assert Scan("t", "", {}, n_rows=100, n_bytes=10**7).batch_rows(**sizes) == 10
    assert Scan("t", "", {}, n_rows=1, n_bytes=10**7).batch_rows(**sizes) == 1
    assert Scan("t", "", {}, n_rows=0, n_bytes=10).batch_rows(**sizes) == 1000


def test_readable_and_missing_paths_are_accepted(tmp_path):
    """A missing or invalid path is reported where it is opened."""
    path = tmp_path / "t.csv"
    path.write_text("a")

    for name in ("t.csv", ".", "nowhere", "t.csv/x", "\0"):
        check_readable(tmp_path / name)


def test_pipe_is_refused_before_it_is_opened(tmp_path):
    """Opening one without a writer would never end."""
    os.mkfifo(tmp_path / "pipe")

    with pytest.raises(UnreadableError):
        check_readable(tmp_path / "pipe")


# Root may read everything, so this gives its rights up once all is set.
UNPRIVILEGED = """
import os, sys
from pathlib import Path
from seedproof.errors import UnreadableError
from seedproof.records.npz import open_npz
from seedproof.records.text_files import check_readable
if os.geteuid() == 0:
    os.setuid(65534)
for call, path in ((check_readable, Path(name)) for name in sys.argv[2:]):
    try:
        call(path)
    except UnreadableError as error:
        print(error.fields["problem"], error.fields["path"] == str(path))
try:
    open_npz([Path(sys.argv[1])], memory=10**9)
except UnreadableError as error:
    print(error.fields["problem"])
"""


@pytest.mark.skipif(os.name != "posix", reason="permissions are those of POSIX")
def test_missing_permission_is_reported_as_such(tmp_path):
    """For a file, a folder, what is in it, and one that may be listed but not entered."""
    # Folders of pytest are closed to other users.
    for folder in (tmp_path, *tmp_path.parents[:2]):
        folder.chmod(0o755)
    for name in ("a.npz", "t.csv"):
        (tmp_path / name).write_text("a")
        (tmp_path / name).chmod(0)
    for name, mode in (("closed", 0), ("listed", 0o444)):
        (tmp_path / name).mkdir()
        (tmp_path / name / "t.csv").write_text("a")
        (tmp_path / name).chmod(mode)
    names = ["a.npz", "t.csv", "closed", "closed/t.csv", "listed", "listed/t.csv"]

    done = subprocess.run(
        [sys.executable, "-c", UNPRIVILEGED, *(str(tmp_path / name) for name in names)],
        capture_output=True,
        text=True,
        check=False,
    )
    for name in ("closed", "listed"):
        (tmp_path / name).chmod(0o755)

    assert done.stderr == ""
    assert done.stdout.splitlines() == ["permission True"] * 5 + ["permission"]


@pytest.mark.parametrize("name", ["t.csv", "t.csv.gz"])
def test_error_of_the_system_is_not_reported_as_damage(tmp_path, name):
    """Only errors of the packer are about the content."""
    with pytest.raises(FileNotFoundError), unpacked(tmp_path / name):
        pass
