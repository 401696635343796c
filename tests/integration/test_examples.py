"""The examples run, and are short."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

EXAMPLES = Path(__file__).parents[2] / "examples"
FULL = os.environ.get("SEEDPROOF_FULL") == "1"
AVERAGING = ["average_huggingface", "average_lightning", "average_plain_loop"]


# The fourth, sklearn_study, is run by the check of the docs, on the page about scikit-learn.
# CI runs the plain loop; SEEDPROOF_FULL=1 all of them, which takes minutes.
@pytest.mark.parametrize("name", AVERAGING if FULL else AVERAGING[-1:])
def test_example_runs(name, tmp_path):
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
def test_example_has_at_most_forty_lines(name):
    assert len((EXAMPLES / f"{name}.py").read_text(encoding="utf-8").splitlines()) <= 40
