"""Every way to train that is compared, as plain data: the paper's, its rivals, plain levers."""

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Literal, TypeAlias

from seedproof.errors import UnknownNameError

Teacher: TypeAlias = Literal["fresh", "shared"]


@dataclass(frozen=True)
class SoftLabels:
    """What a model learns instead of gold labels.

    Args:
        kind: `smoothing` spreads a part evenly; `tgtss` and `tgtss-free` take what a teacher said
            while it trained, of all examples or of its own batches; `ensemble` the mean of several
            teachers; `knn` the labels of like examples.
        alpha: The part that is spread evenly, or over the neighbors.
        every: A teacher of `tgtss` predicts all examples after every so many steps.
        power: Exponent of the teachers' probabilities; below 1 it flattens.
        n_teachers: How many, for `ensemble`.
        teacher: `fresh` trains one for each run, as production does; with `shared` all runs learn
            from the same one, and owe less to their own seeds than they seem to.
    """

    kind: Literal["smoothing", "tgtss", "tgtss-free", "ensemble", "knn"]
    alpha: float = 0.0
    every: int = 1
    power: float = 0.5
    n_teachers: int = 1
    teacher: Teacher = "fresh"


@dataclass(frozen=True)
class Arm:
    """One way to train a head.

    Args:
        soft: What it learns instead of gold labels; None for gold ones.
        average: Name of an average of weights.
        weight_decay: L2 penalty, as Adam has it.
        width: Hidden units; 0 is a linear head.
        epochs: Times the usual number.
        decay: Whether the learning rate falls in a line to 0.
        zero_last: Whether the last layer begins with zeros.
        fixed_init: Whether all runs begin with the same weights.
        n_heads: How many are trained on the same features and averaged when they predict.
        codistilled: Whether a second head learns beside it, and both from each other.
        draw: Which draw of what all runs share, a teacher or the first weights: one draw says
            little of the next.
        title: What people read in place of its name, without a comma between words: several stand
            in one sentence. Arms that train alike are equal, whatever they are called.
    """

    soft: SoftLabels | None = None
    average: str = "none"
    weight_decay: float = 0.0
    width: int = 256
    epochs: int = 1
    decay: bool = False
    zero_last: bool = False
    fixed_init: bool = False
    n_heads: int = 1
    codistilled: bool = False
    draw: int = 0
    title: str = field(default="", compare=False)

    @property
    def teacher(self) -> Teacher | None:
        """Whether its soft labels come from a teacher of its own or a shared one."""
        has_teacher = self.soft is not None and self.soft.kind not in {"smoothing", "knn"}
        return self.soft.teacher if self.soft is not None and has_teacher else None


@dataclass(frozen=True)
class Group:
    """Arms that belong together.

    Args:
        title: What people read.
        arms: By their names.
    """

    title: str
    arms: Mapping[str, Arm]


CONTROL = Arm(title="control")
_TGTSS = SoftLabels("tgtss")
_TENTH = replace(_TGTSS, every=10)
_FREE = SoftLabels("tgtss-free")
_SMOOTH = SoftLabels("smoothing", alpha=0.1)
_WIDE = Arm(width=1024, decay=True, zero_last=True, title="width 1,024 + decay + zero last")

