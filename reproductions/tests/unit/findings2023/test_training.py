"""Every arm on made features: what differs, what is shared, what it costs."""

from dataclasses import replace

import numpy as np
import pytest
import torch
from seedproof_reproductions.findings2023.arms import ARMS, CONTROL, SoftLabels, arm_of
from seedproof_reproductions.findings2023.costs import Cost
from seedproof_reproductions.findings2023.fitting import fit
from seedproof_reproductions.findings2023.sources import Sources
from seedproof_reproductions.findings2023.teaching import soft_targets
from seedproof_reproductions.findings2023.traces import Trace
from seedproof_reproductions.findings2023.training import log_run

import seedproof as sp
from seedproof.errors import UnknownNameError
from seedproof.records.dynamics import dynamics_of
from seedproof.records.location import Location
from seedproof.records.reader import Store


def trained(prepared, setting, arm=CONTROL, index=0, **given):
    """What a head says of the test split."""
    found = fit(prepared, arm, setting, Sources.shared(index), **given)
    return found.predict(prepared.test.inputs, arm.average)


def study(tmp_path, prepared, setting, arms, seeds=3):
    """A study on made features."""

    def train(run):
        few = {"n_teachers": 3} if run.arm.startswith("ensemble") else {}
        arm = arm_of(run.arm)
        if arm.soft is not None and few:
            arm = replace(arm, soft=replace(arm.soft, **few))
        log_run(run, prepared, setting, arm)

    made = sp.Study("made", train, seeds=seeds, arms=arms, store=tmp_path / "store")
    status = made.run("serial", progress=False)
    assert not status.failed, status.failed[0].message
    return Store(Location.of(tmp_path / "store"))


def logged(run, prepared, setting, arm):
    """What a run keeps of the test split."""
    kept = {}
    run.log_predictions = lambda split, **given: kept.update({split: given["probs"]})
    log_run(run, prepared, setting, arm)
    return kept["test"]


def test_the_same_sources_give_the_same_bits(prepared, setting):
    """And others give others."""
    first = trained(prepared, setting)

    assert torch.equal(first, trained(prepared, setting))
    assert not torch.equal(first, trained(prepared, setting, index=1))
    assert (first.argmax(1) == prepared.test.labels).float().mean() > 0.5


def test_a_linear_head_without_luck_at_the_start_differs_by_order_alone(prepared, setting):
    """No hidden layer, no dropout, zeros at first: generators of these change no bit."""

    def bits(init, order, dropout, arm=ARMS["linear"]):
        sources = (torch.Generator().manual_seed(seed) for seed in (init, order, dropout))
        found = fit(prepared, arm, setting, Sources(*sources))
        return found.predict(prepared.test.inputs, arm.average)

    first = bits(0, 1, 2)

    assert torch.equal(first, bits(3, 1, 4))
    assert not torch.equal(first, bits(0, 5, 2))
    # Which the control does not: both of its generators matter.
    control = bits(0, 1, 2, CONTROL)
    assert not torch.equal(control, bits(3, 1, 2, CONTROL))
    assert not torch.equal(control, bits(0, 1, 4, CONTROL))


def test_a_linear_head_has_one_layer(prepared, setting):
    """Twelve features to five classes."""
    head = fit(prepared, ARMS["linear"], setting, Sources.shared(0)).model

    assert head.hidden is None
    assert head.n_multiplied == 12 * 5


def test_soft_labels_that_are_gold_change_nothing(prepared, setting):
    """Cross-entropy of one-hot targets is the usual one."""
    gold = torch.nn.functional.one_hot(prepared.train.labels, 5).float()

    soft = trained(prepared, setting, targets=gold)

    torch.testing.assert_close(soft, trained(prepared, setting), atol=1e-5, rtol=1e-4)


@pytest.mark.parametrize("name", sorted(set(ARMS) - {"ensemble-shared"}))
def test_every_arm_trains_and_logs(tmp_path, prepared, setting, name):
    """Predictions of the test split, accuracy and cost; dynamics of the first run alone."""
    store = study(tmp_path, prepared, setting, [name], seeds=2)

    probs = store.shards(split="test").shard(0).probs
    assert probs.shape == (2, 100, 5)
    assert not np.array_equal(probs[0], probs[1])
    assert [run.scalars["n_train"] for run in store.runs] == [250, 250]
    assert all(run.scalars["head_multiplications"] > 0 for run in store.runs)
    kept = [any(part.path.startswith("dynamics/") for part in run.parts) for run in store.runs]
    assert kept == [ARMS[name].average == "none", False]


def test_dynamics_count_every_step(tmp_path, prepared, setting):
    """Two epochs of four batches are eight steps."""
    store = study(tmp_path, prepared, setting, ["none"], seeds=1)

    record = dynamics_of(store.location, store.runs[0], "test")

    assert set(record.n_steps.tolist()) == {8}
    assert record.gold_mean.shape == (100,)


