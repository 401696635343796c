"""What one study of the reproduction trains, as plain data that names itself."""

from collections.abc import Sequence
from dataclasses import dataclass, fields, replace
from typing import Any

from seedproof.errors import OptionError
from seedproof.typing import is_count

DATASETS, TRACKS = ("clinc150", "massive"), ("head", "finetune")
# Utterances to train on and to test on, of the public files.
WHOLE = {"clinc150": (15_000, 4_500), "massive": (11_514, 2_974)}
# From which step on the teacher's predictions count: the paper's, for 5 epochs of 256 utterances.
TEACHER_STARTS = {"clinc150": 200, "massive": 180}
LEARNING_RATES = {"head": 1e-3, "finetune": 1e-4}
# What a model predicts is looked at after every so many steps.
TRACED_STEPS = {"head": 1, "finetune": 10}

SMOKE_SIZES = {"head": (600, 300), "finetune": (96, 60)}


@dataclass(frozen=True)
class Setting:
    """One data set, one track, and how it is trained: by default as published.

    Args:
        dataset: `clinc150` or `massive`.
        track: `head` trains a head on frozen features, `finetune` encoder and head together.
        epochs: How often all utterances are seen.
        batch_size: Utterances a step.
        dropout: Of the hidden layer.
        n_train: Utterances to train on, a fixed random part; None is all.
        n_test: Utterances to test on.
        n_traced: So many runs of each arm tell what they predict while they train.
        n_traced_control: So many runs of the control do.

    Raises:
        OptionError: A value that is not possible.
    """

    dataset: str = "clinc150"
    track: str = "head"
    epochs: int = 5
    batch_size: int = 256
    dropout: float = 0.3
    n_train: int | None = None
    n_test: int | None = None
    n_traced: int = 3
    n_traced_control: int = 10

    def __post_init__(self) -> None:
        for noun, value, known in (
            ("data set", self.dataset, DATASETS),
            ("track", self.track, TRACKS),
        ):
            if value not in known:
                raise OptionError(f"There is no {noun} {value!r}. Known: {', '.join(known)}.")
        for name in ("epochs", "batch_size"):
            if not is_count(getattr(self, name), least=1):
                raise OptionError(f"{name} is {getattr(self, name)!r}. Give 1 or more.")
        for name in ("n_train", "n_test"):
            value = getattr(self, name)
            if value is not None and not is_count(value, least=2):
                raise OptionError(f"{name} is {value!r}. Give 2 or more, or leave it out.")
        if not 0 <= self.dropout < 1:
            raise OptionError(f"dropout is {self.dropout!r}. Give a share below 1.")
        for name in ("n_traced", "n_traced_control"):
            if not is_count(getattr(self, name), least=0):
                raise OptionError(f"{name} is {getattr(self, name)!r}. Give 0 or more.")

    @property
    def learning_rate(self) -> float:
        """Of Adam."""
        return LEARNING_RATES[self.track]

    def trace_every(self, n_steps: int) -> int:
        """After how many steps a traced run tells what it predicts: at least once.

        Args:
            n_steps: How many steps it trains for.

        Returns:
            A number of steps.
        """
        return min(TRACED_STEPS[self.track], n_steps)

    def teacher_start(self, n_steps: int) -> int:
        """From which step on a teacher's predictions count: at the same share of the training.

        Args:
            n_steps: How many steps the teacher trains for.

        Returns:
            A step, counted from 1.
        """
        n_train, _ = WHOLE[self.dataset]
        published = TEACHER_STARTS[self.dataset] / (5 * -(-n_train // 256))
        return max(1, round(published * n_steps))

    @property
    def name(self) -> str:
        """What the study is called: data set, track, and what is trained otherwise than usual."""
        parts = [self.dataset, self.track]
        parts += [
            f"{name}-{value}".replace("_", "-")
            for name, value in self._unusual().items()
            if "traced" not in name
        ]
        return "-".join(parts)

    def _unusual(self) -> dict[str, Any]:
        values = {field.name: (getattr(self, field.name), field.default) for field in fields(self)}
        return {
            name: value
            for name, (value, usual) in values.items()
            if value != usual and name not in {"dataset", "track"}
        }

    def smoke(self) -> "Setting":
        """The same in a few seconds, to see that everything works."""
        n_train, n_test = SMOKE_SIZES[self.track]
        return replace(
            self,
            epochs=2,
            batch_size=32,
            n_train=n_train,
            n_test=n_test,
            n_traced=2,
            n_traced_control=2,
        )

    def as_arguments(self) -> tuple[str, ...]:
        """What a run is called with; defaults are left out, so that a new one changes no run."""
        named = {"dataset": self.dataset, "track": self.track}
        return tuple(f"{name}={value}" for name, value in (named | self._unusual()).items())

    @classmethod
    def from_arguments(cls, arguments: Sequence[str]) -> "Setting":
        """The setting that `as_arguments` gave.

        Args:
            arguments: Such as `("dataset=massive", "track=head")`.

        Returns:
            A setting.

        Raises:
            OptionError: An argument is unknown, or its value is not possible.
        """
        known: dict[str, Any] = {field.name: field.type for field in fields(cls)}
        values: dict[str, Any] = {}
        for argument in arguments:
            name, _, text = argument.partition("=")
            if name not in known:
                raise OptionError(f"There is no setting {name!r}. Known: {', '.join(known)}.")
            kind = float if known[name] is float else str if known[name] is str else int
            try:
                values[name] = kind(text)
            except ValueError as error:
                raise OptionError(f"{argument!r} is not possible: give a number.") from error
        return cls(**values)
