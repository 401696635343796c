"""The bundle: what is written is read, and what the package holds is what it should be."""

from dataclasses import replace
from importlib.resources import files

import numpy as np
import pytest

from seedproof.demo.bundle import ARRAYS, Bundle

PACKAGED = [files("seedproof.demo") / name for name in ("records.npz", "records.json")]


@pytest.fixture(scope="module")
def packaged():
    """What the package holds."""
    return Bundle.load()


# ------------------------------------------------------------------------------- any bundle


def test_a_bundle_comes_back_as_it_was_saved(bundle, tmp_path):
    """Runs, names and every number."""
    bundle.save(tmp_path)

    found = Bundle.load(tmp_path)

    assert (found.study, found.runs) == (bundle.study, bundle.runs)
    assert (found.split, found.method, found.classes) == ("test", "attention", ("no", "yes"))
    for name in ARRAYS:
        assert np.array_equal(getattr(found, name), getattr(bundle, name)), name
    assert found.digest == bundle.digest


def test_equal_bundles_are_equal_bytes(bundle, tmp_path):
    """No time and no path gets into the files."""
    for name in ("one", "two"):
        (tmp_path / name).mkdir()
        bundle.save(tmp_path / name)

    for file in (tmp_path / "one").iterdir():
        assert file.read_bytes() == (tmp_path / "two" / file.name).read_bytes()


def test_the_digest_tells_bundles_apart(bundle):
    """Another score, another seed and another name are other bundles."""
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


def test_the_package_holds_ten_runs_of_two_arms_under_the_same_seeds(packaged):
    """So that the arms are compared pair by pair."""
    of_arm = {arm: [run for run in packaged.runs if run.arm == arm] for arm in ("none", "naswa")}

    assert len(packaged.runs) == 20
    for runs in of_arm.values():
        assert [run.name for run in runs] == [str(name) for name in range(10)]
    assert [run.seeds for run in of_arm["none"]] == [run.seeds for run in of_arm["naswa"]]


def test_the_package_holds_all_answers_and_some_reasons(packaged):
    """Every test sentence of SST but the longest ones, and attention for 300 of them."""
    assert packaged.probs.shape == (20, 1725)
    assert packaged.classes == ("negative", "positive")
    assert np.array_equal(np.unique(packaged.labels), [0, 1])
    assert len(np.unique(packaged.explained)) == len(packaged.lengths) == 300
    assert packaged.scores.shape == (20, packaged.lengths.sum())


def test_attention_adds_up_to_one_within_half_precision(packaged):
    """Scores are those of whole sentences, cut at the right places."""
    begins = np.cumsum(packaged.lengths, dtype=int) - packaged.lengths

    sums = np.add.reduceat(packaged.scores.astype(float), begins, axis=1)

    assert np.abs(sums - 1).max() < 2**-11  # each score is off by that share of itself, at most


def test_accuracy_of_each_run_is_what_it_logged(packaged):
    """Answers, labels and runs belong together."""
    right = (packaged.probs > 0.5) == packaged.labels

    assert right.mean(axis=1) == pytest.approx(
        [run.scalars["test_accuracy"] for run in packaged.runs], abs=1e-12
    )


def test_the_package_holds_no_text(packaged):
    """Arrays are of numbers, and what is known of runs is seeds, figures and versions."""
    with PACKAGED[0].open("rb") as file, np.load(file) as arrays:
        assert set(arrays) == ARRAYS.keys()

    assert {getattr(packaged, name).dtype.kind for name in ARRAYS} <= set("if")
    known = {name for run in packaged.runs for name in run.facts}
    assert known == {
        "target", "arguments", "threads", "deterministic", "code", "versions", "hardware",
    }  # fmt: skip


def test_the_package_stays_small():
    """Less than half a megabyte."""
    assert sum(len(file.read_bytes()) for file in PACKAGED) < 500_000
