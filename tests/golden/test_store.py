"""Stores that were written once are read for good, to the same values."""

import json
from pathlib import Path

import numpy as np
import pytest

import seedproof as sp
from seedproof.records.location import Location
from seedproof.records.reader import Store
from seedproof.records.schema import Kind

HERE = Path(__file__).parent
STORES = sorted(path.name for path in HERE.glob("store-*") if path.is_dir())


@pytest.fixture(params=STORES)
def store(request):
    """A golden store of each schema version so far."""
    return HERE / request.param


@pytest.fixture
def expected(store):
    """What it was written with."""
    return json.loads(store.with_name(f"{store.name}.json").read_text(encoding="utf-8"))


def test_the_first_version_is_among_them():
    """Readers accept every minor version from 1.0 on."""
    assert "store-1.0" in STORES


@pytest.mark.parametrize("kind", list(Kind))
def test_a_golden_store_is_read_to_the_same_values(store, expected, kind):
    """Ids, labels, values and extras of every kind, bit by bit."""
    shards = Store(Location.of(store)).shards(arm=kind, split="test")
    wanted = expected[kind]

    found = [shards.shard(index) for index in range(shards.n_shards)]

    assert shards.kind is kind
    assert shards.runs == ("0", "1")
    assert shards.classes == ("cat", "dog", "füchse 🦊")
    assert [one for shard in found for one in shard.ids.to_pylist()] == wanted["ids"]
    assert np.concatenate([shard.labels for shard in found]).tolist() == wanted["labels"]
    field = "probs" if kind is Kind.PROBS else "predictions"
    for run in range(2):
        values = np.concatenate([getattr(shard, field)[run] for shard in found])
        assert values.tolist() == wanted[field][run]
    if wanted["extras"] is not None:
        texts = [text for shard in found for text in shard.extras.column("text").to_pylist()]
        assert texts == wanted["extras"]["text"]


@pytest.mark.parametrize("kind", list(Kind))
def test_a_golden_store_is_measured_to_the_same_figures(store, expected, kind):
    """Hand-counted: three of seven examples flip; ten of twelve labeled predictions are right."""
    report = sp.measure(store, arm=kind, split="test")

    assert report["flip_rate"].value == pytest.approx(expected[kind]["flip_rate"], rel=1e-12)
    assert report["accuracy"].value == pytest.approx(expected[kind]["accuracy"], rel=1e-12)


def test_manifests_of_a_golden_store_are_read(store):
    """Seeds, facts and scalars of each run; name and plan of the study."""
    found = Store(Location.of(store))

    assert found.study.name == "golden"
    assert found.study.plan == {"vary": ["init"], "runs": 2}
    assert [(run.arm, run.name, run.seeds) for run in found.runs] == [
        (arm, str(seed), {"init": seed}) for arm in ("labels", "probs", "top") for seed in (0, 1)
    ]
    assert all(run.facts == {"versions": {"golden": "1"}} for run in found.runs)
    assert all(run.scalars == {"loss": 0.5} for run in found.runs)
