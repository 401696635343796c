import numpy as np
import pytest

from seedproof.errors import OptionError, RunError, TooFewRunsError
from seedproof.training.study import Study
from seedproof_reproductions.runs import arms_of, incomplete_arms, make_runs, open_study


def train(run):
    """Log random predictions of two examples."""
    if (run.arm, run.name) == ("crashes", "1"):
        raise RuntimeError(run.arm)
    probs = run.rng("init").dirichlet([1.0, 1.0], 2)
    run.log_predictions(
        "test", ids=[0, 1], probs=probs, labels=np.array([0, 1]), classes=["a", "b"]
    )


def make(store, *, seeds, arms=("none",)):
    """Make the runs of a study, and count how often the data were checked."""
    checked, study = [], Study("made", train, seeds=seeds, arms=arms, store=store)
    make_runs(study, check=lambda: checked.append(1), engine="serial")
    return len(checked)


def test_arm_needs_two_runs_and_missing_runs_check_the_data(tmp_path):
    """A single run is refused before any file is written; runs in the store count."""
    store = tmp_path / "store"
    with pytest.raises(TooFewRunsError):
        make(store, seeds=1)
    assert not store.exists()
    assert make(store, seeds=2) == 1
    assert make(store, seeds=1) == 0
    with pytest.raises(TooFewRunsError):
        make(store, seeds=1, arms=("none", "ema"))


def test_arms_are_opened_with_the_baseline_first(tmp_path):
    """The others follow in planned order; arms with a single run are left out and reported."""
    with pytest.raises(RunError):
        make(tmp_path, seeds=2, arms=("a", "b", "crashes"))

    sides = arms_of(tmp_path, baseline="b", split="test")

    assert [side.name for side in sides] == ["b", "a"]
    assert sides[1].seeds == sides[0].seeds is not None
    assert [side.name for side in arms_of(tmp_path, baseline=None, split="test")] == ["a", "b"]
    assert incomplete_arms(tmp_path, {"a", "b"}) == ("crashes",)
    with pytest.raises(OptionError):  # it is not the study of a recipe
        open_study(tmp_path, "conll2019")
