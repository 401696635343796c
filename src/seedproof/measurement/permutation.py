"""Changes by shuffled attention, by confidence and by class, next to those by another run."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import Any, Literal, TypeAlias

import numpy as np

from seedproof.metrics.calibration import MOST_SHOWN_CLASSES, N_BINS, confidence_bins
from seedproof.metrics.cells import mean_over_cells
from seedproof.metrics.statistic import Scale
from seedproof.records.permutation import PermutedAttention
from seedproof.stats.intervals import PLAIN, Estimate, Level, estimate
from seedproof.typing import BoolArray, FloatArray, IntArray

Part: TypeAlias = Literal["all", "answer", "label"]
SCALES = ("probability", "logit")
# With fewer cells of two runs, a bin is left out, as in the charts of reliability.
MIN_BIN = 10
# Probabilities in single precision are not closer to 0 or 1.
CLOSEST = 2.0**-24
OF_PAIRS = Level(is_of_pairs=True)


@dataclass(frozen=True)
class ConfidenceBin:
    """Answers of all runs whose confidence is in one of 15 bins."""

    confidence: float  # their mean
    n_answers: int
    metrics: Mapping[str, Estimate]


@dataclass(frozen=True)
class PermutationGroup:
    """Answers of all runs: every one, or those of one predicted or gold class."""

    part: Part
    class_idx: int | None
    n_answers: int
    metrics: Mapping[str, Estimate]
    bins: tuple[ConfidenceBin, ...]

    def summary(self) -> dict[str, Any]:
        """Return everything as plain data."""
        return asdict(self)


@dataclass(frozen=True, eq=False)
class Changes:
    """Changes of all runs, and the confidences and classes that they are grouped by."""

    probs: FloatArray  # axes (runs, examples, classes)
    values: Mapping[str, FloatArray]  # axes (runs, examples)
    apart: Mapping[str, FloatArray]  # between two runs, axes (runs, other runs, examples)
    clusters: IntArray | None = None

    @classmethod
    def of(cls, runs: Sequence[PermutedAttention], clusters: IntArray | None) -> "Changes":
        """Return the changes of runs for the same examples."""
        values: dict[str, FloatArray] = {}
        for scale in SCALES:
            change, floor = (
                np.stack([getattr(run, f"{scale}_{name}") for run in runs])
                for name in ("change", "floor")
            )
            values |= {f"{scale}_change": change, f"{scale}_floor": floor}
        probs = np.stack([run.probs for run in runs])
        return cls(probs, values, _between_runs(probs), clusters)

    def groups(self, gold: IntArray) -> Iterator[PermutationGroup]:
        """Yield all answers, then those of each class if there are few; gold is -1 if unknown."""
        answers = self.probs.argmax(axis=2)
        n_classes = self.probs.shape[2]
        yield self._group("all", None, np.ones(answers.shape, dtype=np.bool_))
        if n_classes > MOST_SHOWN_CLASSES:
            return
        parts: tuple[tuple[Part, IntArray], ...] = (
            ("answer", answers),
            ("label", np.broadcast_to(gold, answers.shape)),
        )
        for part, classes in parts:
            for class_idx in range(n_classes):
                chosen = classes == class_idx
                if chosen.any():
                    yield self._group(part, class_idx, chosen)

    def _group(self, part: Part, class_idx: int | None, chosen: BoolArray) -> PermutationGroup:
        confidence = self.probs.max(axis=2)
        places = confidence_bins(confidence)
        bins = []
        for place in range(N_BINS):
            cells = chosen & (places == place)
            if ((cells.sum(axis=1) >= MIN_BIN).sum()) >= 2:
                bins.append(
                    ConfidenceBin(
                        float(confidence[cells].mean()), int(cells.sum()), self._changes(cells)
                    )
                )
        metrics = self._changes(chosen)
        # Answers and confidences are chosen with the weights as they are: shuffles would be in
        # other groups, so their differences are no floor there.
        if part != "answer":
            metrics |= self._floors(chosen)
        return PermutationGroup(part, class_idx, int(chosen.sum()), metrics, tuple(bins))

    def _changes(self, cells: BoolArray) -> dict[str, Estimate]:
        """Return changes by shuffles and distances of runs, over some cells."""
        metrics: dict[str, Estimate] = {}
        for scale in SCALES:
            metrics[f"{scale}_change"] = self._mean(self.values[f"{scale}_change"], cells)
        for scale, apart in self.apart.items():
            between, left_out = _means_between(apart, cells)
            metrics[f"{scale}_other_run"] = self._mean(
                between, cells, left_out=left_out, level=OF_PAIRS
            )
        return metrics

    def _floors(self, cells: BoolArray) -> dict[str, Estimate]:
        """Return differences between shuffles, and by how much changes exceed them."""
        metrics: dict[str, Estimate] = {}
        for scale in SCALES:
            change, floor = (self.values[f"{scale}_{name}"] for name in ("change", "floor"))
            metrics[f"{scale}_floor"] = self._mean(floor, cells)
            metrics[f"{scale}_excess"] = self._mean(change - floor, cells, scale="linear")
        return metrics

    def _mean(
        self,
        values: FloatArray,
        cells: BoolArray,
        *,
        left_out: FloatArray | None = None,
        scale: Scale = "log",
        level: Level = PLAIN,
    ) -> Estimate:
        used = cells.any(axis=0)
        statistic = mean_over_cells(
            values[:, used],
            cells[:, used],
            left_out=None if left_out is None else left_out[:, used],
            clusters=None if self.clusters is None else self.clusters[used],
            scale=scale,
        )
        return estimate(statistic, level)


def _between_runs(probs: FloatArray) -> dict[str, FloatArray]:
    """Return how far other runs are from each run, for the class that it predicts."""
    answers = probs.argmax(axis=2)
    # Axes (runs, other runs, examples).
    followed = np.stack(
        [np.take_along_axis(probs, of_run[None, :, None], axis=2)[:, :, 0] for of_run in answers]
    )
    inside = np.clip(followed, CLOSEST, 1 - CLOSEST)
    own = np.arange(len(probs))
    return {
        scale: np.abs(values - values[own, own][:, np.newaxis])
        for scale, values in (
            ("probability", followed),
            ("logit", np.log(inside) - np.log1p(-inside)),
        )
    }


def _means_between(apart: FloatArray, chosen: BoolArray) -> tuple[FloatArray, FloatArray]:
    """Return the mean distance of each run from the others, and totals without each run."""
    n_runs = len(apart)
    totals = apart.sum(axis=1)
    kept = np.where(chosen, totals, 0.0)
    left_out = kept.sum(axis=0) - kept - np.einsum("ri,rqi->qi", chosen, apart)
    return totals / (n_runs - 1), left_out / max(n_runs - 2, 1)
