import pytest

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
from seedproof.testing.trainings import Net, adam, n_hooks

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
    assert PRESETS[name].batch_norm == "average"


@pytest.mark.parametrize("name", CLASSES)
def test_class_has_the_settings_of_its_preset(name):
    model = Net()

    by_class = CLASSES[name](model, adam(model))

    assert by_class.policy == build(name, model, adam(model)).policy == PRESETS[name]


def test_policy_replaces_the_settings_of_a_preset():
    model, policy = Net(), Policy(enters="after-step", weighing=Decay(0.5))

    assert EMA(model, adam(model), policy).policy is policy
    assert build("ema", model, adam(model), policy=policy).policy is policy


def test_unknown_name_lists_the_known_ones():
    model = Net()
    optimizer = adam(model)

    with pytest.raises(UnknownNameError, check=WithFields(name="awsa")):
        build("awsa", model, optimizer)
    with pytest.raises(OptionError, check=WithFields(name="none")):
        build("none", model, optimizer, policy=Policy())

    assert n_hooks(optimizer) == 0
