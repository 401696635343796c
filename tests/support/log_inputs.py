"""Hostile logs, drawn by changes of real ones, and what must not be lost of each.

A target draws an input into a folder, and has an oracle where the number of its rows is known.
"""

import copy
import csv
import json
import shutil
import zipfile
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple, TypeAlias

import pyarrow as pa
import pyarrow.parquet as pq
from hypothesis import strategies as st

from support.log_oracles import Oracle, examples_kept, ids_at, rows_kept, samples_kept

LOGS = Path(__file__).parents[2] / "examples" / "logs"
VALUES = (
    None, True, False, 0, -1, 3, 10**9, 10**30, 10**400, 2**63, -(2**63), 0.5, -1.5, 1e99, 1e100,
    1e300, -1e308, 1e-320, float("nan"), float("inf"), "", " ", "x", "\0", "\x1b[2J", "../../outside",
    "/etc/passwd", "a" * 5_000, "1_000", "nan", "2026-01-01", "2026-11-16T09:57:56+14:00", "é", "e\u0301",
    "\u202eabc", "<script>", "p_x", "run", "C", [], [1], ["a"], [[1]], [None], {}, {"a": 1},
    {"message": ""}, {"a": {"b": [1]}}, [[1, 2], [3]], ["a", "a"], {"value": None}, {"value": "C"},
    {"value": [1, None, {"x": True}]},
)  # fmt: skip

Place: TypeAlias = tuple[Any, ...]
# Draws one value from a strategy.
Draw: TypeAlias = Callable[[Any], Any]


class Drawn(NamedTuple):
    """An input, and how it is read."""

    target: Path | str
    oracle: Oracle | None = None  # None where damaged bytes leave the number of rows unknown
    columns: Mapping[str, str] = {}
    options: Mapping[str, Any] = {}


# ------------------------------------------------------------------------------------- changes


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


def change(content: Any, draw: Draw) -> None:
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


def changed(content: Any, draw: Draw) -> Any:
    """Return a JSON value with up to three changes."""
    content = copy.deepcopy(content)
    for _ in range(draw(st.integers(0, 3))):
        if next(places(content), None) is not None:
            change(content, draw)
    return content


def lines_of(rows: Any) -> str:
    """Return JSON lines of rows; anything but a list is one line."""
    return "".join(f"{json.dumps(row)}\n" for row in (rows if isinstance(rows, list) else [rows]))


def flipped(content: bytes, draw: Draw) -> bytes:
    """Return bytes of which some are changed, or the end is cut off."""
    damaged = bytearray(content)
    for _ in range(draw(st.integers(1, 3))):
        damaged[draw(st.integers(0, len(damaged) - 1))] ^= draw(st.integers(1, 255))
    cut = draw(st.none() | st.integers(0, len(damaged)))
    return bytes(damaged if cut is None else damaged[:cut])


# ------------------------------------------------------------------------------------- targets


def small_inspect(name: str) -> dict[str, Any]:
    """Return a log of Inspect without the messages of its samples."""
    (file,) = (LOGS / "inspect" / "json").glob(f"*{name}*")
    log: dict[str, Any] = json.loads(file.read_text())
    kept = ("id", "epoch", "scores", "metadata", "error", "retries", "error_retries")
    log["samples"] = [{k: s[k] for k in kept if k in s} for s in log["samples"]]
    for part in ("reductions", "plan", "stats"):
        log.pop(part, None)
    return log


INSPECT = [small_inspect("quiz"), small_inspect("essay")]


def _n_samples(rows: Any) -> int:
    return len(rows) if isinstance(rows, list) else 0


