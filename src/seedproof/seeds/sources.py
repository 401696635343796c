"""Where randomness comes from, by name."""

from seedproof.errors import UnknownNameError

# The order is part of every seed: new sources are added at the end.
SOURCES = (
    "init",  # the weights a model begins with
    "order",  # the order in which examples are seen
    "dropout",  # what is drawn while training: dropout, augmentation, noise
    "data",  # which examples are drawn
    "explainer",  # what an explanation samples
)


def check_source(name: str) -> str:
    """A name that is a source's."""
    if name not in SOURCES:
        raise UnknownNameError(
            "There is no source {name!r}. Known: {known}.", name=name, known=tuple(SOURCES)
        )
    return name
