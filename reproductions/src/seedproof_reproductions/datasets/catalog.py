"""Data sets by name."""

from collections.abc import Callable

from seedproof.errors import UnknownNameError
from seedproof_reproductions.datasets import adr, agnews, imdb, mimic, snli, sst
from seedproof_reproductions.datasets.texts import TextData

LOADERS: dict[str, Callable[[], TextData]] = {
    "sst": sst.load,
    "imdb": imdb.load,
    "agnews": agnews.load,
    "snli": snli.load,
    "adr": adr.load,
    "diabetes": mimic.load_diabetes,
    "anemia": mimic.load_anemia,
}


def load(name: str) -> TextData:
    """A data set by its name.

    Args:
        name: One of `LOADERS`.

    Returns:
        Its three splits.

    Raises:
        UnknownNameError: There is no such data set.
    """
    if name not in LOADERS:
        raise UnknownNameError(f"There is no data set {name!r}. Known: {', '.join(LOADERS)}.")
    return LOADERS[name]()
