"""Every arm on made features: what differs, what is shared, what it costs."""

from dataclasses import replace

import numpy as np
import pytest
import torch

import seedproof as sp
from seedproof.records.dynamics import dynamics_of
from seedproof.records.location import Location
from seedproof.records.reader import Store
from seedproof_reproductions.findings2023.arms import ARMS, CONTROL, arm_of
from seedproof_reproductions.findings2023.fitting import Cost, Trace, fit
from seedproof_reproductions.findings2023.models import Sources
from seedproof_reproductions.findings2023.teaching import soft_targets
from seedproof_reproductions.findings2023.training import log_run


def study(tmp_path, prepared, setting, arms, seeds):
    """A study on made features, with fewer teachers in an ensemble."""

    def train(run):
        arm = arm_of(run.arm)
        if run.arm.startswith("ensemble"):
            arm = replace(arm, soft=replace(arm.soft, n_teachers=3))
        log_run(run, prepared, setting, arm)

    made = sp.Study("made", train, seeds=seeds, arms=arms, store=tmp_path)
    status = made.run("serial", progress=False)
    assert not status.failed, status.failed[0].message
    return Store(Location.of(tmp_path))


def logged(run, prepared, setting, arm):
    """The predictions that a run logs."""
    kept = {}
    run.log_predictions = lambda split, **given: kept.update({split: given["probs"]})
    log_run(run, prepared, setting, arm)
    return kept["test"]


def predict(prepared, setting, sources, arm=CONTROL, **given):
    """Train a head, and predict the test split."""
    return fit(prepared, arm, setting, sources, **given).predict(prepared.test.inputs, arm.average)


def test_a_linear_head_with_zeros_depends_on_the_order_alone(prepared, setting):
    """No hidden layer, no dropout, zeros at first: these generators change no bit."""

    def bits(*seeds, arm=ARMS["linear"]):
        sources = Sources(*(torch.Generator().manual_seed(seed) for seed in seeds))
        return predict(prepared, setting, sources, arm)

    linear, control = bits(0, 1, 2), bits(0, 1, 2, arm=CONTROL)

    assert torch.equal(linear, bits(3, 1, 4))
    assert not torch.equal(linear, bits(0, 5, 2))
    # The control depends on all three, and learns.
    for seeds in ((3, 1, 2), (0, 5, 2), (0, 1, 4)):
        assert not torch.equal(control, bits(*seeds, arm=CONTROL))
    assert torch.equal(control, bits(0, 1, 2, arm=CONTROL))
    assert (control.argmax(1) == prepared.test.labels).float().mean() > 0.5


@pytest.mark.parametrize("name", sorted(set(ARMS) - {"ensemble-shared"}))
def test_every_arm_trains_and_logs(tmp_path, prepared, setting, name):
    """Predictions and costs; dynamics of all eight steps of the first run alone."""
    store = study(tmp_path, prepared, setting, [name], seeds=2)

    probs = store.shards(split="test").shard(0).probs
    assert probs.shape == (2, 100, 5)
    assert not np.array_equal(probs[0], probs[1])
    assert [run.scalars["n_train"] for run in store.runs] == [250, 250]
    assert all(run.scalars["head_multiplications"] > 0 for run in store.runs)
    kept = [any(part.path.startswith("dynamics/") for part in run.parts) for run in store.runs]
    assert kept == [ARMS[name].average == "none", False]
    if kept[0]:
        record = dynamics_of(store.location, store.runs[0], "test")
        assert set(record.n_steps.tolist()) == {8 * ARMS[name].epochs}


def test_costs_are_counted(tmp_path, prepared, setting):
    """A teacher doubles the training, and its predictions are added; 16 heads cost 16 times."""
    arms = ["none", "tgtss-free", "tgtss", "heads-16", "codistillation"]
    store = study(tmp_path, prepared, setting, arms, seeds=1)

    scalars = {run.arm: run.scalars for run in store.runs}
    cost, passes, served = (
        {arm: scalars[arm][name] for arm in arms}
        for name in ("head_multiplications", "forward_passes", "serving_multiplier")
    )
    assert cost["tgtss-free"] == cost["codistillation"] == 2 * cost["none"]
    assert cost["heads-16"] == 16 * cost["none"]
    assert cost["tgtss"] > cost["tgtss-free"]
    assert served["none"] == served["codistillation"] == 1
    # An encoder that is read once dwarfs 16 small heads.
    assert 1 < served["heads-16"] < 1.01
    assert passes["none"] < passes["heads-16"] < 1.01 * passes["none"]


def test_several_heads_are_traced_and_served_by_their_mean(make_run, prepared, setting):
    """One is trained after the other, and the sources of the run advance."""
    arm, run, steps, trace = ARMS["heads-4"], make_run(1), [], Trace(prepared, n_models=4)

    def after_step(step, model):
        trace.after_step(step, model)
        steps.append(model.predict(prepared.test.inputs))

    probs = [
        predict(prepared, setting, Sources.of(run, arm), arm, on_step=after_step) for _ in range(4)
    ]

    served = logged(make_run(1), prepared, setting, arm)
    torch.testing.assert_close(served, sum(probs) / 4)
    assert all(not torch.equal(of_head, served) for of_head in probs)
    means = torch.stack(steps).reshape(4, 8, 100, 5).sum(dim=0)
    counts = torch.nn.functional.one_hot(means.argmax(dim=2), 5).sum(dim=0) / 8
    expected = -(counts * counts.clamp(min=1e-30).log()).sum(dim=1)
    np.testing.assert_allclose(trace.dynamics().label_entropy(), expected, atol=1e-6)


@pytest.mark.parametrize("name", ["label-smoothing-0.5", "knn", "tgtss", "tgtss-shared"])
def test_a_run_learns_its_soft_labels(make_run, prepared, setting, name):
    """From the sources that a teacher of its own has left."""
    arm, run = ARMS[name], make_run()
    targets = soft_targets(run, prepared, setting, arm, Cost())
    sources = Sources.of(run, arm)
    gold = predict(prepared, setting, sources.copy())
    soft = predict(prepared, setting, sources, targets=targets)

    probs = logged(make_run(), prepared, setting, arm)

    assert torch.equal(probs, soft)
    # Ten times what another order of the same sums would do.
    assert (probs - gold).abs().max() > 1e-4
