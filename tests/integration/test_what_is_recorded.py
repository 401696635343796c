"""The docs page lists everything that records and reports contain."""

import json
import re
from pathlib import Path

import pytest

import seedproof as sp

PAGE = Path(__file__).parents[2] / "docs" / "explanation" / "what-is-recorded.md"
SCRIPT = """
import seedproof as sp

run = sp.current_run()
if run.arm == "broken":
    raise ValueError("no")
(run.checkpoint_dir / "weights").touch()
run.log_predictions("test", predictions=run.rng("init").integers(0, 2, 50), labels=[0, 1] * 25)
run.log_explanations("test", "lime", ids=[0], tokens=[["a"]], scores=[[1.0]])
"""


def listed(title):
    """Return the names in the first column of the tables below a heading."""
    section = PAGE.read_text(encoding="utf-8").partition(f"\n## {title}\n")[2].partition("\n## ")[0]
    cells = re.findall(r"^\| (`[^|]+) \|", section, re.MULTILINE)
    return {name.rstrip("/") for cell in cells for name in re.findall(r"`([^`]+)`", cell)}


@pytest.mark.usefixtures("without_torch")
def test_page_lists_files_and_facts(seedproof, tmp_path):
    (tmp_path / "train.py").write_text(SCRIPT, encoding="utf-8")
    how = ("--seeds", "2", "--arms", "none,broken", "--store", "store", "--workers", "2")
    seedproof("run", "train.py", *how)
    seedproof("measure", "store", "--arm", "none", "--out", "out", "--pairs")

    files = {path.name for path in (tmp_path / "store").iterdir()} - {"runs"}
    files |= {path.name for path in tmp_path.glob("store/runs/*/*")}
    facts = json.loads(next(tmp_path.glob("store/runs/*/run.json")).read_bytes())["facts"]
    assert {"study.json", "run.json", "failure.json", "log.txt", "checkpoints"} <= files
    assert files | facts.keys() <= listed("A store")
    written = {path.name for path in (tmp_path / "out").iterdir()}
    assert {"report.html", "summary.json", "examples.parquet"} <= written <= listed("A report")


def test_page_lists_the_files_of_every_result():
    public = [getattr(sp, name) for name in sp.__all__]
    results = [x for x in public if isinstance(x, type) and issubclass(x, sp.Result)]

    files = {vars(kind).get(name) for kind in results for name in ("_page_file", "_json_file")}

    assert len(files) > 10
    assert files - {None} <= listed("A report")
