"""Policies of averages: which weights enter, how they are weighted, and how the model restarts."""

from dataclasses import dataclass
from typing import Literal, TypeAlias, get_args, get_type_hints

from seedproof.errors import OptionError
from seedproof.typing import check_count, is_count


def _check_choices(policy: object) -> None:
    """Refuse values that the `Literal` types of a dataclass do not list."""
    for name, hint in get_type_hints(type(policy)).items():
        value, known = getattr(policy, name), get_args(hint)
        if getattr(hint, "__origin__", None) is Literal and value not in known:
            # Separately, because some are names and others are numbers.
            listed = ", ".join(f"{{known[{index}]!r}}" for index in range(len(known)))
            raise OptionError(
                f"{{option}} is {{choice!r}}. Known: {listed}.",
                option=name,
                choice=value,
                known=known,
            )


@dataclass(frozen=True)
class Mean:
    """The same weight for everything that entered.

    Args:
        over: What the denominator counts: all `iterations` that could have entered, as
            published, or only those `accepted`, as in the papers' code.
    """

    over: Literal["iterations", "accepted"] = "iterations"

    def __post_init__(self) -> None:
        _check_choices(self)


@dataclass(frozen=True)
class Decay:
    """Exponential decay: the average keeps the share `decay` of itself at each step.

    Args:
        decay: Between 0 and 1; the memory is about 1 / (1 − decay) steps.
        warm_up: Start with the smaller decay (1 + t) / (10 + t), so that the first weights fade.
    """

    decay: float = 0.998
    warm_up: bool = True

    def __post_init__(self) -> None:
        if not 0.0 < self.decay < 1.0:
            raise OptionError(
                "A decay of {decay!r} is not possible: 0 < decay < 1.", decay=self.decay
            )


@dataclass(frozen=True)
class Window:
    """The same weight for the last few that entered, and 0 for earlier ones.

    Args:
        length: Number of sets of weights; each takes as much memory as the model's.
    """

    length: int = 5

    def __post_init__(self) -> None:
        if not is_count(self.length, least=1):
            raise OptionError(
                "A window of {length!r} is not possible. Pass 1 or more.", length=self.length
            )


Weighing: TypeAlias = Mean | Decay | Window


@dataclass(frozen=True)
class NormRule:
    """NASWA's test: weights enter only if they are further from the average than usual.

    "Usual" is the mean distance of the weights that were rejected since the last accepted ones.

    Args:
        order: 1 for the sum of absolute differences over all weights, as published; 2 for the
            Euclidean norm of each tensor, averaged over tensors, as in the papers' code.
        parameters: Names of the parameters to compare. If omitted, all of them.
        clear_each_epoch: Forget earlier distances at the end of each epoch.
        keep_zeros: Include distances of zero in the mean.
    """

    order: Literal[1, 2] = 1
    parameters: tuple[str, ...] | None = None
    clear_each_epoch: bool = False
    keep_zeros: bool = True

    def __post_init__(self) -> None:
        _check_choices(self)


@dataclass(frozen=True)
class Policy:
    """All settings of an average; frozen and picklable.

    Args:
        enters: When weights may enter: before each optimizer step, after it, or at the end of
            each epoch.
        weighing: How the weights that entered are weighted.
        begins_with: Start from the model's current `weights`, which count as one member, or
            from the `first` weights that enter.
        first_counts: How often the first weights that enter count, if it begins with them.
        after_steps: Optimizer steps to wait before weights may enter.
        after_epochs: Epochs to wait before weights may enter.
        every: Consider every n-th candidate only.
        accept: A test that weights must pass to enter. If omitted, all enter.
        restart: At the end of an epoch the model continues from the average (`assign`), swaps
            with it (`swap`), or continues unchanged (`none`).
        optimizer_state: Keep or reset the optimizer's momenta at a restart.
        batch_norm: Running statistics if no data are given to recompute them: averaged like
            weights (`average`), or the model's own (`copy`). With `refresh` they are the model's
            own as well, and a warning asks for data.
    """

    enters: Literal["before-step", "after-step", "epoch-end"] = "before-step"
    weighing: Weighing = Mean()
    begins_with: Literal["weights", "first"] = "weights"
    first_counts: int = 1
    after_steps: int = 0
    after_epochs: int = 0
    every: int = 1
    accept: NormRule | None = None
    restart: Literal["assign", "swap", "none"] = "none"
    optimizer_state: Literal["keep", "reset"] = "keep"
    batch_norm: Literal["average", "refresh", "copy"] = "average"

    def __post_init__(self) -> None:
        _check_choices(self)
        for name in ("first_counts", "every"):
            check_count(name, getattr(self, name), 1)
        for name in ("after_steps", "after_epochs"):
            check_count(name, getattr(self, name), 0)
        if isinstance(self.weighing, Window) and (
            self.enters != "epoch-end" or self.accept is not None or self.restart == "swap"
        ):
            raise OptionError(
                "A window takes weights at the end of epochs, accepts all, and cannot be swapped. "
                'Set enters="epoch-end", accept=None, restart="none" or "assign".',
                option="weighing",
            )
