"""Losses for training on soft labels, and for models that learn from each other."""

from collections.abc import Sequence
from typing import Literal, TypeAlias

import torch
from torch import Tensor
from torch.nn import functional

from seedproof.errors import OptionError, ShapeError

Reduction: TypeAlias = Literal["mean", "sum", "none"]


def soft_cross_entropy(logits: Tensor, targets: Tensor, *, reduction: Reduction = "mean") -> Tensor:
    """Return the cross-entropy of predictions against soft labels, −Σ_k q_k ln p_k, in nats.

    For one-hot targets it is `torch.nn.functional.cross_entropy`. Its minimum, at p = q, is the
    entropy of q, not 0. Classes whose target is 0 add nothing, even if their logit is −∞. It is
    computed in 32 bits or more. No gradient goes to the targets.

    Args:
        logits: The model's output, axes (…, classes).
        targets: Probabilities of the same shape, of any float type and device, or an array.
        reduction: `mean` over examples, `sum` over them, or `none`.

    Returns:
        A number, or one per example.

    Raises:
        ShapeError: The shapes differ.
        OptionError: There is no such reduction.
    """
    targets = torch.as_tensor(targets)
    if logits.shape != targets.shape:
        raise ShapeError(
            "Logits have the shape {shape!s} and targets {targets_shape!s}. "
            "Pass one probability for each logit; for gold labels, use cross_entropy of torch.",
            shape=tuple(logits.shape),
            targets_shape=tuple(targets.shape),
        )
    log_probs = _log_probs(logits)
    weights = targets.detach().to(log_probs)
    # 0 · ln 0 must be 0, not NaN; masked before the product, so that its gradient is 0 as well.
    losses = -(weights * log_probs.masked_fill(weights == 0, 0.0)).sum(dim=-1)
    return _reduced(losses, reduction)


def codistillation_loss(
    logits: Tensor,
    peers_logits: Tensor | Sequence[Tensor],
    labels: Tensor,
    *,
    weight: float = 1.0,
    reduction: Reduction = "mean",
) -> Tensor:
    """Return the loss of one of several models that learn from each other in training.

    Cross-entropy against the gold labels + weight · KL(p̄ ‖ p), where p is this model's prediction
    and p̄ the mean of its peers' on the same batch. The divergence is 0 where the model agrees with
    its peers. The peers are detached, so call it once per model.

    Co-distillation against churn is by Bhojanapalli et al. (2021, arXiv:2102.03349) and Hidey et
    al. (2022, arXiv:2204.04735), after Anil et al. (2018, arXiv:1804.03235). Variants differ in
    the divergence and in what is detached; this one is ours. Two models cost two training runs, and
    one of them is served.

    Args:
        logits: This model's output, axes (examples, classes).
        peers_logits: The other model's output, or a list for several others.
        labels: Gold classes.
        weight: Weight of agreement relative to the gold labels; 0 means independent training.
        reduction: `mean` over examples, `sum` over them, or `none`.

    Returns:
        A number, or one per example.

    Raises:
        ShapeError: The shapes differ.
        OptionError: The weight is negative, there is no peer, or no such reduction.
    """
    if not weight >= 0.0:
        raise OptionError("weight is {weight!r}. Pass 0 or more.", weight=weight)
    peers = [peers_logits] if isinstance(peers_logits, Tensor) else list(peers_logits)
    if not peers:
        raise OptionError(
            "There are no peers to learn from. Pass the logits of at least one.", n_peers=0
        )
    if any(peer.shape != logits.shape for peer in peers):
        raise ShapeError(
            "Logits have the shape {shape!s} and those of the peers "
            "{peer_shapes}. Give all for the same batch.",
            shape=tuple(logits.shape),
            peer_shapes=[tuple(peer.shape) for peer in peers],
        )
    if labels.shape != logits.shape[:1]:
        raise ShapeError(
            "Labels have the shape {shape!s} for logits of {logits_shape!s}. "
            "Pass one class index per example.",
            shape=tuple(labels.shape),
            logits_shape=tuple(logits.shape),
        )
    log_probs = _log_probs(logits)
    gold = functional.nll_loss(log_probs, labels.to(log_probs.device), reduction="none")
    with torch.no_grad():
        teacher = torch.stack([_log_probs(peer).exp().to(log_probs) for peer in peers]).mean(dim=0)
        entropy = torch.special.entr(teacher).sum(dim=-1)
    divergence = soft_cross_entropy(logits, teacher, reduction="none") - entropy
    return _reduced(gold + weight * divergence, reduction)


def _log_probs(logits: Tensor) -> Tensor:
    dtype = torch.promote_types(logits.dtype, torch.float32)
    return functional.log_softmax(logits, dim=-1, dtype=dtype)


def _reduced(losses: Tensor, reduction: Reduction) -> Tensor:
    if reduction == "mean":
        return losses.mean()
    if reduction == "sum":
        return losses.sum()
    if reduction == "none":
        return losses
    raise OptionError(
        "reduction is {reduction!r}. Known: 'mean', 'sum', 'none'.", reduction=reduction
    )
