"""Questions of the plan, from small trainings to the page."""

import pytest

import seedproof as sp
from seedproof.comparison.arms.judge import judge_each
from seedproof.stats.effect import Effect
from seedproof.stats.intervals import PLAIN
from seedproof_reproductions.conll2019.answering import verdict_of
from seedproof_reproductions.conll2019.crossing import EPOCHS_OF, crossed_study
from seedproof_reproductions.conll2019.page_data import page_data, write_page
from seedproof_reproductions.conll2019.plan import plan, questions
from seedproof_reproductions.conll2019.recipe import complete, study
from seedproof_reproductions.conll2019.settings import ARMS, Setting
from seedproof_reproductions.conll2019.sources import blocks_study, collect_sources

SETTING = Setting(epochs=3, n_train=60, n_dev=30, n_test=40, seed=1)
TRAINED = ("none", "aswa", "none-decayed")


@pytest.fixture
def results(made_sst, tmp_path):
    """Results of a study, of its arms at each other's epochs, and of blocks."""
    del made_sst
    source, crossed, blocks = (tmp_path / name for name in ("runs", "crossed", "blocks"))
    trained = study(SETTING, store=source, seeds=5, arms=TRAINED)
    first = complete(trained, SETTING, engine="serial", follow=None)
    made = crossed_study(SETTING, source=str(source), store=crossed, seeds=5)
    second = complete(made, SETTING, engine="serial", follow=None)
    blocks_study(SETTING, store=blocks, blocks=2).run("serial", progress=False)
    return first, second, collect_sources(blocks)


def test_answers_are_those_of_compare(results, tmp_path):
    """Each contrast is judged with an interval that holds together with those of its question."""
    _, crossed, _ = results
    stored = {(c["arm"], c["reference"]): c for c in crossed["answers"]["averaging-or-longer"]}

    assert list(stored) == list(questions()[0].contrasts)
    oracle = sp.compare(tmp_path / "crossed", baseline="none").arm("none-at-aswa")
    (expected,) = judge_each([oracle], PLAIN.divided(4))
    effect = stored["none-at-aswa", "none"]["effects"]["flip_rate"]
    assert effect["value"] == pytest.approx(expected.effects["flip_rate"].value, rel=1e-5)
    assert effect["high"] == pytest.approx(expected.effects["flip_rate"].high, rel=1e-5)


def test_page_answers_the_questions(results, tmp_path):
    """With a table per question, the shares of the sources, and commands that repeat the runs."""
    data = page_data(results)

    assert set(data["answers"]) == {"averaging-or-longer", "decay", "decay-at-last"}
    assert len(data["answers"]["averaging-or-longer"]["table"].header) == 5
    assert data["answers"]["decay"]["n_runs"] == 5
    assert len(data["crossed"].header) == 5
    assert data["sources"]["n_blocks"] == 2
    assert "--seed 1 --cross --blocks 2" in data["commands"][0]
    assert write_page(results, tmp_path / "page.md")[0].stat().st_size > 1000


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


def test_plan_names_arms_that_can_be_trained():
    """Every study and every contrast."""
    crossed = set(EPOCHS_OF)
    trained = {arm for entry in plan()["studies"] for arm in entry["seeds"]}

    assert trained <= set(ARMS)
    assert set().union(*(question.arms for question in questions())) <= trained | crossed
