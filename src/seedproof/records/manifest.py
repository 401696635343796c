"""The JSON files of a store: `study.json`, `run.json` as a run's commit, `failure.json`."""

import json
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field
from hashlib import blake2b
from typing import Any, TypeVar

from seedproof.errors import DamagedStoreError, NotFoundError, first_line
from seedproof.records.ingest_state import refuse_unfinished
from seedproof.records.location import Location
from seedproof.records.schema import check_version, digest, version_text

BLOCK_BYTES = 2**22

_M = TypeVar("_M", "FailureManifest", "StudyManifest")


@dataclass(frozen=True)
class RecordedFile:
    """One Parquet file of a run, as it was when the run was committed.

    A reader that checks the footer need not read the whole file first: pages have checksums.
    """

    path: str  # below the run's folder
    rows: int
    size: int  # in bytes
    digest: str  # of all bytes
    footer_digest: str
    footer_size: int  # in bytes, at the end of the file

    def is_possible(self) -> bool:
        """Return whether there can be such a file: `<kind>/<split>/…/<name>`."""
        sizes = (self.rows, self.footer_size, self.size)
        return (
            str(self.path).count("/") in {2, 3}
            and all(isinstance(size, int) for size in sizes)
            and 0 < self.footer_size < self.size
        )

    def is_intact(self, folder: Location) -> bool:
        """Return whether the file in a run's folder has the bytes that were committed."""
        content = blake2b(digest_size=16)
        place = folder / self.path
        if not place.is_file():
            return False
        with place.files.open_input_stream(place.path) as file:
            while block := file.read(BLOCK_BYTES):
                content.update(block)
        return content.hexdigest() == self.digest


@dataclass(frozen=True)
class RunManifest:
    """Files, seeds and conditions of one finished run."""

    run_id: str  # digest, and name of the run's folder
    name: str  # for people, such as its seed
    parts: tuple[RecordedFile, ...] = ()  # all files of the run; others are ignored
    arm: str = "none"  # the group of runs that differ only in seeds
    status: str = "finished"
    seeds: Mapping[str, int] = field(default_factory=dict)  # per source of randomness
    facts: Mapping[str, Any] = field(default_factory=dict)  # versions, hardware, times, code digest
    scalars: Mapping[str, float] = field(default_factory=dict)  # single numbers that the run logged

    def commit(self, folder: Location) -> None:
        """Write `run.json`, which makes the run visible to readers, after its files."""
        (folder / "run.json").commit(
            sealed(asdict(self)),
            files=[folder / part.path for part in self.parts],
            root=folder.parent.parent,
        )

    @classmethod
    def load(cls, folder: Location) -> "RunManifest":
        """Load the committed run in a folder."""
        place = folder / "run.json"
        content = unsealed(place)
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
    """The last failure of a run, which is retried whenever the study is run again."""

    run_id: str  # digest that names the run's folder
    name: str
    arm: str
    status: str  # `failed` (it raised an error), `killed` (its process crashed) or `timeout`
    message: str  # one line
    traceback: str = ""
    attempts: int = 1

    def write(self, folder: Location) -> None:
        """Write `failure.json`, in place of an earlier one."""
        folder.make_folder()
        (folder / "failure.json").commit(sealed(asdict(self)), replaces=True)

    @classmethod
    def load(cls, folder: Location) -> "FailureManifest":
        """Load the last failure of the run in a folder."""
        return _loaded(cls, folder / "failure.json")


@dataclass(frozen=True)
class StudyManifest:
    """Facts about all runs of a store."""

    name: str
    # Rows of every row group but the last; None if each layout has its own size.
    rows_per_group: int | None = None
    plan: Mapping[str, Any] | None = None  # seeds, arms, target, settings; None for ingested runs
    runs: Sequence[str] = ()  # names of ingested runs, to notice missing ones

    def __post_init__(self) -> None:
        object.__setattr__(self, "runs", tuple(self.runs))  # JSON has lists

    def write(self, store: Location) -> None:
        """Write `study.json`, which must not exist yet."""
        (store / "study.json").commit(sealed(self._content()))

    def replace(self, store: Location) -> None:
        """Replace `study.json`, when a study grows."""
        (store / "study.json").commit(sealed(self._content()), replaces=True)

    def _content(self) -> dict[str, Any]:
        content = asdict(self)
        if not self.runs:
            del content["runs"]
        return content

    @classmethod
    def load(cls, store: Location) -> "StudyManifest":
        """Load the study of a finished store."""
        refuse_unfinished(store)
        return _loaded(cls, store / "study.json")


def _loaded(manifest: type[_M], place: Location) -> _M:
    try:
        return manifest(**unsealed(place))
    except TypeError as error:
        raise _of_another_file(place) from error


def _of_another_file(place: Location) -> DamagedStoreError:
    return DamagedStoreError(
        "{path} has the content of another kind of file. "
        "Restore it from a copy, or repeat the run.",
        path=place,
    )


def sealed(content: dict[str, Any]) -> bytes:
    """Return JSON with its schema version and a digest of itself."""
    content = {"schema": version_text(), **content}
    content["digest"] = digest(_canonical(content))
    return json.dumps(content, indent=1, ensure_ascii=False).encode() + b"\n"


def unsealed(place: Location) -> dict[str, Any]:
    """Return the content of a JSON file whose digest is right."""
    try:
        content = json.loads(place.read_bytes())
        seal = content.pop("digest")
        version = content["schema"]
    except FileNotFoundError as error:
        raise NotFoundError(
            "{path} does not exist. Pass the folder or URL of a seedproof store.", path=place
        ) from error
    except OSError as error:
        raise NotFoundError(
            "{path} cannot be opened ({reason}). Check the address, the network and the "
            "permissions.",
            path=place,
            reason=first_line(error),
        ) from error
    except (ValueError, KeyError, AttributeError, TypeError) as error:
        raise DamagedStoreError(
            "{path} is damaged ({type_name}). Restore it from a copy, or repeat the run.",
            path=place,
            type_name=type(error).__name__,
        ) from error
    check_version(version, str(place))
    if digest(_canonical(content)) != seal:
        raise DamagedStoreError(
            "{path} was changed after it was written: its digest differs. "
            "Restore it from a copy, or repeat the run.",
            path=place,
            digest=seal,
        )
    del content["schema"]
    return dict(content)


def _canonical(content: Mapping[str, Any]) -> bytes:
    return json.dumps(content, sort_keys=True, separators=(",", ":")).encode()
