"""Weight averages against brute force: stored iterates in 64 bits, and published algorithms."""

from dataclasses import dataclass, field

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from torch import nn
from torch.optim import SGD

from seedproof.stabilize import Decay, Mean, NormRule, Policy, WeightAverage, Window, build
from seedproof.testing.trainings import Net, adam, batch, one_thread, take_step

LEARNING_RATE, MOMENTUM = 0.25, 0.5
SHAPES = [(), (1,), (5,), (2, 3), (3, 1, 2)]


@pytest.fixture(autouse=True, scope="module")
def _one_thread():
    with one_thread():
        yield


# ------------------------------------------------------- every switch, against stored iterates


@dataclass
class Book:
    """An average by brute force: all weights that entered are kept, and averaged on demand.

    Every mean is a weighted mean of what is kept. A mean over all iterations, accepted or not, has
    no such form: there each member has the share that it had when it entered, and those that came
    later took theirs from it.
    """

    policy: Policy
    weights: list[np.ndarray]
    n_steps: int = 0
    n_epochs: int = 0
    n_offers: int = 0
    n_entered: int = 0
    n_counted: int = 0
    is_swapped: bool = False
    norms: list[float] = field(default_factory=list)
    momenta: list[np.ndarray] | None = None

    def __post_init__(self):
        begins = self.policy.begins_with == "weights"
        self.n_counted = int(begins)
        self.members = [(1, 1.0, [w.copy() for w in self.weights])] if begins else []

    def average(self):
        """Return the current average."""
        if isinstance(self.policy.weighing, Window):
            last = [member for _, _, member in self.members][-self.policy.weighing.length :]
            return [np.mean(parts, axis=0) for parts in zip(*last, strict=True)]
        is_plain = self.policy.accept is None or self.policy.weighing == Mean("accepted")
        if isinstance(self.policy.weighing, Mean) and is_plain:
            shares = [times for times, _, _ in self.members]
        else:
            shares = [
                share * np.prod([1 - later for _, later, _ in self.members[i + 1 :]])
                for i, (_, share, _) in enumerate(self.members)
            ]
        kept = zip(*(member for _, _, member in self.members), strict=True)
        return [np.average(parts, axis=0, weights=shares) for parts in kept]

    def chosen(self):
        """Return the weights to evaluate: the average, unless the model was swapped with it."""
        return self.weights if self.is_swapped or not self.members else self.average()

    def offer(self):
        """The model's weights of now may enter."""
        policy = self.policy
        if self.n_epochs < policy.after_epochs or self.n_steps < policy.after_steps:
            return
        self.n_offers += 1
        if (self.n_offers - 1) % policy.every != 0:
            return
        is_first = policy.begins_with == "first" and self.n_entered == 0
        times = policy.first_counts if is_first else 1
        if is_first or self.is_far_enough():
            share = 1.0 if is_first else self.share()
            self.members.append((times, share, [w.copy() for w in self.weights]))
            self.n_entered += 1
            self.n_counted += times
        elif policy.weighing == Mean("iterations"):
            self.n_counted += 1

    def is_far_enough(self):
        """NASWA's test with a real list."""
        rule = self.policy.accept
        if rule is None:
            return True
        differences = [w - a for w, a in zip(self.weights, self.average(), strict=True)]
        if rule.parameters is not None:
            differences = [differences[int(name.rpartition(".")[2])] for name in rule.parameters]
        if rule.order == 1:
            norm = sum(np.abs(d).sum() for d in differences)
        else:
            norm = np.mean([np.sqrt((d**2).sum()) for d in differences])
        if norm > (np.mean(self.norms) if self.norms else 0.0):
            self.norms = [norm]
            return True
        if norm > 0 or rule.keep_zeros:
            self.norms.append(norm)
        return False

    def share(self):
        """Return the share of weights that enter now."""
        if isinstance(self.policy.weighing, Decay):
            decay, t = self.policy.weighing.decay, self.n_entered
            return 1 - (min(decay, (1 + t) / (10 + t)) if self.policy.weighing.warm_up else decay)
        return 1 / (self.n_counted + 1)

    def step(self, gradients):
        """A step of SGD with momentum."""
        self.before_step()
        if self.momenta is None:
            self.momenta = [g.copy() for g in gradients]
        else:
            self.momenta = [MOMENTUM * m + g for m, g in zip(self.momenta, gradients, strict=True)]
        moved = [w - LEARNING_RATE * m for w, m in zip(self.weights, self.momenta, strict=True)]
        self.after_step(moved)

    def before_step(self):
        """The optimizer is about to move the weights."""
        if self.policy.enters == "before-step":
            self.offer()

    def after_step(self, weights):
        """The optimizer has moved them."""
        self.weights = weights
        self.n_steps += 1
        self.is_swapped = False
        if self.policy.enters == "after-step":
            self.offer()

    def end_epoch(self):
        """The end of an epoch."""
        if self.policy.enters == "epoch-end":
            self.offer()
        if self.policy.restart != "none" and self.n_entered > 0:
            average, last = self.average(), self.weights
            self.weights = average
            if self.policy.restart == "swap":
                # The average goes on from the last weights, as heavy as all that it held.
                total = sum(times for times, _, _ in self.members)
                self.members = [(total, 1.0, last)]
                self.is_swapped = True
            if self.policy.optimizer_state == "reset":
                self.momenta = None
        if self.policy.accept is not None and self.policy.accept.clear_each_epoch:
            self.norms = []
        self.n_epochs += 1


