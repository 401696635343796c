"""Documents that verbs print with --json, held against the schema; and exit codes."""

import json
import re
import shlex
import subprocess
import sys
from importlib.resources import files
from pathlib import Path

import pytest
from jsonschema import Draft202012Validator

from seedproof.cli.main import VERBS
from seedproof.exit_codes import ExitCode
from support.documents import COMMANDS, ROOT, make_inputs

SCHEMA = json.loads(files("seedproof").joinpath("output.schema.json").read_text("utf-8"))
PAGE = ROOT / "docs" / "reference" / "json.md"
TRAINING = """
import os
import numpy as np
import seedproof as sp

run = sp.current_run()
print("printed by the training")
os.system("echo printed by a program that it starts")
if run.name == os.environ.get("FAILING_RUN"):
    raise ValueError("no data")
rng = np.random.default_rng(run.seeds["init"])
run.log_scalar("loss", 0.5)
run.log_predictions("test", ids=range(20), probs=rng.dirichlet([1, 1], 20), labels=[0, 1] * 10)
"""


def _strict(node):
    """Return a schema without keys that it does not describe."""
    if isinstance(node, list):
        return [_strict(part) for part in node]
    if not isinstance(node, dict):
        return node
    closed = {"additionalProperties": False} if "properties" in node and "type" in node else {}
    return closed | {name: _strict(part) for name, part in node.items()}


def _validator(verb):
    definitions = _strict(SCHEMA["$defs"])
    return Draft202012Validator({"$ref": f"#/$defs/output_of_{verb}", "$defs": definitions})


def _refuse(constant):
    raise ValueError(f"{constant} is not JSON")


def _parsed(out):
    """Return the only document of an output."""
    assert out.count("\n") == 1
    return json.loads(out, parse_constant=_refuse)


def _check(verb, document):
    problems = []
    for error in _validator(verb).iter_errors(document):
        # Of the alternatives, the one that fits best.
        parts = sorted(error.context or [error], key=lambda part: -len(part.absolute_path))
        problems += [f"{part.json_path}: {part.message[:200]}" for part in parts[:5]]
    assert problems == []


@pytest.fixture(scope="module")
def inputs(tmp_path_factory):
    folder = tmp_path_factory.mktemp("inputs")
    return folder, make_inputs(folder)


@pytest.fixture
def training(tmp_path):
    (tmp_path / "train.py").write_text(TRAINING, encoding="utf-8")
    return "train.py"


def test_schema_is_valid_and_has_all_verbs():
    Draft202012Validator.check_schema(SCHEMA)

    outputs = {name.removeprefix("output_of_") for name in SCHEMA["$defs"] if "output_of" in name}
    assert outputs == set(VERBS)
    assert {command.split()[0] for command in COMMANDS.values()} == {
        *VERBS.keys() - {"doctor", "run", "demo"}
    }


@pytest.mark.parametrize("name", COMMANDS)
def test_output_matches_the_schema(name, inputs, seedproof, monkeypatch):
    """Without a key that the schema does not describe."""
    folder, places = inputs
    words = shlex.split(COMMANDS[name].format(**places))
    monkeypatch.chdir(folder)

    code, out, err = seedproof(*words, "--json")

    assert code in {ExitCode.OK, ExitCode.FAILED, ExitCode.UNDECIDED}, err
    document = _parsed(out)
    assert "error" not in document
    assert document.get("exit_code", 0) == code
    _check(words[0], document)


def test_mistakes_in_a_document_are_detected(inputs, seedproof, monkeypatch):
    """A missing key, another type, and a key that is not described."""
    monkeypatch.chdir(inputs[0])
    document = _parsed(seedproof("gate", "classes.csv", "--max", "flip_rate=0.39", "--json")[1])
    missing = {name: value for name, value in document.items() if name != "rules"}

    for wrong in (missing, document | {"n_runs": "6"}, document | {"more": 1}):
        assert not _validator("gate").is_valid(wrong)
    assert _validator("gate").is_valid(document)


def test_demo_lists_its_files(seedproof, tmp_path):
    code, out, _ = seedproof("demo", "--json")

    document = _parsed(out)
    assert code == 0
    _check("demo", document)
    assert [(tmp_path / file).is_file() for file in document["files"]] == [True, True]


def test_doctor_matches_the_schema(inputs, seedproof):
    code, out, _ = seedproof("doctor", inputs[1]["training"], "--steps", "1", "--json")

    document = _parsed(out)
    assert code == (ExitCode.OK if document["is_healthy"] else ExitCode.FAILED)
    _check("doctor", document)


