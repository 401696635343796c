"""What measuring explanations gives."""

from collections.abc import Mapping
from dataclasses import asdict, dataclass
from typing import Any

import numpy as np
import pyarrow as pa

from seedproof.measurement.explanations.curves import Curves
from seedproof.measurement.explanations.illustrations import SCHEMA
from seedproof.messages import Message, recorded
from seedproof.stats.intervals import Estimate
from seedproof.typing import FloatArray


@dataclass(frozen=True, eq=False)
class ExplanationMeasurement:
    """How much of an explanation the seed decided.

    Tables of examples hold tokens, which are the text of examples: show them only where they were
    asked for.

    Args:
        method: By which method was explained.
        runs: Names of the runs, in canonical order.
        n_examples: How many examples were compared.
        metrics: Value and interval of each figure between runs, from the first draw of each run.
        noise: The explainer-noise floor: the same figures between draws of one run, averaged over
            runs; None if no example was explained twice by all runs, for then nobody knows.
        n_repeated: Over how many examples the floor is.
        agreed: Mean of each figure over the examples on which all runs give one answer; empty
            where nothing was predicted.
        n_agreed: How many these are.
        curves: Figures by predicted probability; None without predicted probabilities.
        worst: The examples whose explanations differ most, at most 50: `example`, `tokens`,
            `scores` (a list for each run, as logged), and a column for each figure.
        telling: An example for each of three rules, with what each run said of it.
        notes: What a person should know about how the records were read.
    """

    method: str
    runs: tuple[str, ...]
    n_examples: int
    metrics: Mapping[str, Estimate]
    noise: Mapping[str, Estimate] | None
    n_repeated: int
    agreed: Mapping[str, float]
    n_agreed: int
    curves: Curves | None
    worst: pa.Table
    telling: pa.Table
    notes: tuple[Message, ...] = ()

    @property
    def n_runs(self) -> int:
        """How many runs there are."""
        return len(self.runs)

    def summary(self) -> dict[str, Any]:
        """Everything but the examples, as plain data: no text, path, time, host or version."""
        return {
            "n_runs": self.n_runs,
            "runs": list(self.runs),
            "n_examples": self.n_examples,
            "metrics": {name: asdict(value) for name, value in self.metrics.items()},
            "noise": None
            if self.noise is None
            else {name: asdict(value) for name, value in self.noise.items()},
            "n_repeated": self.n_repeated,
            "agreed": dict(self.agreed),
            "n_agreed": self.n_agreed,
            "curves": None if self.curves is None else _plain_curves(self.curves),
            "notes": [str(note) for note in self.notes],
        }

    @classmethod
    def from_summary(cls, method: str, summary: Mapping[str, Any]) -> "ExplanationMeasurement":
        """What `summary` gave, without the examples.

        Args:
            method: By which method was explained.
            summary: Plain data.

        Returns:
            The same figures and curves.
        """
        noise, curves = summary["noise"], summary["curves"]
        return cls(
            method=method,
            runs=tuple(summary["runs"]),
            n_examples=summary["n_examples"],
            metrics={name: Estimate(**value) for name, value in summary["metrics"].items()},
            noise=None
            if noise is None
            else {name: Estimate(**value) for name, value in noise.items()},
            n_repeated=summary["n_repeated"],
            agreed=summary["agreed"],
            n_agreed=summary["n_agreed"],
            curves=None if curves is None else _curves(curves),
            worst=pa.table({"example": pa.array([], pa.string())}),
            telling=SCHEMA.empty_table(),
            notes=tuple(map(recorded, summary["notes"])),
        )


def _plain_curves(curves: Curves) -> dict[str, Any]:
    def plain(arrays: Mapping[str, FloatArray]) -> dict[str, list[list[float | None]]]:
        return {
            name: [[None if np.isnan(x) else float(x) for x in row] for row in values]
            for name, values in arrays.items()
        }

    return {
        "classes": list(curves.classes),
        "counts": curves.counts.tolist(),
        "means": plain(curves.means),
        "errors": plain(curves.errors),
    }


def _curves(plain: Mapping[str, Any]) -> Curves:
    def arrays(name: str) -> dict[str, FloatArray]:
        return {key: np.array(rows, dtype=np.float64) for key, rows in plain[name].items()}

    counts = np.array(plain["counts"], dtype=np.int64)
    return Curves(tuple(plain["classes"]), counts, arrays("means"), arrays("errors"))