def inspect_logs(draw: Draw, folder: Path) -> Drawn:
    """Logs of Inspect as JSON: one, or a retry, or two tasks."""
    files = {}
    for index in range(draw(st.integers(1, 2))):
        log = changed(draw(st.sampled_from(INSPECT)), draw)
        file = folder / f"{index}.json"
        file.write_text(json.dumps(log))
        if all(key in file.read_text() for key in ('"eval_id"', '"task_id"')):
            files[file.name] = _n_samples(log.get("samples"))
    options = draw(st.sampled_from([{}, {"failed_as": 0.0}]))
    return Drawn(folder, samples_kept(files), options=options)


# BZIP2 and LZMA are refused.
METHODS = [zipfile.ZIP_STORED] * 4 + [zipfile.ZIP_DEFLATED] * 4 + [12, 14]


def inspect_archives(draw: Draw, folder: Path) -> Drawn:
    """Archives of Inspect, finished or not, in which a member may be missing or damaged."""
    log = changed(draw(st.sampled_from(INSPECT)), draw)
    rows = log.pop("samples", None)
    members = {"header.json": log, "summaries.json": rows}
    if draw(st.booleans()):
        members = {"_journal/start.json": log, "_journal/summaries/1.json": rows}
    if draw(st.integers(0, 4)) == 0:
        members.pop(draw(st.sampled_from(list(members))))
    n_samples = _n_samples(rows if any("summaries" in name for name in members) else None)
    file = folder / "log.eval"
    with zipfile.ZipFile(file, "w") as archive:
        for name, content in members.items():
            kind = draw(st.sampled_from(METHODS))
            archive.writestr(name, json.dumps(content), kind)
    oracle: Oracle | None = samples_kept({file.name: n_samples})
    if draw(st.integers(0, 3)) == 0:
        file.write_bytes(flipped(file.read_bytes(), draw))
        oracle = None
    return Drawn(draw(st.sampled_from([folder, file])), oracle)


ARCHIVES = [file.read_bytes() for file in (LOGS / "inspect" / "eval").glob("*.eval")]


def damaged_archive(draw: Draw, folder: Path) -> Drawn:
    """Bytes of a real archive, whose members are compressed by zstd, next to the whole one."""
    content = draw(st.sampled_from(ARCHIVES))
    (folder / "whole.eval").write_bytes(content)
    (folder / "log.eval").write_bytes(flipped(content, draw))
    # Checksums show every other number of samples.
    files = {"whole.eval": 12, "log.eval": 12}
    if draw(st.booleans()):
        return Drawn(folder, samples_kept(files))
    return Drawn(folder / "log.eval", samples_kept({"log.eval": 12}))


HARNESS = {
    file.name: [json.loads(x) for x in file.read_text().splitlines()]
    if file.suffix == ".jsonl"
    else json.loads(file.read_text())
    for file in (LOGS / "lm_eval" / "org__coin").iterdir()
}
for _name, _content in HARNESS.items():
    if _name.startswith("results"):
        del _content["configs"], _content["results"]


def lm_eval_logs(draw: Draw, folder: Path) -> Drawn:
    """Samples and results of two calls of the harness; a document has a row per filter."""
    times = sorted({name[-31:] for name in HARNESS if name.startswith("results")})[:2]
    names = [name for name in HARNESS if any(time[:26] in name for time in times)]
    hostile = draw(st.lists(st.sampled_from(names), min_size=1, max_size=2))
    files = {}
    for name in names:
        content = HARNESS[name]
        if name in hostile:
            content = changed(content, draw)
        is_rows = name.endswith(".jsonl")
        (folder / name).write_text(lines_of(content) if is_rows else json.dumps(content))
        if is_rows:
            rows = content if isinstance(content, list) else [content]
            files[name] = len(
                {str(x["doc_id"]) for x in rows if isinstance(x, dict) and "doc_id" in x}
            )
    oracle: Oracle | None = samples_kept(files)
    if draw(st.booleans()):
        file = folder / draw(st.sampled_from(names))
        file.write_bytes(flipped(file.read_bytes() or b" ", draw))
        oracle = None if file.suffix == ".jsonl" else oracle
    return Drawn(folder, oracle)


