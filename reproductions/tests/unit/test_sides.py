import numpy as np
import pytest
from seedproof_reproductions.sides import sides_of

import seedproof as sp


@pytest.fixture
def store(tmp_path):
    """Two runs of three arms; a fourth has but one."""

    def train(run):
        if (run.arm, run.name) == ("d", "1"):
            raise RuntimeError("left alone")
        rng = run.rng("data")
        run.log_predictions("test", predictions=rng.integers(3, size=20), labels=np.zeros(20, int))

    study = sp.Study("made", train, seeds=2, arms=("a", "b", "c", "d"), store=tmp_path / "store")
    study.run("serial", progress=False)
    return tmp_path / "store"


def test_the_baseline_comes_first(store):
    """The others follow as the study names them, but for those of one run; all share seeds."""
    sides = sides_of(store, baseline="b", split="test")

    assert [side.name for side in sides] == ["b", "a", "c"]
    assert all(side.is_paired_with(sides[0]) for side in sides)
    assert [side.name for side in sides_of(store, baseline=None, split="test")] == ["a", "b", "c"]
