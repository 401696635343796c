"""The command line itself: help, imports, options and errors."""

import json
import subprocess
import sys

import pytest

from seedproof.cli.main import VERBS, main

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
def test_command_loads_no_heavy_package_that_it_does_not_use(table, words):
    """Help and a report without a page need no package that converts, draws or trains."""
    words = [word.format(table=table) for word in words]

    done = subprocess.run(
        [sys.executable, "-c", LOADED, *words], capture_output=True, text=True, check=True
    )

    assert done.stderr == "[]\n"


def test_options_have_their_types(call, table, capsys):
    """Texts, lists of texts, flags and defaults."""
    code = call("measure", table, "--json", "--metrics", "flip_rate", "--metrics", "ambiguity")
    summary = json.loads(capsys.readouterr().out)

    assert code == 0
    assert (summary["n_runs"], summary["metrics"]["flip_rate"]["value"]) == (2, 0.5)


@pytest.mark.parametrize(
    "words", [("measure", "--workers", "x", "a.csv"), ("measure",), ("nothing",)]
)
def test_invalid_command_is_refused_with_usage(call, words, capsys):
    """The exit code is 2, and there is no traceback."""
    assert call(*words) == 2
    assert "seedproof" in capsys.readouterr().err


@pytest.mark.parametrize("verb", VERBS)
def test_help_fits_the_terminal_and_ends_with_an_example(call, verb, capsys, monkeypatch):
    """`-h` is the same as `--help`."""
    monkeypatch.setenv("COLUMNS", "80")
    assert call(verb, "--help") == 0
    text = capsys.readouterr().out
    assert call(verb, "-h") == 0

    assert capsys.readouterr().out == text
    assert text.endswith(f"Example: {VERBS[verb]}\n")
    assert max(map(len, text.splitlines())) <= 80


def test_list_of_verbs_is_not_cut(call, capsys, monkeypatch):
    """The first sentence of each verb's help fits one line."""
    monkeypatch.setenv("COLUMNS", "80")
    assert call("--help") == 0

    assert "..." not in capsys.readouterr().out.partition("Commands:")[2]


@pytest.mark.parametrize(
    ("words", "option"),
    [
        (("measure", "{table}", "--arm", "none"), "--arm"),
        (("plan", "--run", "seed", "--labels=gold"), "--run, --labels"),
    ],
)
def test_error_names_options_as_they_are_typed(call, table, words, option, capsys):
    """The functions of Python call them `arm` and `columns`."""
    assert call(*(word.format(table=table) for word in words)) == 2
    assert f"`{option}`" in capsys.readouterr().err


def test_options_are_under_the_kind_of_answers_that_they_are_for(call, capsys):
    """Each option once, on lines of at most 80 columns."""
    assert call("measure", "--help") == 0

    lines = capsys.readouterr().out.splitlines()
    heading_of, heading = {}, None
    for line in lines:
        if line.endswith(":") and not line.startswith(" "):
            heading = line.removesuffix(":")
        elif line.startswith("  --"):
            option = line.split()[0].rstrip(",")
            assert option not in heading_of
            heading_of[option] = heading
    groups = [{"--out"}, {"--run", "--label"}, {"--value", "--target"}, {"--rank", "--set"}]
    groups += [{"--answer", "--reference"}, {"--arm", "--split"}, {"--engine", "--workers"}]
    headings = [{heading_of[option] for option in group} for group in groups]
    assert [len(of_group) for of_group in headings] == [1] * len(groups)
    assert len(set.union(*headings)) == len(groups)
    assert max(map(len, lines)) <= 80
