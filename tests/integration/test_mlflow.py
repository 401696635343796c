"""Runs of MLflow, read by the real client; figures from loops over what was logged.

MLflow keeps them in files here; `test_mlflow_study.py` has a server.
"""

import json
import os
import socket
import time
from statistics import fmean, stdev

import pyarrow as pa
import pytest

import seedproof as sp
from seedproof.errors import (
    EmptyInputError,
    MissingValueError,
    NotFoundError,
    OptionError,
    TooFewRunsError,
    UnreadableError,
)
from support.tracking import Logged, flip_rate, predictions

pytest.importorskip("mlflow")

LOSSES = {"a": [0.31, 0.35, 0.29, 0.33, 0.32], "b": [0.21, 0.24, 0.22, 0.26, 0.2]}


@pytest.fixture
def two_parents(logged):
    """Return an experiment with two parents of five runs each, and metrics."""
    for arm, losses in LOSSES.items():
        parent = logged.run(arm, status="FINISHED", metrics={"loss": 99.0})
        for seed, loss in enumerate(losses):
            logged.run(f"{arm}-{seed}", parent=parent, metrics={"loss": loss}, seed=seed, lr=0.1)
    return logged


# ------------------------------------------------------------------------------------- metrics


def test_metrics_of_an_experiment_are_scalars_of_its_parents(two_parents):
    """Metrics of the parents themselves are aggregates, and in no figure."""
    report = sp.measure_scalars(f"mlflow:{two_parents.name}")

    assert list(report) == ["a", "b"]
    for arm, losses in LOSSES.items():
        assert report[arm]["loss"].value == pytest.approx(fmean(losses))
        assert report[arm]["loss_sd"].value == pytest.approx(stdev(losses))


def test_comparison_pairs_runs_by_their_seeds(two_parents):
    report = sp.compare_scalars(f"mlflow:{two_parents.name}")

    table = pa.table(
        {
            "arm": [arm for arm in LOSSES for _ in range(5)],
            "seed": [*range(5), *range(5)],
            "loss": [loss for losses in LOSSES.values() for loss in losses],
        }
    )
    expected = sp.compare_scalars(table)["b"]["loss"]
    effect = report["b"]["loss"]
    assert (effect.value, effect.low, effect.high) == (expected.value, expected.low, expected.high)
    assert effect.verdict == "better"
    assert report.compared.pairs[0].is_paired


def test_command_line_measures_and_gates(two_parents, seedproof):
    target = f"mlflow:{two_parents.name}"

    code, out, _ = seedproof("measure", target, "--json")
    assert code == 0
    assert [arm["name"] for arm in json.loads(out)["arms"]] == ["a", "b"]
    limits = ("--max", "loss=0.5", "--arm", "a", "--declared-runs", 5)
    assert seedproof("gate", target, *limits)[0] == 0
    assert (
        seedproof("gate", target, "--max", "loss=0.1", "--arm", "a", "--declared-runs", 5)[0] == 1
    )
    assert seedproof("compare", target)[0] == 0


def test_two_parents_are_compared_by_their_ids(two_parents):
    ids = [
        run.info.run_id
        for run in two_parents.client.search_runs([two_parents.experiment])
        if run.info.run_name in LOSSES
    ]

    report = sp.measure_scalars([f"mlflow:{run_id}" for run_id in ids])

    assert set(report) == {"a", "b"}


def test_baseline_of_a_gate_may_be_another_parent(two_parents):
    ids = {
        run.info.run_name: run.info.run_id
        for run in two_parents.client.search_runs([two_parents.experiment])
    }

    report = sp.gate(
        f"mlflow:{ids['b']}",
        baseline=f"mlflow:{ids['a']}",
        no_worse={"loss": 0.0},
        declared_runs=5,
    )

    assert report.exit_code == 0


def test_plan_uses_the_spread_of_a_parent(two_parents):
    ids = {
        run.info.run_name: run.info.run_id
        for run in two_parents.client.search_runs([two_parents.experiment])
    }

    plan = sp.plan(pilot=f"mlflow:{ids['a']}", metric="loss", detect=0.02)

    expected = sp.plan(
        pilot=pa.table({"seed": range(5), "loss": LOSSES["a"]}), metric="loss", detect=0.02
    )
    assert plan.to_json() == expected.to_json()


def test_last_value_of_a_metric_counts(logged):
    for seed in range(3):
        run_id = logged.run(f"s{seed}", seed=seed, status=None)
        for step in range(3):
            logged.client.log_metric(run_id, "loss", 1.0 + seed - step, step=step)
        logged.client.set_terminated(run_id)

    report = sp.measure_scalars(f"mlflow:{logged.name}")

    assert report[logged.name]["loss"].value == pytest.approx(0.0)


