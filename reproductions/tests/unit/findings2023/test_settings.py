import pytest
from seedproof_reproductions.findings2023.settings import Setting

from seedproof.errors import OptionError


def test_a_setting_names_itself_and_comes_back():
    """Defaults are left out of names and arguments."""
    setting = Setting("massive", epochs=2, n_train=600)

    assert setting.name == "massive-head-epochs-2-n-train-600"
    assert Setting.from_arguments(setting.as_arguments()) == setting
    assert Setting().as_arguments() == ("dataset=clinc150", "track=head")


@pytest.mark.parametrize(
    ("dataset", "n_steps", "start"), [("clinc150", 295, 200), ("massive", 225, 180)]
)
def test_a_teacher_begins_where_the_papers_did(dataset, n_steps, start):
    """With as many steps as it had: 5 epochs of 59 and of 45 batches."""
    assert Setting(dataset).teacher_start(n_steps) == start


def test_another_training_begins_at_the_same_share():
    """200 of 295 steps are 68 %: four of six."""
    assert Setting("clinc150").teacher_start(6) == 4


@pytest.mark.parametrize(
    "given",
    [
        {"dataset": "sst"},
        {"track": "both"},
        {"dropout": 1.0},
        {"n_train": 1},
        {"n_traced": -1},
        {"epochs": 0},
        {"batch_size": -1},
    ],
)
def test_what_is_not_possible_is_refused(given):
    """With what is."""
    with pytest.raises(OptionError):
        Setting(**given)


@pytest.mark.parametrize("argument", ["color=red", "epochs=many"])
def test_arguments_that_are_none_are_refused(argument):
    """A typo is not a default."""
    with pytest.raises(OptionError):
        Setting.from_arguments([argument])
