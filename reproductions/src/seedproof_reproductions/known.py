"""Names that must be known."""

from collections.abc import Iterable
from difflib import get_close_matches

from seedproof.errors import SeedproofError, UnknownNameError


def check_known(
    noun: str, name: str, known: Iterable[str], *, error: type[SeedproofError] = UnknownNameError
) -> None:
    """Raise an error that lists the known names, if a name is not among them."""
    if name not in (known := tuple(known)):
        near = get_close_matches(name, known, n=1)
        raise error(
            "There is no {noun} {name!r}.{meant} Known: {known}.",
            noun=noun,
            name=name,
            meant=f" Did you mean {near[0]!r}?" if near else "",
            known=known,
        )
