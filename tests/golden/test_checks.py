"""Stored and shipped predictions are healthy: no check of the input calls them an error."""

from pathlib import Path

import pytest

import seedproof as sp
from seedproof.demo.bundle import Bundle
from seedproof.demo.unpack import unpack
from seedproof.predictions.arms import checks_of_store
from seedproof.records.location import Location
from seedproof.records.reader import Store

HERE = Path(__file__).parent
STORES = sorted(path.parent for path in HERE.rglob("study.json"))


@pytest.mark.parametrize("store", STORES, ids=lambda store: store.relative_to(HERE).as_posix())
def test_stored_runs_have_no_error(store):
    checks = checks_of_store(Store(Location.of(store)))

    assert [check for check in checks if check.severity == "error"] == []


def test_records_of_the_demo_have_no_error(tmp_path):
    checks = checks_of_store(Store(Location.of(unpack(Bundle.load(), tmp_path))))

    assert [check for check in checks if check.severity == "error"] == []


def test_example_has_no_finding():
    assert sp.Predictions.load(HERE.parents[1] / "examples" / "predictions.csv").checks == ()