# Label smoothing as it was chosen on each data set.
_PAPER = {
    "none": CONTROL,
    "ensemble-shared": Arm(
        SoftLabels("ensemble", n_teachers=200, teacher="shared"), title="ensemble of 200 (shared)"
    ),
    "l2": Arm(weight_decay=1e-3, title="L2"),
    "swa": Arm(average="swa", title="SWA"),
    "label-smoothing-0.5": Arm(SoftLabels("smoothing", alpha=0.5), title="label smoothing 0.5"),
    "label-smoothing-0.1": Arm(_SMOOTH, title="label smoothing 0.1"),
    "tgtss-shared": Arm(replace(_TGTSS, teacher="shared"), title="TGTSS (shared teacher)"),
    "tgtss": Arm(_TGTSS, title="TGTSS (fresh teacher)"),
}
# Under the honest protocol and not.
_CHEAPER = {
    "tgtss-every-10": Arm(_TENTH, title="TGTSS every 10 steps (fresh)"),
    "tgtss-every-10-shared": Arm(
        replace(_TENTH, teacher="shared"), title="TGTSS every 10 steps (shared)"
    ),
    "tgtss-free": Arm(_FREE, title="TGTSS from batches (fresh)"),
    "tgtss-free-shared": Arm(replace(_FREE, teacher="shared"), title="TGTSS from batches (shared)"),
    "tgtss-power-1": Arm(replace(_TGTSS, power=1.0), title="TGTSS without exponent (fresh)"),
    "deployed-shared": Arm(
        SoftLabels("ensemble", power=1.0, teacher="shared"), title="distilled from a deployed model"
    ),
    "ensemble-10": Arm(SoftLabels("ensemble", n_teachers=10), title="ensemble of 10 (fresh)"),
    "knn": Arm(SoftLabels("knn", alpha=0.5), title="k-NN label smoothing"),
    "codistillation": Arm(codistilled=True, title="co-distillation"),
}
_AVERAGES = {
    "ema": Arm(average="ema", title="EMA"),
    "aswa": Arm(average="aswa", title="ASWA"),
    "naswa": Arm(average="naswa", title="NASWA"),
    "switch-ema": Arm(average="switch-ema", title="Switch-EMA"),
    "lawa": Arm(average="lawa", title="LAWA"),
}
_LEVERS = {
    "decay": Arm(decay=True, title="decay"),
    "wide": Arm(width=1024, title="width 1,024"),
    "zero-last": Arm(zero_last=True, title="zero last layer"),
    "long": Arm(epochs=2, decay=True, title="twice the epochs + decay"),
    "fixed-init": Arm(fixed_init=True, title="fixed init"),
    "fixed-init-decay": Arm(fixed_init=True, decay=True, title="fixed init + decay"),
    "linear": Arm(
        width=0,
        decay=True,
        zero_last=True,
        epochs=2,
        title="linear head + decay + zero last + 2× epochs",
    ),
    "wide-decay-zero": _WIDE,
    "wide-decay-zero-smooth": replace(_WIDE, soft=_SMOOTH, title=f"{_WIDE.title} + smoothing"),
    "wider-decay-zero-smooth": replace(
        _WIDE, width=4096, soft=_SMOOTH, title="width 4,096 + decay + zero last + smoothing"
    ),
    "heads-4": Arm(n_heads=4, title="4 heads"),
    "heads-16": Arm(n_heads=16, title="16 heads"),
    "heads-16-decay-zero-smooth": Arm(
        _SMOOTH,
        n_heads=16,
        decay=True,
        zero_last=True,
        title="16 heads + decay + zero last + smoothing",
    ),
}
_COMBINED = {
    "wide-decay-zero-ema": replace(_WIDE, average="ema", title=f"{_WIDE.title} + EMA"),
    "wide-decay-zero-tgtss-every-10": replace(
        _WIDE, soft=_TENTH, title=f"{_WIDE.title} + TGTSS (fresh)"
    ),
    "wide-decay-zero-smooth-heads-4": replace(
        _WIDE, soft=_SMOOTH, n_heads=4, title=f"4 heads of {_WIDE.title} + smoothing"
    ),
}
# Between the name of an arm and the number of the draw.
DRAW = "-draw-"
_REDRAWN = {
    f"{name}{DRAW}{draw + 1}": replace(arm, draw=draw, title=f"{arm.title} draw {draw + 1}")
    for name, arm in (_PAPER | _CHEAPER | _LEVERS).items()
    if name in {"tgtss-shared", "deployed-shared", "fixed-init", "fixed-init-decay"}
    for draw in (1, 2)
}
GROUPS: dict[str, Group] = {
    "paper": Group("the paper's methods", _PAPER),
    "cheaper": Group("the same, cheaper or taught otherwise", _CHEAPER),
    "averages": Group("averages of weights", _AVERAGES),
    "levers": Group("plain levers", _LEVERS),
    "combined": Group("levers with the rest", _COMBINED),
    # What all runs share was drawn once; drawn again, it is another arm.
    "redrawn": Group("what runs share, drawn again", _REDRAWN),
}
ARMS: dict[str, Arm] = {name: arm for group in GROUPS.values() for name, arm in group.arms.items()}


def arm_of(name: str) -> Arm:
    """An arm by its name.

    Args:
        name: One of `ARMS`.

    Returns:
        The arm.

    Raises:
        UnknownNameError: There is no such arm.
    """
    if name not in ARMS:
        raise UnknownNameError(f"There is no arm {name!r}. Known: {', '.join(ARMS)}.")
    return ARMS[name]
