"""Outputs of earlier versions are still read, and still reproduced."""

import json
import math
import re
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
# Whether one run can stand in for many: left out after 0.1.0, because the answer was "poorly".
GONE = {
    f"/dynamics/{place} is missing"
    for place in (
        "by_run/single_run_pearson",
        "by_run/single_run_precision",
        "curve",
        "least_stable",
        "map",
        "metrics/single_run_pearson",
        "metrics/single_run_precision",
    )
}
# A plan has the variance over examples by kind of question, under `pilot` and `examples`.
GONE |= {"/example_correlation is missing", "/pilot/example_variance is missing"}
# Fewer than five runs give no verdicts any more, and a plan has at least five seeds.
FEW_RUNS = {
    "compare-study": re.compile(r".*/(verdict: .* 'too few runs'|detectable: .* became None)"),
    "plan-pilot": re.compile(r"/answers/0/low: 3 became 5"),
}
# Intervals that were narrower than over the examples alone.
TOO_NARROW = {
    "measure-study-none": r"/metrics/(flip_rate|label_entropy|label_entropy_corrected)",
    "measure-ingested": r"/metrics/accuracy",
    "compare-study": r"/baseline/metrics/(flip_rate|label_entropy|label_entropy_corrected)"
    r"|/arms/0/effects/predictive_(kl|js)"
    r"|/arms/0/explanations/lime/noise/explanation_(overlap|rbo)",
    "compare-versions": r"/whole/figures/accuracy_old",
    "gate-limits": r"/rules/1/found",
    "report-old": r"/metrics/accuracy",
    "versions": r"/whole/figures/accuracy_old",
}
# What a verdict may become if its interval is wider.
WEAKER = {"no difference shown", "equivalent", "too few runs"}
# A gate judges at planned looks, and its open rules name the next one.
LOOKS = re.compile(
    r"/format: 2 became 3|/rules/\d+/(reason: 'more runs' became 'next look'"
    r"|more_runs: \d+ became (5|10|20|40))"
)
# The calibration error has no bias and is over examples, too; the largest one has no interval.
CALIBRATION = re.compile(r".*/(ece/\w+: |mce/(low|high|over|verdict|note|detectable): ).*")
# The mean of the corrected entropy is extrapolated to infinitely many runs.
ENTROPY = re.compile(r".*/label_entropy_corrected/(value|low|high|detectable): .*")
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


def is_widened(name, change):
    """True if the end of an interval that was too narrow moved away from its value."""
    parts = re.fullmatch(r"(.+)/(low|high): (\S+) became (\S+)", change)
    if parts is None or not re.fullmatch(TOO_NARROW.get(name, ""), parts[1]):
        return False
    before, now = float(parts[3]), float(parts[4])
    return now < before if parts[2] == "low" else now > before


def judged_alone(before, now, n_arms):
    """Return a recorded comparison with its effects as judged now, if they are only more careful.

    Each metric was judged alone, and arms by division. Values are the same; exploratory intervals
    contain the recorded ones, primary ones lie within them, and verdicts are the same or weaker.
    """
    if isinstance(before, list):
        pairs = zip(before, now, strict=True)
        return [judged_alone(item, other, n_arms) for item, other in pairs]
    if not isinstance(before, dict):
        return before
    if "verdict" not in before or "scale" not in before:
        return {
            key: judged_alone(value, now[key], n_arms) if key in now else value
            for key, value in before.items()
        }
    if before["metric"] in {"ece", "mce"} or before["low"] is None or now["low"] is None:
        return before
    wide, narrow = (now, before) if now["exploratory"] else (before, now)
    infinite = math.inf
    assert wide["low"] <= narrow["low"] + TOLERANCE
    assert (narrow["high"] or infinite) <= (wide["high"] or infinite) + TOLERANCE
    assert n_arms > 1 or now["exploratory"] or wide["low"] == pytest.approx(narrow["low"])
    if now["verdict"] != before["verdict"]:
        assert now["verdict"] in WEAKER
    return before | {key: now[key] for key in ("low", "high", "detectable", "verdict")}


def compared_alone(before, now):
    """Return a recorded output; if it compares arms, with its effects as judged now."""
    if not {"baseline", "arms"} <= set(before):
        return before
    arms = judged_alone(before["arms"], now["arms"], len(before["arms"]))
    return before | {"arms": arms, "confidence": now["confidence"]}


def is_more_careful(name, change):
    """True if a plan promises less than before, because it counts the variance over examples."""
    parts = re.fullmatch(r"/(?:cv|pilot|answers|reaches)\b\S*: (\S+) became (\S+)", change)
    if parts is None or not name.startswith("plan"):
        return False
    before, now = parts.groups()
    # A row of one seed more reaches a little less.
    return "None" in {before, now} or float(now) >= 0.99 * float(before)


def any_match(patterns, change):
    """Return whether a change is one of the known ones."""
    return any(pattern is not None and pattern.match(change) for pattern in patterns)


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
    if "exit_code" in before:  # of a gate, whose verdicts were called checks in format 1
        before |= {"format": 2, "rules": before.pop("checks")}

    now = json.loads(printed(MAKER["PRINTED"][name], version, inputs))
    if "findings" in before:  # of the doctor, whose further checks come last
        now["findings"] = now["findings"][: len(before["findings"])]

    before = compared_alone(before, now)

    known = [CALIBRATION, ENTROPY, LOOKS if name.startswith("gate") else FEW_RUNS.get(name)]
    changes = {
        change
        for change in differences(before, now)
        if not any_match(known, change)
        and not is_widened(name, change)
        and not is_more_careful(name, change)
    }
    assert changes - GONE == set()


@pytest.mark.parametrize("version", VERSIONS)
@pytest.mark.parametrize("name", MAKER["SAVED"])
def test_verb_writes_the_same_files_as_before(version, name, inputs, tmp_path):
    printed(MAKER["SAVED"][name], version, inputs, out=tmp_path / name)

    for path in (HERE / version / name).iterdir():
        now = tmp_path / name / path.name
        if path.suffix == ".json":
            texts = (place.read_text(encoding="utf-8") for place in (path, now))
            before, after = map(json.loads, texts)
            changes = differences(compared_alone(before, after), after)
            further = [change for change in changes if not is_widened(name, change)]
            assert [x for x in further if not any_match((CALIBRATION, ENTROPY), x)] == []
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
