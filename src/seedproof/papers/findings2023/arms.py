"""Every way to train that is compared, as plain data: the paper's, its rivals, plain levers."""

from dataclasses import dataclass, replace
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

    @property
    def teacher(self) -> Teacher | None:
        """Whether its soft labels come from a teacher of its own or a shared one."""
        has_teacher = self.soft is not None and self.soft.kind not in {"smoothing", "knn"}
        return self.soft.teacher if self.soft is not None and has_teacher else None


CONTROL = Arm()
_TGTSS = SoftLabels("tgtss")
_FREE = SoftLabels("tgtss-free")
_WIDE = Arm(width=1024, decay=True, zero_last=True)
_SMOOTH = SoftLabels("smoothing", alpha=0.1)

# The paper's methods; label smoothing as it was chosen on each data set.
PAPER: dict[str, Arm] = {
    "none": CONTROL,
    "ensemble-shared": Arm(SoftLabels("ensemble", n_teachers=200, teacher="shared")),
    "l2": Arm(weight_decay=1e-3),
    "swa": Arm(average="swa"),
    "label-smoothing-0.5": Arm(SoftLabels("smoothing", alpha=0.5)),
    "label-smoothing-0.1": Arm(_SMOOTH),
    "tgtss-shared": Arm(replace(_TGTSS, teacher="shared")),
    "tgtss": Arm(_TGTSS),
}
# The same and cheaper, under the honest protocol and not.
CHEAPER: dict[str, Arm] = {
    "tgtss-every-10": Arm(replace(_TGTSS, every=10)),
    "tgtss-every-10-shared": Arm(replace(_TGTSS, every=10, teacher="shared")),
    "tgtss-free": Arm(_FREE),
    "tgtss-free-shared": Arm(replace(_FREE, teacher="shared")),
    "tgtss-power-1": Arm(replace(_TGTSS, power=1.0)),
    "deployed-shared": Arm(SoftLabels("ensemble", power=1.0, teacher="shared")),
    "ensemble-10": Arm(SoftLabels("ensemble", n_teachers=10)),
    "knn": Arm(SoftLabels("knn", alpha=0.5)),
    "codistillation": Arm(codistilled=True),
}
AVERAGES: dict[str, Arm] = {
    name: Arm(average=name) for name in ("ema", "aswa", "naswa", "switch-ema", "lawa")
}
LEVERS: dict[str, Arm] = {
    "decay": Arm(decay=True),
    "wide": Arm(width=1024),
    "zero-last": Arm(zero_last=True),
    "long": Arm(epochs=2, decay=True),
    "fixed-init": Arm(fixed_init=True),
    "fixed-init-decay": Arm(fixed_init=True, decay=True),
    "linear": Arm(width=0, decay=True, zero_last=True, epochs=2),
    "wide-decay-zero": _WIDE,
    "wide-decay-zero-smooth": replace(_WIDE, soft=_SMOOTH),
    "wider-decay-zero-smooth": replace(_WIDE, width=4096, soft=_SMOOTH),
    "heads-4": Arm(n_heads=4),
    "heads-16": Arm(n_heads=16),
    "heads-16-decay-zero-smooth": Arm(n_heads=16, decay=True, zero_last=True, soft=_SMOOTH),
}
# The levers with the best of the rest.
COMBINED: dict[str, Arm] = {
    "wide-decay-zero-ema": replace(_WIDE, average="ema"),
    "wide-decay-zero-tgtss-every-10": replace(_WIDE, soft=replace(_TGTSS, every=10)),
    "wide-decay-zero-smooth-heads-4": replace(_WIDE, soft=_SMOOTH, n_heads=4),
}
# What all runs share was drawn once; drawn again, it is another arm.
REDRAWN: dict[str, Arm] = {
    f"{name}-draw-{draw + 1}": replace(arm, draw=draw)
    for name, arm in (PAPER | CHEAPER | LEVERS).items()
    if name in {"tgtss-shared", "deployed-shared", "fixed-init", "fixed-init-decay"}
    for draw in (1, 2)
}
ARMS: dict[str, Arm] = PAPER | CHEAPER | AVERAGES | LEVERS | COMBINED | REDRAWN


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
