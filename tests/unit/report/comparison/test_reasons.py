"""Reasons in a comparison: words, rows and charts by method, by the rules for flips."""

from dataclasses import replace

import pytest

import seedproof as sp
from seedproof.errors import ColumnError, UnknownNameError
from seedproof.metrics.card import card
from seedproof.metrics.explanations import EXPLANATION_NAMES
from seedproof.report.comparison import amounts, words
from seedproof.report.comparison.figures import build_figures
from seedproof.report.comparison.groups import explained_by, of_method
from seedproof.report.comparison.view import build_view
from seedproof.report.explanations.words import named
from seedproof.testing.errors import WithFields

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


def _said(report_or_comparison, method):
    comparison = getattr(report_or_comparison, "comparison", report_or_comparison)
    return next(one for one in words.findings(comparison) if one.method == method)


def _noises(report):
    """The explainer's own noise with each arm, as far as it is said."""
    (message,) = (one for one in _said(report, "lime").messages if one.code == "explainer-noise")
    return message.fields["noise"]


def test_text(explained, snapshot):
    """What people read in a terminal."""
    snapshot("comparison.txt", f"{explained}\n")


def test_page(explained, snapshot, visible):
    """What people read on the page."""
    page = explained.to_html(command="seedproof compare runs")

    snapshot("comparison-page.txt", visible(page, explained.to_json()))


def test_each_method_has_a_sentence_with_a_verdict(explained):
    """Before what to watch; the figures are those of the arms' own measurements."""
    findings = words.findings(explained.comparison)
    found = _said(explained, "attention")

    assert [one.method for one in findings if one.metric == NAME] == ["attention", "lime"]
    assert [one.method for one in findings][-3:] == ["attention", "lime", ""]
    assert found.verdict.fields == {"counts": {"steadier": 1}, "n_arms": 2}
    shown, is_open = found.messages
    before, after = (
        explained.arm(name).measurement.explanations["attention"].metrics[NAME].value
        for name in ("none", "calm")
    )
    assert (shown.code, shown.fields["direction"]) == ("change-shown", "falls")
    assert shown.fields["before"] == amounts.figure(NAME, before)
    (change,) = shown.fields["changes"].parts
    assert (change.fields["arm"], change.fields["after"]) == ("calm", amounts.figure(NAME, after))
    assert change.fields["size"].effect == explained.effect("calm", NAME, method="attention")
    assert is_open.code == "no-difference-shown"
    assert is_open.fields["arms"].names == ("again",)
    assert str(is_open.fields["would_show"])


def test_several_methods_are_named_in_their_topics(explained):
    """A single one needs no name."""
    comparison = explained.comparison
    first = comparison.baseline.measurement
    only = {"lime": first.explanations["lime"]}
    baseline = replace(comparison.baseline, measurement=replace(first, explanations=only))

    alone = _said(replace(comparison, baseline=baseline), "lime")

    assert alone.topic == "Reasons"
    assert named("lime") in _said(comparison, "lime").topic


def _noise(explained, arm, name=NAME):
    """What two draws of one run give, as it is written."""
    found = explained.arm(arm).measurement.explanations["lime"].noise[name]
    return amounts.figure(name, found.value)


def test_the_noise_of_the_explainer_stands_beside_the_change(explained):
    """That of each arm, where it was drawn twice: a steadier model may have a steadier explainer."""
    noises = {
        arm: explained.arm(arm).measurement.explanations["lime"].noise[NAME].value
        for arm in ("none", "again", "calm")
    }

    assert len(set(noises.values())) > 1
    assert _noises(explained) == noises
    codes = [message.code for message in _said(explained, "attention").messages]
    assert "explainer-noise" not in codes


def test_each_figure_stands_beside_the_floor_of_its_arm(explained):
    """In the view, in the text below the arm, on the pages, and in the summary."""
    blocks = {block.key: block for block in explained.view().reason_blocks}
    block = blocks[f"{NAME}_lime"]
    attention = blocks[f"{NAME}_attention"]

    assert block.baseline.floor == _noise(explained, "none")
    assert dict(block.cells)["calm"].floor == _noise(explained, "calm")
    assert {cell.floor for _, cell in attention.cells} == {""}
    lines = str(explained).splitlines()
    start = next(i for i, line in enumerate(lines) if line.startswith(NAME) and "lime" in line)
    below = lines[start + 2 : start + 7 : 2]
    arms = ("none", "again", "calm")
    for line, arm in zip(below, arms, strict=True):
        assert line.endswith(_noise(explained, arm))
    assert explained.view().has_floors
    assert f"<span>{_noise(explained, 'calm')}</span>" in explained.to_html()
    assert _noise(explained, "calm") in explained._repr_html_()
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
    assert view.reason_blocks[2].title == f"{card(NAME).title} ({named('lime')})"
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
    with pytest.raises(UnknownNameError, check=WithFields(arm="plain", method="lime", known=())):
        explained.effect("plain", NAME, method="lime")
    with pytest.raises(
        UnknownNameError, check=WithFields(arm="calm", method="limes", known=("attention", "lime"))
    ):
        explained.effect("calm", NAME, method="limes")
    with pytest.raises(UnknownNameError, check=WithFields(arm="calm", metric="flip_rate")):
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
    blocks = [line for line in lines if line.startswith("explanation_")]
    assert len(blocks) == 4
    assert lines.index(blocks[0]) > lines.index("ece")
    assert [("lime" in line, line.startswith(NAME)) for line in blocks] == [
        (False, True),
        (False, False),
        (True, True),
        (True, False),
    ]


def test_without_explanations_nothing_is_said(usual):
    """No sentence, no block, no chart."""
    assert {one.method for one in words.findings(usual.comparison)} == {""}
    assert build_view(usual.comparison).reason_blocks == ()
    assert not [f for f in build_figures(usual.comparison) if "explanation" in f.name]


def test_the_pages_hold_the_reasons(explained):
    """A table of their own on the page, lines in the short form."""
    page, short = explained.to_html(), explained._repr_html_()

    blocks = explained.view().reason_blocks
    assert all(f'id="c-forest_{block.key}"' in page for block in blocks)
    assert all(f'data-name="{block.title}"' in page for block in blocks)
    assert short.count(NAME) == 2


def test_tokens_are_shown_by_measure_alone(explained):
    """A comparison has no place for them."""
    with pytest.raises(ColumnError, check=WithFields(column="tokens")):
        explained.to_html(show=["tokens"])
