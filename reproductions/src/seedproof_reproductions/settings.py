"""Settings of a study as plain data that names itself and becomes a run's arguments."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, fields
from typing import Any, ClassVar, Self, get_args

from seedproof.errors import OptionError
from seedproof.typing import is_count
from seedproof_reproductions.known import check_known


@dataclass(frozen=True)
class BaseSetting:
    """A frozen dataclass whose defaults are what the paper did.

    `seed` is the root of all seeds; another one gives runs that no earlier choice has seen.
    """

    # Fields that every name begins with, and the values that each may have.
    choices: ClassVar[Mapping[str, Sequence[str]]]
    # Least value of each count.
    least: ClassVar[Mapping[str, int]]
    # Fields that change no run, and so are not part of the name.
    unnamed: ClassVar[frozenset[str]] = frozenset()

    # By keyword only, so that the fields of a recipe keep their positions.
    seed: int = field(default=0, kw_only=True)

    def __post_init__(self) -> None:
        for name, known in self.choices.items():
            noun = name.replace("dataset", "data set")
            check_known(noun, getattr(self, name), known, error=OptionError)
        for name, least in self.least.items():
            value = getattr(self, name)
            if value is not None and not is_count(value, least=least):
                raise OptionError(
                    "{name} is {value!r}. Pass {least} or more.",
                    name=name,
                    value=value,
                    least=least,
                )

    @property
    def name(self) -> str:
        """Name of the study: the choices, and whatever differs from the paper."""
        parts = [getattr(self, name) for name in self.choices]
        for name, value in self._changed().items():
            if name not in self.unnamed:
                plain = "".join(s if s.isalnum() or s in ".-" else "-" for s in str(value))
                parts.append(f"{name}-{plain}".replace("_", "-"))
        return "-".join(parts)

    def _changed(self) -> dict[str, Any]:
        """Return values that are not the defaults, except for the choices."""
        values = {field.name: getattr(self, field.name) for field in fields(self)}
        defaults = {field.name: field.default for field in fields(self)}
        return {
            name: value
            for name, value in values.items()
            if value != defaults[name] and name not in self.choices
        }

    def smoke(self) -> Self:
        """Return the same setting for a few seconds, to see that everything works."""
        raise NotImplementedError

    def as_arguments(self) -> tuple[str, ...]:
        """Return the arguments of a run; defaults are omitted, so that a new one changes no run."""
        chosen = {name: getattr(self, name) for name in self.choices}
        return tuple(f"{name}={value}" for name, value in (chosen | self._changed()).items())

    @classmethod
    def from_stored(cls, stored: Mapping[str, Any]) -> Self:
        """Return the setting of stored results, which may describe more than the training."""
        known = {field.name for field in fields(cls)}
        return cls(**{name: value for name, value in stored.items() if name in known})

    @classmethod
    def from_arguments(cls, arguments: Sequence[str]) -> Self:
        """Read what `as_arguments` returned; names with a dot are skipped, unknown ones refused."""
        known: dict[str, Any] = {field.name: field.type for field in fields(cls)}
        values: dict[str, Any] = {}
        for argument in arguments:
            name, _, text = argument.partition("=")
            if "." in name:
                continue
            check_known("setting", name, known, error=OptionError)
            kind = next((kind for kind in (float, str) if kind in _kinds(known[name])), int)
            try:
                values[name] = kind(text)
            except ValueError as error:
                raise OptionError(
                    "{argument!r} is not possible: give a number.", argument=argument
                ) from error
        return cls(**values)


def _kinds(annotation: Any) -> tuple[Any, ...]:  # noqa: ANN401 - a type, or several
    """Return the types of a field, such as float and None."""
    return get_args(annotation) or (annotation,)
