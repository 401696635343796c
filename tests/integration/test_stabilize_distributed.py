"""Averages on two ranks, with DDP and FSDP2, against one process.

The file is also the program of the ranks: two processes that communicate over loopback.
"""

import os
import subprocess
import sys
from contextlib import nullcontext
from copy import deepcopy
from datetime import timedelta
from pathlib import Path

import pytest
import torch
import torch.distributed as dist
from torch import nn
from torch.optim import SGD, Adam

from seedproof.errors import MissingAverageError
from seedproof.stabilize import build
from seedproof.testing.trainings import (
    EVENTS,
    Net,
    are_equal,
    batch,
    copies,
    is_same_data,
    one_thread,
    take_step,
)

pytestmark = [pytest.mark.xdist_group("ranks"), pytest.mark.full]

NAMES = ("aswa", "naswa", "ema", "naswa-code", "lawa")
WRAPPERS = ("ddp", "fsdp")
HALFWAY = 7  # in the middle of the second epoch
# How torch saves the state of an optimizer under FSDP2.
KINDS = ("full", "sharded")
RESUMED = (("ema", False), ("ema", True), ("naswa", True), ("lawa", False))
N_RANKS = 2
LIMIT_SECONDS = 120
# Ranks average gradients of half a batch each, and one process takes the mean over the whole: two
# roundings in 32 bits instead of one, in each of twelve steps of size 0.1. Up to 1.2e-7 were seen.
TOLERANCE = 1e-6


class Scaled(Net):
    """The small network with a scalar, of which the second rank has no shard."""

    def __init__(self, seed=0):
        super().__init__(seed)
        self.scale = nn.Parameter(torch.full((1,), 0.7))

    def forward(self, inputs):
        return super().forward(inputs) * self.scale


class Normed(Scaled):
    """A network with batch norm, whose statistics differ between ranks."""

    def __init__(self, seed=0):
        super().__init__(seed)
        self.batch_norm = nn.BatchNorm1d(4)

    def forward(self, inputs):
        return super().forward(self.batch_norm(inputs))


def wrap(model, wrapper):
    """Return the model as ranks train it, or unchanged in one process."""
    if wrapper == "ddp":
        return nn.parallel.DistributedDataParallel(model)
    if wrapper == "fsdp":
        from torch.distributed.fsdp import fully_shard

        fully_shard(model.first)
        fully_shard(model)
    return model


def part_of(inputs, rank):
    """Return a rank's part of a batch, or all of it in one process."""
    return inputs if rank is None else inputs.chunk(N_RANKS)[rank]


class Training:
    """A training on one of two ranks, or in one process."""

    def __init__(self, name, wrapper=None, rank=None, model=None):
        self.rank = rank
        self.model = wrap(Scaled() if model is None else model, wrapper)
        # Without momentum, so that weights are the whole state.
        self.optimizer = SGD(self.model.parameters(), lr=0.1)
        self.average = build(name, self.model, self.optimizer)
        self.entered, self.outputs = [], []

    def go_on(self, events):
        """Train, and apply the average after each event, as evaluation does."""
        for kind, index in events:
            if kind == "end":
                self.average.end_epoch()
            else:
                take_step(self.model, self.optimizer, part_of(batch(index), self.rank))
            self.entered.append(self.average.n_entered)
            if self.average.n_entered > 0:
                with self.average.applied(), torch.no_grad():
                    self.outputs.append(self.model(batch(500)))
        return self

    def halfway(self):
        """Return a checkpoint saved while the average was applied, with both sets of weights."""
        with self.average.applied():
            return self.average.state_dict()

    def result(self):
        return {
            "entered": self.entered,
            "outputs": self.outputs,
            "state": self.average.state_dict(),
            "chosen": self.average.chosen_weights(),
        }


def whole_training(name, wrapper=None, rank=None):
    """Train with a checkpoint in the middle."""
    training = Training(name, wrapper, rank).go_on(EVENTS[:HALFWAY])
    halfway = training.halfway()
    return {"halfway": halfway, **training.go_on(EVENTS[HALFWAY:]).result()}


def second_half(name, checkpoint, wrapper=None, rank=None):
    """Resume from a checkpoint, with other initial weights."""
    training = Training(name, wrapper, rank, Scaled(seed=9))
    training.average.load_state_dict(checkpoint)
    loaded = training.halfway()
    return {"halfway": loaded, **training.go_on(EVENTS[HALFWAY:]).result()}


