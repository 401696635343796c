import numpy as np
import pytest
import torch

from seedproof.errors import UnreadableError
from seedproof_reproductions.datasets.movielens import load_ages
from seedproof_reproductions.thesis2019.confidence import BINS, Candidates, confidence_bins
from seedproof_reproductions.thesis2019.data import N_NEGATIVES, prepare
from seedproof_reproductions.thesis2019.models import GMF, DeepICF
from seedproof_reproductions.thesis2019.permutation import (
    Changes,
    attention_entropy,
    shuffle_attention,
)
from seedproof_reproductions.thesis2019.settings import Setting
from seedproof_reproductions.thesis2019.vectors import vector_figures

N_USERS, N_CANDIDATES = 4_000, 21


@pytest.fixture
def prepared(made_movielens):
    """Sixty users of two tastes."""
    del made_movielens
    return prepare(Setting(n_factors=4))


def recommender(prepared, kind=DeepICF, seed=0):
    """A model with random weights that are large enough to have an opinion."""
    generator = torch.Generator().manual_seed(seed)
    model = kind(prepared.histories, 4, 2)
    with torch.no_grad():
        for weights in model.parameters():
            weights.normal_(0.0, 0.6, generator=generator)
    return model.requires_grad_(requires_grad=False)


def candidates(sharpened=1.0, n_runs=3):
    """One interaction and others per user, with the probabilities of a calibrated model.

    A tenth as many candidates are interactions as in training, on which the model is calibrated;
    sharpened logits are over-confident.
    """
    rng = np.random.default_rng(0)
    share = 1 / (1 + N_NEGATIVES)
    probs = rng.beta(4 * share, 4 * (1 - share), size=200 * N_USERS)
    is_positive = rng.random(len(probs)) < probs
    tested = rng.choice(probs[is_positive], (n_runs, N_USERS, 1))
    others = rng.choice(probs[~is_positive], (n_runs, N_USERS, N_CANDIDATES - 1))
    joined = np.clip(np.concatenate([tested, others], axis=2), 1e-6, 1 - 1e-6)
    odds = (joined / (1 - joined)) ** sharpened
    is_real = np.ones((N_USERS, N_CANDIDATES), np.bool_)
    return Candidates(tuple(map(str, range(n_runs))), odds / (1 + odds), is_real)


def test_calibrated_model_looks_over_confident_on_interactions_but_has_no_excess():
    figures = candidates().over_confidence()

    for part in (figures["all"], figures["bins"]["90"]):
        gap, excess = part["gap"], part["excess"]
        assert gap[1] > 0.05
        assert excess[1] < 0 < excess[2]
        assert abs(excess[0]) < gap[0] / 4


def test_sharpened_model_has_an_excess_and_a_temperature_above_one():
    sharpened = candidates(sharpened=2.0)

    assert sharpened.over_confidence()["all"]["excess"][1] > 0.02
    temperatures = sharpened.calibrate()["as_trained"]["temperatures"]
    assert temperatures == pytest.approx([2.0] * 3, rel=0.1)


def test_temperature_depends_on_how_frequent_interactions_are():
    """Of a model that is calibrated in training, more negatives ask for sharper probabilities."""
    figures = candidates().calibrate()

    assert figures["as_trained"]["positive_share"] == 1 / (1 + N_NEGATIVES)
    assert figures["as_tested"]["positive_share"] == pytest.approx(1 / N_CANDIDATES, rel=1e-5)
    assert np.mean(figures["as_trained"]["temperatures"]) == pytest.approx(1.0, abs=0.1)
    assert max(figures["as_tested"]["temperatures"]) < min(figures["as_trained"]["temperatures"])


def test_bins_begin_at_their_names():
    confidence = np.array([0.5, 0.599, 0.601, 0.75, 0.899, 0.901, 1.0])

    places = confidence_bins(confidence)

    assert [BINS[place] for place in places] == ["50", "50", "60", "70", "80", "90", "90"]


def test_shuffled_attention_begins_with_the_answers_of_the_model(prepared):
    model = recommender(prepared)
    tested = torch.from_numpy(prepared.data.candidates[:, 0])

    shuffled = shuffle_attention(model, prepared, n_shuffles=5)

    wanted = torch.softmax(model(torch.arange(60), tested), dim=1)
    assert shuffled.probs == pytest.approx(wanted.numpy(), abs=1e-5)
    assert (shuffled.logit_change > 0).all()


def test_shuffles_of_equal_attention_change_nothing(prepared):
    model = recommender(prepared)
    with torch.no_grad():
        model.mix.zero_()

    shuffled = shuffle_attention(model, prepared, n_shuffles=5)

    assert shuffled.logit_change == pytest.approx(0.0, abs=1e-5)
    assert attention_entropy(model, prepared) == pytest.approx(1.0, rel=1e-5)


def test_changes_by_confidence_equal_loops(prepared):
    runs = {
        str(seed): shuffle_attention(recommender(prepared, seed=seed), prepared, n_shuffles=5)
        for seed in range(3)
    }

    figures = Changes(runs).figures()["all"]
    same = Changes(runs).compared_with(Changes(runs))

    for name, least in zip(BINS, (0.5, 0.6, 0.7, 0.8, 0.9), strict=True):
        means, n_answers = [], []
        for run in runs.values():
            confidence = run.probs.max(axis=1)
            is_inside = (confidence >= least) & (confidence < least + 0.1 if least < 0.9 else True)
            means.append(run.probability_change[is_inside].mean() if is_inside.any() else np.nan)
            n_answers.append(is_inside.sum())
        assert figures["n_answers"][name] == sum(n_answers)
        stored = figures["probability"]["bins"][name]
        assert (stored is None) == (min(n_answers) < 10)
        if stored is not None:
            assert stored[0] == pytest.approx(np.mean(means), rel=1e-4)
    assert same["n_pairs"] == 3
    assert same["all"]["logit"][0] == 0.0


def test_neighbors_of_the_same_vectors_agree_and_share_their_group(prepared):
    """Users of each taste point to one side, and have an age group of their own."""
    models = {}
    ages = np.where(np.arange(60) % 2 == 0, 18, 56)
    for seed in range(2):
        model = recommender(prepared, GMF, seed=0)
        vectors = model.features[0].users
        vectors[:, 0] = torch.from_numpy(np.where(ages == 18, 20.0, -20.0))
        models[str(seed)] = model

    figures = vector_figures(models, ages, has_map=True)

    assert figures["users"]["agreement"][0] == figures["items"]["agreement"][0] == 1.0
    assert figures["users"]["same_age"][0] == 1.0
    assert figures["users"]["same_age_excess"][0] == pytest.approx(1 - 29 / 59, rel=1e-5)
    places = figures["users"]["map"]["places"]
    assert np.shape(places) == (2, 2, 60)
    assert figures["users"]["map"]["is_old"].count("1") == 30


def test_ages_are_by_user_and_may_be_missing(write, data_folder):
    """Users count from 1, in any order."""
    assert load_ages() is None

    write("movielens1m/users.dat", "2::M::56::16::70072\n1::F::1::10::48067\n")

    assert load_ages().tolist() == [1, 56]
    assert data_folder.is_dir()


def test_file_of_users_in_another_format_is_refused(write):
    write("movielens1m/users.dat", "2,M,56\n")

    with pytest.raises(UnreadableError):
        load_ages()
