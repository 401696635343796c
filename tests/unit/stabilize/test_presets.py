from dataclasses import replace

import pytest
import torch

from seedproof.errors import OptionError, UnknownNameError
from seedproof.stabilize import (
    ASWA,
    EMA,
    LAWA,
    NASWA,
    PRESETS,
    SWA,
    Decay,
    Mean,
    NormRule,
    Policy,
    SwitchEMA,
    Window,
    build,
)
from seedproof.testing.errors import WithFields
from seedproof.testing.trainings import Net, adam, batch, n_hooks, take_step

CLASSES = {
    "aswa": ASWA,
    "naswa": NASWA,
    "swa": SWA,
    "ema": EMA,
    "switch-ema": SwitchEMA,
    "lawa": LAWA,
}


def test_preset_names():
    assert [*PRESETS] == [
        "none",
        "aswa",
        "aswa-code",
        "naswa",
        "naswa-code",
        "swa",
        "ema",
        "switch-ema",
        "lawa",
    ]


# Settings that only a long training would show, or none: they are stated here once more.
@pytest.mark.parametrize(
    ("name", "settings"),
    [
        ("aswa", {"weighing": Mean("iterations"), "restart": "assign", "optimizer_state": "keep"}),
        ("naswa", {"accept": NormRule(1), "restart": "assign", "optimizer_state": "keep"}),
        ("aswa-code", {"restart": "swap", "optimizer_state": "keep"}),
        ("naswa-code", {"accept": NormRule(2, clear_each_epoch=True, keep_zeros=False)}),
        ("swa", {"after_epochs": 1, "restart": "none"}),
        ("ema", {"weighing": Decay(0.998), "restart": "none"}),
        ("switch-ema", {"weighing": Decay(0.998), "restart": "assign"}),
        ("lawa", {"weighing": Window(5), "restart": "none"}),
    ],
)
def test_presets_have_the_published_settings(name, settings):
    actual = {field: getattr(PRESETS[name], field) for field in settings}

    assert actual == settings
    assert PRESETS[name].batch_norm == ("copy" if name in {"aswa", "naswa"} else "average")


@pytest.mark.parametrize("name", CLASSES)
def test_class_has_the_settings_of_its_preset(name):
    model = Net()

    by_class = CLASSES[name](model, adam(model))

    assert by_class.policy == build(name, model, adam(model)).policy == PRESETS[name]


def test_policy_replaces_the_settings_of_a_preset():
    model, policy = Net(), Policy(enters="after-step", weighing=Decay(0.5))

    assert EMA(model, adam(model), policy).policy is policy
    assert build("ema", model, adam(model), policy=policy).policy is policy


@pytest.mark.parametrize(
    ("name", "options", "expected"),
    [
        ("ema", {"decay": 0.999}, {"weighing": Decay(0.999)}),
        ("ema", {"start": 100}, {"after_steps": 100, "begins_with": "first"}),
        ("ema", {"start": 0}, {"after_steps": 0, "begins_with": "weights"}),
        ("swa", {"start": 3}, {"after_epochs": 3, "after_steps": 0}),
        ("lawa", {"window": 3, "every": 2}, {"weighing": Window(3), "every": 2}),
        ("aswa", {"batch_norm": "average"}, {"batch_norm": "average"}),
        ("switch-ema", {"decay": 0.9, "batch_norm": "copy"}, {"weighing": Decay(0.9)}),
    ],
)
def test_options_change_single_settings_of_a_preset(name, options, expected):
    model = Net()

    policy = build(name, model, adam(model), **options).policy

    assert policy == replace(PRESETS[name], **{**options_of(options), **expected})


def options_of(options):
    """Return the options that have the name of a setting."""
    return {name: options[name] for name in ("every", "batch_norm") if name in options}


@pytest.mark.parametrize(
    ("name", "options", "fields"),
    [
        ("ema", {"dekay": 0.9}, {"option": "dekay"}),
        ("none", {"dekay": 0.9}, {"option": "dekay"}),
        ("aswa", {"decay": 0.9}, {"option": "decay", "others": ("ema", "switch-ema")}),
        ("ema", {"window": 3}, {"option": "window", "others": ("lawa",)}),
        ("ema", {"decay": 1.0}, {"decay": 1.0}),
        ("ema", {"start": -1}, {"option": "start"}),
        ("ema", {"start": 0.5}, {"option": "start"}),
        ("lawa", {"window": 0}, {"length": 0}),
        ("ema", {"batch_norm": "refreshed"}, {"option": "batch_norm"}),
        ("ema", {"decay": 0.9, "policy": Policy()}, {"option": "decay"}),
    ],
)
def test_options_that_do_not_apply_are_refused_by_name(name, options, fields):
    model = Net()
    optimizer = adam(model)

    with pytest.raises(OptionError, check=WithFields(**fields)):
        build(name, model, optimizer, **options)

    assert n_hooks(optimizer) == 0


def test_misspelled_option_lists_the_known_ones():
    model = Net()

    with pytest.raises(OptionError) as caught:
        build("ema", model, adam(model), dekay=0.9)

    assert {"decay", "window", "start", "every", "batch_norm"} <= {*caught.value.fields["known"]}


def test_control_arm_ignores_the_options_of_other_arms():
    model = Net()

    assert build("none", model, adam(model), decay=0.999).policy is None


def test_late_start_leaves_out_the_weights_before_it():
    """The average of the weights after the third and the fourth step, by hand."""
    model = Net()
    optimizer = adam(model)
    average = build("ema", model, optimizer, start=3)
    seen = []
    for i in range(4):
        take_step(model, optimizer, batch(i))
        seen.append(model.last.weight.detach().clone())

    # The warm-up's decay after one entry: (1 + 1) / (10 + 1).
    expected = 2 / 11 * seen[2] + 9 / 11 * seen[3]
    torch.testing.assert_close(average.chosen_weights()["last.weight"], expected)


def test_unknown_name_lists_the_known_ones():
    model = Net()
    optimizer = adam(model)

    with pytest.raises(UnknownNameError, check=WithFields(name="awsa")):
        build("awsa", model, optimizer)
    with pytest.raises(OptionError, check=WithFields(name="none")):
        build("none", model, optimizer, policy=Policy())

    assert n_hooks(optimizer) == 0
