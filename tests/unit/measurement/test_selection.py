"""Metrics that are computed if the user requests a few."""

import numpy as np
import pytest

from seedproof.errors import OptionError, UnknownNameError
from seedproof.measurement.selection import (
    KIND_NAMES,
    check_allowed,
    chosen_families,
    known_metrics,
    needs_in_words,
    needs_of,
    unknown,
)
from seedproof.metrics import FAMILIES, METRIC_NAMES
from seedproof.metrics.accuracy import Accuracy
from seedproof.metrics.confidence import Confidence, Truncation
from seedproof.metrics.entropy import Entropy
from seedproof.metrics.flips import Flips
from seedproof.records.arrays import ArrayShards
from seedproof.testing.errors import WithFields

ALL = frozenset({"labels", "confidence", "probs"})


@pytest.mark.parametrize(
    ("has", "requested", "expected"),
    [
        (ALL, None, FAMILIES[:-1]),  # all but that of truncated records
        (frozenset(), None, (Flips, Entropy)),
        (ALL, ["accuracy_sd"], (Flips, Entropy, Accuracy)),
        (ALL, ["flip_rate"], (Flips, Entropy)),
        (
            frozenset({"confidence", "truncated"}),
            ["probability_sd"],
            (Flips, Entropy, Confidence, Truncation),
        ),
    ],
)
def test_families_are_those_requested_and_those_always_shown(has, requested, expected):
    """If nothing is requested, everything that the data allows."""
    assert chosen_families(has, requested) == expected


@pytest.mark.parametrize("metric", METRIC_NAMES)
def test_each_metric_can_be_requested(metric):
    """Its family is chosen where its needs are met."""
    families = chosen_families(ALL | {"truncated"}, [metric])

    assert any(metric in family.figures for family in families)


@pytest.mark.parametrize(
    ("metrics", "needs"),
    [
        (["flip_rate", "label_entropy"], set()),
        (["accuracy"], {"labels"}),
        (["accuracy", "ece"], {"labels", "confidence"}),
        (["brier"], {"labels", "probs"}),
    ],
)
def test_needs_of_metrics(metrics, needs):
    """Flips need nothing but predictions."""
    assert needs_of(metrics) == needs


@pytest.mark.parametrize("metric", METRIC_NAMES)
def test_needs_are_put_into_words(metric):
    """There are words wherever something is needed, each need with its own."""
    alone = [needs_in_words(name) for name in ("accuracy", "probability_sd", "predictive_kl")]

    assert bool(needs_in_words(metric)) == bool(needs_of([metric]))
    assert len(set(alone)) == len(alone)
    assert alone[0] in needs_in_words("brier")
    assert alone[2] in needs_in_words("brier")


@pytest.mark.parametrize("typo", ["flip_rat", "flip-rate", "FLIP_RATE"])
def test_unknown_metric_is_refused_with_the_known_ones(typo):
    """Those of explanations are known, too."""
    names = ("flip_rate", "explanation_kl")
    assert known_metrics([*names, "flip_rate"]) == names

    with pytest.raises(UnknownNameError, check=WithFields(nearest="flip_rate")) as refused:
        known_metrics([typo])
    assert set(names) <= set(refused.value.fields["known"])


def test_metric_that_the_data_does_not_allow_is_refused():
    """Predictions alone have no Brier score."""
    source = ArrayShards(np.zeros((2, 3), dtype=int), labels=np.zeros(3, dtype=int))

    with pytest.raises(
        OptionError, check=WithFields(metric="brier", needs=frozenset({"labels", "probs"}))
    ):
        check_allowed(["accuracy", "brier"], source)


@pytest.mark.parametrize(("name", "nearest"), [("ndcg", "ndcg@k"), ("zzz", None)])
def test_unknown_metric_leads_to_near_ones(name, nearest):
    """All are listed only if none is near."""
    error = unknown(name, KIND_NAMES)

    assert error.fields["nearest"] == nearest
    assert ("set_flips" in str(error)) is (nearest is None)