def rules(n_tensors):
    """Tests of NASWA's kind."""
    names = [f"tensors.{i}" for i in range(n_tensors)]
    return st.builds(
        NormRule,
        order=st.sampled_from([1, 2]),
        parameters=st.none() | st.lists(st.sampled_from(names), min_size=1, unique=True).map(tuple),
        clear_each_epoch=st.booleans(),
        keep_zeros=st.booleans(),
    )


@st.composite
def policies(draw, n_tensors=1, *, accept=True):
    """Every switch, in every combination that is allowed."""
    enters = draw(st.sampled_from(["before-step", "after-step", "epoch-end"]))
    is_window = enters == "epoch-end" and draw(st.booleans())
    means = st.builds(Mean, st.sampled_from(["iterations", "accepted"]))
    decays = st.builds(Decay, st.sampled_from([0.3, 0.9, 0.998]), st.booleans())
    restarts = ["none", "assign"] if is_window else ["none", "assign", "swap"]
    return Policy(
        enters=enters,
        weighing=Window(draw(st.integers(1, 3))) if is_window else draw(means | decays),
        # A window holds nothing but what entered.
        begins_with="first" if is_window else draw(st.sampled_from(["weights", "first"])),
        first_counts=1 if is_window else draw(st.integers(1, 3)),
        after_steps=draw(st.integers(0, 6)),
        after_epochs=draw(st.integers(0, 2)),
        every=draw(st.integers(1, 3)),
        accept=draw(rules(n_tensors)) if accept and not is_window and draw(st.booleans()) else None,
        restart=draw(st.sampled_from(restarts)),
        optimizer_state=draw(st.sampled_from(["keep", "reset"])),
        batch_norm=draw(st.sampled_from(["average", "refresh", "copy"])),
    )


class Tensors(nn.Module):
    """Parameters of several shapes, and nothing that uses them."""

    def __init__(self, values):
        super().__init__()
        self.tensors = nn.ParameterList([nn.Parameter(value) for value in values])


