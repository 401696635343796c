"""Reasons in a comparison: words, rows and charts by method, by the rules for flips."""

from dataclasses import replace

import pytest

import seedproof as sp
from seedproof.errors import ColumnError, UnknownNameError
from seedproof.metrics.explanations import EXPLANATION_NAMES
from seedproof.report.comparison import amounts, words
from seedproof.report.comparison.figures import build_figures
from seedproof.report.comparison.reasons import explained_by, of_method
from seedproof.report.comparison.view import build_view

NB = "\N{NO-BREAK SPACE}"
NAME = "explanation_jaccard_20"


@pytest.fixture(scope="session")
def explained(make_explained_store, drawn_texts):
    """A noisy baseline, a calm arm, one as noisy, and one that nobody explained."""
    methods = ("attention", "lime")
    base, tokens, labels = drawn_texts(0.8, methods=methods)
    arms = {
        "none": base,
        "calm": drawn_texts(0.3, methods=methods, seed=2)[0],
        "again": drawn_texts(0.8, methods=methods, seed=3)[0],
        "plain": (drawn_texts(0.8, seed=4)[0][0], {}),
    }
    return sp.compare(make_explained_store(arms, tokens=tokens, labels=labels))


def _said(report_or_comparison, topic):
    comparison = getattr(report_or_comparison, "comparison", report_or_comparison)
    return next(one for one in words.findings(comparison) if one.topic == topic)


def test_each_method_has_a_sentence_with_a_verdict(explained):
    """Before what to watch; the figures are those of the arms' own measurements."""
    topics = [one.topic for one in words.findings(explained.comparison)]
    found = _said(explained, "Reasons (attention)")

    assert [topic for topic in topics if topic.startswith("Reasons")] == [
        "Reasons (attention)",
        "Reasons (LIME)",
    ]
    before, after = (
        100 * explained.arm(name).measurement.explanations["attention"].metrics[NAME].value
        for name in ("none", "calm")
    )
    assert found.verdict == "Steadier with 1 of 2 arms."
    assert found.text.startswith(
        f"The share of top words that differ falls from {before:.1f}{NB}% to {after:.1f}{NB}% "
        "with calm, a cut of "
    )
    assert "No difference shown with again: " in found.text
    assert "these runs would show a cut of" in found.text


def test_a_single_method_needs_no_name(explained):
    """Then the topic is "Reasons"."""
    comparison = explained.comparison
    first = comparison.baseline.measurement
    only = {"lime": first.explanations["lime"]}
    baseline = replace(comparison.baseline, measurement=replace(first, explanations=only))

    assert _said(replace(comparison, baseline=baseline), "Reasons").text


def _noise(explained, arm, name=NAME):
    """What two draws of one run give, as it is written."""
    found = explained.arm(arm).measurement.explanations["lime"].noise[name]
    return amounts.figure(name, found.value)


def test_the_noise_of_the_explainer_stands_beside_the_change(explained):
    """That of each arm, where it was drawn twice: a steadier model may have a steadier explainer."""
    none, again, calm = (_noise(explained, arm) for arm in ("none", "again", "calm"))

    assert len({none, again, calm}) > 1
    assert _said(explained, "Reasons (LIME)").text.endswith(
        "Two draws of one explainer already differ in "
        f"{none} with none, {again} with again, {calm} with calm."
    )
    assert "draws" not in _said(explained, "Reasons (attention)").text


def test_each_figure_stands_beside_the_floor_of_its_arm(explained):
    """In the view, in the text below the arm, on the pages, and in the summary."""
    blocks = {block.key: block for block in explained.view().reason_blocks}
    block = blocks[f"{NAME}_lime"]
    attention = blocks[f"{NAME}_attention"]

    assert block.baseline.floor == _noise(explained, "none")
    assert dict(block.cells)["calm"].floor == _noise(explained, "calm")
    assert {cell.floor for _, cell in attention.cells} == {""}
    lines = str(explained).splitlines()
    start = lines.index(f"{NAME}, by lime")
    shown = [line.split() for line in lines[start + 1 : start + 7]]
    assert [words[:2] for words in shown[1::2]] == [["drawn", "twice"]] * 3
    assert " ".join(shown[1][2:]) == _noise(explained, "none").replace(NB, " ")
    assert "“drawn twice”: how far two draws" in " ".join(lines)
    page = explained.to_html()
    assert f"drawn twice: <span>{_noise(explained, 'calm')}</span>" in page
    assert "Drawn twice: how far two draws of the explainer are apart" in page
    assert f"drawn twice {_noise(explained, 'calm')}" in explained._repr_html_()
    plain = explained.summary()["arms"][1]["explanations"]
    found = explained.arm("calm").measurement.explanations["lime"].noise[NAME].value
    assert plain["lime"]["noise"][NAME]["value"] == found
    assert plain["attention"]["noise"] is None


