"""A small real store, and what is kept of it."""

import shutil
from collections import Counter
from pathlib import Path
from statistics import median

import numpy as np
import pytest
from scipy.stats import entropy
from seedproof_reproductions.findings2023 import training
from seedproof_reproductions.findings2023.arms import ARMS, GROUPS
from seedproof_reproductions.findings2023.recipe import study
from seedproof_reproductions.findings2023.results import collect, stored_results
from seedproof_reproductions.findings2023.settings import Setting
from seedproof_reproductions.keeping import as_text, write_results

import seedproof as sp
from seedproof.errors import OptionError, TooFewRunsError
from seedproof.records.dynamics import dynamics_of
from seedproof.records.location import Location
from seedproof.records.reader import Store

SETTING = Setting(epochs=2, batch_size=64, n_traced=3, n_traced_control=4)
# Not in the order in which results have them.
TRAINED = ("linear", "none", "tgtss", "swa", "fixed-init", "tgtss-shared")
N_SEEDS = 8


@pytest.fixture(scope="module")
def place(tmp_path_factory):
    """Where the store of all tests is."""
    return tmp_path_factory.mktemp("findings2023") / "store"


@pytest.fixture
def store(place, prepared, monkeypatch):
    """Eight seeds of six arms; whoever asks first trains them."""
    monkeypatch.setattr(training, "prepare", lambda _: prepared)
    made = study(SETTING, store=place, seeds=N_SEEDS, arms=TRAINED)
    status = made.run("serial", progress=False)
    assert not status.failed, status.failed[0].message
    return place


@pytest.fixture
def without(store, tmp_path):
    """Copies the store without some runs."""

    def copy(drop):
        other = tmp_path / "copy"
        shutil.copytree(store, other)
        for run in Store(Location.of(other)).runs:
            if drop(run):
                shutil.rmtree(other / "runs" / run.run_id)
        return other

    return copy


def runs_of(store, arm):
    """What the runs of an arm left behind."""
    return [run for run in Store(Location.of(store)).runs if run.arm == arm]


def predictions_of(store, arm):
    """What they predict, axes (runs, examples)."""
    source = Store(Location.of(store)).shards(arm=arm, split="test")
    return source.shard(0).probs.argmax(axis=-1)


def entropies_of(votes):
    """Label entropy of each example, by counting."""
    return np.array([entropy(list(Counter(column).values())) for column in votes.T])


def step_entropies_of(store, arm):
    """Label entropy within each traced run, by counting: (traced, examples)."""
    location, found = Location.of(store), []
    for run in runs_of(store, arm):
        if any(part.path.startswith("dynamics/") for part in run.parts):
            record = dynamics_of(location, run, "test")
            bounds = zip(record.offsets[:-1], record.offsets[1:], strict=True)
            found.append([entropy(record.counts[start:stop]) for start, stop in bounds])
    return np.array(found)


def test_every_arm_is_there_in_the_order_of_all_arms(store):
    """With its group, and with what its runs share."""
    found = collect(store)

    arms = found["arms"]
    assert list(arms) == [name for name in ARMS if name in TRAINED]
    assert {name: arm["shares"] for name, arm in arms.items() if arm["shares"]} == {
        "tgtss-shared": "teacher",
        "fixed-init": "init",
    }
    assert arms["linear"]["group"] == "levers"
    assert all(name in GROUPS[arm["group"]].arms for name, arm in arms.items())
    assert {arm["n_runs"] for arm in arms.values()} == {N_SEEDS}
    assert found["sizes"] == {"train": 250, "test": 100}
    assert found["n_classes"] == 5
    assert found["setting"]["learning_rate"] == 1e-3


def test_figures_are_those_of_measure(store):
    """To six digits, with their intervals."""
    found = collect(store)["arms"]

    for arm in ("none", "swa"):
        report = sp.measure(store, arm=arm)
        for name, (value, *interval) in found[arm]["metrics"].items():
            assert value == pytest.approx(report[name].value, rel=1e-5)
            assert interval == (
                []
                if report[name].low is None
                else pytest.approx([report[name].low, report[name].high], rel=1e-5)
            )


def test_effects_are_those_of_compare(store):
    """Of all arms: with the whole store. Alone: narrower, around the same value."""
    found, oracle = collect(store)["arms"], sp.compare(store)

    assert found["none"]["effects"] == found["none"]["of_all"] == {}
    for arm in ("tgtss", "linear"):
        assert set(found[arm]["of_all"]) == {"accuracy", "flip_rate", "label_entropy"}
        for name, kept in found[arm]["of_all"].items():
            effect, alone = oracle.effect(arm, name), found[arm]["effects"][name]
            assert kept["low"] == pytest.approx(effect.low, rel=1e-5)
            assert kept["verdict"] == effect.verdict
            assert alone["value"] == kept["value"]
            assert kept["low"] < alone["low"] < alone["high"] < kept["high"]


