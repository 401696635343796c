"""The steps of action.yml, run with bash on real tables and stores."""

import json
import os
import re
import runpy
import shutil
import subprocess
import sys
import tomllib
from pathlib import Path

import pytest
import yaml

from seedproof.errors import OptionError
from seedproof.integrations.github import Annotation, command_words, main, outcome_of
from support.documents import GOLDEN, ROOT, make_inputs

ACTION = yaml.safe_load((ROOT / "action.yml").read_text(encoding="utf-8"))
STEPS = ACTION["runs"]["steps"]
run_action = runpy.run_path(str(ROOT / "docs" / "scripts" / "run_action.py"))["run_action"]
pytestmark = pytest.mark.skipif(shutil.which("bash") is None, reason="needs bash")
COMMAND = re.compile(r"^::(notice|warning|error) title=([^:]*)::(.*)$", re.MULTILINE)


@pytest.fixture(scope="module")
def inputs(tmp_path_factory):
    folder = tmp_path_factory.mktemp("checkout")
    make_inputs(folder)
    return folder


@pytest.fixture
def action(inputs, tmp_path):
    """Return a function that runs the action with inputs, in the folder with the tables."""

    def call(**given):
        words = {name.replace("_", "-"): value for name, value in given.items()}
        return run_action({"install": "false"} | words, inputs, temporary=tmp_path)

    return call


def _levels(finished):
    return [level for level, _, _ in COMMAND.findall(finished.log)]


def test_no_input_is_part_of_a_shell_command():
    """Otherwise a name of a branch or file could run commands."""
    for step in STEPS:
        assert "${{" not in step.get("run", "")
        assert step.get("shell", "bash") == "bash"
        if "uses" in step:
            assert re.fullmatch(r"actions/[\w-]+@[0-9a-f]{40}", step["uses"])


def test_every_input_and_output_is_used():
    text = (ROOT / "action.yml").read_text(encoding="utf-8")

    for name, entry in ACTION["inputs"].items():
        assert f"inputs.{name}" in text
        assert entry.get("required") is True or isinstance(entry["default"], str)
    assert ACTION["outputs"].keys() == {"outcome", "exit-code", "json", "artifact-url"}


def test_gate_that_passes(action):
    finished = action(target="quiet.csv", max="flip_rate=0.9\naccuracy_sd=0.9", min="accuracy=0.1")

    assert finished.code == 0
    assert finished.outputs["outcome"] == "pass"
    assert finished.outputs["exit-code"] == "0"
    assert _levels(finished) == ["notice"]
    assert finished.summary.startswith("**✅ Pass")
    assert finished.summary.count("\n| ✅") == 3
    assert f"]({finished.outputs['artifact-url']})" in finished.summary
    assert {path.name for path in finished.uploaded.iterdir()} == {
        "gate.json", "gate.xml", "summary.md"
    }  # fmt: skip
    judged = json.loads(Path(finished.outputs["json"]).read_text(encoding="utf-8"))
    assert [rule["outcome"] for rule in judged["rules"]] == ["pass"] * 3


def test_gate_that_fails(action):
    """The files are uploaded and the summary is written before the step fails."""
    finished = action(target="classes.csv", min="accuracy=0.999")

    assert (finished.code, finished.outputs["outcome"]) == (1, "fail")
    assert _levels(finished) == ["error"]
    assert finished.summary.startswith("**❌ Fail")
    assert (finished.uploaded / "gate.xml").is_file()


@pytest.mark.parametrize(
    ("strict", "code", "level"), [("false", 0, "warning"), ("true", 3, "error")]
)
def test_undecided_gate_fails_only_if_asked(strict, code, level, action):
    finished = action(
        target="classes.csv", max="flip_rate=0.39", fail_on_investigate=strict, artifact=""
    )

    assert (finished.code, finished.outputs["outcome"]) == (code, "investigate")
    assert _levels(finished) == [level]
    assert finished.summary.startswith("**🔍 Investigate")
    assert finished.uploaded is None
    assert finished.outputs["artifact-url"] == ""


def test_error_in_the_input_never_passes(action, inputs):
    """Limits come from the file of the working directory."""
    folder = inputs / "model"
    folder.mkdir()
    (folder / "seedproof.toml").write_text("[gate]\nmax = {flip_rate = 0.9}\n", encoding="utf-8")

    finished = action(target="../copies.csv", working_directory="model")

    assert finished.outputs["outcome"] == "investigate"
    assert set(_levels(finished)) == {"warning"}
    assert "duplicate-runs" in finished.log


