"""Decisions end to end: tables and stores, exit codes, repeated calls, and the simulated loop."""

import json
import sys
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.csv
import pytest

import seedproof as sp
from seedproof.errors import OptionError
from seedproof.records.location import Location
from seedproof.records.manifest import RunManifest, StudyManifest
from seedproof.records.schema import Kind, Layout
from seedproof.records.writer import RunWriter
from seedproof.testing.errors import WithFields

N_EXAMPLES = 1_000
LABELS = np.random.default_rng(0).integers(0, 2, N_EXAMPLES)
RUN_MORE, QUALITY_LOST = "run more", "quality lost"
BENCHMARKS = Path(__file__).parents[2] / "benchmarks"


def answers(accuracy, n_runs, *, seed):
    """Return predicted classes whose accuracy varies by about a point from run to run."""
    rng = np.random.default_rng(seed)
    difficulty = np.random.default_rng(1).random(N_EXAMPLES)
    rows = []
    for _ in range(n_runs):
        cut = accuracy + rng.normal(0.0, 0.01)
        is_wrong = difficulty + rng.normal(0.0, 0.1, N_EXAMPLES) > cut
        rows.append(np.where(is_wrong, 1 - LABELS, LABELS))
    return np.array(rows)


def write_table(path, classes):
    runs, examples = np.divmod(np.arange(classes.size), N_EXAMPLES)
    columns = {"run": runs, "example": examples, "label": LABELS[examples]}
    pa.csv.write_csv(pa.table({**columns, "prediction": classes[runs, examples]}), path)
    return path


def write_store(path, arms):
    layout, place = Layout(Kind.LABELS, ("0", "1")), Location.of(path)
    StudyManifest("a study", rows_per_group=layout.rows_per_group).write(place)
    for arm, classes in arms.items():
        for index, of_run in enumerate(classes):
            run = RunManifest(f"{arm}{index}", str(index), arm=arm, seeds={"init": index})
            with RunWriter(place, run, layout, rows_per_group=layout.rows_per_group) as writer:
                writer.write(pa.array(np.arange(N_EXAMPLES)), LABELS, of_run)
    return path


def decide(baseline, candidate, tmp_path, **options):
    ledger = tmp_path / "loop.jsonl"
    return sp.decide(baseline, candidate, labels=LABELS, ledger=ledger, **options)


# ------------------------------------------------------------------------------ the command line


@pytest.mark.parametrize(
    ("answer", "code", "idea"),
    [("keep", 0, (0.86, 20)), ("discard", 1, (0.74, 5)), (RUN_MORE, 3, (0.83, 2))],
)
def test_each_answer_has_its_exit_code(answer, code, idea, tmp_path, seedproof):
    base = write_table(tmp_path / "base.csv", answers(0.8, 20, seed=2))
    new = write_table(tmp_path / "idea.csv", answers(*idea, seed=3))
    command = ("decide", base, new, "--ledger", "loop.jsonl")

    exit_code, out, err = seedproof(*command)

    assert (exit_code, err) == (code, "")
    assert len(out.splitlines()) <= 24
    assert max(map(len, out.splitlines())) <= 80
    exit_code, out, err = seedproof(*command, "--json")
    content = json.loads(out)
    assert (exit_code, content["answer"], content["exit_code"]) == (code, answer, code)
    assert content["position"] == 1


def test_arms_of_a_store_are_decided_with_a_ledger_in_the_store(tmp_path, seedproof):
    arms = {"none": answers(0.8, 20, seed=2), "idea": answers(0.88, 20, seed=3)}
    store = write_store(tmp_path / "store", arms)
    command = ("decide", store, store, "--baseline-arm", "none", "--arm", "idea", "--json")

    code, out, _ = seedproof(*command)

    assert (code, json.loads(out)["name"]) == (0, "idea")
    assert (store / "decisions.jsonl").is_file()
    assert sp.measure(store, arm="none").measurement.n_runs == 20  # the store is still readable


