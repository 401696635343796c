"""Steps of the GitHub Action: judge, then report the verdict.

    python -m seedproof.integrations.github judge
    python -m seedproof.integrations.github report

Both read environment variables only, see `action.yml`. The first step runs `seedproof gate` or
`seedproof compare`, writes its files to a folder and annotates the run. It succeeds whatever the
verdict is, so that the folder can be uploaded. The second step writes the job summary with a link
to the upload, and fails if the verdict does.
"""

import os
import shlex
import subprocess
import sys
from collections.abc import Iterator, Mapping
from pathlib import Path
from secrets import token_hex
from tempfile import mkdtemp
from typing import Any, Literal, NamedTuple, TypeAlias

from seedproof.errors import OptionError, UnreadableError
from seedproof.exit_codes import ExitCode
from seedproof.integrations.github_rules import (
    FILES,
    NO_RULES,
    is_pull_request,
    rules_of_base,
)
from seedproof.integrations.github_summary import comparison_summary, error_summary
from seedproof.records.decoding import parse_json

PREFIX = "SEEDPROOF_ACTION_"
SUMMARY = "summary.md"
LIMITS = ("max", "min", "no-worse")
# GitHub refuses longer summaries.
MAX_SUMMARY_BYTES = 1_000_000
Outcome: TypeAlias = Literal["pass", "fail", "investigate", "error"]
OUTCOMES: Mapping[int, Outcome] = {
    ExitCode.OK: "pass",
    ExitCode.FAILED: "fail",
    ExitCode.UNDECIDED: "investigate",
}
GOOD = frozenset({"better", "steadier", "equivalent"})
BAD = frozenset({"worse", "less steady"})


class Annotation(NamedTuple):
    """A message that GitHub shows at the top of the run."""

    level: Literal["notice", "warning", "error"]
    title: str
    message: str

    def __str__(self) -> str:
        title = _data(self.title).replace(":", "%3A").replace(",", "%2C")
        return f"::{self.level} title={title}::{_data(self.message)}"


def command_words(
    inputs: Mapping[str, str], folder: Path, *, rules: Path | None = None
) -> list[str]:
    """Return the arguments of seedproof for the inputs of the action.

    No line of an input can become an option: values are part of their option, and targets come
    last. Only `options` may have options. `rules` is a file with rules to be used instead of those
    in the working directory.
    """
    command, targets = inputs["command"].strip(), _lines(inputs["target"])
    if command not in {"gate", "compare"}:
        raise OptionError(
            "The input `command` is {command!r}. Pass gate or compare.",
            option="command",
            command=command,
        )
    if not targets:
        raise OptionError("The input `target` is empty. Name a table or a store.", option="target")
    options = shlex.split(inputs["options"])
    if any(word.partition("=")[0] in {"--old", "--new"} for word in options):
        raise OptionError(
            "--old and --new give no verdict. Name both as lines of `target`, the baseline first.",
            option="options",
        )
    if any(word.partition("=")[0] == "--config" for word in options):
        raise OptionError(
            "Name the file with rules in the input `config`, not in `options`: of a pull request, "
            "it is read from the base branch.",
            option="options",
        )
    limits = {name: _lines(inputs[name]) for name in LIMITS}
    baseline = _lines(inputs["baseline"])
    words = [command, "--json"]
    if command == "gate":
        words += [f"--junit={folder / 'gate.xml'}", f"--markdown={folder / SUMMARY}"]
        words += [] if rules is None else [f"--config={rules}"]
    else:
        given = {**limits, "config": inputs["config"].strip()}
        unused = next((name for name, value in given.items() if value), None)
        if unused is not None:
            raise OptionError(
                "The input `{option}` applies to the command gate. Remove it.", option=unused
            )
        words.append(f"--out={folder}")
    words += [f"--{name}={line}" for name, lines in limits.items() for line in lines]
    words += [f"--baseline={line}" for line in baseline]
    return [*words, *options, "--", *targets]


