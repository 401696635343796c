"""Input that should not be believed: it is named in every output, and no gate passes over it."""

import json

import numpy as np
import pyarrow as pa
import pyarrow.csv
import pytest

# Exit code of the gate if it cannot decide.
INVESTIGATE = 3
SCRIPT = """
import sys
import numpy as np
import seedproof as sp

run = sp.current_run()
{draw}
opinion = 3 * np.random.default_rng(0).normal(size=(300, 3))
logits = opinion + rng.normal(size=opinion.shape)
if run.arm == "broken":
    sys.exit("broken")
probs = np.exp(logits) / np.exp(logits).sum(axis=1, keepdims=True)
run.log_predictions("test", probs=probs, labels=opinion.argmax(axis=1))
"""
OWN_SEED = "rng = np.random.default_rng(42)"
SEED_OF_RUN = "rng = np.random.default_rng(run.seed)"


def answers(n_runs=8, n_examples=500, n_classes=3, *, flips=0.2):
    """Return runs that follow a common opinion, each with mistakes of its own."""
    rng = np.random.default_rng(0)
    opinion = rng.integers(0, n_classes, n_examples)
    drawn = rng.integers(0, n_classes, (n_runs, n_examples))
    return np.where(rng.random((n_runs, n_examples)) < flips, drawn, opinion)


def write_table(path, values, labels=None):
    """Write answers as one row per run and example."""
    values = np.asarray(values)
    runs, examples = np.divmod(np.arange(values.size), values.shape[1])
    columns = {"run": runs, "example": examples, "prediction": values.ravel()}
    if labels is not None:
        columns["label"] = np.asarray(labels)[examples]
    pa.csv.write_csv(pa.table(columns), path)
    return path


def named(output):
    """Return the checks of a JSON output by name and severity, with their runs."""
    return {
        (check["name"], check["severity"]): check["runs"] for check in json.loads(output)["checks"]
    }


def copies():
    """Return one run ten times."""
    return np.repeat(answers(1), 10, axis=0)


def with_constant_run():
    values = answers()
    values[3] = 1
    return values


def with_shuffled_run():
    values = answers()
    values[3] = np.random.default_rng(1).permutation(values[3])
    return values


@pytest.mark.parametrize(
    ("values", "name", "runs"),
    [
        (copies(), "duplicate-runs", [str(run) for run in range(10)]),
        (with_constant_run(), "constant-run", ["3"]),
        (with_shuffled_run(), "outlier-run", ["3"]),
    ],
    ids=["copies", "constant", "shuffled"],
)
def test_bad_runs_are_named_and_no_gate_passes(seedproof, tmp_path, values, name, runs):
    """In the JSON of both verbs, in JUnit and in Markdown; unless they are allowed by name."""
    table = write_table(tmp_path / "table.csv", values)
    limit = ["--max", "flip_rate=1"]

    code, output, _ = seedproof("measure", table, "--json", "--out", tmp_path / "out")
    assert code == 0
    assert named(output) == {(name, "error"): runs}
    assert name in (tmp_path / "out" / "report.html").read_text(encoding="utf-8")

    junit, markdown = tmp_path / "junit.xml", tmp_path / "gate.md"
    code, output, _ = seedproof(
        "gate", table, *limit, "--json", "--junit", junit, "--markdown", markdown
    )
    assert code == INVESTIGATE
    assert json.loads(output)["outcome"] == "investigate"
    assert named(output) == {(name, "error"): runs}
    assert f"check.{name}" in junit.read_text(encoding="utf-8")
    assert name in markdown.read_text(encoding="utf-8")

    code, output, _ = seedproof(
        "gate", table, *limit, "--allow", name, "--json", "--junit", junit, "--markdown", markdown
    )
    assert code == 0
    assert json.loads(output)["allowed"] == [name]
    assert name in junit.read_text(encoding="utf-8")
    assert name in markdown.read_text(encoding="utf-8")


def test_gate_of_a_saved_report_obeys_its_checks(seedproof, tmp_path):
    table = write_table(tmp_path / "table.csv", copies())
    seedproof("measure", table, "--out", tmp_path / "report")

    code, output, _ = seedproof("gate", tmp_path / "report", "--max", "flip_rate=0.5", "--json")

    assert code == INVESTIGATE
    assert ("duplicate-runs", "error") in named(output)


def test_allowing_an_unknown_check_is_refused(refused, tmp_path):
    table = write_table(tmp_path / "table.csv", answers())

    error = refused("gate", table, "--max", "flip_rate=0.5", "--allow", "duplicate-run")

    assert "duplicate-runs" in error.fields["known"]


