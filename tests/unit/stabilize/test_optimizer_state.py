"""Resuming an average: every order of loading gives the same bits, or is refused by name."""

from itertools import permutations

import pytest
import torch
from torch import nn
from torch.optim import SGD, Adagrad, Adam

from seedproof.errors import MissingAverageError, OptionError, RunError
from seedproof.stabilize import AverageWarning, WeightAverage, build
from seedproof.stabilize.optimizer_state import (
    STATE_KEY,
    counted_steps,
    drop_average,
    saved_average,
)
from seedproof.testing.errors import WithFields, warning_codes
from seedproof.testing.trainings import (
    EVENTS,
    Net,
    adam,
    are_equal,
    averaged,
    batch,
    copies,
    is_same_data,
    loss_of,
    n_hooks,
    play,
    take_step,
    through_a_file,
    train,
)

HALFWAY = 7  # in the middle of the second epoch
ORDERS = [*permutations(("model", "optimizer", "build"))]
each_order = pytest.mark.parametrize("order", ORDERS, ids="-".join)


def ema(model, optimizer):
    return build("ema", model, optimizer)


def in_groups(model):
    """Return an optimizer with two groups of parameters and momentum."""
    groups = [
        {"params": list(model.first.parameters()), "lr": 0.05},
        {"params": [*model.norm.parameters(), *model.last.parameters()]},
    ]
    return SGD(groups, lr=0.1, momentum=0.9)


def plain_sgd(model):
    """Return an optimizer without state."""
    return SGD(model.parameters(), lr=0.1)


def checkpoint_at(n_events, make=adam, *, while_applied=False):
    """Train with an average, and return its checkpoint and what the whole training ends with."""
    model = Net()
    optimizer = make(model)
    average = train(ema, model, optimizer, EVENTS[:n_events])
    if while_applied:
        with average.applied():
            saved = through_a_file([model.state_dict(), optimizer.state_dict()])
    else:
        saved = through_a_file([model.state_dict(), optimizer.state_dict()])
    for event in EVENTS[n_events:]:
        play(average, model, optimizer, event)
    return saved, (copies(model), averaged(average, model))


def resumed(saved, order, make=adam):
    """Return a model, its optimizer and its average, loaded and built in some order."""
    weights, state = saved
    model = Net(seed=9)
    optimizer = make(model)
    average = None
    for part in order:
        if part == "model":
            model.load_state_dict(weights)
        elif part == "optimizer":
            optimizer.load_state_dict(state)
        else:
            average = ema(model, optimizer)
    return model, optimizer, average


def without_average(state):
    """Return the state of an optimizer as a wrapper saves it that knows its own keys only."""
    state = through_a_file(state)
    drop_average(state["param_groups"])
    return state


@each_order
@pytest.mark.parametrize("make", [adam, in_groups, plain_sgd])
def test_training_can_be_resumed_in_any_order(make, order):
    saved, expected = checkpoint_at(HALFWAY, make)

    model, optimizer, average = resumed(saved, order, make)
    for event in EVENTS[HALFWAY:]:
        play(average, model, optimizer, event)

    assert are_equal(copies(model), expected[0])
    assert are_equal(averaged(average, model), expected[1])


@each_order
def test_checkpoint_saved_while_applied_can_be_resumed_unless_the_model_is_last(order):
    """Its model has the averaged weights, and its optimizer the model's own."""
    saved, expected = checkpoint_at(HALFWAY, while_applied=True)

    model, optimizer, average = resumed(saved, order)

    if order[-1] == "model":
        for _ in range(2):
            with pytest.raises(RunError, check=WithFields(reloaded="model")):
                take_step(model, optimizer, batch(7))
        return
    for event in EVENTS[HALFWAY:]:
        play(average, model, optimizer, event)
    assert are_equal(copies(model), expected[0])
    assert are_equal(averaged(average, model), expected[1])


