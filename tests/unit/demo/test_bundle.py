"""The bundle is read as it was written, and the package has the right one."""

from dataclasses import replace
from importlib.resources import files

import numpy as np
import pytest

from seedproof.demo.bundle import ARRAYS, Bundle

PACKAGED = [files("seedproof.demo") / name for name in ("records.npz", "records.json")]


@pytest.fixture(scope="module")
def packaged():
    """Return the bundle of the package."""
    return Bundle.load()


# ------------------------------------------------------------------------------- any bundle


def test_saved_bundle_is_loaded_unchanged(bundle, tmp_path):
    """Runs, names and every number."""
    bundle.save(tmp_path)

    loaded = Bundle.load(tmp_path)

    assert (loaded.study, loaded.runs) == (bundle.study, bundle.runs)
    assert (loaded.split, loaded.method, loaded.classes) == ("test", "attention", ("no", "yes"))
    for name in ARRAYS:
        assert np.array_equal(getattr(loaded, name), getattr(bundle, name)), name
    assert loaded.digest == bundle.digest


def test_equal_bundles_are_equal_bytes(bundle, tmp_path):
    """The files contain no time and no path."""
    for name in ("one", "two"):
        (tmp_path / name).mkdir()
        bundle.save(tmp_path / name)

    for file in (tmp_path / "one").iterdir():
        assert file.read_bytes() == (tmp_path / "two" / file.name).read_bytes()


def test_digest_depends_on_all_content(bundle):
    """Another score, another seed or another name changes it."""
    scores = bundle.scores.copy()
    scores[0, 0] = 0.875
    first = replace(bundle.runs[0], seeds={"init": 99})

    others = [
        replace(bundle, scores=scores),
        replace(bundle, runs=(first, *bundle.runs[1:])),
        replace(bundle, method="gradient"),
    ]

    assert len({bundle.digest, *(other.digest for other in others)}) == 4


# --------------------------------------------------------------------- that of the package


def test_package_has_ten_runs_of_two_arms_with_the_same_seeds(packaged):
    """So that the arms are paired."""
    of_arm = {arm: [run for run in packaged.runs if run.arm == arm] for arm in ("none", "naswa")}

    assert len(packaged.runs) == 20
    for runs in of_arm.values():
        assert [run.name for run in runs] == [str(name) for name in range(10)]
    assert [run.seeds for run in of_arm["none"]] == [run.seeds for run in of_arm["naswa"]]


def test_package_has_all_predictions_and_some_explanations(packaged):
    """Every test sentence of SST except the longest, and attention for 150 of them."""
    assert packaged.probs.shape == (20, 1725)
    assert packaged.classes == ("negative", "positive")
    assert np.array_equal(np.unique(packaged.labels), [0, 1])
    assert len(np.unique(packaged.explained)) == len(packaged.lengths) == 150
    assert packaged.scores.shape == (20, packaged.lengths.sum())


def test_attention_adds_up_to_one_within_half_precision(packaged):
    """Scores of whole sentences, split at the right positions."""
    begins = np.cumsum(packaged.lengths, dtype=int) - packaged.lengths

    sums = np.add.reduceat(packaged.scores.astype(float), begins, axis=1)

    assert np.abs(sums - 1).max() < 2**-11  # each score is off by that share of itself, at most


def test_accuracy_of_each_run_equals_its_logged_value(packaged):
    """Predictions, labels and runs belong together."""
    right = (packaged.probs > 0.5) == packaged.labels

    assert right.mean(axis=1) == pytest.approx(
        [run.scalars["test_accuracy"] for run in packaged.runs], abs=1e-12
    )


def test_package_has_no_text(packaged):
    """Arrays have numbers, and the facts of runs are seeds, metrics and versions."""
    with PACKAGED[0].open("rb") as file, np.load(file) as arrays:
        assert set(arrays) == ARRAYS.keys()

    assert {getattr(packaged, name).dtype.kind for name in ARRAYS} <= set("if")
    known = {name for run in packaged.runs for name in run.facts}
    assert known == {
        "target", "arguments", "threads", "deterministic", "code", "versions", "hardware",
    }  # fmt: skip


def test_package_is_small():
    """Less than half a megabyte."""
    assert sum(len(file.read_bytes()) for file in PACKAGED) < 500_000
