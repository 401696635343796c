"""Several heads of one run: samples, bags, twins, soups, and the head nearest to the mean."""

from dataclasses import replace

import pytest
import torch

from seedproof.errors import OptionError
from seedproof_reproductions.findings2023.arms import ARMS, CONTROL
from seedproof_reproductions.findings2023.data import resampled
from seedproof_reproductions.findings2023.fitting import Cost, bootstrap_rows, fit
from seedproof_reproductions.findings2023.heads import (
    disagreement,
    fit_once,
    fit_twins,
    nearest,
    soup,
    train_heads,
)
from seedproof_reproductions.findings2023.models import Sources
from seedproof_reproductions.findings2023.recipe import study
from seedproof_reproductions.findings2023.settings import Setting
from seedproof_reproductions.findings2023.training import log_run


@pytest.fixture
def served(make_run, prepared, setting):
    """Probabilities that a run logs, and its scalars."""

    def served(arm, index=0, **changed):
        run, logged = make_run(index), []
        run.log_predictions = lambda _, probs, **__: logged.append(probs)
        run.log_dynamics = lambda *_: None
        log_run(run, prepared, replace(setting, **changed), arm)
        return logged[0], run.scalars

    return served


@pytest.fixture
def heads(make_run, prepared, setting):
    """Heads that an arm serves, trained by the run with an index."""

    def heads(arm, index=1):
        run = make_run(index)
        return train_heads(prepared, setting, arm, lambda: Sources.of(run, arm), Cost())

    return heads


def weights_of(trained):
    return torch.cat([weight.detach().flatten() for weight in trained.model.parameters()])


def test_settings_of_earlier_runs_keep_their_names_and_arguments():
    """Defaults of new fields are not part of them."""
    usual, other = Setting("massive"), Setting("massive", train_data="bootstrap", seed=1)

    assert usual.name == "massive-head"
    assert usual.as_arguments() == ("dataset=massive", "track=head")
    assert other.name == "massive-head-seed-1-train-data-bootstrap"
    assert Setting.from_arguments(other.as_arguments()) == other
    for wrong in ({"train_data": "new"}, {"test_split": "train"}):
        with pytest.raises(OptionError):
            Setting(**wrong)


def test_run_draws_its_own_sample(served):
    """The same run draws the same one again; another run draws another."""
    own, scalars = served(CONTROL, train_data="bootstrap")
    again, _ = served(CONTROL, train_data="bootstrap")
    fixed, _ = served(CONTROL)

    assert torch.equal(own, again)
    assert not torch.equal(own, fixed)
    assert scalars["n_train"] == 250
    assert not torch.equal(own, served(CONTROL, 1, train_data="bootstrap")[0])


def test_sample_alone_makes_runs_differ(prepared, setting, make_run):
    """With all other sources equal."""
    plain = Sources.of(make_run(0), CONTROL)
    samples = [
        resampled(prepared, bootstrap_rows(250, make_run(index).torch_generator("data")))
        for index in (0, 1)
    ]

    first, second = (
        fit(sample, CONTROL, setting, plain.copy()).predict(sample.test.inputs, "none")
        for sample in samples
    )

    assert not torch.equal(first, second)


def test_sample_has_repeated_rows_and_standard_features(prepared, make_run):
    """Rows of the training split, with their own labels; the same rows are the same object."""
    rows = bootstrap_rows(250, make_run(3).torch_generator("data"))

    sample = resampled(prepared, rows)

    assert sample is resampled(prepared, rows.clone())
    assert len(sample.train) == 250
    assert 0.5 < len(set(sample.train.utterances.ids.tolist())) / 250 < 0.75
    assert torch.equal(sample.train.labels, prepared.train.labels[rows])
    assert sample.train.inputs.mean(dim=0).abs().max() < 1e-5
    torch.testing.assert_close(sample.train.inputs.std(dim=0, correction=0), torch.ones(12))
    # A test utterance is scaled as the sample is.
    scale = prepared.train.inputs[rows].std(dim=0, correction=0)
    moved = prepared.test.inputs[0] - prepared.train.inputs[rows].mean(dim=0)
    torch.testing.assert_close(sample.test.inputs[0], moved / scale)


def test_shared_teacher_is_refused_for_new_data(tmp_path):
    """It would know utterances that a run does not."""
    setting = Setting("massive", train_data="bootstrap")

    with pytest.raises(OptionError):
        study(setting, store=tmp_path, arms=["none", "tgtss-shared"])


def test_reused_training_is_the_same_training(prepared, setting, make_run):
    """Weights, sources afterwards, and the seconds that it would take."""
    run, other, plain = make_run(7), make_run(7), make_run(7)
    cost = Cost()

    first = fit_once(prepared, ARMS["heads-4"], setting, Sources.of(run, CONTROL), cost)
    assert cost.reused_seconds == 0
    again = fit_once(prepared, CONTROL, setting, Sources.of(other, CONTROL), cost)
    alone = fit(prepared, CONTROL, setting, Sources.of(plain, CONTROL))

    assert again is first
    assert cost.reused_seconds > 0
    assert torch.equal(weights_of(alone), weights_of(first))
    states = {Sources.of(each, CONTROL).state for each in (run, other, plain)}
    assert len(states) == 1


