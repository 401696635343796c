"""A head before it is trained, and which of its random numbers are its run's own."""

import math
from dataclasses import replace

import torch
from torch.nn import functional

from seedproof_reproductions.findings2023.arms import ARMS, CONTROL
from seedproof_reproductions.findings2023.models import Head, Sources


def head(arm=CONTROL, dropout=0.3):
    """From twelve features to five classes."""
    return Head(12, 5, arm, dropout, Sources.shared(0))


def test_initial_weights_have_the_distribution_of_torch():
    """Uniform within 1/√inputs, including biases; or zeros in the last layer."""
    model, zeros = head(), head(ARMS["zero-last"])

    assert model.n_multiplied == 256 * (12 + 5)
    assert head(ARMS["wide"]).hidden.weight.shape == (1024, 12)
    for layer, n_inputs in ((model.hidden, 12), (model.last, 256)):
        bound = 1 / math.sqrt(n_inputs)
        for weights in (layer.weight, layer.bias):
            # Even a bias of five is not all in the inner tenth.
            assert 0.1 * bound < weights.abs().max() <= bound
    assert not zeros.last.weight.any()
    assert not zeros.last.bias.any()
    assert torch.equal(zeros.hidden.weight, model.hidden.weight)


def test_dropout_is_active_only_in_training():
    """Each unit is dropped with the probability of the setting, or multiplied by 1 / 0.7."""
    features = torch.randn(20, 12, generator=torch.Generator().manual_seed(0))
    model = head(replace(CONTROL, width=5)).train()
    with torch.no_grad():
        model.last.weight.copy_(torch.eye(5))
        model.last.bias.zero_()
    units = functional.relu(model.hidden(features))
    is_kept = torch.rand(20, 5, generator=Sources.shared(0).dropout) >= 0.3

    logits = model(features)

    torch.testing.assert_close(logits, torch.where(is_kept, units / 0.7, 0.0))
    torch.testing.assert_close(model.predict(features), units.softmax(1))
    assert model.training


def test_fixed_init_shares_only_the_initial_weights(make_run):
    """Another draw gives other weights; the schedule does not."""
    names = ("none", "fixed-init", "fixed-init-decay", "fixed-init-draw-2")
    first, second = (
        {name: Sources.of(make_run(i), ARMS[name]).state for name in names} for i in (0, 1)
    )

    for name in names:
        assert (first[name][0] == second[name][0]) == ARMS[name].fixed_init
        assert first[name][1:] == first["none"][1:]
        assert first[name][1] != second[name][1]
        assert first[name][2] != second[name][2]
    assert first["fixed-init"][0] == first["fixed-init-decay"][0]
    assert len({first[name][0] for name in names}) == 3


def test_shared_sources_differ_by_index_draw_and_purpose():
    """They are the same at every call, so an ensemble has the stated number of teachers."""
    which = [(index, draw) for index in range(3) for draw in range(3)]
    first, again = ([Sources.shared(*pair).state for pair in which] for _ in range(2))

    assert first == again
    assert len({state for states in first for state in states}) == len(Sources._fields) * len(which)