# ------------------------------------------------------------------------------------ the rules


def test_calling_again_spends_nothing_and_changes_nothing(tmp_path):
    base, idea = answers(0.8, 20, seed=2), answers(0.8, 20, seed=3)

    first = decide(base, idea, tmp_path)
    size = (tmp_path / "loop.jsonl").stat().st_size
    again = decide(base, answers(0.9, 3, seed=5), tmp_path)
    same = decide(base, idea, tmp_path)

    assert same.answer == first.answer == "discard"
    assert same.summary() | {"is_recorded": False, "checks": []} == first.summary() | {"checks": []}
    assert same.result.is_recorded
    assert again.result.position == 2
    assert (tmp_path / "loop.jsonl").stat().st_size > size


def test_runs_between_planned_numbers_do_not_count(tmp_path):
    base, idea = answers(0.8, 20, seed=2), answers(0.825, 9, seed=6)

    at_five, at_nine = decide(base, idea[:5], tmp_path), decide(base, idea, tmp_path)

    assert at_five.effect == at_nine.effect
    assert (at_five.more_runs, at_nine.more_runs) == ((5, 0), (1, 0))


@pytest.mark.parametrize(
    ("n_base", "n_idea", "more"), [(5, 1, (1, 0)), (3, 2, (0, 2)), (5, 10, (0, 5))]
)
def test_baseline_needs_as_many_runs_as_the_candidate(n_base, n_idea, more, tmp_path):
    report = decide(answers(0.8, n_base, seed=2), answers(0.9, n_idea, seed=3), tmp_path)

    assert (report.answer, report.more_runs) == (RUN_MORE, more)
    assert not (tmp_path / "loop.jsonl").exists()


def test_kept_candidate_needs_new_runs_to_become_the_baseline(tmp_path):
    """The runs that it was kept for are lucky more often than not."""
    idea = answers(0.88, 15, seed=3)
    kept = decide(answers(0.8, 20, seed=2), idea[:10], tmp_path)

    next_idea = answers(0.93, 5, seed=4)
    too_early = decide(idea[:10], next_idea, tmp_path)
    ready = decide(idea, next_idea, tmp_path)

    assert kept.answer == "keep"
    assert (too_early.answer, too_early.more_runs) == (RUN_MORE, (0, 5))
    assert ready.result.level is not None
    assert ready.result.n_baseline == 15


def test_error_in_the_input_is_to_be_repaired_and_spends_nothing(tmp_path):
    copies = np.repeat(answers(0.9, 1, seed=3), 5, axis=0)
    base = answers(0.8, 20, seed=2)

    report = decide(base, copies, tmp_path)

    assert (report.answer, report.exit_code) == ("repair", 3)
    assert not (tmp_path / "loop.jsonl").exists()
    assert decide(base, copies, tmp_path, allow=["duplicate-runs"]).answer != "repair"


def test_metric_of_stability_can_decide(tmp_path):
    base, idea = answers(0.8, 20, seed=2), np.tile(LABELS, (20, 1))
    idea[np.arange(20), np.arange(20)] ^= 1

    report = decide(base, idea, tmp_path, metric="flip_rate", min_gain=0.1)

    assert report.answer == "keep"


def test_steadier_candidate_that_loses_accuracy_is_discarded(tmp_path):
    """Ten points are lost, and flips are rarer: a gain in stability alone would be kept."""
    noisy = answers(0.8, 10, seed=2) ^ (np.random.default_rng(9).random((10, N_EXAMPLES)) < 0.05)
    worse = answers(0.6, 10, seed=3)

    report = decide(noisy, worse, tmp_path, metric="flip_rate")
    again = decide(noisy, worse, tmp_path, metric="flip_rate")

    assert (report.answer, report.reason) == ("discard", QUALITY_LOST)
    assert report.effect.verdict == "steadier"
    assert report.sentences()[0].fields["quality"] == "accuracy"
    assert report.summary()["quality"]["verdict"] == "worse"
    assert again.result.is_recorded
    assert again.result.quality == report.result.quality