def test_error_is_no_verdict(action):
    finished = action(target="quiet.csv", max="flip_rat=0.9")

    assert (finished.code, finished.outputs["outcome"]) == (2, "error")
    assert _levels(finished) == ["error"]
    assert finished.summary.startswith("**⚠️ Error")


@pytest.mark.parametrize(
    "given",
    [
        {"TARGET": ""},
        {"COMMAND": "measure"},
        {"FAIL_ON_INVESTIGATE": "maybe"},
        {"COMMAND": "compare", "MAX": "flip_rate=0.9"},
        {"COMMAND": "compare", "OPTIONS": "--old quiet.csv --new classes.csv"},
        {"OPTIONS": "an open 'quote"},
    ],
)
def test_wrong_input_of_the_action_fails(given, tmp_path, capsys):
    inputs = {"COMMAND": "gate", "TARGET": "quiet.csv", "FAIL_ON_INVESTIGATE": "false"} | given
    environment = {f"SEEDPROOF_ACTION_{name}": value for name, value in inputs.items()}
    output = tmp_path / "output"
    environment |= {"RUNNER_TEMP": str(tmp_path), "GITHUB_OUTPUT": str(output)}

    assert main("judge", environment) == 2

    first, _, _ = capsys.readouterr().out.partition(" ")
    assert first == "::error"
    assert not output.exists()


@pytest.mark.parametrize(
    ("targets", "outcome", "code"),
    [
        ("quiet.csv\nclasses.csv", "fail", 1),
        ("scalars.csv", "pass", 0),
    ],
)
def test_comparison_is_judged_by_its_primary_metric(targets, outcome, code, action):
    finished = action(command="compare", target=targets)

    assert (finished.code, finished.outputs["outcome"]) == (code, outcome)
    table = [line for line in finished.summary.splitlines() if line.startswith("| ")]
    assert len(table) > 2
    assert len({line.count(" | ") for line in table}) == 1
    assert any(path.suffix == ".html" for path in finished.uploaded.iterdir())


def test_comparison_of_a_store_with_few_runs_is_open(action):
    finished = action(
        command="compare", target=str(GOLDEN / "0.1.0" / "study"), options="--split test"
    )

    assert (finished.code, finished.outputs["outcome"]) == (0, "investigate")
    assert "warning" in _levels(finished)


def test_text_of_inputs_is_never_run_or_taken_as_an_option(action, inputs):
    hostile = '$(touch hacked).csv\n`touch hacked`\n"; touch hacked; "\n--max=flip_rate=1'

    finished = action(target=hostile, max="flip_rate=0.9")

    assert (finished.code, finished.outputs["outcome"]) == (2, "error")
    assert not (inputs / "hacked").exists()


def test_message_cannot_end_its_annotation():
    annotation = Annotation("warning", "a: b, c", "10 %\n::error::injected")

    (line,) = str(annotation).splitlines()
    assert line.startswith("::warning")
    assert {"%3A", "%2C", "%25%0A"} == {part for part in ("%3A", "%2C", "%25%0A") if part in line}


@pytest.mark.parametrize(
    ("code", "document"),
    [
        (0, {}),  # no document
        (0, []),
        (1, {"outcome": "pass"}),  # the two contradict each other
        (0, {"outcome": "investigate"}),
        (70, {"outcome": "pass"}),
        (-9, {"outcome": "pass"}),
        (0, {"outcome": "pass", "error": {}}),
    ],
)
def test_incomplete_result_is_an_error(code, document):
    assert outcome_of("gate", code, document) == "error"


def _compared(*verdicts, severity="note"):
    arms = [
        {"name": str(i), "effects": {"flip_rate": {"verdict": verdict}}}
        for i, verdict in enumerate(verdicts)
    ]
    checks = [{"severity": severity}]
    return {"primary": "flip_rate", "baseline": {}, "arms": arms, "checks": checks}


