"""Gates that are asked again after more runs, and studies that grow until they are decided."""

import json
from pathlib import Path

import numpy as np
import pytest

import seedproof as sp
from seedproof.errors import OptionError
from seedproof.records.declared import declared_runs, planned_runs
from seedproof.records.location import Location
from seedproof.testing.errors import WithFields

SCRIPT = """
import numpy as np
import seedproof as sp

run = sp.current_run()
rng = run.rng("init")
labels = np.arange(300) % 2
run.log_predictions("test", predictions=labels ^ (rng.random(300) < 0.02), labels=labels)
"""
# Reasons, as the JSON of a gate has them.
BETWEEN_LOOKS = "between looks"
DECLARED_MISSING = "declared runs missing"
EASY, BROKEN = "flip_rate<=0.2", "flip_rate<=0.001"


def train(run):
    """Flip 2 % of the answers of each run."""
    labels = np.arange(300) % 2
    wrong = run.rng("init").random(300) < 0.02
    run.log_predictions("test", predictions=labels ^ wrong, labels=labels)


def train_but_fail(run):
    """Fail in one run."""
    if run.name == "3":
        raise ValueError
    train(run)


def study(store, seeds, function=train, **options):
    """Run a study."""
    made = sp.Study("looks", function, seeds=seeds, store=store, **options)
    made.run("serial", progress=False)
    return made


@pytest.fixture
def answers():
    """Twenty-five runs in memory."""
    flips = np.random.default_rng(0).random((25, 300)) < 0.02
    return (np.arange(300) % 2) ^ flips


# ---------------------------------------------------------------------------------- arrays


def test_runs_between_looks_change_nothing(answers):
    """From 10 to 19 runs the verdict is that of the first 10, to the last digit."""
    at_ten = sp.gate(answers[:10], max={"flip_rate": 0.05})

    for n_runs in (11, 19):
        later = sp.gate(answers[:n_runs], max={"flip_rate": 0.05})
        assert later.rules[0].deciding == at_ten.rules[0].deciding
        assert (later.result.n_runs, later.result.stage.judged_runs) == (n_runs, 10)
    assert sp.gate(answers[:20], max={"flip_rate": 0.05}).result.stage.judged_runs == 20


def test_a_declared_number_of_arrays_is_taken_at_its_word(answers):
    """The 95 % interval decides there, and a wider one at later looks."""
    declared = sp.gate(answers[:12], max={"flip_rate": 0.2}, declared_runs=12)
    later = sp.gate(answers[:20], max={"flip_rate": 0.2}, declared_runs=12)
    missing = sp.gate(answers[:11], max={"flip_rate": 0.2}, declared_runs=12)

    assert declared.rules[0].deciding == declared.rules[0].estimate
    assert later.rules[0].deciding.high > later.rules[0].estimate.high
    assert (missing.outcome, missing.rules[0].reason) == ("investigate", DECLARED_MISSING)


def test_both_sides_of_a_comparison_have_the_same_look(answers):
    """The side with fewer runs decides."""
    other = answers[::-1].copy()

    result = sp.gate(answers[:12], no_worse={"flip_rate": 9.0}, baseline=other).result

    assert (result.outcome, result.stage.judged_runs) == ("pass", 10)
    effect = result.rules[0].effect
    assert result.rules[0].deciding.high > effect.high


def test_a_report_is_judged_at_looks_only(answers):
    """Its figures are of all runs: 12 are not a look, 10 are, and declared ones are."""
    reports = {n: sp.measure(answers[:n]) for n in (10, 12)}

    between = sp.gate(reports[12], max={"flip_rate": 0.2})
    assert (between.outcome, between.rules[0].reason) == ("investigate", BETWEEN_LOOKS)
    assert sp.gate(reports[10], max={"flip_rate": 0.2}).outcome == "pass"
    assert sp.gate(reports[12], max={"flip_rate": 0.2}, declared_runs=12).outcome == "pass"


def test_engines_judge_alike(answers):
    """Byte for byte."""
    texts = {
        engine: sp.gate(answers, max={"flip_rate": 0.05}, engine=engine).to_json()
        for engine in ("serial", "processes")
    }

    assert len(set(texts.values())) == 1


# ---------------------------------------------------------------------------------- stores


def test_a_study_declares_its_first_plan_and_never_more(tmp_path):
    """Growth to 20 uses the wider interval; another declared number is refused."""
    study(tmp_path, 6)
    first = sp.gate(tmp_path, max={"flip_rate": 0.2})
    study(tmp_path, 20)
    grown = sp.gate(tmp_path, max={"flip_rate": 0.2})

    assert declared_runs(Location.of(tmp_path)) == 6
    assert (first.result.stage.judged_runs, grown.result.stage.judged_runs) == (6, 20)
    assert first.rules[0].deciding == first.rules[0].estimate
    assert grown.rules[0].deciding.high > grown.rules[0].estimate.high
    with pytest.raises(OptionError, check=WithFields(n_runs=20, recorded=6)):
        sp.gate(tmp_path, max={"flip_rate": 0.2}, declared_runs=20)
    with pytest.raises(OptionError, check=WithFields(n_runs=20, recorded=6)):
        study(tmp_path, 20, declared_runs=20)