@st.composite
def schedules(draw, *, accept=True):
    """A policy, the first weights, and the gradients of each step of each epoch."""
    shapes = draw(st.lists(st.sampled_from(SHAPES), min_size=1, max_size=4))
    lengths = draw(st.lists(st.integers(0, 6), min_size=1, max_size=5))
    rng = np.random.default_rng(draw(st.integers(0, 2**32 - 1)))
    weights = [rng.normal(size=shape) for shape in shapes]
    epochs = [
        [[np.asarray(rng.normal(size=shape)) for shape in shapes] for _ in range(n)]
        for n in lengths
    ]
    return draw(policies(len(shapes), accept=accept)), weights, epochs


def attach(policy, weights, dtype=torch.float64):
    """A model with these weights, its optimizer, and the average of both."""
    model = Tensors([torch.tensor(w, dtype=dtype) for w in weights])
    optimizer = SGD(model.parameters(), lr=LEARNING_RATE, momentum=MOMENTUM)
    return model, optimizer, WeightAverage(model, optimizer, policy)


def descend(model, optimizer, gradients):
    """One step along given gradients."""
    for parameter, gradient in zip(model.tensors, gradients, strict=True):
        parameter.grad = torch.tensor(gradient, dtype=parameter.dtype)
    optimizer.step()


def values(model):
    """The model's weights in 64 bits."""
    return [p.detach().double().numpy().copy() for p in model.tensors]


def assert_close(weights, expected, *, tolerance):
    """All tensors are close, relative to weights of about 1."""
    for tensor, other in zip(weights, expected, strict=True):
        np.testing.assert_allclose(tensor, other, rtol=tolerance, atol=tolerance)


def check(model, average, book):
    """Model, average and decisions are as in the book."""
    # Two ways to add up some thirty numbers in 64 bits: 1e-15 is usual.
    assert_close(values(model), book.weights, tolerance=1e-13)
    counts = (average.n_steps, average.n_epochs, average.n_entered)
    assert counts == (book.n_steps, book.n_epochs, book.n_entered)
    if book.n_entered > 0:
        with average.applied():
            assert_close(values(model), book.chosen(), tolerance=1e-13)


@settings(max_examples=150)
@given(schedules())
def test_every_policy_is_the_mean_of_stored_iterates(schedule):
    """After every step and every end of an epoch: weights, average, and which weights entered."""
    policy, weights, epochs = schedule
    model, optimizer, average = attach(policy, weights)
    book = Book(policy, weights)

    for epoch in epochs:
        for gradients in epoch:
            descend(model, optimizer, gradients)
            book.step(gradients)
            check(model, average, book)
        average.end_epoch()
        book.end_epoch()
        check(model, average, book)


@given(schedules(accept=False))
def test_in_32_bits_the_mean_is_as_good_as_32_bits_can_be(schedule):
    """Thirty updates lose at most four units of the last place, against iterates in 64 bits."""
    policy, weights, epochs = schedule
    model, optimizer, average = attach(policy, weights, torch.float32)
    book = Book(policy, values(model))

    for epoch in epochs:
        for gradients in epoch:
            book.before_step()
            descend(model, optimizer, gradients)
            book.after_step(values(model))
        average.end_epoch()
        book.end_epoch()
        if book.n_entered > 0:
            with average.applied():
                assert_close(values(model), book.chosen(), tolerance=4 * 2**-23)
        # After a restart both go on from the same bits.
        book.weights = values(model)


@settings(max_examples=150)
@given(schedules())
def test_on_a_device_the_average_is_the_same(schedule):
    """With counters as tensors, without synchronization, the same weights enter."""
    policy, weights, epochs = schedule
    host, host_optimizer, on_host = attach(policy, weights)
    model, optimizer, average = attach(policy, weights)
    average._count = average._count.on(torch.device("cpu"))

    for epoch in epochs:
        for gradients in epoch:
            descend(host, host_optimizer, gradients)
            descend(model, optimizer, gradients)
        on_host.end_epoch()
        average.end_epoch()
        # The same formula in 64 bits; only whether it is fused with the next differs.
        assert_close(values(model), values(host), tolerance=1e-14)
        assert average.n_entered == on_host.n_entered
        counters = {**average.state_dict()["counters"]}
        assert counters == pytest.approx(on_host.state_dict()["counters"], rel=1e-12)