def test_shared_teachers_are_shared_and_fresh_ones_are_not(tmp_path, prepared, setting):
    """What students learn from is the same tensor in all runs, or another one in each."""
    kept = {}

    def train(run):
        soft = SoftLabels("tgtss", teacher=run.arm)
        targets = soft_targets(run, prepared, setting, replace(CONTROL, soft=soft), Cost())
        kept[run.arm, run.name] = targets
        run.log_scalar("done", 1)

    arms = ("shared", "fresh")
    sp.Study("made", train, seeds=2, arms=arms, store=tmp_path / "s").run("serial", progress=False)

    assert torch.equal(kept["shared", "0"], kept["shared", "1"])
    assert not torch.equal(kept["fresh", "0"], kept["fresh", "1"])
    torch.testing.assert_close(kept["fresh", "0"].sum(1), torch.ones(250))


def test_costs_are_counted(tmp_path, prepared, setting):
    """A teacher doubles the training, its predictions come on top; 16 heads cost 16 times."""
    arms = ["none", "tgtss-free", "tgtss", "heads-16", "codistillation"]
    store = study(tmp_path, prepared, setting, arms, seeds=1)

    cost = {run.arm: run.scalars["head_multiplications"] for run in store.runs}
    passes = {run.arm: run.scalars["forward_passes"] for run in store.runs}
    served = {run.arm: run.scalars["serving_multiplier"] for run in store.runs}

    assert cost["tgtss-free"] == 2 * cost["none"]
    assert cost["codistillation"] == 2 * cost["none"]
    assert cost["heads-16"] == 16 * cost["none"]
    assert cost["tgtss"] > cost["tgtss-free"]
    assert served["none"] == served["codistillation"] == 1
    # An encoder that is read once dwarfs 16 small heads.
    assert 1 < served["heads-16"] < 1.01
    assert passes["none"] < passes["heads-16"] < 1.01 * passes["none"]


def test_an_unknown_arm_is_refused():
    """With the known ones."""
    with pytest.raises(UnknownNameError, match="Known: none"):
        arm_of("magic")


def test_several_heads_are_traced_by_their_mean(prepared, setting):
    """After a step the class with the highest mean probability counts."""
    seen, trace = [], Trace(prepared, n_models=2)

    def after(step, model):
        trace.after_step(step, model)
        seen.append(model.predict(prepared.test.inputs))

    for index in range(2):
        fit(prepared, CONTROL, setting, Sources.shared(index), on_step=after)

    means = torch.stack(seen[:8]) + torch.stack(seen[8:])
    counts = torch.nn.functional.one_hot(means.argmax(dim=2), 5).sum(dim=0) / 8
    expected = -(counts * counts.clamp(min=1e-30).log()).sum(dim=1)
    np.testing.assert_allclose(trace.dynamics().label_entropy(), expected, atol=1e-6)


def test_another_draw_of_what_runs_share_is_another_model(prepared, setting):
    """And the same draw is the same one."""
    first, again, other = (
        fit(prepared, CONTROL, setting, Sources.shared(0, draw)).predict(
            prepared.test.inputs, "none"
        )
        for draw in (0, 0, 1)
    )

    assert torch.equal(first, again)
    assert not torch.equal(first, other)


def test_several_heads_of_a_run_predict_by_their_mean(make_run, prepared, setting):
    """One is trained after the other, and the sources of the run go on."""
    arm, run = ARMS["heads-4"], make_run()
    said = [
        fit(prepared, arm, setting, Sources.of(run, arm)).predict(prepared.test.inputs, "none")
        for _ in range(4)
    ]

    found = logged(make_run(), prepared, setting, arm)

    torch.testing.assert_close(found, sum(said) / 4)
    assert all(not torch.equal(one, found) for one in said)


@pytest.mark.parametrize(("name", "draw"), [("fixed-init", 0), ("fixed-init-draw-2", 1)])
def test_runs_with_a_fixed_init_begin_where_all_do(make_run, prepared, setting, name, draw):
    """With the weights of their draw; order and dropout are their own."""
    for index in (0, 1):
        own = Sources.of(make_run(index), CONTROL)
        sources = replace(own, init=Sources.shared(0, draw).init)
        expected = fit(prepared, CONTROL, setting, sources).predict(prepared.test.inputs, "none")

        assert torch.equal(logged(make_run(index), prepared, setting, ARMS[name]), expected)


@pytest.mark.parametrize("name", ["label-smoothing-0.5", "knn", "tgtss", "tgtss-shared"])
def test_a_run_learns_its_soft_labels(make_run, prepared, setting, name):
    """From the sources that a teacher of its own has left behind."""
    arm, run = ARMS[name], make_run()
    targets = soft_targets(run, prepared, setting, arm, Cost())
    sources = Sources.of(run, arm)
    gold = fit(prepared, CONTROL, setting, sources.copy()).predict(prepared.test.inputs, "none")
    soft = fit(prepared, CONTROL, setting, sources, targets=targets)

    found = logged(make_run(), prepared, setting, arm)

    assert torch.equal(found, soft.predict(prepared.test.inputs, "none"))
    # Ten times what another order of the same sums would do.
    assert (found - gold).abs().max() > 1e-4
