"""What runs were made in, and whether that differs: versions, hardware, threads, examples."""

from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from hashlib import blake2b
from typing import Any

import numpy as np
import pyarrow as pa

from seedproof.measurement.examples import ExampleTable
from seedproof.records.manifest import RunManifest

# Facts whose change is another environment. The number of cores is none of them: a run uses the
# threads that it was given, however many cores there are.
HARDWARE = ("machine", "system")
# What two tables of the same examples have in common.
IDENTITY = ("example", "label")


@dataclass(frozen=True)
class Environment:
    """What some runs were made in.

    Args:
        facts: For each fact, such as `torch`, how many runs have which value. A fact that a run
            does not record is not counted, so that tables, which record none, agree with all.
    """

    facts: Mapping[str, Mapping[str, int]]

    @classmethod
    def of(cls, runs: Iterable[RunManifest]) -> "Environment":
        """The environment of some runs."""
        counts: dict[str, Counter[str]] = {}
        for run in runs:
            for name, value in _facts(run.facts).items():
                counts.setdefault(name, Counter())[value] += 1
        return cls(counts)

    def changes(self) -> tuple[str, ...]:
        """What differs among these runs, such as "torch 2.12.0 (8 runs) v 2.13.0 (2 runs)"."""
        return tuple(
            f"{name} " + " v ".join(f"{value} ({_runs(n)})" for value, n in sorted(found.items()))
            for name, found in self.facts.items()
            if len(found) > 1
        )

    def changes_from(self, baseline: "Environment") -> tuple[str, ...]:
        """What differs from a baseline, such as "torch 2.12.0 v 2.13.0": the baseline's first."""
        return tuple(
            f"{name} {_values(baseline.facts[name])} v {_values(found)}"
            for name, found in self.facts.items()
            if name in baseline.facts and set(found) != set(baseline.facts[name])
        )


def _facts(recorded: Mapping[str, Any]) -> dict[str, str]:
    """What a run records of its environment; anything of another shape is left out."""
    found = {str(name): str(value) for name, value in _mapping(recorded.get("versions")).items()}
    hardware = _mapping(recorded.get("hardware"))
    found |= {name: str(hardware[name]) for name in HARDWARE if name in hardware}
    if isinstance(hardware.get("gpus"), list):
        names = Counter(map(str, hardware["gpus"]))
        found["GPU"] = ", ".join(f"{n} × {name}" for name, n in sorted(names.items())) or "none"
    found |= {
        name: str(recorded[name]) for name in ("threads", "deterministic") if name in recorded
    }
    return found


def _mapping(value: object) -> Mapping[Any, Any]:
    return value if isinstance(value, Mapping) else {}


def _values(found: Mapping[str, int]) -> str:
    return " and ".join(sorted(found))


def _runs(n_runs: int) -> str:
    return "1 run" if n_runs == 1 else f"{n_runs} runs"


def examples_digest(examples: ExampleTable) -> str:
    """Digest of the ids and gold labels in a report's table of examples.

    It does not depend on how the rows were cut into batches.
    """
    # Lengths and letters apart, which keeps ("a", "bc") and ("ab", "c") apart.
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
    return " ".join(one.hexdigest() for both in digests.values() for one in both)