# ------------------------------------------------------------------ presets, as they are published


def flat(model):
    """All weights in one row."""
    return torch.cat([p.detach().flatten() for p in model.parameters()])


def put(model, row):
    """Give a model such a row."""
    with torch.no_grad():
        for p, part in zip(
            model.parameters(),
            row.split([p.numel() for p in model.parameters()]),
            strict=True,
        ):
            p.copy_(part.view_as(p))


def l1(model, w_swa):
    """Norm of Algorithm 2."""
    return (flat(model) - w_swa).abs().sum().item()


def mean_l2(model, w_swa):
    """Norm of the authors' code, for all tensors."""
    parts = (flat(model) - w_swa).split([p.numel() for p in model.parameters()])
    return np.mean([part.norm().item() for part in parts])


def aswa(model, step, n_epochs, n):
    """Algorithm 1, line by line."""
    w_swa, decisions = flat(model), []
    for e in range(n_epochs):
        for i in range(1, n + 1):
            w_swa = w_swa + (flat(model) - w_swa) / (e * n + i + 1)
            decisions.append(True)
            step()
        put(model, w_swa)
    return w_swa, decisions


def naswa(model, step, n_epochs, n):
    """Algorithm 2, line by line."""
    w_swa, n_s, decisions = flat(model), [], []
    for e in range(n_epochs):
        for i in range(1, n + 1):
            n_cur = l1(model, w_swa)
            decisions.append(n_cur > (sum(n_s) / len(n_s) if n_s else 0.0))
            if decisions[-1]:
                w_swa = w_swa + (flat(model) - w_swa) / (e * n + i + 1)
                n_s = [n_cur]
            else:
                n_s.append(n_cur)
            step()
        put(model, w_swa)
    return w_swa, decisions


class Coded:
    """The authors' code: a buffer and a counter."""

    def __init__(self, model, *, norm_based):
        self.model, self.norm_based = model, norm_based
        self.buffer, self.n_avg, self.n_s = torch.zeros_like(flat(model)), 0, []

    def update(self):
        """The buffer begins with zeros: the first iterate has weight 1, and is copied."""
        self.buffer = self.buffer + (flat(self.model) - self.buffer) / (self.n_avg + 1)
        self.n_avg += 1

    def update_maybe(self):
        """Update the average if the current iterate is accepted; return whether it is."""
        if self.norm_based and self.n_avg > 0:
            n_cur = mean_l2(self.model, self.buffer)
            if not n_cur > (sum(self.n_s) / len(self.n_s) if self.n_s else 0.0):
                self.n_s += [n_cur] if n_cur != 0 else []
                return False
            self.n_s = [n_cur]
        self.update()
        return True

    def end_epoch(self):
        """The list is cleared, and weights and buffer are swapped."""
        self.n_s = []
        if self.n_avg > 0:
            last = flat(self.model)
            put(self.model, self.buffer)
            self.buffer = last


def coded(model, step, n_epochs, n, *, norm_based=False):
    """The authors' loop: it begins after two steps, and is called twice on the first iterate."""
    code, decisions, result = Coded(model, norm_based=norm_based), [], None
    for _ in range(n_epochs):
        for _ in range(n):
            times = [0, 0, 2][len(decisions)] if len(decisions) < 3 else 1
            calls = [code.update_maybe() for _ in range(times)]
            decisions.append(any(calls))
            step()
        code.end_epoch()
        result = flat(model) if code.n_avg > 0 else None
    return result, decisions


