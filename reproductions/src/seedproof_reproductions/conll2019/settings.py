"""Settings of the studies: one data set, one model, and how it is trained."""

import math
from dataclasses import dataclass, replace
from typing import Self

from seedproof.errors import OptionError
from seedproof_reproductions.known import check_known
from seedproof_reproductions.settings import BaseSetting

# Arguments of a run that begin with it describe how a model is explained.
EXPLAIN = "explain."
# The stabilizers by name; the presets themselves cannot be loaded without torch. In the last arm
# the learning rate falls to 0.
ARMS = (
    "none", "aswa", "aswa-code", "naswa", "naswa-code", "swa", "ema", "switch-ema", "lawa",
    "none-decayed",
)  # fmt: skip
# Adam's is that of the paper, which states none for the others: see plan.toml and rates.toml.
LEARNING_RATES = {"adam": 1e-3, "sgd": 0.03, "adagrad": 0.01}
# Rarer words share one vector, which is trained by those that occur once. The paper states
# nothing; larger texts get a higher bound, since every word costs optimizer time at every step.
MIN_COUNTS = {"sst": 2, "imdb": 10, "agnews": 5, "snli": 2, "adr": 2, "diabetes": 10, "anemia": 10}


@dataclass(frozen=True)
class Setting(BaseSetting):
    """One data set, one model, and its training: by default as published, except for the vectors.

    Training never stops early. `vectors` may be the path of a file, `n_dimensions` is the size of a
    word's vector, and a split of `n_…` examples is a fixed random part; None is all. A learning
    rate of None is the usual one of the optimizer.
    """

    choices = {  # noqa: RUF012 - a ClassVar of the base
        "dataset": tuple(MIN_COUNTS),
        "encoder": ("cnn", "lstm"),
        "attention": ("additive", "dot"),
    }
    least = {  # noqa: RUF012 - a ClassVar of the base
        "epochs": 1, "batch_size": 1, "n_dimensions": 1, "n_train": 2, "n_dev": 2, "n_test": 2,
    }  # fmt: skip

    dataset: str = "sst"
    encoder: str = "cnn"
    attention: str = "additive"
    epochs: int = 20
    batch_size: int = 32
    optimizer: str = "adam"
    learning_rate: float | None = None
    weight_decay: float = 1e-5
    vectors: str = "glove-100d"
    n_dimensions: int = 100
    n_train: int | None = None
    n_dev: int | None = None
    n_test: int | None = None

    def __post_init__(self) -> None:
        super().__post_init__()
        check_known("optimizer", self.optimizer, LEARNING_RATES, error=OptionError)
        if self.learning_rate is not None and not 0 < self.learning_rate < math.inf:
            raise OptionError(
                "learning_rate is {value!r}. Pass a number above 0.", value=self.learning_rate
            )
        if self.learning_rate == LEARNING_RATES[self.optimizer]:
            # The usual rate gives the same runs, whether it is given or not.
            object.__setattr__(self, "learning_rate", None)

    @property
    def rate(self) -> float:
        """Learning rate of the optimizer."""
        usual = LEARNING_RATES[self.optimizer]
        return usual if self.learning_rate is None else self.learning_rate

    @property
    def min_count(self) -> int:
        """Number of times that a word must occur in the training split."""
        return MIN_COUNTS[self.dataset]

    def smoke(self) -> Self:  # noqa: D102 - described in the base
        return replace(self, epochs=2, n_train=400, n_dev=200, n_test=200)
