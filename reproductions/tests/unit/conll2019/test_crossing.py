import numpy as np
import pytest

from seedproof.errors import NotFoundError
from seedproof.records.location import Location
from seedproof.records.manifest import RunManifest
from seedproof.records.reader import Store
from seedproof_reproductions.conll2019.crossing import EPOCHS_OF, crossed_study
from seedproof_reproductions.conll2019.recipe import study
from seedproof_reproductions.conll2019.settings import Setting
from seedproof_reproductions.conll2019.training import load_epoch, trained_run

SETTING = Setting(epochs=4, n_train=60, n_dev=30, n_test=20, seed=1)


def chosen(store: Store, arm: str) -> list[RunManifest]:
    return [run for run in store.runs if run.arm == arm]


@pytest.mark.usefixtures("made_sst")
def test_arms_are_crossed_with_each_others_epochs(tmp_path):
    """An arm at its own epoch has the predictions of its chosen model; the other epoch has not."""
    source, place = tmp_path / "runs", tmp_path / "crossed"
    trained = study(SETTING, store=source, seeds=2, arms=("none", "aswa", "none-decayed"))
    trained.run("serial", progress=False)
    made = crossed_study(SETTING, source=str(source), store=place, seeds=2)
    status = made.run("serial", progress=False)
    assert not status.failed

    before, after = (Store(Location.of(path)) for path in (source, place))
    probs = {arm: after.shards(arm=arm, split="test").shard(0).probs for arm in EPOCHS_OF}
    for arm in ("none", "aswa"):
        own = before.shards(arm=arm, split="test").shard(0).probs
        np.testing.assert_array_equal(probs[arm], own)
    for arm, (_, of) in EPOCHS_OF.items():
        epochs = [run.scalars["epoch"] for run in chosen(after, arm)]
        expected = [run.scalars["epoch_chosen"] for run in chosen(before, of)]
        assert epochs == (expected or [SETTING.epochs] * 2)
    for run, run_trained in zip(chosen(after, "none-at-aswa"), chosen(before, "none"), strict=True):
        assert run.seeds == run_trained.seeds
        kept = load_epoch(source, run_trained, int(run.scalars["epoch"]))
        np.testing.assert_allclose(kept.probs.sum(axis=1), 1, rtol=1e-5)
        assert [round(float(weights.sum()), 4) for weights in kept.attention] == [1.0] * 20


@pytest.mark.usefixtures("made_sst")
def test_rate_of_a_decayed_arm_falls_to_zero(tmp_path):
    """The last of its epochs moves predictions less than that of a constant rate."""
    source = tmp_path / "runs"
    study(SETTING, store=source, seeds=2, arms=("none", "none-decayed")).run(
        "serial", progress=False
    )
    store = Store(Location.of(source))

    def last_move(arm: str) -> float:
        epochs = [
            [load_epoch(source, run, epoch).probs for epoch in (3, 4)] for run in chosen(store, arm)
        ]
        return float(np.mean([np.abs(last - before).mean() for before, last in epochs]))

    assert last_move("none-decayed") < 0.5 * last_move("none")


@pytest.mark.usefixtures("made_sst")
def test_run_that_was_never_trained_is_named(tmp_path):
    """The error says which run is missing."""
    source = tmp_path / "runs"
    trained = study(SETTING, store=source, seeds=2, arms=("none",))
    trained.run("serial", progress=False)
    with pytest.raises(NotFoundError) as caught:
        trained_run(source, trained.planned()[0], "aswa")
    assert caught.value.fields["arm"] == "aswa"
