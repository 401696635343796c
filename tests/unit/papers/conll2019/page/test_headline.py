import pytest

from seedproof.papers.conll2019.page.headline import headline
from seedproof.papers.conll2019.page.reading import SettingResults


def bullet(text, topic):
    """The line of a topic."""
    return next(line for line in text.splitlines() if line.startswith(f"- **{topic}.**"))


def test_every_part_of_the_question_is_answered(sst):
    """Sd, flips, three kinds of reasons, top words, noise, independent flips, price."""
    text = headline(sst)

    cut = "A cut is shown: 50\xa0% [20, 70] with ASWA and 50\xa0% [20, 70] with NASWA."
    assert "SST, CNN, with 10 seeds an arm and 1,725 test texts" in text
    assert bullet(text, "Accuracy").endswith(f"1.20\xa0pts [0.80, 2.20]. {cut}")
    assert bullet(text, "Answers").endswith(cut)
    assert bullet(text, "Attention").endswith(cut)
    assert bullet(text, "LIME").endswith("A cut is shown: 50\xa0% [20, 70] with NASWA.")
    assert "35.0\xa0% [30.0, 40.0] by attention, " in bullet(text, "Top words")
    assert "twice changes 12.0\xa0% [10.0, 14.0] of the top words" in bullet(
        text, "Explainer noise"
    )
    assert "an sd of 0.50\xa0pts; it is 1.20" in bullet(text, "Independent flips")
    assert "−0.20\xa0pts [−0.40, +0.10] with ASWA" in bullet(text, "What it costs")


@pytest.mark.parametrize(
    ("cause", "words"),
    [
        (None, "more than that is not shown."),
        ("drift", "mostly because the share of “positive” predictions drifts from .40 to .62."),
        ("both", "and the share of “positive” predictions drifts from .40 to .62."),
        ("runs", "because some runs are better than others."),
    ],
)
def test_what_the_sd_is_made_of_is_said_as_measured(own, cause, words):
    """The cause is that of the report, found where the records were."""
    for arm in own["arms"].values():
        arm["spread_cause"] = cause

    line = bullet(headline(SettingResults(own)), "Independent flips")

    assert line.endswith(words)


def test_slower_learning_is_said_only_where_both_averages_learn_less(own):
    """The made training loss is 0.2 for none, 0.1 for ASWA and 0.3 for NASWA."""
    mixed = bullet(headline(SettingResults(own)), "What it costs")
    own["arms"]["aswa"]["scalars"]["train_loss"] = [0.25] * 10
    slower = bullet(headline(SettingResults(own)), "What it costs")

    assert "slower" not in mixed
    assert slower.endswith("part of the steadiness may be slower learning.")


def test_an_explainer_that_was_drawn_once_has_unknown_noise(sst):
    """Never 0."""
    sst.explained["arms"]["none"]["explanations"]["lime"]["noise"] = None

    text = headline(sst).replace(",\xa0", ", ")

    assert "LIME was drawn once, so nobody knows its noise." in text
    assert "| LIME: KL | 0.150 [0.120, 0.180] | – | −50\xa0% [−70, −20], steadier | – |" in text


def test_without_explanations_nothing_is_said_of_them(own):
    """No bullet, no row."""
    for arm in own["arms"].values():
        arm["explanations"] = {}

    text = headline(SettingResults(own))

    assert "**Top words.**" not in text
    assert "**Explainer noise.**" not in text
    assert "attention:" not in text
