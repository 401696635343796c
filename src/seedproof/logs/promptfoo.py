"""Results of promptfoo, as JSON or JSONL."""

import hashlib
import json
from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from seedproof.errors import DuplicateExampleError, UnreadableError
from seedproof.logs.lines import decoded_lines
from seedproof.logs.samples import (
    Log,
    LogFile,
    Sample,
    error_line,
    plain_facts,
    samples_missing,
    score_of,
    unknown_format,
)
from seedproof.messages import Message
from seedproof.records.decoding import LOG_BYTES, DecodingError, decode, parse_log_object

TOOL = "promptfoo"
# Format of the results, as they number it.
FORMAT = 3
# `failureReason` of a row that has no score; 1 is a failed assertion, which has one.
ERROR = 2


@dataclass(frozen=True)
class _Provider:
    id: str | None = None
    label: str | None = None


@dataclass(frozen=True)
class _Prompt:
    label: str | None = None


@dataclass(frozen=True)
class _Options:
    repeat: int | None = None


@dataclass(frozen=True)
class _Test:
    description: str | None = None
    metadata: Mapping[str, Any] | None = None
    vars: Any = None
    asserts: Any = None  # `assert` in the file
    options: _Options | None = None


@dataclass(frozen=True)
class _Row:
    """The answer of one provider to one prompt of one test."""

    testIdx: int  # noqa: N815 - as the file has it
    id: str | None = None
    provider: _Provider | None = None
    prompt: _Prompt | None = None
    promptId: str | None = None  # noqa: N815 - same
    testCase: _Test | None = None  # noqa: N815 - same
    vars: Mapping[str, Any] | None = None
    score: Any = None
    success: Any = None
    namedScores: Mapping[str, Any] | None = None  # noqa: N815 - same
    failureReason: int | None = None  # noqa: N815 - same
    error: Any = None
    response: Any = None

    @property
    def column(self) -> tuple[str, str]:
        """Provider and prompt."""
        provider, prompt = self.provider or _Provider(), self.prompt or _Prompt()
        return (
            str(provider.label or provider.id),
            str(self.promptId or prompt.label),
        )

    @property
    def test(self) -> _Test:
        """The test, without anything if the row has none."""
        return self.testCase or _Test()

    @property
    def example(self) -> str:
        """Name of the test: its id, its description, or a hash of its content."""
        metadata = self.test.metadata or {}
        name = self.test.description if metadata.get("id") is None else metadata["id"]
        if name is not None:
            return str(name)
        content = [self.vars or self.test.vars, self.test.asserts]
        return hashlib.sha256(json.dumps(content, sort_keys=True).encode()).hexdigest()[:12]

    @property
    def is_cached(self) -> bool:
        """True if the answer came from a cache."""
        return isinstance(self.response, Mapping) and bool(self.response.get("cached"))


@dataclass(frozen=True)
class _Stats:
    successes: int = 0
    failures: int = 0
    errors: int = 0


@dataclass(frozen=True)
class _Results:
    results: Sequence[Any]
    version: int | None = None
    stats: _Stats | None = None


@dataclass(frozen=True)
class _File:
    """The content of a file; of JSON lines, the rows alone are known."""

    path: Path
    rows: Sequence[_Row]
    version: int | None = FORMAT
    n_counted: int = 0
    n_repeats: int | None = None

    @property
    def problems(self) -> tuple[Message, ...]:
        """Reasons why the rows may not be all that were planned, or mean them."""
        problems = []
        if self.version != FORMAT:
            problems.append(unknown_format(self.version, f"{FORMAT}"))
        planned: dict[tuple[tuple[str, str], str], int] = {}
        for row in self.rows:
            options = row.test.options or _Options()
            n_repeats = self.n_repeats if options.repeat is None else options.repeat
            planned[row.column, row.example] = n_repeats or 1
        calls = Counter((row.column, row.example) for row in self.rows)
        # Combinations of variables of a test are further calls, which hide no missing repeat.
        n_lacking = sum(max(0, n_calls - calls[key]) for key, n_calls in planned.items())
        n_planned = max(self.n_counted, len(self.rows) + n_lacking)
        return (*problems, *samples_missing(len(self.rows), n_planned))


def recognizes(path: Path, start: bytes) -> bool:
    """Return whether a file has results of promptfoo, given its first bytes."""
    if path.suffix == ".jsonl":
        return b'"promptIdx"' in start and b'"testIdx"' in start
    return path.suffix == ".json" and b'"evalId"' in start and b'"results"' in start


def resembles(path: Path) -> bool:  # noqa: ARG001 - users name these files
    """Return whether a file next to results has results by its name: nothing says so."""
    return False


