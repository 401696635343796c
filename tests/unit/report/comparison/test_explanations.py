"""Explanations in a comparison: sentences, rows and charts by method."""

from dataclasses import replace

import pytest

import seedproof as sp
from seedproof.errors import ColumnError, UnknownNameError
from seedproof.metrics.card import card
from seedproof.metrics.explanations import EXPLANATION_NAMES
from seedproof.report.comparison import amounts
from seedproof.report.comparison.figures import build_figures
from seedproof.report.comparison.groups import explained_by, of_method
from seedproof.report.comparison.sentences import findings
from seedproof.report.explanations.sentences import named
from seedproof.testing.errors import WithFields

NB = "\N{NO-BREAK SPACE}"
NAME = "explanation_jaccard_20"


@pytest.fixture(scope="session")
def explained(make_explained_store, drawn_texts):
    """A noisy baseline, a calm arm, one that is as noisy, and one without explanations."""
    methods = ("attention", "lime")
    base, tokens, labels = drawn_texts(0.8, methods=methods)
    arms = {
        "none": base,
        "calm": drawn_texts(0.3, methods=methods, seed=2)[0],
        "again": drawn_texts(0.8, methods=methods, seed=3)[0],
        "plain": (drawn_texts(0.8, seed=4)[0][0], {}),
    }
    return sp.compare(make_explained_store(arms, tokens=tokens, labels=labels))


def _finding(comparison, method):
    return next(finding for finding in findings(comparison) if finding.method == method)


def _noise(explained, arm):
    return explained.arm(arm).measurement.explanations["lime"].noise[NAME].value


def test_text(explained, snapshot):
    """The text in a terminal."""
    lines = str(explained).splitlines()
    assert max(map(len, lines)) <= 80
    blocks = [line for line in lines if line.startswith("explanation_")]
    assert lines.index(blocks[0]) > lines.index("ece_corrected")
    assert [("lime" in line, line.startswith(NAME)) for line in blocks] == [
        (False, True),
        (False, False),
        (True, True),
        (True, False),
    ]
    snapshot("comparison.txt", f"{explained}\n")


def test_page(explained, snapshot, visible):
    """The page has a table of explanations, and the short form has lines."""
    page = explained.to_html(command="seedproof compare runs")

    blocks = explained.view().reason_blocks
    assert all(f'id="c-forest_{block.key}"' in page for block in blocks)
    assert all(f'data-name="{block.title}"' in page for block in blocks)
    assert explained._repr_html_().count(NAME) == 2
    snapshot("comparison-page.txt", visible(page, explained.to_json()))


def test_each_method_has_a_sentence_with_a_verdict(explained):
    """The figures are those of the measurement of each arm."""
    topics = findings(explained.comparison)
    finding = _finding(explained.comparison, "attention")

    assert [topic.method for topic in topics if topic.metric == NAME] == ["attention", "lime"]
    assert [topic.method for topic in topics][-2:] == ["attention", "lime"]
    assert finding.verdict.fields == {"counts": {"steadier": 1}, "n_arms": 2}
    shown, is_open = finding.messages
    before, after = (
        explained.arm(name).measurement.explanations["attention"].metrics[NAME].value
        for name in ("none", "calm")
    )
    assert (shown.code, shown.fields["direction"]) == ("change-shown", "falls")
    assert shown.fields["before"] == amounts.figure(NAME, before)
    (change,) = shown.fields["changes"].parts
    assert (change.fields["arm"], change.fields["after"]) == ("calm", amounts.figure(NAME, after))
    effect = explained.effect("calm", NAME, method="attention")
    assert change.fields["size"].effects == (effect,)
    assert is_open.code == "no-difference-shown"
    assert is_open.fields["arms"].names == ("again",)
    assert is_open.fields["detectable"]


def test_topics_name_the_method_if_there_are_several(explained):
    """A single method needs no name."""
    comparison = explained.comparison
    first = comparison.baseline.measurement
    only = {"lime": first.explanations["lime"]}
    baseline = replace(comparison.baseline, measurement=replace(first, explanations=only))

    alone = _finding(replace(comparison, baseline=baseline), "lime")

    assert named("lime") not in alone.topic
    assert named("lime") in _finding(comparison, "lime").topic