def with_batch_norm(rank):
    """Return weights and decisions under DDP with large statistics that differ between ranks."""
    training = Training("naswa", "ddp", rank, Normed())
    for kind, index in EVENTS:
        if kind == "end":
            training.average.end_epoch()
        else:
            inputs = 100 * part_of(batch(index), rank)
            take_step(training.model, training.optimizer, inputs)
        training.entered.append(training.average.n_entered)
    weights = {name: p.detach() for name, p in training.model.module.named_parameters()}
    return {"entered": training.entered, "weights": weights}


def sharded_with_adam(seed=0):
    """Return a model under FSDP2, and an optimizer with state."""
    model = wrap(Scaled(seed), "fsdp")
    return model, Adam(model.parameters(), lr=0.05)


def go_on(average, model, optimizer, rank, events):
    """Train, and return the state of the average."""
    for kind, index in events:
        if kind == "end":
            average.end_epoch()
        else:
            take_step(model, optimizer, part_of(batch(index), rank))
    return average.state_dict()


def resumed_by_torch(name, rank, *, while_applied):
    """Resume from states that torch saved, with the average built before or after they load."""
    from torch.distributed.checkpoint import state_dict as torchs

    model, optimizer = sharded_with_adam()
    average = build(name, model, optimizer)
    go_on(average, model, optimizer, rank, EVENTS[:HALFWAY])
    with average.applied() if while_applied else nullcontext():
        saved = {
            kind: deepcopy(torchs.get_state_dict(model, optimizer, options=options))
            for kind, options in options_by_kind().items()
        }
    results = {"whole": go_on(average, model, optimizer, rank, EVENTS[HALFWAY:])}
    for kind, options in options_by_kind().items():
        for order in ("build-first", "load-first"):
            model, optimizer = sharded_with_adam(seed=9)
            if order == "build-first":
                average = build(name, model, optimizer)
            weights, state = deepcopy(saved[kind])
            torchs.set_model_state_dict(model, weights, options=options)
            torchs.set_optimizer_state_dict(model, optimizer, state, options=options)
            if order == "load-first":
                average = build(name, model, optimizer)
            results[kind, order] = go_on(average, model, optimizer, rank, EVENTS[HALFWAY:])
    return results


def options_by_kind():
    """Return the options of torch for each kind of state."""
    from torch.distributed.checkpoint.state_dict import StateDictOptions

    return {kind: StateDictOptions(full_state_dict=kind == "full") for kind in KINDS}


def load_in_order(order, load):
    """Build an average before or after a state is loaded; `load` takes a model and an optimizer."""
    model, optimizer = sharded_with_adam(seed=9)
    if order == "build-first":
        build("ema", model, optimizer)
    load(model, optimizer)
    if order == "load-first":
        build("ema", model, optimizer)


def refused_from_files(rank, folder):
    """Return the codes of errors where `dcp.load` omits the average or a part of it.

    It loads only the entries that the given state has.
    """
    from torch.distributed import checkpoint as dcp
    from torch.distributed.checkpoint.state_dict import (
        get_optimizer_state_dict,
        set_optimizer_state_dict,
    )

    model, optimizer = sharded_with_adam()
    average = build("ema", model, optimizer)
    go_on(average, model, optimizer, rank, EVENTS[:HALFWAY])
    with average.applied():
        dcp.save(get_optimizer_state_dict(model, optimizer), checkpoint_id=folder / "applied")

    def load(model, optimizer):
        state = get_optimizer_state_dict(model, optimizer)
        dcp.load(state, checkpoint_id=folder / "applied")
        set_optimizer_state_dict(model, optimizer, state)

    codes = {}
    for order in ("build-first", "load-first"):
        with pytest.raises(MissingAverageError) as caught:
            load_in_order(order, load)
        codes[order] = caught.value.code
    return codes


def be_a_rank(rank, folder):
    """Run the program of a rank."""
    dist.init_process_group(
        "gloo",
        init_method=f"file://{folder / 'meeting'}",
        rank=rank,
        world_size=N_RANKS,
        timeout=timedelta(seconds=LIMIT_SECONDS / 2),
    )
    results = {}
    with one_thread():
        for name in NAMES:
            checkpoint = torch.load(folder / f"{name}.pt", weights_only=True)
            for wrapper in WRAPPERS:
                results[name, wrapper] = whole_training(name, wrapper, rank)
                results[name, wrapper, "resumed"] = second_half(name, checkpoint, wrapper, rank)
        results["batch norm"] = with_batch_norm(rank)
        for name, while_applied in RESUMED:
            results["torch", name, while_applied] = resumed_by_torch(
                name, rank, while_applied=while_applied
            )
        results["refused"] = refused_from_files(rank, folder)
    torch.save(results, folder / f"rank-{rank}.pt")
    dist.barrier()
    dist.destroy_process_group()


