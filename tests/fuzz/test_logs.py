"""Hostile logs of other tools: each is measured, or refused in one line, and never crashes.

Logs are read in a process of their own, with `faulthandler`: a segmentation fault or a hang fails a
test with the stack of that process, and the next input gets a new process.
"""

import copy
import json
import os
import selectors
import subprocess
import sys
import zipfile
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

LOGS = Path(__file__).parents[2] / "examples" / "logs"
WORKER = Path(__file__).with_name("log_worker.py")
PATIENCE_SECONDS = 60.0
VALUES = (
    None, True, False, 0, -1, 3, 10**9, 10**30, 10**400, 2**63, -(2**63), 0.5, -1.5, 1e99, 1e100,
    1e300, -1e308, 1e-320, float("nan"), float("inf"), "", " ", "x", "\0", "\x1b[2J", "../../outside",
    "/etc/passwd", "a" * 5_000, "1_000", "nan", "2026-01-01", "2026-11-16T09:57:56+14:00", "é", "e\u0301",
    "\u202eabc", "<script>", "p_x", "run", "C", [], [1], ["a"], [[1]], [None], {}, {"a": 1},
    {"message": ""}, {"a": {"b": [1]}}, [[1, 2], [3]], ["a", "a"], {"value": None}, {"value": "C"},
    {"value": [1, None, {"x": True}]},
)  # fmt: skip

Place = tuple[Any, ...]
Read = Callable[..., dict[str, Any]]


class Worker:
    """A process that reads logs; a new one if it crashed or hung."""

    def __init__(self) -> None:
        self._process: subprocess.Popen[str] | None = None

    def read(
        self, target: Path, columns: dict[str, str], options: dict[str, Any]
    ) -> dict[str, Any]:
        """Return the answer to one request."""
        if self._process is None:
            self._process = subprocess.Popen(
                [sys.executable, "-X", "faulthandler", str(WORKER)],
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                text=True,
                env={**os.environ, "OMP_NUM_THREADS": "1"},
            )
        process = self._process
        request = {"target": str(target), "columns": columns, "options": options}
        process.stdin.write(json.dumps(request) + "\n")
        process.stdin.flush()
        with selectors.DefaultSelector() as selector:
            selector.register(process.stdout, selectors.EVENT_READ)
            line = process.stdout.readline() if selector.select(PATIENCE_SECONDS) else ""
        if not line:
            code = process.poll()
            self.end()
            return {"crash": "no answer in time" if code is None else f"exit code {code}"}
        return json.loads(line)

    def end(self) -> None:
        """End the process."""
        if self._process is not None:
            self._process.kill()
            self._process.communicate()
        self._process = None


@pytest.fixture(scope="module")
def worker() -> Iterator[Worker]:
    """One process for all tests: it takes seconds to start."""
    process = Worker()
    yield process
    process.end()


@pytest.fixture
def read(worker, check_message) -> Read:
    """Reads a target; returns what it gives. Fails if it crashes, hangs or raises a bare error."""

    def call(target: Path, columns: dict[str, str] | None = None, **options: Any) -> dict[str, Any]:
        answer = worker.read(target, columns or {}, options)
        assert "crash" not in answer, answer["crash"]
        assert "traceback" not in answer, answer["traceback"]
        for message in answer["messages"]:
            check_message(message)
        return answer

    return call


def places(value: Any, place: Place = ()) -> Iterator[Place]:
    """Yield the place of every value inside of a JSON value."""
    items: Any = ()
    if isinstance(value, dict):
        items = value.items()
    elif isinstance(value, list):
        items = enumerate(value)
    for key, inner in items:
        yield (*place, key)
        yield from places(inner, (*place, key))


def change(content: Any, draw: st.DrawFn) -> None:
    """Replace, drop, repeat or move one value of a JSON value in place."""
    *outer, last = draw(st.sampled_from(list(places(content))))
    inside = content
    for key in outer:
        inside = inside[key]
    what = draw(st.sampled_from(["replace"] * 6 + ["drop", "repeat", "move"]))
    if what == "replace":
        inside[last] = copy.deepcopy(draw(st.sampled_from(VALUES)))
    elif what == "drop":
        del inside[last]
    elif isinstance(inside, list):
        value = inside.pop(last) if what == "move" else copy.deepcopy(inside[last])
        inside.insert(draw(st.integers(0, len(inside))), value)
    else:
        name = draw(st.sampled_from(["new", "score", "run", "p_x", "log_run", "", "item"]))
        inside[name] = inside[last]


def changed(content: Any, draw: st.DrawFn) -> Any:
    """Return a JSON value with up to three changes."""
    content = copy.deepcopy(content)
    for _ in range(draw(st.integers(0, 3))):
        if next(places(content), None) is not None:
            change(content, draw)
    return content


def lines_of(rows: Any) -> str:
    """Return JSON lines of rows; anything but a list is one line."""
    return "".join(f"{json.dumps(row)}\n" for row in (rows if isinstance(rows, list) else [rows]))


