"""The result of measuring explanations."""

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
    """Differences between the explanations of the runs of one arm, by one method.

    Tables of examples hold tokens, which are the text of examples: show them only on request.

    Args:
        method: Method of the explanations.
        runs: Names of the runs, in canonical order.
        n_examples: Number of examples that were compared.
        metrics: Value and interval of each figure between runs, from the first draw of each run.
        noise: The explainer-noise floor: the same figures between draws of one run, averaged over
            runs; None if unknown, because no example was explained twice by all runs.
        n_repeated: Number of examples behind the floor.
        agreed: Mean of each figure over the examples on which all runs predict the same class;
            empty without predictions.
        n_agreed: Number of these examples.
        curves: Figures by predicted probability; None without predicted probabilities.
        unstable_examples: The examples whose explanations differ most, at most 50: `example`,
            `tokens`, `scores` (a list per run, as logged), and a column per figure.
        illustrations: One example for each of three rules, with the predictions of each run.
        notes: Remarks on how the records were read.
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
    unstable_examples: pa.Table
    illustrations: pa.Table
    notes: tuple[Message, ...] = ()

    def __repr__(self) -> str:
        # The tables have the texts of examples.
        size = f"{self.n_runs} runs, {self.n_examples:,} examples"
        return f"<{type(self).__name__} by {self.method} of {size}: {', '.join(self.metrics)}>"

    @property
    def n_runs(self) -> int:
        """Number of runs."""
        return len(self.runs)

    def summary(self) -> dict[str, Any]:
        """Return everything but the examples as plain data, without path, time or version."""
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
    def from_summary(cls, method: str, summary: "ExplanationSummary") -> "ExplanationMeasurement":
        """Restore a measurement from its `summary`, without the examples.

        Args:
            method: Method of the explanations.
            summary: The decoded summary.

        Returns:
            The same figures and curves.
        """
        return cls(
            method=method,
            runs=summary.runs,
            n_examples=summary.n_examples,
            metrics=summary.metrics,
            noise=summary.noise,
            n_repeated=summary.n_repeated,
            agreed=summary.agreed,
            n_agreed=summary.n_agreed,
            curves=None if summary.curves is None else _curves(summary.curves),
            unstable_examples=pa.table({"example": pa.array([], pa.string())}),
            illustrations=SCHEMA.empty_table(),
            notes=tuple(map(recorded, summary.notes)),
        )


@dataclass(frozen=True)
class CurvesSummary:
    """Curves in `summary.json`; null stands for NaN."""

    classes: tuple[str, ...]
    counts: tuple[tuple[int, ...], ...]
    means: Mapping[str, tuple[tuple[float | None, ...], ...]]
    errors: Mapping[str, tuple[tuple[float | None, ...], ...]]


@dataclass(frozen=True)
class ExplanationSummary:
    """Explanations by one method in `summary.json`."""

    runs: tuple[str, ...]
    n_examples: int
    metrics: Mapping[str, Estimate]
    noise: Mapping[str, Estimate] | None
    n_repeated: int
    agreed: Mapping[str, float]
    n_agreed: int
    curves: CurvesSummary | None
    notes: tuple[str, ...]


def without_nan(values: Any) -> Any:  # noqa: ANN401 - nested lists of any depth
    """Replace NaN, which JSON does not have, by None."""
    if isinstance(values, list):
        return [without_nan(value) for value in values]
    return None if isinstance(values, float) and np.isnan(values) else values


def _plain_curves(curves: Curves) -> dict[str, Any]:
    return {
        "classes": list(curves.classes),
        "counts": curves.counts.tolist(),
        "means": {name: without_nan(means.tolist()) for name, means in curves.means.items()},
        "errors": {name: without_nan(errors.tolist()) for name, errors in curves.errors.items()},
    }


def _curves(plain: CurvesSummary) -> Curves:
    def arrays(rows: Mapping[str, tuple[tuple[float | None, ...], ...]]) -> dict[str, FloatArray]:
        return {name: np.array(values, dtype=np.float64) for name, values in rows.items()}

    counts = np.array(plain.counts, dtype=np.int64)
    return Curves(plain.classes, counts, arrays(plain.means), arrays(plain.errors))
