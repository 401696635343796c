"""A small real store, and the results that are collected from it."""

import shutil
from collections import Counter
from statistics import median

import numpy as np
import pytest
from scipy.stats import entropy

import seedproof as sp
from seedproof.comparison.arms.judge import judge_each
from seedproof.errors import TooFewRunsError
from seedproof.records.dynamics import dynamics_of
from seedproof.records.location import Location
from seedproof.records.reader import Store
from seedproof.stats.intervals import PLAIN
from seedproof_reproductions.findings2023 import training
from seedproof_reproductions.findings2023.arms import ARMS, GROUPS
from seedproof_reproductions.findings2023.recipe import study
from seedproof_reproductions.findings2023.results import collect
from seedproof_reproductions.findings2023.settings import Setting

SETTING = Setting(epochs=2, batch_size=64, n_traced=3, n_traced_control=4)
# Not in the order in which results have them.
TRAINED = ("linear", "none", "tgtss", "swa", "fixed-init", "tgtss-shared")
N_SEEDS = 8


@pytest.fixture(scope="module")
def store(tmp_path_factory, prepared):
    """Eight seeds of six arms."""
    place = tmp_path_factory.mktemp("findings2023") / "store"
    made = study(SETTING, store=place, seeds=N_SEEDS, arms=TRAINED)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(training, "prepare", lambda _: prepared)
        status = made.run("serial", progress=False)
    assert not status.failed, status.failed[0].message
    return place


@pytest.fixture(scope="module")
def results(store):
    """Results of the whole store."""
    return collect(store)


@pytest.fixture(scope="module")
def oracle(store):
    """Comparison of the whole store by the library."""
    return sp.compare(store)


@pytest.fixture
def collect_part(store, tmp_path):
    """Collects the results of a copy of the store, in which some runs are left out."""

    def collect_part(is_kept):
        other = tmp_path / str(len(list(tmp_path.iterdir())))
        shutil.copytree(store, other)
        for run in Store(Location.of(other)).runs:
            if not is_kept(run.arm, int(run.name)):
                shutil.rmtree(other / "runs" / run.run_id)
        return collect(other)

    return collect_part


def runs_of(store, arm):
    """Records of the runs of an arm."""
    return [run for run in Store(Location.of(store)).runs if run.arm == arm]


def predictions_of(store, arm):
    """Predicted classes, axes (runs, examples)."""
    return Store(Location.of(store)).shards(arm=arm, split="test").shard(0).probs.argmax(axis=-1)


def entropies_of(votes):
    """Label entropy of each example, by counting."""
    return np.array([entropy(list(Counter(column).values())) for column in votes.T])


def step_entropies_of(store, arm):
    """Label entropy within each traced run, by counting: (traced, examples)."""
    location, entropies = Location.of(store), []
    for run in runs_of(store, arm):
        if any(part.path.startswith("dynamics/") for part in run.parts):
            record = dynamics_of(location, run, "test")
            bounds = zip(record.offsets[:-1], record.offsets[1:], strict=True)
            entropies.append([entropy(record.counts[start:stop]) for start, stop in bounds])
    return np.array(entropies)


def test_results_have_every_arm_in_order(store, results):
    """With its group and its shared parts; the same each time."""
    assert collect(store) == results
    arms = results["arms"]
    assert list(arms) == [name for name in ARMS if name in TRAINED]
    shared = {name: arm["shares"] for name, arm in arms.items() if arm["shares"]}
    assert shared == {"tgtss-shared": "teacher", "fixed-init": "init"}
    assert all(name in GROUPS[arm["group"]].arms for name, arm in arms.items())
    assert {arm["n_runs"] for arm in arms.values()} == {N_SEEDS}
    assert (results["sizes"], results["n_classes"]) == ({"train": 250, "test": 100}, 5)
    assert results["setting"]["learning_rate"] == 1e-3


