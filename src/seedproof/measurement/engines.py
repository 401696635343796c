"""The engine that runs the passes over shards, and the order of its results."""

from collections.abc import Callable, Iterator
from typing import TypeVar

from seedproof.engines import Engine, ProcessEngine, SerialEngine, in_order
from seedproof.engines.named import build_engine, further_engines
from seedproof.errors import OptionError, UnknownNameError
from seedproof.typing import Progress

NAMES = ("serial", "processes", "ray")
# Number of results per worker that may wait for an earlier one.
AHEAD = 4

Part = TypeVar("Part")


def measuring_engine(
    engine: str | Engine, *, workers: int | None = None, address: str | None = None
) -> Engine | None:
    """Return an engine whose workers take shard after shard; None to run in this process."""
    further = further_engines() if isinstance(engine, str) and engine not in NAMES else ()
    for name, value, fits in (
        ("address", address, engine == "ray"),
        ("workers", workers, engine in {"processes", "ray", *further}),
    ):
        if value is not None and not fits:
            raise OptionError(
                "The engine {engine!r} does not take {option}. Leave it out.",
                engine=engine,
                option=name,
            )
    match engine:
        case "serial":
            return None
        case "processes":
            return ProcessEngine(workers=workers, fresh=False, ahead=AHEAD)
        case "ray":
            from seedproof.engines.ray import RayEngine

            return RayEngine(address, workers, fresh=False, ahead=AHEAD)
        case str() if engine in further:
            return build_engine(engine, workers=workers)
        case str():
            raise UnknownNameError(
                "There is no engine {engine!r} for measuring. Known: {known}.",
                engine=engine,
                known=(*NAMES, *further),
            )
    return engine


def map_shards(
    task: Callable[[int], Part],
    n_shards: int,
    *,
    engine: Engine | None = None,
    progress: Progress | None = None,
) -> Iterator[Part]:
    """Yield the result of a task for each shard, in the order of the shards."""
    outcomes = (engine or SerialEngine()).map(task, range(n_shards))
    for n_done, part in enumerate(in_order(outcomes), start=1):
        yield part
        if progress is not None:
            progress(n_done, n_shards)
