"""Parts of the variance of numbers if the same judges grade every answer.

Judges are crossed with trials (or runs) and examples: the strictness of a judge is drawn once, and
neither more trials nor more examples average it out. The parts are those of the balanced analysis
of variance with all three as random (Searle, Casella and McCulloch 1992, Variance Components, 4.3).
"""

import numpy as np

from seedproof.metrics.numbers.batch import NumberBatch
from seedproof.metrics.numbers.levels import Tree
from seedproof.metrics.numbers.moments import Moments, df_of
from seedproof.metrics.numbers.parts import EXAMPLE, RESIDUAL, Part
from seedproof.records.answer_settings import JUDGE
from seedproof.typing import FloatArray

OF_JUDGES = f"variance_{JUDGE}"


def margins(batch: NumberBatch, tree: Tree) -> tuple[FloatArray, ...]:
    """Return the means of trials or runs, those of judges, and all numbers: (units, examples)."""
    outer, numbers = batch.by_level
    by_judge = numbers.reshape(tree.n_runs, -1, batch.n_examples).mean(axis=0)
    return outer, by_judge, numbers


def crossed_parts(moments: Moments, tree: Tree) -> tuple[Part, ...]:
    """Return the parts, the residual last, from moments of the `margins`.

    With a single trial, the residual is what judges draw anew for each example.
    """
    (n_outer, n_judges), outer = (tree.n_runs, len(moments.means[1])), tree.names[0]
    df, n = df_of(moments), moments.n_effective
    squares = [x.sum(axis=0) for x in moments.squares]
    of_all = moments.products.sum(axis=0) / n_outer**2
    of_judges = (squares[1] - n_judges * of_all) / ((n_judges - 1) * df)
    residual, of_outer = of_judges, np.zeros_like(of_judges)
    if n_outer > 1:
        of_outer = (squares[0] - n_outer * of_all) / ((n_outer - 1) * df)
        rest = squares[2] - n_judges * squares[0] - n_outer * squares[1]
        rest = rest + n_outer * n_judges * of_all
        residual = rest / ((n_outer - 1) * (n_judges - 1) * df)
    both = np.zeros_like(of_all)  # of runs and judges on all examples
    parts: list[tuple[str, FloatArray, FloatArray]] = []
    if not tree.are_trials:
        gaps = moments.means[2].reshape(n_outer, n_judges, -1) + moments.means[0].mean(axis=0)
        gaps = gaps - moments.means[0][:, np.newaxis] - moments.means[1]
        square = np.square(gaps).sum(axis=(0, 1)) / ((n_outer - 1) * (n_judges - 1))
        both = square - residual / n
        added = of_outer / n + both / n_judges
        parts.append((f"variance_{outer}", moments.means[0].var(axis=0, ddof=1), added))
        parts.append((f"variance_{outer}_{JUDGE}", square, residual / n))
    if n_outer > 1:
        parts.append((f"variance_{outer}_example", of_outer, residual / n_judges))
    strictness = moments.means[1].var(axis=0, ddof=1)
    parts.append((OF_JUDGES, strictness, of_judges / n + both / n_outer))
    drawn = of_judges / n_judges
    if n_outer > 1:
        parts.append((f"{OF_JUDGES}_example", of_judges, residual / n_outer))
        drawn = drawn + of_outer / n_outer - residual / (n_outer * n_judges)
    parts.append((EXAMPLE, of_all / df, drawn))
    parts.append((RESIDUAL, residual, np.zeros_like(residual)))
    return tuple(Part(name, square[np.newaxis], added[np.newaxis]) for name, square, added in parts)