def read(paths: Sequence[Path]) -> Log:
    """Read the rows of files, each once; repeats of a test are trials in the order of their calls.

    A call counts repeats in its `testIdx`, so trials are numbered by it, file by file.
    """
    contents = [_file(path) for path in paths]
    rows, n_repeated = _distinct(contents)
    arms = _arms(row for _, row in rows)
    repeats: dict[tuple[str, str], list[tuple[int, int, _Row]]] = defaultdict(list)
    for index, row in rows:
        repeats[arms[row.column], row.example].append((index, row.testIdx, row))
    samples = []
    for (arm, example), calls in repeats.items():
        calls.sort(key=lambda call: call[:2])
        samples += [
            _sample(row, arm, example, str(trial), contents[index].path)
            for trial, (index, _, row) in enumerate(calls, 1)
        ]
    files = []
    for content in contents:
        notes = () if content is not contents[0] else _note(n_repeated)
        of_file = dict.fromkeys(arms[row.column] for row in content.rows) or {"": None}
        # Problems concern every column of a file.
        files += [LogFile(content.path.name, arm, TOOL, content.problems, notes) for arm in of_file]
    return Log(TOOL, samples, files)


def _note(n_repeated: int) -> tuple[Message, ...]:
    if not n_repeated:
        return ()
    return (
        Message(
            "rows-repeated",
            "{n_rows:,} rows are in several files, and count once.",
            n_rows=n_repeated,
        ),
    )


def _distinct(contents: Sequence[_File]) -> tuple[list[tuple[int, _Row]], int]:
    """Return each row with the index of its file, and how many rows are in a further file, too."""
    first_rows: dict[str, tuple[int, _Row]] = {}
    rows: list[tuple[int, _Row]] = []
    for index, content in enumerate(contents):
        for row in content.rows:
            twin = None if row.id is None else first_rows.get(row.id)
            if twin is not None:
                _check_copy(contents[twin[0]].path, twin[1], content.path, row)
                continue
            rows.append((index, row))
            if row.id is not None:
                first_rows[row.id] = index, row
    return rows, sum(len(content.rows) for content in contents) - len(rows)


def _check_copy(path: Path, row: _Row, other_path: Path, other: _Row) -> None:
    """Refuse a row that is in one file twice, or that differs between files."""
    differing = [name for name in vars(row) if repr(vars(row)[name]) != repr(vars(other)[name])]
    if not differing and path != other_path:
        return  # the same results as JSON and as JSONL
    raise DuplicateExampleError(
        "The row {example!r} occurs twice, in {files}. The two {difference}. Pass files that have "
        "it once.",
        example=row.id,
        files=tuple(dict.fromkeys((path.name, other_path.name))),
        columns=tuple(differing),
        difference=f"differ in {', '.join(differing)}" if differing else "are equal",
    )


def _file(path: Path) -> _File:
    if path.suffix == ".jsonl":
        return _File(path, list(decoded_lines(path, _row)))
    try:
        with path.open("rb") as file:
            content = parse_log_object(file.read(LOG_BYTES + 1))
        results = decode(_Results, content.get("results"), field="results", allow_unknown=True)
        options = content.get("runtimeOptions")
        options = decode(_Options, options or {}, field="runtimeOptions", allow_unknown=True)
        stats = results.stats or _Stats()
        rows = []
        for number, row in enumerate(results.results):
            try:
                rows.append(_row(row))
            except DecodingError as error:
                raise error.below(f"results.results[{number}]") from error
    except DecodingError as error:
        raise UnreadableError(
            "{file} cannot be read as results of promptfoo: {reason}.",
            file=path.name,
            reason=str(error),
        ) from error
    n_counted = stats.successes + stats.failures + stats.errors
    return _File(path, rows, results.version, n_counted, options.repeat)


def _row(content: Any) -> _Row:  # noqa: ANN401 - plain data
    """Return a row; `assert` is a name that Python does not allow."""
    if isinstance(content, dict) and isinstance(test := content.get("testCase"), dict):
        content = content | {"testCase": test | {"asserts": test.get("assert")}}
    return decode(_Row, content, allow_unknown=True)


def _arms(rows: Iterable[_Row]) -> dict[tuple[str, str], str]:
    """Return a name for each combination of provider and prompt."""
    labels: dict[tuple[str, str], str] = {}
    for row in rows:
        labels.setdefault(row.column, str((row.prompt or _Prompt()).label))
    has_prompts = len({prompt for _, prompt in labels}) > 1
    names: dict[tuple[str, str], str] = {}
    for column, label in labels.items():
        name = f"{column[0]} · {label}" if has_prompts else column[0]
        # Prompts of one label differ by their ids.
        names[column] = f"{name} {column[1][:8]}" if name in names.values() else name
    return names


def _sample(row: _Row, arm: str, example: str, trial: str, path: Path) -> Sample:
    error = error_line(str(row.error)) if row.failureReason == ERROR else None
    named = {"score": row.score, "success": row.success, **(row.namedScores or {})}
    try:
        scores = {name: score_of(value) for name, value in named.items()}
    except DecodingError as problem:
        raise UnreadableError(
            "{file} cannot be read as results of promptfoo: row {row}: {reason}.",
            file=path.name,
            row=row.id or row.testIdx,
            reason=str(problem),
        ) from problem
    return Sample(
        arm,
        TOOL,
        example,
        trial,
        {} if error else {name: x for name, x in scores.items() if x is not None},
        plain_facts(row.vars or {}, row.test.metadata or {}),
        error,
        is_cached=row.is_cached,
        file=path.name,
    )
