"""What measuring dynamics gives."""

from collections.abc import Mapping
from dataclasses import asdict, dataclass
from typing import Any

import numpy as np
import pyarrow as pa

from seedproof.measurement.dynamics.pictures import CumulativeCurve, EntropyMap
from seedproof.messages import Message, recorded
from seedproof.stats.intervals import Estimate
from seedproof.typing import FloatArray

EXAMPLES = pa.schema(
    {
        "example": pa.string(),
        "single_run_entropy": pa.float64(),
        "label_entropy": pa.float64(),
        "confidence": pa.float64(),
        "variability": pa.float64(),
        "correctness": pa.float64(),
    }
)


@dataclass(frozen=True, eq=False)
class DynamicsMeasurement:
    """How much single runs waver over their steps, and how well one tells of all.

    Args:
        runs: Names of the traced runs, in canonical order.
        n_runs: How many runs there are in all.
        n_examples: On how many examples every traced run was looked at.
        n_steps: How often an example was looked at, at least and at most.
        metrics: Value and interval of each figure.
        by_run: The same of each traced run: (traced).
        least_stable: The share of the examples that counts as least stable: a tenth, or on how many
            the others differ where these are fewer; None where they cannot disagree.
        entropy_map: Entropies within a run against those over the other runs; None where the
            others cannot disagree.
        curve: Mean entropy of the labels so far; None where no run has one.
        examples: One row an example, means over traced runs: entropies, and where it lies on the
            map of its data set.
        notes: What a person should know about how the records were read.
    """

    runs: tuple[str, ...]
    n_runs: int
    n_examples: int
    n_steps: tuple[int, int]
    metrics: Mapping[str, Estimate]
    by_run: Mapping[str, FloatArray]
    least_stable: float | None
    entropy_map: EntropyMap | None
    curve: CumulativeCurve | None
    examples: pa.Table
    notes: tuple[Message, ...] = ()

    @property
    def n_others(self) -> int:
        """How many other runs one run is held against."""
        return self.n_runs - 1

    def summary(self) -> dict[str, Any]:
        """Everything but the examples, as plain data."""
        return {
            "runs": list(self.runs),
            "n_runs": self.n_runs,
            "n_examples": self.n_examples,
            "n_steps": list(self.n_steps),
            "metrics": {name: asdict(value) for name, value in self.metrics.items()},
            "by_run": {name: values.tolist() for name, values in self.by_run.items()},
            "least_stable": self.least_stable,
            "map": None if self.entropy_map is None else self.entropy_map.summary(),
            "curve": None if self.curve is None else self.curve.summary(),
            "notes": [str(note) for note in self.notes],
        }

    @classmethod
    def from_summary(cls, summary: Mapping[str, Any]) -> "DynamicsMeasurement":
        """What `summary` gave, without the examples.

        Args:
            summary: Plain data.

        Returns:
            The same figures and pictures.
        """
        entropy_map, curve = summary["map"], summary["curve"]
        low, high = summary["n_steps"]
        return cls(
            runs=tuple(summary["runs"]),
            n_runs=summary["n_runs"],
            n_examples=summary["n_examples"],
            n_steps=(low, high),
            metrics={name: Estimate(**value) for name, value in summary["metrics"].items()},
            by_run={name: np.array(values) for name, values in summary["by_run"].items()},
            least_stable=summary["least_stable"],
            entropy_map=None if entropy_map is None else EntropyMap.from_summary(entropy_map),
            curve=None if curve is None else CumulativeCurve.from_summary(curve),
            examples=EXAMPLES.empty_table(),
            notes=tuple(map(recorded, summary["notes"])),
        )
