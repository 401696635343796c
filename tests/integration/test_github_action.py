"""The steps of action.yml, run with bash on real tables and stores."""

import json
import re
import runpy
import shutil
from pathlib import Path

import pytest
import yaml

from seedproof.integrations.github import Annotation, main, outcome_of
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
            assert re.fullmatch(r"actions/[\w-]+@v\d+", step["uses"])


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
