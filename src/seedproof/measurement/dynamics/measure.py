"""How much single runs waver, and how well one of them tells of all, with intervals."""

from collections.abc import Iterator

import numpy as np
import pyarrow as pa

from seedproof.measurement.dynamics.association import TOP_SHARE, Pearson, Precision
from seedproof.measurement.dynamics.pictures import CumulativeCurve, EntropyMap
from seedproof.measurement.dynamics.reading import Traces
from seedproof.measurement.dynamics.reference import told_by_other_runs
from seedproof.measurement.dynamics.result import EXAMPLES, DynamicsMeasurement
from seedproof.measurement.dynamics.stand_in import MIN_RUNS, stand_in
from seedproof.measurement.dynamics.watched import Watched
from seedproof.messages import Message
from seedproof.metrics.entropy import label_entropy
from seedproof.metrics.statistic import ExampleSums, ExampleValues
from seedproof.records.arrow import to_arrow
from seedproof.stats.intervals import Estimate, estimate
from seedproof.typing import FloatArray

# A tenth of fewer examples is not even one.
MIN_EXAMPLES = 10
STAND_IN = {
    "single_run_pearson": Pearson(),
    "single_run_precision": Precision(),
}


def measure_dynamics(
    traces: Traces, runs: tuple[str, ...], *, n_measured: int
) -> DynamicsMeasurement:
    """How much single runs waver, and how well one tells of the others."""
    watched = traces.watched
    metrics = {"single_run_entropy": _mean_entropy(watched.entropies)}
    by_run = {"single_run_entropy": watched.entropies.mean(axis=1)}
    is_held = _can_be_held(watched)
    if is_held:
        for name, association in STAND_IN.items():
            found = stand_in(watched, association)
            metrics[name], by_run[name] = found.mean, found.by_run
        reference = told_by_other_runs(watched)
        if reference is not None:
            metrics["other_runs_pearson"] = reference
    return DynamicsMeasurement(
        runs=tuple(runs[i] for i in watched.traced),
        n_runs=len(runs),
        n_examples=watched.n_examples,
        n_steps=traces.n_steps,
        metrics=metrics,
        by_run=by_run,
        least_stable=_least_stable(watched) if is_held else None,
        entropy_map=EntropyMap.of(watched) if is_held else None,
        curve=CumulativeCurve.of(traces.curves),
        examples=_examples(traces),
        notes=(*traces.notes, *_notes(traces, n_measured)),
    )


def _can_be_held(watched: Watched) -> bool:
    return (
        watched.n_runs >= MIN_RUNS
        and watched.n_examples >= MIN_EXAMPLES
        and len(watched.contested) > 0
    )


def _least_stable(watched: Watched) -> float:
    """The share of the examples that counts as least stable, mean over traced runs."""
    shares = [watched.n_contested_without(int(i)) / watched.n_examples for i in watched.traced]
    return float(np.minimum(shares, TOP_SHARE).mean())


def _mean_entropy(entropies: FloatArray) -> Estimate:
    """Mean over examples and traced runs; with two runs over examples alone."""
    n_traced = len(entropies)
    without = None
    if n_traced > 2:
        without = (entropies.sum(axis=0) - entropies) / (n_traced - 1)
    sums = ExampleSums()
    sums.update(ExampleValues(entropies.mean(axis=0), without))
    return estimate(sums.mean_over_examples())


def _examples(traces: Traces) -> pa.Table:
    watched = traces.watched
    over = np.zeros(watched.n_examples)
    over[watched.contested] = label_entropy(watched.agreement).values
    columns = {
        "example": traces.ids.cast(pa.string()),
        "single_run_entropy": to_arrow(watched.entropies.mean(axis=0)),
        "label_entropy": to_arrow(over),
        **{
            name: to_arrow(values, missing=np.isnan(values))
            for name, values in traces.coordinates.items()
        },
    }
    return pa.table(columns, schema=EXAMPLES)


def _notes(traces: Traces, n_measured: int) -> Iterator[Message]:
    watched = traces.watched
    if watched.n_examples < n_measured:
        yield Message(
            "traced-on-fewer-examples",
            "Every traced run was looked at on {n_traced:,} of {n_examples:,} examples; "
            "the rest is left out here.",
            n_traced=watched.n_examples,
            n_examples=n_measured,
        )
    low, high = traces.n_steps
    if low < high:
        yield Message(
            "traced-unequally-often",
            "Examples were looked at {low:,} to {high:,} times. Label entropy within a run grows "
            "with that: look equally often before you compare runs or arms.",
            low=low,
            high=high,
        )
    if watched.n_runs < MIN_RUNS:
        yield Message(
            "too-few-traced-runs",
            "Whether one run tells of others needs at least {n_needed} runs.",
            n_needed=MIN_RUNS,
        )
    elif watched.n_examples < MIN_EXAMPLES:
        yield Message(
            "too-few-traced-examples",
            "Whether one run tells of others needs at least {n_needed} examples.",
            n_needed=MIN_EXAMPLES,
        )
    elif not len(watched.contested):
        yield Message(
            "no-disagreement", "No run disagrees with another, so there is nothing to tell."
        )