PROMPTFOO = json.loads((LOGS / "promptfoo" / "results.json").read_text())
PROMPTFOO.pop("config")
for _row in PROMPTFOO["results"]["results"]:
    for _part in ("tokenUsage", "gradingResult", "metadata"):
        _row.pop(_part, None)


def promptfoo_results(draw: Draw, folder: Path) -> Drawn:
    """Results of promptfoo as JSON, and the same or changed ones as JSON lines."""
    content = changed(PROMPTFOO, draw)
    file = folder / "results.json"
    file.write_text(json.dumps(content))
    results = content.get("results")
    files = {}
    if all(key in file.read_text() for key in ('"evalId"', '"results"')):
        rows = results.get("results") if isinstance(results, dict) else None
        files[file.name] = _n_samples(rows)
    if draw(st.booleans()):
        rows = changed(PROMPTFOO["results"]["results"], draw)
        lines = lines_of(rows)
        (folder / "results.jsonl").write_text(lines)
        if all(key in lines for key in ('"promptIdx"', '"testIdx"')):
            files["results.jsonl"] = len(lines.splitlines())
    oracle: Oracle | None = samples_kept(files)
    if draw(st.booleans()):
        file = draw(st.sampled_from(sorted(folder.iterdir())))
        file.write_bytes(flipped(file.read_bytes(), draw))
        oracle = None
    return Drawn(folder, oracle)


RUNS = sorted((LOGS / "wandb").glob("offline-run-*"))
TABLES = [next(run.rglob("*.table.json")) for run in RUNS]


def wandb_runs(draw: Draw, folder: Path) -> Drawn:
    """Three runs of W&B, of which one has a damaged log or table, or changed cells."""
    hostile = draw(st.integers(0, 2))
    n_rows = []
    oracle_holds = True
    for index, (run, table) in enumerate(zip(RUNS[:3], TABLES, strict=False)):
        place = folder / run.name
        (place / table.relative_to(run)).parent.mkdir(parents=True)
        log = next(run.glob("*.wandb"))
        content, cells = log.read_bytes(), table.read_bytes()
        n_rows.append(len(json.loads(cells)["data"]))
        if index == hostile:
            what = draw(st.sampled_from(["log", "table", "cells", "cells"]))
            if what == "log":
                content = flipped(content, draw)
            elif what == "table":
                cells, oracle_holds = flipped(cells, draw), False
            else:
                mutated = changed(json.loads(cells), draw)
                n_rows[-1] = _n_samples(mutated.get("data"))
                cells = json.dumps(mutated).encode()
        (place / log.name).write_bytes(content)
        (place / table.relative_to(run)).write_bytes(cells)
    return Drawn(folder, rows_kept(n_rows, hostile) if oracle_holds else None)


JOBS = sorted((LOGS / "hydra" / "by_number").glob("[0-9]*"))[:3]
OVERRIDES = ("- seed=1", "- lr=0.1", "- ", "seed=1", "- +a.random_state=\0", "- seed", "- x==1", "")


def hydra_jobs(draw: Draw, folder: Path) -> Drawn:
    """Three jobs of Hydra, of which one has other overrides or changed cells."""
    hostile = draw(st.integers(0, 2))
    n_rows = []
    for index, job in enumerate(JOBS):
        place = folder / job.name
        shutil.copytree(job, place)
        with (job / "predictions.csv").open(newline="") as file:
            rows: Any = list(csv.reader(file))
        if index == hostile:
            if draw(st.booleans()):
                lines = draw(st.lists(st.sampled_from(OVERRIDES), max_size=3))
                (place / ".hydra" / "overrides.yaml").write_text("\n".join(lines))
            else:
                rows = changed(rows, draw)
                rows = [list(map(_cell, row)) for row in rows if isinstance(row, list) and row]
                with (place / "predictions.csv").open("w", newline="") as file:
                    csv.writer(file).writerows(rows)
        # A row of one empty cell is a blank line, or one of quotes.
        n_rows.append(sum(row != [""] for row in rows[1:]))
    return Drawn(folder, rows_kept(n_rows, hostile))


