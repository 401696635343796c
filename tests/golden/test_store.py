"""Stores of earlier versions are read to the same values."""

import json
from pathlib import Path

import numpy as np
import pyarrow.parquet as pq
import pytest

import seedproof as sp
from seedproof.records.items import Relevance
from seedproof.records.location import Location
from seedproof.records.reader import Store
from seedproof.records.schema import SCHEMA_VERSION, VALUE_COLUMNS, Kind
from seedproof.records.text_answers import TextAnswers
from seedproof.seeds import SeedPlan
from seedproof.training.resume import planned, status_of
from seedproof.training.spec import StudySpec

HERE = Path(__file__).parent
# Kinds of all versions; numbers are in stores since 1.4, ranked lists and sets since 1.5, texts
# since 1.6.
CLASS_KINDS = [kind for kind in VALUE_COLUMNS if kind.has_classes]
STORES = sorted(path.name for path in HERE.glob("store-*") if path.is_dir())


@pytest.fixture(params=STORES)
def store(request):
    return HERE / request.param


@pytest.fixture
def expected(store):
    return json.loads(store.with_name(f"{store.name}.json").read_text(encoding="utf-8"))


def test_every_version_has_a_golden_store():
    major, minor = SCHEMA_VERSION

    assert [f"store-{major}.{i}" for i in range(minor + 1)] == STORES


def test_golden_store_has_its_version(store):
    version = store.name.removeprefix("store-")

    manifests = [json.loads(path.read_text(encoding="utf-8")) for path in store.rglob("*.json")]

    assert {manifest["schema"] for manifest in manifests} == {version}


@pytest.mark.parametrize("kind", CLASS_KINDS)
def test_golden_store_gives_the_same_values(store, expected, kind):
    """Ids, labels, values and extras of every kind, bit for bit."""
    shards = Store(Location.of(store)).shards(arm=kind, split="test")
    wanted = expected[kind]

    parts = [shards.shard(index) for index in range(shards.n_shards)]

    assert shards.kind is kind
    assert shards.runs == ("0", "1")
    assert shards.classes == ("cat", "dog", "füchse 🦊")
    assert [example for shard in parts for example in shard.ids.to_pylist()] == wanted["ids"]
    assert np.concatenate([shard.labels for shard in parts]).tolist() == wanted["labels"]
    field = "probs" if kind is Kind.PROBS else "predictions"
    for run in range(2):
        values = np.concatenate([getattr(shard, field)[run] for shard in parts])
        assert values.tolist() == wanted[field][run]
    if wanted["extras"] is not None:
        texts = [text for shard in parts for text in shard.extras.column("text").to_pylist()]
        assert texts == wanted["extras"]["text"]


@pytest.mark.parametrize("kind", CLASS_KINDS)
def test_predicted_classes_of_a_golden_store_are_read(store, expected, kind):
    """From their own column since 1.3, from probabilities before."""
    shards = Store(Location.of(store)).shards(arm=kind, split="test").predictions_alone()
    wanted = expected[kind]

    parts = [shards.shard(index) for index in range(shards.n_shards)]

    assert all(shard.probs is None and shard.top is None for shard in parts)
    of_probs = kind is Kind.PROBS
    for run in range(2):
        predictions = np.concatenate([shard.predictions[run] for shard in parts]).tolist()
        values = wanted["probs" if of_probs else "predictions"][run]
        assert predictions == (np.argmax(values, axis=1).tolist() if of_probs else values)


@pytest.mark.parametrize("kind", CLASS_KINDS)
def test_golden_store_gives_the_same_figures(store, expected, kind):
    """Hand-counted: three of seven examples flip; ten of twelve labeled predictions are correct."""
    report = sp.measure(store, arm=kind, split="test")

    assert report["flip_rate"].value == pytest.approx(expected[kind]["flip_rate"], rel=1e-12)
    assert report["accuracy"].value == pytest.approx(expected[kind]["accuracy"], rel=1e-12)