@pytest.fixture(scope="module")
def alone():
    """Return the same trainings in one process, by name."""
    with one_thread():
        return {name: whole_training(name) for name in NAMES}


@pytest.fixture(scope="module")
def ranks(alone, tmp_path_factory):
    """Return the results of two ranks."""
    folder = tmp_path_factory.mktemp("ranks")
    for name, training in alone.items():
        torch.save(training["halfway"], folder / f"{name}.pt")
    loopback = "lo0" if sys.platform == "darwin" else "lo"
    environment = os.environ | {"GLOO_SOCKET_IFNAME": loopback, "OMP_NUM_THREADS": "1"}
    programs = [
        subprocess.Popen(
            [sys.executable, __file__, str(rank), str(folder)],
            env=environment,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
        )
        for rank in range(N_RANKS)
    ]
    try:
        outputs = [program.communicate(timeout=LIMIT_SECONDS)[0] for program in programs]
    finally:
        for program in programs:
            program.kill()
            program.wait()
    assert [program.returncode for program in programs] == [0] * N_RANKS, "\n".join(outputs)
    return [torch.load(folder / f"rank-{rank}.pt", weights_only=True) for rank in range(N_RANKS)]


def assert_close(result, expected):
    """Check that two sets of weights are equal to 32 bits."""
    assert result.keys() == expected.keys()
    for name in result:
        torch.testing.assert_close(result[name], expected[name], rtol=TOLERANCE, atol=TOLERANCE)


each = pytest.mark.parametrize(
    ("name", "wrapper"), [(name, wrapper) for name in NAMES for wrapper in WRAPPERS]
)


@each
def test_averages_of_ranks_equal_those_of_one_process(ranks, alone, name, wrapper):
    """Decisions, counters, averages and the weights during evaluation, on every rank."""
    expected = alone[name]
    for rank in ranks:
        result = rank[name, wrapper]

        assert result["entered"] == expected["entered"]
        assert_close(result["state"]["average"], expected["state"]["average"])
        assert_close(result["chosen"], expected["chosen"])
        for output, expected_output in zip(result["outputs"], expected["outputs"], strict=True):
            torch.testing.assert_close(output, expected_output, rtol=TOLERANCE, atol=TOLERANCE)
        counters, others = result["state"]["counters"], expected["state"]["counters"]
        assert counters == pytest.approx(others, rel=TOLERANCE)


@each
def test_ranks_agree_to_the_last_bit(ranks, name, wrapper):
    first, second = (rank[name, wrapper] for rank in ranks)

    assert is_same_data(first, second)


@each
def test_checkpoint_of_ranks_can_be_resumed_in_one_process(ranks, alone, name, wrapper):
    saved = ranks[0][name, wrapper]["halfway"]

    with one_thread():
        result = second_half(name, saved)

    assert is_same_data(result["halfway"], saved)
    assert result["entered"] == alone[name]["entered"][HALFWAY:]
    assert_close(result["chosen"], alone[name]["chosen"])


@each
def test_checkpoint_of_one_process_can_be_resumed_by_ranks(ranks, alone, name, wrapper):
    for rank in ranks:
        result = rank[name, wrapper, "resumed"]

        assert is_same_data(result["halfway"], alone[name]["halfway"])
        assert result["entered"] == alone[name]["entered"][HALFWAY:]
        assert_close(result["chosen"], alone[name]["chosen"])


def test_ranks_decide_alike_although_statistics_differ(ranks):
    """NASWA compares weights, which all ranks share."""
    first, second = (rank["batch norm"] for rank in ranks)

    assert first["entered"] == second["entered"]
    assert are_equal(first["weights"], second["weights"])


@pytest.mark.parametrize(("name", "while_applied"), RESUMED)
@pytest.mark.parametrize("order", ["build-first", "load-first"])
@pytest.mark.parametrize("kind", KINDS)
def test_states_that_torch_saved_can_be_resumed(ranks, name, while_applied, kind, order):
    """Bit for bit, with the average built before or after they are loaded."""
    for rank in ranks:
        results = rank["torch", name, while_applied]

        assert is_same_data(results[kind, order], results["whole"])


def test_states_that_torch_loads_in_part_are_refused(ranks):
    for rank in ranks:
        assert rank["refused"] == {"build-first": "SP505", "load-first": "SP505"}


def test_training_changes_the_weights(alone):
    """Otherwise the comparisons above would be empty."""
    for training in alone.values():
        first = copies(Scaled())

        assert all(not torch.equal(training["chosen"][name], first[name]) for name in first)


if __name__ == "__main__":
    be_a_rank(int(sys.argv[1]), Path(sys.argv[2]))