def _cell(value: Any) -> str:
    return "" if value is None else str(value)


STATUSES = ("FINISHED", "FINISHED", "FINISHED", "RUNNING", "FAILED")


def mlflow_runs(draw: Draw, folder: Path) -> Drawn:
    """Runs of MLflow with a table each, as an export of its server has them."""
    listed = []
    n_rows = []
    for number in range(draw(st.integers(1, 4))):
        run = f"{number:032x}"
        status = draw(st.sampled_from(STATUSES))
        data = {"tags": {}, "params": {"seed": str(number)}, "metrics": {"loss": number / 7}}
        if draw(st.integers(0, 3)) == 0:
            data["params"]["lr"] = draw(st.sampled_from(["0.1", "", "é", "\x1b[2J", "nan"]))
        rows = {
            "columns": ["id", "label", "prediction"],
            "data": [[f"q{n}", n % 2, (n + number) % 2] for n in range(4)],
        }
        if draw(st.booleans()):
            rows = changed(rows, draw)
        (folder / run).mkdir()
        (folder / run / "table.json").write_text(json.dumps(rows))
        data["tags"]["mlflow.loggedArtifacts"] = json.dumps([{"path": "table.json"}])
        if draw(st.integers(0, 5)) == 0:
            data = changed(data, draw)
            data = {name: _texts(data.get(name), name) for name in ("tags", "params", "metrics")}
        info = {
            "run_id": run, "run_name": f"run-{number}", "status": status, "experiment_id": "1",
            "artifact_uri": str(folder / run), "start_time": number, "end_time": number + 1,
        }  # fmt: skip
        listed.append({"info": info, "data": data})
        is_read = status == "FINISHED"
        n_rows.append(_n_samples(rows.get("data")) if is_read else 0)
    (folder / "runs.json").write_text(json.dumps(listed))
    oracle = rows_kept([*n_rows, 0], -1)
    return Drawn(f"mlflow:{folder}", oracle)


def _texts(values: Any, name: str) -> dict[str, Any]:
    """Return what a server may have: texts by name, and numbers for metrics."""
    if not isinstance(values, dict):
        return {}
    if name == "metrics":
        return {
            k: float(v) for k, v in values.items() if type(v) in {int, float} and abs(v) < 1e308
        }
    return {k: str(v) for k, v in values.items()}


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


def paths_of_every_kind(draw: Draw, folder: Path) -> Drawn:
    """JSON lines whose values are inside of objects and lists, named by paths."""
    is_lists = draw(st.booleans())
    rows = changed(LISTS if is_lists else NESTED, draw)
    usual = {"value": "samples[*].ok"}
    if not is_lists:
        usual = {"example": "item.uid", "trial": "meta.run.seed", "value": "result.grades.style"}
    kind = draw(st.sampled_from(KINDS))
    value = usual.pop("value")
    columns = {**usual, kind: draw(st.just(value) | PATHS)}
    if draw(st.booleans()):
        columns[draw(st.sampled_from(["example", "trial", "run"]))] = draw(PATHS)
    columns = {role: name for role, name in columns.items() if name}
    file = folder / "rows.jsonl"
    file.write_text(lines_of(rows))
    options = {"common_examples": draw(st.booleans())}
    if draw(st.integers(0, 3)) == 0:
        file.write_bytes(flipped(file.read_bytes() or b" ", draw))
        return Drawn(file, None, columns, options)
    return Drawn(file, _oracle_of_paths(rows, columns, kind), columns, options)


