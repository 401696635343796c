"""`declared.json`: the number of runs per arm that was declared before any run was looked at.

It is written once. A number that could be raised after a look would make the plain interval wrong.
"""

from dataclasses import asdict, dataclass

from seedproof.errors import OptionError, RunExistsError
from seedproof.records.location import Location
from seedproof.records.manifest import StudyManifest, loaded, sealed
from seedproof.typing import check_count

FILE = "declared.json"
# Recorded by a study that grows until it is decided.
NOTHING = 0


@dataclass(frozen=True)
class _Declaration:
    n_runs: int

    def __post_init__(self) -> None:
        check_count("n_runs", self.n_runs, least=NOTHING)


def declared_runs(store: Location) -> int | None:
    """Return the number of runs per arm that a store declares.

    0 if the study grows until it is decided; None if nothing is recorded, as in older stores.
    """
    place = store / FILE
    if not place.is_file():
        return None
    return loaded(_Declaration, place).n_runs


def planned_names(store: Location) -> tuple[str, ...]:
    """Return the names of the runs of an arm that a study plans now; empty for other stores."""
    return StudyManifest.load(store).planned_names()


def planned_runs(store: Location) -> int | None:
    """Return the number of runs per arm that a study plans now; None for other stores."""
    return len(planned_names(store)) or None


def has_grown(store: Location) -> bool:
    """Return whether the plan of a store has more runs than were declared."""
    declared, planned = declared_runs(store), planned_runs(store)
    return declared is not None and planned is not None and planned > declared


def declare_runs(store: Location, n_runs: int, *, is_begun: bool = True) -> None:
    """Record the number of runs per arm; refuse another number once a run is finished."""
    place, content = store / FILE, sealed(asdict(_Declaration(n_runs)))
    if not is_begun:
        place.commit(content, replaces=True)
        return
    recorded = declared_runs(store)
    if recorded is None:
        try:
            place.commit(content)
        except RunExistsError:  # another process was faster
            recorded = declared_runs(store)
    if recorded not in {None, n_runs}:
        raise OptionError(
            "{n_runs} runs cannot be declared: the store has recorded {recorded}, and a number "
            "that changes after a look means nothing. Leave out --declared-runs, declared_runs= "
            "in Python.",
            option="--declared-runs",
            n_runs=n_runs,
            recorded=recorded,
        )