@pytest.mark.parametrize(
    ("document", "outcome"),
    [
        (_compared("steadier", "equivalent"), "pass"),
        (_compared("steadier", "no difference shown"), "investigate"),
        (_compared("steadier", "less steady"), "fail"),
        (_compared("no difference shown", "worse"), "fail"),
        (_compared("too few runs"), "investigate"),
        (_compared("higher"), "investigate"),
        (_compared(), "investigate"),
        (_compared("better", severity="error"), "investigate"),
        (_compared("worse", severity="error"), "investigate"),
    ],
)
def test_comparison_passes_only_if_it_is_shown(document, outcome):
    assert outcome_of("compare", 0, document) == outcome


PLANTED = """
import os, pathlib
pathlib.Path(os.environ["PLANTED_MARK"]).write_text(__name__)
"""
# Modules that the steps import: of the standard library, of pip and of ours.
MODULES = [
    "pip.py", "pip/__init__.py", "venv.py", "sitecustomize.py", "usercustomize.py", "json.py",
    "tomllib.py", "typing.py", "yaml.py", "numpy/__init__.py", "seedproof/__init__.py",
    "seedproof/__main__.py", "seedproof/integrations/__init__.py",
    "seedproof/integrations/github.py", "pyarrow.py", "conftest.py", "setup.py",
]  # fmt: skip


@pytest.mark.parametrize("on_path", [False, True], ids=["", "PYTHONPATH"])
@pytest.mark.parametrize("install", ["true", "false"])
def test_nothing_of_the_checkout_is_run(install, on_path, inputs, tmp_path, monkeypatch):
    """Not by pip, not by seedproof, and not by the processes that these start."""
    workspace = tmp_path / "workspace"
    shutil.copytree(inputs, workspace)
    for name in MODULES:
        (workspace / name).parent.mkdir(parents=True, exist_ok=True)
        (workspace / name).write_text(PLANTED, encoding="utf-8")
    mark = tmp_path / "mark"
    monkeypatch.setenv("PLANTED_MARK", str(mark))
    if on_path:
        monkeypatch.setenv("PYTHONPATH", str(workspace))
    if install == "true":  # nothing is downloaded here, so that the step fails
        monkeypatch.setenv("PIP_NO_INDEX", "1")
        for name in ("PIP_FIND_LINKS", "PIP_EXTRA_INDEX_URL"):
            monkeypatch.delenv(name, raising=False)
        monkeypatch.setenv("PIP_CONFIG_FILE", os.devnull)

    finished = run_action(
        {
            "install": install,
            "target": "quiet.csv",
            "max": "flip_rate=0.9",
            "options": "--engine processes --workers 1",
        },
        workspace,
        temporary=tmp_path,
    )

    assert not mark.exists(), mark.read_text(encoding="utf-8")
    if install == "false":
        assert (finished.code, finished.outputs["outcome"]) == (0, "pass")
    else:
        assert "ERROR" in finished.log  # of pip, which found no package


def test_build_of_the_action_sees_no_path_of_the_workflow(inputs, tmp_path, monkeypatch):
    """A build starts processes of its own, to which options of pip's Python do not apply."""
    calls = tmp_path / "calls"
    program = tmp_path / "bin" / "python"
    program.parent.mkdir()
    # In place of Python: notes its environment, and makes itself the environment of the action.
    program.write_text(
        f'#!/bin/bash\n{{ echo "$@"; env; }} >> "{calls}"\n'
        'own="$RUNNER_TEMP/seedproof/bin"; mkdir -p "$own"; cp "$0" "$own/python" 2>/dev/null\nexit 0\n',
        encoding="utf-8",
    )
    program.chmod(0o755)
    monkeypatch.setattr(sys, "executable", str(program))  # its folder is the first on the path
    for name in ("PYTHONPATH", "PYTHONHOME"):
        monkeypatch.setenv(name, str(inputs))

    run_action({"install": "true", "target": "quiet.csv"}, inputs, temporary=tmp_path)

    lines = calls.read_text(encoding="utf-8").splitlines()
    end = next(n for n, line in enumerate(lines) if "--no-build-isolation" in line)
    of_build = []
    for line in lines[end + 1 :]:
        if line.startswith("-P "):
            break
        of_build.append(line)
    assert "PYTHONSAFEPATH=1" in of_build
    assert not [line for line in of_build if line.startswith(("PYTHONPATH=", "PYTHONHOME="))]


