r"""Run the steps of `action.yml` on this machine, with the environment variables of GitHub.

    python docs/scripts/run_action.py target=examples/predictions.csv max=flip_rate=0.2

Each argument is an input of the action; a line end in a value is written as `\n`. Outputs, files
and the job summary are printed. Steps of other actions are not run, except that an upload copies
its folder. It needs PyYAML and bash.
"""

import os
import re
import shutil
import subprocess
import sys
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from tempfile import mkdtemp
from typing import Any

import yaml

ROOT = Path(__file__).resolve().parents[2]
EXPRESSION = re.compile(r"\$\{\{\s*(.*?)\s*\}\}")
CONDITION = re.compile(r"([\w.-]+)\s*(==|!=)\s*'([^']*)'")


@dataclass
class Finished:
    """Result of a run: exit code of the job, outputs, log, summary and uploaded folder."""

    code: int
    log: str
    summary: str
    outputs: dict[str, str] = field(default_factory=dict)
    uploaded: Path | None = None


def run_action(inputs: Mapping[str, str], folder: Path, *, temporary: Path) -> Finished:
    """Run all steps in a folder.

    Args:
        inputs: Inputs of the action; the others have their defaults.
        folder: The checkout of the workflow.
        temporary: Folder for the files of the runner.

    Returns:
        What GitHub would show.
    """
    action = yaml.safe_load((ROOT / "action.yml").read_text(encoding="utf-8"))
    if unknown := inputs.keys() - action["inputs"].keys():
        sys.exit(f"no such input: {', '.join(sorted(unknown))}")
    defaults = {name: str(entry.get("default", "")) for name, entry in action["inputs"].items()}
    values = {f"inputs.{name}": value for name, value in (defaults | dict(inputs)).items()}
    summary, finished = temporary / "summary.md", Finished(0, "", "")
    summary.touch()
    for index, step in enumerate(action["runs"]["steps"]):
        if not _holds(step.get("if", ""), values):
            continue
        output = temporary / f"output-{index}"
        output.touch()
        if "uses" in step:
            finished.uploaded = _upload(step, values, temporary, output)
        else:
            done = _run(step, values, folder, temporary, {"GITHUB_OUTPUT": str(output)})
            finished.log += done.stdout
            finished.code = done.returncode
        for line in output.read_text(encoding="utf-8").splitlines():
            name, _, value = line.partition("=")
            values[f"steps.{step.get('id', index)}.outputs.{name}"] = value
        if finished.code != 0:
            break
    finished.summary = summary.read_text(encoding="utf-8")
    finished.outputs = {
        name: _filled(entry["value"], values) for name, entry in action["outputs"].items()
    }
    return finished


def _filled(text: object, values: Mapping[str, str]) -> str:
    return EXPRESSION.sub(lambda match: values.get(match[1], ""), str(text))


def _holds(condition: str, values: Mapping[str, str]) -> bool:
    """Return whether a condition holds: comparisons with texts, joined by &&."""
    for part in filter(None, condition.split("&&")):
        match = CONDITION.fullmatch(part.strip())
        if match is None:
            raise ValueError(f"condition {part!r} is not understood")
        if (values.get(match[1], "") == match[3]) != (match[2] == "=="):
            return False
    return True


def _run(
    step: Mapping[str, Any],
    values: Mapping[str, str],
    folder: Path,
    temporary: Path,
    files: Mapping[str, str],
) -> subprocess.CompletedProcess[str]:
    environment = os.environ | {
        "PATH": os.pathsep.join([str(Path(sys.executable).parent), os.environ["PATH"]]),
        "GITHUB_ACTIONS": "true",
        "GITHUB_ACTION_PATH": str(ROOT),
        "GITHUB_STEP_SUMMARY": str(temporary / "summary.md"),
        "RUNNER_TEMP": str(temporary),
        **files,
        **{name: _filled(text, values) for name, text in step.get("env", {}).items()},
    }
    # The options with which GitHub starts bash.
    bash = ["bash", "--noprofile", "--norc", "-eo", "pipefail", "-c", _filled(step["run"], values)]
    return subprocess.run(  # noqa: S603 - steps of our own action
        bash,
        cwd=folder / _filled(step.get("working-directory", "."), values),
        env=environment,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        check=False,
    )


def _upload(
    step: Mapping[str, Any], values: Mapping[str, str], temporary: Path, output: Path
) -> Path:
    """Copy the folder that a step uploads."""
    if not step["uses"].startswith("actions/upload-artifact@"):
        raise ValueError(f"{step['uses']} cannot be run here")
    name, path = (_filled(step["with"][key], values) for key in ("name", "path"))
    uploaded = temporary / "artifacts" / name
    shutil.copytree(path, uploaded)
    output.write_text(f"artifact-url={uploaded.as_uri()}\n", encoding="utf-8")
    return uploaded


def main() -> None:
    """Run the action with the inputs of the command line."""
    pairs = (word.partition("=") for word in sys.argv[1:])
    inputs = {name: value.replace("\\n", "\n") for name, _, value in pairs}
    temporary = Path(mkdtemp(prefix="run-action-"))
    finished = run_action({"install": "false"} | inputs, Path.cwd(), temporary=temporary)
    print(finished.log)
    print(f"--- summary\n{finished.summary}")
    print("--- outputs", *(f"{name}={value}" for name, value in finished.outputs.items()), sep="\n")
    sys.exit(finished.code)


if __name__ == "__main__":
    main()
