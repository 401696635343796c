import pickle
from dataclasses import FrozenInstanceError, replace

import pytest

from seedproof.errors import OptionError
from seedproof.stabilize import PRESETS, Decay, Mean, NormRule, Policy, Window
from seedproof.testing.errors import WithFields


@pytest.mark.parametrize("policy", [p for p in PRESETS.values() if p is not None])
def test_policies_are_frozen_and_picklable(policy):
    with pytest.raises(FrozenInstanceError):
        policy.every = 2

    assert pickle.loads(pickle.dumps(policy)) == policy  # noqa: S301 - our own bytes
    assert replace(policy, every=2) != policy


@pytest.mark.parametrize(
    ("field", "value"),
    [
        ("enters", "sometimes"),
        ("begins_with", "last"),
        ("restart", "yes"),
        ("optimizer_state", "drop"),
        ("batch_norm", "none"),
    ],
)
def test_unknown_choice_lists_the_known_ones(field, value):
    with pytest.raises(OptionError, check=WithFields(option=field, choice=value)) as caught:
        Policy(**{field: value})

    assert getattr(Policy(), field) in caught.value.fields["known"]


@pytest.mark.parametrize(
    ("field", "value"),
    [
        ("first_counts", 0),
        ("after_steps", -1),
        ("after_epochs", -1),
        ("every", 0),
        ("every", 1.5),
        ("every", True),
    ],
)
def test_counts_must_be_whole_numbers(field, value):
    with pytest.raises(OptionError, check=WithFields(option=field, number=value)):
        Policy(**{field: value})


def test_parts_of_a_policy_refuse_bad_values():
    with pytest.raises(
        OptionError, check=WithFields(option="over", choice="all", known=("iterations", "accepted"))
    ):
        Mean("all")
    with pytest.raises(OptionError, check=WithFields(option="order", choice=3, known=(1, 2))):
        NormRule(3)
    for decay in (0.0, 1.0, float("nan")):
        with pytest.raises(OptionError, check=WithFields(decay=decay)):
            Decay(decay)
    for length in (0, 2.5):
        with pytest.raises(OptionError, check=WithFields(length=length)):
            Window(length)


@pytest.mark.parametrize(
    "other",
    [{"enters": "after-step"}, {"accept": NormRule()}, {"restart": "swap"}],
)
def test_window_needs_ends_of_epochs_without_test_or_swap(other):
    settings = {"enters": "epoch-end", "weighing": Window(2), "begins_with": "first"}
    Policy(**settings)

    with pytest.raises(OptionError, check=WithFields(option="weighing")):
        Policy(**{**settings, **other})