@pytest.mark.parametrize("engine", ["serial", "processes"])
def test_what_a_training_prints_is_not_part_of_the_document(engine, training, seedproof):
    code, out, _ = seedproof(
        "run", training, "--seeds", "2", "--store", "runs", "--engine", engine, "--json"
    )

    document = _parsed(out)
    assert code == ExitCode.OK
    _check("run", document)
    assert document["counts"] == {"finished": 2}


def test_rules_of_run_are_those_of_a_gate(training, seedproof):
    words = ("run", training, "--until-decided", "flip_rate<=0.99", "--max-seeds", "5")

    code, out, _ = seedproof(*words, "--store", "runs", "--engine", "serial", "--json")

    document = _parsed(out)
    _check("run", document)
    assert document["exit_code"] == code


@pytest.mark.parametrize("words", [("--json",), ("missing", "--json"), ("--nope", "--json")])
@pytest.mark.parametrize("verb", sorted(VERBS.keys() - {"demo", "plan"}))
def test_error_is_a_document(verb, words, seedproof):
    """A missing argument, missing input, and a wrong option."""
    code, out, err = seedproof(verb, *words)

    document = _parsed(out)
    assert code == document["exit_code"] == ExitCode.ERROR
    assert err != ""
    _check(verb, document)
    assert re.fullmatch(r"SP\d{3}", document["error"]["code"])


def test_error_without_json_prints_no_document(seedproof):
    assert seedproof("measure", "missing.csv")[1] == ""
    assert seedproof("run", "missing.py", "--", "--json")[1] == ""


# ---------------------------------------------------------------------------------- exit codes


def _failed_run(call, monkeypatch):
    monkeypatch.setenv("FAILING_RUN", "1")
    return call("run", "train.py", "--seeds", "2", "--store", "failing", "--engine", "serial")[0]


def _bug(call, monkeypatch):
    def broken(*_, **__):
        raise ZeroDivisionError("a bug")

    monkeypatch.setattr("seedproof.api.plan.plan", broken)
    code, out, err = call("plan", "--sd", "0.1", "--detect", "0.1", "--json")
    document = _parsed(out)
    _check("plan", document)
    assert (document["exit_code"], document["error"]["code"]) == (code, None)
    assert "Traceback" in err
    return code


def _interrupted(call, monkeypatch):  # noqa: ARG001 - a process of its own
    stop = "import os, signal, time; os.kill(os.getpid(), signal.SIGINT); time.sleep(60)"
    Path("stop.py").write_text(stop, encoding="utf-8")
    words = ("run", "stop.py", "--seeds", "2", "--store", "stopped", "--engine", "serial")
    done = subprocess.run([sys.executable, "-m", "seedproof", *words], check=False, timeout=120)
    return done.returncode


# By code: what ends with it.
ENDINGS = {
    ExitCode.OK: lambda call, _: call("gate", "quiet.csv", "--max", "flip_rate=0.9")[0],
    ExitCode.FAILED: lambda call, _: call("gate", "classes.csv", "--min", "accuracy=0.999")[0],
    ExitCode.ERROR: lambda call, _: call("gate", "missing.csv", "--max", "flip_rate=0.9")[0],
    ExitCode.UNDECIDED: lambda call, _: call("gate", "copies.csv", "--max", "flip_rate=0.9")[0],
    ExitCode.TRAINING_FAILED: _failed_run,
    ExitCode.INTERNAL_ERROR: _bug,
    ExitCode.INTERRUPTED: _interrupted,
}


@pytest.mark.usefixtures("training")
@pytest.mark.parametrize("code", ExitCode)
def test_command_ends_with_the_code(code, inputs, seedproof, monkeypatch, tmp_path):
    for name in ("classes", "quiet", "copies"):
        (tmp_path / f"{name}.csv").write_bytes((inputs[0] / f"{name}.csv").read_bytes())

    assert ENDINGS[code](seedproof, monkeypatch) == code


def test_page_has_every_code_and_verb():
    text = PAGE.read_text(encoding="utf-8")
    codes = dict(re.findall(r"^\| (\d+) \| (\w+) \|", text, re.MULTILINE))

    assert codes == {str(int(code)): code.name for code in ExitCode}
    assert all(f"`{verb}`" in text for verb in VERBS)
    # Every document is named next to the verb that prints it.
    for name in SCHEMA["$defs"]:
        if name.startswith("output_of_"):
            for part in SCHEMA["$defs"][name]["anyOf"]:
                assert part["$ref"].rpartition("/")[2] in text
