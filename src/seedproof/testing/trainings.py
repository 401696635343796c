"""Small, fast, exact trainings for tests, which draw from no global generator."""

import io
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from typing import Any

import torch
from torch import Tensor, nn
from torch.optim import Adam, Optimizer

from seedproof.stabilize import WeightAverage
from seedproof.training.rng import untouched

Attach = Callable[[nn.Module, Optimizer], WeightAverage]
Event = tuple[str, int]

N_EPOCHS, N_STEPS = 3, 4
# The events of a training, in order.
EVENTS: list[Event] = [
    event
    for epoch in range(N_EPOCHS)
    for event in [*(("step", epoch * N_STEPS + i) for i in range(N_STEPS)), ("end", epoch)]
]


class Net(nn.Module):
    """Two linear layers with a layer norm between them."""

    def __init__(self, seed: int = 0, dtype: torch.dtype = torch.float32) -> None:
        super().__init__()
        with untouched():  # layers draw initial weights from the global generator
            self.first = nn.Linear(4, 6)
            self.norm = nn.LayerNorm(6)
            self.last = nn.Linear(6, 3)
        fill(self, seed)
        self.to(dtype)

    def forward(self, inputs: Tensor) -> Tensor:
        """Return three numbers per example."""
        outputs: Tensor = self.last(self.norm(self.first(inputs)).tanh())
        return outputs


class SharedAndFrozen(Net):
    """A net with one layer under two names, and another that is frozen."""

    def __init__(self, seed: int = 0) -> None:
        super().__init__(seed)
        self.again = self.last
        self.norm.requires_grad_(requires_grad=False)


class Words(nn.Module):
    """Embeddings with sparse or dense gradients."""

    def __init__(self, *, sparse: bool) -> None:
        super().__init__()
        with untouched():
            self.table = nn.Embedding(12, 3, sparse=sparse)
        fill(self, 0)

    def forward(self, inputs: Tensor) -> Tensor:
        """Return the vectors of three different words that depend on the batch."""
        chosen = (inputs.sum().mul(100).long().abs() + torch.tensor([0, 3, 7])) % 12
        vectors: Tensor = self.table(chosen)
        return vectors


def fill(model: nn.Module, seed: int) -> None:
    """Draw weights from a separate generator."""
    generator = torch.Generator().manual_seed(seed)
    for parameter in model.parameters():
        parameter.data.copy_(torch.randn(parameter.shape, generator=generator))


def batch(step: int, *, n_examples: int = 8, dtype: torch.dtype = torch.float32) -> Tensor:
    """Return the inputs of a step."""
    generator = torch.Generator().manual_seed(1000 + step)
    return torch.randn((n_examples, 4), generator=generator).to(dtype)


def adam(model: nn.Module) -> Optimizer:
    """Return an Adam optimizer."""
    return Adam(model.parameters(), lr=0.05)


def loss_of(model: nn.Module, inputs: Tensor) -> Tensor:
    """Return the loss."""
    outputs: Tensor = model(inputs)
    return (outputs - 1.0).square().mean()


def take_step(model: nn.Module, optimizer: Optimizer, inputs: Tensor) -> None:
    """Take one optimizer step."""
    optimizer.zero_grad()
    torch.autograd.backward(loss_of(model, inputs))
    optimizer.step()


def play(average: WeightAverage, model: nn.Module, optimizer: Optimizer, event: Event) -> None:
    """Perform one event of a training: a step, or the end of an epoch."""
    kind, index = event
    if kind == "end":
        average.end_epoch()
    else:
        dtype = next(model.parameters()).dtype
        take_step(model, optimizer, batch(index, dtype=dtype))


def train(
    attach: Attach, model: nn.Module, optimizer: Optimizer, events: list[Event] | None = None
) -> WeightAverage:
    """Attach an average and perform some events; if omitted, all of them."""
    average = attach(model, optimizer)
    for event in EVENTS if events is None else events:
        play(average, model, optimizer, event)
    return average


def train_net(
    attach: Attach, events: list[Event] | None = None
) -> tuple[Net, Optimizer, WeightAverage]:
    """Train a new `Net` with Adam as `train` does."""
    model = Net()
    optimizer = adam(model)
    return model, optimizer, train(attach, model, optimizer, events)


def copies(model: nn.Module) -> dict[str, Tensor]:
    """Return a copy of the model's state, under the names that it has when not compiled."""
    return {
        name.replace("_orig_mod.", ""): tensor.detach().clone()
        for name, tensor in model.state_dict().items()
    }


def averaged(average: WeightAverage, model: nn.Module) -> dict[str, Tensor]:
    """Return a copy of the model's state while the average is applied."""
    with average.applied():
        return copies(model)


def are_equal(first: Mapping[str, Tensor], second: Mapping[str, Tensor]) -> bool:
    """Return whether two states of models are equal, bit for bit."""
    return first.keys() == second.keys() and all(
        first[name].dtype == second[name].dtype and torch.equal(first[name], second[name])
        for name in first
    )


def n_hooks(optimizer: Optimizer) -> int:
    """Return the number of hooks of any kind on an optimizer."""
    return sum(len(getattr(optimizer, name)) for name in vars(optimizer) if name.endswith("_hooks"))


def through_a_file(state: object) -> Any:  # noqa: ANN401 - any data
    """Save and load a state like a checkpoint; it must contain plain data only."""
    file = io.BytesIO()
    torch.save(state, file)
    return torch.load(io.BytesIO(file.getvalue()), weights_only=True)


def is_same_data(first: Any, second: Any) -> bool:  # noqa: ANN401 - any data
    """Return whether two nested states are equal, bit for bit."""
    if isinstance(first, Tensor):
        return first.dtype == second.dtype and torch.equal(first, second)
    if isinstance(first, Mapping):
        return first.keys() == second.keys() and all(
            is_same_data(first[key], second[key]) for key in first
        )
    if isinstance(first, list | tuple):
        return len(first) == len(second) and all(map(is_same_data, first, second))
    return bool(first == second)


@contextmanager
def one_thread() -> Iterator[None]:
    """Limit torch to one thread, which is faster for small models."""
    before = torch.get_num_threads()
    torch.set_num_threads(1)
    try:
        yield
    finally:
        torch.set_num_threads(before)
