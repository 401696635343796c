"""Another package adds a reader, a verb and an engine: all three work once installed."""

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

PACKAGE = Path(__file__).parents[1] / "packages" / "example"
START = "from seedproof.cli.main import main; main()"
ROWS = "a;1;yes\na;2;no\nb;1;yes\nb;2;yes\nc;1;yes\nc;2;no\n"


@pytest.fixture(scope="module")
def installed(tmp_path_factory) -> dict[str, str]:
    folder = tmp_path_factory.mktemp("site")
    subprocess.run(
        [
            *(sys.executable, "-m", "pip", "install", "--quiet", "--no-deps"),
            *("--no-build-isolation", "--no-index", "--target", str(folder), str(PACKAGE)),
        ],
        check=True,
        timeout=120,
    )
    before = os.environ.get("PYTHONPATH")
    path = [str(folder), *([] if before is None else [before])]
    return {**os.environ, "PYTHONPATH": os.pathsep.join(path)}


@pytest.fixture
def seedproof(installed, tmp_path):
    (tmp_path / "study.answers").write_text(ROWS, encoding="utf-8")

    def call(*words: str, **further: str) -> subprocess.CompletedProcess[str]:
        return subprocess.run(
            [sys.executable, "-c", START, *words],
            cwd=tmp_path,
            env={**installed, **further},
            capture_output=True,
            text=True,
            encoding="utf-8",
            timeout=60,
            check=False,
        )

    return call


def test_reader_gives_predictions_to_every_verb(seedproof):
    """A file of the new format, alone and in a folder."""
    for target in ("study.answers", "."):
        done = seedproof("measure", target, "--json")
        result = json.loads(done.stdout)
        assert result["runs"] == ["a", "b", "c"]
        assert result["metrics"]["flip_rate"]["value"] == pytest.approx(1 / 3)
    assert seedproof("gate", "study.answers", "--max", "ambiguity=1").returncode == 0


def test_verb_of_another_package_is_listed_and_uses_the_reader(seedproof):
    assert "runs" in seedproof("--help").stdout
    assert seedproof("runs", "study.answers").stdout == "a b c\n"


def test_engine_of_another_package_gives_the_same_result(seedproof):
    """Its own message shows that it was used."""
    here = seedproof("measure", "study.answers", "--json")
    there = seedproof("measure", "study.answers", "--json", "--engine", "backwards")

    assert there.stdout == here.stdout
    assert there.stderr.startswith("backwards:")


def test_any_exception_of_a_reader_is_an_error_of_one_line(seedproof, tmp_path):
    (tmp_path / "study.answers").write_text("a;1\nb\n", encoding="utf-8")

    done = seedproof("measure", "study.answers")

    assert (done.returncode, done.stdout) == (2, "")
    assert done.stderr.startswith("error SP102: ")
    assert done.stderr.count("\n") == 1
