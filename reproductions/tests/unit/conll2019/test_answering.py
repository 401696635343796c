"""Questions of the plan, from small trainings to the page."""

import math
from dataclasses import asdict

import numpy as np
import pytest

import seedproof as sp
from seedproof.comparison.arms.judge import judge_each
from seedproof.stats.effect import Effect
from seedproof.stats.effect import judged as judged_by_interval
from seedproof.stats.intervals import PLAIN
from seedproof.stats.spread_ratio import spread_ratio
from seedproof_reproductions.conll2019.answering import judged, verdict_of
from seedproof_reproductions.conll2019.crossing import EPOCHS_OF, crossed_study
from seedproof_reproductions.conll2019.names import layout
from seedproof_reproductions.conll2019.page_data import page_data, write_page
from seedproof_reproductions.conll2019.plan import plan, planned_seeds, questions, tried_rates
from seedproof_reproductions.conll2019.reading import Contrast
from seedproof_reproductions.conll2019.recipe import complete, study
from seedproof_reproductions.conll2019.settings import ARMS, LEARNING_RATES, Setting
from seedproof_reproductions.conll2019.sources import blocks_study, collect_sources
from seedproof_reproductions.packaged import read_toml

SETTING = Setting(epochs=3, n_train=60, n_dev=30, n_test=40, seed=1)
TRAINED = ("none", "aswa", "none-decayed")


@pytest.fixture(scope="module")
def stores(tmp_path_factory):
    """A folder for the stores of this file."""
    return tmp_path_factory.mktemp("stores")


@pytest.fixture(scope="module")
def trained():
    """Results of this file, empty before the first test that needs them."""
    return []


@pytest.fixture
def results(made_sst, stores, trained):
    """Results of a study, of its arms at each other's epochs, and of blocks; trained once."""
    del made_sst
    if not trained:
        trained.extend(train(stores))
    return trained


def train(stores):
    """Make a study, cross its arms, train blocks, and return the results of each."""
    source, crossed, blocks = (stores / name for name in ("runs", "crossed", "blocks"))
    trained = study(SETTING, store=source, seeds=5, arms=TRAINED)
    first = complete(trained, SETTING, engine="serial", follow=None)
    made = crossed_study(SETTING, source=str(source), store=crossed, seeds=5)
    second = complete(made, SETTING, engine="serial", follow=None)
    blocks_study(SETTING, store=blocks, blocks=2).run("serial", progress=False)
    return first, second, collect_sources(blocks)


def test_answers_are_those_of_compare(results, stores):
    """Each contrast is judged with an interval that holds together with those of its question."""
    _, crossed, _ = results
    stored = {(c["arm"], c["reference"]): c for c in crossed["answers"]["averaging-or-longer"]}

    assert list(stored) == list(questions()[0].contrasts)
    oracle = sp.compare(stores / "crossed", baseline="none").arm("none-at-aswa")
    (expected,) = judge_each([oracle], PLAIN.divided(4))
    effect = stored["none-at-aswa", "none"]["effects"]["flip_rate"]
    assert effect["value"] == pytest.approx(expected.effects["flip_rate"].value, rel=1e-5)
    assert effect["high"] == pytest.approx(expected.effects["flip_rate"].high, rel=1e-5)


def test_spreads_are_not_paired_as_planned(results):
    """The sd of accuracy has the interval of two samples, also where runs share their seeds."""
    first, *_ = results
    base, arm = (np.array(first["arms"][x]["scalars"]["test_accuracy"]) for x in ("none", "aswa"))
    (stored,) = first["answers"]["headline"]

    low, high = spread_ratio(base, arm, level=PLAIN.divided(2))
    assert stored["effects"]["accuracy_sd"]["low"] == pytest.approx(low, rel=1e-5)
    low, high = spread_ratio(base, arm)
    assert first["arms"]["aswa"]["effects"]["accuracy_sd"]["high"] == pytest.approx(high, rel=1e-5)


def test_page_answers_the_questions(results, tmp_path):
    """With a table per question, the shares of the sources, and commands that repeat the runs."""
    data = page_data(results)

    assert set(data["answers"]) == {"averaging-or-longer", "decay", "decay-at-last"}
    assert len(data["answers"]["averaging-or-longer"]["table"].header) == 5
    assert data["answers"]["decay"]["n_runs"] == 5
    assert len(data["crossed"].header) == 5
    assert data["sources"]["n_blocks"] == 2
    assert data["sources"]["table"].rows[-1][1:] == (*data["sources"]["needs_both"].values(),)
    assert data["n_trained"] == 5 * 3 + 2 * 4 * 2
    options = data["commands"][0].split()
    assert options[-5:] == ["--seeds", "5", "--cross", "--blocks", "2"]
    assert options[options.index("--arms") + 1] == ",".join(TRAINED)
    assert write_page(results, tmp_path / "page.md")[0].stat().st_size > 1000


