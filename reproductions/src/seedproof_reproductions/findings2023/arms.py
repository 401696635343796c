"""The arms of `arms.toml`: every way to train that is compared."""

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Any, Literal, TypeAlias

from seedproof_reproductions.known import check_known
from seedproof_reproductions.packaged import read_toml

Teacher: TypeAlias = Literal["fresh", "shared"]
Served: TypeAlias = Literal["mean", "soup", "nearest"]
# Between the name of an arm and the number of the draw.
DRAW = "-draw-"


@dataclass(frozen=True)
class SoftLabels:
    """Labels that a model learns instead of gold labels.

    Args:
        kind: `smoothing` spreads a part evenly; `tgtss` and `tgtss-free` take the predictions of a
            teacher while it trains, of all examples or of its own batches; `ensemble` the mean of
            several teachers; `knn` the labels of similar examples.
        alpha: The part that is spread evenly, or over the neighbors.
        every: A teacher of `tgtss` predicts all examples after every so many steps.
        power: Exponent of the teachers' probabilities; below 1 it flattens.
        n_teachers: Number of teachers, for `ensemble`.
        teacher: `fresh` trains one per run, as production does; with `shared` all runs learn from
            the same one, so that they vary less than their seeds would make them.
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
        soft: Soft labels; None for gold labels.
        average: Name of an average of weights.
        weight_decay: L2 penalty, as Adam has it.
        width: Hidden units; 0 is a linear head.
        epochs: Multiple of the usual number.
        decay: Whether the learning rate decays linearly to 0.
        zero_last: Whether the last layer begins with zeros.
        fixed_init: Whether all runs begin with the same weights.
        n_heads: Number of heads on the same features, averaged when they predict.
        bagged: Whether each head learns from its own bootstrap sample of the run's data.
        one_init: Whether the heads of a run begin with the same weights; other runs have others.
        served: What several heads serve: the mean of their probabilities, one head with the mean of
            their weights (`soup`), or the head whose predictions are `nearest` to the mean.
        codistilled: Whether a second head is trained along with it, and both learn from each other.
        twins: Weight of the disagreement of two heads that are trained jointly on two bootstrap
            samples, see `heads.fit_twins`; 0 for none.
        draw: Which draw of what all runs share, a teacher or the first weights.
        title: Shown in place of the name, without a comma between words, since lists have them.
            Arms that train alike are equal, whatever their title.
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
    bagged: bool = False
    one_init: bool = False
    served: Served = "mean"
    codistilled: bool = False
    twins: float = 0.0
    draw: int = 0
    title: str = field(default="", compare=False)

    @property
    def teacher(self) -> Teacher | None:
        """`fresh` or `shared` for an arm with teachers, None for others."""
        if self.soft is None or self.soft.kind in {"smoothing", "knn"}:
            return None
        return self.soft.teacher

    @property
    def serves_what_trains(self) -> bool:
        """True if traces of the models that train are traces of what is served."""
        return self.average == "none" and self.served == "mean" and not self.twins


@dataclass(frozen=True)
class Group:
    """Arms that belong together, by their names."""

    title: str
    arms: Mapping[str, Arm]


def _read_groups() -> dict[str, Group]:
    content = read_toml(__package__, "arms.toml")
    groups = {
        name: Group(group["title"], {arm: _arm(**given) for arm, given in group["arms"].items()})
        for name, group in content["groups"].items()
    }
    arms = {name: arm for group in groups.values() for name, arm in group.arms.items()}
    redrawn = {
        f"{name}{DRAW}{n}": replace(arms[name], draw=n - 1, title=f"{arms[name].title} draw {n}")
        for name in content["redrawn"]["arms"]
        for n in content["redrawn"]["draws"]
    }
    return groups | {"redrawn": Group(content["redrawn"]["title"], redrawn)}


def _arm(soft: Mapping[str, Any] | None = None, **given: Any) -> Arm:  # noqa: ANN401 - TOML
    return Arm(soft=None if soft is None else SoftLabels(**soft), **given)


GROUPS = _read_groups()
ARMS: dict[str, Arm] = {name: arm for group in GROUPS.values() for name, arm in group.arms.items()}
CONTROL = ARMS["none"]


def arm_of(name: str) -> Arm:
    """Return an arm by its name; an unknown one is an `UnknownNameError`."""
    check_known("arm", name, ARMS)
    return ARMS[name]
