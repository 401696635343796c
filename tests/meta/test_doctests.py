"""Every public name has an example in its docstring, and the example works."""

import doctest
import re
from pathlib import Path

import pytest

import seedproof

TYPED_PROGRAM = Path(__file__).parents[1] / "typing" / "api.py"
NAMES = [name for name in seedproof.__all__ if name != "__version__"]


@pytest.mark.parametrize("name", NAMES)
def test_examples_of_a_public_name_work(name, tmp_path, monkeypatch):
    """The docstrings of methods are included."""
    monkeypatch.chdir(tmp_path)
    public_object = getattr(seedproof, name)
    docstrings = doctest.DocTestFinder(recurse=True).find(public_object, name, globs={})
    with_examples = [docstring for docstring in docstrings if docstring.examples]
    assert with_examples, f"sp.{name} has no example"

    runner = doctest.DocTestRunner(verbose=False, optionflags=doctest.NORMALIZE_WHITESPACE)
    for docstring in with_examples:
        runner.run(docstring)

    assert runner.summarize(verbose=False).failed == 0


def test_program_checked_by_mypy_calls_every_public_name():
    program = TYPED_PROGRAM.read_text(encoding="utf-8")

    assert not [name for name in seedproof.__all__ if not re.search(rf"sp\.{name}\b", program)]