def flipped(content: bytes, draw: st.DrawFn) -> bytes:
    """Return bytes of which some are changed, or the end is cut off."""
    damaged = bytearray(content)
    for _ in range(draw(st.integers(1, 3))):
        damaged[draw(st.integers(0, len(damaged) - 1))] ^= draw(st.integers(1, 255))
    cut = draw(st.none() | st.integers(0, len(damaged)))
    return bytes(damaged if cut is None else damaged[:cut])


def small_inspect(name: str) -> dict[str, Any]:
    """Return a log of Inspect without the messages of its samples."""
    (file,) = (LOGS / "inspect" / "json").glob(f"*{name}*")
    log = json.loads(file.read_text())
    kept = ("id", "epoch", "scores", "metadata", "error", "retries", "error_retries")
    log["samples"] = [{k: s[k] for k in kept if k in s} for s in log["samples"]]
    for part in ("reductions", "plan", "stats"):
        log.pop(part, None)
    return log


INSPECT = [small_inspect("quiz"), small_inspect("essay")]


def test_hostile_logs_of_inspect(read, fresh, sized):
    @sized(ci=12, full=500)
    @given(st.data())
    def fuzz(data: st.DataObject) -> None:
        folder = fresh()
        for index in range(data.draw(st.integers(1, 2))):
            log = changed(data.draw(st.sampled_from(INSPECT)), data.draw)
            (folder / f"{index}.json").write_text(json.dumps(log))
        read(folder, **data.draw(st.sampled_from([{}, {"failed_as": 0.0}])))

    fuzz()


def test_hostile_archives_of_inspect(read, fresh, sized):
    @sized(ci=8, full=300)
    @given(st.data())
    def fuzz(data: st.DataObject) -> None:
        log = changed(data.draw(st.sampled_from(INSPECT)), data.draw)
        rows = log.pop("samples", None)
        members = {"header.json": log, "summaries.json": rows}
        if data.draw(st.booleans()):
            members = {"_journal/start.json": log, "_journal/summaries/1.json": rows}
        for name in data.draw(st.lists(st.sampled_from(list(members)), max_size=1)):
            members.pop(name)
        folder = fresh()
        file = folder / "log.eval"
        with zipfile.ZipFile(file, "w") as archive:
            for name, content in members.items():
                kind = data.draw(
                    st.sampled_from([zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED, 12, 14])
                )
                archive.writestr(name, json.dumps(content), kind)
        if data.draw(st.booleans()):
            file.write_bytes(flipped(file.read_bytes(), data.draw))
        read(data.draw(st.sampled_from([folder, file])))

    fuzz()


def test_damaged_archives_of_inspect(read, fresh, sized):
    """Bytes of real archives, whose members are compressed by zstd."""
    contents = [file.read_bytes() for file in (LOGS / "inspect" / "eval").glob("*.eval")]

    @sized(ci=8, full=400)
    @given(st.data())
    def fuzz(data: st.DataObject) -> None:
        folder = fresh()
        content = data.draw(st.sampled_from(contents))
        (folder / "whole.eval").write_bytes(content)
        (folder / "log.eval").write_bytes(flipped(content, data.draw))
        answer = read(folder / "log.eval")
        if answer["n_samples"] is not None:
            assert answer["n_samples"] == 12
        # Next to a whole log, a damaged one is not left out in silence.
        both = read(folder)
        names = [fields for code, fields in both.get("notes", ()) if code == "log-chosen"]
        assert both["codes"] or names or both["n_samples"] == 24

    fuzz()


HARNESS = {
    file.name: [json.loads(x) for x in file.read_text().splitlines()]
    if file.suffix == ".jsonl"
    else json.loads(file.read_text())
    for file in (LOGS / "lm_eval" / "org__coin").iterdir()
}
for _name, _content in HARNESS.items():
    if _name.startswith("results"):
        del _content["configs"], _content["results"]


def test_hostile_logs_of_lm_eval(read, fresh, sized):
    @sized(ci=10, full=400)
    @given(st.data())
    def fuzz(data: st.DataObject) -> None:
        folder = fresh()
        times = sorted({name[-31:] for name in HARNESS if name.startswith("results")})[:2]
        names = [name for name in HARNESS if any(time[:26] in name for time in times)]
        hostile = data.draw(st.lists(st.sampled_from(names), min_size=1, max_size=2))
        for name in names:
            content = HARNESS[name]
            if name in hostile:
                content = changed(content, data.draw)
            is_rows = name.endswith(".jsonl")
            (folder / name).write_text(lines_of(content) if is_rows else json.dumps(content))
        if data.draw(st.booleans()):
            file = folder / data.draw(st.sampled_from(names))
            file.write_bytes(flipped(file.read_bytes() or b" ", data.draw))
        read(folder)

    fuzz()


PROMPTFOO = json.loads((LOGS / "promptfoo" / "results.json").read_text())
PROMPTFOO.pop("config")
for _row in PROMPTFOO["results"]["results"]:
    for _part in ("tokenUsage", "gradingResult", "metadata"):
        _row.pop(_part, None)


