import re
from importlib.resources import files
from typing import get_args

import pytest

from seedproof.errors import UnknownNameError
from seedproof.metrics import FAMILIES, METRIC_NAMES
from seedproof.metrics import card as card_module
from seedproof.metrics.card import Better, Unit, card
from seedproof.metrics.dynamics import DYNAMICS_NAMES
from seedproof.metrics.explanations import EXPLANATION_NAMES
from seedproof.testing.errors import WithFields

NEEDS = {
    frozenset(): "predictions",
    frozenset({"labels"}): "predictions, labels",
    frozenset({"probs"}): "probabilities",
    frozenset({"probs", "labels"}): "probabilities, labels",
    frozenset({"confidence"}): "probabilities",
    frozenset({"confidence", "labels"}): "probabilities, labels",
    frozenset({"truncated"}): "top classes",
}


@pytest.mark.parametrize("name", [*METRIC_NAMES, *EXPLANATION_NAMES, *DYNAMICS_NAMES])
def test_a_card_says_what_its_metric_means(name):
    """A title, a known unit, a known direction, one sentence."""
    found = card(name)

    assert found.name == name
    assert found.title
    assert "\n" not in found.title
    assert found.unit in get_args(Unit)
    assert found.better in get_args(Better)
    assert found.summary.endswith(".")
    assert "\n" not in found.summary
    assert found.text.startswith(f"# {found.title}\n")


@pytest.mark.parametrize("name", [*METRIC_NAMES, *EXPLANATION_NAMES, *DYNAMICS_NAMES])
def test_a_card_says_what_its_interval_is_over(name):
    """Every ± says what it is over, and a figure without one says why."""
    assert "**Interval.**" in card(name).text


@pytest.mark.parametrize(
    ("name", "family"), [(name, family) for family in FAMILIES for name in family.figures]
)
def test_a_card_needs_what_its_family_needs(name, family):
    """The line on the card and the code are two lists of the same thing."""
    stated = re.search(r"Needs: ([\w, ]+)\.\*", card(name).text).group(1)

    assert stated == NEEDS[family.needs]


def test_there_is_no_card_without_a_metric():
    """A renamed metric takes its card along."""
    folder = files("seedproof.metrics") / "cards"

    names = {*METRIC_NAMES, *EXPLANATION_NAMES, *DYNAMICS_NAMES}
    assert {entry.name for entry in folder.iterdir()} == {f"{name}.md" for name in names}


def test_flip_rate_card():
    """One of them, and where its parts are on the card."""
    found = card("flip_rate")
    title, unit, summary, *_ = found.text.split("\n\n")

    assert (found.unit, found.better) == ("percent", "lower")
    assert title == f"# {found.title}"
    assert {"percent.", "lower."} <= set(unit.split())
    assert " ".join(summary.split()) == found.summary


def test_higher_is_better_only_for_the_accuracy():
    """Whoever colors a table by direction relies on it."""
    assert [name for name in METRIC_NAMES if card(name).better == "higher"] == ["accuracy"]


@pytest.mark.parametrize("name", ["fliprate", "", "../card", "flip_rate.md"])
def test_an_unknown_name_is_refused(name):
    """The name is repeated."""
    with pytest.raises(UnknownNameError, check=WithFields(name=name)) as refused:
        card(name)

    assert repr(name) in str(refused.value)


def test_an_unknown_name_is_answered_with_the_known_ones():
    """STYLE, Errors: unknown name, list the known ones."""
    known = tuple(sorted((*METRIC_NAMES, *EXPLANATION_NAMES, *DYNAMICS_NAMES)))

    with pytest.raises(UnknownNameError, check=WithFields(name="flips", known=known)):
        card("flips")


def test_a_card_of_another_form_is_refused(tmp_path, monkeypatch):
    """A card that cannot be read is a mistake of ours, found by the first test that reads it."""
    (tmp_path / "cards").mkdir()
    (tmp_path / "cards" / "broken.md").write_text("# Broken\n\nNo unit.\n", encoding="utf-8")
    monkeypatch.setattr(card_module, "files", lambda package: tmp_path)  # noqa: ARG005

    with pytest.raises(ValueError):
        card.__wrapped__("broken")