def test_an_arm_without_explanations_is_left_out_of_them(explained):
    """It stays in everything else."""
    shown = of_method(explained.comparison, "lime")

    assert [arm.name for arm in shown.arms] == ["again", "calm"]
    assert [arm.name for arm in explained.comparison.arms] == ["again", "calm", "plain"]
    assert explained_by(explained.comparison) == ("attention", "lime")


def test_the_view_has_the_figures_that_say_most_and_all_others(explained):
    """Two a method stand first; every one stands among all metrics, with its method."""
    view = explained.view()

    assert [(block.method, block.metric) for block in view.reason_blocks] == [
        (method, name) for method in ("attention", "lime") for name in (NAME, "explanation_js")
    ]
    every = [(block.method, block.metric) for block in view.blocks if block.method]
    assert every == [(m, name) for m in ("attention", "lime") for name in EXPLANATION_NAMES]
    assert view.reason_blocks[2].title == "Explanation Jaccard distance, top 20 % (LIME)"
    assert len({block.key for block in view.blocks}) == len(view.blocks)


def test_agreements_are_compared_by_their_difference(explained):
    """An overlap rises by points, a rank correlation without a unit; both are steadier."""
    blocks = {block.key: dict(block.cells) for block in explained.view().blocks}
    overlap = blocks["explanation_overlap_attention"]["calm"]
    tau = blocks["explanation_tau_attention"]["calm"]

    assert (overlap.verdict, tau.verdict) == ("steadier", "steadier")
    effect = explained.effect("calm", "explanation_overlap", method="attention")
    assert overlap.change == f"+{100 * effect.value:.2f}{NB}pts"
    value = explained.effect("calm", "explanation_tau", method="attention").value
    assert tau.change == f"+{value:.3f}"


def test_effects_of_explanations_are_found_by_method(explained):
    """A typo is answered with what there is."""
    assert explained.effect("calm", NAME, method="lime").verdict == "steadier"
    with pytest.raises(UnknownNameError, match=r"'plain' is not compared .* 'lime'. Known: none"):
        explained.effect("plain", NAME, method="lime")
    with pytest.raises(UnknownNameError, match="Known: attention, lime"):
        explained.effect("calm", NAME, method="limes")
    with pytest.raises(UnknownNameError, match="It has: explanation_kl"):
        explained.effect("calm", "flip_rate", method="lime")


def test_ratios_of_reasons_share_the_axis_of_all_ratios(explained):
    """The forest keeps ratios together, and labels the last of them."""
    forest = [f for f in build_figures(explained.comparison) if f.name.startswith("forest_")]
    ratios = [f for f in forest if f.facts["scale"] == "log"]

    assert [f.name for f in ratios[-4:]] == [
        f"forest_{NAME}_attention",
        "forest_explanation_js_attention",
        f"forest_{NAME}_lime",
        "forest_explanation_js_lime",
    ]
    assert forest[: len(ratios)] == ratios
    assert len({f.facts["domain"] for f in ratios}) == 1
    assert [f.facts["labeled"] for f in ratios] == [False] * (len(ratios) - 1) + [True]
    assert [row["arm"] for row in ratios[-1].rows] == ["again", "calm"]


def test_the_text_fits_80_columns(explained):
    """With a block for each of them, below those of predictions."""
    lines = str(explained).splitlines()

    assert max(map(len, lines)) <= 80
    assert lines.index("explanation_jaccard_20, by attention") > lines.index("ece")
    assert "explanation_js, by lime" in lines


def test_without_explanations_nothing_is_said(usual):
    """No sentence, no block, no chart."""
    assert not [one for one in words.findings(usual.comparison) if one.topic.startswith("Reasons")]
    assert build_view(usual.comparison).reason_blocks == ()
    assert not [f for f in build_figures(usual.comparison) if "explanation" in f.name]


def test_the_pages_hold_the_reasons(explained):
    """A table of their own on the page, lines in the short form."""
    page, short = explained.to_html(), explained._repr_html_()

    assert "Reasons: how far explanations of two runs are apart" in page
    assert f'id="c-forest_{NAME}_lime"' in page
    assert f"{NAME}, by lime" in short


def test_tokens_are_shown_by_measure_alone(explained):
    """The message says how."""
    with pytest.raises(ColumnError, match=r"shows no tokens.*measure STORE --arm ARM --show token"):
        explained.to_html(show=["tokens"])