def test_figures_and_effects_equal_those_of_measure_and_compare(store, results, oracle):
    """Over all arms as in the whole store; for an arm alone narrower, around the same value."""
    arms = results["arms"]
    for arm in ("none", "swa"):
        report = sp.measure(store, arm=arm)
        for name, (value, *interval) in arms[arm]["metrics"].items():
            assert value == pytest.approx(report[name].value, rel=1e-5)
            ends = [] if report[name].low is None else [report[name].low, report[name].high]
            assert interval == pytest.approx(ends, rel=1e-5)
    assert arms["none"]["effects"] == arms["none"]["of_all"] == {}
    level = PLAIN.divided(len(oracle.arms))
    for arm in ("tgtss", "linear"):
        judged = judge_each([oracle.arm(arm)], level)[0]
        assert set(arms[arm]["of_all"]) == {"accuracy", "flip_rate", "label_entropy"}
        for name, kept in arms[arm]["of_all"].items():
            effect, alone = judged.effects[name], arms[arm]["effects"][name]
            assert kept["low"] == pytest.approx(effect.low, rel=1e-5)
            assert kept["verdict"] == effect.verdict
            assert alone["value"] == kept["value"]
            assert kept["low"] < alone["low"] < alone["high"] < kept["high"]


def test_costs_are_multiples_of_the_control(store, results):
    """Medians over runs; the encoder and two heads, one of which is the teacher."""
    arms = results["arms"]
    passes = {arm: [run.scalars["forward_passes"] for run in runs_of(store, arm)] for arm in arms}
    for arm, values in passes.items():
        expected = median(values) / median(passes["none"])
        assert arms[arm]["costs"]["training"] == pytest.approx(expected, rel=1e-4)
    seconds = [run.scalars.get("seconds") for run in runs_of(store, "none")]
    # Traced runs take longer, and do not log how long.
    assert seconds.count(None) == 4
    assert arms["none"]["scalars"]["seconds"] == pytest.approx(median(seconds[4:]), rel=1e-5)
    assert arms["none"]["costs"] == dict.fromkeys(("training", "heads", "serving", "seconds"), 1.0)
    # 12 features to 5 classes in place of 256 hidden units between them, twice as often.
    assert arms["linear"]["costs"]["heads"] == pytest.approx(2 * 60 / (256 * 17), rel=1e-4)
    # A shared teacher was trained once, so that seconds would be too few.
    assert arms["tgtss-shared"]["costs"]["seconds"] is None
    assert arms["tgtss-shared"]["costs"]["heads"] == arms["tgtss"]["costs"]["heads"] > 2


def test_entropies_within_runs_follow_from_counts(store, results):
    """The mean over examples and traced runs, and its ratio to that of the control."""
    arms = results["arms"]
    means = {arm: step_entropies_of(store, arm).mean() for arm in ("none", "tgtss", "linear")}
    for arm, value in means.items():
        assert arms[arm]["single_run"][0] == pytest.approx(value, rel=1e-5)
    assert [arms[arm]["n_traced"] for arm in means] == [4, 3, 3]
    # 250 utterances in batches of 64, twice; the linear head sees them four times.
    assert [arms[arm]["n_steps"] for arm in means] == [8, 8, 16]
    effects = arms["tgtss"]["single_run_effects"]
    assert effects["all"]["value"] == pytest.approx(means["tgtss"] / means["none"], rel=1e-4)
    # As published, all runs choose; otherwise those that were not traced.
    votes = predictions_of(store, "none")
    before, after = (step_entropies_of(store, arm).mean(axis=0) for arm in ("none", "tgtss"))
    for name, chooser in (("high", votes[4:]), ("high_naive", votes)):
        chosen = entropies_of(chooser) > 0.56
        expected = after[chosen].sum() / before[chosen].sum()
        assert effects[name]["value"] == pytest.approx(expected, rel=1e-5)
    # Twice as many steps; or an average is served, and the weights that train were traced.
    for arm in ("linear", "swa"):
        assert set(arms[arm]["single_run_effects"].values()) == {None}
    assert (arms["swa"]["n_traced"], arms["swa"]["single_run"]) == (0, None)


