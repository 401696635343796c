"""Names that must be known."""

from collections.abc import Iterable

from seedproof.errors import SeedproofError, UnknownNameError


def check_known(
    noun: str, name: str, known: Iterable[str], *, error: type[SeedproofError] = UnknownNameError
) -> None:
    """Raise an error that lists the known names, if a name is not among them."""
    if name not in (known := tuple(known)):
        raise error(
            "There is no {noun} {name!r}. Known: {known}.", noun=noun, name=name, known=known
        )
