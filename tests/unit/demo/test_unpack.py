"""Unpacking: an ordinary store, and never over what somebody else has written."""

import shutil
from dataclasses import replace

import numpy as np
import pytest

from seedproof.demo.unpack import unpack
from seedproof.errors import OptionError
from seedproof.records.explanation_shards import open_explanations
from seedproof.records.location import Location
from seedproof.records.reader import Store


def contents(folder):
    """Every file below a folder with its bytes."""
    return {path: path.read_bytes() for path in folder.rglob("*") if path.is_file()}


# -------------------------------------------------------------------------------- the store


def test_the_store_holds_the_predictions_bit_for_bit(bundle, tmp_path):
    """Ids, labels, classes and both probabilities, for each arm."""
    store = Store(Location.of(unpack(bundle, tmp_path / "demo")))

    for arm, rows in (("none", slice(0, 2)), ("mine", slice(2, 4))):
        source = store.shards(arm=arm, split="test")
        shard = source.shard(0)
        assert source.runs == ("0", "1")
        assert source.classes == ("no", "yes")
        assert shard.ids.to_pylist() == [3, 5, 20]
        assert shard.labels.tolist() == [1, 0, 1]
        assert np.array_equal(shard.probs[..., 1], bundle.probs[rows])
        assert np.array_equal(shard.probs[..., 0], 1 - bundle.probs[rows])


def test_the_store_holds_the_explanations_with_places_for_words(bundle, tmp_path):
    """The first example has one token and the third has three."""
    store = Store(Location.of(unpack(bundle, tmp_path / "demo")))

    shard = open_explanations(store, arm="mine", split="test", method="attention").shard(0)

    assert shard.ids.to_pylist() == [3, 20]
    assert shard.tokens.to_pylist() == [["word 1"], ["word 1", "w2", "w3"]]
    assert shard.scores.tolist() == [[1, 0.5, 0.25, 0.25], [1, 0, 0, 1]]


def test_the_store_keeps_what_is_known_of_runs(bundle, tmp_path):
    """Names, arms, seeds and scalars, as the study logged them."""
    store = Store(Location.of(unpack(bundle, tmp_path / "demo")))

    assert store.study == bundle.study
    assert store.arms() == ("none", "mine")
    found = [(run.run_id, run.seeds, run.scalars) for run in store.runs]
    assert sorted(found, key=str) == sorted(
        [(run.run_id, run.seeds, run.scalars) for run in bundle.runs], key=str
    )


# -------------------------------------------------------------------------------- once more


def test_unpacking_twice_writes_nothing_anew(bundle, tmp_path):
    """Not even files that somebody added are touched."""
    unpack(bundle, tmp_path / "demo")
    (tmp_path / "demo" / "notes.txt").write_text("mine")
    before = contents(tmp_path)

    unpack(bundle, tmp_path / "demo")

    assert contents(tmp_path) == before


def test_unpacking_goes_on_where_it_was_stopped(bundle, tmp_path):
    """A run that is missing is written, and the others are kept."""
    store = unpack(bundle, tmp_path / "demo")
    shutil.rmtree(store / "runs" / "none-1")
    before = contents(tmp_path)

    unpack(bundle, tmp_path / "demo")

    after = contents(tmp_path)
    assert before.items() <= after.items()
    assert Store(Location.of(store)).shards(arm="none", split="test").runs == ("0", "1")


def test_an_empty_folder_will_do(bundle, tmp_path):
    """Somebody may have made it first."""
    assert unpack(bundle, tmp_path) == tmp_path / "store"


# --------------------------------------------------------------------------- other people's


def refused(bundle, folder):
    """Return the fields of the error about a folder, in which nothing is changed."""
    before = contents(folder.parent)
    with pytest.raises(OptionError) as caught:
        unpack(bundle, folder)
    assert contents(folder.parent) == before
    return caught.value.fields


def test_a_folder_with_other_files_is_refused(bundle, tmp_path):
    """The first of them are named, and what to do."""
    folder = tmp_path / "work"
    folder.mkdir()
    for name in "abcde":
        (folder / name).write_text("mine")

    fields = refused(bundle, folder)

    assert (fields["files"], fields["n_more"]) == (("a", "b", "c"), 2)
    assert (fields["folder"], fields["option"]) == (str(folder), "--out")


def test_a_file_is_refused(bundle, tmp_path):
    """It is no folder."""
    (tmp_path / "work").write_text("mine")

    fields = refused(bundle, tmp_path / "work")

    assert fields == {"folder": str(tmp_path / "work"), "option": "--out"}


def test_the_store_of_another_study_is_refused(bundle, tmp_path):
    """Its runs would be mixed with these."""
    unpack(replace(bundle, study=replace(bundle.study, name="other")), tmp_path / "demo")

    assert "store" in refused(bundle, tmp_path / "demo")["files"]


def test_the_demo_of_another_version_is_refused(bundle, tmp_path):
    """Figures of some runs and of newer ones would be those of no study."""
    unpack(replace(bundle, scores=bundle.scores / 2), tmp_path / "demo")

    assert "store" in refused(bundle, tmp_path / "demo")["files"]
