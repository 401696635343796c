"""Runs that cause most of a spread."""

import numpy as np

from seedproof.metrics.statistic import VERDICT_FROM
from seedproof.typing import FloatArray

# At most one run in this many is named.
ONE_IN = 10


def extreme_runs(values: FloatArray) -> tuple[int, ...]:
    """Return the fewest runs without which the standard deviation is at most half as large.

    At most a tenth of the runs, or one; none if it takes more of them, or with too few runs. With
    fewer than ten runs it must be at most a third, so that normal runs are rarely named.
    """
    left = np.arange(len(values))
    if len(values) < VERDICT_FROM or np.ptp(values) == 0.0:
        return ()
    most = float(values.std(ddof=1)) / (2 if len(values) >= ONE_IN else 3)
    for _ in range(max(len(values) // ONE_IN, 1)):
        kept = values[left]
        left = np.delete(left, np.abs(kept - kept.mean()).argmax())
        if float(values[left].std(ddof=1)) <= most:
            return tuple(int(i) for i in np.setdiff1d(np.arange(len(values)), left))
    return ()
