"""The JSON files of a store: `study.json`, `run.json` as a run's commit, `failure.json`."""

import json
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import asdict, dataclass, field
from functools import cached_property
from hashlib import blake2b
from typing import Any, TypeVar

from seedproof.errors import DamagedStoreError, NotFoundError, OptionError, first_line
from seedproof.records.decoding import DecodingError, decode, read_json
from seedproof.records.ingest_state import refuse_unfinished
from seedproof.records.location import Location, is_file_name, is_unicode
from seedproof.records.schema import check_version, digest, version_text
from seedproof.seeds import MAX_RUNS, SeedPlan
from seedproof.typing import is_count

BLOCK_BYTES = 2**22

_M = TypeVar("_M")


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

    def __post_init__(self) -> None:
        names = self.path.split("/")  # `<kind>/<split>/…/<name>`
        if len(names) not in {3, 4} or not all(map(is_file_name, names)):
            raise ValueError(f"{self.path!r} is not the path of a file of a run")
        if not (self.rows >= 0 and 0 < self.footer_size < self.size):
            raise ValueError(f"{self.path!r} cannot have this size")

    def is_intact(self, folder: Location) -> bool:
        """Return whether the file in a run's folder has the bytes that were committed."""
        content = blake2b(digest_size=16)
        place = folder / self.path
        place.check_links()
        if not place.is_file():
            return False
        with place.files.open_input_stream(place.path) as file:
            while block := file.read(BLOCK_BYTES):
                content.update(block)
        return content.hexdigest() == self.digest


@dataclass(frozen=True)
class Facts:
    """The facts of a run that are read again; a run may record others."""

    seconds: float = 0.0  # of training
    code: Mapping[str, str] = field(default_factory=dict)  # digests by file or definition
    notes: tuple[str, ...] = ()  # on how the run came into the store
    levels: Mapping[str, str] = field(default_factory=dict)  # run, trial and judge of a table


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
        run = loaded(cls, place)
        with _named(place):
            decode(Facts, run.facts, field="facts", allow_unknown=True)
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
        return loaded(cls, folder / "failure.json")


@dataclass(frozen=True)
class StudyPlan:
    """The planned runs of a study: each arm under each assignment of seeds.

    Plans of version 1.0 and of other programs may have none of these.
    """

    target: str = ""
    seeds: SeedPlan | None = None
    arms: tuple[str, ...] = ()
    arguments: tuple[str, ...] = ()  # without secrets
    threads: int = 1
    deterministic: bool = True

    def __post_init__(self) -> None:
        if len(set(self.arms)) != len(self.arms) or not all(self.arms):
            raise OptionError(
                "The arms {arms!s} are not distinct. Give each its own name.",
                arms=list(self.arms),
            )
        broken = next(
            (text for text in (*self.arms, *self.arguments) if not is_unicode(text)), None
        )
        if broken is not None:
            raise OptionError("A name or argument is not valid UTF-8. Rename it.", given=broken)
        if not is_count(self.threads, least=1):
            raise OptionError(
                "{threads!r} threads per run are not allowed. Pass 1 or more.",
                threads=self.threads,
            )
        n_runs = 0 if self.seeds is None else len(self.arms) * self.seeds.n_runs
        if n_runs > MAX_RUNS:
            raise OptionError(
                "{n_runs:,} runs are not allowed. Plan at most {most:,}.",
                n_runs=n_runs,
                most=MAX_RUNS,
            )


@dataclass(frozen=True)
class StudyManifest:
    """Facts about all runs of a store."""

    name: str
    # Rows of every row group but the last; None if each layout has its own size.
    rows_per_group: int | None = None
    plan: Mapping[str, Any] | None = None  # as in the file; None for ingested runs
    runs: Sequence[str] = ()  # names of ingested runs, to notice missing ones

    @cached_property
    def planned(self) -> StudyPlan:
        """The plan with its types; empty for ingested runs."""
        return decode(StudyPlan, self.plan or {}, field="plan", allow_unknown=True)

    def planned_names(self) -> tuple[str, ...]:
        """Return the names of the runs of an arm that a study plans."""
        seeds = self.planned.seeds
        return () if seeds is None else tuple(run.name for run in seeds.assignments())

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
        place = store / "study.json"
        study = loaded(cls, place)
        with _named(place):
            _ = study.planned
        return study


def loaded(manifest: type[_M], place: Location) -> _M:
    """Return a JSON file of a store, whose digest and types are right."""
    content = unsealed(place)
    with _named(place):
        return decode(manifest, content)


@contextmanager
def _named(place: Location) -> Iterator[None]:
    """Name the file in errors about its content."""
    try:
        yield
    except DecodingError as error:
        raise DamagedStoreError(
            "{path} is damaged: {problem}. Restore it from a copy, or repeat the run.",
            path=place,
            problem=str(error),
            field=error.field,
        ) from error


def sealed(content: dict[str, Any]) -> bytes:
    """Return JSON with its schema version and a digest of itself."""
    content = {"schema": version_text(), **content}
    content["digest"] = digest(_canonical(content))
    return json.dumps(content, indent=1, ensure_ascii=False).encode() + b"\n"


@dataclass(frozen=True)
class _Seal:
    """Keys of every JSON file of a store."""

    schema: str
    digest: str


def unsealed(place: Location) -> dict[str, Any]:
    """Return the content of a JSON file whose digest is right."""
    try:
        with _named(place):
            content = read_json(place)
            seal = decode(_Seal, content, allow_unknown=True)
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
    del content["digest"]
    check_version(seal.schema, str(place))
    if digest(_canonical(content)) != seal.digest:
        raise DamagedStoreError(
            "{path} was changed after it was written: its digest differs. "
            "Restore it from a copy, or repeat the run.",
            path=place,
            digest=seal.digest,
        )
    del content["schema"]
    return dict(content)


def _canonical(content: Mapping[str, Any]) -> bytes:
    return json.dumps(content, sort_keys=True, separators=(",", ":")).encode()
