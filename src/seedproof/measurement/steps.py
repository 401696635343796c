"""Predictions and steps together: what measuring a store with traced runs gives."""

from dataclasses import replace

from seedproof.measurement.dynamics.measure import measure_dynamics
from seedproof.measurement.dynamics.reading import read_traces, read_votes
from seedproof.measurement.result import Measurement
from seedproof.messages import Message
from seedproof.records.shards import ShardSource
from seedproof.typing import Progress


def with_dynamics(
    measurement: Measurement,
    source: ShardSource,
    *,
    skip_damaged: bool = False,
    progress: Progress | None = None,
) -> Measurement:
    """A measurement of predictions with the dynamics of the same runs, of all or some of them."""
    paths = [part.path.split("/") for run in source.manifests for part in run.parts]
    splits = sorted({path[1] for path in paths if path[0] == "dynamics"})
    if not splits:
        return measurement
    if source.split not in splits:
        note = Message(
            "dynamics-of-other-split",
            "Dynamics are left out. They are of the split {listed}, and {split!r} is measured.",
            listed=" and ".join(map(repr, splits)),
            splits=tuple(splits),
            split=source.split,
        )
        return replace(measurement, notes=(*measurement.notes, note))
    votes = read_votes(
        source, left_out=measurement.left_out, skip_damaged=skip_damaged, progress=progress
    )
    traces = read_traces(source, votes, skip_damaged=skip_damaged)
    if traces is None:
        note = Message(
            "dynamics-of-other-examples",
            "Dynamics are left out. No measured example of {split!r} was looked at in "
            "every traced run. Give sp.Dynamics the ids of the predictions.",
            split=source.split,
        )
        return replace(measurement, notes=(*measurement.notes, note))
    found = measure_dynamics(traces, source.runs, n_measured=measurement.n_examples)
    return replace(measurement, dynamics=found)
