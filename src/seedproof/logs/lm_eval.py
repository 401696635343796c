"""Logs of the LM Evaluation Harness: `samples_<task>_<time>.jsonl` of `--log_samples`."""

import re
from collections import Counter, defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from seedproof.errors import DuplicateExampleError, LabelConflictError, UnreadableError
from seedproof.logs.lines import decoded_lines
from seedproof.logs.samples import (
    Log,
    LogFile,
    Sample,
    arm_names,
    plain_facts,
    samples_missing,
    score_of,
    unknown_format,
)
from seedproof.messages import Message
from seedproof.records.decoding import LOG_BYTES, DecodingError, decode, parse_log_object

TOOL = "lm_eval"
NAME = re.compile(r"samples_(?P<task>.+)_(?P<time>\d{4}-\d\d-\d\dT[\d.-]+)\.jsonl")
# The versions that write these files; the files have no version of their own.
VERSION = "0.4"


@dataclass(frozen=True)
class _Row:
    """One document after one filter of the answers; scores are in keys of their own."""

    doc_id: str | int
    metrics: Sequence[str] = ()
    filter: str = "none"
    doc: Any = None
    doc_hash: str | None = None
    scores: Mapping[str, Any] = field(default_factory=dict)  # by metric


@dataclass(frozen=True)
class _Config:
    random_seed: str | int | None = None
    model_args: Any = None
    gen_kwargs: Any = None


@dataclass(frozen=True)
class _Count:
    effective: int | None = None


@dataclass(frozen=True)
class _Results:
    config: _Config | None = None
    model_name: str | None = None
    lm_eval_version: str | None = None
    shots: Mapping[str, Any] | None = None  # `n-shot` in the file
    counts: Mapping[str, _Count] | None = None  # `n-samples` in the file


def recognizes(path: Path, start: bytes) -> bool:
    """Return whether a file has samples of the harness, given its first bytes."""
    return path.suffix == ".jsonl" and b'"doc_id"' in start and b'"filtered_resps"' in start


def resembles(path: Path) -> bool:
    """Return whether a file next to samples has samples by its name, whatever is in it."""
    return NAME.fullmatch(path.name) is not None


def read(paths: Sequence[Path]) -> Log:
    """Read the samples of files; those of one model and task are trials, named by their seeds."""
    parts = [_Part(path) for path in paths]
    tasks = [part.task for part in parts]
    names = arm_names([part.model for part in parts], tasks, [part.settings for part in parts])
    keys = list(zip(names, tasks, strict=True))
    seeds: dict[tuple[str, str], list[object]] = defaultdict(list)
    for key, part in zip(keys, parts, strict=True):
        seeds[key].append(part.seed)
    samples: list[Sample] = []
    files: list[LogFile] = []
    documents: dict[tuple[str, str], object] = {}
    for key, part in zip(keys, parts, strict=True):
        is_named = None not in seeds[key] and len(set(seeds[key])) == len(seeds[key])
        trial = f"seed {part.seed}" if is_named else part.time
        rows = list(part.rows())
        _check_documents(part, rows, documents)
        samples += _samples(part, rows, *key, trial)
        files.append(LogFile(part.path.name, *key, part.problems(rows), part.notes))
    return Log(TOOL, samples, files)


