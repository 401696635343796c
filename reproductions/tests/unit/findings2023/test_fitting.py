"""The loop against loops that are written out: what each lever does to a training."""

from copy import deepcopy
from dataclasses import replace
from functools import partial

import pytest
import torch
from torch.nn import functional
from torch.optim import Adam
from torch.optim.optimizer import register_optimizer_step_pre_hook

from seedproof_reproductions.findings2023.arms import ARMS, CONTROL
from seedproof_reproductions.findings2023.fitting import fit
from seedproof_reproductions.findings2023.models import Head, Sources

# Eight steps of the same sums in another order, in 32 bits; what a lever does is ten times as much.
CLOSE = {"atol": 1e-5, "rtol": 0.0}


def gold_loss(logits, labels, smoothing=0.0):
    """Loss of the control, or with torch's own label smoothing."""
    return functional.cross_entropy(logits[0], labels, label_smoothing=smoothing)


def by_hand(prepared, setting, *, loss=gold_loss, n_models=1, penalty=0.0):
    """Predictions of the first of some heads, trained with another loss."""
    train, sources = prepared.train, Sources.shared(0)
    heads = [Head(12, 5, CONTROL, setting.dropout, sources) for _ in range(n_models)]
    weights = [weight for head in heads for weight in head.parameters()]
    optimizer = Adam(weights, lr=1e-3)
    for _ in range(setting.epochs):
        order = torch.randperm(len(train), generator=sources.order)
        for rows in order.split(setting.batch_size):
            logits = [head(train.inputs[rows]) for head in heads]
            total = loss(logits, train.labels[rows])
            total = total + penalty / 2 * sum(weight.square().sum() for weight in weights)
            optimizer.zero_grad()
            total.backward()
            optimizer.step()
    return heads[0].predict(prepared.test.inputs)


def by_fit(prepared, setting, arm=CONTROL, **given):
    """Predictions of a head for the test split."""
    trained = fit(prepared, arm, setting, Sources.shared(0), **given)
    return trained.predict(prepared.test.inputs, arm.average)


def differ(first, second):
    """Return whether two predictions differ by much more than rounding does."""
    return float((first - second).abs().max()) > 10 * CLOSE["atol"]


@pytest.mark.parametrize(
    ("name", "n_steps", "falls"), [("none", 8, 0), ("decay", 8, 1), ("long", 16, 1)]
)
def test_learning_rate_decays_linearly_to_0(prepared, setting, name, n_steps, falls):
    """The first step has the full rate, and the step after the last would have none."""
    rates = []

    def before_step(optimizer, *_):
        rates.extend(group["lr"] for group in optimizer.param_groups)

    with register_optimizer_step_pre_hook(before_step):
        fit(prepared, ARMS[name], setting, Sources.shared(0))

    assert rates == pytest.approx([1e-3 * (1 - falls * step / n_steps) for step in range(n_steps)])


@pytest.mark.parametrize(("name", "penalty"), [("none", 0.0), ("l2", 1e-3)])
def test_l2_is_half_the_squared_weights_in_the_loss(prepared, setting, name, penalty):
    """Times 0.001, with Adam; the control is Adam on the cross-entropy of gold labels."""
    probs = by_fit(prepared, setting, ARMS[name])

    torch.testing.assert_close(probs, by_hand(prepared, setting, penalty=penalty), **CLOSE)
    assert differ(probs, by_hand(prepared, setting)) == (penalty > 0)


@pytest.mark.parametrize(("n_epochs", "n_averaged"), [(1, 1), (2, 2), (5, 2)])
def test_swa_is_the_mean_of_the_weights_after_the_last_two_epochs(
    prepared, setting, n_epochs, n_averaged
):
    """Of one epoch, those after it."""
    after, longer = [], replace(setting, epochs=n_epochs)

    def after_step(step, model, *_):
        if step % 4 == 0:
            after.append(deepcopy(model.state_dict()))

    trained = fit(prepared, ARMS["swa"], longer, Sources.shared(0), on_step=after_step)

    kept = after[-n_averaged:]
    mean = {name: sum(state[name] for state in kept) / n_averaged for name in kept[0]}
    head = Head(12, 5, CONTROL, setting.dropout, Sources.shared(0))
    head.load_state_dict(mean)
    served = trained.predict(prepared.test.inputs, "swa")
    torch.testing.assert_close(served, head.predict(prepared.test.inputs), **CLOSE)
    assert len(after) == n_epochs
    # The average changes no step of the training.
    assert torch.equal(trained.model.predict(prepared.test.inputs), by_fit(prepared, longer))


def test_codistilled_heads_learn_from_gold_labels_and_from_each_other(prepared, setting):
    """The loss is the cross-entropy plus the divergence from the other head, held fixed."""

    def apart(logits, labels):
        return sum(functional.cross_entropy(own, labels) for own in logits)

    def loss(logits, labels):
        return apart(logits, labels) + sum(
            functional.kl_div(own.log_softmax(1), other.softmax(1).detach(), reduction="batchmean")
            for own, other in (logits, logits[::-1])
        )

    probs = by_fit(prepared, setting, ARMS["codistillation"])

    torch.testing.assert_close(probs, by_hand(prepared, setting, loss=loss, n_models=2), **CLOSE)
    assert differ(probs, by_hand(prepared, setting, loss=apart, n_models=2))


def test_training_uses_the_soft_labels(prepared, setting):
    """Smoothed labels give the same result as torch's own label smoothing."""
    loss = partial(gold_loss, smoothing=0.5)
    targets = 0.5 * functional.one_hot(prepared.train.labels, 5) + 0.5 / 5

    probs = by_fit(prepared, setting, targets=targets)

    torch.testing.assert_close(probs, by_hand(prepared, setting, loss=loss), **CLOSE)
    assert differ(probs, by_hand(prepared, setting))