def test_script_that_sets_its_own_seed_is_reported_at_once(seedproof, tmp_path):
    """By run, status, measure and gate."""
    script, store = tmp_path / "train.py", tmp_path / "runs"
    script.write_text(SCRIPT.format(draw=OWN_SEED), encoding="utf-8")

    code, _, log = seedproof("run", script, "--seeds", 3, "--store", store, "--engine", "serial")
    assert code == 0
    assert "duplicate-runs" in log

    _, output, _ = seedproof("status", store, "--json")
    assert named(output) == {("duplicate-runs", "error"): ["0", "1", "2"]}
    _, output, _ = seedproof("measure", store, "--json")
    assert ("duplicate-runs", "error") in named(output)
    code, _, _ = seedproof("gate", store, "--max", "flip_rate=0.9")
    assert code == INVESTIGATE


def test_arm_that_the_script_ignores_is_reported(seedproof, tmp_path):
    """By run, compare and a gate with that baseline."""
    script, store = tmp_path / "train.py", tmp_path / "runs"
    script.write_text(SCRIPT.format(draw=SEED_OF_RUN), encoding="utf-8")
    options = ["--seeds", 5, "--arms", "none,ours", "--store", store, "--engine", "serial"]

    _, _, log = seedproof("run", script, *options)
    assert "identical-arms" in log

    _, output, _ = seedproof("compare", store, "--json")
    assert ("identical-arms", "error") in named(output)
    code, output, _ = seedproof(
        *("gate", store, "--arm", "ours", "--baseline", store, "--baseline-arm", "none"),
        *("--no-worse", "flip_rate", "--json"),
    )
    assert code == INVESTIGATE
    assert ("identical-arms", "error") in named(output)


def test_arm_without_a_finished_run_is_not_forgotten(seedproof, refused, tmp_path):
    script, store = tmp_path / "train.py", tmp_path / "runs"
    script.write_text(SCRIPT.format(draw=SEED_OF_RUN), encoding="utf-8")
    arms = ["--arms", "none,other,broken"]
    seedproof("run", script, "--seeds", 5, *arms, "--store", store, "--engine", "serial")

    _, output, _ = seedproof("compare", store, "--json")
    checks = json.loads(output)["checks"]
    assert ("missing-runs", "error", "broken") in {
        (check["name"], check["severity"], check["arm"]) for check in checks
    }
    _, output, _ = seedproof("measure", store)
    assert "missing-runs" in output
    error = refused("gate", store, "--arm", "broken", "--max", "flip_rate=0.9")
    assert error.fields["arm"] == "broken"


@pytest.mark.parametrize(
    ("names", "labels"),
    [(["cat", "dog", "fox "], ["cat", "dog", "fox"]), (["cat", "dog", "wolf"], ["cat", "dog"])],
    ids=["a space", "no such label"],
)
def test_classes_that_do_not_fit_the_labels_are_a_warning(seedproof, tmp_path, names, labels):
    values = answers()
    gold = np.array(labels)[np.minimum(values[0], len(labels) - 1)]
    table = write_table(tmp_path / "table.csv", np.array(names)[values], gold)

    _, output, _ = seedproof("measure", table, "--json")

    assert set(named(output)) == {("unexpected-classes", "warning")}


def test_swapped_axes_are_a_warning(seedproof, tmp_path):
    np.savez(tmp_path / "swapped.npz", predictions=answers(5, 600).T)

    _, output, _ = seedproof("measure", tmp_path / "swapped.npz", "--json")

    assert ("transposed", "warning") in named(output)


def rounded_numbers():
    """Return a regression, rounded: about sixty different answers."""
    rng = np.random.default_rng(0)
    return np.round(10 * rng.normal(size=400) + rng.normal(size=(5, 400))).astype(int)


def free_text():
    """Return another sentence for every run and example."""
    rng = np.random.default_rng(0)
    return [[f"It is about {rng.integers(10**6)} meters." for _ in range(64)] for _ in range(5)]


@pytest.mark.parametrize("values", [rounded_numbers(), free_text()], ids=["numbers", "text"])
def test_answers_that_are_not_classes_are_a_warning(seedproof, tmp_path, values):
    table = write_table(tmp_path / "table.csv", values)

    _, output, _ = seedproof("measure", table, "--json")

    assert set(named(output)) == {("not-categorical", "warning")}
