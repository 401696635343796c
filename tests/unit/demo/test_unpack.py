"""Unpacking writes an ordinary store, and never overwrites other files."""

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
    """Return every file below a folder with its bytes."""
    return {path: path.read_bytes() for path in folder.rglob("*") if path.is_file()}


# -------------------------------------------------------------------------------- the store


def test_store_has_the_predictions_bit_for_bit(bundle, tmp_path):
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


def test_store_has_the_explanations_with_positions_for_words(bundle, tmp_path):
    """The first example has one token, the third has three."""
    store = Store(Location.of(unpack(bundle, tmp_path / "demo")))

    shard = open_explanations(store, arm="mine", split="test", method="attention").shard(0)

    assert shard.ids.to_pylist() == [3, 20]
    assert shard.tokens.to_pylist() == [["word 1"], ["word 1", "w2", "w3"]]
    assert shard.scores.tolist() == [[1, 0.5, 0.25, 0.25], [1, 0, 0, 1]]


def test_store_has_the_facts_of_runs(bundle, tmp_path):
    """Names, arms, seeds and scalars of the study."""
    store = Store(Location.of(unpack(bundle, tmp_path / "demo")))

    assert store.study == bundle.study
    assert store.arms() == ("none", "mine")
    runs = [(run.run_id, run.seeds, run.scalars) for run in store.runs]
    assert sorted(runs, key=str) == sorted(
        [(run.run_id, run.seeds, run.scalars) for run in bundle.runs], key=str
    )


# -------------------------------------------------------------------------------- once more


def test_unpacking_twice_writes_nothing(bundle, tmp_path):
    """Added files are not touched either."""
    unpack(bundle, tmp_path / "demo")
    (tmp_path / "demo" / "notes.txt").write_text("mine")
    before = contents(tmp_path)

    unpack(bundle, tmp_path / "demo")

    assert contents(tmp_path) == before


def test_unpacking_continues_after_an_interruption(bundle, tmp_path):
    """A missing run is written, and the others are kept."""
    store = unpack(bundle, tmp_path / "demo")
    shutil.rmtree(store / "runs" / "none-1")
    before = contents(tmp_path)

    unpack(bundle, tmp_path / "demo")

    after = contents(tmp_path)
    assert before.items() <= after.items()
    assert Store(Location.of(store)).shards(arm="none", split="test").runs == ("0", "1")


def test_empty_folder_is_accepted(bundle, tmp_path):
    """It need not be new."""
    assert unpack(bundle, tmp_path) == tmp_path / "store"


# --------------------------------------------------------------------------- other people's


def refused(bundle, folder):
    """Return the fields of the error about a folder, which is not changed."""
    before = contents(folder.parent)
    with pytest.raises(OptionError) as caught:
        unpack(bundle, folder)
    assert contents(folder.parent) == before
    return caught.value.fields


def test_folder_with_other_files_is_refused(bundle, tmp_path):
    """The error names the first files."""
    folder = tmp_path / "work"
    folder.mkdir()
    for name in "abcde":
        (folder / name).write_text("mine")

    fields = refused(bundle, folder)

    assert (fields["files"], fields["n_more"]) == (("a", "b", "c"), 2)
    assert (fields["folder"], fields["option"]) == (str(folder), "--out")


def test_file_is_refused(bundle, tmp_path):
    """It is not a folder."""
    (tmp_path / "work").write_text("mine")

    fields = refused(bundle, tmp_path / "work")

    assert fields == {"folder": str(tmp_path / "work"), "option": "--out"}


def test_store_of_another_study_is_refused(bundle, tmp_path):
    """Its runs would be mixed with these."""
    unpack(replace(bundle, study=replace(bundle.study, name="other")), tmp_path / "demo")

    assert "store" in refused(bundle, tmp_path / "demo")["files"]


def test_demo_of_another_version_is_refused(bundle, tmp_path):
    """Runs of two versions would be mixed."""
    unpack(replace(bundle, scores=bundle.scores / 2), tmp_path / "demo")

    assert "store" in refused(bundle, tmp_path / "demo")["files"]
