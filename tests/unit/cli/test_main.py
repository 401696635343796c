"""The command line itself: what it loads, and what it makes of words."""

import json
import subprocess
import sys

import pytest

from seedproof.cli.main import main

LOADED = """
import sys
from seedproof.cli.main import main
try:
    main()
finally:
    heavy = {"altair", "pandas", "pydantic", "scipy", "torch", "vl_convert"}
    print(sorted(heavy & sys.modules.keys()), file=sys.stderr)
"""


@pytest.fixture
def table(tmp_path):
    """Two runs that differ on one of two examples."""
    path = tmp_path / "runs.csv"
    path.write_text("run,example,prediction\n1,a,x\n1,b,y\n2,a,x\n2,b,x\n", encoding="utf-8")
    return path


@pytest.fixture
def call(monkeypatch):
    """Run the command line in this process; return its exit code."""

    def called(*words):
        monkeypatch.setattr(sys, "argv", ["seedproof", *map(str, words)])
        with pytest.raises(SystemExit) as left:
            main()
        return left.value.code

    return called


@pytest.mark.parametrize("words", [("--help",), ("measure", "--help"), ("measure", "{table}")])
def test_command_loads_what_it_uses(table, words):
    """Nothing that converts, draws or trains, for help or for figures without a page."""
    words = [word.format(table=table) for word in words]

    done = subprocess.run(
        [sys.executable, "-c", LOADED, *words], capture_output=True, text=True, check=True
    )

    assert done.stderr == "[]\n"


def test_options_have_their_types(call, table, capsys):
    """Texts, lists of them and flags as they are given, and defaults of the right type."""
    code = call("measure", table, "--json", "--metrics", "flip_rate", "--metrics", "ambiguity")
    summary = json.loads(capsys.readouterr().out)

    assert code == 0
    assert (summary["n_runs"], summary["metrics"]["flip_rate"]["value"]) == (2, 0.5)


@pytest.mark.parametrize(
    "words", [("measure", "--workers", "x", "a.csv"), ("measure",), ("nothing",)]
)
def test_words_that_do_not_fit_are_refused(call, words, capsys):
    """With exit code 2, the usage of the verb, and no traceback."""
    assert call(*words) == 2
    assert "seedproof" in capsys.readouterr().err
