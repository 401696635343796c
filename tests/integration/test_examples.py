"""The examples run, and are as short as they promise."""

import subprocess
import sys
from pathlib import Path

import pytest

EXAMPLES = Path(__file__).parents[2] / "examples"
SHORT = ["average_huggingface", "average_lightning", "average_plain_loop", "sklearn_study"]


@pytest.mark.parametrize("name", SHORT)
def test_an_example_runs_and_has_at_most_forty_lines(name, tmp_path):
    """As a person would run it, in a folder of their own."""
    script = EXAMPLES / f"{name}.py"

    done = subprocess.run(
        [sys.executable, script], cwd=tmp_path, capture_output=True, text=True, check=False
    )

    assert done.returncode == 0, done.stderr[-2000:]
    assert done.stdout
    assert len(script.read_text(encoding="utf-8").splitlines()) <= 40
