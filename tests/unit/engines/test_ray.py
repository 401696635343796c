"""Settings of the ray engine; its behavior is tested by the contract."""

import pytest

from seedproof.engines.ray import RayEngine
from seedproof.errors import OptionError, RunError, first_line
from seedproof.testing.errors import WithFields


@pytest.mark.parametrize("setting", ["cpus", "gpus"])
def test_negative_resources_are_refused(setting):
    """Fractions and 0 are allowed."""
    with pytest.raises(OptionError, check=WithFields(option=setting, amount=-0.5)):
        RayEngine(**{setting: -0.5})

    RayEngine(**{setting: 0.25})
    RayEngine(**{setting: 0})


def test_unreachable_address_is_refused():
    """The error has the address and Ray's reason."""
    outcomes = RayEngine("nonsense").map(abs, [1])

    with pytest.raises(RunError, check=WithFields(address="nonsense")) as caught:
        next(outcomes)

    assert caught.value.fields["reason"] == first_line(caught.value.__cause__)
