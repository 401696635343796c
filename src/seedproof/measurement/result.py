"""What measuring gives: figures with intervals, arrays behind them, one row an example."""

import json
from collections.abc import Mapping
from dataclasses import asdict, dataclass, field
from typing import Any

import numpy as np
import pyarrow as pa

from seedproof.measurement.dynamics import DynamicsMeasurement
from seedproof.measurement.examples import ExampleTable
from seedproof.measurement.explanations.result import ExplanationMeasurement
from seedproof.messages import Message
from seedproof.metrics.accumulator import Detail
from seedproof.stats.intervals import Estimate

FORMAT = 1
# With more runs, the summary has the most extreme of their pairs instead of all.
MAX_PAIRED_RUNS = 50
N_EXTREME = 20
# Thousands of counts that serve a chart and nobody else.
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
    }
)


@dataclass(frozen=True, eq=False)
class Measurement:
    """How much the seed decided.

    Args:
        runs: Names of the runs, in canonical order.
        classes: Names of the classes, in the order of their indices.
        n_examples: How many examples every run predicted.
        n_labeled: How many of them have a gold label.
        kind: What was known: `probs`, `top` or `labels`.
        metrics: Value and interval of each metric, in the order in which they are shown.
        detail: Arrays behind the metrics: by run, by class, by bin.
        worst: The least stable examples, at most 500, with what each run said of them.
        example_table: One row per example, read when it is asked for.
        notes: What a person should know about how the input was read.
        explanations: How much of the explanations the seed decided, by method; none without
            records of them.
        dynamics: Label entropy within single runs over their steps; None if no run was traced.
        left_out: Shards that are in no figure because they are damaged; the summary tells of them
            in its notes alone.
    """

    runs: tuple[str, ...]
    classes: tuple[str, ...]
    n_examples: int
    n_labeled: int
    kind: str
    metrics: Mapping[str, Estimate]
    detail: Detail
    worst: pa.Table
    example_table: ExampleTable
    notes: tuple[Message, ...] = ()
    explanations: Mapping[str, ExplanationMeasurement] = field(default_factory=dict)
    dynamics: DynamicsMeasurement | None = None
    left_out: tuple[int, ...] = ()

    @property
    def n_runs(self) -> int:
        """How many runs there are."""
        return len(self.runs)

    @property
    def n_classes(self) -> int:
        """How many classes there are."""
        return len(self.classes)

    def examples(self) -> pa.Table:
        """One row for each example, in the order of their ids."""
        return self.example_table.read()

    def extras(self) -> tuple[str, ...]:
        """Columns of the user's own that were carried along."""
        return tuple(name for name in self.worst.column_names if name not in OWN_COLUMNS)

    def pairs(self) -> pa.Table:
        """One row for each pair of runs: their names, and the share on which they disagree."""
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
        """The arrays of the summary: nothing that grows with the square of many runs."""
        detail = {name: one for name, one in self.detail.items() if name not in ONLY_DRAWN}
        if self.n_runs <= MAX_PAIRED_RUNS or "flip_matrix" not in detail:
            return detail
        matrix = detail.pop("flip_matrix")
        pairs = np.stack(np.triu_indices(self.n_runs, 1), axis=1)
        rates = matrix[pairs[:, 0], pairs[:, 1]]
        order = np.argsort(rates, kind="stable")
        extreme = np.concatenate([order[:N_EXTREME], order[-N_EXTREME:]])
        return {
            "flips_by_run": matrix.sum(axis=1) / (self.n_runs - 1),
            "extreme_pairs": pairs[extreme],
            "extreme_flips": rates[extreme],
            **detail,
        }

    def summary(self) -> dict[str, Any]:
        """Everything but the examples, as plain data.

        It holds no path, time, host, engine or version, so equal predictions give equal bytes.
        """
        return {
            "format": FORMAT,
            "n_runs": self.n_runs,
            "n_examples": self.n_examples,
            "n_labeled": self.n_labeled,
            "n_classes": self.n_classes,
            "kind": self.kind,
            "runs": list(self.runs),
            "classes": list(self.classes),
            "metrics": {name: asdict(value) for name, value in self.metrics.items()},
            "detail": {name: _plain(values.tolist()) for name, values in self._detail().items()},
            "explanations": {name: one.summary() for name, one in self.explanations.items()},
            # Absent without records, as before there were any: digests of reports stay the same.
            **({} if self.dynamics is None else {"dynamics": self.dynamics.summary()}),
            "notes": [str(note) for note in self.notes],
        }

    def to_json(self) -> str:
        """The summary as it stands in `summary.json`."""
        return json.dumps(self.summary(), ensure_ascii=False, allow_nan=False) + "\n"


def _plain(values: Any) -> Any:  # noqa: ANN401 - nested lists of any depth
    """Nested lists with None for what is not a number, which JSON cannot say."""
    if isinstance(values, list):
        return [_plain(value) for value in values]
    return None if isinstance(values, float) and np.isnan(values) else values
