"""Heads of one run: trained one after another or as twins, and combined into what is served."""

import time
from collections import OrderedDict
from collections.abc import Callable, Sequence
from copy import deepcopy
from dataclasses import dataclass, replace

import torch
from torch import Tensor
from torch.nn import functional
from torch.optim import Adam

from seedproof_reproductions.findings2023.arms import Arm
from seedproof_reproductions.findings2023.data import Prepared
from seedproof_reproductions.findings2023.fitting import (
    Cost,
    OnStep,
    Trained,
    bootstrap_rows,
    fit,
    make_model,
)
from seedproof_reproductions.findings2023.models import Sources
from seedproof_reproductions.findings2023.settings import Setting

# Trainings to remember: those of one run in all arms.
REMEMBERED = 48


@dataclass(frozen=True, eq=False)
class _Remembered:
    trained: Trained
    sources: Sources
    seconds: float


_Key = tuple[Prepared, Setting, Arm, tuple[bytes, ...]]
_remembered: OrderedDict[_Key, _Remembered] = OrderedDict()


def fit_once(
    prepared: Prepared, arm: Arm, setting: Setting, sources: Sources, cost: Cost
) -> Trained:
    """Train a head on gold labels, or reuse the same training of another arm.

    The control of a seed is also the first of its several heads, of its soup, and of the teachers
    of its ensemble. Sources advance as if it had been trained, and its seconds are added to `cost`.
    """
    plain = replace(arm, soft=None, n_heads=1, one_init=False, served="mean")
    key = prepared, setting, plain, sources.state
    if key not in _remembered:
        began, own = time.perf_counter(), sources.copy()
        trained = fit(prepared, plain, setting, own)
        _remembered[key] = _Remembered(trained, own, time.perf_counter() - began)
        while len(_remembered) > REMEMBERED:
            _remembered.popitem(last=False)
    else:
        cost.reused_seconds += _remembered[key].seconds
    _remembered.move_to_end(key)
    sources.advance_to(_remembered[key].sources)
    return _remembered[key].trained


def train_heads(
    prepared: Prepared,
    setting: Setting,
    arm: Arm,
    sources: Callable[[], Sources],
    cost: Cost,
    *,
    targets: Tensor | None = None,
    on_step: OnStep | None = None,
) -> list[Trained]:
    """Train all heads of a run, and return those that are served.

    Args:
        prepared: What they are trained on.
        setting: Track, epochs, batches, learning rate, dropout.
        arm: How many, and how they are combined.
        sources: Returns the generators of the run, which advance.
        cost: The cost of all trainings is added.
        targets: Soft labels; if omitted, gold labels.
        on_step: Called after each step, see `fit`.

    Returns:
        Heads whose mean probability is served.
    """
    if arm.twins:
        heads = fit_twins(prepared, arm, setting, sources())
    else:
        init = sources().init.clone_state()
        heads = []
        for _ in range(arm.n_heads):
            own = sources()
            own = own._replace(init=init.clone_state()) if arm.one_init else own
            heads.append(
                fit_once(prepared, arm, setting, own, cost)
                # An encoder would take too much memory to be remembered.
                if targets is None and on_step is None and setting.track == "head"
                else fit(prepared, arm, setting, own, targets=targets, on_step=on_step)
            )
    for head in heads:
        cost.add_training(head, n_models=2 if arm.codistilled else 1)
    if arm.served == "soup":
        return [soup(heads)]
    if arm.served == "nearest":
        for head in heads:
            cost.add_prediction(head.model, len(prepared.train))
        return [heads[nearest([head.predict(prepared.train.inputs, "none") for head in heads])]]
    return heads


def soup(heads: Sequence[Trained]) -> Trained:
    """Return a head with the mean of the weights of several."""
    model = deepcopy(heads[0].model)
    weights = [head.model.state_dict() for head in heads]
    model.load_state_dict(
        {name: torch.stack([each[name] for each in weights]).mean(dim=0) for name in weights[0]}
    )
    return Trained(model, {}, heads[0].n_seen)


def nearest(probs: Sequence[Tensor]) -> int:
    """Return which predictions are nearest to their mean, by the mean squared distance.

    It is measured on training utterances: a run has no others to choose by.
    """
    stacked = torch.stack(tuple(probs))
    return int((stacked - stacked.mean(dim=0)).square().sum(dim=2).mean(dim=1).argmin())


def fit_twins(prepared: Prepared, arm: Arm, setting: Setting, sources: Sources) -> list[Trained]:
    """Train two heads jointly, each on its own bootstrap sample, with a penalty on disagreement.

    Twin bootstrap of Prastalo and Jablonka (2026, arXiv:2605.13826), as we read their abstract and
    their public code. Both heads predict a batch of both samples. The loss is the cross-entropy of
    each head on its own batch, plus `arm.twins` times the mean of (KL(p‖q) + KL(q‖p)) / 2 over both
    batches; gradients go through both heads, and the mean of both is served. Optimizer, epochs and
    dropout are those of every arm here; theirs clip gradients, ours do not. Since both heads read
    both batches, the heads cost four trainings, not two.
    """
    train = prepared.train
    heads = [make_model(prepared, arm, setting, sources).train() for _ in range(2)]
    samples = [bootstrap_rows(len(train), sources.data) for _ in heads]
    weights = [weight for head in heads for weight in head.parameters()]
    optimizer = Adam(weights, lr=setting.learning_rate, fused=True)
    for _ in range(setting.epochs):
        orders = [rows[torch.randperm(len(rows), generator=sources.order)] for rows in samples]
        batches = (torch.split(rows, setting.batch_size) for rows in orders)
        for batch in zip(*batches, strict=True):
            both = torch.cat(batch)
            logits = [head(train.inputs[both]) for head in heads]
            loss = arm.twins * disagreement(*logits)
            for own, rows in zip(_halves(logits), batch, strict=True):
                loss = loss + functional.cross_entropy(own, train.labels[rows])
            optimizer.zero_grad()
            torch.autograd.backward(loss)
            optimizer.step()
    n_seen = 2 * setting.epochs * len(train)
    return [Trained(head, {}, n_seen) for head in heads]


def _halves(logits: Sequence[Tensor]) -> tuple[Tensor, Tensor]:
    """Return the logits of each head for its own batch: the first half, and the second."""
    n_own = len(logits[0]) // 2
    return logits[0][:n_own], logits[1][n_own:]


def disagreement(logits: Tensor, others: Tensor) -> Tensor:
    """Return (KL(p‖q) + KL(q‖p)) / 2, averaged over utterances, in nats."""
    first, second = (functional.log_softmax(each, dim=1) for each in (logits, others))
    gaps = (first.exp() - second.exp()) * (first - second)
    return gaps.sum(dim=1).mean() / 2
