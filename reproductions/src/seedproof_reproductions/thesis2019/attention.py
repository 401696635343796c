"""Attention of DeepICF: each target item of a user weighs the items of the user's history.

The score of a history item x and a target y is f = mixᵀ ReLU(W(x ⊙ y) + b), and the weight of x is
exp(f) / (Σ exp(f))^β over the history. With β = 1 this is a softmax; below 1, long histories weigh
more in total.
"""

from collections.abc import Iterator, Sequence
from typing import Any, NamedTuple

import torch
from torch import Tensor
from torch.autograd.function import once_differentiable

# Numbers of hidden units that are computed at a time, so that they stay in the cache.
CHUNK = 400_000


def beta_softmax(scores: Tensor, beta: float) -> Tensor:
    """Return the weights of scores over the last axis; −inf is a weight of 0."""
    softmax = scores.softmax(-1)
    return softmax * _scale(scores, softmax, beta)


def _scale(scores: Tensor, softmax: Tensor, beta: float) -> Tensor:
    """Return (Σ exp(scores))^(1 − β), by which the weights differ from a softmax."""
    # The largest of a softmax is exp(largest score − logsumexp): cheaper than a logsumexp.
    logsumexp = scores.amax(-1, keepdim=True) - softmax.amax(-1, keepdim=True).log()
    return ((1 - beta) * logsumexp).exp()


def hidden_units(history: Tensor, scaled: Tensor) -> Tensor:
    """Compute ReLU(W(x ⊙ y)) of all pairs of items as one product of matrices.

    Args:
        history: Vectors of the history, axes (history, factors).
        scaled: W with its columns multiplied by each target, axes (units, targets, factors).

    Returns:
        Axes (units, targets × history).
    """
    return (scaled.flatten(0, 1) @ history.T).relu_().view(len(scaled), -1)


class _Chunk(NamedTuple):
    """Some targets of a user, and the user's history, as places among all of a batch."""

    history: slice
    targets: slice


def _chunks(sizes: Sequence[tuple[int, int]], n_units: int) -> Iterator[_Chunk]:
    history_end = target_end = 0
    for n_history, n_targets in sizes:
        history = slice(history_end, history_end + n_history)
        step = max(1, CHUNK // (n_units * n_history))
        for start in range(target_end, target_end + n_targets, step):
            yield _Chunk(history, slice(start, min(start + step, target_end + n_targets)))
        history_end, target_end = history_end + n_history, target_end + n_targets


class PooledHistory(torch.autograd.Function):
    """Weighted sum of each user's history for each of its targets, multiplied by the target.

    Hidden units are computed again for the gradients, and never kept: they are the largest of all
    arrays. Biases are a last factor that is 1 in histories and targets.
    """

    @staticmethod
    def forward(  # noqa: PLR0917 - torch passes them by position
        ctx: Any,  # noqa: ANN401 - torch's
        history: Tensor,
        targets: Tensor,
        weight: Tensor,
        mix: Tensor,
        places: Tensor,
        sizes: Sequence[tuple[int, int]],
        beta: float,
    ) -> Tensor:
        """Pool the history for each target.

        Args:
            ctx: Context of the gradients.
            history: Vectors of all histories, one user after the other, axes (history, factors).
            targets: Vectors of all targets, one user after the other, axes (targets, factors).
            weight: W, axes (units, factors).
            mix: Weights of the hidden units.
            places: Place of each target in its user's history, where it gets no weight; or −1.
            sizes: Items and targets of each user.
            beta: Exponent of the sum of weights.

        Returns:
            Axes (targets, factors).
        """
        ctx.save_for_backward(history, targets, weight, mix, places)
        ctx.sizes, ctx.beta = sizes, beta
        pooled = torch.empty_like(targets)
        for chunk in _chunks(sizes, len(mix)):
            items, wanted = history[chunk.history], targets[chunk.targets]
            units = hidden_units(items, weight.unsqueeze(1) * wanted)
            scores = _masked((mix @ units).view(len(wanted), -1), places[chunk.targets])
            torch.mm(beta_softmax(scores, beta), items, out=pooled[chunk.targets])
        return pooled.mul_(targets)

    @staticmethod
    @once_differentiable
    def backward(ctx: Any, grad: Tensor) -> tuple[Tensor | None, ...]:  # noqa: ANN401 - torch's
        """Return the gradients of history, targets, weight and mix."""
        history, targets, weight, mix, places = ctx.saved_tensors
        d_history, d_targets, d_weight, d_mix = map(
            torch.zeros_like, (history, targets, weight, mix)
        )
        for chunk in _chunks(ctx.sizes, len(mix)):
            items, wanted = history[chunk.history], targets[chunk.targets]
            scaled = weight.unsqueeze(1) * wanted
            units = hidden_units(items, scaled)
            scores = _masked((mix @ units).view(len(wanted), -1), places[chunk.targets])
            softmax = scores.softmax(-1)
            weights = softmax * _scale(scores, softmax, ctx.beta)
            d_sums = grad[chunk.targets] * wanted
            weighted = weights * (d_sums @ items.T)
            d_scores = weighted - softmax * (ctx.beta * weighted.sum(1, keepdim=True))
            # Units are 0 or more, so their sign is the derivative of the ReLU.
            d_units = units.sign_().mul_(d_scores.view(-1)).view(-1, len(items))
            sums = (d_units @ items).view_as(scaled)
            mixed = mix.view(-1, 1, 1)
            d_history[chunk.history].addmm_(weights.T, d_sums)
            d_history[chunk.history].addmm_(d_units.T, (scaled * mixed).flatten(0, 1))
            d_mix += (scaled * sums).sum((1, 2))
            d_scaled = sums * mixed
            d_weight += (d_scaled * wanted).sum(1)
            own = grad[chunk.targets] * (weights @ items)
            d_targets[chunk.targets] = own + (d_scaled * weight.unsqueeze(1)).sum(0)
        return d_history, d_targets, d_weight, d_mix, None, None, None


def _masked(scores: Tensor, places: Tensor) -> Tensor:
    """Exclude the target itself from its history."""
    rows = (places >= 0).nonzero().squeeze(1)
    return scores.index_put_((rows, places[rows]), scores.new_tensor(float("-inf")))
