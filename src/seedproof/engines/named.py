"""Engines by name, with the settings that each can keep to."""

from collections.abc import Callable, Mapping
from importlib.metadata import entry_points
from inspect import Parameter, signature
from typing import Any, TypeAlias

from seedproof.engines import Engine, ProcessEngine, SerialEngine
from seedproof.errors import OptionError, UnknownNameError

# Third parties add theirs with an entry point of this group.
GROUP = "seedproof.engines"

Maker: TypeAlias = Callable[..., Engine]


def build_engine(name: str, **settings: Any) -> Engine:  # noqa: ANN401 - each engine has its own
    """An engine by its name."""
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
    """Names of the engines that other packages add."""
    return tuple(sorted(point.name for point in entry_points(group=GROUP)))


def _check_settings(name: str, known: Mapping[str, Parameter], given: Mapping[str, object]) -> None:
    """Refuse a setting that the engine does not know, and a missing one that it needs."""
    takes_any = any(parameter.kind is Parameter.VAR_KEYWORD for parameter in known.values())
    unknown = next((setting for setting in given if setting not in known), None)
    if unknown is not None and not takes_any:
        raise OptionError(
            "The engine {name!r} has no setting {setting!r}. Leave it out, or choose another "
            "engine.",
            name=name,
            setting=unknown,
        )
    for setting, parameter in known.items():
        is_variadic = parameter.kind in {Parameter.VAR_KEYWORD, Parameter.VAR_POSITIONAL}
        if parameter.default is Parameter.empty and not is_variadic and setting not in given:
            raise OptionError(
                "The engine {name!r} needs the setting {setting!r}. Give it, or choose another "
                "engine.",
                name=name,
                setting=setting,
            )


def _loaders() -> dict[str, Callable[[], Maker]]:
    """Return how to load what makes each engine: one that is not chosen is not imported."""
    loaders: dict[str, Callable[[], Maker]] = {
        "serial": lambda: _serial,
        "processes": lambda: ProcessEngine,
        "ray": _ray,
        "slurm": _slurm,
    }
    for point in entry_points(group=GROUP):
        loaders.setdefault(point.name, point.load)
    return loaders


def _serial(*, threads: int = 1) -> Engine:
    del threads  # each run sets them itself
    return SerialEngine()


def _ray() -> Maker:
    from seedproof.engines.ray import RayEngine

    return RayEngine


def _slurm() -> Maker:
    from seedproof.engines.slurm import SlurmEngine

    return SlurmEngine
