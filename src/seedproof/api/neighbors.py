"""`sp.neighbor_agreement`: do runs agree on which examples are similar?"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from seedproof.errors import OptionError, ShapeError, TooFewRunsError
from seedproof.metrics.neighbors import nearest_neighbors, shared_neighbors
from seedproof.report.mappings import WrittenEstimate
from seedproof.report.numbers import WithUnit
from seedproof.stats.intervals import Estimate, estimate
from seedproof.typing import check_count


@dataclass(frozen=True, eq=False)
class NeighborAgreement:
    """Share of the nearest neighbors that two runs have in common.

    Args:
        agreement: The share, averaged over pairs of runs and over examples.
        chance: The share that random neighbors would have in common.
        k: Number of neighbors.
        n_runs: Number of runs.

    Examples:
        >>> import seedproof as sp
        >>> vectors = [[1, 0], [9, 1], [0, 1], [1, 8], [1, 1]]
        >>> shared = sp.neighbor_agreement([vectors, vectors, vectors], k=1)
        >>> shared.agreement.value, shared.chance
        (1.0, 0.25)
    """

    agreement: Estimate
    chance: float
    k: int
    n_runs: int

    def __str__(self) -> str:
        chance = str(WithUnit(self.chance, "percent")).replace("\N{NO-BREAK SPACE}", " ")
        return f"of {self.k} neighbors, two runs share {self.agreement}; {chance} by chance"


def neighbor_agreement(
    vectors: Mapping[str, npt.ArrayLike] | Sequence[npt.ArrayLike] | npt.NDArray[np.generic],
    *,
    k: int = 10,
) -> NeighborAgreement:
    """Measure how many of the nearest neighbors of an example two runs have in common.

    Neighbors are the other examples with the highest cosine similarity. Rotations and scales do not
    matter, and runs may have vectors of different dimensions. The interval is for
    further runs, and for as many further examples, each of which is a neighbor of others as well.

    Args:
        vectors: Vectors of each run for the same examples in the same order, axes (examples,
            dimensions): a list, a mapping, or an array (runs, examples, dimensions).
        k: Number of neighbors; there must be at least two more examples.

    Returns:
        The share with its interval, and the share expected by chance.

    Raises:
        TooFewRunsError: There are fewer than two runs.
        ShapeError: Runs have different numbers of examples.
        InputError: Vectors cannot be compared; the message says why and what to do.

    Examples:
        >>> import numpy as np
        >>> import seedproof as sp
        >>> rng = np.random.default_rng(0)
        >>> base = rng.normal(size=(200, 8))
        >>> runs = [base + 0.1 * rng.normal(size=base.shape) for _ in range(5)]
        >>> shared = sp.neighbor_agreement(runs)
        >>> shared.agreement.low > shared.chance
        True
    """
    given = vectors.values() if isinstance(vectors, Mapping) else vectors
    runs = [np.asarray(of_run) for of_run in given]
    if len(runs) < 2:
        raise TooFewRunsError(
            "Neighbors can be compared only between two or more runs, but there are {n_runs}. Pass "
            "the vectors of at least 2 runs.",
            n_runs=len(runs),
        )
    check_count("k", k, 1)
    n_first = len(runs[0])
    if k + 2 > n_first:
        raise OptionError(
            "`{option}` is {number}, and there are {n_examples} examples. Pass at least two more "
            "examples than neighbors.",
            option="k",
            number=k,
            n_examples=n_first,
        )
    for run, of_run in enumerate(runs):
        if len(of_run) != n_first:
            raise ShapeError(
                "Run {run} has vectors of {n_examples} examples, and the first run has {n_first}. "
                "Pass the same examples in the same order.",
                run=run,
                n_examples=len(of_run),
                n_first=n_first,
            )
    neighbors = np.stack([nearest_neighbors(of_run, k + 1) for of_run in runs])
    shared = estimate(shared_neighbors(neighbors))
    return NeighborAgreement(WrittenEstimate.of(shared, "percent"), k / (n_first - 1), k, len(runs))
