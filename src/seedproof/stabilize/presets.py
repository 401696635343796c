"""Averages by name: the papers' as published and as coded, and their competitors."""

from torch import nn
from torch.optim import Optimizer

from seedproof.errors import OptionError, UnknownNameError
from seedproof.stabilize.average import WeightAverage
from seedproof.stabilize.policy import Decay, Mean, NormRule, Policy, Window

PRESETS: dict[str, Policy | None] = {
    "none": None,
    "aswa": Policy(enters="before-step", weighing=Mean("iterations"), restart="assign"),
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
    "ema": Policy(enters="after-step", weighing=Decay(0.998)),
    "switch-ema": Policy(enters="after-step", weighing=Decay(0.998), restart="assign"),
    "lawa": Policy(enters="epoch-end", weighing=Window(5), begins_with="first"),
}


def build(
    name: str,
    model: nn.Module,
    optimizer: Optimizer,
    *,
    policy: Policy | None = None,
    start_late: bool = False,
) -> WeightAverage:
    """Return the average of a given name, attached to an optimizer.

    If the optimizer has loaded a state that was saved with an average, that one is resumed.

    Args:
        name: `none`, `aswa`, `aswa-code`, `naswa`, `naswa-code`, `swa`, `ema`, `switch-ema` or
            `lawa`: the arm of a run, for example.
        model: The model to average; it is neither copied nor wrapped.
        optimizer: The optimizer whose steps are followed.
        policy: Settings that replace the preset's.
        start_late: Start a new average if the optimizer has taken steps and has none. If
            omitted, such an optimizer is refused, because its average may have been lost.

    Returns:
        An average. The one for `none` does nothing, so that the loop needs no special case.

    Raises:
        UnknownNameError: There is no such average.
        OptionError: A policy for `none`, or the optimizer has loaded another average.
        MissingAverageError: The optimizer has taken steps without an average.
    """
    if name not in PRESETS:
        raise UnknownNameError(
            "There is no average {name!r}. Known: {known}.", name=name, known=tuple(PRESETS)
        )
    if name == "none" and policy is not None:
        raise OptionError("The average {name!r} has no policy. Choose another name.", name=name)
    chosen = PRESETS[name] if policy is None else policy
    return WeightAverage(model, optimizer, chosen, start_late=start_late)


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
