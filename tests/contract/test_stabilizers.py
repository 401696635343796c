"""The stabilizer contract, for the stabilizers of this package."""

import pytest

from seedproof.stabilize import (
    PRESETS,
    Decay,
    Mean,
    NormRule,
    Policy,
    WeightAverage,
    build,
)
from seedproof.stabilize.optimizer_state import saved_average
from seedproof.testing.stabilizers import StabilizerContract
from seedproof.testing.trainings import Net, adam, are_equal, averaged, copies, train

# Switches that no preset turns, each at least once.
UNUSUAL = {
    "swapped at the end of epochs": Policy(enters="epoch-end", restart="swap"),
    "reset and sparse": Policy(
        enters="after-step", every=3, restart="assign", optimizer_state="reset"
    ),
    "late and choosy": Policy(
        enters="after-step",
        weighing=Decay(0.5, warm_up=False),
        after_steps=3,
        accept=NormRule(2, keep_zeros=False),
        begins_with="first",
    ),
    "choosy at the end of epochs": Policy(
        enters="epoch-end",
        weighing=Mean("accepted"),
        accept=NormRule(1, clear_each_epoch=True),
        restart="assign",
        batch_norm="copy",
    ),
}


@pytest.mark.parametrize("name", [name for name in PRESETS if name != "none"])
class TestPresets(StabilizerContract):
    """All presets except `none`."""

    @pytest.fixture
    def attach(self, name):
        return lambda model, optimizer: build(name, model, optimizer)


@pytest.mark.parametrize("policy", UNUSUAL.values(), ids=UNUSUAL)
class TestPolicies(StabilizerContract):
    """Settings that no preset has."""

    @pytest.fixture
    def attach(self, policy):
        return lambda model, optimizer: WeightAverage(model, optimizer, policy)


class TestNone(StabilizerContract):
    """The baseline arm."""

    # There is no average that could be empty, nor one that a step could spoil.
    test_attaching_changes_no_weight = None
    test_finishing_an_empty_average_warns_and_keeps_the_weights = None
    test_step_while_applied_is_refused = None
    # Nothing is counted, and there is nothing to show.
    test_steps_that_amp_skips_do_not_count = None
    test_gradient_accumulation_counts_optimizer_steps = None
    test_finishing_leaves_the_weights_that_were_applied = None

    @pytest.fixture
    def attach(self):
        return lambda model, optimizer: build("none", model, optimizer)

    def test_none_has_no_hooks_no_state_and_no_effect(self, attach):
        model = Net()
        optimizer = adam(model)
        average = train(attach, model, optimizer)
        own = copies(model)

        assert are_equal(averaged(average, model), own)
        assert average.state_dict() == {}
        assert (average.n_steps, average.n_entered, average.is_attached) == (0, 0, False)
        assert saved_average(optimizer.state_dict()["param_groups"]) is None
