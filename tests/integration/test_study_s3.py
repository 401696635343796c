"""A study whose store is on an object store: run, resumed, watched and measured as on disk."""

import json
import os
import signal
from pathlib import Path

import numpy as np
import pytest

from seedproof.records.location import Location
from seedproof.training.study import Study

TROUBLE = "not yet"


def training(folder: Path):
    """Return an instant training; one run raises and one crashes, the first time."""

    def train(run):
        with (folder / "began").open("a", encoding="utf-8") as file:
            file.write(run.name + "\n")
        again = folder / f"again-{run.name}"
        if not again.exists():
            again.touch()
            if run.name == "1":
                raise ValueError(TROUBLE)
            if run.name == "2" and (folder / "deadly").exists():
                os.kill(os.getpid(), signal.SIGKILL)
        os.write(1, f"this is run {run.name}".encode())
        probs = run.rng("init").dirichlet([1.0, 1.0, 1.0], 20)
        run.log_scalar("loss", 1.0 - probs.max())
        run.log_predictions("test", probs=probs, labels=np.arange(20) % 3)

    return train


def said(out: str) -> dict:
    """Return the output of `status --json`, without what differs between studies."""
    result = json.loads(out)
    for run in result["runs"]:
        del run["seconds"]
        run["traceback"] = run["traceback"].splitlines()[-1:]
    return result


@pytest.mark.usefixtures("without_torch")
def test_study_on_s3_works_like_one_on_disk(url, seedproof, tmp_path):
    """The same statuses and summary, and nothing is trained twice."""
    places = {"disk": tmp_path / "store", "s3": url("study")}
    statuses, summaries = {}, {}
    for kind, store in places.items():
        folder = tmp_path / f"work-{kind}"
        folder.mkdir()
        (folder / "deadly").touch()
        study = Study("far", training(folder), seeds=4, store=store)

        first = study.run("processes", workers=2, progress=False)
        middle = said(seedproof("status", store, "--json")[1])
        second = study.run("processes", workers=2, progress=False)
        study.run("processes", workers=2, progress=False)
        end = said(seedproof("status", store, "--json")[1])

        assert [run.status for run in first.runs] == ["finished", "failed", "finished", "finished"]
        assert second.is_done
        began = (folder / "began").read_text(encoding="utf-8").split()
        assert sorted(began) == ["0", "1", "1", "2", "2", "3"]
        statuses[kind] = middle, end
        code, summaries[kind], err = seedproof("measure", store, "--json")
        assert (code, err) == (0, "")

    assert statuses["s3"] == statuses["disk"]
    assert statuses["s3"][0]["runs"][1]["message"] == f"ValueError: {TROUBLE}"
    assert summaries["s3"] == summaries["disk"]
    assert json.loads(summaries["s3"])["n_runs"] == 4
    run_id = statuses["s3"][1]["runs"][3]["run_id"]
    log = Location.of(url("study")) / "runs" / run_id / "log.txt"
    assert log.read_bytes() == b"this is run 3"
