"""Settings of the studies: one data set, one track, and how it is trained."""

from dataclasses import dataclass, replace
from typing import Self

from seedproof.errors import OptionError
from seedproof_reproductions.known import check_known
from seedproof_reproductions.settings import BaseSetting

# Utterances of the public files. No run trains on the dev split, and no choice was made by it.
WHOLE = {
    "clinc150": {"train": 15_000, "dev": 3_000, "test": 4_500},
    "massive": {"train": 11_514, "dev": 2_033, "test": 2_974},
}
# What a run learns from: the whole training split, or its own bootstrap sample of it.
TRAIN_DATA = ("fixed", "bootstrap")
TEST_SPLITS = ("test", "dev")
# Steps whose predictions are traced: all, or those from the first that counts for a teacher.
TRACED = ("all", "late")
# First step whose predictions of the teacher count: the paper's, for 5 epochs of 256 utterances.
TEACHER_STARTS = {"clinc150": 200, "massive": 180}
LEARNING_RATES = {"head": 1e-3, "finetune": 1e-4}
# A traced run predicts the test split after every so many steps.
TRACED_STEPS = {"head": 1, "finetune": 10}
SMOKE_SIZES = {"head": (600, 300), "finetune": (96, 60)}


@dataclass(frozen=True)
class Setting(BaseSetting):
    """One data set, one track, and how it is trained: by default as published.

    `head` trains a head on frozen features, `finetune` encoder and head together. `n_train` and
    `n_test` are fixed random parts; None is all. Predictions of the first `n_traced` runs per arm,
    or `n_traced_control` of the control, are traced while they train.

    With `train_data="bootstrap"` each run draws as many utterances as there are, with replacement,
    from its source `data`: new data in place of new seeds only. `test_split="dev"` tests on the
    utterances that are set aside to confirm a choice. With `traced="late"` a trace begins where the
    predictions of a teacher begin to count.
    """

    choices = {  # noqa: RUF012 - a ClassVar of the base
        "dataset": tuple(WHOLE),
        "track": tuple(LEARNING_RATES),
    }
    least = {  # noqa: RUF012 - a ClassVar of the base
        "epochs": 1, "batch_size": 1, "n_train": 2, "n_test": 2, "n_traced": 0,
        "n_traced_control": 0,
    }  # fmt: skip
    unnamed = frozenset({"n_traced", "n_traced_control"})

    dataset: str = "clinc150"
    track: str = "head"
    epochs: int = 5
    batch_size: int = 256
    dropout: float = 0.3
    n_train: int | None = None
    n_test: int | None = None
    n_traced: int = 3
    n_traced_control: int = 10
    train_data: str = "fixed"
    test_split: str = "test"
    traced: str = "all"

    def __post_init__(self) -> None:
        super().__post_init__()
        check_known("kind of training data", self.train_data, TRAIN_DATA, error=OptionError)
        check_known("test split", self.test_split, TEST_SPLITS, error=OptionError)
        check_known("part of the steps", self.traced, TRACED, error=OptionError)
        if not 0 <= self.dropout < 1:
            raise OptionError("dropout is {dropout!r}. Pass a share below 1.", dropout=self.dropout)

    @property
    def learning_rate(self) -> float:
        """Learning rate of Adam."""
        return LEARNING_RATES[self.track]

    def trace_every(self, n_steps: int) -> int:
        """Return the number of steps between traced predictions; there is at least one."""
        return min(TRACED_STEPS[self.track], n_steps)

    def trace_start(self, n_steps: int) -> int:
        """Return the first step, from 1, that may be traced; at least one step is."""
        if self.traced == "all":
            return 1
        every = self.trace_every(n_steps)
        return min(self.teacher_start(n_steps), n_steps // every * every)

    def teacher_start(self, n_steps: int) -> int:
        """Return the first step, from 1, that counts for a teacher: at the paper's share of all."""
        n_train = WHOLE[self.dataset]["train"]
        published = TEACHER_STARTS[self.dataset] / (5 * -(-n_train // 256))
        return max(1, round(published * n_steps))

    def smoke(self) -> Self:  # noqa: D102 - described in the base
        n_train, n_test = SMOKE_SIZES[self.track]
        small = replace(self, epochs=2, batch_size=32, n_train=n_train, n_test=n_test)
        return replace(small, n_traced=2, n_traced_control=2)
