"""Names of the sources."""

import pytest

from seedproof.errors import UnknownNameError
from seedproof.seeds import SOURCES, check_source
from seedproof.testing.errors import WithFields


def test_the_order_of_sources_never_changes():
    """A source's place is part of its seeds: new ones are added at the end."""
    assert SOURCES[:5] == ("init", "order", "dropout", "data", "explainer")


def test_known_sources_are_accepted():
    """The name comes back as it is."""
    assert [check_source(name) for name in SOURCES] == list(SOURCES)


@pytest.mark.parametrize("name", ["", "Init", "init ", "seed"])
def test_unknown_sources_are_refused(name):
    """The error lists the known ones."""
    with pytest.raises(UnknownNameError, check=WithFields(name=name, known=SOURCES)):
        check_source(name)
