"""The JSON files of a store: `study.json`, `run.json` as a run's commit, `failure.json`."""

import json
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field
from typing import Any

from seedproof.errors import DamagedStoreError, NotFoundError, first_line
from seedproof.records.ingest_state import refuse_unfinished
from seedproof.records.location import Location
from seedproof.records.schema import check_version, digest, version_text


@dataclass(frozen=True)
class RecordedFile:
    """One Parquet file of a run, as it was when the run was committed."""

    path: str  # where it is, below the run's folder
    rows: int  # how many rows it has
    size: int  # its bytes
    digest: str  # digest of all its bytes
    footer_digest: str
    footer_size: int  # bytes of that footer, at the file's end

    def is_possible(self) -> bool:
        """Whether there can be such a file: `<kind>/<split>/…/<name>`, larger than a footer."""
        sizes = (self.rows, self.footer_size, self.size)
        return (
            str(self.path).count("/") in {2, 3}
            and all(isinstance(size, int) for size in sizes)
            and 0 < self.footer_size < self.size
        )


@dataclass(frozen=True)
class RunManifest:
    """What one run left behind, and under which conditions."""

    run_id: str  # digest that names the run's folder
    name: str  # what people call the run, such as its seed
    parts: tuple[RecordedFile, ...] = ()
    arm: str = "none"  # the group of runs that differ only in seeds
    status: str = "finished"  # `finished`; a run that did not finish has a `failure.json` instead
    seeds: Mapping[str, int] = field(default_factory=dict)  # seed of each source of randomness
    facts: Mapping[str, Any] = field(default_factory=dict)
    scalars: Mapping[str, float] = field(default_factory=dict)  # single numbers that the run logged

    def commit(self, folder: Location) -> None:
        """Write `run.json`: from now on the run exists."""
        (folder / "run.json").create(_sealed(asdict(self)))

    @classmethod
    def load(cls, folder: Location) -> "RunManifest":
        """The committed run in a folder."""
        place = folder / "run.json"
        content = _unsealed(place)
        try:
            parts = tuple(RecordedFile(**part) for part in content.pop("parts"))
            run = cls(parts=parts, **content)
        except (KeyError, TypeError) as error:
            raise _of_another_file(place) from error
        if not all(part.is_possible() for part in parts):
            raise _of_another_file(place)
        return run


@dataclass(frozen=True)
class FailureManifest:
    """Why a run did not finish, the last time that it was tried.

    It is no commit: the run is tried again whenever the study is run again.
    """

    run_id: str  # digest that names the run's folder
    name: str  # what people call the run
    arm: str  # its arm
    status: str  # `failed` (it raised), `killed` (its process died) or `timeout`
    message: str  # one line
    traceback: str = ""  # where it happened, if it raised
    attempts: int = 1  # how often it was tried

    def write(self, folder: Location) -> None:
        """Write `failure.json`, in place of an earlier one."""
        folder.make_folder()
        (folder / "failure.json").replace(_sealed(asdict(self)))

    @classmethod
    def load(cls, folder: Location) -> "FailureManifest":
        """The last failure of the run in a folder."""
        place = folder / "failure.json"
        try:
            return cls(**_unsealed(place))
        except TypeError as error:
            raise _of_another_file(place) from error


@dataclass(frozen=True)
class StudyManifest:
    """What all runs of a store share."""

    name: str  # name of the study
    rows_per_group: int | None = None
    plan: Mapping[str, Any] | None = None
    runs: Sequence[str] = ()

    def __post_init__(self) -> None:
        object.__setattr__(self, "runs", tuple(self.runs))  # JSON has lists

    def write(self, store: Location) -> None:
        """Write `study.json`, which must not exist yet."""
        (store / "study.json").create(_sealed(self._content()))

    def replace(self, store: Location) -> None:
        """Write `study.json` in place of the earlier one, when a study grows."""
        (store / "study.json").replace(_sealed(self._content()))

    def _content(self) -> dict[str, Any]:
        content = asdict(self)
        if not self.runs:
            del content["runs"]
        return content

    @classmethod
    def load(cls, store: Location) -> "StudyManifest":
        """The study of a store, if that is finished."""
        refuse_unfinished(store)
        place = store / "study.json"
        try:
            return cls(**_unsealed(place))
        except TypeError as error:
            raise _of_another_file(place) from error


def _of_another_file(place: Location) -> DamagedStoreError:
    return DamagedStoreError(
        "{path} holds what belongs into another file. "
        "Restore it from a copy, or make the run again.",
        path=place,
    )


def _sealed(content: dict[str, Any]) -> bytes:
    """JSON with its schema version and a digest of itself."""
    content = {"schema": version_text(), **content}
    content["digest"] = digest(_canonical(content))
    return json.dumps(content, indent=1, ensure_ascii=False).encode() + b"\n"


def _unsealed(place: Location) -> dict[str, Any]:
    try:
        content = json.loads(place.read_bytes())
        seal = content.pop("digest")
        version = content["schema"]
    except FileNotFoundError as error:
        raise NotFoundError(
            "{path} does not exist. Give the folder or URL of a seedproof store.", path=place
        ) from error
    except OSError as error:
        reason = first_line(error)
        raise NotFoundError(
            "{path} cannot be opened ({reason}). Look at the address, the network and the "
            "permissions.",
            path=place,
            reason=reason,
        ) from error
    except (ValueError, KeyError, AttributeError, TypeError) as error:
        raise DamagedStoreError(
            "{path} is not what was written there ({type_name}). "
            "Restore it from a copy, or make the run again.",
            path=place,
            type_name=type(error).__name__,
        ) from error
    check_version(version, str(place))
    if digest(_canonical(content)) != seal:
        raise DamagedStoreError(
            "{path} was changed after it was written: its digest differs. "
            "Restore it from a copy, or make the run again.",
            path=place,
            digest=seal,
        )
    del content["schema"]
    return dict(content)


def _canonical(content: Mapping[str, Any]) -> bytes:
    return json.dumps(content, sort_keys=True, separators=(",", ":")).encode()
