"""The arithmetic of a policy: which weights enter, and how much they weigh.

The same lines serve numbers of Python and tensors on a device: on a device nobody waits for the
answer, and weights that do not enter do so with a weight of 0.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, TypeAlias

import torch
from torch import Tensor

from seedproof.stabilize.policy import Decay, Policy

Number: TypeAlias = Any  # int, float, or a tensor without axes


@dataclass
class Counters:
    """What an average remembers beside weights.

    Args:
        n_steps: Optimizer steps that were made; those that AMP skipped do not count.
        n_epochs: Epochs that ended.
        n_offered: Weights that could have entered.
        n_entered: Weights that entered.
        n_members: What the mean's denominator counts.
        norm_sum: Sum of the distances that are remembered.
        norm_count: How many they are.
        last_restart: Steps that had been made when the model last returned to the average.
    """

    n_steps: Number = 0
    n_epochs: int = 0
    n_offered: Number = 0
    n_entered: Number = 0
    n_members: Number = 0
    norm_sum: Number = 0.0
    norm_count: Number = 0
    last_restart: int = -1

    def on(self, device: torch.device) -> "Counters":
        """The same on a device, where they change without anybody waiting."""
        moved: dict[str, Any] = {
            name: value
            # The end of an epoch is no hurry: these stay where they are.
            if name in {"n_epochs", "last_restart"}
            else torch.as_tensor(value, dtype=torch.float64, device=device)
            for name, value in vars(self).items()
        }
        return Counters(**moved)

    def plain(self) -> dict[str, float]:
        """Numbers of Python, for a checkpoint; a device is waited for."""
        found = {
            name: value.item() if isinstance(value, Tensor) else value
            for name, value in vars(self).items()
        }
        return {n: v if n == "norm_sum" else int(v) for n, v in found.items()}

    @classmethod
    def from_plain(cls, saved: Mapping[str, Any]) -> "Counters":
        """From a checkpoint."""
        return cls(**{name: saved[name] for name in vars(cls())})


def weigh(
    policy: Policy, count: Counters, *, is_real: Number, distance: Callable[[], Number]
) -> Number:
    """How much the model's weights weigh now, and count them.

    Args:
        policy: What decides.
        count: Changed in place.
        is_real: Whether the step is one that AMP does not skip.
        distance: How far the model is from the average; asked only if the policy tests it.

    Returns:
        A weight for `Shadow.move`; 0 if they do not enter.
    """
    is_offered = is_real & (count.n_steps >= policy.after_steps)
    count.n_offered = count.n_offered + is_offered
    is_offered = is_offered & ((count.n_offered - 1) % policy.every == 0)
    if is_offered is False:
        return 0
    is_first = (count.n_entered == 0) & (policy.begins_with == "first")
    enters = is_offered
    far: Number = 0.0
    if policy.accept is not None:
        far = distance()
        usual = count.norm_sum / _where(count.norm_count > 0, count.norm_count, 1)
        enters = is_offered & ((far > usual) | is_first)
    weight = _where(enters, _where(is_first, 1.0, _weight(policy, count)), 0.0)
    _remember(policy, count, is_offered=is_offered, enters=enters, is_first=is_first, far=far)
    return weight


def _weight(policy: Policy, count: Counters) -> Number:
    if isinstance(policy.weighing, Decay):
        decay = policy.weighing.decay
        if policy.weighing.warm_up:
            early = (1.0 + count.n_entered) / (10.0 + count.n_entered)
            decay = _where(early < decay, early, decay)
        return 1.0 - decay
    return 1.0 / (count.n_members + 1)


def _remember(
    policy: Policy,
    count: Counters,
    *,
    is_offered: Number,
    enters: Number,
    is_first: Number,
    far: Number,
) -> None:
    counted = enters if getattr(policy.weighing, "over", "") == "accepted" else is_offered
    times = _where(is_first, policy.first_counts, 1)
    count.n_members = count.n_members + times * counted
    count.n_entered = count.n_entered + enters
    if policy.accept is None:
        return
    # The first weights that enter have nothing to be far from.
    far = _where(is_first, 0.0, far)
    is_kept = is_offered & ((far > 0) | (policy.accept.keep_zeros & _not(is_first)))
    count.norm_sum = _where(enters, far, count.norm_sum + _where(is_kept, far, 0.0))
    count.norm_count = _where(enters, 1.0 * is_kept, count.norm_count + is_kept)


def _where(condition: Number, yes: Number, no: Number) -> Number:
    if isinstance(condition, Tensor):
        if not isinstance(yes, Tensor) and not isinstance(no, Tensor):
            # Two numbers of Python would meet in 32 bits.
            yes = torch.full((), yes, dtype=torch.float64, device=condition.device)
        return torch.where(condition, yes, no)
    return yes if condition else no


def _not(condition: Number) -> Number:
    return ~condition if isinstance(condition, Tensor) else not condition
