import pytest

import seedproof as sp
from seedproof.comparison.arms.judge import judge_each
from seedproof.records.location import Location
from seedproof.records.reader import Store
from seedproof.stats.intervals import PLAIN
from seedproof_reproductions.conll2019.recipe import complete, study
from seedproof_reproductions.conll2019.settings import Setting

SETTING = Setting(epochs=1, n_train=40, n_dev=20, n_test=20)


@pytest.mark.usefixtures("made_sst")
def test_results_equal_those_of_measure_and_compare(tmp_path):
    """To six digits: metrics of predictions and attention, effects, scalars, sizes and pairs."""
    store = tmp_path / "runs"
    trained = study(SETTING, store=store, seeds=2, arms=("none", "aswa"))
    results = complete(trained, SETTING, engine="serial")

    assert results["sizes"] == {"train": 40, "dev": 20, "test": 20}
    arms = [sp.compare(store, match_rates=m).arm("aswa") for m in (False, True)]
    compared, matched = judge_each(arms, PLAIN)
    for arm, kept in results["arms"].items():
        report = sp.measure(store, arm=arm)
        attention = report.measurement.explanations["attention"]
        for figures, oracle in (
            (kept["metrics"], report.measurement.metrics),
            (kept["explanations"]["attention"]["metrics"], attention.metrics),
        ):
            assert list(figures) == list(oracle)
            for name, (value, *interval) in figures.items():
                assert value == pytest.approx(oracle[name].value, rel=1e-5)
                assert len(interval) == (0 if oracle[name].low is None else 2)
        accuracy = kept["scalars"]["test_accuracy"]
        assert sum(accuracy) / 2 == pytest.approx(report["accuracy"].value, rel=1e-5)
        assert (kept["runs"], kept["n_runs"], kept["of_all"]) == (["0", "1"], 2, None)
        # An epoch of train and dev, then train and test once more.
        assert kept["scalars"]["forward_passes"] == [40 + 20 + 40 + 20] * 2
        assert sum(kept["sd_curve"]["count"]) == 20
        assert kept["explanations"]["attention"]["noise"] is None
        curves = kept["explanations"]["attention"]["curves"]
        assert (curves["classes"], sum(curves["counts"][0])) == (["positive"], 20)
        probs = Store(Location.of(store)).shards(arm=arm, split="test").shard(0).probs
        shares = (probs.argmax(-1) == 1).mean(-1).tolist()
        assert kept["drift"] == {"class": "positive", "shares": pytest.approx(shares)}
    none, aswa = results["arms"].values()
    assert (none["effects"], none["is_paired"], aswa["is_paired"]) == ({}, False, True)
    explained = aswa["explanations"]["attention"]["effects"]
    assert list(explained) == list(compared.explanations["attention"])
    assert list(aswa["effects"]) == list(compared.effects)
    assert {"accuracy", "accuracy_sd", "flip_rate"} <= set(aswa["matched"]["effects"])
    assert none["matched"]["effects"] == {}
    for kept, oracle in ((aswa, compared), (aswa["matched"], matched)):
        for name, stored in kept["effects"].items():
            effect = oracle.effects[name]
            assert (stored["scale"], stored["verdict"]) == (effect.scale, effect.verdict)
            for end in ("value", "low"):
                expected = getattr(effect, end)
                assert stored[end] == (expected and pytest.approx(expected, rel=1e-5))
    assert results["rivals"] is None
