"""Contract tests for stabilizers: subclass the contract, and define its fixture.

    from seedproof.testing.stabilizers import StabilizerContract

    class TestMyAverage(StabilizerContract):
        @pytest.fixture
        def attach(self):
            return MyAverage  # called with a model and an optimizer

The trainings are small and draw from no global generator: three epochs of four steps.
"""
# ruff: noqa: D102, S101 - names of tests state the facts; pytest explains a plain assert best

from collections.abc import Iterator
from typing import Any

import pytest
import torch
from torch.optim import SGD, Adam, SparseAdam

from seedproof.errors import RunError
from seedproof.stabilize import AverageWarning
from seedproof.stabilize.optimizer_state import saved_average
from seedproof.testing.engines import is_same_state
from seedproof.testing.errors import WithFields, warning_codes
from seedproof.testing.trainings import (
    EVENTS,
    N_EPOCHS,
    N_STEPS,
    Attach,
    Net,
    SharedAndFrozen,
    Words,
    adam,
    are_equal,
    averaged,
    batch,
    copies,
    is_same_data,
    loss_of,
    n_hooks,
    one_thread,
    play,
    take_step,
    through_a_file,
    train,
    train_net,
)
from seedproof.training.rng import capture


# The trainings are a few steps long, so their averages still move.
@pytest.mark.filterwarnings("ignore:The average still moves")
class StabilizerContract:
    """Contract of every stabilizer; define a fixture `attach`.

    A stabilizer that cannot pass a test sets it to None, with a comment.
    """

    @pytest.fixture
    def attach(self) -> Attach:
        """Return a function that attaches the stabilizer; defined by a subclass."""
        raise NotImplementedError

    @pytest.fixture(autouse=True)
    def _one_thread(self) -> Iterator[None]:
        with one_thread():
            yield

    # ------------------------------------------------------------------------------- detaching

    def test_finishing_removes_all_hooks(self, attach: Attach) -> None:
        _, optimizer, average = train_net(attach)

        average.finish()

        assert n_hooks(optimizer) == 0
        assert saved_average(optimizer.state_dict()["param_groups"]) is None

    def test_removing_removes_all_hooks_and_keeps_the_weights(self, attach: Attach) -> None:
        model, optimizer, average = train_net(attach)
        own = copies(model)

        average.remove()

        assert n_hooks(optimizer) == 0
        assert are_equal(copies(model), own)

    def test_removing_while_applied_restores_the_weights(self, attach: Attach) -> None:
        """Even if an exception follows."""
        model, optimizer, average = train_net(attach, EVENTS[:-2])
        own = copies(model)

        def fail() -> None:
            average.remove()
            raise ZeroDivisionError

        with pytest.raises(ZeroDivisionError), average.applied():
            fail()

        assert n_hooks(optimizer) == 0
        assert are_equal(copies(model), own)

    def test_removing_again_changes_nothing(self, attach: Attach) -> None:
        model, _, average = train_net(attach)

        average.finish()
        final = copies(model)
        average.remove()
        average.remove()

        assert are_equal(copies(model), final)

    def test_global_generators_and_training_modes_are_unchanged(self, attach: Attach) -> None:
        model = Net()
        model.norm.eval()
        modes = [module.training for module in model.modules()]
        optimizer = adam(model)
        generators = capture()

        average = train(attach, model, optimizer)
        with average.applied():
            inside = [module.training for module in model.modules()]
        average.load_state_dict(average.state_dict())
        average.finish()

        assert is_same_state(generators, capture())
        assert [module.training for module in model.modules()] == inside == modes

    def test_other_hooks_of_the_optimizer_stay(self, attach: Attach) -> None:
        model, calls = Net(), []
        optimizer = adam(model)
        optimizer.register_step_post_hook(lambda *_: calls.append("step"))
        average = train(attach, model, optimizer)

        average.finish()
        take_step(model, optimizer, batch(99))

        assert len(calls) == N_EPOCHS * N_STEPS + 1

    # ------------------------------------------------------------------- weights of the model

    def test_training_within_an_epoch_is_unchanged(self, attach: Attach) -> None:
        """The same bits, even if the average is applied in between."""
        model, bare = Net(), Net()
        optimizer, other = adam(model), adam(bare)

        average = attach(model, optimizer)
        for index in range(N_STEPS):
            take_step(model, optimizer, batch(index))
            take_step(bare, other, batch(index))
            if average.n_entered > 0:
                averaged(average, model)

        assert are_equal(copies(model), copies(bare))

    def test_attaching_changes_no_weight(self, attach: Attach) -> None:
        """Nor does applying an empty average."""
        model = Net()
        own = copies(model)
        average = attach(model, adam(model))

        with pytest.warns(AverageWarning) as caught, average.applied():
            inside = copies(model)

        assert warning_codes(caught) == ["no-update"]
        assert average.n_entered == 0
        assert are_equal(inside, own)
        assert are_equal(copies(model), own)

    def test_finishing_an_empty_average_warns_and_keeps_the_weights(self, attach: Attach) -> None:
        model = Net()
        optimizer = adam(model)
        own = copies(model)
        average = attach(model, optimizer)

        with pytest.warns(AverageWarning) as caught:
            average.finish()

        assert warning_codes(caught) == ["no-update"]
        assert are_equal(copies(model), own)
        assert n_hooks(optimizer) == 0

    def test_applying_restores_the_weights_bit_for_bit(self, attach: Attach) -> None:
        """After every event of a training, and after exceptions."""
        model = Net()
        optimizer = adam(model)
        average = attach(model, optimizer)
        for event in EVENTS:
            play(average, model, optimizer, event)
            if average.n_entered == 0:
                continue
            own = copies(model)
            with pytest.raises(ZeroDivisionError), average.applied():
                raise ZeroDivisionError
            assert are_equal(copies(model), own)
            averaged(average, model)
            assert are_equal(copies(model), own)

    def test_applying_can_be_nested(self, attach: Attach) -> None:
        model, _, average = train_net(attach, EVENTS[:-2])
        own = copies(model)

        with average.applied():
            outer = copies(model)
            inner = averaged(average, model)
            after = copies(model)

        assert are_equal(outer, inner)
        assert are_equal(outer, after)
        assert are_equal(copies(model), own)

    def test_step_while_applied_is_refused(self, attach: Attach) -> None:
        """Training the averaged weights would lose the model's own."""
        model, optimizer, average = train_net(attach)
        own = copies(model)

        with average.applied(), pytest.raises(RunError, check=WithFields(event="step")):
            take_step(model, optimizer, batch(99))

        assert are_equal(copies(model), own)

    def test_finishing_leaves_the_weights_that_were_applied(self, attach: Attach) -> None:
        for events in (EVENTS, EVENTS[:-3]):
            model, _, average = train_net(attach, events)
            applied = averaged(average, model)

            average.finish()

            assert are_equal(copies(model), applied)
            assert {name: tuple(t.shape) for name, t in average.chosen_weights().items()} == {
                name: tuple(p.shape) for name, p in model.named_parameters()
            }

    # ----------------------------------------------------------------------------- checkpoints

    @pytest.mark.parametrize("while_applied", [False, True])
    @pytest.mark.parametrize("attached_first", [False, True])
    def test_resumed_training_equals_an_uninterrupted_one(
        self, attach: Attach, *, while_applied: bool, attached_first: bool
    ) -> None:
        """After any step and any epoch, bit for bit, from the optimizer's own checkpoint."""
        model = Net()
        optimizer = adam(model)
        average = attach(model, optimizer)
        saved = []
        for event in EVENTS:
            play(average, model, optimizer, event)
            if while_applied and average.n_entered > 0:
                with average.applied():
                    saved.append(through_a_file([model.state_dict(), optimizer.state_dict()]))
            else:
                saved.append(through_a_file([model.state_dict(), optimizer.state_dict()]))
        expected, expected_average = copies(model), averaged(average, model)

        for n_done, (weights, state) in enumerate(saved, start=1):
            fresh = Net(seed=9)
            optimizer = adam(fresh)
            if attached_first:
                average = attach(fresh, optimizer)
            fresh.load_state_dict(weights)
            optimizer.load_state_dict(state)
            if not attached_first:
                average = attach(fresh, optimizer)
            for event in EVENTS[n_done:]:
                play(average, fresh, optimizer, event)

            assert are_equal(copies(fresh), expected), n_done
            assert are_equal(averaged(average, fresh), expected_average), n_done

    def test_saved_state_is_a_copy(self, attach: Attach) -> None:
        model, optimizer, average = train_net(attach, EVENTS[:10])
        state = average.state_dict()
        before = through_a_file(state)

        for event in EVENTS[10:]:
            play(average, model, optimizer, event)

        assert is_same_data(state, before)

    # ------------------------------------------------------------------------ kinds of training

    def test_gradient_accumulation_counts_optimizer_steps(self, attach: Attach) -> None:
        model, plain = Net(), Net()
        optimizer, other = SGD(model.parameters(), lr=0.1), SGD(plain.parameters(), lr=0.1)
        average, expected = attach(model, optimizer), attach(plain, other)
        for kind, index in EVENTS:
            if kind == "end":
                average.end_epoch()
                expected.end_epoch()
                continue
            optimizer.zero_grad()
            for half in batch(index).chunk(2):
                # Half of the mean over half of the batch: exact in floating point.
                torch.autograd.backward(loss_of(model, half) / 2)
            for copy, parameter in zip(plain.parameters(), model.parameters(), strict=True):
                copy.grad = None if parameter.grad is None else parameter.grad.clone()
            optimizer.step()
            other.step()

        assert average.n_steps == expected.n_steps == N_EPOCHS * N_STEPS
        assert average.n_entered == expected.n_entered
        assert are_equal(averaged(average, model), averaged(expected, plain))

    @pytest.mark.parametrize("fused", [False, True])
    def test_steps_that_amp_skips_do_not_count(self, attach: Attach, *, fused: bool) -> None:
        """Fused optimizers are called for them, others are not."""
        bad = {0, 5, 6}
        results = []
        for steps in (range(15), [step for step in range(15) if step not in bad]):
            model = Net()
            optimizer = Adam(model.parameters(), lr=0.05, fused=fused)
            average = attach(model, optimizer)
            # Scales are powers of two, so scaling is exact.
            scaler = torch.amp.GradScaler("cpu", init_scale=16.0)
            n_made = 0
            for step in steps:
                optimizer.zero_grad()
                loss = loss_of(model, batch(step)) * (float("inf") if step in bad else 1.0)
                torch.autograd.backward(scaler.scale(loss))
                scaler.step(optimizer)
                scaler.update()
                n_made += step not in bad
                if step not in bad and n_made % N_STEPS == 0:
                    average.end_epoch()
            results.append((average.n_steps, average.n_entered, averaged(average, model)))

        (n_steps, n_entered, weights), (_, expected_entered, expected) = results
        assert n_steps == 12
        assert n_entered == expected_entered
        assert are_equal(weights, expected)

    def test_compiled_models_are_averaged_like_others(self, attach: Attach) -> None:
        """The same bits under the same names, so checkpoints fit both."""
        model, plain = Net(), Net()
        compiled: Any = torch.compile(model, backend="eager")
        average = train(attach, compiled, adam(compiled))
        expected = train(attach, plain, adam(plain))

        assert are_equal(averaged(average, compiled), averaged(expected, plain))
        assert is_same_data(average.state_dict(), expected.state_dict())

    def test_all_groups_of_parameters_are_averaged(self, attach: Attach) -> None:
        model, plain = Net(), Net()
        groups: list[dict[str, Any]] = [
            {"params": list(model.first.parameters()), "lr": 0.05},
            {"params": [*model.norm.parameters(), *model.last.parameters()]},
        ]
        average = train(attach, model, Adam(groups, lr=0.05))
        expected = train(attach, plain, adam(plain))

        assert are_equal(averaged(average, model), averaged(expected, plain))

    def test_sparse_gradients_give_the_same_average_as_dense_ones(self, attach: Attach) -> None:
        sparse, dense, rare = Words(sparse=True), Words(sparse=False), Words(sparse=True)
        average = train(attach, sparse, SGD(sparse.parameters(), lr=0.5))
        expected = train(attach, dense, SGD(dense.parameters(), lr=0.5))

        train(attach, rare, SparseAdam(list(rare.parameters()), lr=0.05)).finish()

        assert are_equal(averaged(average, sparse), averaged(expected, dense))
        assert not torch.equal(rare.table.weight, Words(sparse=True).table.weight)

    def test_shared_weights_stay_shared_and_frozen_ones_unchanged(self, attach: Attach) -> None:
        model, plain = SharedAndFrozen(), Net()
        plain.norm.requires_grad_(requires_grad=False)
        average = train(attach, model, adam(model))
        expected = averaged(train(attach, plain, adam(plain)), plain)

        average.finish()

        final = copies(model)
        assert model.again is model.last
        assert torch.equal(final["again.weight"], final["last.weight"])
        assert all(torch.equal(final[name], expected[name]) for name in expected)
        assert torch.equal(model.norm.weight, SharedAndFrozen().norm.weight)

    @pytest.mark.parametrize("dtype", [torch.bfloat16, torch.float16, torch.float64])
    def test_weights_of_any_dtype_keep_it(self, attach: Attach, dtype: torch.dtype) -> None:
        """The average has at least 32 bits, and the weights are restored bit for bit."""
        model = Net(dtype=dtype)
        optimizer = SGD(model.parameters(), lr=0.1)
        average = train(attach, model, optimizer, EVENTS[:-2])
        own = copies(model)

        inside = averaged(average, model)

        kept = average.state_dict().get("average", {})
        assert are_equal(copies(model), own)
        assert all(tensor.dtype == dtype for tensor in inside.values())
        assert {t.dtype for t in kept.values()} <= {torch.promote_types(dtype, torch.float32)}
