from dataclasses import replace

import numpy as np
import pytest
import torch
from torch.nn.utils import parameters_to_vector

from seedproof.seeds import SeedPlan
from seedproof.training.run import Run
from seedproof.training.spec import StudySpec
from seedproof_reproductions.thesis2019.arms import ARMS, arm_of
from seedproof_reproductions.thesis2019.data import prepare
from seedproof_reproductions.thesis2019.models import MODELS
from seedproof_reproductions.thesis2019.ranking import answer
from seedproof_reproductions.thesis2019.settings import Schedule, Setting
from seedproof_reproductions.thesis2019.sources import INIT, NEGATIVES, ORDER, PRETRAINING, Sources
from seedproof_reproductions.thesis2019.training import fit, loss_of, pretrain, train_models

pytestmark = pytest.mark.usefixtures("single_thread")
SETTING = Setting(epochs=1, n_factors=4, n_positives=3, pretraining_epochs=1)


@pytest.fixture
def prepared(made_movielens):
    """Sixty users of two tastes."""
    del made_movielens
    return prepare(SETTING)


def run_with(source=None, arm="none"):
    """A run whose seed of one source is another."""
    plan = SeedPlan.one_at_a_time(2, (source,)) if source else SeedPlan.all(1)
    return Run(StudySpec("made", "train", plan, arms=(arm,)).runs()[-1], checks_at_once=True)


def trained(prepared, source=None, arm="none", setting=SETTING):
    """All weights of the trained models."""
    models = train_models(run_with(source, arm), prepared, setting, arm_of(arm))
    return torch.cat([parameters_to_vector(model.parameters()) for model in models])


@pytest.mark.parametrize("source", [INIT, ORDER, NEGATIVES, PRETRAINING])
def test_each_source_of_randomness_changes_the_weights(prepared, source):
    """The same seeds give the same bits."""
    weights = trained(prepared)

    assert torch.equal(weights, trained(prepared))
    assert not torch.equal(weights, trained(prepared, source))


@pytest.mark.parametrize(
    ("arm", "source", "setting"),
    [
        ("shared-pretraining", PRETRAINING, SETTING), ("fixed-init", INIT, SETTING),
        ("fixed-init", INIT, replace(SETTING, model="gmf")),
        ("none", PRETRAINING, replace(SETTING, pretraining_epochs=0)),
        ("none", PRETRAINING, replace(SETTING, model="neumf")),
    ],
)  # fmt: skip
def test_source_that_runs_share_changes_nothing(prepared, arm, source, setting):
    first, other = (trained(prepared, varied, arm, setting) for varied in (None, source))

    assert torch.equal(first, other)
    assert not torch.equal(first, trained(prepared, ORDER, arm, setting))


@pytest.mark.parametrize("arm", [name for name in ARMS if name != "none"])
def test_every_arm_trains_another_model(prepared, arm):
    assert not torch.equal(trained(prepared), trained(prepared, arm=arm))


@pytest.mark.parametrize("source", [INIT, ORDER, NEGATIVES, PRETRAINING])
def test_models_of_a_mean_differ_and_the_first_is_that_of_the_baseline(prepared, source):
    single = trained(prepared)

    members = trained(prepared, arm="mean-4").split(len(single))
    others = trained(prepared, source, arm="mean-4").split(len(single))

    assert torch.equal(members[0], single)
    assert len({tuple(weights.tolist()) for weights in (*members, *others)}) == 8


@pytest.mark.usefixtures("made_movielens")
def test_three_outputs_begin_with_the_vectors_of_a_model_with_one():
    """FISM does not separate ratings; the three classes of the answers do."""
    setting = replace(SETTING, output="three")
    prepared = prepare(setting)

    models = train_models(run_with(), prepared, setting, arm_of("none"))

    probs = answer(models, prepared).probs
    assert probs.shape == (60, 30, 3)
    np.testing.assert_allclose(probs.sum(axis=2), 1, atol=1e-5)


@pytest.mark.parametrize("model", MODELS)
def test_models_learn_the_tastes_of_users(prepared, make_run, model):
    """Five of thirty candidates are of the user's taste, so that chance hits 1 of 6 at 5."""
    sources = Sources.of(make_run(), arm_of("none"))
    with sources.init:
        made = MODELS[model](prepared.histories, 8, 2)

    fit(made, prepared, Schedule(16, 0.02, 8 if made.reads_histories else 256, 8), sources)

    assert answer([made], prepared).metrics(5)["hit_rate_5_candidates"] > 0.5


def test_fism_learns_the_tastes_of_users(prepared):
    """Items that a user has not rated score higher if they are of the user's taste."""
    model = pretrain(prepared, Schedule(8, 0.05, 8, 8), Sources.from_seed(0))

    users, items = (grid.reshape(-1) for grid in np.mgrid[:60, :120])
    with torch.no_grad():
        logits = model(torch.from_numpy(users), torch.from_numpy(items))[:, 0].numpy()
    is_new = ~prepared.histories.is_seen.numpy().reshape(-1)
    is_liked = users % 2 == items % 2
    assert logits[is_new & is_liked].mean() > logits[is_new & ~is_liked].mean() + 1


def test_loss_is_the_weighted_cross_entropy():
    """The weighted mean of −ln of the probability of the gold class; a sigmoid is alike."""
    logits, labels = torch.tensor([[0.3, -1.0], [2.0, 0.5], [0.1, 0.2]]), torch.tensor([1, 0, 0])
    weights = torch.tensor([0.625, 2.5])

    losses = -logits.log_softmax(1)[torch.arange(3), labels].numpy()

    # Single precision.
    assert float(loss_of(logits, labels)) == pytest.approx(losses.mean(), rel=1e-6)
    wanted = np.average(losses, weights=weights[labels])
    assert float(loss_of(logits, labels, weights)) == pytest.approx(wanted, rel=1e-6)
    single = (logits[:, 1] - logits[:, 0]).view(-1, 1)
    assert float(loss_of(single, labels, weights)) == pytest.approx(wanted, rel=1e-6)
    assert torch.equal(loss_of(single, 2 * labels, weights), loss_of(single, labels, weights))
