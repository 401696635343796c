"""Temperatures of runs: fitted by maximum likelihood, and applied to probabilities.

Guo, Pleiss, Sun and Weinberger (2017), "On calibration of modern neural networks": logits are
divided by one number. Probabilities know logits up to a constant per example, which cancels.
"""

from collections.abc import Iterator
from dataclasses import dataclass, replace

import numpy as np

from seedproof.errors import OptionError
from seedproof.records.probabilities import UNLABELED
from seedproof.records.schema import Kind
from seedproof.records.shards import Shard, ShardSource, WrappedShards
from seedproof.typing import FloatArray, IntArray

# A probability below this counts as this much: a gold class of probability 0 has no likelihood.
LEAST_PROBABILITY = 1e-12
# Range of the temperatures: a run without any error would get 0.
COLDEST, HOTTEST = 0.01, 100.0
MOST_PASSES = 50
# Relative change of a temperature at which the fit ends.
PRECISION = 1e-9
# Examples times classes of a piece, small enough for the processor's cache.
PIECE_VALUES = 2**18


@dataclass(frozen=True, eq=False)
class Temperatures:
    """Temperatures of all runs, and what they were fitted on."""

    values: FloatArray  # per run; above 1 makes probabilities less extreme
    n_examples: int  # labeled ones
    prior: FloatArray  # share of each class among them

    @property
    def at_limit(self) -> IntArray:
        """Positions of the runs whose temperature is at an end of the allowed range."""
        return np.flatnonzero((self.values <= COLDEST) | (self.values >= HOTTEST))


class CalibratedShards(WrappedShards):
    """The same shards with the probabilities of each run at its temperature."""

    def __init__(self, source: ShardSource, temperatures: FloatArray) -> None:
        super().__init__(source)
        self.manifests = source.manifests
        self.temperatures = temperatures

    def shard(self, index: int) -> Shard:
        """Read one shard and divide its logits."""
        shard = self.source.shard(index)
        if shard.probs is None:
            raise ValueError("temperatures need probabilities")
        calibrated = [
            tempered(probs, float(temperature))
            for probs, temperature in zip(shard.probs, self.temperatures, strict=True)
        ]
        return replace(shard, probs=np.stack(calibrated))


def tempered(probs: FloatArray, temperature: float) -> FloatArray:
    """Return probabilities after their logits are divided by a temperature, as float32.

    >>> tempered(np.array([[0.8, 0.2]]), 2.0).round(2).astype(float).round(2).tolist()
    [[0.67, 0.33]]
    """
    with np.errstate(divide="ignore"):
        logits = np.log(probs.astype(np.float64)) / temperature
    powers = np.exp(logits - logits.max(axis=-1, keepdims=True))
    return np.asarray(powers / powers.sum(axis=-1, keepdims=True), dtype=np.float32)


def fit_temperatures(source: ShardSource) -> Temperatures:
    """Return the temperature of each run that makes the gold classes most likely.

    Newton's method in 1 / temperature, in which the likelihood is concave; each step reads all
    examples once, so that memory does not grow with their number.
    """
    if source.kind is not Kind.PROBS:
        raise OptionError(
            "A temperature needs the probabilities of all classes, and these runs give {kind}. "
            "Pass probabilities.",
            kind=str(source.kind),
        )
    if not source.n_labeled:
        raise OptionError("A temperature needs gold labels, and these examples have none.")
    inverse, counts = np.ones(len(source.runs)), np.zeros(len(source.classes), dtype=np.int64)
    for step in range(MOST_PASSES):
        slope, curvature = np.zeros_like(inverse), np.zeros_like(inverse)
        for logs, gold in _labeled_pieces(source):
            _add_derivatives(slope, curvature, logs, gold, inverse)
            if step == 0:
                counts += np.bincount(gold, minlength=len(counts))
        # Newton's step goes too far where the likelihood flattens out.
        change = slope / np.where(curvature > 0.0, curvature, np.inf)
        moved = np.clip(inverse + change, inverse / 4, inverse * 4)
        moved = np.clip(moved, 1 / HOTTEST, 1 / COLDEST)
        is_settled = np.abs(moved - inverse) <= PRECISION * inverse
        inverse = moved
        if is_settled.all():
            break
    n_examples = int(counts.sum())
    return Temperatures(1 / inverse, n_examples, counts / n_examples)


def _labeled_pieces(source: ShardSource) -> Iterator[tuple[FloatArray, IntArray]]:
    """Yield logarithms of probabilities, axes (runs, examples, classes), and gold classes."""
    size = max(1, PIECE_VALUES // (len(source.runs) * len(source.classes)))
    for index in range(source.n_shards):
        shard = source.shard(index)
        labeled = np.flatnonzero(shard.gold != UNLABELED)
        for start in range(0, len(labeled), size):
            rows = labeled[start : start + size]
            probs = np.asarray(shard.probs)[:, rows].astype(np.float64)
            yield np.log(np.maximum(probs, LEAST_PROBABILITY)), shard.gold[rows]


def _add_derivatives(
    slope: FloatArray,
    curvature: FloatArray,
    logs: FloatArray,
    gold: IntArray,
    inverse: FloatArray,
) -> None:
    """Add slope and curvature of the log likelihood of each run, in the inverse temperature."""
    scaled = inverse[:, np.newaxis, np.newaxis] * logs
    weights = np.exp(scaled - scaled.max(axis=2, keepdims=True))
    weights /= weights.sum(axis=2, keepdims=True)
    means = np.einsum("rec,rec->re", weights, logs)
    squares = np.einsum("rec,rec->re", weights, np.square(logs))
    slope += (logs[:, np.arange(len(gold)), gold] - means).sum(axis=1)
    curvature += np.maximum(squares - np.square(means), 0.0).sum(axis=1)
