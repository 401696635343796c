import gc
import warnings
from dataclasses import replace

import pytest
import torch
from torch import nn
from torch.nn.parallel import DataParallel
from torch.optim import SGD
from torch.utils._python_dispatch import TorchDispatchMode

from seedproof.errors import OptionError, RunError
from seedproof.stabilize import (
    PRESETS,
    AverageWarning,
    Decay,
    NormRule,
    Policy,
    WeightAverage,
    build,
)
from seedproof.stabilize.optimizer_state import saved_average
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
    train,
    train_net,
)

AVERAGES = [name for name in PRESETS if name != "none"]
each_average = pytest.mark.parametrize("name", AVERAGES)
CPU = torch.device("cpu")


def attach(name):
    return lambda model, optimizer: build(name, model, optimizer)


def fused(model):
    """Return an optimizer that GradScaler also calls for skipped steps."""
    return SGD(model.parameters(), lr=0.1, fused=True)


def test_model_without_trainable_parameters_is_refused():
    model = Net().requires_grad_(requires_grad=False)
    optimizer = adam(Net())

    with pytest.raises(OptionError, check=WithFields(n_parameters=0)):
        build("ema", model, optimizer)

    assert n_hooks(optimizer) == 0


@pytest.mark.parametrize("name", ["first.wait", "norm.running_mean"])
def test_rule_with_unknown_parameters_is_refused(name):
    """A typo, and the name of a statistic; the known ones are listed."""
    model = nn.Sequential()
    model.first, model.norm = nn.Linear(2, 2), nn.BatchNorm1d(2)
    policy = Policy(accept=NormRule(parameters=(name,)))

    with pytest.raises(OptionError, check=WithFields(parameter=name)) as caught:
        WeightAverage(model, adam(model), policy)

    known = ("first.weight", "first.bias", "norm.weight", "norm.bias")
    assert caught.value.fields["known"] == known


def test_checkpoint_of_another_average_is_refused():
    model, _, average = train_net(attach("ema"))
    other = train(attach("aswa"), model, adam(model))
    before = other.state_dict()

    fields = {"stored_policy": repr(average.policy), "policy": other.policy}
    with pytest.raises(OptionError, check=WithFields(**fields)):
        other.load_state_dict(average.state_dict())

    assert is_same_data(other.state_dict(), before)


def test_checkpoint_of_another_model_is_refused():
    model, other = Net(), nn.Linear(4, 3)
    average = train(attach("ema"), model, adam(model))

    with pytest.raises(OptionError) as caught:
        build("ema", other, adam(other)).load_state_dict(average.state_dict())

    names = {name for net in (model, other) for name, _ in net.named_parameters()}
    assert set(caught.value.fields["parameters"]) <= names | set(dict(model.named_buffers()))
    assert "weight" in caught.value.fields["parameters"]


def test_warnings_point_to_the_users_line():
    """Python shows each line's warning once, so one inside the library would hide all others."""
    model = nn.Sequential(nn.Linear(4, 4), nn.BatchNorm1d(4))
    refreshed = Policy(enters="after-step", batch_norm="refresh")
    average = WeightAverage(model, adam(model), refreshed)
    with warnings.catch_warnings(record=True) as seen:
        warnings.simplefilter("always")
        with average.applied():
            pass
        average.finish()
        optimizer = adam(model)
        average = WeightAverage(model, optimizer, refreshed)
        take_step(model, optimizer, batch(0))
        with average.applied():
            pass
        average.finish()
        window = build("lawa", model, adam(model))
        window.end_epoch()
        window.finish()

    assert [warning.category for warning in seen] == [AverageWarning] * 5
    assert [warning.filename for warning in seen] == [__file__] * 5
    assert warning_codes(seen) == [
        "no-update", "no-update", "stale-batch-norm", "stale-batch-norm", "same-weights",
    ]  # fmt: skip