def test_high_entropies_are_measured_in_three_ways(store, results, oracle):
    """As published, and selected by other runs of the control and of the arm."""
    high = results["arms"]["tgtss"]["high"]
    before, after = (entropies_of(predictions_of(store, arm)) for arm in ("none", "tgtss"))
    chosen = before > 0.56
    assert high["n_examples"] == chosen.sum() > 0
    assert high["naive"] == pytest.approx(after[chosen].sum() / before[chosen].sum(), rel=1e-5)
    expected = oracle.arm("tgtss").high_entropy
    assert high["cross_fitted"]["value"] == pytest.approx(1 - expected.reduction, rel=1e-5)
    assert high["n_chosen"] == pytest.approx(expected.n_chosen)
    turned = sp.compare(store, baseline="tgtss").arm("none").high_entropy
    assert high["by_arm"]["value"] == pytest.approx(1 / (1 - turned.reduction), rel=1e-5)


def test_control_has_single_runs_and_chart_data(store, results):
    """Each traced run is compared with the others; every example is in one cell of each chart."""
    control, stand_in = results["control"], results["control"]["stand_in"]
    within, final = step_entropies_of(store, "none"), predictions_of(store, "none")
    over = [entropies_of(np.delete(final, run, axis=0)) for run in range(4)]
    each = [np.corrcoef(*pair)[0, 1] for pair in zip(within, over, strict=True)]
    assert stand_in["pearson"][0] == pytest.approx(np.mean(each), rel=1e-5)
    assert stand_in["pearson"][1] < np.mean(each) < stand_in["pearson"][2]
    assert (stand_in["n_traced"], stand_in["n_steps"]) == (4, 8)
    for name, total in {"entropy_sigma": 100, "one_run_many": 400, "map": 100}.items():
        cells = control["pictures"][name]
        assert np.sum(cells["counts"]) == total
        assert np.shape(cells["counts"]) == (len(cells["y"]) - 1, len(cells["x"]) - 1)
    shard = Store(Location.of(store)).shards(arm="none", split="test").shard(0)
    gold = shard.probs[:, np.arange(100), shard.labels]
    votes = entropies_of(shard.probs.argmax(axis=-1))
    expected = np.corrcoef(votes, gold.std(axis=0))[0, 1]
    assert control["sigma"]["pearson"][0] == pytest.approx(expected, rel=1e-4)


def test_arms_may_have_fewer_runs(collect_part):
    """Unpaired arms have intervals; two runs are enough for figures, one is not."""
    kept = {"none": N_SEEDS, "tgtss": 5, "linear": 1}

    arms = collect_part(lambda arm, seed: seed < kept.get(arm, 0))["arms"]
    few = collect_part(lambda arm, seed: seed < 2 and arm in kept)

    assert {arm: arms[arm]["n_runs"] for arm in arms} == {"none": N_SEEDS, "tgtss": 5}
    assert arms["tgtss"]["effects"]["label_entropy"]["low"] is not None
    assert arms["tgtss"]["high"]["cross_fitted"]["low"] is not None
    assert few["control"]["sigma"] is few["control"]["stand_in"]["pearson"] is None
    assert few["arms"]["tgtss"]["high"]["cross_fitted"] is None
    assert few["arms"]["tgtss"]["single_run_effects"]["high"] is None
    with pytest.raises(TooFewRunsError):
        collect_part(lambda _, seed: seed == 0)


def test_results_without_a_control_have_no_effects(collect_part):
    """Other arms are not compared with each other."""
    results = collect_part(lambda arm, _: arm in {"tgtss", "linear"})

    assert results["control"] is None
    assert set(results["arms"]) == {"tgtss", "linear"}
    tgtss = results["arms"]["tgtss"]
    assert tgtss["costs"] is tgtss["high"] is tgtss["single_run_effects"]["all"] is None
    assert tgtss["effects"] == tgtss["of_all"] == {}
    assert tgtss["metrics"]["flip_rate"][0] > 0