def test_model_can_be_loaded_last_if_it_equals_the_average():
    """At the end of an epoch of ASWA, both sets of weights are the same."""
    model = Net()
    optimizer = adam(model)
    average = train(lambda *both: build("aswa", *both), model, optimizer, EVENTS[:5])
    with average.applied():
        weights, state = through_a_file([model.state_dict(), optimizer.state_dict()])

    model = Net(seed=9)
    optimizer = adam(model)
    average = build("aswa", model, optimizer)
    optimizer.load_state_dict(state)
    model.load_state_dict(weights)
    take_step(model, optimizer, batch(0))

    assert average.n_steps == 5


@pytest.mark.parametrize("name", ["aswa", "ema", "naswa"])
def test_weights_loaded_before_the_first_step_begin_the_average(name):
    """Pretrained weights, for example; the initial ones do not count."""
    results = []
    for is_built_first in (False, True):
        model, pretrained = Net(), Net(seed=5).state_dict()
        optimizer = adam(model)
        if is_built_first:
            average = build(name, model, optimizer)
            model.load_state_dict(pretrained)
        else:
            model.load_state_dict(pretrained)
            average = build(name, model, optimizer)
        for event in EVENTS:
            play(average, model, optimizer, event)
        results.append(average.state_dict())

    assert is_same_data(*results)


@pytest.mark.parametrize("fused", [False, True])
@pytest.mark.parametrize("is_built_first", [False, True])
def test_mixed_precision_can_be_resumed(is_built_first, fused):
    """Right after a step that GradScaler skipped."""
    weights, state, scales, results = None, None, None, []
    for first in (0, 6):
        model = Net(seed=first)
        optimizer = Adam(model.parameters(), lr=0.05, fused=fused)
        scaler = torch.amp.GradScaler("cpu", init_scale=16.0)
        average = ema(model, optimizer) if is_built_first or first == 0 else None
        if first > 0:
            model.load_state_dict(weights)
            optimizer.load_state_dict(state)
            scaler.load_state_dict(scales)
        average = ema(model, optimizer) if average is None else average
        for step in range(first, 12):
            optimizer.zero_grad()
            loss = loss_of(model, batch(step)) * (float("inf") if step == 5 else 1.0)
            scaler.scale(loss).backward()
            scaler.step(optimizer)
            scaler.update()
            if step == 5:
                weights, state, scales = through_a_file(
                    [model.state_dict(), optimizer.state_dict(), scaler.state_dict()]
                )
        results.append((average.n_steps, averaged(average, model)))

    assert results[0][0] == results[1][0] == 11
    assert are_equal(results[0][1], results[1][1])


@pytest.mark.parametrize("make", [adam, in_groups])
@pytest.mark.parametrize("is_built_first", [False, True])
def test_state_without_average_is_refused(make, is_built_first):
    """Otherwise the average would start again, unnoticed."""
    (weights, state), _ = checkpoint_at(HALFWAY, make)
    saved = weights, without_average(state)
    order = ("build", "optimizer") if is_built_first else ("optimizer", "build")

    with pytest.raises(MissingAverageError) as caught:
        resumed(saved, order, make)

    assert caught.value.code == "SP505"
    assert caught.value.fields["optimizer_steps"] == (6 if make is adam else 1)


@pytest.mark.parametrize("is_built_first", [False, True])
@pytest.mark.filterwarnings("error")
def test_average_can_start_late(is_built_first):
    """After some steps, without a warning, from the weights of then."""
    (weights, state), _ = checkpoint_at(HALFWAY)
    model = Net()
    optimizer = adam(model)
    if is_built_first:
        average = build("aswa", model, optimizer, start_late=True)
        take_step(model, optimizer, batch(0))
        model.load_state_dict(weights)
    model.load_state_dict(weights)
    optimizer.load_state_dict(without_average(state))
    if not is_built_first:
        average = build("aswa", model, optimizer, start_late=True)

    start = copies(model)
    take_step(model, optimizer, batch(7))

    assert (average.n_steps, average.n_entered) == (1, 1)
    # The weights at the start count as one member, and enter once more before the step.
    assert are_equal(average.state_dict()["average"], start)


