"""The arithmetic of a policy: which weights enter an average, and with what weight.

The same code serves Python numbers and tensors on a device. On a device it never waits for a
result: weights that do not enter are added with a weight of 0.
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
    """The state of an average apart from its weights."""

    n_steps: Number = 0  # without those that AMP skipped
    n_epochs: int = 0
    n_offered: Number = 0  # weights that could have entered
    n_entered: Number = 0
    n_members: Number = 0  # the denominator of the mean
    norm_sum: Number = 0.0  # over the distances since the last weights that entered
    norm_count: Number = 0
    last_restart: int = -1  # n_steps when the model last returned to the average

    def on(self, device: torch.device) -> "Counters":
        """Return a copy on a device, where updates need no synchronization."""
        moved: dict[str, Any] = {
            name: value
            # Updated once per epoch, so keep them on the CPU.
            if name in {"n_epochs", "last_restart"}
            else torch.as_tensor(value, dtype=torch.float64, device=device)
            for name, value in vars(self).items()
        }
        return Counters(**moved)

    def plain(self) -> dict[str, float]:
        """Return Python numbers for a checkpoint; this waits for the device."""
        values = {
            name: value.item() if isinstance(value, Tensor) else value
            for name, value in vars(self).items()
        }
        return {name: v if name == "norm_sum" else int(v) for name, v in values.items()}

    @classmethod
    def from_plain(cls, saved: Mapping[str, Any]) -> "Counters":
        """Read the counters of a checkpoint."""
        return cls(**{name: saved[name] for name in vars(cls())})


def weigh(
    policy: Policy, count: Counters, *, is_real: Number, distance: Callable[[], Number]
) -> Number:
    """Return the weight of the model's current weights, 0 if they do not enter; update `count`.

    AMP skips steps that are not real. `distance` is called only if the policy tests it.
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

    counted = enters if getattr(policy.weighing, "over", "") == "accepted" else is_offered
    count.n_members = count.n_members + _where(is_first, policy.first_counts, 1) * counted
    count.n_entered = count.n_entered + enters
    if policy.accept is not None:
        # The first weights that enter have no average to be far from.
        far = _where(is_first, 0.0, far)
        is_kept = is_offered & ((far > 0) | (policy.accept.keep_zeros & _not(is_first)))
        count.norm_sum = _where(enters, far, count.norm_sum + _where(is_kept, far, 0.0))
        count.norm_count = _where(enters, 1.0 * is_kept, count.norm_count + is_kept)
    return weight


def _weight(policy: Policy, count: Counters) -> Number:
    if isinstance(policy.weighing, Decay):
        decay = policy.weighing.decay
        if policy.weighing.warm_up:
            early = (1.0 + count.n_entered) / (10.0 + count.n_entered)
            decay = _where(early < decay, early, decay)
        return 1.0 - decay
    return 1.0 / (count.n_members + 1)


def _where(condition: Number, yes: Number, no: Number) -> Number:
    if isinstance(condition, Tensor):
        if not isinstance(yes, Tensor) and not isinstance(no, Tensor):
            # torch.where of two Python numbers would give 32 bits.
            yes = torch.full((), yes, dtype=torch.float64, device=condition.device)
        return torch.where(condition, yes, no)
    return yes if condition else no


def _not(condition: Number) -> Number:
    return ~condition if isinstance(condition, Tensor) else not condition
