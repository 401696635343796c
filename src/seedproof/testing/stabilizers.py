"""What every stabilizer promises, as tests: subclass the contract, and give a fixture.

    from seedproof.testing.stabilizers import StabilizerContract

    class TestMyAverage(StabilizerContract):
        @pytest.fixture
        def attach(self):
            return MyAverage  # called with a model and an optimizer

The trainings are small and draw from no global generator: three epochs of four steps.
"""
# ruff: noqa: S101 - these are tests, and pytest explains a plain assert best

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import pytest
import torch
from torch.optim import SGD, Adam, SparseAdam

from seedproof.errors import RunError
from seedproof.stabilize import AverageWarning
from seedproof.stabilize.average import STATE_KEY
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
)
from seedproof.training.rng import capture


@contextmanager
def unchanged_generators() -> Iterator[None]:
    """Fails if a global generator was drawn from inside."""
    before = capture()
    yield
    assert is_same_state(before, capture())


class StabilizerContract:
    """For every stabilizer; give a fixture `attach`.

    A stabilizer that cannot keep a promise sets the test to None, and says why.
    """

    @pytest.fixture
    def attach(self) -> Attach:
        """Attaches the stabilizer under test to a model and an optimizer; a subclass gives it."""
        raise NotImplementedError

    @pytest.fixture(autouse=True)
    def _one_thread(self) -> Iterator[None]:
        with one_thread():
            yield

    # -------------------------------------------------------------------- it leaves nothing behind

    def test_no_hook_is_left_when_it_is_finished(self, attach: Attach) -> None:
        """The optimizer is as if nobody had ever followed it."""
        model = Net()
        optimizer = adam(model)

        train(attach, model, optimizer).finish()

        assert n_hooks(optimizer) == 0
        assert STATE_KEY not in optimizer.state_dict()

    def test_no_hook_is_left_when_it_is_removed(self, attach: Attach) -> None:
        """And the model keeps its own weights."""
        model = Net()
        optimizer = adam(model)
        average = train(attach, model, optimizer)
        own = copies(model)

        average.remove()

        assert n_hooks(optimizer) == 0
        assert are_equal(copies(model), own)

    def test_no_hook_is_left_after_an_exception(self, attach: Attach) -> None:
        """Also if it is removed while the average is applied, which nobody then undoes."""
        model = Net()
        optimizer = adam(model)
        average = train(attach, model, optimizer, EVENTS[:-2])
        own = copies(model)

        def give_up() -> None:
            average.remove()
            raise ZeroDivisionError

        with pytest.raises(ZeroDivisionError), average.applied():
            give_up()

        assert n_hooks(optimizer) == 0
        assert are_equal(copies(model), own)

    def test_removing_twice_is_no_error(self, attach: Attach) -> None:
        """Nor is removing what is finished."""
        model = Net()
        optimizer = adam(model)
        average = train(attach, model, optimizer)

        average.finish()
        left = copies(model)
        average.remove()
        average.remove()

        assert are_equal(copies(model), left)

    def test_generators_and_the_training_flag_are_untouched(self, attach: Attach) -> None:
        """Nothing is drawn from any global generator, and nobody is put into another mode."""
        model = Net()
        model.norm.eval()
        modes = [module.training for module in model.modules()]
        optimizer = adam(model)

        with unchanged_generators():
            average = train(attach, model, optimizer)
            with average.applied():
                inside = [module.training for module in model.modules()]
            average.load_state_dict(average.state_dict())
            average.finish()

        assert [module.training for module in model.modules()] == inside == modes

    def test_other_hooks_of_the_optimizer_stay(self, attach: Attach) -> None:
        """Only its own are removed."""
        model, calls = Net(), []
        optimizer = adam(model)
        optimizer.register_step_post_hook(lambda *_: calls.append("step"))
        average = train(attach, model, optimizer)

        average.finish()
        take_step(model, optimizer, batch(99))

        assert len(calls) == N_EPOCHS * N_STEPS + 1

    # ------------------------------------------------------------------------ it does not disturb

    def test_within_an_epoch_the_training_is_as_without_it(self, attach: Attach) -> None:
        """It only looks on: bit by bit the same weights, also if they are averaged in between."""
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
        """Nor does looking at an average that has seen nothing."""
        model = Net()
        own = copies(model)
        average = attach(model, adam(model))

        with pytest.warns(AverageWarning) as caught, average.applied():
            inside = copies(model)

        assert warning_codes(caught) == ["no-update"]
        assert average.n_entered == 0
        assert are_equal(inside, own)
        assert are_equal(copies(model), own)

    def test_finishing_before_anything_entered_keeps_the_weights(self, attach: Attach) -> None:
        """And says so: an average that saw nothing is never put into a model."""
        model = Net()
        optimizer = adam(model)
        own = copies(model)
        average = attach(model, optimizer)

        with pytest.warns(AverageWarning) as caught:
            average.finish()

        assert warning_codes(caught) == ["no-update"]
        assert are_equal(copies(model), own)
        assert n_hooks(optimizer) == 0

    def test_weights_are_back_bit_by_bit(self, attach: Attach) -> None:
        """After every event of a training, and also if what was done with the average failed."""
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

    def test_it_can_be_applied_within_itself(self, attach: Attach) -> None:
        """The inner one changes nothing, and the outer one puts the weights back."""
        model = Net()
        average = train(attach, model, adam(model), EVENTS[:-2])
        own = copies(model)

        with average.applied():
            outer = copies(model)
            inner = averaged(average, model)
            after = copies(model)

        assert are_equal(outer, inner)
        assert are_equal(outer, after)
        assert are_equal(copies(model), own)

    def test_a_step_while_it_is_applied_is_refused(self, attach: Attach) -> None:
        """Training the averaged weights would lose the model's own."""
        model = Net()
        optimizer = adam(model)
        average = train(attach, model, optimizer)
        own = copies(model)

        with average.applied(), pytest.raises(RunError, check=WithFields(event="step")):
            take_step(model, optimizer, batch(99))

        assert are_equal(copies(model), own)

    def test_what_is_finished_is_what_was_applied(self, attach: Attach) -> None:
        """The weights that were evaluated last are those that stay."""
        for events in (EVENTS, EVENTS[:-3]):
            model = Net()
            average = train(attach, model, adam(model), events)
            shown = averaged(average, model)

            average.finish()

            assert are_equal(copies(model), shown)
            assert {name: tuple(t.shape) for name, t in average.chosen_weights().items()} == {
                name: tuple(p.shape) for name, p in model.named_parameters()
            }

    # ------------------------------------------------------------------- it can stop and go on

    @pytest.mark.parametrize("while_applied", [False, True])
    def test_a_resumed_training_equals_an_uninterrupted_one(
        self, attach: Attach, *, while_applied: bool
    ) -> None:
        """After any step and any end of an epoch, bit by bit, from what other tools save too."""
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
            average = attach(fresh, optimizer)
            fresh.load_state_dict(weights)
            optimizer.load_state_dict(state)
            for event in EVENTS[n_done:]:
                play(average, fresh, optimizer, event)

            assert are_equal(copies(fresh), expected), n_done
            assert are_equal(averaged(average, fresh), expected_average), n_done

    def test_what_was_saved_does_not_change_any_more(self, attach: Attach) -> None:
        """So that a state in memory is as good as a file."""
        model = Net()
        optimizer = adam(model)
        average = train(attach, model, optimizer, EVENTS[:10])
        state = average.state_dict()
        kept = through_a_file(state)

        for event in EVENTS[10:]:
            play(average, model, optimizer, event)

        assert is_same_data(state, kept)

    # ------------------------------------------------------- it works with whatever people train

    def test_gradient_accumulation_counts_steps_of_the_optimizer(self, attach: Attach) -> None:
        """Two backward passes and one step are one iteration."""
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
                # Half of a mean over half of the batch; such halves are exact.
                torch.autograd.backward(loss_of(model, half) / 2)
            for mine, theirs in zip(plain.parameters(), model.parameters(), strict=True):
                mine.grad = None if theirs.grad is None else theirs.grad.clone()
            optimizer.step()
            other.step()

        assert average.n_steps == expected.n_steps == N_EPOCHS * N_STEPS
        assert average.n_entered == expected.n_entered
        assert are_equal(averaged(average, model), averaged(expected, plain))

    @pytest.mark.parametrize("fused", [False, True])
    def test_steps_that_amp_skips_do_not_count(self, attach: Attach, *, fused: bool) -> None:
        """Fused optimizers are called on them, and others are not; the average is the same."""
        bad = {0, 5, 6}
        results = []
        for steps in (range(15), [step for step in range(15) if step not in bad]):
            model = Net()
            optimizer = Adam(model.parameters(), lr=0.05, fused=fused)
            average = attach(model, optimizer)
            # Scales are powers of two: they change no bit of what they scale.
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
        """The same bits under the same names, so that a checkpoint fits both."""
        model, plain = Net(), Net()
        compiled: Any = torch.compile(model, backend="eager")
        average = train(attach, compiled, adam(compiled))
        expected = train(attach, plain, adam(plain))

        assert are_equal(averaged(average, compiled), averaged(expected, plain))
        assert is_same_data(average.state_dict(), expected.state_dict())

    def test_all_groups_of_parameters_are_averaged(self, attach: Attach) -> None:
        """How parameters are grouped is the optimizer's affair."""
        model, plain = Net(), Net()
        groups: list[dict[str, Any]] = [
            {"params": list(model.first.parameters()), "lr": 0.05},
            {"params": [*model.norm.parameters(), *model.last.parameters()]},
        ]
        average = train(attach, model, Adam(groups, lr=0.05))
        expected = train(attach, plain, adam(plain))

        assert are_equal(averaged(average, model), averaged(expected, plain))

    def test_sparse_gradients_are_gradients(self, attach: Attach) -> None:
        """The same average as with dense ones; and sparse optimizers are optimizers."""
        sparse, dense, rare = Words(sparse=True), Words(sparse=False), Words(sparse=True)
        average = train(attach, sparse, SGD(sparse.parameters(), lr=0.5))
        expected = train(attach, dense, SGD(dense.parameters(), lr=0.5))

        train(attach, rare, SparseAdam(list(rare.parameters()), lr=0.05)).finish()

        assert are_equal(averaged(average, sparse), averaged(expected, dense))
        assert not torch.equal(rare.table.weight, Words(sparse=True).table.weight)

    def test_shared_weights_stay_shared_and_frozen_ones_as_they_are(self, attach: Attach) -> None:
        """Shared ones count once: a second name for a layer changes nothing."""
        model, plain = SharedAndFrozen(), Net()
        plain.norm.requires_grad_(requires_grad=False)
        average = train(attach, model, adam(model))
        expected = averaged(train(attach, plain, adam(plain)), plain)

        average.finish()

        found = copies(model)
        assert model.again is model.last
        assert torch.equal(found["again.weight"], found["last.weight"])
        assert all(torch.equal(found[name], expected[name]) for name in expected)
        assert torch.equal(model.norm.weight, SharedAndFrozen().norm.weight)

    @pytest.mark.parametrize("dtype", [torch.bfloat16, torch.float16, torch.float64])
    def test_weights_of_any_dtype_keep_it(self, attach: Attach, dtype: torch.dtype) -> None:
        """The average has at least 32 bits, and weights come back bit by bit."""
        model = Net(dtype=dtype)
        optimizer = SGD(model.parameters(), lr=0.1)
        average = train(attach, model, optimizer, EVENTS[:-2])
        own = copies(model)

        inside = averaged(average, model)

        kept = average.state_dict().get("average", {})
        assert are_equal(copies(model), own)
        assert all(tensor.dtype == dtype for tensor in inside.values())
        assert {t.dtype for t in kept.values()} <= {torch.promote_types(dtype, torch.float32)}
