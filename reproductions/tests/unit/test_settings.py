import pytest

from seedproof.errors import OptionError
from seedproof.stabilize import PRESETS
from seedproof_reproductions import models
from seedproof_reproductions.conll2019 import settings as conll2019
from seedproof_reproductions.conll2019.settings import Setting
from seedproof_reproductions.datasets.catalog import LOADERS
from seedproof_reproductions.findings2023.settings import Setting as Setting2023
from seedproof_reproductions.thesis2019.models import MODELS
from seedproof_reproductions.thesis2019.settings import Setting as Setting2019


@pytest.mark.parametrize(
    ("setting", "name"),
    [
        (Setting(), "sst-cnn-additive"),
        (Setting("snli", "lstm", "dot", n_train=5, vectors="a/b=1"), "snli-lstm-dot-vectors-a-b-1-n-train-5"),
        (Setting2023("massive", epochs=2, dropout=0.5), "massive-head-epochs-2-dropout-0.5"),
        (Setting2023("massive", n_traced=5), "massive-head"),
        (Setting2019("gmf", "three", n_users=50), "gmf-three-n-users-50"),
    ],
)  # fmt: skip
def test_setting_is_named_by_its_changes_and_read_from_its_arguments(setting, name):
    """Arguments of the explanation are skipped."""
    assert setting.name == name
    assert type(setting).from_arguments((*setting.as_arguments(), "explain.n_lime=5")) == setting


def test_defaults_are_left_out_of_arguments():
    """A new setting does not change existing runs."""
    assert Setting().as_arguments() == ("dataset=sst", "encoder=cnn", "attention=additive")
    assert Setting2023().as_arguments() == ("dataset=clinc150", "track=head")


@pytest.mark.parametrize(
    ("kind", "argument"),
    [
        (Setting, "dataset=sts"), (Setting, "encoder=rnn"), (Setting, "epochs=0"),
        (Setting, "n_train=1"), (Setting, "epoch=3"), (Setting, "epochs=three"),
        (Setting, "epochs"), (Setting2023, "track=both"), (Setting2023, "dropout=1.0"),
        (Setting2023, "n_traced=-1"), (Setting2019, "model=mlp"), (Setting2019, "n_positives=0"),
    ],
)  # fmt: skip
def test_invalid_values_and_unknown_arguments_are_refused(kind, argument):
    """A typo must not train something else."""
    with pytest.raises(OptionError):
        kind.from_arguments([argument])


def test_names_match_models_stabilizers_and_data_sets():
    """The lists exist twice, because one of them must not import torch."""
    assert tuple(models.ENCODERS) == Setting.choices["encoder"]
    assert tuple(models.ATTENTIONS) == Setting.choices["attention"]
    assert (*PRESETS, "none-decayed") == conll2019.ARMS
    assert set(LOADERS) == set(conll2019.MIN_COUNTS)
    assert set(MODELS) == set(Setting2019.choices["model"])


@pytest.mark.parametrize(
    ("dataset", "n_steps", "start"),
    # Five epochs of 59 and of 45 batches; 200 of 295 steps are 68 %: four of six.
    [("clinc150", 295, 200), ("massive", 225, 180), ("clinc150", 6, 4)],
)
def test_teacher_starts_at_the_published_share_of_the_steps(dataset, n_steps, start):
    """With the published number of steps, at the published step."""
    assert Setting2023(dataset).teacher_start(n_steps) == start