def test_failed_and_running_runs_are_in_no_figure_but_in_a_check(logged):
    for seed in range(5):
        logged.run(f"s{seed}", seed=seed, metrics={"loss": 0.1 * seed})
    logged.run("crashed", seed=5, metrics={"loss": 50.0}, status="FAILED")
    logged.run("active", seed=6, metrics={"loss": 60.0}, status=None)

    report = sp.measure_scalars(f"mlflow:{logged.name}")
    gated = sp.gate(f"mlflow:{logged.name}", max={"loss": 1.0}, declared_runs=5)

    assert report[logged.name]["loss"].value == pytest.approx(0.2)
    for checks in (report.checks, gated.result.checks):
        (check,) = (check for check in checks if check.name == "missing-runs")
        assert check.runs == ("crashed (failed)", "active (running)")


def test_metric_that_some_runs_lack_is_left_out_with_a_note(logged):
    for seed in range(3):
        metrics = {"loss": 0.1 * seed} | ({"f1": 0.5} if seed else {})
        logged.run(f"s{seed}", seed=seed, metrics=metrics)

    report = sp.measure_scalars(f"mlflow:{logged.name}")

    assert set(report[logged.name]) == {"loss", "loss_sd"}
    assert [note.fields["names"] for note in report.scalars.notes] == [("f1",)]
    with pytest.raises(MissingValueError):
        sp.measure_scalars(f"mlflow:{logged.name}", metrics=["f1"])


def test_run_that_diverged_is_not_dropped(logged):
    for seed, loss in enumerate((0.1, 0.2, float("nan"))):
        logged.run(f"s{seed}", seed=seed, metrics={"loss": loss})

    with pytest.raises(MissingValueError):
        sp.measure_scalars(f"mlflow:{logged.name}")


def test_numbered_metrics_are_not_runs(logged):
    """Columns such as seed_0 and seed_1 of a file would be runs; metrics never are."""
    for seed in range(3):
        logged.run(f"s{seed}", seed=seed, metrics={"run_0": 0.1 * seed, "run_1": 0.2 * seed})

    report = sp.measure_scalars(f"mlflow:{logged.name}")

    assert report[logged.name]["run_1"].value == pytest.approx(0.2)


def test_metrics_of_the_machine_are_left_out(logged):
    for seed in range(3):
        logged.run(f"s{seed}", seed=seed, metrics={"loss": 0.1 * seed, "system/cpu": 50.0})

    report = sp.measure_scalars(f"mlflow:{logged.name}")

    assert set(report[logged.name]) == {"loss", "loss_sd"}
    assert "system-metrics" in [note.code for note in report.scalars.notes]


# -------------------------------------------------------------------------------------- tables


@pytest.mark.parametrize("path", ["tables/predictions.json", "out/predictions.parquet"])
def test_tables_of_runs_are_predictions(logged, path):
    rows = [predictions(seed) for seed in range(5)]
    parent = logged.run("baseline")
    for seed, table in enumerate(rows):
        logged.run(
            f"s{seed}", parent=parent, seed=seed, metrics={"loss": 0.1}, tables={path: table}
        )

    report = sp.measure(f"mlflow:{parent}")

    assert report["flip_rate"].value == pytest.approx(flip_rate(rows))
    correct = [x == y for run in rows for x, y in zip(run["prediction"], run["label"], strict=True)]
    assert report["accuracy"].value == pytest.approx(fmean(correct))
    assert report.measurement.runs == ("0", "1", "2", "3", "4")
    (note,) = (note for note in report.measurement.notes if note.code == "table-chosen")
    assert note.fields["path"] == path


def test_metrics_are_read_on_request_if_there_are_tables(logged):
    for seed in range(3):
        tables = {"predictions.json": predictions(seed)}
        logged.run(f"s{seed}", seed=seed, metrics={"loss": 0.1 * seed}, tables=tables)

    report = sp.measure_scalars(f"mlflow:{logged.name}#metrics")

    assert report[logged.name]["loss"].value == pytest.approx(0.1)


def test_arms_of_tables_are_compared(logged, seedproof):
    rows = {lr: [predictions(seed, flip) for seed in range(5)] for lr, flip in ((1, 0.1), (2, 0.4))}
    for lr, tables in rows.items():
        for seed, table in enumerate(tables):
            logged.run(f"{lr}-{seed}", seed=seed, lr=lr, tables={"predictions.json": table})

    code, out, err = seedproof("compare", f"mlflow:{logged.name}", "--json")

    assert code == 0, err
    assert [arm["name"] for arm in json.loads(out)["arms"]] == ["lr=2"]
    measured = sp.measure_arms(f"mlflow:{logged.name}")
    for lr, tables in rows.items():
        assert measured[f"lr={lr}"]["flip_rate"].value == pytest.approx(flip_rate(tables))


