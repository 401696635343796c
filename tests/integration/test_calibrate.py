"""`sp.calibrate` and `seedproof measure --calibrate-on`, from stores and tables."""

import json

import numpy as np
import pytest

import seedproof as sp
from seedproof.errors import OptionError
from seedproof.testing.errors import WithFields

N_EXAMPLES = 400


def train(run):
    """Log over-confident probabilities of a dev and a test split."""
    shared = np.random.default_rng(7)
    for split in ("dev", "test"):
        truth = shared.normal(size=N_EXAMPLES)
        labels = (shared.random(N_EXAMPLES) < 1 / (1 + np.exp(-truth))).astype(int)
        second = 1 / (1 + np.exp(-3 * (truth + run.rng("init").normal(size=N_EXAMPLES) / 3)))
        run.log_predictions(split, probs=np.stack([1 - second, second], axis=1), labels=labels)


@pytest.fixture(scope="module")
def store(tmp_path_factory):
    """Return a store of six runs with two splits."""
    place = tmp_path_factory.mktemp("calibrate") / "runs"
    sp.Study("sharp", train, seeds=6, store=place).run(engine="serial", progress=False)
    return place


def table(rows, probs, labels):
    """Return a long table of runs as lines of text."""
    lines = ["run,example,label,p_no,p_yes"]
    lines += [
        f"{run},{example},{['no', 'yes'][labels[example]]},{1 - p:.6f},{p:.6f}"
        for run, of_run in enumerate(probs)
        for example, p in zip(rows, of_run, strict=True)
    ]
    return "\n".join(lines) + "\n"


def test_over_confident_runs_get_better(store):
    """Calibrated probabilities have a smaller error, and answers stay."""
    report = sp.calibrate(store, on="dev", split="test")

    assert len(report.temperatures) == 6
    assert min(report.temperatures.values()) > 1.5
    assert report.effect("calibrated", "ece_corrected").verdict == "better"
    assert report.effect("calibrated", "flip_rate").value == 1.0
    raw = sp.measure(store, split="test")
    assert report.baseline.measurement.metrics["ece_corrected"] == raw["ece_corrected"]
    assert report.arm("calibrated").is_paired


def test_plain_calibration_error_cannot_be_primary(store):
    with pytest.raises(OptionError, check=WithFields(metric="ece", remedy="ece_corrected")):
        sp.calibrate(store, on="dev", split="test", metrics=["ece", "nll"])


def test_the_command_writes_temperatures(store, tmp_path, seedproof):
    """The same figures as the function, in JSON and on a page."""
    code, _, _ = seedproof(
        "measure", store, "--split", "test", "--calibrate-on", "dev", "--out", "page"
    )

    assert code == 0
    saved = json.loads((tmp_path / "page" / "comparison.json").read_text())
    expected = sp.calibrate(store, on="dev", split="test").temperatures
    assert saved["temperatures"] == pytest.approx(expected)
    assert (tmp_path / "page" / "comparison.html").is_file()


def test_tables_of_the_same_runs_in_another_order(tmp_path):
    """Temperatures belong to runs by name."""
    rng = np.random.default_rng(0)
    labels = rng.integers(0, 2, 300)
    logits = 2 * labels - 1 + rng.normal(size=(5, 300))
    probs = 1 / (1 + np.exp(-np.array([1, 2, 3, 4, 5])[:, np.newaxis] * logits))
    (tmp_path / "test.csv").write_text(table(range(150, 300), probs[:, 150:], labels))
    lines = table(range(150), probs[:, :150], labels).splitlines(keepends=True)
    (tmp_path / "dev.csv").write_text(lines[0] + "".join(reversed(lines[1:])))

    report = sp.calibrate(tmp_path / "test.csv", on=tmp_path / "dev.csv")

    assert list(report.temperatures) == ["0", "1", "2", "3", "4"]
    assert list(report.temperatures.values()) == sorted(report.temperatures.values())


def test_the_measured_split_is_not_fitted_on(store):
    """Fitting and measuring on the same examples would flatter the result."""
    with pytest.raises(OptionError):
        sp.calibrate(store, on="test", split="test")


def test_other_runs_are_refused(store):
    """A temperature of one run says nothing about another."""
    probs = np.full((6, N_EXAMPLES, 2), 0.5)

    with pytest.raises(OptionError):
        sp.calibrate(store, on=probs, split="test")
