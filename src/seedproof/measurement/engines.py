"""Which engine measures, and how much it is given at a time."""

from dataclasses import dataclass

from seedproof.engines import Engine, ProcessEngine, n_cores
from seedproof.engines.named import build_engine, further_engines
from seedproof.errors import OptionError, UnknownNameError

NAMES = ("serial", "processes", "ray")
# A fresh process takes a second to start: so many tasks a worker keep all of them busy to the end.
TASKS_PER_WORKER = 4
# What a task sends back grows with its shards.
MAX_SHARDS_PER_TASK = 32
# Results that wait for an earlier one, for each worker.
AHEAD = 4


@dataclass(frozen=True)
class Workers:
    """An engine, and how many shards a worker does at a time."""

    engine: Engine
    shards_per_task: int = 1


def measuring_workers(
    engine: str | Engine, n_shards: int, *, workers: int | None = None, address: str | None = None
) -> Workers | None:
    """The workers of an engine.

    None if everything is done here and now.
    """
    further = further_engines() if isinstance(engine, str) and engine not in NAMES else ()
    for name, value, fits in (
        ("address", address, engine == "ray"),
        ("workers", workers, engine in {"processes", "ray", *further}),
    ):
        if value is not None and not fits:
            raise OptionError(
                "The engine {engine!r} takes no {option}. Leave it out.",
                engine=engine,
                option=name,
            )
    match engine:
        case "serial":
            return None
        case "processes":
            n_workers = workers or n_cores()
            per_task = min(-(-n_shards // (TASKS_PER_WORKER * n_workers)), MAX_SHARDS_PER_TASK)
            return Workers(ProcessEngine(workers=n_workers, ahead=AHEAD), per_task)
        case "ray":
            from seedproof.engines.ray import RayEngine

            return Workers(RayEngine(address, workers, fresh=False, ahead=AHEAD))
        case str() if engine in further:
            return Workers(build_engine(engine, workers=workers))
        case str():
            raise UnknownNameError(
                "There is no engine {engine!r} for measuring. Known: {known}.",
                engine=engine,
                known=(*NAMES, *further),
            )
    return Workers(engine)