def test_costs_are_in_units_of_the_control(store):
    """Medians over runs; the encoder and two heads, one of which teaches the other."""
    found = collect(store)["arms"]

    passes = {arm: [run.scalars["forward_passes"] for run in runs_of(store, arm)] for arm in found}
    for arm, values in passes.items():
        expected = median(values) / median(passes["none"])
        assert found[arm]["costs"]["training"] == pytest.approx(expected, rel=1e-4)
    seconds = [run.scalars.get("seconds") for run in runs_of(store, "none")]
    # Runs that are traced take longer, and do not say how long.
    assert seconds.count(None) == 4
    assert found["none"]["scalars"]["seconds"] == pytest.approx(median(seconds[4:]), rel=1e-5)
    assert found["none"]["costs"] == {"training": 1.0, "heads": 1.0, "serving": 1.0, "seconds": 1.0}
    # 12 features to 5 classes in place of 256 hidden units between them, twice as often.
    assert found["linear"]["costs"]["heads"] == pytest.approx(2 * 60 / (256 * 17), rel=1e-4)
    # A shared teacher was trained once, so that seconds say too little.
    assert found["tgtss-shared"]["costs"]["seconds"] is None
    assert found["tgtss-shared"]["costs"]["heads"] == found["tgtss"]["costs"]["heads"] > 2


def test_single_runs_waver_as_their_counts_say(store):
    """Mean over examples and traced runs, and its ratio to the control's."""
    found = collect(store)["arms"]

    mean = {arm: step_entropies_of(store, arm).mean() for arm in ("none", "tgtss", "linear")}
    for arm, value in mean.items():
        assert found[arm]["single_run"][0] == pytest.approx(value, rel=1e-5)
    assert [found[arm]["n_traced"] for arm in mean] == [4, 3, 3]
    # 250 utterances in batches of 64, twice; the linear head sees them four times.
    assert [found[arm]["n_steps"] for arm in mean] == [8, 8, 16]
    ratio = found["tgtss"]["single_run_effects"]["all"]
    assert ratio["value"] == pytest.approx(mean["tgtss"] / mean["none"], rel=1e-4)
    assert ratio["low"] < ratio["value"] < ratio["high"]


def test_who_was_looked_at_otherwise_has_no_ratio(store):
    """Twice as many steps; or an average is served, and the weights that train were traced."""
    found = collect(store)["arms"]

    nothing = {"all": None, "high": None, "high_naive": None}
    assert found["linear"]["single_run_effects"] == nothing
    assert found["swa"]["single_run_effects"] == nothing
    assert (found["swa"]["n_traced"], found["swa"]["single_run"]) == (0, None)


def test_high_entropies_are_told_in_three_ways(store):
    """As published, and chosen by other runs of the control and of the arm."""
    found = collect(store)["arms"]["tgtss"]

    before, after = (entropies_of(predictions_of(store, arm)) for arm in ("none", "tgtss"))
    high = before > 0.56
    assert found["high"]["n_examples"] == high.sum() > 0
    assert found["high"]["naive"] == pytest.approx(after[high].sum() / before[high].sum(), rel=1e-5)
    oracle = sp.compare(store).arm("tgtss").high_entropy
    assert found["high"]["cross_fitted"]["value"] == pytest.approx(1 - oracle.reduction, rel=1e-5)
    assert found["high"]["n_chosen"] == pytest.approx(oracle.n_chosen)
    turned = sp.compare(store, baseline="tgtss").arm("none").high_entropy
    assert found["high"]["by_arm"]["value"] == pytest.approx(1 / (1 - turned.reduction), rel=1e-5)


def test_within_runs_high_examples_are_chosen_by_those_that_were_not_traced(store):
    """As published, all runs choose; four of the control's eight were traced."""
    found = collect(store)["arms"]["tgtss"]["single_run_effects"]

    votes = predictions_of(store, "none")
    before, after = (step_entropies_of(store, arm).mean(axis=0) for arm in ("none", "tgtss"))
    for name, chooser in (("high", votes[4:]), ("high_naive", votes)):
        chosen = entropies_of(chooser) > 0.56
        expected = after[chosen].sum() / before[chosen].sum()
        assert found[name]["value"] == pytest.approx(expected, rel=1e-5)


