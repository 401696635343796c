"""Engines by name, with their settings."""

from collections.abc import Callable, Mapping
from importlib import import_module
from importlib.metadata import entry_points
from inspect import Parameter, signature
from typing import Any, TypeAlias

from seedproof.engines import Engine, ProcessEngine, SerialEngine
from seedproof.errors import OptionError, UnknownNameError

# Other packages add engines with an entry point of this group.
GROUP = "seedproof.engines"

Maker: TypeAlias = Callable[..., Engine]


def build_engine(name: str, **settings: Any) -> Engine:  # noqa: ANN401 - each engine has its own
    """Return an engine by its name."""
    given = {key: value for key, value in settings.items() if value is not None}
    loaders = _loaders()
    if name not in loaders:
        raise UnknownNameError(
            "There is no engine {name!r}. Known: {known}.", name=name, known=tuple(loaders)
        )
    maker = loaders[name]()
    _check_settings(name, signature(maker).parameters, given)
    return maker(**given)


def further_engines() -> tuple[str, ...]:
    """Return the names of engines of other packages."""
    return tuple(sorted(point.name for point in entry_points(group=GROUP)))


def _check_settings(name: str, known: Mapping[str, Parameter], given: Mapping[str, object]) -> None:
    """Refuse unknown settings, and missing ones that the engine requires."""
    takes_any = any(parameter.kind is Parameter.VAR_KEYWORD for parameter in known.values())
    unknown = next((setting for setting in given if setting not in known), None)
    if unknown is not None and not takes_any:
        raise OptionError(
            "The engine {name!r} has no setting `{option}`. Remove it, or choose another engine.",
            name=name,
            setting=unknown,
            option=unknown,
        )
    for setting, parameter in known.items():
        is_variadic = parameter.kind in {Parameter.VAR_KEYWORD, Parameter.VAR_POSITIONAL}
        if parameter.default is Parameter.empty and not is_variadic and setting not in given:
            raise OptionError(
                "The engine {name!r} requires the setting `{option}`. Pass it, or choose another "
                "engine.",
                name=name,
                setting=setting,
                option=setting,
            )


def _loaders() -> dict[str, Callable[[], Maker]]:
    """Return a loader per engine, so that only the chosen one is imported."""
    loaders: dict[str, Callable[[], Maker]] = {
        "serial": lambda: _serial,
        "processes": lambda: ProcessEngine,
        "ray": lambda: import_module("seedproof.engines.ray").RayEngine,
        "slurm": lambda: import_module("seedproof.engines.slurm").SlurmEngine,
    }
    return {point.name: point.load for point in entry_points(group=GROUP)} | loaders


def _serial(*, threads: int = 1) -> Engine:
    del threads  # each run sets them itself
    return SerialEngine()