def _oracle_of_paths(rows: Any, columns: Mapping[str, str], kind: str) -> Oracle | None:
    example, path = columns.get("example", "id"), columns.get(kind, "")
    known = isinstance(rows, list) and not {"[", "*"} & {*example}
    ids = ids_at(rows, example) if known else None
    if ids is None or path not in {"samples[*].ok", "result.grades.style"}:
        return None
    return examples_kept(
        [(name, _n_answers(row, path)) for name, row in zip(ids, rows, strict=True)]
    )


def _n_answers(row: Any, path: str) -> int:
    """Return the number of answers in a line, without those that are null."""
    if path == "samples[*].ok":
        items = row.get("samples")
        items = items if isinstance(items, list) else []
        return sum(isinstance(x, dict) and x.get("ok") is not None for x in items)
    value = row
    for name in path.split("."):
        value = value.get(name) if isinstance(value, dict) else None
    return int(value is not None)


FLAT: Mapping[str, Sequence[Any]] = {
    "value": (0.5, 1, 0.25, 3),
    "prediction": ("a", "b", "a", "a"),
    "answer": ("yes", "no", "Yes.", "no"),
    "set": ("a|b", "a", "b", "a|c"),
    "item": ("a", "b", "a", "c"),
}


def tables_of_every_kind(draw: Draw, folder: Path) -> Drawn:
    """Plain tables of each kind of answer, as JSON lines, CSV or Parquet."""
    kind = draw(st.sampled_from(KINDS))
    rows: Any = [
        {"run": run, "example": f"q{n}", "label": "a", kind: FLAT[kind][(n + run) % 4], "rank": 1}
        for run in range(2)
        for n in range(4)
    ]
    if kind != "item":
        rows = [{name: x for name, x in row.items() if name != "rank"} for row in rows]
    rows = changed(rows, draw)
    rows = rows if isinstance(rows, list) else [rows]
    form = draw(st.sampled_from(["jsonl", "jsonl", "csv", "parquet"]))
    file = folder / f"table.{form}"
    if form != "jsonl":
        rows = [row for row in rows if isinstance(row, dict)]
        rows = [
            {name: x if form == "parquet" else _cell(x) for name, x in row.items()} for row in rows
        ]
    names = list(dict.fromkeys(name for row in rows if isinstance(row, dict) for name in row))
    if form == "csv":
        with file.open("w", newline="") as stream:
            writer = csv.DictWriter(stream, names)
            writer.writeheader()
            writer.writerows(rows)
    elif form == "parquet":
        try:
            pq.write_table(pa.table({x: [row.get(x) for row in rows] for x in names}), file)
        except (pa.ArrowException, OverflowError, ValueError):
            form, file = "jsonl", folder / "table.jsonl"
    if form == "jsonl":
        file.write_text(lines_of(rows))
    columns = {kind: kind}
    options = {"common_examples": draw(st.booleans())}
    if draw(st.integers(0, 4)) == 0:
        file.write_bytes(flipped(file.read_bytes() or b" ", draw))
        return Drawn(file, None, columns, options)
    ids = ids_at(rows, "example")
    if ids is None:
        return Drawn(file, None, columns, options)
    present = [(name, int(row.get(kind) not in {None, ""} if _is_plain(row.get(kind)) else 1))
               for name, row in zip(ids, rows, strict=True)]  # fmt: skip
    return Drawn(file, examples_kept(present) if kind != "answer" else None, columns, options)


def _is_plain(value: Any) -> bool:
    return not isinstance(value, list | dict)


TARGETS: Mapping[str, Callable[[Draw, Path], Drawn]] = {
    "inspect": inspect_logs,
    "inspect archives": inspect_archives,
    "inspect bytes": damaged_archive,
    "lm_eval": lm_eval_logs,
    "promptfoo": promptfoo_results,
    "wandb": wandb_runs,
    "hydra": hydra_jobs,
    "mlflow": mlflow_runs,
    "paths": paths_of_every_kind,
    "kinds": tables_of_every_kind,
}
