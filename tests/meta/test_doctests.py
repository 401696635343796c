"""Every public name has an example in its docstring, and the example works."""

import doctest
import re
from pathlib import Path

import pytest

import seedproof

PROGRAM = Path(__file__).parents[1] / "typing" / "api.py"
NAMES = [name for name in seedproof.__all__ if name != "__version__"]


@pytest.mark.parametrize("name", NAMES)
def test_example_of_a_public_name_works(name, tmp_path, monkeypatch):
    """Including those of methods."""
    monkeypatch.chdir(tmp_path)
    public = getattr(seedproof, name)
    tests = doctest.DocTestFinder(recurse=True).find(public, name, globs={})
    examples = [test for test in tests if test.examples]
    assert examples, f"sp.{name} has no example"

    runner = doctest.DocTestRunner(verbose=False, optionflags=doctest.NORMALIZE_WHITESPACE)
    for test in examples:
        runner.run(test)

    assert runner.summarize(verbose=False).failed == 0


def test_program_checked_by_mypy_calls_every_public_name():
    program = PROGRAM.read_text(encoding="utf-8")

    assert not [name for name in seedproof.__all__ if not re.search(rf"sp\.{name}\b", program)]
