"""What is measured if somebody asks for a few metrics only."""

import pytest

from seedproof.errors import OptionError, UnknownNameError
from seedproof.metrics import FAMILIES, METRIC_NAMES
from seedproof.metrics.accuracy import Accuracy
from seedproof.metrics.confidence import Confidence
from seedproof.metrics.entropy import Entropy
from seedproof.metrics.flips import Flips
from seedproof.metrics.selection import (
    check_name,
    check_needs,
    chosen_families,
    needs_in_words,
    needs_of,
)
from seedproof.metrics.truncation import Truncation
from seedproof.testing.errors import WithFields

ALL = frozenset({"labels", "confidence", "probs"})


def test_everything_that_the_data_allows_is_measured_unless_asked():
    """What only truncated records have is none of it."""
    assert chosen_families(ALL) == FAMILIES[:-1]
    assert chosen_families(frozenset()) == (Flips, Entropy)


def test_flips_and_entropies_come_along():
    """Every report begins with them."""
    assert chosen_families(ALL, ["accuracy_sd"]) == (Flips, Entropy, Accuracy)
    assert chosen_families(ALL, ["flip_rate"]) == (Flips, Entropy)


@pytest.mark.parametrize("metric", METRIC_NAMES)
def test_each_metric_can_be_asked_for(metric):
    """Its family is chosen where its needs are met."""
    families = chosen_families(ALL | {"truncated"}, [metric])

    assert any(metric in family.figures for family in families)


def test_what_metrics_need():
    """Nothing but predictions for flips; the prediction and the label for accuracy."""
    assert needs_of(["flip_rate", "label_entropy"]) == frozenset()
    assert needs_of(["accuracy"]) == {"labels"}
    assert needs_of(["accuracy", "ece"]) == {"labels", "confidence"}
    assert needs_of(["brier"]) == {"labels", "probs"}


@pytest.mark.parametrize("metric", METRIC_NAMES)
def test_needs_are_put_into_words(metric):
    """There are words wherever something is needed, each need with its own."""
    alone = [needs_in_words(name) for name in ("accuracy", "probability_sd", "predictive_kl")]

    assert bool(needs_in_words(metric)) == bool(needs_of([metric]))
    assert len(set(alone)) == len(alone)
    assert alone[0] in needs_in_words("brier")
    assert alone[2] in needs_in_words("brier")


def test_an_unknown_metric_is_refused_with_the_known_ones():
    """Those of explanations are known, too."""
    for name in ("flip_rate", "explanation_kl"):
        check_name(name)

    for typo in ("flip_rat", "flip-rate", "FLIP_RATE"):
        with pytest.raises(UnknownNameError, check=WithFields(nearest="flip_rate")) as refused:
            check_name(typo)
        assert {"flip_rate", "explanation_kl"} <= set(refused.value.fields["known"])


def test_the_error_of_truncation_goes_with_the_spread():
    """Whoever asks for one gets both."""
    families = chosen_families(frozenset({"confidence", "truncated"}), ["probability_sd"])

    assert families == (Flips, Entropy, Confidence, Truncation)


def test_a_metric_that_the_data_does_not_allow_is_refused():
    """Top classes give no divergences."""
    with pytest.raises(
        OptionError, check=WithFields(metric="brier", needs=frozenset({"labels", "probs"}))
    ):
        check_needs(["brier"], frozenset({"labels", "confidence", "truncated"}))
