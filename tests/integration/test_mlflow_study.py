"""Studies and results written to MLflow, and read again; with a real server in the last test.

SEEDPROOF_MLFLOW is the program `mlflow` of an environment of its own: the server pins pyarrow.
"""

import json
import os
from statistics import fmean

import numpy as np
import pyarrow as pa
import pytest

import seedproof as sp
from support.tracking import Logged, flip_rate, predictions, server

mlflow = pytest.importorskip("mlflow")

from seedproof.integrations.mlflow import log_report, log_study, metric_name  # noqa: E402

N_RUNS = 5
ARMS = {"none": 0.4, "calm": 0.1}


def train(run):
    rng = run.rng("init")
    labels = np.arange(40) % 2
    wrong = rng.random(40) < ARMS[run.arm]
    run.log_predictions("test", predictions=np.where(wrong, 1 - labels, labels), labels=labels)
    run.log_scalar("loss", float(rng.random()))


@pytest.fixture
def trained(tmp_path):
    """Return a function that trains a study with some arms."""

    def make(*arms):
        study = sp.Study("spam", train, seeds=N_RUNS, arms=list(arms), store=tmp_path / "store")
        study.run(engine="serial")
        return study

    return make


def children_of(run_id):
    client = mlflow.MlflowClient()
    experiment = client.get_run(run_id).info.experiment_id
    return list(client.search_runs([experiment], f"tags.`mlflow.parentRunId` = '{run_id}'"))


def files_of(run_id, folder="seedproof"):
    client = mlflow.MlflowClient()
    return [file.path for file in client.list_artifacts(run_id, folder)]


def check_figures(run_id, report, prefix=""):
    """Compare the metrics of a run with the figures of a report."""
    metrics = mlflow.MlflowClient().get_run(run_id).data.metrics
    for name, estimate in report.metrics.items():
        logged = {
            end: metrics.get(metric_name(f"{prefix}{name}{end}")) for end in ("", "_low", "_high")
        }
        assert logged[""] == pytest.approx(estimate.value)
        if estimate.low is not None:
            assert logged["_low"] == pytest.approx(estimate.low)
            assert logged["_high"] == pytest.approx(estimate.high)
        else:
            assert logged["_low"] is logged["_high"] is None


@pytest.mark.usefixtures("tracking")
def test_study_is_a_parent_with_figures_and_a_run_per_run(trained):
    study = trained("none")

    parent = log_study(study, experiment="stability")

    report = sp.measure(study.store)
    check_figures(parent, report)
    children = children_of(parent)
    assert {child.data.params["seed"] for child in children} == set(report.measurement.runs)
    assert all(child.info.status == "FINISHED" for child in children)
    accuracies = [child.data.metrics["accuracy"] for child in children]
    assert fmean(accuracies) == pytest.approx(report["accuracy"].value)
    assert all("loss" in child.data.metrics for child in children)
    client = mlflow.MlflowClient()
    assert client.get_run(parent).info.status == "FINISHED"
    assert files_of(parent) == ["seedproof/report.html", "seedproof/summary.json"]
    place = client.download_artifacts(parent, "seedproof/summary.json")
    with open(place, encoding="utf-8") as file:  # noqa: PTH123 - a path of MLflow
        assert json.load(file) == json.loads(report.to_json())


@pytest.mark.usefixtures("tracking")
def test_study_of_several_arms_names_them(trained):
    study = trained(*ARMS)

    parent = log_study(study.store, experiment="stability")

    for arm, report in sp.measure_arms(study.store).items():
        check_figures(parent, report, f"{arm}/")
    assert len(children_of(parent)) == 2 * N_RUNS


@pytest.mark.usefixtures("tracking")
def test_written_study_is_read_again_with_its_pairs(trained):
    study = trained(*ARMS)
    expected = sp.compare_scalars(study.store, metrics=["loss"])["calm"]["loss"]

    parent = log_study(study, experiment="stability")

    report = sp.compare_scalars(f"mlflow:{parent}", metrics=["loss"], baseline="none")
    effect = report["calm"]["loss"]
    assert report.compared.pairs[0].is_paired
    assert (effect.value, effect.low, effect.high) == pytest.approx(
        (expected.value, expected.low, expected.high)
    )


def test_written_runs_are_no_more_runs_of_the_experiment(logged, trained):
    """A report of an experiment in the same experiment must not count its runs twice."""
    for seed in range(3):
        logged.run(f"s{seed}", seed=seed, metrics={"loss": 0.1 * seed})
    before = sp.measure_scalars(f"mlflow:{logged.name}")

    log_study(trained("none"), experiment=logged.name)
    log_report(before, experiment=logged.name)

    after = sp.measure_scalars(f"mlflow:{logged.name}")
    assert after.to_json() == before.to_json()