def ema(model, step, n_epochs, n, *, switch=False):
    """An exponential moving average with the usual warm-up; Switch-EMA returns to it."""
    average, t = flat(model), 0
    for _ in range(n_epochs):
        for _ in range(n):
            step()
            decay = min(0.998, (1 + t) / (10 + t))
            average = decay * average + (1 - decay) * flat(model)
            t += 1
        if switch:
            put(model, average)
    return average, [True] * (n_epochs * n)


def of_epochs(*, skip=0, last=None):
    """SWA: the mean of all ends of epochs but the first. LAWA: of the last five."""

    def train(model, step, n_epochs, n):
        ends = []
        for _ in range(n_epochs):
            for _ in range(n):
                step()
            ends.append(flat(model))
        kept = ends[skip:] if last is None else ends[-last:]
        return (torch.stack(kept).mean(dim=0) if kept else None), None

    return train


LITERAL = {
    "aswa": aswa,
    "naswa": naswa,
    "aswa-code": coded,
    "naswa-code": lambda *a: coded(*a, norm_based=True),
    "ema": ema,
    "switch-ema": lambda *a: ema(*a, switch=True),
    "swa": of_epochs(skip=1),
    "lawa": of_epochs(last=5),
}


def by_hand(name, seed, n_epochs, n):
    """A training with the literal algorithm."""
    model = Net(seed, torch.float64)
    optimizer = adam(model)
    steps = iter(range(n_epochs * n))

    def step():
        take_step(model, optimizer, batch(seed + next(steps), dtype=torch.float64))

    average, decisions = LITERAL[name](model, step, n_epochs, n)
    return flat(model), average, decisions


def by_the_library(name, seed, n_epochs, n):
    """The same training with the library's two lines."""
    model = Net(seed, torch.float64)
    optimizer = adam(model)
    average = build(name, model, optimizer)
    decisions, entered = [], 0
    for epoch in range(n_epochs):
        for i in range(n):
            take_step(model, optimizer, batch(seed + epoch * n + i, dtype=torch.float64))
            decisions.append(average.n_entered > entered)
            entered = average.n_entered
        average.end_epoch()
        entered = average.n_entered
    weights = flat(model)
    if average.n_entered == 0:
        return weights, None, decisions
    with average.applied():
        return weights, flat(model), decisions


@pytest.mark.parametrize("name", LITERAL)
@settings(max_examples=30)
@given(seed=st.integers(0, 1000), n_epochs=st.integers(1, 7), n=st.integers(2, 7))
def test_presets_are_the_published_algorithms(name, seed, n_epochs, n):
    """A training of Adam's in 64 bits, transcribed line by line: decisions and weights."""
    weights, average, decisions = by_hand(name, seed, n_epochs, n)

    library_weights, library_average, library_decisions = by_the_library(name, seed, n_epochs, n)

    if decisions is not None:
        assert library_decisions == decisions
    # Restarts feed rounding errors of 1e-16 back into the training, which may amplify them.
    torch.testing.assert_close(library_weights, weights, rtol=1e-9, atol=1e-9)
    if average is None:
        assert library_average is None
    else:
        torch.testing.assert_close(library_average, average, rtol=1e-9, atol=1e-9)


def test_an_average_that_saw_nothing_is_never_returned_to():
    """Here NASWA departs from the page, which with one step per epoch never leaves its first weights.

    The first iterate is the average itself and is rejected, and the page returns to it each time.
    """
    weights, _, decisions = by_hand("naswa", 0, 5, 1)
    first = flat(Net(0, torch.float64))

    library_weights, _, library_decisions = by_the_library("naswa", 0, 5, 1)

    assert torch.equal(weights, first)
    assert decisions == [False] * 5
    assert not torch.equal(library_weights, first)
    assert library_decisions[:2] == [False, True]


def test_published_rules_reject_and_accept():
    """The rules do not agree by accident on the schedules above."""
    for name in ("naswa", "naswa-code"):
        _, _, decisions = by_hand(name, 3, 7, 7)

        assert 5 < sum(decisions) < 44