@pytest.mark.parametrize(("name", "n_epochs"), [("lawa", 1), ("swa", 2)])
def test_average_that_equals_the_last_weights_warns(name, n_epochs):
    """The mean of one epoch's end is that end."""
    model, _, average = train_net(attach(name), EVENTS[: 5 * n_epochs])
    own = copies(model)

    with pytest.warns(AverageWarning) as caught:
        average.finish()

    assert warning_codes(caught) == ["same-weights"]

    assert are_equal(copies(model), own)


@pytest.mark.parametrize("name", ["aswa", "switch-ema", "aswa-code"])
def test_model_that_returned_to_the_average_does_not_equal_it_by_mistake(name):
    """After an epoch it equals the last weights by design."""
    average = train_net(attach(name))[2]

    with warnings.catch_warnings(record=True) as seen:
        warnings.simplefilter("always")
        average.finish()

    assert "same-weights" not in warning_codes(seen)


@each_average
@pytest.mark.parametrize("on_device", [False, True])
def test_steps_with_infinities_of_grad_scaler_do_not_count(name, on_device):
    """A fused optimizer is called for a skipped step, with `found_inf` set."""
    model, plain = Net(), Net()
    optimizer, other = fused(model), fused(plain)
    average, expected = build(name, model, optimizer), build(name, plain, other)
    if on_device:
        average._count = average._count.on(CPU)

    for event in EVENTS:
        if event[0] == "step":
            optimizer.found_inf = torch.ones(1)
            take_step(model, optimizer, batch(99))
            optimizer.found_inf = torch.zeros(1)
        play(average, model, optimizer, event)
        play(expected, plain, other, event)

    assert average.n_steps == expected.n_steps == 12
    assert average.n_entered == expected.n_entered
    assert are_equal(averaged(average, model), averaged(expected, plain))


class NoSynchronization(TorchDispatchMode):
    """Fail on operations that synchronize with the device."""

    def __torch_dispatch__(self, func, types, args=(), kwargs=None):
        waiting = ("_local_scalar_dense", "is_nonzero", "equal.default", "nonzero")
        if any(name in str(func) for name in waiting):
            raise AssertionError(f"{func} waits for the device")
        return func(*args, **(kwargs or {}))


def steps_without_synchronization(average, model, optimizer, *, found_inf):
    """Take a few steps that must not synchronize, with the end of an epoch in between."""
    for index in range(6):
        optimizer.zero_grad()
        loss_of(model, batch(index)).backward()
        optimizer.found_inf = found_inf
        with NoSynchronization():
            optimizer.step()
        if index == 3:
            average.end_epoch()


@each_average
@pytest.mark.parametrize("found_inf", [None, torch.zeros(1)], ids=["plain", "amp"])
def test_steps_on_a_device_do_not_synchronize(name, found_inf):
    model = Net()
    optimizer = fused(model)
    average = build(name, model, optimizer)
    average._count = average._count.on(CPU)

    steps_without_synchronization(average, model, optimizer, found_inf=found_inf)

    assert average.n_steps == 6


def test_the_check_above_detects_synchronization():
    """On the host, NASWA reads its distance."""
    model = Net()
    optimizer = fused(model)
    average = build("naswa", model, optimizer)

    with pytest.raises(AssertionError):
        steps_without_synchronization(average, model, optimizer, found_inf=None)


def test_rule_ignores_batch_norm_statistics():
    """Under DDP each rank has its own, and ranks must decide alike."""
    decisions = []
    for scale in (1.0, 1e6):
        model = Net()
        model.batch_norm = nn.BatchNorm1d(3)
        optimizer = SGD(model.parameters(), lr=0.1)
        average = build("naswa", model, optimizer)
        decided = []
        for index in range(8):
            take_step(model, optimizer, batch(index))
            model.batch_norm.running_mean.copy_(scale * batch(index)[0, :3])
            decided.append(average.n_entered)
        decisions.append(decided)

    assert decisions[0] == decisions[1]


def test_momenta_can_be_reset_at_a_restart():
    for state, is_empty in (("reset", True), ("keep", False)):
        model = Net()
        optimizer = adam(model)
        policy = replace(PRESETS["aswa"], optimizer_state=state)
        average = WeightAverage(model, optimizer, policy)
        take_step(model, optimizer, batch(0))

        average.end_epoch()

        assert (not optimizer.state) == is_empty


