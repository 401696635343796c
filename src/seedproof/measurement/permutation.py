"""Changes by shuffled attention, by confidence and by class, next to those by another run."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass
from functools import partial
from typing import Any, Literal, TypeAlias

import numpy as np

from seedproof.metrics.calibration import MOST_SHOWN_CLASSES, N_BINS, confidence_bins
from seedproof.metrics.cells import mean_over_cells
from seedproof.records.permutation import PermutedAttention
from seedproof.stats.intervals import Estimate, Level, estimate
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
            values[f"{scale}_excess"] = change - floor
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
                        float(confidence[cells].mean()), int(cells.sum()), self._metrics(cells)
                    )
                )
        return PermutationGroup(
            part, class_idx, int(chosen.sum()), self._metrics(chosen), tuple(bins)
        )

    def _metrics(self, cells: BoolArray) -> dict[str, Estimate]:
        """Return the means over some cells with their intervals."""
        used = cells.any(axis=0)
        chosen = cells[:, used]
        mean = partial(
            mean_over_cells,
            chosen=chosen,
            clusters=None if self.clusters is None else self.clusters[used],
        )
        metrics = {
            name: estimate(
                mean(values[:, used], scale="linear" if name.endswith("_excess") else "log")
            )
            for name, values in self.values.items()
        }
        for scale, apart in self.apart.items():
            between, left_out = _means_between(apart[:, :, used], chosen)
            statistic = mean(between, left_out=left_out)
            metrics[f"{scale}_other_run"] = estimate(statistic, OF_PAIRS)
        return metrics


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
