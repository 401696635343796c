"""The result of measuring: figures with intervals, arrays behind them, one row per example."""

import json
from collections.abc import Iterable, Mapping
from dataclasses import asdict, dataclass, field, replace
from typing import Any

import numpy as np
import pyarrow as pa

from seedproof.measurement.clusters import Clusters
from seedproof.measurement.dynamics import DynamicsMeasurement
from seedproof.measurement.examples import ExampleTable
from seedproof.measurement.explanations.result import ExplanationMeasurement, without_nan
from seedproof.measurement.group_metrics import GroupMetrics
from seedproof.messages import Message
from seedproof.metrics.accumulator import Detail
from seedproof.metrics.statistic import Statistic
from seedproof.predictions.checks import Check, by_severity
from seedproof.records.answer_settings import ExampleWeights
from seedproof.stats.intervals import Estimate
from seedproof.typing import FloatArray, IntArray

FORMAT = 1
# With more runs, the summary has the most extreme of their pairs instead of all.
MAX_PAIRED_RUNS = 50
N_EXTREME = 20
# Thousands of counts that only a chart uses.
ONLY_DRAWN = frozenset({"confidence_map"})
OWN_COLUMNS = frozenset(
    {
        "example",
        "label",
        "consensus",
        "consensus_share",
        "flip_rate",
        "label_entropy",
        "label_entropy_corrected",
        "correct_share",
        "probability_mean",
        "probability_sd",
        "predictions",
        "probs",
        "distinct_answers",
        "answer_codes",
        "answer_texts",
    }
)


