"""The settings of the ray engine; what it does on a cluster is in the contract."""

import pytest

from seedproof.engines.ray import RayEngine
from seedproof.errors import OptionError, RunError, first_line
from seedproof.testing.errors import WithFields


@pytest.mark.parametrize("setting", ["cpus", "gpus"])
def test_less_than_nothing_cannot_be_asked_for(setting):
    """Fractions can, and nothing can."""
    with pytest.raises(OptionError, check=WithFields(option=setting, amount=-0.5)):
        RayEngine(**{setting: -0.5})

    RayEngine(**{setting: 0.25})
    RayEngine(**{setting: 0})


def test_an_address_that_is_none_is_named():
    """With what Ray says about it, and what to do."""
    outcomes = RayEngine("nonsense").map(abs, [1])

    with pytest.raises(RunError, check=WithFields(address="nonsense")) as caught:
        next(outcomes)

    assert caught.value.fields["reason"] == first_line(caught.value.__cause__)
