"""No test depends on the wording of a message: tests check codes, fields and data.

So wording can be improved without breaking tests. One snapshot per verb or page
(`tests/snapshots`) shows the text; `SEEDPROOF_UPDATE_SNAPSHOTS=1` rewrites them.
"""

import ast
import re
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
FILES = sorted(
    path
    for tests in (ROOT / "tests", ROOT / "reproductions" / "tests")
    for path in tests.rglob("*.py")
    if path.parent.name != "meta"
)
# Two words in a row, as sentences have them and data mostly has not.
PROSE = re.compile(r"[A-Za-z]{2,}[,;:.]? [a-z]{2,}")
# Fixed terms of the product: verdicts, and what intervals are over.
TERMS = {
    "covers mean",
    "less steady",
    "no interval",
    "over examples",
    "width mean",
    "no difference shown",
    "not tested",
    "runs and examples",
    "too few runs",
}


def dependencies(source):
    """Yield line and text of everything in a test that depends on wording."""
    for node in ast.walk(ast.parse(source)):
        if isinstance(node, ast.keyword) and node.arg == "match":
            yield node.value.lineno, f"match={ast.unparse(node.value)}"
        if isinstance(node, ast.Assert):
            for part in ast.walk(node.test):
                if (
                    isinstance(part, ast.Constant)
                    and isinstance(part.value, str)
                    and part.value not in TERMS
                    and PROSE.search(part.value)
                ):
                    yield part.lineno, part.value


@pytest.mark.parametrize(
    "source",
    [
        'with pytest.raises(ValueError, match="x"): pass',
        'assert "cannot be read" in text',
        'assert text.startswith("No run")',
        'assert f"{n} runs of the arm" == text',
    ],
)
def test_dependency_on_wording_is_detected(source):
    assert len(list(dependencies(source))) == 1


@pytest.mark.parametrize(
    "source",
    ['assert verdict == "no difference shown"', 'assert code == "too-few-runs"', 'x = "a b c"'],
)
def test_data_are_not_a_dependency_on_wording(source):
    assert list(dependencies(source)) == []


@pytest.mark.parametrize("path", FILES, ids=lambda path: str(path.relative_to(ROOT)))
def test_no_test_depends_on_wording(path):
    problems = [f"{line}: {text[:80]}" for line, text in dependencies(path.read_text("utf-8"))]

    assert problems == []