def test_bagged_heads_learn_from_their_own_samples(heads, served, prepared):
    """The first four of sixteen are the four of the smaller arm; unbagged heads differ."""
    four, sixteen = heads(ARMS["bagging-4"]), heads(ARMS["bagging-16"])

    assert [torch.equal(weights_of(a), weights_of(b)) for a, b in zip(four, sixteen)] == [True] * 4  # noqa: B905
    assert not torch.equal(weights_of(four[0]), weights_of(heads(ARMS["heads-4"])[0]))
    probs, _ = served(ARMS["bagging-4"], 1)
    mean = sum(head.predict(prepared.test.inputs, "none") for head in four) / 4
    torch.testing.assert_close(probs, mean)


def test_soup_is_the_mean_of_the_weights(heads):
    """Of equal heads it is the head itself; others keep their weights."""
    parts = heads(ARMS["heads-4"])
    kept = [weights_of(part).clone() for part in parts]

    mixed = soup(parts)

    torch.testing.assert_close(weights_of(mixed), sum(kept) / 4)
    assert torch.equal(weights_of(soup([parts[0]] * 4)), kept[0])
    assert all(torch.equal(weights_of(part), was) for part, was in zip(parts, kept, strict=True))


def test_soup_of_one_init_begins_with_the_weights_of_the_control(make_run, prepared, setting):
    """Its heads differ by order and dropout; another run begins elsewhere."""
    arm = replace(ARMS["soup-4"], served="mean")
    begun = replace(setting, epochs=1, batch_size=10**6)

    def first_weights(index):
        run = make_run(index)
        trained = train_heads(prepared, begun, arm, lambda: Sources.of(run, arm), Cost())
        return [weights_of(each) for each in trained]

    own, other = first_weights(0), first_weights(1)

    # One step of Adam moves each weight by at most the learning rate.
    spread = max(float((each - own[0]).abs().max()) for each in own)
    assert 0 < spread < 3 * begun.learning_rate
    assert (own[0] - other[0]).abs().max() > 0.1


def test_nearest_head_has_the_smallest_distance_to_the_mean():
    """By hand: the means are 0.6 and 0.4, and 0.7 is nearest."""
    probs = [torch.tensor([[p, 1 - p]]) for p in (0.9, 0.7, 0.2)]

    assert nearest(probs) == 1
    assert nearest(probs[::-1]) == 1


def test_nearest_of_several_heads_is_one_of_them(heads, prepared):
    """Chosen by the predictions for training utterances, never by the test split."""
    (chosen,), parts = heads(ARMS["nearest-4"]), heads(ARMS["heads-4"])

    probs = [part.predict(prepared.train.inputs, "none") for part in parts]
    assert chosen is parts[nearest(probs)]


def test_disagreement_is_the_symmetric_divergence():
    """It is 0 for equal predictions; by hand, 0.8 ln 4 · 0.6 / 0.8 for (0.8, 0.2) and (0.2, 0.8)."""
    first, second = torch.tensor([[0.8, 0.2]]).log(), torch.tensor([[0.2, 0.8]]).log()

    assert disagreement(first, first) == 0
    expected = 0.8 * torch.log(torch.tensor(4.0)) - 0.2 * torch.log(torch.tensor(4.0))
    torch.testing.assert_close(disagreement(first, second), expected)


def test_twins_agree_more_with_a_penalty(prepared, setting, make_run):
    """Both learn; without a penalty two heads of the same run differ more."""

    def gap(weight):
        arm = replace(ARMS["twins-10"], twins=weight)
        both = fit_twins(prepared, arm, setting, Sources.of(make_run(), arm))
        probs = [head.predict(prepared.test.inputs, "none") for head in both]
        accuracy = (sum(probs).argmax(dim=1) == prepared.test.labels).float().mean()
        assert accuracy > 0.5
        return float((probs[0] - probs[1]).abs().mean())

    assert gap(10.0) < 0.75 * gap(0.0)


def test_costs_of_new_arms_are_counted(served):
    """In trainings of the control: twins read both samples with both heads."""
    names = ("none", "bagging-4", "twins-10", "soup-4", "nearest-4", "heads-4")
    scalars = {name: served(ARMS[name], 1)[1] for name in names}

    cost, serving = (
        {name: scalars[name][key] for name in names}
        for key in ("head_multiplications", "serving_multiplier")
    )
    once = cost["none"]
    for name in ("bagging-4", "twins-10", "soup-4", "heads-4"):
        assert cost[name] == 4 * once
    # Four predictions of the training split, after 3 × 2 epochs of training.
    assert cost["nearest-4"] == pytest.approx(4 * once + 4 * once / 6)
    assert serving["soup-4"] == serving["nearest-4"] == serving["none"] == 1
    assert serving["bagging-4"] == serving["heads-4"] > serving["twins-10"] > 1
