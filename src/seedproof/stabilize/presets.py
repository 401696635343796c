"""Averages by name: the papers' as published and as coded, and their competitors."""

from dataclasses import replace
from typing import Any, Literal, TypedDict, Unpack

from torch import nn
from torch.optim import Optimizer

from seedproof.errors import OptionError, UnknownNameError
from seedproof.stabilize.average import WeightAverage
from seedproof.stabilize.policy import Decay, Mean, NormRule, Policy, Window
from seedproof.typing import check_count

PRESETS: dict[str, Policy | None] = {
    "none": None,
    # Without data to refresh them, copied batch-norm statistics lose less accuracy than averaged
    # ones in means over all steps whose model returns to them; in the others averaged ones lose
    # less, or as much (benchmarks/averages.py).
    "aswa": Policy(
        enters="before-step", weighing=Mean("iterations"), restart="assign", batch_norm="copy"
    ),
    # The `-code` variants do what the authors' public code does: see the explanation page.
    "aswa-code": Policy(
        enters="before-step",
        weighing=Mean("accepted"),
        begins_with="first",
        first_counts=2,
        after_steps=2,
        restart="swap",
    ),
    "naswa": Policy(
        enters="before-step",
        weighing=Mean("iterations"),
        accept=NormRule(1),
        restart="assign",
        batch_norm="copy",
    ),
    "naswa-code": Policy(
        enters="before-step",
        weighing=Mean("accepted"),
        begins_with="first",
        after_steps=2,
        accept=NormRule(2, clear_each_epoch=True, keep_zeros=False),
        restart="swap",
    ),
    "swa": Policy(
        enters="epoch-end", weighing=Mean("accepted"), begins_with="first", after_epochs=1
    ),
    "ema": Policy(enters="after-step", weighing=Decay(0.998)),
    "switch-ema": Policy(enters="after-step", weighing=Decay(0.998), restart="assign"),
    "lawa": Policy(enters="epoch-end", weighing=Window(5), begins_with="first"),
}


class AverageOptions(TypedDict, total=False):
    """Settings of an average as plain numbers: what is left out is as in its preset.

    Attributes:
        decay: Share of itself that `ema` or `switch-ema` keeps at each step, between 0 and 1. The
            memory is about 1 / (1 − decay) steps.
        window: Number of last epochs that `lawa` averages.
        start: Optimizer steps to wait before weights enter; for `swa` and `lawa`, which take
            weights at the ends of epochs, epochs to wait.
        every: Consider every n-th step only; for `swa` and `lawa` every n-th epoch.
        batch_norm: Batch-norm statistics if `finish` gets no data to recompute them: `average`,
            `copy`, or `refresh`, which warns then.

    Examples:
        >>> import seedproof as sp
        >>> options: sp.stabilize.AverageOptions = {"decay": 0.999, "start": 100}
    """

    decay: float
    window: int
    start: int
    every: int
    batch_norm: Literal["average", "refresh", "copy"]


