import numpy as np
import pytest
import torch
from torch import nn

from seedproof.errors import OptionError
from seedproof.stabilize import AverageWarning, Decay, Policy, WeightAverage
from seedproof.stabilize.batch_norm import refresh, statistics, tracked
from seedproof.testing.engines import is_same_state
from seedproof.testing.errors import warning_codes
from seedproof.testing.trainings import adam, are_equal, batch, copies, fill, take_step
from seedproof.training.rng import capture


class Normed(nn.Module):
    """A layer, batch norm, a dropout that must not draw, and an output."""

    def __init__(self, seed=0):
        super().__init__()
        self.first, self.norm = nn.Linear(4, 6), nn.BatchNorm1d(6, momentum=0.3)
        self.drop, self.last = nn.Dropout(0.5), nn.Linear(6, 2)
        fill(self, seed)

    def forward(self, inputs, scale=1.0):
        return self.last(self.drop(self.norm(self.first(inputs * scale))))


def by_hand(model, inputs):
    """Return the means over batches of the layer's means and unbiased variances."""
    rows = [
        (x.double() @ model.first.weight.double().T + model.first.bias.double()) for x in inputs
    ]
    means = np.mean([r.mean(dim=0).detach().numpy() for r in rows], axis=0)
    variances = np.mean([r.var(dim=0).detach().numpy() for r in rows], axis=0)
    return means, variances


def assert_statistics(model, expected):
    np.testing.assert_allclose(model.norm.running_mean, expected[0], rtol=1e-5, atol=1e-6)
    np.testing.assert_allclose(model.norm.running_var, expected[1], rtol=1e-5, atol=1e-6)


INPUTS = [batch(i, n_examples=n) for i, n in enumerate([8, 8, 5])]
BATCHES = {
    "tensors": INPUTS,
    "pairs": [(x, torch.zeros(len(x))) for x in INPUTS],
    "lists": [[x, torch.zeros(len(x))] for x in INPUTS],
    "mappings": [{"inputs": x, "scale": 1.0} for x in INPUTS],
    "a generator": None,
}


@pytest.mark.parametrize("kind", BATCHES)
def test_statistics_are_means_over_batches(kind):
    """For all kinds of batches, whatever the earlier statistics."""
    model = Normed()
    model.norm.running_mean.fill_(99.0)

    refresh(model, (x for x in INPUTS) if kind == "a generator" else BATCHES[kind])

    assert_statistics(model, by_hand(model, INPUTS))
    assert int(model.norm.num_batches_tracked) == 3


def test_forward_function_of_the_caller_is_used():
    model = Normed()

    refresh(model, [{"x": x} for x in INPUTS], forward=lambda b: model(2 * b["x"]))

    assert_statistics(model, by_hand(model, [2 * x for x in INPUTS]))


def test_nothing_else_is_changed():
    """No weight, flag, momentum or generator; dropout is in evaluation mode."""
    model = Normed()
    model.train()
    model.last.eval()
    modes = [module.training for module in model.modules()]
    weights = [p.detach().clone() for p in model.parameters()]
    before = capture()

    refresh(model, INPUTS)

    assert is_same_state(before, capture())
    assert [module.training for module in model.modules()] == modes
    assert model.norm.momentum == 0.3
    assert all(map(torch.equal, model.parameters(), weights))
    assert all(p.grad is None for p in model.parameters())


@pytest.mark.parametrize("broken", [[], [INPUTS[0], "no batch"]], ids=["none", "bad"])
def test_error_restores_the_statistics(broken):
    model = Normed()
    refresh(model, INPUTS)
    before = copies(model)

    with pytest.raises((OptionError, TypeError)):
        refresh(model, broken)

    assert are_equal(copies(model), before)
    assert model.norm.momentum == 0.3
    assert model.norm.training


def test_model_without_batch_norm_reads_no_batches():
    refresh(nn.Linear(2, 2), iter(()))


def test_layers_without_statistics_are_ignored():
    model = nn.Sequential(nn.BatchNorm1d(4, track_running_stats=False), nn.LayerNorm(4))

    assert tracked(model) == {}
    assert statistics(model) == {}


def test_instance_norm_is_refreshed_as_well():
    """If it tracks statistics: the mean over examples of their means, over batches."""
    model = nn.InstanceNorm1d(3, track_running_stats=True)
    inputs = [batch(i, n_examples=3).view(1, 3, 4) for i in range(3)]

    refresh(model, inputs)

    expected = torch.cat(inputs).mean(dim=(0, 2))
    torch.testing.assert_close(model.running_mean, expected)
    assert model.momentum == 0.1