def judge(environment: Mapping[str, str]) -> None:
    """Run the command, write its files, and set the outputs of the step."""
    folder = Path(mkdtemp(prefix="seedproof-", dir=environment.get("RUNNER_TEMP")))
    inputs = {
        name: environment.get(PREFIX + name.replace("-", "_").upper(), "")
        for name in ("command", "target", *LIMITS, "baseline", "config", "options")
    }
    is_strict = _is_strict(environment)
    words = command_words(inputs, folder, rules=_rules(inputs, environment))
    # What the command prints may look like commands for GitHub.
    token = token_hex(16)
    _say(f"::stop-commands::{token}")
    done = subprocess.run(  # noqa: S603 - our own command line, without a shell
        [sys.executable, "-P", "-E", "-m", "seedproof", *words],
        stdout=subprocess.PIPE,
        check=False,
    )
    _say(f"::{token}::")
    document = parse_json(done.stdout, is_own=True) if done.stdout.strip() else {}
    outcome = outcome_of(words[0], done.returncode, document)
    result = folder / f"{words[0]}.json"
    result.write_bytes(done.stdout)
    if outcome == "error":
        text = error_summary(words[0], document)
        (folder / SUMMARY).write_text(text, encoding="utf-8")
    elif words[0] == "compare":
        (folder / SUMMARY).write_text(comparison_summary(document, outcome), encoding="utf-8")
    for annotation in annotations(words[0], outcome, document, is_strict=is_strict):
        _say(str(annotation))
    outputs = {
        "outcome": outcome,
        "exit-code": str(done.returncode),
        "json": str(result),
        "folder": str(folder),
    }
    with Path(environment["GITHUB_OUTPUT"]).open("a", encoding="utf-8") as file:
        file.writelines(f"{name}={value}\n" for name, value in outputs.items())


def _rules(inputs: Mapping[str, str], environment: Mapping[str, str]) -> Path | None:
    """Return the file with rules; None for that of the working directory, if it has one."""
    config = inputs["config"].strip()
    if inputs["command"].strip() != "gate":
        return None
    if not is_pull_request(environment):
        return Path(config) if config else None
    folder = Path(mkdtemp(prefix="seedproof-rules-", dir=environment.get("RUNNER_TEMP")))
    try:
        return rules_of_base(environment, folder, config=config)
    except UnreadableError as error:
        if config or not any(_lines(inputs[name]) for name in LIMITS):
            raise
        _say(str(Annotation("warning", "seedproof gate", f"{error} Only inputs count.")))
        file = folder / FILES[0]
        file.write_text(NO_RULES, encoding="utf-8")
        return file


def outcome_of(command: str, code: int, document: Any) -> Outcome:  # noqa: ANN401 - JSON
    """Return the verdict; whatever is not shown by a complete document is an error.

    A gate has a verdict of its own. A comparison fails if an arm is shown to be worse by the
    primary metric or by the quality that is judged with it, and passes if every arm is shown to be
    better or equivalent by the primary metric.
    """
    if not isinstance(document, dict) or "error" in document:
        return "error"
    if command == "gate":
        outcome = OUTCOMES.get(code, "error")
        return outcome if document.get("outcome") == outcome else "error"
    if code != ExitCode.OK:
        return "error"
    verdicts = [effect["verdict"] for _, effect in primary_effects(document)]
    quality = document.get("quality")
    qualities = [] if quality is None else primary_effects(document, quality)
    if any(check["severity"] == "error" for check in document["checks"]):
        return "investigate"
    if BAD.intersection(verdicts) or BAD.intersection(x["verdict"] for _, x in qualities):
        return "fail"
    return "pass" if verdicts and GOOD.issuperset(verdicts) else "investigate"


def primary_effects(
    document: Mapping[str, Any], metric: str | None = None
) -> list[tuple[str, Mapping[str, Any]]]:
    """Return the effect of each arm against the baseline on a metric, or on the primary one."""
    baseline, metric = document["baseline"], metric or document["primary"]
    if isinstance(baseline, dict):
        arms = [(arm["name"], arm["effects"]) for arm in document["arms"]]
    else:
        pairs = document["pairs"]
        arms = [(pair["arm"], pair["effects"]) for pair in pairs if pair["against"] == baseline]
    # An arm of answers without right ones has no quality.
    return [(name, effects[metric]) for name, effects in arms if metric in effects]


