"""The examples run, and are as short as they promise."""

import subprocess
import sys
from pathlib import Path

import pytest

EXAMPLES = Path(__file__).parents[2] / "examples"
AVERAGING = ["average_huggingface", "average_lightning", "average_plain_loop"]


# The fourth, sklearn_study, is run by the check of the docs, on the page about scikit-learn.
@pytest.mark.parametrize("name", AVERAGING)
def test_an_example_runs(name, tmp_path):
    """As a person would run it, in a folder of their own."""
    done = subprocess.run(
        [sys.executable, EXAMPLES / f"{name}.py"],
        cwd=tmp_path,
        capture_output=True,
        text=True,
        check=False,
    )

    assert done.returncode == 0, done.stderr[-2000:]
    assert done.stdout


@pytest.mark.parametrize("name", [*AVERAGING, "sklearn_study"])
def test_an_example_has_at_most_forty_lines(name):
    """Blank lines and the docstring included."""
    assert len((EXAMPLES / f"{name}.py").read_text(encoding="utf-8").splitlines()) <= 40