def test_a_failed_run_of_the_declared_plan_leaves_the_gate_open(tmp_path):
    """Also after later runs have finished, unless it is allowed."""
    for seeds in (6, 10):
        study(tmp_path, seeds, train_but_fail)
        result = sp.gate(tmp_path, max={"flip_rate": 0.2})
        assert (result.outcome, result.rules[0].reason) == ("investigate", DECLARED_MISSING)

    allowed = sp.gate(tmp_path, max={"flip_rate": 0.2}, allow=["missing-runs"])
    assert allowed.outcome == "pass"


def test_an_undeclared_store_records_the_number_of_the_first_gate(tmp_path):
    """As a store of an earlier version."""
    study(tmp_path, 6)
    (tmp_path / "declared.json").unlink()

    assert sp.gate(tmp_path, max={"flip_rate": 0.2}).result.stage.judged_runs == 5
    declared = sp.gate(tmp_path, max={"flip_rate": 0.2}, declared_runs=6)

    assert declared.result.stage.judged_runs == 6
    assert declared_runs(Location.of(tmp_path)) == 6
    assert sp.gate(tmp_path, max={"flip_rate": 0.2}).result.stage.judged_runs == 6


# -------------------------------------------------------------------------- until it is decided


@pytest.mark.parametrize(("rule", "code"), [(EASY, 0), (BROKEN, 1)])
def test_a_study_stops_at_the_look_that_decides(rule, code, seedproof, tmp_path, monkeypatch):
    """With the exit code of the gate; the same command again trains nothing."""
    monkeypatch.chdir(tmp_path)
    Path("train.py").write_text(SCRIPT, encoding="utf-8")
    words = ("run", "train.py", "--until-decided", rule, "--engine", "serial")

    assert seedproof(*words)[0] == code
    assert (declared_runs(Location.of("runs")), planned_runs(Location.of("runs"))) == (0, 5)
    before = {path: path.stat().st_mtime_ns for path in Path("runs").rglob("run.json")}
    assert seedproof(*words)[0] == code
    assert {path: path.stat().st_mtime_ns for path in Path("runs").rglob("run.json")} == before


def test_a_study_grows_from_look_to_look(tmp_path):
    """Up to the largest number of seeds, and continues from there."""
    looks = []
    grown = sp.Study("looks", train, store=tmp_path)
    options = {"max": {"flip_rate": 0.04}, "engine": "serial", "progress": False}

    def keep(report):
        looks.append(report.result.stage.judged_runs)

    report = grown.run_until(max_seeds=15, on_look=keep, **options)

    assert (report.outcome, looks) == ("investigate", [5, 10])
    sp.Study("looks", train, store=tmp_path).run_until(max_seeds=20, on_look=keep, **options)
    assert looks == [5, 10, 10, 20]
    judged = json.loads(sp.gate(tmp_path, max={"flip_rate": 0.04}).to_json())
    assert (judged["n_runs"], judged["declared_runs"]) == (20, None)


def test_a_study_stops_if_a_run_fails(tmp_path):
    """The gate cannot decide then."""
    failing = sp.Study("looks", train_but_fail, store=tmp_path)

    report = failing.run_until(max={"flip_rate": 0.2}, engine="serial", progress=False)

    assert (report.outcome, report.result.n_runs) == ("investigate", 4)


@pytest.mark.parametrize(
    ("words", "option"),
    [
        (("--until-decided", "flip_rate=0.05"), "--until-decided"),
        (("--until-decided", EASY, "--seeds", "5"), "--until-decided"),
        (("--until-decided", EASY, "--arms", "a,b"), "--until-decided"),
        (("--until-decided", EASY, "--vary", "init"), "--until-decided"),
        (("--until-decided", EASY, "--max-seeds", "4"), "--max-seeds"),
        (("--max-seeds", "20"), "--max-seeds"),
    ],
)
def test_options_that_contradict_each_other_are_refused(
    words, option, refused, tmp_path, monkeypatch
):
    """Before anything is trained."""
    monkeypatch.chdir(tmp_path)
    Path("train.py").write_text(SCRIPT, encoding="utf-8")

    error = refused("run", "train.py", *words)

    assert (error.code, error.fields["option"]) == ("SP115", option)
    assert not Path("runs").exists()