def annotations(
    command: str, outcome: Outcome, document: Mapping[str, Any], *, is_strict: bool
) -> Iterator[Annotation]:
    """Yield a message for each rule or arm that does not pass, and for findings on the input."""
    title = f"seedproof {command}"
    levels: dict[str, Literal["notice", "warning", "error"]] = {
        "fail": "error",
        "investigate": "error" if is_strict else "warning",
    }
    if outcome == "error":
        problem = document.get("error", {}) if isinstance(document, dict) else {}
        message = problem.get("message", "The command ended without a result; see its log.")
        yield Annotation("error", f"{title}: error {problem.get('code') or ''}".strip(), message)
        return
    for check in document["checks"]:
        if check["severity"] != "note":
            text = f"{check['message']} {check['remedy']}"
            yield Annotation("warning", f"{title}: {check['name']}", text)
    if command == "gate":
        for rule in document["rules"]:
            if rule["outcome"] != "pass":
                text = f"{rule['text']} {rule['advice']}".strip()
                yield Annotation(levels[rule["outcome"]], f"{title}: {rule['outcome']}", text)
        n_rules = len(document["rules"])
        summary = f"{n_rules} rule{'s' * (n_rules != 1)} on {document['judged_runs']} runs."
    else:
        primary = document["primary"]
        effects = [
            f"{arm}: {metric} {effect['verdict']}"
            for metric in (primary, document.get("quality"))
            if metric is not None
            for arm, effect in primary_effects(document, metric)
        ]
        summary = "; ".join(effects)
        if outcome != "pass":
            yield Annotation(levels[outcome], f"{title}: {outcome}", summary)
    if outcome == "pass":
        yield Annotation("notice", f"{title}: pass", summary)


def report(environment: Mapping[str, str]) -> ExitCode:
    """Write the job summary, and return the exit code of the step."""
    outcome, folder = environment[PREFIX + "OUTCOME"], environment[PREFIX + "FOLDER"]
    url = environment.get(PREFIX + "ARTIFACT_URL", "")
    text = (Path(folder) / SUMMARY).read_text(encoding="utf-8")
    if url:
        text += f"\n[All files of this verdict]({url})\n"
    if len(text.encode()) > MAX_SUMMARY_BYTES:
        text = "The summary is too long for this page; the artifact has it.\n"
    if summary := environment.get("GITHUB_STEP_SUMMARY"):
        with Path(summary).open("a", encoding="utf-8") as file:
            file.write(text)
    codes = {
        "pass": ExitCode.OK,
        "fail": ExitCode.FAILED,
        "investigate": ExitCode.UNDECIDED if _is_strict(environment) else ExitCode.OK,
    }
    return codes.get(outcome, ExitCode.ERROR)


def _is_strict(environment: Mapping[str, str]) -> bool:
    value = environment.get(PREFIX + "FAIL_ON_INVESTIGATE", "").strip().lower()
    if value not in {"true", "false"}:
        raise OptionError(
            "The input `fail-on-investigate` is {value!r}. Pass true or false.",
            option="fail-on-investigate",
            value=value,
        )
    return value == "true"


def _lines(text: str) -> list[str]:
    return [line.strip() for line in text.splitlines() if line.strip()]


def _data(text: str) -> str:
    """Return a text as GitHub reads it back from a command."""
    return text.replace("%", "%25").replace("\r", "%0D").replace("\n", "%0A")


def _say(line: str) -> None:
    sys.stdout.write(f"{line}\n")
    sys.stdout.flush()


def main(step: str, environment: Mapping[str, str] = os.environ) -> int:
    """Run a step; an error is an annotation."""
    try:
        if step == "report":
            return report(environment)
        judge(environment)
    except (OptionError, OSError, ValueError, KeyError) as error:
        _say(str(Annotation("error", "seedproof", f"{type(error).__name__}: {error}")))
        return ExitCode.ERROR
    return ExitCode.OK


if __name__ == "__main__":
    sys.exit(main(sys.argv[1]))
