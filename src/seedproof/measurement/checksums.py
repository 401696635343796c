"""CRC-32 of many texts at once."""

from functools import cache
from zlib import crc32

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from seedproof.typing import IntArray

# Longer texts take a call each: the tables would not stay in the cache.
MOST_BYTES = 64


def checksums(texts: pa.Array) -> IntArray:
    """Return the CRC-32 of each text, of which none is null."""
    column = texts.cast(pa.binary())
    offsets = np.frombuffer(column.buffers()[1], np.int32)[column.offset :][: len(column) + 1]
    lengths = np.diff(offsets)
    if lengths.max(initial=0) > MOST_BYTES or lengths.min(initial=1) == 0:
        return np.fromiter(map(crc32, column.to_pylist()), np.int64, len(column))
    data = np.frombuffer(column.buffers()[2], np.uint8)[offsets[0] : offsets[-1]]
    # A checksum is linear: each byte contributes by its value and the number of bytes after it.
    after = np.repeat(offsets[1:] - 1, lengths)
    after -= np.arange(offsets[0], offsets[-1], dtype=np.int32)
    by_byte, by_length = _tables()
    parts = by_byte.take((after << 8) | data)
    sums = np.bitwise_xor.reduceat(parts, offsets[:-1] - offsets[0]) ^ by_length[lengths]
    return sums.astype(np.int64)


@cache
def _tables() -> tuple[npt.NDArray[np.uint32], npt.NDArray[np.uint32]]:
    """Return contributions by bytes after a byte and its value, and checksums of zeros."""
    by_length = np.array([crc32(bytes(n)) for n in range(MOST_BYTES + 1)], dtype=np.uint32)
    last = np.array([crc32(bytes([byte])) for byte in range(256)], dtype=np.uint32) ^ by_length[1]
    rows = [last]
    while len(rows) < MOST_BYTES:
        rows.append(rows[-1] >> 8 ^ last[rows[-1] & 255])
    return np.concatenate(rows), by_length
