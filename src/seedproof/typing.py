"""Array aliases and protocols that appear in public signatures.

Axes are always in the order (runs, examples, classes); what is absent is left out.
"""

from typing import Any, Protocol, TypeAlias

import numpy as np
import numpy.typing as npt

IntArray: TypeAlias = npt.NDArray[np.integer[Any]]
FloatArray: TypeAlias = npt.NDArray[np.floating[Any]]
BoolArray: TypeAlias = npt.NDArray[np.bool_]


class ArrowStream(Protocol):
    """A table of any library that speaks the Arrow C stream interface (pandas, polars, pyarrow)."""

    def __arrow_c_stream__(self, requested_schema: object | None = None) -> object:
        """Hand over the rows as an Arrow stream capsule."""


class Progress(Protocol):
    """Called as work goes on, so that somebody can watch."""

    def __call__(self, done: int, total: int) -> None:
        """Say that `done` of `total` pieces are finished."""


def is_count(value: object, least: int) -> bool:
    """Whether a value is a whole number that is not too small; True and False are none."""
    return isinstance(value, int) and not isinstance(value, bool) and value >= least
