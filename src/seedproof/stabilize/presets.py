"""Averages by name: the papers' as published and as coded, and those that they compete with."""

from torch import nn
from torch.optim import Optimizer

from seedproof.errors import OptionError, UnknownNameError
from seedproof.stabilize.average import WeightAverage
from seedproof.stabilize.policy import Decay, Mean, NormRule, Policy, Window

_ASWA = Policy(enters="before-step", weighing=Mean("iterations"), restart="assign")
# What the authors' public code does, with its library as it stands: see the explanation page.
_ASWA_CODE = Policy(
    enters="before-step",
    weighing=Mean("accepted"),
    begins_with="first",
    first_counts=2,
    after_steps=2,
    restart="swap",
)
_EMA = Policy(enters="after-step", weighing=Decay(0.998))

PRESETS: dict[str, Policy | None] = {
    "none": None,
    "aswa": _ASWA,
    "aswa-code": _ASWA_CODE,
    "naswa": Policy(
        enters="before-step", weighing=Mean("iterations"), accept=NormRule(1), restart="assign"
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
    "ema": _EMA,
    "switch-ema": Policy(enters="after-step", weighing=Decay(0.998), restart="assign"),
    "lawa": Policy(enters="epoch-end", weighing=Window(5), begins_with="first"),
}


def build(
    name: str, model: nn.Module, optimizer: Optimizer, *, policy: Policy | None = None
) -> WeightAverage:
    """The average of a name, attached to an optimizer.

    Args:
        name: `none`, `aswa`, `aswa-code`, `naswa`, `naswa-code`, `swa`, `ema`, `switch-ema` or
            `lawa`: the arm of a run, for example.
        model: Whose weights are averaged; it is neither copied nor wrapped.
        optimizer: Whose steps are followed.
        policy: Other settings than the name's own.

    Returns:
        An average; for `none` one that does nothing, so that the loop need not ask.

    Raises:
        UnknownNameError: There is no such average.
        OptionError: A policy for `none`.
    """
    if name not in PRESETS:
        raise UnknownNameError(
            "There is no average {name!r}. Known: {known}.", name=name, known=tuple(PRESETS)
        )
    if name == "none" and policy is not None:
        raise OptionError("The average {name!r} has no policy. Choose another name.", name=name)
    return WeightAverage(model, optimizer, PRESETS[name] if policy is None else policy)


class ASWA(WeightAverage):
    """A running mean of all weights, to which the model returns at the end of each epoch.

    Args:
        model: Whose weights are averaged; it is neither copied nor wrapped.
        optimizer: Whose steps are followed.
        policy: Other settings than the published ones.
    """

    preset = PRESETS["aswa"]


class NASWA(WeightAverage):
    """ASWA that takes in weights only if they are further from the mean than usual.

    Args:
        model: Whose weights are averaged; it is neither copied nor wrapped.
        optimizer: Whose steps are followed.
        policy: Other settings than the published ones.
    """

    preset = PRESETS["naswa"]


class SWA(WeightAverage):
    """The mean of the weights at the ends of epochs.

    Args:
        model: Whose weights are averaged; it is neither copied nor wrapped.
        optimizer: Whose steps are followed.
        policy: Other settings, such as a later start.
    """

    preset = PRESETS["swa"]


class EMA(WeightAverage):
    """An exponential moving average of the weights.

    Args:
        model: Whose weights are averaged; it is neither copied nor wrapped.
        optimizer: Whose steps are followed.
        policy: Other settings, such as another decay.
    """

    preset = PRESETS["ema"]


class SwitchEMA(WeightAverage):
    """An exponential moving average, to which the model returns at the end of each epoch.

    Args:
        model: Whose weights are averaged; it is neither copied nor wrapped.
        optimizer: Whose steps are followed.
        policy: Other settings, such as another decay.
    """

    preset = PRESETS["switch-ema"]


class LAWA(WeightAverage):
    """The mean of the weights at the ends of the last few epochs.

    Args:
        model: Whose weights are averaged; it is neither copied nor wrapped.
        optimizer: Whose steps are followed.
        policy: Other settings, such as another window.
    """

    preset = PRESETS["lawa"]
