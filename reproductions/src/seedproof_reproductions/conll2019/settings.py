"""What one study of the reproduction trains, as plain data that names itself."""

from collections.abc import Sequence
from dataclasses import dataclass, fields, replace
from typing import Any

from seedproof.errors import OptionError
from seedproof.typing import is_count

# What begins with it in a run's arguments is about how a model is explained.
EXPLAIN = "explain."
MODEL = ("dataset", "encoder", "attention")
ENCODERS, ATTENTIONS = ("cnn", "lstm"), ("additive", "dot")
# The stabilizers by name; the presets themselves cannot be loaded without torch.
ARMS = ("none", "aswa", "aswa-code", "naswa", "naswa-code", "swa", "ema", "switch-ema", "lawa")
# Rarer words share one vector, which is trained by those that occur once. The paper states
# nothing; larger texts get a higher bound, since every word costs optimizer time at every step.
MIN_COUNTS = {"sst": 2, "imdb": 10, "agnews": 5, "snli": 2, "adr": 2, "diabetes": 10, "anemia": 10}


@dataclass(frozen=True)
class Setting:
    """One data set, one model, and how it is trained: by default as published, but for the vectors.

    Args:
        dataset: Name of the data set.
        encoder: `cnn` or `lstm`.
        attention: `additive` or `dot`.
        epochs: How often all examples are seen; there is no early end.
        batch_size: Examples a step.
        learning_rate: Constant.
        weight_decay: Of all weights, embeddings included.
        vectors: Pretrained word vectors: `glove-100d`, or the path of a file.
        n_dimensions: Numbers a word.
        n_train: Examples to train on, a fixed random part; None is all.
        n_dev: Examples that the checkpoint is chosen by.
        n_test: Examples to test on.

    Raises:
        OptionError: A value that is not possible.
    """

    dataset: str = "sst"
    encoder: str = "cnn"
    attention: str = "additive"
    epochs: int = 20
    batch_size: int = 32
    learning_rate: float = 1e-3
    weight_decay: float = 1e-5
    vectors: str = "glove-100d"
    n_dimensions: int = 100
    n_train: int | None = None
    n_dev: int | None = None
    n_test: int | None = None

    def __post_init__(self) -> None:
        for noun, value, known in (
            ("data set", self.dataset, tuple(MIN_COUNTS)),
            ("encoder", self.encoder, ENCODERS),
            ("attention", self.attention, ATTENTIONS),
        ):
            if value not in known:
                raise OptionError(f"There is no {noun} {value!r}. Known: {', '.join(known)}.")
        for name in ("epochs", "batch_size", "n_dimensions"):
            if not is_count(getattr(self, name), least=1):
                raise OptionError(f"{name} is {getattr(self, name)!r}. Give 1 or more.")
        for name in ("n_train", "n_dev", "n_test"):
            value = getattr(self, name)
            if value is not None and not is_count(value, least=2):
                raise OptionError(f"{name} is {value!r}. Give 2 or more, or leave it out.")

    @property
    def name(self) -> str:
        """What the study is called: data set, model, and whatever is not the paper's."""
        parts = [self.dataset, self.encoder, self.attention]
        for name, value in self._unusual().items():
            plain = "".join(s if s.isalnum() or s in ".-" else "-" for s in str(value))
            parts.append(f"{name}-{plain}".replace("_", "-"))
        return "-".join(parts)

    def _unusual(self) -> dict[str, Any]:
        """Values that are not the defaults, but for what every name says."""
        values = {field.name: (getattr(self, field.name), field.default) for field in fields(self)}
        return {
            name: value
            for name, (value, usual) in values.items()
            if value != usual and name not in MODEL
        }

    @property
    def min_count(self) -> int:
        """How often a word must occur in what is trained on."""
        return MIN_COUNTS[self.dataset]

    def smoke(self) -> "Setting":
        """The same in a few seconds, to see that everything works."""
        return replace(self, epochs=2, n_train=400, n_dev=200, n_test=200)

    def as_arguments(self) -> tuple[str, ...]:
        """What a run is called with; defaults are left out, so that a new one changes no run."""
        named = {name: getattr(self, name) for name in MODEL}
        return tuple(f"{name}={value}" for name, value in (named | self._unusual()).items())

    @classmethod
    def from_arguments(cls, arguments: Sequence[str]) -> "Setting":
        """The setting that `as_arguments` gave.

        Args:
            arguments: Such as `("dataset=sst", "epochs=20")`; what is left out has its default,
                and `explain.…` is skipped.

        Returns:
            A setting.

        Raises:
            OptionError: An argument is unknown, or its value is not possible.
        """
        known: dict[str, Any] = {field.name: field.type for field in fields(cls)}
        values: dict[str, Any] = {}
        for argument in arguments:
            if argument.startswith(EXPLAIN):
                continue
            name, _, text = argument.partition("=")
            if name not in known:
                raise OptionError(f"There is no setting {name!r}. Known: {', '.join(known)}.")
            kind = float if known[name] is float else str if known[name] is str else int
            try:
                values[name] = kind(text)
            except ValueError as error:
                raise OptionError(f"{argument!r} is not possible: give a number.") from error
        return cls(**values)
