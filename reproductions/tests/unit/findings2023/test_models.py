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


def test_first_weights_are_drawn_as_torch_draws_them():
    """Uniformly within one over the root of the inputs, biases as well; or zeros in the last."""
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


def test_training_drops_hidden_units_and_predictions_do_not():
    """Each is dropped with the probability of the setting, or is multiplied by 1 / 0.7."""
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


def test_a_fixed_init_is_shared_by_all_runs_and_nothing_else_is(make_run):
    """Another draw is another start; the schedule changes none."""
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
    """The same at every call: an ensemble has as many teachers as it says."""
    which = [(index, draw) for index in range(3) for draw in range(3)]
    first, again = ([Sources.shared(*pair).state for pair in which] for _ in range(2))

    assert first == again
    assert len({state for states in first for state in states}) == 3 * len(which)
