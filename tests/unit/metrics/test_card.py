import re
from typing import get_args

import pytest

from seedproof.errors import UnknownNameError
from seedproof.metrics import FAMILIES, METRIC_NAMES
from seedproof.metrics import card as card_module
from seedproof.metrics.card import Better, Unit, card, card_or_own
from seedproof.metrics.dynamics import DYNAMICS_NAMES
from seedproof.metrics.explanations import EXPLANATION_NAMES
from seedproof.metrics.items import RANKING_NAMES, SET_NAMES
from seedproof.metrics.numbers import NUMBER_NAMES
from seedproof.metrics.texts import TEXT_NAMES
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


OF_KINDS = (*NUMBER_NAMES, *RANKING_NAMES, *SET_NAMES, *TEXT_NAMES)
NAMES = tuple(dict.fromkeys((*METRIC_NAMES, *OF_KINDS, *EXPLANATION_NAMES, *DYNAMICS_NAMES)))


@pytest.mark.parametrize("name", NAMES)
def test_card_has_all_its_parts(name):
    """A title, a known unit and direction, one sentence, and what its interval is over."""
    shown = card(name)

    assert shown.name == name
    assert shown.title
    assert "\n" not in shown.title
    assert shown.unit in get_args(Unit)
    assert shown.better in get_args(Better)
    assert shown.summary.endswith(".")
    assert "\n" not in shown.summary
    assert shown.text.startswith(f"# {shown.title}\n")
    assert "**Interval.**" in shown.text


@pytest.mark.parametrize(
    ("name", "family"), [(name, family) for family in FAMILIES for name in family.figures]
)
def test_card_states_the_needs_of_its_family(name, family):
    """The line on the card matches the code."""
    stated = re.search(r"Needs: ([\w, ]+)\.\*", card(name).text).group(1)

    assert stated == NEEDS[family.needs]


def test_flip_rate_card():
    """The parts are read from the right places."""
    shown = card("flip_rate")
    title, unit, summary, *_ = shown.text.split("\n\n")

    assert (shown.unit, shown.better) == ("percent", "lower")
    assert title == f"# {shown.title}"
    assert {"percent.", "lower."} <= set(unit.split())
    assert " ".join(summary.split()) == shown.summary


def test_higher_is_better_only_for_accuracies():
    """Tables are colored by direction."""
    higher = [name for name in METRIC_NAMES if card(name).better == "higher"]
    assert higher == ["accuracy", "balanced_accuracy", "macro_f1"]


@pytest.mark.parametrize("name", ["fliprate", "", "../card", "flip_rate.md"])
def test_unknown_name_is_refused_with_the_known_ones(name):
    """There is one card for each metric, and no other."""
    with pytest.raises(UnknownNameError, check=WithFields(name=name)) as refused:
        card(name)

    assert refused.value.fields["known"] == tuple(sorted(NAMES))
    assert repr(name) in str(refused.value)


def test_malformed_card_is_refused(tmp_path, monkeypatch):
    """A card without a unit line."""
    (tmp_path / "cards").mkdir()
    (tmp_path / "cards" / "broken.md").write_text("# Broken\n\nNo unit.\n", encoding="utf-8")
    monkeypatch.setattr(card_module, "files", lambda package: tmp_path)  # noqa: ARG005

    with pytest.raises(ValueError):
        card.__wrapped__("broken")


def test_metric_of_the_users_own_has_a_plain_card():
    """Known metrics keep theirs."""
    own = card_or_own("kappa_sd")

    assert (own.name, own.title, own.unit, own.better) == (
        "kappa_sd",
        "kappa_sd",
        "score",
        "neither",
    )
    assert card_or_own("flip_rate") is card("flip_rate")
