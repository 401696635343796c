"""Reports that earlier versions saved."""

import json

import numpy as np
import pytest

import seedproof as sp
from seedproof.measurement.load import load_saved
from seedproof.records.location import Location


@pytest.fixture
def saved(tmp_path):
    """Save a report, and return its folder and content."""
    rng = np.random.default_rng(0)
    probs = rng.dirichlet([1.0, 1.0, 1.0], (5, 60))
    report = sp.measure(probs, labels=rng.integers(0, 3, 60))
    report.save(tmp_path)
    return tmp_path, json.loads((tmp_path / "summary.json").read_bytes())


def rewrite(folder, content):
    (folder / "summary.json").write_text(json.dumps(content), encoding="utf-8")
    return load_saved(Location.of(folder)).metrics


@pytest.mark.parametrize("over", ["runs × examples", "runs"])
def test_calibration_errors_of_older_reports_get_todays_names(saved, over):
    """The corrected one was called `ece`; before that, the plain one had an interval over runs."""
    folder, content = saved
    metrics = content["metrics"]
    plain, corrected = metrics["ece"]["value"], metrics.pop("ece_corrected")
    metrics["ece"] = corrected | {"over": over}

    loaded = rewrite(folder, content)

    assert loaded["ece"] == sp.Estimate(pytest.approx(plain))
    assert ("ece_corrected" in loaded) == (over != "runs")
    if over != "runs":
        assert loaded["ece_corrected"].low == corrected["low"]


def test_todays_names_are_kept(saved):
    folder, content = saved

    loaded = rewrite(folder, content)

    assert loaded["ece"].low is None
    assert loaded["ece_corrected"].value == content["metrics"]["ece_corrected"]["value"]