@pytest.mark.parametrize("name", [name for name in STORES if name >= "store-1.4"])
def test_numbers_of_a_golden_store_are_read(name):
    """In single precision on one split, in double on the other."""
    expected = json.loads((HERE / f"{name}.json").read_text(encoding="utf-8"))["numbers"]
    store = Store(Location.of(HERE / name))
    test, dev = (store.shards(arm="numbers", split=split) for split in ("test", "dev"))
    parts = [test.shard(index) for index in range(test.n_shards)]

    assert test.kind is Kind.NUMBERS
    assert test.repeats == "seeds"
    assert [example for shard in parts for example in shard.ids.to_pylist()] == expected["ids"]
    targets = np.concatenate([shard.targets for shard in parts])
    assert [None if np.isnan(x) else x for x in targets] == expected["targets"]
    assert np.concatenate([s.numbers for s in parts], axis=1).tolist() == expected["numbers"]
    of_dev = np.concatenate([dev.shard(i).numbers for i in range(dev.n_shards)], axis=1)
    assert of_dev.tolist() == expected["dev"]
    report = sp.measure(HERE / name, arm="numbers", split="test")
    assert report["mean"].value == pytest.approx(expected["mean"], rel=1e-12)


@pytest.mark.parametrize("kind", ["rankings", "sets"])
@pytest.mark.parametrize("name", [name for name in STORES if name >= "store-1.5"])
def test_lists_and_sets_of_a_golden_store_are_read(name, kind):
    """Runs number their items differently."""
    expected = json.loads((HERE / f"{name}.json").read_text(encoding="utf-8"))[kind]
    shards = Store(Location.of(HERE / name)).shards(arm=kind, split="test")
    parts = [shards.shard(index) for index in range(shards.n_shards)]

    assert shards.kind is Kind(kind)
    assert shards.classes == ("cat", "dog", "füchse 🦊")
    assert [example for shard in parts for example in shard.ids.to_pylist()] == expected["ids"]
    assert np.concatenate([s.items for s in parts], axis=1).tolist() == expected["items"]
    right = Relevance.joined([shard.relevance for shard in parts])
    for row, (items, grade) in enumerate(
        zip(expected["relevant"], expected["grades"], strict=True)
    ):
        assert right.is_known[row] == (items is not None)
        if items is not None:
            assert (right.items[row].tolist(), right.all_grades[row].tolist()) == (items, [grade])


@pytest.mark.parametrize("name", [name for name in STORES if name >= "store-1.6"])
def test_texts_of_a_golden_store_are_read(name):
    """Texts, meanings and references on one split, marks on the other."""
    expected = json.loads((HERE / f"{name}.json").read_text(encoding="utf-8"))["texts"]
    store = Store(Location.of(HERE / name))
    test, dev = (store.shards(arm="texts", split=split) for split in ("test", "dev"))
    parts = [test.shard(index) for index in range(test.n_shards)]

    assert test.kind is Kind.TEXTS
    assert [example for shard in parts for example in shard.ids.to_pylist()] == expected["ids"]
    answers = TextAnswers.joined([shard.texts for shard in parts], axis=1)
    assert answers.texts.tolist() == expected["texts"]
    assert answers.equivalent.tolist() == expected["equivalent"]
    assert [list(right) for right in answers.right] == expected["references"]
    marks = TextAnswers.joined([dev.shard(i).texts for i in range(dev.n_shards)], axis=1).correct
    assert marks.tolist() == expected["dev"]
    report = sp.measure(HERE / name, arm="texts", split="test")
    for metric in ("flip_rate", "accuracy"):
        assert report[metric].value == pytest.approx(expected[metric], rel=1e-12)