def test_the_control_has_its_stand_in_and_pictures(store):
    """Figures of `sp.measure`; every example is in one cell of each picture."""
    found = collect(store)["control"]

    oracle = sp.measure(store, arm="none").measurement.dynamics
    assert found["stand_in"]["pearson"][0] == pytest.approx(
        oracle.metrics["single_run_pearson"].value, rel=1e-5
    )
    assert (found["stand_in"]["n_traced"], found["stand_in"]["n_steps"]) == (4, 8)
    totals = {"entropy_sigma": 100, "one_run_many": 400, "map": 100}
    for name, total in totals.items():
        picture = found["pictures"][name]
        assert np.sum(picture["counts"]) == total
        assert np.shape(picture["counts"]) == (len(picture["y"]) - 1, len(picture["x"]) - 1)
    # The first column of entropies holds whoever is never contested, and a few more.
    steady = (entropies_of(predictions_of(store, "none")) == 0).sum()
    assert np.sum(found["pictures"]["entropy_sigma"]["counts"], axis=0)[0] >= steady > 0


def test_entropy_and_sd_of_the_gold_probability_are_correlated(store):
    """As the paper draws it."""
    found = collect(store)["control"]["sigma"]["pearson"]

    shard = Store(Location.of(store)).shards(arm="none", split="test").shard(0)
    gold = shard.probs[:, np.arange(100), shard.labels]
    votes = entropies_of(shard.probs.argmax(axis=-1))
    assert found[0] == pytest.approx(np.corrcoef(votes, gold.std(axis=0))[0, 1], rel=1e-4)
    assert found[1] < found[0] < found[2]


def test_arms_may_have_fewer_runs(without):
    """They are no longer paired; entropies are brought to as many runs. One run is too few."""
    kept = {"none": N_SEEDS, "tgtss": 5, "linear": 1}
    store = without(lambda run: int(run.name) >= kept.get(run.arm, 0))

    found = collect(store)["arms"]

    assert {arm: one["n_runs"] for arm, one in found.items()} == {"none": N_SEEDS, "tgtss": 5}
    assert found["tgtss"]["effects"]["label_entropy"]["low"] is not None
    assert found["tgtss"]["high"]["cross_fitted"]["low"] is not None


@pytest.mark.parametrize("arms", [("tgtss", "linear"), ("tgtss",)])
def test_without_a_control_there_are_figures_alone(without, arms):
    """Other arms are not compared with each other."""
    found = collect(without(lambda run: run.arm not in arms))

    assert found["control"] is None
    assert set(found["arms"]) == set(arms)
    tgtss = found["arms"]["tgtss"]
    assert tgtss["costs"] is tgtss["high"] is tgtss["single_run_effects"]["all"] is None
    assert tgtss["effects"] == tgtss["of_all"] == {}
    assert tgtss["metrics"]["flip_rate"][0] > 0


def test_the_control_alone_has_its_pictures(without):
    """And costs as much as itself."""
    found = collect(without(lambda run: run.arm != "none"))

    assert list(found["arms"]) == ["none"]
    assert found["arms"]["none"]["costs"]["training"] == 1.0
    assert found["control"]["sigma"] is not None


def test_two_runs_are_enough(without):
    """Without what needs more: no correlation, no halves."""
    found = collect(without(lambda run: int(run.name) >= 2))

    assert found["control"]["sigma"] is found["control"]["stand_in"]["pearson"] is None
    assert found["arms"]["tgtss"]["high"]["cross_fitted"] is None
    assert found["arms"]["tgtss"]["single_run_effects"]["high"] is None


def test_one_run_of_each_arm_is_too_few(without):
    """The message says how many there are."""
    with pytest.raises(TooFewRunsError, match=r"1 finished run"):
        collect(without(lambda run: run.name != "0"))


def test_another_study_is_refused(tmp_path):
    """What was trained otherwise is no reproduction."""

    def train(run):
        run.log_predictions("test", predictions=[0, 1])

    sp.Study("other", train, seeds=2, store=tmp_path / "runs").run("serial", progress=False)

    with pytest.raises(OptionError, match="no study of this recipe"):
        collect(tmp_path / "runs")


def test_the_file_is_small_and_the_same_each_time(store, tmp_path):
    """Some kilobytes an arm, read again as they were."""
    found = collect(store)

    path = write_results(found, tmp_path)

    assert path.name == f"{SETTING.name}.json"
    assert path.stat().st_size < 5_000 * len(found["arms"]) + 20_000
    assert stored_results(tmp_path) == [found]
    assert as_text(collect(store)) == Path(path).read_text(encoding="utf-8")


def test_a_file_that_keeps_more_is_read(store, tmp_path):
    """Earlier ones have the control's entropies over the steps, which no page shows."""
    found = collect(store)
    assert set(found["control"]) == {"stand_in", "sigma", "pictures"}

    found["control"]["cumulative"] = {"step": [1, 2], "none": [0.0, 0.1]}
    write_results(found, tmp_path)

    assert stored_results(tmp_path) == [found]


def test_what_comes_with_the_package_can_be_read():
    """Each stored file has the name of its setting."""
    for found in stored_results():
        given = {name: one for name, one in found["setting"].items() if name != "learning_rate"}
        assert found["name"] == Setting(**given).name