def test_everything_that_is_installed_has_a_hash():
    """And the version that CI tests with; a build may download nothing else."""
    text = (ROOT / "action-requirements.txt").read_text(encoding="utf-8")
    constraints = (ROOT / "constraints.txt").read_text(encoding="utf-8").lower().splitlines()
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    pins = re.findall(
        r"^([\w.-]+==[\w.]+)((?: \\\n    --hash=sha256:[0-9a-f]{64})+)$", text, re.MULTILINE
    )

    assert len(pins) == text.count("==")
    versions = {pin.replace("_", "-") for pin, _ in pins}
    assert versions <= {line.replace("_", "-") for line in constraints}
    direct = {re.split("[>=]", name)[0] for name in project["dependencies"]}
    assert direct | {"hatchling"} <= {pin.partition("==")[0] for pin in versions}


def _git(folder, *words):
    identity = ("-c", "user.name=test", "-c", "user.email=test@example.org")
    subprocess.run(
        ["git", *identity, *words],  # noqa: S607
        cwd=folder,
        check=True,
        capture_output=True,
    )


@pytest.fixture
def pull_request(inputs, tmp_path, monkeypatch):
    """A checkout of a pull request that relaxes the rules of its base branch."""
    base, checkout = tmp_path / "base", tmp_path / "checkout"
    shutil.copytree(inputs, base)
    _git(base, "init", "-b", "main")
    (base / "model").mkdir(exist_ok=True)
    (base / "model" / "seedproof.toml").write_text("[gate]\nmin = {accuracy = 0.999}\n")
    (base / "strict.toml").write_text("[gate]\nmin = {accuracy = 0.9999}\n")
    _git(base, "add", "-A")
    _git(base, "commit", "-m", "rules")
    _git(tmp_path, "clone", "--depth=1", base.as_uri(), str(checkout))
    for name in ("seedproof.toml", "model/seedproof.toml", "strict.toml"):
        (checkout / name).write_text("[gate]\nmin = {accuracy = 0.0001}\n")
    monkeypatch.setenv("GITHUB_BASE_REF", "main")

    def call(**given):
        words = {name.replace("_", "-"): value for name, value in given.items()}
        return run_action({"install": "false"} | words, checkout, temporary=tmp_path)

    return call


def test_pull_request_cannot_relax_its_own_gate(pull_request):
    finished = pull_request(target="../classes.csv", working_directory="model")

    assert (finished.code, finished.outputs["outcome"]) == (1, "fail")
    judged = json.loads(Path(finished.outputs["json"]).read_text(encoding="utf-8"))
    assert [rule["rule"]["limit"] for rule in judged["rules"]] == [0.999]


def test_named_file_of_rules_comes_from_the_base_branch(pull_request):
    finished = pull_request(
        target="../classes.csv", config="../strict.toml", working_directory="model"
    )

    judged = json.loads(Path(finished.outputs["json"]).read_text(encoding="utf-8"))
    assert [rule["rule"]["limit"] for rule in judged["rules"]] == [0.9999]


def test_rules_that_only_a_pull_request_has_do_not_count(pull_request):
    """The base branch has no file in this folder: without inputs nothing can be judged."""
    without = pull_request(target="classes.csv")
    with_input = pull_request(target="classes.csv", min="accuracy=0.5", artifact="")

    assert (without.code, without.outputs["outcome"]) == (2, "error")
    judged = json.loads(Path(with_input.outputs["json"]).read_text(encoding="utf-8"))
    assert [rule["rule"]["limit"] for rule in judged["rules"]] == [0.5]


def test_base_branch_that_cannot_be_read_is_an_error(pull_request, monkeypatch):
    """With limits as inputs it is a warning: these alone count."""
    monkeypatch.setenv("GITHUB_BASE_REF", "missing")

    without = pull_request(target="classes.csv")
    with_input = pull_request(target="classes.csv", min="accuracy=0.5", artifact="")

    assert without.code == 2
    assert with_input.outputs["outcome"] == "pass"
    assert "warning" in _levels(with_input)


def test_rules_are_not_named_among_options():
    inputs = dict.fromkeys(["max", "min", "no-worse", "baseline", "config"], "")
    inputs |= {"command": "gate", "target": "a.csv", "options": "--config=mine.toml"}

    with pytest.raises(OptionError):
        command_words(inputs, Path())