def build(
    name: str,
    model: nn.Module,
    optimizer: Optimizer,
    *,
    policy: Policy | None = None,
    start_late: bool = False,
    **options: Unpack[AverageOptions],
) -> WeightAverage:
    """Return the average of a given name, attached to an optimizer.

    If the optimizer has loaded a state that was saved with an average, that one is resumed.

    Args:
        name: `none`, `aswa`, `aswa-code`, `naswa`, `naswa-code`, `swa`, `ema`, `switch-ema` or
            `lawa`: the arm of a run, for example.
        model: The model to average; it is neither copied nor wrapped.
        optimizer: The optimizer whose steps are followed.
        policy: Settings that replace the preset's, all of them.
        start_late: Start a new average if the optimizer has taken steps and has none. If
            omitted, such an optimizer is refused, because its average may have been lost.
        **options: Single settings: `decay`, `window`, `start`, `every`, `batch_norm`, see
            `AverageOptions`. `none` ignores them, so that all arms of a study can share them.

    Returns:
        An average. The one for `none` does nothing, so that the loop needs no special case.

    Raises:
        UnknownNameError: There is no such average.
        OptionError: An option that is unknown or does not apply, a policy for `none`, or the
            optimizer has loaded another average.
        MissingAverageError: The optimizer has taken steps without an average.

    Examples:
        >>> import torch
        >>> import seedproof as sp
        >>> model = torch.nn.Linear(2, 1)
        >>> optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
        >>> average = sp.stabilize.build("ema", model, optimizer, decay=0.999)
        >>> average.policy.weighing.decay
        0.999
    """
    if name not in PRESETS:
        raise UnknownNameError(
            "There is no average {name!r}. Known: {known}.", name=name, known=tuple(PRESETS)
        )
    if name == "none" and policy is not None:
        raise OptionError("The average {name!r} has no policy. Choose another name.", name=name)
    if options and policy is not None:
        raise OptionError(
            "`{option}` and a policy are both given. Set it in the policy.",
            option=next(iter(options)),
        )
    settings = PRESETS[name] if policy is None else policy
    _check_known(options)
    if options and settings is not None:
        settings = _changed(name, settings, options)
    return WeightAverage(model, optimizer, settings, start_late=start_late)


def _check_known(options: AverageOptions) -> None:
    """Refuse misspelled options, which would otherwise change nothing."""
    for option in options:
        if option not in AverageOptions.__annotations__:
            raise OptionError(
                "There is no option {option!r} of an average. Known: {known}.",
                option=option,
                known=(*AverageOptions.__annotations__, "policy", "start_late"),
            )


def _changed(name: str, policy: Policy, options: AverageOptions) -> Policy:
    """Return a preset with other settings; refuse those that do not apply to it."""
    changes: dict[str, Any] = {}
    weighing = policy.weighing
    if "decay" in options:
        if not isinstance(weighing, Decay):
            raise _unused("decay", name, Decay)
        changes["weighing"] = replace(weighing, decay=options["decay"])
    if "window" in options:
        if not isinstance(weighing, Window):
            raise _unused("window", name, Window)
        changes["weighing"] = replace(weighing, length=options["window"])
    if "start" in options:
        check_count("start", options["start"], 0)
        is_by_epoch = policy.enters == "epoch-end"
        changes["after_epochs" if is_by_epoch else "after_steps"] = options["start"]
        # The weights before the start are not a member of the average.
        changes["begins_with"] = "first" if options["start"] else policy.begins_with
    if "every" in options:
        changes["every"] = options["every"]
    if "batch_norm" in options:
        changes["batch_norm"] = options["batch_norm"]
    return replace(policy, **changes)


def _unused(option: str, name: str, weighing: type) -> OptionError:
    """Return the error of an option that belongs to other averages."""
    others = tuple(
        other
        for other, preset in PRESETS.items()
        if preset is not None and isinstance(preset.weighing, weighing)
    )
    return OptionError(
        "`{option}` does not apply to {name!r}, only to {others}. Remove it.",
        option=option,
        name=name,
        others=others,
    )


class ASWA(WeightAverage):
    """Running mean of all weights; the model returns to it at the end of each epoch.

    Its arguments are those of `WeightAverage`, as for the classes below.
    """

    preset = PRESETS["aswa"]


class NASWA(WeightAverage):
    """ASWA that accepts weights only if they are further from the mean than usual."""

    preset = PRESETS["naswa"]


class SWA(WeightAverage):
    """Mean of the weights at the ends of epochs."""

    preset = PRESETS["swa"]


class EMA(WeightAverage):
    """Exponential moving average of the weights."""

    preset = PRESETS["ema"]


class SwitchEMA(WeightAverage):
    """Exponential moving average; the model returns to it at the end of each epoch."""

    preset = PRESETS["switch-ema"]


class LAWA(WeightAverage):
    """Mean of the weights at the ends of the last few epochs."""

    preset = PRESETS["lawa"]
