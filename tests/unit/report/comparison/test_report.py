"""The report object, its text and its page without a browser."""

import re

import pytest

from seedproof.errors import ColumnError, OptionError, UnknownNameError
from seedproof.report.comparison import amounts
from seedproof.report.comparison.figures import build_figures
from seedproof.stats.effect import Effect
from seedproof.testing.errors import WithFields

NB = "\N{NO-BREAK SPACE}"


def _ratio(value, low=None, high=None, detectable=None):
    return Effect("flip_rate", "ratio", value, low, high, detectable=detectable)


def test_effects_are_read_by_arm_and_metric(usual):
    """The error for an unknown name has its fields."""
    assert usual.effect("aswa", "flip_rate").verdict == "steadier"
    for arm, metric, fields in (
        ("aswa", "flips", {"arm": "aswa", "metric": "flips"}),
        ("none", "flip_rate", {"arm": "none", "metric": "flip_rate", "known": ()}),
        ("swa", "flip_rate", {"name": "swa"}),
    ):
        with pytest.raises(UnknownNameError, check=WithFields(**fields)):
            usual.effect(arm, metric)


@pytest.mark.parametrize(
    ("effect", "change", "ends", "size"),
    [
        (_ratio(0.5, 0.32, 0.8), f"−50{NB}%", "[−68, −20]", f"50{NB}% [20, 68]"),
        (_ratio(1.5, 1.2, 1.9), f"+50{NB}%", "[+20, +90]", f"50{NB}% [20, 90]"),
        (_ratio(1.001, 0.999, 1.003), f"+0.1{NB}%", "[−0.1, +0.3]", f"0.1{NB}% [−0.1, 0.3]"),
        (_ratio(None, 2.0, float("inf")), "–", "[+100, +∞]", "an unbounded factor"),
        (_ratio(None, 2.0, None), "–", "[+100, +∞]", "an unbounded factor"),
        (_ratio(1.0), f"0.0{NB}%", "", f"0.0{NB}%"),
    ],
)
def test_changes_are_written_with_sign_and_unit(effect, change, ends, size):
    """True minus, no-break space; a size has no sign, and a cut reverses its interval."""
    assert (amounts.change(effect), amounts.ends(effect)) == (change, ends)
    assert amounts.sizes([effect]) == size


def test_differences_are_written_in_points():
    """Accuracies differ by percentage points, log-likelihoods by nats."""
    accuracy = Effect("accuracy", "difference", -0.0016, -0.013, 0.0114, detectable=0.012)
    likelihood = Effect("nll", "difference", 0.25, 0.1, 0.4)

    assert amounts.change(accuracy) == f"−0.16{NB}pts"
    assert amounts.ends(accuracy) == "[−1.30, +1.14]"
    assert amounts.smallest_detectable([accuracy]) == ("difference", f"1.20{NB}pts")
    assert amounts.detectable(accuracy) == f"±1.20{NB}pts"
    assert amounts.change(likelihood) == "+0.250"


def test_text_fits_80_columns(usual):
    """No line is longer, and every arm and key metric is in it."""
    lines = str(usual).splitlines()

    assert max(map(len, lines)) <= 80
    assert sum(line.startswith("  ensemble") for line in lines) == 7
    assert "label_entropy_corrected" in lines


def test_long_names_keep_both_ends(compare, drawn_probs):
    """Arms that differ in their last letter only are distinct in the text and in charts."""
    base, labels = drawn_probs(2, 5, noise=0.9, n_examples=80)
    arms = {f"roberta-large-with-a-very-long-name-{i}": base for i in "ab"}
    report = compare({"none": base, **arms}, labels=labels)

    assert max(map(len, str(report).splitlines())) <= 80
    assert str(report).count("-a  ") == str(report).count("-b  ") > 5
    drawn = next(f for f in build_figures(report.comparison) if f.name == "forest_flip_rate")
    assert len(set(drawn.facts["arms"])) == 2


def test_saving_writes_the_page_and_the_summary(usual, tmp_path):
    """The page has the command; an existing file is refused as a folder."""
    command = "seedproof compare runs/"
    usual.save(tmp_path / "out", command=command)

    written = sorted((tmp_path / "out").iterdir())
    assert [path.name for path in written] == ["comparison.html", "comparison.json"]
    assert command in written[0].read_text()
    (tmp_path / "file").write_text("")
    with pytest.raises(OptionError, check=WithFields(folder=str(tmp_path / "file"))):
        usual.save(tmp_path / "file")


def test_unknown_column_is_refused_before_anything_is_written(usual, tmp_path):
    """No partial result is left on disk."""
    with pytest.raises(ColumnError, check=WithFields(column="text", known=())):
        usual.save(tmp_path / "out", show=["text"])
    assert not (tmp_path / "out").exists()


def test_page_is_self_contained_and_reproducible(usual):
    """Every link has its target on the page; no time and no random number is in it."""
    page = usual.to_html()

    body = page.split("<script", maxsplit=1)[0]
    links = re.findall(r'(?:src|href)="([^"]*)"', body)
    assert all(link.startswith("#") and f'id="{link[1:]}"' in body for link in links)
    assert "url(" not in body
    assert usual.to_html() == page


def test_section_without_data_is_absent(usual, compare, drawn_probs):
    """No labels and no costs: neither their sections nor their links."""
    base = drawn_probs(2, 5, noise=0.9)[0]
    bare = compare({"none": base, "arm": base}).to_html().split("<script", maxsplit=1)[0]
    full = usual.to_html().split("<script", maxsplit=1)[0]

    for slug in ("accuracy", "cost"):
        assert f'id="{slug}"' in full
        assert f'"#{slug}"' not in bare
        assert f'id="{slug}"' not in bare


def test_every_chart_is_valid_and_can_be_a_picture(usual, check_spec):
    """The schema of Vega-Lite accepts them, and a picture has no CSS variable."""
    figures = build_figures(usual.comparison)

    for figure in figures:
        check_spec(figure)
    assert [figure.name for figure in figures if not figure.name.startswith("forest_")] == [
        "stability_accuracy",
        "spread_parts",
        "stability_cost_seconds",
        "stability_cost_serving_multiplier",
        "votes_before_after_0",
        "votes_before_after_1",
        "votes_before_after_2",
    ]
    assert b"var(--" not in usual.figure("forest_flip_rate").to_bytes("svg")
