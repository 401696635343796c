"""Outputs of earlier versions are still read, and still reproduced."""

import json
import math
import runpy
import shlex
from pathlib import Path
from shutil import rmtree

import pyarrow.parquet as pq
import pytest
from typer.testing import CliRunner

import seedproof as sp
from seedproof.cli.main import app
from seedproof.demo.bundle import Bundle
from seedproof.demo.unpack import unpack

HERE = Path(__file__).parent / "outputs"
MAKER = runpy.run_path(str(HERE / "make_outputs.py"))
VERSIONS = sorted(path.name for path in HERE.iterdir() if (path / "blame.json").is_file())
# Sentences, which may be worded better; and times, which no two runs share.
NOT_COMPARED = {"advice", "cause", "fix", "message", "note", "notes", "seconds", "text"}
# Sentences of the doctor; elsewhere the same keys hold data.
PROSE_OF_DOCTOR = {"check", "found"}
# The same sums in another order, on another instruction set.
TOLERANCE = 1e-12


@pytest.fixture(scope="module")
def inputs(tmp_path_factory):
    """Make the demo's records as they were, and split the example in two."""
    made = MAKER["make_inputs"](tmp_path_factory.mktemp("inputs"))
    # The package explains fewer sentences than it did.
    rmtree(made["demo"].parent)
    unpack(Bundle.load(HERE.parent / "demo-0.1.0"), made["demo"].parent)
    return made


def printed(command, version, inputs, **more):
    """Return what a command prints in this process."""
    places = {"here": HERE, "root": MAKER["ROOT"], "golden": HERE.parent, "kept": HERE / version}
    places |= inputs | more
    words = command.format(**{name: shlex.quote(str(place)) for name, place in places.items()})
    result = CliRunner().invoke(app, shlex.split(words), catch_exceptions=False)
    assert result.exit_code in {0, 1, 3}
    return result.stdout


def differences(before, now, where=""):
    """Yield the places where a result differs; further keys are not differences."""
    if isinstance(before, dict) and isinstance(now, dict):
        for key in before.keys() - NOT_COMPARED:
            if key in PROSE_OF_DOCTOR and isinstance(before[key], str):
                continue
            if key not in now:
                yield f"{where}/{key} is missing"
            else:
                yield from differences(before[key], now[key], f"{where}/{key}")
    elif isinstance(before, list) and isinstance(now, list) and len(before) == len(now):
        for place, (item, other) in enumerate(zip(before, now, strict=True)):
            yield from differences(item, other, f"{where}/{place}")
    elif isinstance(before, float) and isinstance(now, float):
        if not math.isclose(before, now, rel_tol=TOLERANCE, abs_tol=TOLERANCE):
            yield f"{where}: {before} became {now}"
    elif before != now:
        yield f"{where}: {before!r} became {now!r}"


def test_differences_are_detected():
    """A changed number, a missing key and a longer list, but not another wording."""
    before = {"a": 1.0, "b": [1], "c": 0, "text": "old"}
    now = {"a": 1.0 + 1e-9, "b": [1, 2], "text": "new", "d": 1}

    places = sorted(differences(before, now))

    assert [place[:2] for place in places] == ["/a", "/b", "/c"]


@pytest.mark.parametrize("version", VERSIONS)
@pytest.mark.parametrize("name", MAKER["PRINTED"])
def test_verb_gives_the_same_figures_as_before(version, name, inputs):
    """Figures, intervals, verdicts and counts: everything but text."""
    before = json.loads((HERE / version / f"{name}.json").read_text(encoding="utf-8"))

    now = json.loads(printed(MAKER["PRINTED"][name], version, inputs))

    assert list(differences(before, now)) == []


@pytest.mark.parametrize("version", VERSIONS)
@pytest.mark.parametrize("name", MAKER["SAVED"])
def test_verb_writes_the_same_files_as_before(version, name, inputs, tmp_path):
    printed(MAKER["SAVED"][name], version, inputs, out=tmp_path / name)

    for path in (HERE / version / name).iterdir():
        now = tmp_path / name / path.name
        if path.suffix == ".json":
            texts = (place.read_text(encoding="utf-8") for place in (path, now))
            before, after = map(json.loads, texts)
            assert list(differences(before, after)) == []
        else:
            before = pq.read_table(path).to_pylist()
            assert list(differences(before, pq.read_table(now).to_pylist())) == []


@pytest.mark.parametrize("version", VERSIONS)
def test_saved_reports_can_be_compared_and_gated(version):
    reports = [HERE / version / name for name in ("report-old", "report-new")]

    compared = sp.compare([str(report) for report in reports])
    judged = sp.gate(str(reports[0]), max={"flip_rate": 0.5})

    assert compared.effect("report-new", "flip_rate").value > 0
    assert judged.outcome == "pass"


@pytest.mark.parametrize("version", VERSIONS)
def test_study_of_an_older_version_is_continued(version, inputs, tmp_path):
    """Finished runs are not repeated."""
    store = tmp_path / "study"
    for path in sorted((HERE / version / "study").rglob("*")):
        place = store / path.relative_to(HERE / version / "study")
        if path.is_file():
            place.parent.mkdir(parents=True, exist_ok=True)
            place.write_bytes(path.read_bytes())
    before = {path: path.stat().st_mtime_ns for path in store.rglob("run.json")}

    printed(MAKER["STORES"]["study"], version, inputs, out=store)

    assert {path: path.stat().st_mtime_ns for path in store.rglob("run.json")} == before
    assert len(before) == 6
