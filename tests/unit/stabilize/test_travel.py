import math
import warnings

import pytest
import torch
from torch import nn
from torch.optim import SGD

from seedproof.stabilize import AverageWarning, build
from seedproof.stabilize.travel import N_SAMPLED, Travel, sample
from seedproof.testing.errors import warning_codes


def test_sample_takes_the_same_places_of_all_tensors():
    """Every fourth of 2,048 values; a short tensor has its share."""
    many, few = torch.arange(2_040.0).view(40, 51), torch.full((8,), -1.0)

    taken = sample([many, few])

    assert len(taken) == N_SAMPLED
    assert taken[:3].tolist() == [0.0, 4.0, 8.0]
    assert taken[-2:].tolist() == [-1.0, -1.0]


@pytest.mark.parametrize("sizes", [(), (3,), (513,), (1, 7, 5_000, 2, 900), (10,) * 400 + (9_000,)])
def test_every_value_has_the_same_chance(sizes):
    """Many short tensors neither count more nor push out the last ones."""
    values = torch.arange(float(sum(sizes)))

    taken = sample(values.split(list(sizes)) if sizes else [])

    stride = max(1, math.ceil(len(values) / N_SAMPLED))
    assert taken.tolist() == values[::stride].tolist()
    assert min(len(values), N_SAMPLED // 2) <= len(taken) <= N_SAMPLED


def test_shares_of_the_whole_way_by_hand():
    """From 0 to 3 and then to 4: the last epoch is a quarter, and 6 is half of the way ahead."""
    travel = Travel(torch.zeros(1))

    travel.end_epoch(torch.tensor([3.0]), torch.tensor([3.0]))
    travel.end_epoch(torch.tensor([4.0]), torch.tensor([6.0]))

    assert (travel.moved, travel.ahead) == (0.25, 0.5)


@pytest.mark.parametrize(
    ("moved", "ahead", "restarts", "is_unfinished"),
    [
        (0.2, 0.2, False, True),
        (0.2, 0.05, False, False),  # at a learning rate near 0 it has caught up
        (0.02, 0.5, False, False),  # the model circles around the average
        (0.02, 0.5, True, True),  # the average holds the model back
        (0.02, 0.1, True, False),
    ],
)
def test_unfinished_averages(moved, ahead, restarts, is_unfinished):
    travel = Travel(torch.zeros(1))
    travel.moved, travel.ahead = moved, ahead

    assert travel.is_unfinished(restarts=restarts) == is_unfinished


def test_state_goes_through_a_text_of_equal_length():
    """Distributed checkpoints load values of the same size only."""
    travel = Travel(torch.zeros(3))
    before = len(travel.plain())
    travel.end_epoch(torch.tensor([1.0, 0.1, 1 / 3]), torch.tensor([2.0, 0.0, 0.0]))

    restored = Travel.from_plain(travel.plain(), torch.zeros(3))

    assert len(travel.plain()) == before
    assert (restored.moved, restored.ahead) == pytest.approx((travel.moved, travel.ahead))
    for each in (travel, restored):
        each.end_epoch(torch.ones(3), torch.zeros(3))
    assert (restored.moved, restored.ahead) == (travel.moved, travel.ahead)


@pytest.mark.parametrize("text", [None, "", "AAAA"])
def test_unknown_way_is_never_unfinished(text):
    """Of a checkpoint that an older version wrote, or of another sample."""
    travel = Travel.from_plain(text, torch.zeros(4))

    travel.end_epoch(torch.ones(4), torch.full((4,), 9.0))

    assert not travel.is_unfinished(restarts=True)


def descend(name, n_epochs, rate):
    """Walk down a valley from 1 to 0 with an average, and return its warnings at the end."""
    model = nn.Linear(1, 1, bias=False)
    nn.init.ones_(model.weight)
    optimizer = SGD(model.parameters(), lr=rate)
    average = build(name, model, optimizer)
    for _ in range(n_epochs):
        for _ in range(10):
            optimizer.zero_grad()
            model.weight.square().sum().backward()
            optimizer.step()
        average.end_epoch()
    with warnings.catch_warnings(record=True) as seen:
        warnings.simplefilter("always")
        average.finish()
    assert all(warning.category is AverageWarning for warning in seen)
    assert all(warning.filename == __file__ for warning in seen)
    return warning_codes(seen), float(model.weight.detach())


@pytest.mark.parametrize("name", ["swa", "lawa", "aswa", "naswa"])
def test_average_of_a_training_that_is_not_over_warns(name):
    """After three epochs of slow descent, weights are still on their way."""
    codes, value = descend(name, 3, rate=0.01)

    assert codes == ["unfinished-average"]
    assert value > 1.1 * math.exp(-0.02 * 30)  # where the plain training is


@pytest.mark.parametrize("name", ["ema", "switch-ema", "lawa"])
def test_average_that_has_arrived_does_not_warn(name):
    codes, value = descend(name, 40, rate=0.05)

    assert codes == []
    assert abs(value) < 0.01


def test_way_survives_a_checkpoint():
    """A resumed training warns as an uninterrupted one does."""
    model = nn.Linear(1, 1, bias=False)
    optimizer = SGD(model.parameters(), lr=0.01)
    average = build("ema", model, optimizer)
    for _ in range(4):
        model.weight.square().sum().backward()
        optimizer.step()
        average.end_epoch()
    saved, weights = optimizer.state_dict(), model.state_dict()
    other = nn.Linear(1, 1, bias=False)
    other.load_state_dict(weights)
    resumed = SGD(other.parameters(), lr=0.01)
    resumed.load_state_dict(saved)

    restored = build("ema", other, resumed)

    assert restored.state_dict()["travel"] == average.state_dict()["travel"]
