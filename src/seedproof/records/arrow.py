"""Conversion between numpy and Arrow through shared memory.

`pa.array` and `to_numpy` import pandas where it is installed, which costs every training and every
command a quarter of a second.
"""

from collections.abc import Sequence
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from seedproof.typing import BoolArray


def to_arrow(
    values: npt.ArrayLike, kind: npt.DTypeLike | None = None, *, missing: BoolArray | None = None
) -> pa.Array:
    """Return numbers or booleans as an Arrow array, without a copy if the type fits."""
    given = np.asarray(values)
    native = given.dtype.newbyteorder("=")
    block = np.ascontiguousarray(given, dtype=native if kind is None else kind)
    if block.ndim != 1:
        raise ValueError(f"Values of shape {block.shape} have more than one axis.")
    is_other = block.dtype.kind in "iu" and block.dtype != given.dtype
    if is_other and not np.array_equal(block, given):
        raise ValueError(f"Some values do not fit {block.dtype}.")
    valid = None if missing is None else pa.py_buffer(np.packbits(~missing, bitorder="little"))
    content = np.packbits(block, bitorder="little") if block.dtype == np.bool_ else block
    return pa.Array.from_buffers(
        pa.from_numpy_dtype(block.dtype), len(block), [valid, pa.py_buffer(content)]
    )


def texts_to_arrow(texts: Sequence[str | None]) -> pa.Array:
    """Return texts as an Arrow array, null for None."""
    encoded = [b"" if text is None else text.encode() for text in texts]
    ends = np.cumsum([0, *map(len, encoded)])
    if ends[-1] > np.iinfo(np.int32).max:
        raise pa.ArrowCapacityError(f"{ends[-1]:,} bytes of text do not fit into one array.")
    missing = np.array([text is None for text in texts], dtype=np.bool_)
    valid = pa.py_buffer(np.packbits(~missing, bitorder="little")) if missing.any() else None
    return pa.StringArray.from_buffers(
        len(encoded), pa.py_buffer(ends.astype(np.int32)), pa.py_buffer(b"".join(encoded)), valid
    )


def to_numpy(
    column: pa.Array | pa.ChunkedArray, *, missing: float | None = None
) -> npt.NDArray[Any]:
    """Return numbers or booleans of an Arrow column, read-only: it may be Arrow's memory."""
    array = column.combine_chunks() if isinstance(column, pa.ChunkedArray) else column
    if missing is not None and array.null_count:
        array = array.fill_null(to_arrow([missing]).cast(array.type)[0])
    if array.null_count:
        raise ValueError(f"{array.null_count} of {len(array)} values are null.")
    if pa.types.is_boolean(array.type):
        return np.from_dlpack(array.cast(pa.uint8())).view(np.bool_)
    return np.from_dlpack(array)
