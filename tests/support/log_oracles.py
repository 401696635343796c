"""Oracles of hostile logs: each row is in a figure, or in an error, a note or a check."""

import unicodedata
from collections.abc import Callable, Mapping, Sequence
from typing import Any, TypeAlias

# What the worker has read of an input, see log_worker.py.
Answer: TypeAlias = Mapping[str, Any]
# Returns what was lost in silence; empty if nothing was, or if it cannot be known.
Oracle: TypeAlias = Callable[[Answer], str]
# Kinds of answers that have several rows, or none.
LISTED = frozenset({"rankings", "sets"})
# Note on answers that are null or without a text.
EMPTY = "answers-missing"
# Notes on examples or lines that are in no figure.
DROPPING = frozenset({"examples-dropped", "lists-empty"})


def samples_kept(files: Mapping[str, int]) -> Oracle:
    """Return the oracle of a log, given the number of samples in each file."""

    def oracle(answer: Answer) -> str:
        if answer["n_samples"] is None:
            return ""  # refused as a whole, or no log any more
        n_named = 0
        for code, fields in answer["log_notes"]:
            if code == "log-chosen":
                n_named += sum(files.get(name.rpartition(" (")[0], 0) for name in fields["others"])
            elif code == "rows-repeated":
                n_named += fields["n_rows"]
        n_read = answer["n_samples"]
        if sum(files.values()) != n_read + n_named:
            return f"{sum(files.values())} samples, {n_read} read, {n_named} named"
        if n_read != sum(part["n_samples"] for part in answer["parts"]):
            return "a sample is in no arm or task"
        return next(filter(None, map(_lost_of_part, answer["parts"])), "")

    return oracle


def _lost_of_part(part: Mapping[str, Any]) -> str:
    if part["code"]:
        return ""
    n_named = part["n_left_out"] if "failed-samples" in part["checks"] else 0
    if part["n_samples"] == part["n_cells"] + n_named:
        return ""
    return f"{part['n_samples']} samples, {part['n_cells']} in figures, {n_named} named"


def rows_kept(runs: Sequence[int], hostile: int) -> Oracle:
    """Return the oracle of runs with a table each, given their numbers of rows."""

    def oracle(answer: Answer) -> str:
        read = answer["parts"]
        if answer["codes"] or not read or any(part.get("kind") in LISTED for part in read):
            return ""
        n_rows = sum(part["n_cells"] for part in read)
        expected = {sum(runs)}
        if {"missing-runs", "failed-runs"} & {*answer["checks"]}:
            expected = {sum(runs) - runs[hostile]}
        return "" if n_rows in expected else f"{sum(runs)} rows, {n_rows} in figures"

    return oracle


def examples_kept(rows: Sequence[tuple[str, int]]) -> Oracle:
    """Return the oracle of a table, given the example and the number of answers of each row."""

    def oracle(answer: Answer) -> str:
        if answer["codes"] or not answer["parts"]:
            return ""
        (part,) = answer["parts"]
        known = {example for example, _ in rows}
        kept = known & {*part["ids"]}
        named = [fields for code, fields in part["notes"] if code in DROPPING]
        n_named = sum(fields.get("n_dropped", fields.get("n_empty", 0)) for fields in named)
        if len(known - kept) > n_named:
            return f"{len(known - kept)} examples are in no figure, and {n_named} are named"
        n_rows = sum(n for example, n in rows if example in kept)
        # A text that is null is an answer of its own, and a note counts them.
        n_empty = sum(fields["n_missing"] for code, fields in part["notes"] if code == EMPTY)
        if part["kind"] in LISTED or n_rows + n_empty == part["n_cells"]:
            return ""
        return f"{n_rows} answers of measured examples, {part['n_cells']} in figures"

    return oracle


def ids_at(rows: Sequence[Any], path: str) -> list[str] | None:
    """Return the ids at a path of names; None unless all are texts, or all whole numbers."""
    values = []
    for row in rows:
        value = row
        for name in path.split("."):
            value = value.get(name) if isinstance(value, dict) else None
        values.append(value)
    if all(type(value) is str and value for value in values):
        return [unicodedata.normalize("NFC", value) for value in values]
    are_small = all(type(value) is int and abs(value) < 10**15 for value in values)
    return list(map(str, values)) if are_small else None