def test_epoch_without_steps_changes_no_weight():
    model, _, average = train_net(attach("aswa"))
    own, entered = copies(model), average.n_entered

    average.end_epoch()

    assert are_equal(copies(model), own)
    assert average.n_entered == entered
    assert average.n_epochs == 4


def bytes_reached(average):
    """Return the bytes of all tensors that belong to the average alone."""
    others = [*average._model.parameters(), *average._model.buffers()]
    kept = {t.untyped_storage().data_ptr() for t in others}
    seen, sizes, to_do = {id(average._model), id(average._optimizer)}, {}, [vars(average)]
    while to_do:
        value = to_do.pop()
        if id(value) in seen or isinstance(value, type):
            continue
        seen.add(id(value))
        if isinstance(value, torch.Tensor):
            storage = value.untyped_storage()
            if storage.data_ptr() not in kept:
                sizes[storage.data_ptr()] = storage.nbytes()
        elif isinstance(value, dict | list | tuple) or hasattr(value, "__dict__"):
            to_do.extend(gc.get_referents(value))
    return sum(sizes.values())


class TwoMillion(nn.Module):
    def __init__(self, dtype):
        super().__init__()
        shapes = [(1000, 1000), (1000,), (1000, 999), (7, 11, 13)]
        self.all = nn.ParameterList([torch.zeros(shape, dtype=dtype) for shape in shapes])


@pytest.mark.parametrize("dtype", [torch.float32, torch.bfloat16])
@pytest.mark.parametrize("name", ["aswa", "naswa", "aswa-code", "naswa-code", "swa", "ema"])
def test_average_holds_one_more_set_of_weights_in_32_bits(name, dtype):
    """And at most 5 % more, even after having been applied."""
    model = TwoMillion(dtype)
    optimizer = SGD(model.parameters(), lr=0.1)
    average = build(name, model, optimizer)
    for index in range(4):
        for parameter in model.parameters():
            parameter.grad = torch.full_like(parameter, 0.5 + index % 2)
        optimizer.step()
        average.end_epoch()
    copies_inside = averaged(average, model)

    one_set = 4 * sum(p.numel() for p in model.parameters())
    assert one_set <= bytes_reached(average) <= 1.05 * one_set
    assert len(copies_inside) == 4


def test_window_holds_its_length_in_sets_of_weights():
    """And their mean."""
    model = TwoMillion(torch.float32)
    average = build("lawa", model, SGD(model.parameters(), lr=0.1))
    for _ in range(7):
        average.end_epoch()

    one_set = 4 * sum(p.numel() for p in model.parameters())
    assert 6 * one_set <= bytes_reached(average) <= 6.1 * one_set


def test_16_bit_weights_have_a_32_bit_average():
    """1 and 1.0078125 have a mean that bfloat16 cannot represent."""
    model = nn.Linear(1, 1, bias=False, dtype=torch.bfloat16)
    model.weight.data.fill_(1.0)
    optimizer = SGD(model.parameters(), lr=1.0)
    policy = Policy(enters="after-step", weighing=Decay(0.5, warm_up=False))
    average = WeightAverage(model, optimizer, policy)
    model.weight.grad = torch.full_like(model.weight, -(2.0**-7))

    optimizer.step()

    kept = average.state_dict()["average"]["weight"]
    assert model.weight.item() == 1 + 2.0**-7
    assert kept.dtype == torch.float32
    assert kept.item() == 1 + 2.0**-8


@each_average
def test_wrappers_do_not_change_names(name):
    """A checkpoint fits the bare model, a wrapped one, and a partly compiled one."""
    model, wrapped, partly = Net(), Net(), Net()
    partly.first = torch.compile(partly.first, backend="eager")
    expected = train(attach(name), model, adam(model)).state_dict()

    for net in (DataParallel(wrapped), partly):
        result = train(attach(name), net, adam(net)).state_dict()

        assert is_same_data(result, expected)


