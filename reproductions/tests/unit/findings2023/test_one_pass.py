from dataclasses import asdict

import pytest
from seedproof_reproductions.findings2023.one_pass import compare_once
from seedproof_reproductions.sides import sides_of

import seedproof as sp
from seedproof.comparison.arms.compare import compare_sides
from seedproof.records.location import Location

ARMS = ("none", "a", "b")


@pytest.fixture
def sides(tmp_path):
    """Five runs of two arms and four of a third; 40 examples of three classes."""

    def train(run):
        if (run.arm, run.name) == ("b", "4"):
            raise RuntimeError("left alone")
        rng = run.rng("data")
        probs = rng.dirichlet([4.0 if run.arm == "a" else 1.0, 0.5, 0.5], size=40)
        run.log_predictions("test", probs=probs, labels=[0, 1] * 20)

    study = sp.Study("made", train, seeds=5, arms=ARMS, store=tmp_path / "store")
    study.run("serial", progress=False)
    return sides_of(tmp_path / "store", baseline="none", split="test")


@pytest.mark.parametrize("arm", [1, 2])
def test_asked_alone_is_a_comparison_of_two(sides, tmp_path, arm):
    """The same effects to the last bit, whether runs are paired or not."""
    found = compare_once(sides)[sides[arm].name]

    oracle = compare_sides([sides[0], sides[arm]], Location.of(tmp_path)).arms[0]
    assert {name: asdict(one) for name, one in found.effects.items()} == {
        name: asdict(one) for name, one in oracle.effects.items()
    }
    assert found.high_entropy == oracle.high_entropy


def test_of_all_is_a_comparison_of_all(sides, tmp_path):
    """Whose intervals are wider than those of two."""
    found = compare_once(sides)

    oracle = compare_sides(sides, Location.of(tmp_path))
    for arm in oracle.arms:
        assert dict(found[arm.name].of_all) == dict(arm.effects)
        assert found[arm.name].metrics == arm.measurement.metrics
    alone, of_all = found["a"].effects["flip_rate"], found["a"].of_all["flip_rate"]
    assert of_all.low < alone.low < alone.high < of_all.high


def test_the_first_is_compared_with_nobody(sides):
    """Alone, it has figures all the same."""
    for some in (sides, sides[:1]):
        first = compare_once(some)["none"]
        assert first.effects == first.of_all == {}
        assert first.high_entropy is None
        assert first.metrics["accuracy"].value > 0