@dataclass(frozen=True, eq=False)
class Measurement:
    """Figures of the runs of one arm.

    Args:
        runs: Names of the runs, in canonical order.
        classes: Names of the classes, in the order of their indices.
        n_examples: Number of examples that every run predicted.
        n_labeled: Number of examples with a gold label.
        kind: Kind of the input: `probs`, `top` or `labels`.
        metrics: Value and interval of each metric, in display order.
        detail: Arrays behind the metrics: by run, by class, by bin.
        unstable_examples: The least stable examples, at most 500, with the predictions of each run.
        example_table: One row per example, read on demand.
        notes: Remarks on how the input was read.
        explanations: The same for explanations, by method; empty without records of them.
        dynamics: Label entropy within single runs over their steps; None if no run was traced.
        left_out: Damaged shards that are in no figure; the summary has them in its notes only.
        checks: Findings about the input.
        repeats: Unit of repetition: `seeds` if they are recorded, `runs` otherwise.
        levels: Number of runs, of trials of each and so on; empty if runs have a single answer.
        clusters: Examples that belong together; None if they are independent.
        weights: Weights of the examples; None if all count equally.
        by_class: Metrics of each class that has an example; empty if there are too many classes.
        slices: The same by column, for each value of a slice.
        statistics: Each metric, ready for an interval at another level; empty if it was loaded.
    """

    runs: tuple[str, ...]
    classes: tuple[str, ...]
    n_examples: int
    n_labeled: int
    kind: str
    metrics: Mapping[str, Estimate]
    detail: Detail
    unstable_examples: pa.Table
    example_table: ExampleTable
    notes: tuple[Message, ...] = ()
    explanations: Mapping[str, ExplanationMeasurement] = field(default_factory=dict)
    dynamics: DynamicsMeasurement | None = None
    left_out: tuple[int, ...] = ()
    checks: tuple[Check, ...] = ()
    repeats: str = "runs"
    levels: Mapping[str, int] = field(default_factory=dict)
    clusters: Clusters | None = None
    weights: ExampleWeights | None = None
    by_class: tuple[GroupMetrics, ...] = ()
    slices: Mapping[str, tuple[GroupMetrics, ...]] = field(default_factory=dict)
    statistics: Mapping[str, Statistic] = field(default_factory=dict, repr=False)

    @property
    def n_runs(self) -> int:
        """Number of runs."""
        return len(self.runs)

    @property
    def n_classes(self) -> int:
        """Number of classes."""
        return len(self.classes)

    @property
    def trial_counts(self) -> dict[int, int]:
        """Number of examples by their number of trials; empty if all have the same."""
        if "trial_counts" not in self.detail:
            return {}
        counts = self.detail["trial_counts"].tolist()
        return {n_trials: n for n_trials, n in enumerate(counts) if n}

    @property
    def run_range(self) -> tuple[int, int]:
        """Least and largest number of runs, or of trials, of an example."""
        counts = self.trial_counts or {self.n_runs: self.n_examples}
        return min(counts), max(counts)

    def with_checks(self, checks: Iterable[Check]) -> "Measurement":
        """Return the same, with further checks of the input."""
        return replace(self, checks=by_severity([*self.checks, *checks]))

    def examples(self) -> pa.Table:
        """Return one row per example, in the order of their ids."""
        return self.example_table.read()

    def extras(self) -> tuple[str, ...]:
        """Return the names of further columns of the input."""
        names = self.unstable_examples.column_names
        return tuple(name for name in names if name not in OWN_COLUMNS)

    def pairs(self) -> pa.Table:
        """Return one row per pair of runs: their names, and the share on which they disagree."""
        first, second = np.triu_indices(self.n_runs, 1)
        names = pa.array(self.runs)
        return pa.table(
            {
                "run": pa.DictionaryArray.from_arrays(first.astype(np.int32), names),
                "other": pa.DictionaryArray.from_arrays(second.astype(np.int32), names),
                "flip_rate": self.detail["flip_matrix"][first, second],
            }
        )

    def _detail(self) -> Detail:
        """Return the arrays of the summary, none of which grows with the square of many runs."""
        detail = {name: array for name, array in self.detail.items() if name not in ONLY_DRAWN}
        if self.n_runs <= MAX_PAIRED_RUNS or "flip_matrix" not in detail:
            return detail
        matrix = detail.pop("flip_matrix")
        pairs = _extreme_pairs(matrix)
        return {
            "flips_by_run": matrix.sum(axis=1) / (self.n_runs - 1),
            "extreme_pairs": pairs,
            "extreme_flips": matrix[pairs[:, 0], pairs[:, 1]],
            **detail,
        }

    def summary(self) -> dict[str, Any]:
        """Return everything but the examples, as plain data.

        It has no path, time, host, engine or version, so equal predictions give equal bytes.
        """
        return {
            "format": FORMAT,
            "n_runs": self.n_runs,
            "n_examples": self.n_examples,
            "n_labeled": self.n_labeled,
            # Absent if there are none, so that digests of older reports stay the same.
            **({} if self.clusters is None else {"clusters": asdict(self.clusters)}),
            **({} if self.weights is None else {"weights": self.weights.summary()}),
            "n_classes": self.n_classes,
            "kind": self.kind,
            "runs": list(self.runs),
            "repeats": self.repeats,
            **({"levels": dict(self.levels)} if self.levels else {}),
            "classes": list(self.classes),
            "metrics": {name: asdict(value) for name, value in self.metrics.items()},
            "by_class": [group.summary() for group in self.by_class],
            "slices": {
                column: [group.summary() for group in groups]
                for column, groups in self.slices.items()
            },
            "detail": {
                name: without_nan(values.tolist()) for name, values in self._detail().items()
            },
            "explanations": {
                method: measured.summary() for method, measured in self.explanations.items()
            },
            **({} if self.dynamics is None else {"dynamics": self.dynamics.summary()}),
            "checks": [check.summary() for check in self.checks],
            "notes": [str(note) for note in self.notes],
        }

    def to_json(self) -> str:
        """Return the content of `summary.json`."""
        return json.dumps(self.summary(), ensure_ascii=False, allow_nan=False) + "\n"


def _extreme_pairs(matrix: FloatArray) -> IntArray:
    """Return the pairs of runs that disagree least, then those that disagree most, in order."""
    is_pair = ~np.tri(len(matrix), dtype=np.bool_)
    rates = matrix[is_pair]
    # Only pairs that may be among them are sorted: there are millions.
    low, high = np.partition(rates, [N_EXTREME - 1, len(rates) - N_EXTREME])[
        [N_EXTREME - 1, len(rates) - N_EXTREME]
    ]
    chosen = []
    for may_be, part in (
        (rates <= low, slice(N_EXTREME)),
        (rates >= high, slice(-N_EXTREME, None)),
    ):
        places = np.flatnonzero(may_be)
        chosen.append(places[np.argsort(rates[places], kind="stable")[part]])
    return np.stack(np.divmod(np.flatnonzero(is_pair)[np.concatenate(chosen)], len(matrix)), axis=1)
