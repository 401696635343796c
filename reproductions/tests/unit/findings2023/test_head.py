"""A head before it is trained: its layers, first weights and dropped units."""

import math
from dataclasses import replace

import pytest
import torch
from seedproof_reproductions.findings2023.arms import ARMS, CONTROL
from seedproof_reproductions.findings2023.head import Head
from seedproof_reproductions.findings2023.sources import Sources
from torch.nn import functional


def head(arm=CONTROL, dropout=0.3):
    """From twelve features to five classes."""
    return Head(12, 5, arm, dropout, Sources.shared(0))


@pytest.fixture
def features():
    """Of twenty utterances."""
    return torch.randn(20, 12, generator=torch.Generator().manual_seed(0))


@pytest.mark.parametrize(
    ("name", "width"), [("none", 256), ("wide", 1024), ("wider-decay-zero-smooth", 4096)]
)
def test_an_arm_has_as_many_hidden_units_as_it_says(name, width):
    """Each takes twelve multiplications before it and five behind it."""
    found = head(ARMS[name])

    assert found.hidden.weight.shape == (width, 12)
    assert found.last.weight.shape == (5, width)
    assert found.n_multiplied == width * (12 + 5)


def test_first_weights_are_drawn_as_torch_draws_them(features):
    """Evenly within one over the root of the inputs, biases as well."""
    found = head()

    for layer, n_inputs in ((found.hidden, 12), (found.last, 256)):
        bound = 1 / math.sqrt(n_inputs)
        for weights in (layer.weight, layer.bias):
            assert weights.abs().max() <= bound
            # Even a bias of five is not all in the inner tenth.
            assert weights.abs().max() > 0.1 * bound
    assert found.predict(features).std() > 0


def test_zeros_in_the_last_layer_leave_the_hidden_one_as_it_was():
    """The control's first weights before it, under the same seed."""
    found = head(ARMS["zero-last"])

    assert not found.last.weight.any()
    assert not found.last.bias.any()
    assert torch.equal(found.hidden.weight, head().hidden.weight)
    assert torch.equal(found.hidden.bias, head().hidden.bias)


def test_training_drops_hidden_units_and_makes_up_for_them(features):
    """Each is dropped with the probability of the setting, or is multiplied by 1 / 0.7."""
    found = head(replace(CONTROL, width=5))
    with torch.no_grad():
        found.last.weight.copy_(torch.eye(5))
        found.last.bias.zero_()
    units = functional.relu(found.hidden(features))
    is_kept = torch.rand(20, 5, generator=Sources.shared(0).dropout) >= 0.3

    said = found.train()(features)

    torch.testing.assert_close(said, torch.where(is_kept, units / 0.7, 0.0))


def test_predictions_drop_nothing(features):
    """The same twice, as without dropout; and the head trains on as before."""
    found = head().train()

    said = found.predict(features)

    assert torch.equal(said, found.predict(features))
    assert torch.equal(said, head(dropout=0.0).predict(features))
    assert found.training
