import pytest

from seedproof.errors import OptionError
from seedproof.papers.findings2023.settings import Setting


def test_a_setting_names_itself_and_comes_back():
    """Defaults are left out of names and arguments."""
    setting = Setting("massive", epochs=2, n_train=600)

    assert setting.name == "massive-head-epochs-2-n-train-600"
    assert Setting.from_arguments(setting.as_arguments()) == setting
    assert Setting().as_arguments() == ("dataset=clinc150", "track=head")


@pytest.mark.parametrize(
    ("dataset", "n_train", "start"), [("clinc150", 15_000, 200), ("massive", 11_514, 180)]
)
def test_a_teacher_begins_where_the_papers_did(dataset, n_train, start):
    """With as many utterances, epochs and batches as it had."""
    assert Setting(dataset).teacher_start(n_train) == start


def test_a_shorter_training_begins_at_the_same_share():
    """Two of three batches of two epochs come before: 200 of 295 steps are 68 %."""
    assert Setting("clinc150", epochs=2).teacher_start(600) == 4


@pytest.mark.parametrize(
    "given", [{"dataset": "sst"}, {"track": "frozen"}, {"epochs": 0}, {"batch_size": -1}]
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