def test_metric_of_quality_has_no_guard(tmp_path):
    report = decide(answers(0.8, 5, seed=2), answers(0.81, 5, seed=3), tmp_path)

    assert report.summary()["quality"] is None


def test_report_has_a_page_a_table_and_a_chart(tmp_path):
    report = decide(answers(0.8, 20, seed=2), answers(0.83, 5, seed=3), tmp_path)

    report.save(tmp_path / "out")

    assert json.loads((tmp_path / "out" / "decision.json").read_text()) == report.summary()
    assert (tmp_path / "out" / "decision.html").is_file()
    assert report.figure_names == ("gain",)
    assert len(report.to_frame()) == 1


# ------------------------------------------------------------------------------------- refusals


def test_metric_without_an_interval_is_refused_and_spends_nothing(tmp_path):
    with pytest.raises(OptionError, check=WithFields(metric="ambiguity")):
        decide(answers(0.8, 5, seed=2), answers(0.8, 5, seed=3), tmp_path, metric="ambiguity")

    assert not (tmp_path / "loop.jsonl").exists()


def test_plain_calibration_error_decides_nothing(tmp_path):
    """The corrected one is named, and not taken in silence."""
    probs = np.full((5, 200, 2), 0.5)
    with pytest.raises(OptionError, check=WithFields(metric="ece", remedy="ece_corrected")):
        decide(probs, probs, tmp_path, metric="ece")

    assert not (tmp_path / "loop.jsonl").exists()


def test_tables_need_a_ledger():
    with pytest.raises(OptionError, check=WithFields(keyword="ledger")):
        sp.decide(answers(0.8, 5, seed=2), answers(0.8, 5, seed=3), labels=LABELS)


def test_baseline_cannot_be_its_own_candidate(tmp_path):
    base = answers(0.8, 5, seed=2)

    with pytest.raises(OptionError, check=WithFields(keyword="candidate")):
        decide(base, base.copy(), tmp_path)


@pytest.mark.parametrize(
    "options", [{"false_keeps": 0.0}, {"false_keeps": 1.0}, {"min_gain": -0.1}]
)
def test_shares_outside_their_range_are_refused(options, tmp_path):
    with pytest.raises(OptionError, check=WithFields(option=next(iter(options)))):
        decide(answers(0.8, 5, seed=2), answers(0.8, 5, seed=3), tmp_path, **options)


# ----------------------------------------------------------------------------- the simulated loop


@pytest.fixture
def research_loop(monkeypatch):
    monkeypatch.syspath_prepend(str(BENCHMARKS))
    import research_loop

    yield research_loop
    sys.modules.pop("research_loop")


def test_decide_keeps_fewer_false_candidates_than_usual_rules(research_loop):
    """A small size of what the docs show."""
    scenario = next(iter(research_loop.SCENARIOS))

    results = {
        rule: research_loop.simulate(rule, scenario, n_loops=5, seed=1)
        for rule in research_loop.RULES
    }

    shares = {rule: row["false_share"]["mean"] for rule, row in results.items()}
    gains = {rule: row["gain"]["mean"] for rule, row in results.items()}
    usual = list(results)[:4]
    assert shares["`decide`"] <= 0.1
    assert all(gains["`decide`"] > gains[rule] for rule in usual)


def test_docs_show_the_stored_results(research_loop):
    page = BENCHMARKS.parent / "docs" / "explanation" / "research-loops.md"
    stored = json.loads(page.with_suffix(".json").read_text(encoding="utf-8"))

    text = page.read_text(encoding="utf-8")

    assert stored["loops"] >= 200
    assert all(research_loop.table(results) in text for results in stored["results"].values())
