import pytest
from seedproof_reproductions.conll2019.page.headline import headline
from seedproof_reproductions.conll2019.page.reading import SettingResults

DRIFT = "the share of “positive” predictions drifts from .40 to .62."


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
        (None, "more than chance is not shown."),
        ("drift", f"more than chance is shown, mostly because {DRIFT}"),
        ("both", f"more than chance is shown, and {DRIFT}"),
        ("runs", "more than chance is shown."),
    ],
)
def test_what_the_sd_is_made_of_is_said_as_measured(own, cause, words):
    """The cause is that of the report; "because" is said of drift alone."""
    for arm in own["arms"].values():
        arm["spread_cause"] = cause

    line = bullet(headline(SettingResults(own)), "Independent flips")

    assert line.endswith(f"an sd of 0.50\xa0pts; it is 1.20\xa0pts [0.80, 2.20]: {words}")
    assert ("because" in line) == (cause == "drift")


@pytest.mark.parametrize(
    ("high", "words"),
    [
        (0.99, "A cut is shown: 50\xa0% [1, 70] with ASWA"),
        (1.01, "No difference is shown with ASWA (−50\xa0% [−70, +1])"),
    ],
)
def test_a_cut_is_said_on_one_side_of_no_change_alone(own, judge, high, words):
    """The same value with an interval that ends short of no change, or beyond it."""
    aswa = own["arms"]["aswa"]
    reasons = aswa["explanations"]["attention"]
    aswa["effects"] = {name: judge(name, 0.5, 0.3, high) for name in ("accuracy_sd", "flip_rate")}
    reasons["effects"] = {"explanation_kl": judge("explanation_kl", 0.5, 0.3, high)}

    text = headline(SettingResults(own))

    for topic in ("Accuracy", "Answers", "Attention"):
        assert words in bullet(text, topic)


def test_how_intervals_were_made_is_said_as_it_was(own):
    """Pairs by seed, and seeds an arm, as they were in the store."""
    alike = headline(SettingResults(own))
    own["arms"]["naswa"] |= {"n_runs": 7, "is_paired": False}
    apart = headline(SettingResults(own))

    assert "with 10 seeds an arm" in alike
    assert "those of changes are paired by seed, except that of the sd" in alike
    assert "with 7 to 10 seeds an arm" in apart
    assert "those of changes are not paired" in apart


def test_chosen_epochs_are_told_with_median_and_range(own):
    """None at 2; ASWA at 14 and 20; NASWA at 3: all later than none, unless one is as early."""
    own["arms"]["none"]["scalars"]["epoch_chosen"] = [2.0] * 10
    own["arms"]["aswa"]["scalars"]["epoch_chosen"] = [14.0] * 5 + [20.0] * 5
    later = bullet(headline(SettingResults(own)), "The chosen epoch")
    own["arms"]["naswa"]["scalars"]["epoch_chosen"] = [2.0] + [9.0] * 9
    mixed = bullet(headline(SettingResults(own)), "The chosen epoch")

    assert later.endswith(
        "Of 20 epochs, dev chose epoch 2 in every run without averaging, epochs 14 to 20 with ASWA "
        "(median 17) and epoch 3 in every run with NASWA. Every averaged model had trained for "
        "longer than any without."
    )
    assert "longer" not in mixed


def test_cautions_come_before_the_cuts(own):
    """Longer training is named if it was; the same share beside the whole change."""
    alike = headline(SettingResults(own))
    own["arms"]["none"]["scalars"]["epoch_chosen"] = [2.0] * 10
    longer = headline(SettingResults(own))

    left = "−50\xa0% [−70, −20] with ASWA in place of −50\xa0% [−70, −20]"
    for text in (alike, longer):
        assert f"the flip rate changes by {left} and " in text
        assert text.index("**Before you read the cuts.**") < text.index("- **Accuracy.**")
    assert "averaging and longer training are not told apart here" in longer
    assert "longer training" not in alike


def test_what_the_demo_shows_is_set_apart_on_its_own_setting(own):
    """Its runs are those of SST; another setting says nothing of it."""
    ours = headline(SettingResults(own))
    own["name"] = "sst-cnn-additive-epochs-2"

    assert "`seedproof demo` compares NASWA alone" in ours
    assert "demo" not in headline(SettingResults(own))


def test_two_seeds_have_intervals_over_texts_alone(own):
    """And the page says so."""
    own["arms"]["none"]["n_runs"] = 2

    assert "With two seeds they are over texts alone." in headline(SettingResults(own))


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


def test_the_noise_of_a_drawn_method_is_told_without_a_computed_one(sst):
    """LIME alone has a floor, too."""
    for arm in sst.own["arms"].values():
        arm["explanations"] = {}
    for arm in sst.explained["arms"].values():
        del arm["explanations"]["gradient"]

    line = bullet(headline(sst), "Explainer noise")

    assert line.startswith(
        "- **Explainer noise.** LIME draws at random: explaining one model twice"
    )
    assert "follow" not in line


def test_without_explanations_nothing_is_said_of_them(own):
    """No bullet, no row."""
    for arm in own["arms"].values():
        arm["explanations"] = {}

    text = headline(SettingResults(own))

    assert "**Top words.**" not in text
    assert "**Explainer noise.**" not in text
    assert "attention:" not in text
