"""Engines by name, with the settings that each can keep to."""

from collections.abc import Callable
from importlib.metadata import EntryPoint, entry_points
from typing import Any

from seedproof.engines import Engine, ProcessEngine, SerialEngine
from seedproof.errors import OptionError, UnknownNameError

# Third parties add theirs with an entry point of this group.
GROUP = "seedproof.engines"


def build_engine(name: str, **settings: Any) -> Engine:  # noqa: ANN401 - each engine has its own
    """An engine by its name.

    Args:
        name: `serial`, `processes`, `ray`, `slurm`, or one that another package adds.
        **settings: What the engine takes; None is left out.

    Returns:
        The engine.

    Raises:
        OptionError: The engine does not know a setting.
    """
    given = {key: value for key, value in settings.items() if value is not None}
    makers = _makers()
    if name not in makers:
        raise UnknownNameError(f"There is no engine {name!r}. Known: {', '.join(makers)}.")
    try:
        return makers[name](**given)
    except TypeError as error:
        unknown = str(error).rpartition("argument ")[2]
        raise OptionError(
            f"The engine {name!r} has no setting {unknown}. Leave it out, or choose another engine."
        ) from error


def _makers() -> dict[str, Callable[..., Engine]]:
    makers: dict[str, Callable[..., Engine]] = {
        "serial": _serial,
        "processes": ProcessEngine,
        "ray": _ray,
        "slurm": _slurm,
    }
    for point in entry_points(group=GROUP):
        makers.setdefault(point.name, _loaded(point))
    return makers


def _loaded(point: EntryPoint) -> Callable[..., Engine]:
    """Another package's engine; it is loaded only if somebody asks for it."""

    def make(**settings: Any) -> Engine:  # noqa: ANN401 - checked by the engine
        engine: Engine = point.load()(**settings)
        return engine

    return make


def _serial(*, threads: int = 1) -> Engine:
    del threads  # each run sets them itself
    return SerialEngine()


def _ray(**settings: Any) -> Engine:  # noqa: ANN401 - checked by the class
    from seedproof.engines.ray import RayEngine

    return RayEngine(**settings)


def _slurm(**settings: Any) -> Engine:  # noqa: ANN401 - checked by the class
    from seedproof.engines.slurm import SlurmEngine

    return SlurmEngine(**settings)