# Two steps per epoch are too few for an average.
short = pytest.mark.filterwarnings("ignore:The average still moves")
# Another average than the means over steps, whose averaged statistics cause a warning.
BLEND = Decay(0.9)


def trained(policy, *, n_epochs=3, n_steps=2):
    """Return a model after training, its statistics at each step, and its average."""
    model = Normed()
    model.drop.p = 0.0
    optimizer = adam(model)
    average = WeightAverage(model, optimizer, policy)
    seen = []
    for epoch in range(n_epochs):
        for i in range(n_steps):
            take_step(model, optimizer, batch(epoch * n_steps + i))
            seen.append(model.norm.running_var.clone())
        average.end_epoch()
    return model, average, seen


@short
def test_averaged_statistics_are_averaged_like_weights():
    """The mean of the layer's statistics after each step and at the start, and a warning."""
    model, average, seen = trained(Policy(enters="after-step", batch_norm="average"))
    own = copies(model)

    with pytest.warns(AverageWarning) as caught, average.applied():
        torch.testing.assert_close(
            model.norm.running_var, torch.stack([torch.ones(6), *seen]).mean(dim=0)
        )

    assert warning_codes(caught) == ["averaged-batch-norm"]
    assert are_equal(copies(model), own)
    with pytest.warns(AverageWarning):
        average.finish()
    assert not torch.equal(model.norm.running_var, own["norm.running_var"])


@short
@pytest.mark.parametrize("changes", [{"weighing": BLEND}, {"enters": "epoch-end"}])
def test_averaged_statistics_of_few_or_late_steps_cause_no_warning(changes):
    """A decay forgets the first ones, and the ends of epochs are few."""
    policy = Policy(**{"enters": "after-step", "batch_norm": "average", **changes})

    trained(policy)[1].finish()


@short
def test_copied_statistics_are_the_models_own():
    model, average, seen = trained(Policy(enters="after-step", batch_norm="copy"))

    with average.applied():
        assert torch.equal(model.norm.running_var, seen[-1])
    average.finish()

    assert torch.equal(model.norm.running_var, seen[-1])


@short
@pytest.mark.parametrize("batch_norm", ["refresh", "copy", "average"])
@pytest.mark.parametrize("restart", ["none", "assign", "swap"])
def test_refreshed_statistics_are_those_of_the_averaged_weights(restart, batch_norm):
    """Whatever they would be without data. The model's own are restored; `finish` keeps them."""
    policy = Policy(enters="after-step", batch_norm=batch_norm, restart=restart)
    model, average, _ = trained(policy)
    own, kept = copies(model), average.state_dict()["average"]

    with average.applied(BATCHES["mappings"]):
        assert_statistics(model, by_hand(model, INPUTS))
        assert are_equal(average.state_dict()["average"], kept)

    assert are_equal(copies(model), own)
    assert are_equal(average.state_dict()["average"], kept)
    average.finish(INPUTS)
    assert_statistics(model, by_hand(model, INPUTS))


@short
@pytest.mark.parametrize("restart", ["none", "assign", "swap"])
def test_stale_statistics_cause_a_warning(restart):
    """Also if the model holds the average already."""
    model, average, _ = trained(Policy(enters="after-step", batch_norm="refresh", restart=restart))
    own = copies(model)

    with pytest.warns(AverageWarning) as applied, average.applied():
        pass

    assert are_equal(copies(model), own)
    with pytest.warns(AverageWarning) as finished:
        average.finish()
    assert warning_codes(applied) == ["stale-batch-norm"]
    assert "stale-batch-norm" in warning_codes(finished)


@short
def test_batches_that_fail_leave_the_model_as_it_was():
    model, average, _ = trained(Policy(enters="after-step", weighing=BLEND, batch_norm="average"))
    own = copies(model)

    with pytest.raises(OptionError), average.applied([]):
        pass

    assert are_equal(copies(model), own)
    with pytest.raises(OptionError):
        average.finish([])
    assert not average.is_attached


@short
@pytest.mark.parametrize("left", ["removed", "finished"])
def test_removing_while_applied_restores_statistics_once(left):
    model, average, _ = trained(Policy(enters="after-step", batch_norm="refresh"))
    own = copies(model)

    with average.applied(INPUTS):
        refreshed = copies(model)
        if left == "removed":
            average.remove()
        else:
            average.finish(INPUTS)

    assert are_equal(copies(model), own if left == "removed" else refreshed)
