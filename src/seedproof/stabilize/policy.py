"""Which weights enter an average, how they weigh, and what becomes of it: frozen, picklable."""

from dataclasses import dataclass
from typing import Literal, TypeAlias

from seedproof.errors import OptionError
from seedproof.typing import is_count


def _check(value: object, known: tuple[object, ...], name: str) -> None:
    if value not in known:
        # One by one: some are names, and others are numbers.
        listed = ", ".join(f"{{known[{index}]!r}}" for index in range(len(known)))
        raise OptionError(
            f"{{option}} is {{choice!r}}. Known: {listed}.", option=name, choice=value, known=known
        )


@dataclass(frozen=True)
class Mean:
    """All that entered weigh alike.

    Args:
        over: What the denominator counts: every `iterations` that could have entered, as
            published, or only those `accepted`, as in the papers' code.
    """

    over: Literal["iterations", "accepted"] = "iterations"

    def __post_init__(self) -> None:
        _check(self.over, ("iterations", "accepted"), "over")


@dataclass(frozen=True)
class Decay:
    """The past fades: the average keeps `decay` of itself at each step.

    Args:
        decay: Between 0 and 1; the memory is about 1 / (1 − decay) steps.
        warm_up: Whether it begins with less, (1 + t) / (10 + t), so that the first weights fade.
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
    """The last few that entered weigh alike, and the others are forgotten.

    Args:
        length: How many; each takes as much memory as the weights.
    """

    length: int = 5

    def __post_init__(self) -> None:
        if not is_count(self.length, least=1):
            raise OptionError(
                "A window of {length!r} is not possible. Give 1 or more.", length=self.length
            )


Weighing: TypeAlias = Mean | Decay | Window


@dataclass(frozen=True)
class NormRule:
    """NASWA's test: weights enter only if they are further from the average than usual.

    "Usual" is the mean distance of those that did not enter since the last that did.

    Args:
        order: 1 for the sum of absolute differences over all weights, as published; 2 for the
            Euclidean norm of each tensor, averaged over tensors, as in the papers' code.
        parameters: Names of the parameters that are compared; all without them.
        clear_each_epoch: Whether the memory of distances begins anew with each epoch.
        keep_zeros: Whether distances of zero count among the usual.
    """

    order: Literal[1, 2] = 1
    parameters: tuple[str, ...] | None = None
    clear_each_epoch: bool = False
    keep_zeros: bool = True

    def __post_init__(self) -> None:
        _check(self.order, (1, 2), "order")


@dataclass(frozen=True)
class Policy:
    """Everything that decides what an average is.

    Args:
        enters: When weights may enter: before each optimizer step, after it, or at the end of
            each epoch.
        weighing: How those that entered weigh.
        begins_with: Whether the average begins as the model's `weights`, which count as one
            member, or as the `first` weights that enter.
        first_counts: How often the first weights that enter count, if it begins with them.
        after_steps: Optimizer steps to wait before weights may enter.
        after_epochs: Epochs to wait before weights may enter.
        every: Only each so-manieth that could enter is looked at.
        accept: A test that weights must pass to enter; None lets all in.
        restart: At the end of an epoch the model goes on from the average (`assign`), trades
            places with it (`swap`), or goes on as it is (`none`).
        optimizer_state: Whether momenta are kept or reset at a restart.
        batch_norm: Running statistics are averaged like weights (`average`), computed anew by a
            pass over data (`refresh`), or left as the model has them (`copy`).
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
        _check(self.enters, ("before-step", "after-step", "epoch-end"), "enters")
        _check(self.begins_with, ("weights", "first"), "begins_with")
        _check(self.restart, ("assign", "swap", "none"), "restart")
        _check(self.optimizer_state, ("keep", "reset"), "optimizer_state")
        _check(self.batch_norm, ("average", "refresh", "copy"), "batch_norm")
        for name, least in (
            ("first_counts", 1),
            ("after_steps", 0),
            ("after_epochs", 0),
            ("every", 1),
        ):
            value = getattr(self, name)
            if not is_count(value, least):
                raise OptionError(
                    "{option} is {number!r}. Give a whole number, {least} or more.",
                    option=name,
                    number=value,
                    least=least,
                )
        if isinstance(self.weighing, Window) and (
            self.enters != "epoch-end" or self.accept is not None or self.restart == "swap"
        ):
            raise OptionError(
                "A window takes weights at the end of epochs, accepts all, and cannot be swapped. "
                'Set enters="epoch-end", accept=None, restart="none" or "assign".',
                option="weighing",
            )
