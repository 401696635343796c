import pytest

import seedproof as sp
from seedproof_reproductions.conll2019.settings import Setting
from seedproof_reproductions.conll2019.sources import blocks_study, collect_sources
from seedproof_reproductions.results import short

SETTING = Setting(epochs=2, n_train=40, n_dev=20, n_test=30, seed=1)


@pytest.mark.usefixtures("made_sst")
def test_shares_are_those_of_blame(tmp_path):
    """Of each arm, with the number of blocks."""
    store = tmp_path / "blocks"
    study = blocks_study(SETTING, store=store, blocks=2, arms=("none", "aswa"))
    assert not study.run("serial", progress=False).failed

    results = collect_sources(store)

    assert list(results["arms"]) == ["none", "aswa"]
    for arm, stored in results["arms"].items():
        blamed = sp.blame(str(store), arm=arm, split="test").result
        assert (stored["n_runs"], stored["n_blocks"]) == (8, 2)
        assert stored["flip_rate"] == short(blamed.flips.apart)
        assert stored["total"]["init"] == [short(blamed.flips.total["init"].value), None, None]
