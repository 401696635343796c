import pytest

from seedproof.errors import OptionError
from seedproof.stabilize import PRESETS
from seedproof_reproductions import models
from seedproof_reproductions.conll2019 import settings as conll2019
from seedproof_reproductions.findings2023 import settings as findings2023


def test_the_defaults_of_conll2019_are_the_papers():
    """Adam's learning rate and decay, batch and epochs as published."""
    setting = conll2019.Setting()

    assert (setting.epochs, setting.batch_size) == (20, 32)
    assert (setting.learning_rate, setting.weight_decay) == (1e-3, 1e-5)


@pytest.mark.parametrize(
    ("setting", "name"),
    [
        (conll2019.Setting(), "sst-cnn-additive"),
        (
            conll2019.Setting("snli", "lstm", "dot", learning_rate=0.01),
            "snli-lstm-dot-learning-rate-0.01",
        ),
        (
            conll2019.Setting(epochs=3, n_train=500, vectors="a/b=1.txt"),
            "sst-cnn-additive-epochs-3-vectors-a-b-1.txt-n-train-500",
        ),
        (
            findings2023.Setting("massive", epochs=2, n_train=600),
            "massive-head-epochs-2-n-train-600",
        ),
        (
            findings2023.Setting().smoke(),
            "clinc150-head-epochs-2-batch-size-32-n-train-600-n-test-300",
        ),
    ],
)
def test_a_setting_is_named_by_its_changes_and_read_from_its_arguments(setting, name):
    """A run is called with its arguments alone; what explains a model is skipped."""
    assert setting.name == name
    assert type(setting).from_arguments((*setting.as_arguments(), "explain.n_lime=5")) == setting


def test_defaults_are_left_out_of_arguments():
    """A setting that is added later changes no run that exists."""
    assert conll2019.Setting().as_arguments() == (
        "dataset=sst",
        "encoder=cnn",
        "attention=additive",
    )
    assert findings2023.Setting().as_arguments() == ("dataset=clinc150", "track=head")


@pytest.mark.parametrize(
    ("paper", "change"),
    [
        (conll2019, {"dataset": "sts"}),
        (conll2019, {"encoder": "rnn"}),
        (conll2019, {"attention": "tanh"}),
        (conll2019, {"epochs": 0}),
        (conll2019, {"batch_size": True}),
        (conll2019, {"n_train": 1}),
        (findings2023, {"dataset": "sst"}),
        (findings2023, {"track": "both"}),
        (findings2023, {"dropout": 1.0}),
        (findings2023, {"n_traced": -1}),
        (findings2023, {"batch_size": -1}),
    ],
)
def test_an_impossible_value_is_refused(paper, change):
    """Before anything is trained."""
    with pytest.raises(OptionError):
        paper.Setting(**change)


@pytest.mark.parametrize("argument", ["epoch=3", "epochs=three", "epochs", "color=red"])
def test_an_unknown_argument_is_refused(argument):
    """A typo must not train something else."""
    with pytest.raises(OptionError):
        conll2019.Setting.from_arguments([argument])


def test_names_are_those_of_models_and_stabilizers():
    """The lists are kept twice, since one of them must not need torch."""
    choices = conll2019.Setting.choices
    assert tuple(models.ENCODERS) == choices["encoder"]
    assert tuple(models.ATTENTIONS) == choices["attention"]
    assert tuple(PRESETS) == conll2019.ARMS


@pytest.mark.parametrize(
    ("dataset", "n_steps", "start"),
    # Five epochs of 59 and of 45 batches; 200 of 295 steps are 68 %: four of six.
    [("clinc150", 295, 200), ("massive", 225, 180), ("clinc150", 6, 4)],
)
def test_a_teacher_starts_at_the_papers_share_of_the_steps(dataset, n_steps, start):
    """With as many steps as it had, at the same step."""
    assert findings2023.Setting(dataset).teacher_start(n_steps) == start
