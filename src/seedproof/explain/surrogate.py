"""The linear model of LIME: weighted ridge regression.

It matches `LimeBase` of the `lime` package (0.2.0.1), in closed form, for all runs at once: the
samples are the same for all runs.
"""

from dataclasses import dataclass
from typing import Literal, TypeAlias, get_args

import numpy as np

from seedproof.errors import OptionError
from seedproof.typing import BoolArray, FloatArray, IntArray, is_count

Selection: TypeAlias = Literal["auto", "forward", "highest-weights"]

# As in the `lime` package: the strength of its two ridges, and the largest number of words that it
# selects one by one.
FINAL_RIDGE, FIRST_RIDGE = 1.0, 0.01
MOST_FORWARD = 6


@dataclass(frozen=True, kw_only=True)
class Surrogate:
    """Settings of the linear model; the defaults are those of `LimeTextExplainer`.

    Args:
        kernel_width: Width of the kernel that weights samples by their distance from the text.
        n_words: Number of words with a weight that is not 0. If omitted, all.
        selection: Method of selecting them: `forward` repeatedly adds the word that explains most;
            `highest-weights` takes those with the largest weights of a first regression; `auto`
            is the former up to 6 words, else the latter. The lasso path is not implemented.

    Raises:
        OptionError: A value is not allowed.
    """

    kernel_width: float = 25.0
    n_words: int | None = None
    selection: Selection = "auto"

    def __post_init__(self) -> None:
        if not self.kernel_width > 0:
            raise OptionError(
                "`kernel_width` is {kernel_width!r}. Pass a number above 0.",
                kernel_width=self.kernel_width,
            )
        if self.n_words is not None and not is_count(self.n_words, 1):
            raise OptionError(
                "`n_words` is {n_words!r}. Pass an integer of at least 1, or None for all words.",
                n_words=self.n_words,
            )
        if self.selection not in get_args(Selection):
            raise OptionError(
                "There is no selection {selection!r}. Known: {known}.",
                selection=self.selection,
                known=get_args(Selection),
            )

    def fit(self, kept: BoolArray, values: FloatArray) -> FloatArray:
        """Return the weight of each word in the prediction of each run, axes (runs, words).

        `kept` has the axes (samples, words), and the predictions `values` (samples, runs). Words
        that are not selected get 0.
        """
        weights = sample_weights(kept, self.kernel_width)
        present = kept - np.average(kept, axis=0, weights=weights)
        values = values - np.average(values, axis=0, weights=weights)
        gram = present.T @ (weights[:, None] * present)
        cross = (values.T * weights) @ present
        n_words = kept.shape[1]
        if self.n_words is None or self.n_words >= n_words:
            return _solve(gram, cross, FINAL_RIDGE)
        chosen = self._choose(gram, cross, self.n_words)
        fitted = np.zeros_like(cross)
        parts = _solve(
            gram[chosen[:, :, None], chosen[:, None, :]],
            np.take_along_axis(cross, chosen, axis=1),
            FINAL_RIDGE,
        )
        np.put_along_axis(fitted, chosen, parts, axis=1)
        return fitted

    def _choose(self, gram: FloatArray, cross: FloatArray, n_words: int) -> IntArray:
        is_forward = self.selection == "forward" or (
            self.selection == "auto" and n_words <= MOST_FORWARD
        )
        if is_forward:
            return _add_one_by_one(gram, cross, n_words)
        first = np.abs(_solve(gram, cross, FIRST_RIDGE))
        # Of equals the first in the text.
        return np.argsort(-first, axis=1, kind="stable")[:, :n_words]


def sample_weights(kept: BoolArray, kernel_width: float) -> FloatArray:
    """Return the weight of each sample, in (0, 1]: √exp(−distance²/width²).

    The distance is 100 times the cosine distance between the kept words and all words, which is
    1 − √(share of kept words).
    """
    distance = 100 * (1 - np.sqrt(kept.mean(axis=1)))
    weights: FloatArray = np.exp(-((distance / kernel_width) ** 2) / 2)
    return weights


def _solve(gram: FloatArray, cross: FloatArray, ridge: float) -> FloatArray:
    """Solve ridge regressions from centered moments, with one Gram matrix or one per run."""
    regular = gram + ridge * np.eye(gram.shape[-1])
    if gram.ndim == 2:
        return np.asarray(np.linalg.solve(regular, cross.T).T)
    return np.asarray(np.linalg.solve(regular, cross[:, :, None])[:, :, 0])


def _add_one_by_one(gram: FloatArray, cross: FloatArray, n_words: int) -> IntArray:
    """Select words by forward selection: each explains most of the rest, without any ridge."""
    n_runs, n_all = cross.shape
    rows = np.arange(n_runs)
    left = np.repeat(gram[None], n_runs, axis=0)
    cross = cross.copy()
    # A word that others determine explains nothing more; the rest of it is rounding.
    tiny = 1e-10 * np.diagonal(gram)
    chosen = np.empty((n_runs, n_words), dtype=np.intp)
    is_free = np.ones((n_runs, n_all), dtype=bool)
    for step in range(n_words):
        own = np.diagonal(left, axis1=1, axis2=2)
        gain = np.where(own > tiny, cross**2 / np.maximum(own, np.finfo(float).tiny), 0.0)
        best = np.where(is_free, gain, -1.0).argmax(axis=1)
        chosen[:, step] = best
        is_free[rows, best] = False
        # Project the new word out of all words and out of the predictions.
        column = left[rows, :, best]
        scale = np.where(own[rows, best] > tiny[best], own[rows, best], np.inf)
        cross = cross - column * (cross[rows, best] / scale)[:, None]
        left = left - column[:, :, None] * column[:, None, :] / scale[:, None, None]
    return chosen