def test_manifests_of_version_1_0_are_read():
    reader = Store(Location.of(HERE / "store-1.0"))

    assert reader.study.name == "golden"
    assert reader.study.plan == {"vary": ["init"], "runs": 2}
    assert [(run.arm, run.name, run.seeds) for run in reader.runs] == [
        (arm, str(seed), {"init": seed}) for arm in ("labels", "probs", "top") for seed in (0, 1)
    ]
    assert all(run.facts == {"versions": {"golden": "1"}} for run in reader.runs)
    assert all(run.scalars == {"loss": 0.5} for run in reader.runs)


@pytest.fixture
def planned_store():
    """Return the store of the first version that a study wrote."""
    return Location.of(HERE / "store-1.1")


def test_plan_of_version_1_1_is_read(planned_store):
    study = StudySpec(
        name="golden",
        target="train.py",
        seeds=SeedPlan.all(3),
        arms=("probs", "top", "labels"),
        arguments=("--lr", "0.1"),
    )
    reader = Store(planned_store)

    assert reader.study.rows_per_group is None
    assert planned(reader.study, planned_store) == study
    assert [(run.spec.run_id, run.status) for run in status_of(planned_store).runs] == [
        ("0aaa8dd91199df17", "finished"),
        ("9e14de5c14387f55", "finished"),
        ("63ad4a67f2fe8112", "finished"),
        ("4567dedcdd60e094", "finished"),
        ("331b1fcbf81239d8", "finished"),
        ("f2f630a115346294", "finished"),
        ("961ee7f49de692cd", "failed"),
        ("532dc0901dd50cb4", "killed"),
        ("e558dfefe8ebf2a9", "waiting"),
    ]


def test_manifests_of_version_1_1_are_read(planned_store):
    reader = Store(planned_store)
    seeds = {str(level): {"init": init} for level, init in enumerate((4088532484, 3581274545))}

    assert [(run.arm, run.name) for run in reader.runs] == [
        (arm, name) for arm in ("labels", "probs", "top") for name in ("0", "1")
    ]
    assert all(run.seeds.items() >= seeds[run.name].items() for run in reader.runs)
    assert all(len(run.seeds) == 5 for run in reader.runs)
    assert all(run.facts["code"] == {"train.py": "00ff"} for run in reader.runs)
    assert all(run.scalars == {"loss": 0.5} for run in reader.runs)
    assert reader.arms() == ("probs", "top", "labels")
    assert reader.splits() == ("dev", "test")
    message = "ValueError: no data"
    for run in status_of(planned_store).failed:
        assert (run.message, run.traceback) == (message, "Traceback …")


def test_row_groups_of_version_1_1_follow_the_layout(planned_store):
    """Two rows of three probabilities, one of two top classes, six of one class: 24 bytes each."""
    store = Store(planned_store)

    sizes = {
        arm: [len(shards.shard(i)) for i in range(shards.n_shards)]
        for arm in store.arms()
        for shards in [store.shards(arm=arm, split="test")]
    }

    assert sizes == {"probs": [2, 2, 2, 1], "top": [1] * 7, "labels": [6, 1]}


def test_second_split_of_version_1_1_is_read(planned_store):
    expected = json.loads((HERE / "store-1.1.json").read_text(encoding="utf-8"))["probs"]
    shards = Store(planned_store).shards(arm="probs", split="dev")

    shard = shards.shard(0)

    assert shards.n_examples == 3
    assert shard.ids.to_pylist() == expected["ids"][:2]
    assert shard.probs.tolist() == [run[:2] for run in expected["probs"]]


@pytest.mark.parametrize("kind", CLASS_KINDS)
def test_explanations_of_version_1_1_are_read(planned_store, kind):
    expected = json.loads((HERE / "store-1.1.json").read_text(encoding="utf-8"))[kind]
    runs = [run for run in Store(planned_store).runs if run.arm == kind]

    for run in runs:
        (part,) = [part for part in run.parts if part.path.startswith("explanations/test/lime/")]
        table = pq.read_table(HERE / "store-1.1" / "runs" / run.run_id / part.path)
        assert table.to_pylist() == expected["explanations"]
        assert part.rows == 6
    assert len(runs) == 2