def test_state_is_saved_with_the_optimizer_until_removal():
    _, optimizer, average = train_net(attach("naswa"))

    assert is_same_data(saved_average(optimizer.state_dict()["param_groups"]), average.state_dict())
    average.remove()
    assert saved_average(optimizer.state_dict()["param_groups"]) is None


def test_state_saved_while_applied_has_both_sets_of_weights():
    model, _, average = train_net(attach("ema"), EVENTS[:-3])
    own = copies(model)

    with average.applied():
        inside, state = copies(model), average.state_dict()

    assert are_equal(state["average"], inside)
    assert are_equal(state["raw"], own)
    assert average.state_dict()["raw"] == {}


def test_loading_while_applied_gives_the_model_its_own_weights():
    """Those of the checkpoint if it has them, otherwise the previous ones."""
    model, optimizer, average = train_net(attach("ema"), EVENTS[:7])
    plain, at_seven = average.state_dict(), copies(model)
    with average.applied():
        with_raw = average.state_dict()
    play(average, model, optimizer, EVENTS[7])
    at_eight = copies(model)

    with average.applied():
        average.load_state_dict(plain)
        assert are_equal(copies(model), at_eight)
    with average.applied():
        average.load_state_dict(with_raw)
        assert are_equal(copies(model), at_seven)

    assert are_equal(copies(model), at_seven)
    assert average.n_steps == 6


@pytest.mark.filterwarnings("ignore:The average still moves")
def test_chosen_weights_equal_those_that_finish_leaves():
    """Also right after a swap, when the model holds them."""
    for name in ("ema", "aswa-code"):
        for n_events in (len(EVENTS), len(EVENTS) - 1):
            model, _, average = train_net(attach(name), EVENTS[:n_events])
            chosen = average.chosen_weights()

            average.finish()

            assert are_equal(chosen, copies(model))
            assert not average.is_attached


def test_average_can_be_left_in_the_model():
    """For trainers that load weights while the average is applied."""
    model, optimizer, average = train_net(attach("ema"))
    best = copies(Net(seed=5))

    with average.applied():
        model.load_state_dict(best)
        average.leave_model_as_it_is()

    assert are_equal(copies(model), best)
    assert n_hooks(optimizer) == 0


def test_nothing_enters_before_the_start():
    model, bare = Net(), Net()
    policy = replace(PRESETS["switch-ema"], after_steps=3, after_epochs=2)
    optimizer, other = adam(model), adam(bare)
    average = WeightAverage(model, optimizer, policy)
    entered = []
    for event in EVENTS:
        play(average, model, optimizer, event)
        entered.append(average.n_entered)
        if event[0] == "step" and event[1] < 8:
            take_step(bare, other, batch(event[1]))
        if event == ("end", 1):
            assert are_equal(copies(model), copies(bare))

    assert entered == [0] * 10 + [1, 2, 3, 4, 4]


@pytest.fixture
def after_two_steps():
    """Return a small model after two steps, with its optimizer and average."""
    model = nn.Linear(3, 2)
    optimizer = SGD(model.parameters(), lr=0.1)
    average = build("ema", model, optimizer)
    for _ in range(2):
        model(torch.ones(1, 3)).sum().backward()
        optimizer.step()
    return model, optimizer, average


def test_epoch_cannot_end_while_the_average_is_applied(after_two_steps):
    """The average would be averaged."""
    _, _, average = after_two_steps
    before = average.state_dict()["average"]

    with average.applied(), pytest.raises(RunError, check=WithFields(event="epoch-end")):
        average.end_epoch()

    after = average.state_dict()["average"]
    assert all(torch.equal(before[name], after[name]) for name in before)


def test_finishing_twice_does_not_restore_old_weights(after_two_steps):
    model, optimizer, average = after_two_steps
    average.finish()
    model(torch.ones(1, 3)).sum().backward()
    optimizer.step()
    trained = model.weight.detach().clone()

    average.finish()

    assert torch.equal(model.weight, trained)