def test_hostile_results_of_promptfoo(read, fresh, sized):
    @sized(ci=10, full=400)
    @given(st.data())
    def fuzz(data: st.DataObject) -> None:
        folder = fresh()
        content = changed(PROMPTFOO, data.draw)
        (folder / "results.json").write_text(json.dumps(content))
        if data.draw(st.booleans()):
            rows = changed(PROMPTFOO["results"]["results"], data.draw)
            (folder / "results.jsonl").write_text(lines_of(rows))
        if data.draw(st.booleans()):
            file = data.draw(st.sampled_from(sorted(folder.iterdir())))
            file.write_bytes(flipped(file.read_bytes(), data.draw))
        read(folder)

    fuzz()


RUNS = sorted((LOGS / "wandb").glob("offline-run-*"))
TABLES = [next(run.rglob("*.table.json")) for run in RUNS]


def test_hostile_runs_of_wandb(read, fresh, sized):
    @sized(ci=8, full=400)
    @given(st.data())
    def fuzz(data: st.DataObject) -> None:
        folder = fresh()
        hostile = data.draw(st.integers(0, 2))
        for index, (run, table) in enumerate(zip(RUNS[:3], TABLES, strict=False)):
            place = folder / run.name
            (place / table.relative_to(run)).parent.mkdir(parents=True)
            log = next(run.glob("*.wandb"))
            content, cells = log.read_bytes(), table.read_bytes()
            if index == hostile:
                what = data.draw(st.sampled_from(["log", "table", "cells"]))
                if what == "log":
                    content = flipped(content, data.draw)
                elif what == "table":
                    cells = flipped(cells, data.draw)
                else:
                    cells = json.dumps(changed(json.loads(cells), data.draw)).encode()
            (place / log.name).write_bytes(content)
            (place / table.relative_to(run)).write_bytes(cells)
        answer = read(folder)
        # A run is measured, or named: in an error, or by the check of missing runs.
        runs_named = answer["codes"] or "missing-runs" in answer["checks"]
        assert runs_named or answer["n_runs"] == 3

    fuzz()


NESTED = [json.loads(x) for x in (LOGS / "jsonl" / "nested.jsonl").read_text().splitlines()]
LISTS = [json.loads(x) for x in (LOGS / "jsonl" / "lists.jsonl").read_text().splitlines()]
STEPS = st.sampled_from(
    ["item", "uid", "tags", "[0]", "[*]", "result", "grades", "exact", "style", "text", "samples",
     "ok", "output", "id", "meta", "run", "seed", "*", "[-1]", "[", "]", ".", "[99999999999]", "é", ""]
)  # fmt: skip
PATHS = st.one_of(
    st.sampled_from(
        ["item.uid", "meta.run.seed", "result.grades.style", "result.grades.exact", "result.text",
         "item.tags[0]", "item.tags", "samples[*].ok", "samples[*].output", "samples[0].ok", "samples",
         "samples[*]", "id", "expected"]
    ),
    st.lists(STEPS, min_size=1, max_size=4).map(".".join),
    st.lists(STEPS, min_size=1, max_size=4).map("".join),
)  # fmt: skip
KINDS = ("value", "prediction", "answer", "set", "item")


def test_hostile_paths_of_every_kind(read, fresh, sized):
    @sized(ci=16, full=700)
    @given(st.data())
    def fuzz(data: st.DataObject) -> None:
        is_lists = data.draw(st.booleans())
        rows = changed(LISTS if is_lists else NESTED, data.draw)
        usual = {"value": "samples[*].ok"}
        if not is_lists:
            usual = {
                "example": "item.uid",
                "trial": "meta.run.seed",
                "value": "result.grades.style",
            }
        kind = data.draw(st.sampled_from(KINDS))
        value = usual.pop("value")
        columns = {**usual, kind: data.draw(st.just(value) | PATHS)}
        if data.draw(st.booleans()):
            columns[data.draw(st.sampled_from(["example", "trial", "run"]))] = data.draw(PATHS)
        columns = {role: name for role, name in columns.items() if name}
        file = fresh() / "rows.jsonl"
        file.write_text(lines_of(rows))
        if data.draw(st.integers(0, 3)) == 0:
            file.write_bytes(flipped(file.read_bytes() or b" ", data.draw))
        read(file, columns, common_examples=data.draw(st.booleans()))

    fuzz()


@pytest.mark.parametrize("line", ["null", " null", "[1]", "3"])
def test_table_with_a_line_that_is_not_an_object(line, read, fresh):
    """Arrow's parser ends the process at a block of lines whose first line is null."""
    file = fresh() / "rows.jsonl"
    row = '{"run": 1, "example": "a", "value": 1}\n'
    for n_before in (0, 1, 40_000):
        file.write_text(f"{row * n_before}\n{line}\n{row}")
        answer = read(file)
        assert answer["codes"] == ["SP102"]
        assert all(f"line {n_before + 2} is wrong" in x for x in answer["messages"])