def test_page_shows_further_settings(results):
    """Another optimizer, with its seeds and the same contrasts; it is not in the paper's tables."""
    other = [
        {
            **content,
            "name": content["name"].replace("-seed-1", "-seed-1-optimizer-sgd"),
            "setting": content["setting"] | {"optimizer": "sgd"},
        }
        for content in results[:2]
    ]

    data = page_data([*results, *other])

    (title, *flips), *_, (last, *accuracies) = rows = data["crossed_elsewhere"]["table"].rows
    metrics = list(layout()["answers"]["metrics"])
    changes = data["answers"]["averaging-or-longer"]["changes"].values()
    assert data["settings"][1].title in title
    assert flips == [texts[metrics[0]] for texts in changes]
    assert [row[0] for row in rows[1:]] == metrics[1:]
    verdicts = data["answers"]["averaging-or-longer"]["verdicts"]
    assert data["crossed_elsewhere"]["counts"] == {pair: {x: 1} for pair, x in verdicts.items()}
    assert accuracies == [texts[last] for texts in changes]
    assert {"--optimizer", "sgd"} <= set(data["commands"][1].split())
    assert data["settings"][1].published("none") is None
    assert data["rates"] == {"SGD": "0.03 (0.896), 0.1 (0.893), 0.3 (0.872)"}
    assert page_data(results)["crossed_elsewhere"] is None


def test_page_of_the_first_round_has_no_answers(results):
    """A study without the arms of a question."""
    first, *_ = results
    kept = {arm: first["arms"][arm] for arm in ("none", "aswa")}

    data = page_data([{**first, "arms": kept, "answers": {}}])

    assert (data["answers"], data["crossed"], data["sources"]) == ({}, None, None)


@pytest.mark.parametrize(
    ("effect", "verdict"),
    [
        (("ratio", 1.0, 0.92, 1.08, "no difference shown"), "no change beyond the margin"),
        (("ratio", 1.0, 0.85, 1.08, "no difference shown"), "open"),
        (("ratio", 0.95, 0.92, 0.98, "steadier"), "steadier"),
        (("difference", 0.0, -0.004, 0.004, "no difference shown"), "no change beyond the margin"),
        (("difference", 0.0, -0.004, 0.006, "no difference shown"), "open"),
        (("difference", 0.0, -0.004, 0.004, "too few runs"), "open"),
    ],
)
def test_change_is_shown_absent_or_open(effect, verdict):
    """By the margins of the plan."""
    scale, value, low, high, judged = effect
    assert verdict_of(Effect("x", scale, value, low, high, verdict=judged)) == verdict


@pytest.mark.parametrize(
    ("ends", "share", "words"),
    [
        # Inside the margin of 10 %, and an interval that reaches three times as far.
        ((0.75, 1.35), 0.0, "open (85 seeds)"),
        ((0.75, 1.35), 0.5, "open (more texts)"),
        ((0.35, 1.1), 0.0, "open (14 seeds)"),
        ((0.9999999, 2.0), None, "open (more than 10 seeds)"),
        ((0.5, 0.9), None, "steadier"),
    ],
)
def test_open_change_says_what_would_decide_it(ends, share, words):
    """In brackets, for ten runs."""
    low, high = ends
    verdict = judged_by_interval("flip_rate", low, high)
    effect = {"scale": "ratio", "value": math.sqrt(low * high), "low": low, "high": high}
    stored = {
        "n_runs": 10,
        "effects": {"flip_rate": effect | {"verdict": verdict}},
        "from_texts": {"effects": {"flip_rate": share}},
    }

    assert judged(Contrast(stored), "effects.flip_rate").endswith(f", {words}")


def test_planned_seeds_are_those_of_the_setting():
    """The optimizer is part of it; other sizes and other seeds are not planned."""
    usual = asdict(Setting(seed=1))

    assert planned_seeds(usual) == 100
    assert planned_seeds({**usual, "optimizer": "sgd", "min_count": 2}) == 20
    assert planned_seeds({**usual, "seed": 0}) is None
    assert planned_seeds({**usual, "epochs": 2}) is None


def test_usual_rate_of_an_optimizer_is_the_best_of_those_planned():
    """By the mean score on dev, over the planned number of seeds."""
    rates, tried = plan()["rates"], read_toml("seedproof_reproductions.conll2019", "rates.toml")

    for optimizer, means in tried_rates().items():
        assert list(means) == rates[optimizer]
        assert {len(scores) for scores in tried[optimizer].values()} == {rates["seeds"]}
        assert max(means, key=means.__getitem__) == LEARNING_RATES[optimizer]


def test_plan_names_arms_that_can_be_trained():
    """Every study and every contrast."""
    crossed = set(EPOCHS_OF)
    trained = {arm for entry in plan()["studies"] for arm in entry["seeds"]}

    assert trained <= set(ARMS)
    assert set().union(*(question.arms for question in questions())) <= trained | crossed