def test_late_start_resumes_a_saved_average():
    """So that the code of a training that started late can also resume it."""
    (_, state), _ = checkpoint_at(HALFWAY)
    model = Net()
    optimizer = adam(model)
    optimizer.load_state_dict(state)

    average = build("ema", model, optimizer, start_late=True)

    assert average.n_steps == 6


def test_average_that_missed_steps_is_refused():
    """The optimizer took further steps before the average was built."""
    (weights, state), _ = checkpoint_at(HALFWAY)
    model = Net()
    optimizer = adam(model)
    model.load_state_dict(weights)
    optimizer.load_state_dict(state)
    take_step(model, optimizer, batch(7))

    with pytest.raises(MissingAverageError, check=WithFields(saved_steps=6, optimizer_steps=7)):
        ema(model, optimizer)

    average = build("ema", model, optimizer, start_late=True)
    assert average.n_steps == 0
    assert saved_average(optimizer.param_groups) is None


def test_refused_average_can_be_resumed_with_the_right_policy():
    (_, state), _ = checkpoint_at(HALFWAY)
    model = Net()
    optimizer = adam(model)
    optimizer.load_state_dict(state)

    with pytest.raises(OptionError):
        build("aswa", model, optimizer)

    assert n_hooks(optimizer) == 0
    assert ema(model, optimizer).n_steps == 6


def test_state_without_steps_and_average_starts_again_with_a_warning():
    """An optimizer without state counts no steps: it may have taken some."""
    model = Net()
    optimizer = plain_sgd(model)
    average = train(ema, model, optimizer, EVENTS[:3])

    with pytest.warns(AverageWarning) as caught:
        optimizer.load_state_dict(plain_sgd(model).state_dict())

    assert warning_codes(caught) == ["no-saved-average"]
    assert (average.n_steps, average.n_entered) == (0, 0)
    assert are_equal(average.state_dict()["average"], copies(model))


def test_resumed_optimizer_keeps_no_copy_of_the_average():
    saved, _ = checkpoint_at(HALFWAY)

    for order in ORDERS:
        _, optimizer, _ = resumed(saved, order)
        assert saved_average(optimizer.param_groups) is None


def test_state_of_the_optimizer_is_not_changed_by_loading():
    (weights, state), _ = checkpoint_at(HALFWAY)
    before = through_a_file(state)

    for order in ORDERS:
        resumed((weights, state), order)

    assert is_same_data(state, before)


@pytest.mark.parametrize(
    ("make", "at_start", "after_three"),
    [
        (Adam, 0, 3),
        (Adagrad, 0, 3),
        (lambda weights: SGD(weights, momentum=0.9), 0, 1),
        (SGD, 0, 0),
    ],
    ids=["counts", "counts from the start", "has state", "has no state"],
)
def test_steps_that_an_optimizer_counts(make, at_start, after_three):
    model = nn.Linear(4, 3)
    optimizer = make(model.parameters())
    counts = [counted_steps(optimizer)]
    for index in range(3):
        take_step(model, optimizer, batch(index))
    counts.append(counted_steps(optimizer))

    assert counts == [at_start, after_three]


def test_entries_of_an_optimizer_that_belong_to_no_weight_are_ignored():
    model = Net()
    optimizer = adam(model)
    optimizer.state["note"] = 7

    assert isinstance(ema(model, optimizer), WeightAverage)


@pytest.mark.parametrize("content", [b"{", b"[]", b"3", b"[" * 10_000])
def test_damaged_state_is_an_error(content):
    encoded = torch.tensor(list(content), dtype=torch.uint8)

    with pytest.raises(MissingAverageError):
        saved_average([{STATE_KEY: {"facts": encoded, "average": {}}}])
