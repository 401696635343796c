import pytest
from seedproof_reproductions import models
from seedproof_reproductions.conll2019.settings import ARMS, ATTENTIONS, ENCODERS, Setting

from seedproof.errors import OptionError
from seedproof.stabilize import PRESETS


def test_the_defaults_are_the_papers():
    """Adam's learning rate and decay, batch and epochs as published."""
    setting = Setting()

    assert (setting.epochs, setting.batch_size) == (20, 32)
    assert (setting.learning_rate, setting.weight_decay) == (1e-3, 1e-5)
    assert setting.name == "sst-cnn-additive"


@pytest.mark.parametrize(
    "setting",
    [
        Setting(),
        Setting().smoke(),
        Setting(dataset="snli", encoder="lstm", attention="dot", learning_rate=0.01, n_test=50),
        Setting(vectors="my vectors=1.txt", n_dimensions=300),
    ],
)
def test_arguments_say_everything(setting):
    """A run is called with its arguments alone, and finds the same setting."""
    assert Setting.from_arguments(setting.as_arguments()) == setting


def test_defaults_are_left_out_of_arguments():
    """A setting that is added later changes no run that exists."""
    assert Setting().as_arguments() == ("dataset=sst", "encoder=cnn", "attention=additive")


def test_what_is_not_the_papers_is_in_the_name():
    """Two settings never share a name, which becomes a file."""
    name = Setting(epochs=3, n_train=500, vectors="a/b.txt").name

    assert name == "sst-cnn-additive-epochs-3-vectors-a-b.txt-n-train-500"


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"dataset": "sts"}, "Known: sst, imdb"),
        ({"encoder": "rnn"}, "Known: cnn, lstm"),
        ({"attention": "tanh"}, "Known: additive, dot"),
        ({"epochs": 0}, "epochs is 0"),
        ({"batch_size": True}, "batch_size is True"),
        ({"n_train": 1}, "n_train is 1"),
    ],
)
def test_what_is_not_possible_is_refused(change, message):
    """The message says what is allowed."""
    with pytest.raises(OptionError, match=message):
        Setting(**change)


@pytest.mark.parametrize("argument", ["epoch=3", "epochs=three", "epochs"])
def test_an_unknown_argument_is_refused(argument):
    """A typo must not train something else."""
    with pytest.raises(OptionError):
        Setting.from_arguments([argument])


def test_names_are_those_of_models_and_stabilizers():
    """The lists are kept twice, since one of them must not need torch."""
    assert tuple(models.ENCODERS) == ENCODERS
    assert tuple(models.ATTENTIONS) == ATTENTIONS
    assert tuple(PRESETS) == ARMS
