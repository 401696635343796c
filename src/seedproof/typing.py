"""Array aliases, protocols and checks of numbers that appear in public signatures.

Axes are always in the order (runs, examples, classes); an axis that does not apply is left out.
"""

from typing import Any, Protocol, TypeAlias

import numpy as np
import numpy.typing as npt

from seedproof.errors import OptionError

IntArray: TypeAlias = npt.NDArray[np.integer[Any]]
FloatArray: TypeAlias = npt.NDArray[np.floating[Any]]
BoolArray: TypeAlias = npt.NDArray[np.bool_]


class ArrowStream(Protocol):
    """A table of any library with the Arrow C stream interface (pandas, polars, pyarrow)."""

    def __arrow_c_stream__(self, requested_schema: object | None = None) -> object:
        """Return the rows as an Arrow stream capsule."""


class Progress(Protocol):
    """A function that is called while work proceeds, such as one that draws a progress bar."""

    def __call__(self, done: int, total: int) -> None:
        """Report that `done` of `total` pieces are finished."""


def is_count(value: object, least: int) -> bool:
    """Return whether a value is a whole number of at least `least`; True and False are not."""
    return isinstance(value, int) and not isinstance(value, bool) and value >= least


def check_count(option: str, value: object, least: int) -> None:
    """Raise an OptionError unless the value of an option is a whole number of at least `least`."""
    if not is_count(value, least):
        raise OptionError(
            "{option} is {number!r}. Pass a whole number, {least} or more.",
            option=option,
            number=value,
            least=least,
        )
