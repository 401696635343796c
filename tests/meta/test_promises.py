"""Each promise names a test that exists."""

import ast
import re
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
PAGES = {
    "docs/explanation/what-is-promised.md": "checked by",
    "SECURITY.md": "test",
}
# Promises that no test can break: nothing of seedproof takes part.
UNTESTED = {"engines `processes`, Ray, SLURM"}
NAME = re.compile(r"`([\w./:-]+)`")


def promises(page, column):
    """Return the first cell of each row of the tables with this column, and that cell."""
    rows = []
    place = None
    for line in (ROOT / page).read_text(encoding="utf-8").splitlines():
        cells = [cell.strip() for cell in line.strip().strip("|").split(" | ")]
        if not line.startswith("|"):
            place = None
        elif column in cells:
            place = cells.index(column)
        elif place is not None and not line.startswith("|-"):
            rows.append((cells[0], cells[place]))
    return rows


def named_in(cell):
    """Yield file and function of the tests in a cell; names alone are in the folder before them."""
    folder, file = ROOT, ROOT
    for name in NAME.findall(cell):
        path, _, function = name.partition("::")
        if path:
            file = ROOT / path if "/" in path else folder / path
            folder = file if file.is_dir() else file.parent
        yield file, function


ROWS = [(page, *row) for page, column in PAGES.items() for row in promises(page, column)]


def test_tables_are_found():
    assert {page for page, *_ in ROWS} == PAGES.keys()
    assert len(ROWS) > 30


@pytest.mark.parametrize(("page", "promise", "cell"), ROWS, ids=lambda x: x[:60])
def test_promise_names_a_test_that_exists(page, promise, cell):
    named = list(named_in(cell))

    assert named or promise in UNTESTED, page
    for file, function in named:
        assert file.exists(), file
        is_test = file.is_dir() or file.name.startswith("test_") or file.parent.name == "benchmarks"
        assert is_test, file
        if function:
            tree = ast.parse(file.read_text(encoding="utf-8"))
            assert function in {x.name for x in tree.body if isinstance(x, ast.FunctionDef)}