@pytest.mark.usefixtures("tracking")
def test_report_goes_to_the_active_run():
    report = sp.measure([[0, 1, 1, 0], [0, 1, 0, 0], [0, 1, 1, 0]])

    with mlflow.start_run() as run:
        run_id = log_report(report)
        assert mlflow.active_run().info.run_id == run.info.run_id

    assert run_id == run.info.run_id
    check_figures(run_id, report)
    assert files_of(run_id) == ["seedproof/report.html", "seedproof/summary.json"]


@pytest.mark.usefixtures("tracking")
def test_report_without_an_active_run_makes_a_run():
    report = sp.measure([[0, 1, 1, 0], [0, 1, 0, 0], [0, 1, 1, 0]])

    run_id = log_report(report)

    assert mlflow.active_run() is None
    check_figures(run_id, report)


@pytest.mark.usefixtures("tracking")
def test_comparison_logs_effects():
    numbers = {"seed": [0, 1, 2, 3, 4], "loss": [0.3, 0.4, 0.2, 0.3, 0.5]}
    other = {**numbers, "loss": [0.2, 0.3, 0.1, 0.1, 0.4]}
    result = sp.compare_scalars({"a": pa.table(numbers), "b": pa.table(other)})

    metrics = mlflow.MlflowClient().get_run(log_report(result)).data.metrics

    effect = result["b"]["loss"]
    assert metrics["b/loss_effect"] == pytest.approx(effect.value)
    assert metrics["b/loss_effect_low"] == pytest.approx(effect.low)
    assert metrics["b/loss_effect_high"] == pytest.approx(effect.high)


def test_names_that_mlflow_refuses_are_changed():
    assert metric_name("ndcg@10") == "ndcg_at_10"
    assert metric_name("arm=x, y/flip_rate") == "arm_x_ y/flip_rate"


@pytest.mark.usefixtures("tracking")
def test_names_that_become_equal_keep_their_figures():
    table = pa.table({"arm": ["a=1"] * 3 + ["a+1"] * 3, "seed": [0, 1, 2] * 2, "x": range(6)})

    run_id = log_report(sp.measure_scalars(table))

    metrics = mlflow.MlflowClient().get_run(run_id).data.metrics
    assert (metrics["a_1/x"], metrics["a_1/x_2"]) == (1.0, 4.0)


@pytest.mark.usefixtures("tracking")
def test_command_logs_a_store_and_a_table(trained, seedproof):
    study = trained("none")

    code, out, err = seedproof("report", study.store, "--mlflow", "by-command")

    assert (code, out) == (0, ""), err
    experiment = mlflow.get_experiment_by_name("by-command")
    runs = mlflow.MlflowClient().search_runs([experiment.experiment_id])
    (parent,) = (run for run in runs if "seedproof.study" in run.data.tags)
    assert parent.info.run_id in err
    assert len(runs) == N_RUNS + 1
    code, _, err = seedproof("report", study.store, "--mlflow", "x", "--out", "y.html")
    assert code == 2


@pytest.mark.slow
@pytest.mark.timeout(1200)  # the server alone may take minutes to start
@pytest.mark.skipif("SEEDPROOF_MLFLOW" not in os.environ, reason="SEEDPROOF_MLFLOW is not set")
def test_real_server_end_to_end(tracking, trained, seedproof, tmp_path):
    """A user logs runs and tables; we read them, write a study, and read that again."""
    rows = [predictions(seed) for seed in range(N_RUNS)]
    losses = [0.31, 0.35, 0.29, 0.33, 0.32]
    study = trained(*ARMS)
    with server(os.environ["SEEDPROOF_MLFLOW"], tmp_path) as uri:
        tracking(uri)
        logged = Logged()
        parent = logged.run("baseline", status=None)
        for seed, table in enumerate(rows):
            tables = {"tables/predictions.json": table}
            metrics = {"loss": losses[seed]}
            logged.run(f"s{seed}", parent=parent, seed=seed, metrics=metrics, tables=tables)
        logged.run("s5", parent=parent, status="FAILED", seed=5)

        code, out, err = seedproof("measure", f"mlflow:{logged.name}", "--json")
        assert code == 0, err
        summary = json.loads(out)
        assert summary["metrics"]["flip_rate"]["value"] == pytest.approx(flip_rate(rows))
        assert [
            check["runs"] for check in summary["checks"] if check["name"] == "missing-runs"
        ] == [["s5 (failed)"]]
        scalars = sp.measure_scalars(f"mlflow:{parent}#metrics")
        assert scalars["baseline"]["loss"].value == pytest.approx(fmean(losses))

        written = log_study(study, experiment="written")
        for arm, report in sp.measure_arms(study.store).items():
            check_figures(written, report, f"{arm}/")
        assert files_of(written) == ["seedproof/arms.html", "seedproof/arms.json"]
        again = sp.measure_scalars(f"mlflow:{written}", metrics=["loss"])
        expected = sp.measure_scalars(study.store, metrics=["loss"])
        for arm in ARMS:
            assert again[arm]["loss"].value == pytest.approx(expected[arm]["loss"].value)
