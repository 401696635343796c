"""Names of the sources of randomness."""

from seedproof.errors import UnknownNameError

# The order is part of every seed: new sources are added at the end.
SOURCES = (
    "init",  # initial weights
    "order",  # order of the examples
    "dropout",  # draws while training: dropout, augmentation, noise
    "data",  # sampling of examples
    "explainer",  # sampling of an explainer
)


def check_source(name: str) -> str:
    """Return a name if it is the name of a source."""
    if name not in SOURCES:
        raise UnknownNameError(
            "There is no source {name!r}. Known: {known}.", name=name, known=tuple(SOURCES)
        )
    return name
