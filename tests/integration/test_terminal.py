"""The output of each verb: one snapshot per verb, and no wording in any other test."""

import re
import shutil
from importlib.metadata import entry_points
from pathlib import Path

import pytest

from seedproof.cli.plugins import GROUP

ROOT = Path(__file__).parents[2]
OUTPUTS = ROOT / "tests" / "golden" / "outputs"
KEPT = OUTPUTS / "0.1.0"
EXAMPLE = ROOT / "examples" / "predictions.csv"
# Everything that they read is in the current folder, so that no path of a machine is printed.
COMMANDS = {
    "help": "--help",
    "plan": "plan --sd 0.012 --detect 0.005",
    "doctor": "doctor constant_generator.py --workers 1",
    "run": "run train.py --seeds 2 --engine serial",
    "status": "status study",
    "ingest": "ingest old.csv --out store",
    "measure": "measure study --arm none --split test --out report",
    "compare": "compare study --split test --out comparison",
    "compare-versions": "compare --old old.csv --new new.csv --out versions",
    "gate": "gate old.csv --max flip_rate=0.1 --min accuracy=0.99 --max ambiguity=0.26",
    "decide": "decide old.csv new.csv --ledger loop.jsonl",
    "blame": "blame blame-study --split test",
    "report": "report old.csv --figure flip_matrix --format svg",
    "demo": "demo",
}
EXIT_CODES = {"decide": 1, "doctor": 1, "gate": 1}
TIMES = re.compile(r"\b\d+(\.\d+)? (s|min|h)\b")


@pytest.fixture
def folder(tmp_path):
    """Return the stores of the golden outputs under short names, and the example in two halves."""
    for name in ("study", "blame-study"):
        (tmp_path / name).symlink_to(KEPT / name)
    shutil.copy(OUTPUTS / "train.py", tmp_path)
    shutil.copy(Path(__file__).parent / "doctor" / "constant_generator.py", tmp_path)
    header, *rows = EXAMPLE.read_text(encoding="utf-8").splitlines()
    for name, runs in (("old", "01234"), ("new", "56789")):
        half = [row for row in rows if row[0] in runs]
        (tmp_path / f"{name}.csv").write_text("\n".join([header, *half, ""]), encoding="utf-8")
    return tmp_path


@pytest.mark.skipif(not EXAMPLE.is_file(), reason="the examples are not part of this installation")
@pytest.mark.usefixtures("without_torch")
@pytest.mark.parametrize("verb", COMMANDS)
def test_terminal_output_matches_its_snapshot(verb, seedproof, folder, snapshot, monkeypatch):
    """Command, standard output, messages, exit code, and the new files."""
    monkeypatch.setenv("COLUMNS", "80")
    before = set(folder.iterdir())

    code, out, err = seedproof(*COMMANDS[verb].split())

    assert code == EXIT_CODES.get(verb, 0), err
    if verb == "help":  # verbs of other packages come and go with what is installed
        plugins = {point.name for point in entry_points(group=GROUP)}
        lines = out.splitlines(keepends=True)
        out = "".join(
            line for line in lines if line.split()[:1] not in [[name] for name in plugins]
        )
    new = sorted(path.name for path in set(folder.iterdir()) - before)
    parts = [
        f"$ seedproof {COMMANDS[verb]}",
        out.rstrip("\n"),
        TIMES.sub("# s", err).rstrip("\n"),
        f"exit code {code}",
        f"new: {', '.join(new)}" if new else "",
    ]
    lines = "\n\n".join(part for part in parts if part).split("\n")
    snapshot(f"cli-{verb}.txt", "".join(line.rstrip(" ") + "\n" for line in lines))