class _Part:
    """The samples of one task in one call of the harness."""

    def __init__(self, path: Path) -> None:
        match = NAME.fullmatch(path.name)
        self.path = path
        self.task = match["task"] if match else path.stem
        self.time = match["time"] if match else path.stem
        results = self._results()
        self.has_results = results is not None
        self.results = results or _Results()
        config = self.results.config or _Config()
        self.seed = config.random_seed
        self.model = self.results.model_name or path.absolute().parent.name or TOOL
        self.settings: dict[str, object] = {
            "model_args": _text(config.model_args),
            "gen_kwargs": _text(config.gen_kwargs),
            "fewshot": (self.results.shots or {}).get(self.task),
        }

    def rows(self) -> Iterator[_Row]:
        """Yield the rows of the file."""
        return decoded_lines(self.path, _row)

    def problems(self, rows: Sequence[_Row]) -> tuple[Message, ...]:
        """Return the reasons why rows may not be all that were planned, or mean them."""
        problems = []
        version = self.results.lm_eval_version
        if version is not None and not version.startswith(f"{VERSION}."):
            problems.append(unknown_format(version, VERSION))
        n_planned = ((self.results.counts or {}).get(self.task) or _Count()).effective or 0
        # Each filter has a row of its own for each document.
        n_read = min(Counter(row.filter for row in rows).values(), default=0)
        return (*problems, *samples_missing(n_read, n_planned))

    @property
    def notes(self) -> tuple[Message, ...]:
        """A note on samples that nothing can be compared with."""
        if self.has_results:
            return ()
        return (
            Message(
                "results-missing",
                "{file} has no {results} next to it, so its seed and the planned number of "
                "samples are unknown.",
                file=self.path.name,
                results=self._place.name,
            ),
        )

    @property
    def _place(self) -> Path:
        return self.path.with_name(f"results_{self.time}.json")

    def _results(self) -> _Results | None:
        """Return the results of the same call, which name the model and the seed."""
        if not self._place.is_file():
            return None
        try:
            with self._place.open("rb") as file:
                content = parse_log_object(file.read(LOG_BYTES + 1))
            content["shots"], content["counts"] = content.get("n-shot"), content.get("n-samples")
            return decode(_Results, content, allow_unknown=True)
        except DecodingError as error:
            raise UnreadableError(
                "{file} cannot be read: {reason}.", file=self._place.name, reason=str(error)
            ) from error


def _row(content: dict[str, Any]) -> _Row:
    """Return a line with its scores, which are in keys that `metrics` names."""
    row = decode(_Row, content | {"scores": {}}, allow_unknown=True)
    scores = {}
    for metric in row.metrics:
        try:
            scores[metric] = score_of(content.get(metric))
        except DecodingError as error:
            raise error.below(metric) from error
    return decode(_Row, content | {"scores": scores}, allow_unknown=True)


def _samples(
    part: _Part, rows: Sequence[_Row], arm: str, task: str, trial: str
) -> Iterator[Sample]:
    """Yield the samples of one file; a filter of the answers makes scores of its own."""
    has_filters = len({row.filter for row in rows}) > 1
    by_document: dict[str, list[_Row]] = defaultdict(list)
    for row in rows:
        by_document[str(row.doc_id)].append(row)
    for example, of_document in by_document.items():
        scores: dict[str, float] = {}
        for row in of_document:
            suffix = f",{row.filter}" if has_filters else ""
            scores |= {f"{name}{suffix}": x for name, x in row.scores.items() if x is not None}
        document = of_document[0].doc
        facts = plain_facts(document) if isinstance(document, Mapping) else {}
        yield Sample(arm, task, example, trial, scores, facts, file=part.path.name)


def _check_documents(
    part: _Part, rows: Sequence[_Row], document_hashes: dict[tuple[str, str], object]
) -> None:
    """Refuse a document that is there twice, or that is another one than in files read before."""
    in_file: dict[tuple[str, str], _Row] = {}
    for row in rows:
        twin = in_file.setdefault((str(row.doc_id), row.filter), row)
        if twin is not row:
            mine, its = ({**vars(x), **x.scores, "scores": None} for x in (row, twin))
            differing = [
                name for name in {**mine, **its} if repr(mine.get(name)) != repr(its.get(name))
            ]
            raise DuplicateExampleError(
                "{file} has document {example!r} twice after the filter {filter!r}. The two "
                "{difference}. Pass a file that has it once.",
                file=part.path.name,
                example=str(row.doc_id),
                filter=row.filter,
                columns=tuple(differing),
                difference=f"differ in {', '.join(differing)}" if differing else "are equal",
            )
        key = part.task, str(row.doc_id)
        if document_hashes.setdefault(key, row.doc_hash) != row.doc_hash:
            raise LabelConflictError(
                "Document {example!r} of {task!r} differs between files. Pass files of the same "
                "version of the data.",
                example=key[1],
                task=part.task,
            )


def _text(value: object) -> str | None:
    """Return arguments as text; a mapping in the order of its keys."""
    if isinstance(value, Mapping):
        return ",".join(f"{name}={value[name]}" for name in sorted(value))
    return None if value is None or value == "" else str(value)