def test_sentence_has_the_noise_of_the_explainer_of_each_arm(explained):
    """If it was drawn twice: a steadier model may have a steadier explainer."""
    noises = {arm: _noise(explained, arm) for arm in ("none", "again", "calm")}
    by_method = {
        method: {m.code: m for m in _finding(explained.comparison, method).messages}
        for method in ("attention", "lime")
    }

    assert len(set(noises.values())) > 1
    assert by_method["lime"]["explainer-noise"].fields["noise"] == noises
    assert "explainer-noise" not in by_method["attention"]


def test_each_value_has_the_noise_of_its_arm(explained):
    """In the view, in the text below the arm, on the pages, and in the summary."""
    blocks = {block.key: block for block in explained.view().reason_blocks}
    block, attention = blocks[f"{NAME}_lime"], blocks[f"{NAME}_attention"]
    arms = ("none", "again", "calm")
    floors = {arm: amounts.figure(NAME, _noise(explained, arm)) for arm in arms}

    assert block.baseline.floor == floors["none"]
    assert dict(block.cells)["calm"].floor == floors["calm"]
    assert {cell.floor for _, cell in attention.cells} == {""}
    lines = str(explained).splitlines()
    start = next(i for i, line in enumerate(lines) if line.startswith(NAME) and "lime" in line)
    below = lines[start + 2 : start + 7 : 2]
    assert all(line.endswith(floor) for line, floor in zip(below, floors.values(), strict=True))
    assert explained.view().has_floors
    assert f"<span>{floors['calm']}</span>" in explained.to_html()
    assert floors["calm"] in explained._repr_html_()
    summary = explained.summary()["arms"][1]["explanations"]
    assert summary["lime"]["noise"][NAME]["value"] == _noise(explained, "calm")
    assert summary["attention"]["noise"] is None


def test_arm_without_explanations_is_left_out_of_them(explained):
    """It stays in everything else."""
    shown = of_method(explained.comparison, "lime")

    assert [arm.name for arm in shown.arms] == ["again", "calm"]
    assert [arm.name for arm in explained.comparison.arms] == ["again", "calm", "plain"]
    assert explained_by(explained.comparison) == ("attention", "lime")


def test_view_has_two_key_metrics_per_method_and_all_metrics(explained):
    """Every metric is in the list of all metrics, with its method."""
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
    effects = explained.effects("calm", method="attention")
    assert overlap.change == f"+{100 * effects['explanation_overlap'].value:.2f}{NB}pts"
    assert tau.change == f"+{effects['explanation_tau'].value:.3f}"


def test_effects_of_explanations_are_read_by_method(explained):
    """The error for an unknown name lists the known ones."""
    assert explained.effect("calm", NAME, method="lime").verdict == "steadier"
    for arm, metric, method, fields in (
        ("plain", NAME, "lime", {"arm": "plain", "method": "lime", "known": ()}),
        ("calm", NAME, "limes", {"method": "limes", "known": ("attention", "lime")}),
        ("calm", "flip_rate", "lime", {"arm": "calm", "metric": "flip_rate"}),
    ):
        with pytest.raises(UnknownNameError, check=WithFields(**fields)):
            explained.effect(arm, metric, method=method)


def test_ratios_of_explanations_share_the_axis_of_all_ratios(explained):
    """Ratios are together, and only the last one has labels."""
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


def test_comparison_without_explanations_has_none_in_its_report(usual):
    """No sentence, no block, no chart."""
    assert {finding.method for finding in findings(usual.comparison)} == {""}
    assert usual.view().reason_blocks == ()
    assert not [f for f in build_figures(usual.comparison) if "explanation" in f.name]


def test_comparison_refuses_to_show_tokens(explained):
    """Only `measure` shows them."""
    with pytest.raises(ColumnError, check=WithFields(column="tokens")):
        explained.to_html(show=["tokens"])
