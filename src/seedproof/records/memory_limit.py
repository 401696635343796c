"""Memory limits, from text."""

from seedproof.errors import OptionError

LEAST_BYTES = 100 * 10**6
# Memory of Python and the libraries, without any row.
LIBRARY_BYTES = 200 * 10**6
# The least that is left for rows, however low the limit.
LEAST_DATA_BYTES = 50 * 10**6
_UNITS = {"KB": 10**3, "MB": 10**6, "GB": 10**9, "TB": 10**12}


def parse_memory(memory: str | int) -> int:
    """Return the bytes of a text such as "500MB" or "4GB"."""
    text = str(memory).strip().upper().replace("IB", "B")
    unit = text[-2:] if text[-2:] in _UNITS else ""
    try:
        size = int(float(text.removesuffix(unit)) * _UNITS.get(unit, 1))
    except (ValueError, OverflowError):
        size = 0
    if size < LEAST_BYTES:
        raise OptionError(
            "{memory!r} is not a valid memory limit. Pass at least 100MB, such as 4GB.",
            memory=memory,
        )
    return size


def data_bytes(memory: int, share: float = 1.0) -> int:
    """Return a share of the memory that a limit leaves for rows."""
    return max(int((memory - LIBRARY_BYTES) * share), LEAST_DATA_BYTES)
