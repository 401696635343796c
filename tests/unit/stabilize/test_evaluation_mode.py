import pytest
from torch import nn

from seedproof.stabilize.evaluation_mode import evaluating


def test_modes_of_all_modules_are_restored():
    """Also those of frozen ones, and after an error."""
    model = nn.Sequential(nn.Dropout(), nn.BatchNorm1d(2))
    model[1].eval()
    inside = []

    def fail():
        with evaluating(model):
            inside.extend(module.training for module in model.modules())
            raise KeyError

    with pytest.raises(KeyError):
        fail()

    assert inside == [False] * 3
    assert [module.training for module in model.modules()] == [True, True, False]
