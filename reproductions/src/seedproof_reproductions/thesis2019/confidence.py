"""Confidence in the candidates: over-confidence on tested items, and temperatures."""

import os
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

import seedproof as sp
from seedproof.records.arrow import to_numpy
from seedproof.records.shards import Shard
from seedproof.typing import BoolArray, FloatArray, IntArray
from seedproof_reproductions.datasets.movielens import NO_ITEM
from seedproof_reproductions.ratios import Ratio
from seedproof_reproductions.results import plain_effects, plain_figure, plain_figures, short
from seedproof_reproductions.thesis2019.data import N_NEGATIVES, Prepared
from seedproof_reproductions.thesis2019.settings import PROBABILITIES, TWO_CLASSES

# Bins of the confidence in the predicted class of two, by their lower ends in percent.
BINS = ("50", "60", "70", "80", "90")
# Bins with fewer answers get no figure.
MIN_ANSWERS = 10
CALIBRATED = ("ece_corrected", "nll", "probability_sd", "predictive_js")


def confidence_bins(confidence: FloatArray) -> IntArray:
    """Return the bin of each confidence in the predicted class of two."""
    return np.clip(((confidence - 0.5) * 2 * len(BINS)).astype(np.int64), 0, len(BINS) - 1)


@dataclass(frozen=True, eq=False)
class Candidates:
    """Probabilities of an interaction with each candidate; the tested item is the first.

    Args:
        runs: Names of the runs.
        probs: Axes (runs, users, candidates); 0 where a user has fewer candidates.
        is_real: False at these places, axes (users, candidates).
    """

    runs: tuple[str, ...]
    probs: FloatArray
    is_real: BoolArray

    @classmethod
    def read(cls, store: str | os.PathLike[str], arm: str, prepared: Prepared) -> "Candidates":
        """Read what the runs of an arm logged."""
        predictions = sp.Predictions.from_store(store, arm=arm, split=PROBABILITIES)
        source = predictions.source
        shard = Shard.joined([source.shard(index) for index in range(source.n_shards)])
        candidates, positive = prepared.data.candidates, source.classes.index(TWO_CLASSES[-1])
        is_real = candidates != NO_ITEM
        ids = to_numpy(shard.ids)
        order = np.argsort(ids)
        wanted = prepared.example_ids(candidates)[is_real]
        rows = order[np.searchsorted(ids, wanted, sorter=order)]
        if shard.probs is None or (ids[rows] != wanted).any():
            raise ValueError(f"the store {store} lacks probabilities of candidates")
        probs = np.zeros((len(predictions.runs), *candidates.shape))
        probs[:, is_real] = shard.probs[:, rows, positive]
        return cls(predictions.runs, probs, is_real)

    def over_confidence(self) -> dict[str, Any]:
        """Compare confidence with the share of right answers, on tested items.

        All of them are positive. A choice by label looks over-confident even in a calibrated model,
        so the same is computed for labels that are drawn from the model's own probabilities. There
        negatives have the weight that makes them as frequent as in training.

        Returns:
            The gap of tested items, the gap with drawn labels, and the excess of the first over the
            second: of all answers, and in bins of the confidence.
        """
        confidence = np.maximum(self.probs, 1 - self.probs)
        # Less confidence than right answers is negative.
        gaps = confidence - (self.probs > 0.5)
        n_others = self.is_real[:, 1:].sum(axis=1, keepdims=True)
        weights = np.where(self.is_real, N_NEGATIVES / np.maximum(n_others, 1), 0.0)
        weights[:, 0] = 1.0
        places = confidence_bins(confidence)
        every = np.ones(places.shape, dtype=np.bool_)
        return {
            "all": self._gaps(gaps, weights, every),
            "bins": {
                name: self._gaps(gaps, weights, places == place) for place, name in enumerate(BINS)
            },
        }

    def _gaps(
        self, gaps: FloatArray, weights: FloatArray, chosen: BoolArray
    ) -> dict[str, Any] | None:
        tested = chosen[:, :, 0]
        if tested.sum(axis=1).min() < MIN_ANSWERS:
            return None
        real = Ratio.mean(gaps[:, :, 0], tested)
        # Expected totals: a label is positive with the probability that the model gives.
        sizes = chosen * weights * self.probs
        drawn = Ratio.of((sizes * gaps).sum(axis=2), sizes.sum(axis=2))
        confidence = np.maximum(self.probs, 1 - self.probs)[:, :, 0]
        figures = {"gap": real, "gap_if_calibrated": drawn, "excess": real - drawn}
        return {
            "confidence": short(float(confidence[tested].mean())),
            "n_answers": int(tested.sum()),
            **{name: plain_figure(ratio.estimate()) for name, ratio in figures.items()},
        }

    def calibrate(self) -> dict[str, Any]:
        """Fit temperatures on every other user, and measure what they change on the rest.

        The best temperature depends on how frequent interactions are: it is fitted among all
        candidates, and among as many negatives as in training.
        """
        return {
            "as_tested": self._calibrated(self.is_real),
            "as_trained": self._calibrated(_first(self.is_real, 1 + N_NEGATIVES)),
        }

    def _calibrated(self, chosen: BoolArray) -> dict[str, Any]:
        halves = (self._predictions(chosen, part) for part in (0, 1))
        report = sp.calibrate(next(halves), on=next(halves), metrics=CALIBRATED)
        comparison = report.comparison
        return {
            "positive_share": short(float(chosen[:, 0].sum() / chosen.sum())),
            "temperatures": [short(value) for value in report.temperatures.values()],
            "raw": plain_figures(_chosen(comparison.baseline.measurement.metrics)),
            "effects": plain_effects(_chosen(comparison.arms[0].effects)),
        }

    def _predictions(self, chosen: BoolArray, part: int) -> sp.Predictions:
        """Return every other user's candidates as predictions, with users as clusters."""
        is_part = chosen & (np.arange(len(chosen)) % 2 == part)[:, np.newaxis]
        users, places = np.nonzero(is_part)
        probs = self.probs[:, users, places]
        return sp.Predictions.load(
            {
                run: np.stack([1 - of_run, of_run], axis=1)
                for run, of_run in zip(self.runs, probs, strict=True)
            },
            labels=(places == 0).astype(np.int64),
            classes=TWO_CLASSES,
            clusters=users,
        )


def _first(is_real: BoolArray, n_each: int) -> BoolArray:
    """Keep the first real candidates of each user."""
    return is_real & (is_real.cumsum(axis=1) <= n_each)


def _chosen(figures: Mapping[str, Any]) -> dict[str, Any]:
    return {name: figures[name] for name in CALIBRATED if name in figures}