def test_finished_run_without_its_table_is_reported(logged):
    rows = [predictions(seed) for seed in range(3)]
    for seed, table in enumerate(rows):
        logged.run(f"s{seed}", seed=seed, tables={"predictions.json": table})
    logged.run("s3", seed=3)
    logged.run("s4", seed=4, status="FAILED", tables={"predictions.json": predictions(4)})

    report = sp.measure(f"mlflow:{logged.name}")

    assert report["flip_rate"].value == pytest.approx(flip_rate(rows))
    (check,) = (check for check in report.checks if check.name == "missing-runs")
    assert check.runs == ("s3 (finished)", "s4 (failed)")


def test_table_of_a_run_that_was_opened_again_is_read_again(logged):
    """Downloads are kept for a run as it was: a notebook sees what was logged since."""
    first, last = [predictions(seed) for seed in range(3)], predictions(9)
    ids = [logged.run(f"s{i}", seed=i, tables={"p.json": x}) for i, x in enumerate(first)]
    sp.measure(f"mlflow:{logged.name}")
    time.sleep(0.01)  # the end of a run is in milliseconds
    logged.log_table(ids[0], "p.json", last)
    logged.client.set_terminated(ids[0])

    report = sp.measure(f"mlflow:{logged.name}")

    assert report["flip_rate"].value == pytest.approx(flip_rate([last, *first[1:]]))


def test_several_tables_must_be_chosen_from(logged):
    for seed in range(3):
        tables = {
            f"{name}.parquet": predictions(seed + shift) for name, shift in (("a", 0), ("b", 9))
        }
        logged.run(f"s{seed}", seed=seed, tables=tables)

    with pytest.raises(OptionError) as refused:
        sp.measure(f"mlflow:{logged.name}")
    report = sp.measure(f"mlflow:{logged.name}#b.parquet")

    assert refused.value.fields["known"] == ("a.parquet", "b.parquet")
    expected = flip_rate([predictions(seed + 9) for seed in range(3)])
    assert report["flip_rate"].value == pytest.approx(expected)


def test_table_without_answers_leaves_the_metrics(logged):
    for seed in range(3):
        tables = {"importances.parquet": {"feature": ["x"], "weight": [1.0]}}
        logged.run(f"s{seed}", seed=seed, metrics={"loss": 0.1 * seed}, tables=tables)

    report = sp.measure_scalars(f"mlflow:{logged.name}")

    assert report[logged.name]["loss"].value == pytest.approx(0.1)
    assert "tables-unread" in [note.code for note in report.scalars.notes]


# -------------------------------------------------------------------------------------- errors


def test_unknown_experiment_lists_the_known_ones(logged, refused):
    error = refused("measure", "mlflow:no-such")

    assert isinstance(error, NotFoundError)
    assert logged.name in error.fields["known"]


def test_unknown_artifact_is_refused(logged, refused):
    logged.run("s0", seed=0, metrics={"loss": 1.0})

    assert isinstance(refused("measure", f"mlflow:{logged.name}#no.csv"), NotFoundError)


def test_run_without_children_and_empty_experiment_are_refused(logged):
    run_id = logged.run("alone")
    empty = Logged()

    for target in (run_id, empty.name):
        with pytest.raises(EmptyInputError):
            sp.measure(f"mlflow:{target}")


def test_unfinished_experiment_is_refused(logged):
    logged.run("s0", status=None)

    with pytest.raises(TooFewRunsError):
        sp.measure(f"mlflow:{logged.name}")


def test_server_that_is_down_is_an_error_in_one_line(tracking, refused):
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        uri = f"http://127.0.0.1:{free.getsockname()[1]}"
    tracking(uri)

    error = refused("measure", "mlflow:sample")

    assert isinstance(error, UnreadableError)
    assert error.fields["uri"] == uri


def test_settings_of_the_environment_are_restored(logged, monkeypatch):
    monkeypatch.delenv("MLFLOW_HTTP_REQUEST_MAX_RETRIES")
    with pytest.raises(EmptyInputError):
        sp.measure(f"mlflow:{logged.name}")

    assert "MLFLOW_HTTP_REQUEST_MAX_RETRIES" not in os.environ


def test_files_and_runs_cannot_be_mixed(two_parents):
    with pytest.raises(OptionError):
        sp.measure([f"mlflow:{two_parents.name}", "other.csv"])
