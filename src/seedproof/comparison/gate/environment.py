"""Environments of runs and their differences: versions, hardware, threads, examples."""

from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from hashlib import blake2b
from typing import Any

import numpy as np
import pyarrow as pa

from seedproof.measurement.examples import ExampleTable
from seedproof.records.manifest import RunManifest

# Hardware that defines an environment. The number of cores does not: a run uses the threads that it
# was given.
HARDWARE = ("machine", "system")
# Columns that two tables of the same examples share.
IDENTITY = ("example", "label", "target")


@dataclass(frozen=True)
class Environment:
    """The environment of some runs.

    A fact that a run does not record is not counted, so that tables, which record none, agree with
    everything.
    """

    facts: Mapping[str, Mapping[str, int]]  # by fact, such as `torch`: runs per value

    @classmethod
    def of(cls, runs: Iterable[RunManifest]) -> "Environment":
        """Count the facts of some runs."""
        counts: dict[str, Counter[str]] = {}
        for run in runs:
            for name, value in _facts(run.facts).items():
                counts.setdefault(name, Counter())[value] += 1
        return cls(counts)

    def changes(self) -> tuple[str, ...]:
        """List differences among these runs, such as "torch 2.12 (8 runs) v 2.13 (2 runs)"."""
        return tuple(
            f"{name} " + " v ".join(f"{value} ({_runs(n)})" for value, n in sorted(counts.items()))
            for name, counts in self.facts.items()
            if len(counts) > 1
        )

    def changes_from(self, baseline: "Environment") -> tuple[str, ...]:
        """List differences from a baseline, such as "torch 2.12 v 2.13", the baseline first."""
        return tuple(
            f"{name} {_values(baseline.facts[name])} v {_values(counts)}"
            for name, counts in self.facts.items()
            if name in baseline.facts and set(counts) != set(baseline.facts[name])
        )


def _facts(recorded: Mapping[str, Any]) -> dict[str, str]:
    """Facts that a run records of its environment; values of another shape are ignored."""
    facts = {str(name): str(value) for name, value in _mapping(recorded.get("versions")).items()}
    hardware = _mapping(recorded.get("hardware"))
    facts |= {name: str(hardware[name]) for name in HARDWARE if name in hardware}
    if isinstance(hardware.get("gpus"), list):
        names = Counter(map(str, hardware["gpus"]))
        facts["GPU"] = ", ".join(f"{n} × {name}" for name, n in sorted(names.items())) or "none"
    return facts | {
        name: str(recorded[name]) for name in ("threads", "deterministic") if name in recorded
    }


def _mapping(value: object) -> Mapping[Any, Any]:
    return value if isinstance(value, Mapping) else {}


def _values(counts: Mapping[str, int]) -> str:
    return " and ".join(sorted(counts))


def _runs(n_runs: int) -> str:
    return "1 run" if n_runs == 1 else f"{n_runs} runs"


def examples_digest(examples: ExampleTable) -> str:
    """Return a digest of the ids and right answers of examples, independent of batches."""
    # Lengths apart from letters, so that ("a", "bc") and ("ab", "c") differ.
    digests = {name: (blake2b(digest_size=16), blake2b(digest_size=16)) for name in IDENTITY}
    for batch in examples.batches(IDENTITY):
        for name, column in zip(batch.schema.names, batch.columns, strict=True):
            lengths, letters = digests[name]
            text = column.cast(pa.large_string()).fill_null("")
            bounds = np.frombuffer(text.buffers()[1], "<i8")
            bounds = bounds[text.offset : text.offset + len(text) + 1]
            lengths.update(np.diff(bounds).tobytes())
            content = text.buffers()[2]
            if content is not None:
                letters.update(content[int(bounds[0]) : int(bounds[-1])])
    return " ".join(digest.hexdigest() for pair in digests.values() for digest in pair)
