"""Logs of the LM Evaluation Harness: `samples_<task>_<time>.jsonl` of `--log_samples`."""

import re
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from seedproof.errors import LabelConflictError, UnreadableError
from seedproof.logs.lines import read_lines
from seedproof.logs.samples import Log, Sample, arm_names, plain_facts
from seedproof.records.decoding import DecodingError, parse_json

TOOL = "lm_eval"
NAME = re.compile(r"samples_(?P<task>.+)_(?P<time>\d{4}-\d\d-\d\dT[\d.-]+)\.jsonl")
SEEDS = ("random_seed", "numpy_seed", "torch_seed", "fewshot_seed")


def recognizes(path: Path, start: bytes) -> bool:
    """Return whether a file has samples of the harness, given its first bytes."""
    return path.suffix == ".jsonl" and b'"doc_id"' in start and b'"filtered_resps"' in start


def read(paths: Sequence[Path]) -> Log:
    """Read the samples of files; those of one model and task are trials, named by their seeds."""
    parts = [_Part(path) for path in paths]
    tasks = [part.task for part in parts]
    names = arm_names([part.model for part in parts], tasks, [part.settings for part in parts])
    keys = list(zip(names, tasks, strict=True))
    samples: list[Sample] = []
    documents: dict[tuple[str, str], object] = {}
    for key, part in zip(keys, parts, strict=True):
        twins = [other for other, its in zip(parts, keys, strict=True) if its == key]
        seeds = [other.seed for other in twins]
        is_named = None not in seeds and len(set(seeds)) == len(seeds)
        trial = f"seed {part.seed}" if is_named else part.time
        rows = list(read_lines(part.path))
        _check_documents(rows, part.task, documents)
        samples += _samples(rows, *key, trial)
    return Log(TOOL, samples)


class _Part:
    """The samples of one task in one call of the harness."""

    def __init__(self, path: Path) -> None:
        match = NAME.fullmatch(path.name)
        self.path = path
        self.task = match["task"] if match else path.stem
        self.time = match["time"] if match else path.stem
        results = self._results()
        config = results.get("config") or {}
        self.seed = config.get(SEEDS[0])
        self.model = str(results.get("model_name") or path.parent.name)
        self.settings: dict[str, object] = {
            "model_args": _text(config.get("model_args")),
            "gen_kwargs": _text(config.get("gen_kwargs")),
            "fewshot": (results.get("n-shot") or {}).get(self.task),
        }

    def _results(self) -> Mapping[str, Any]:
        """Return the results of the same call, which name the model and the seed."""
        place = self.path.with_name(f"results_{self.time}.json")
        if not place.is_file():
            return {}
        try:
            return dict(parse_json(place.read_bytes(), allow_nan=True))
        except (DecodingError, TypeError, ValueError) as error:
            raise UnreadableError(
                "{file} cannot be read: {reason}.", file=place.name, reason=str(error)
            ) from error


def _samples(rows: Sequence[Mapping[str, Any]], arm: str, task: str, trial: str) -> list[Sample]:
    """Return the samples of one file; a filter of the answers makes scores of its own."""
    filters = dict.fromkeys(row.get("filter", "none") for row in rows)
    by_document: dict[str, tuple[dict[str, float], Mapping[str, Any]]] = {}
    for row in rows:
        scores, _ = by_document.setdefault(str(row["doc_id"]), ({}, row))
        suffix = f",{row['filter']}" if len(filters) > 1 else ""
        for metric in row.get("metrics", ()):
            value = row.get(metric)
            if isinstance(value, bool | int | float):
                scores[metric + suffix] = float(value)
    return [
        Sample(arm, task, example, trial, scores, plain_facts(row.get("doc") or {}))
        for example, (scores, row) in by_document.items()
    ]


def _check_documents(
    rows: Sequence[Mapping[str, Any]], task: str, known: dict[tuple[str, str], object]
) -> None:
    """Raise an error if a number stands for another document than in files read before."""
    for row in rows:
        key = task, str(row["doc_id"])
        if known.setdefault(key, row.get("doc_hash")) != row.get("doc_hash"):
            raise LabelConflictError(
                "Document {example!r} of {task!r} differs between files. Pass files of the same "
                "version of the data.",
                example=key[1],
                task=task,
            )


def _text(value: object) -> str | None:
    """Return arguments as text; a mapping in the order of its keys."""
    if isinstance(value, Mapping):
        return ",".join(f"{name}={value[name]}" for name in sorted(value))
    return None if value in {None, ""} else str(value)
