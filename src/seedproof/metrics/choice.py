"""Which families are measured: what the data allows, and what somebody asked for."""

from collections.abc import Collection

from seedproof.errors import OptionError, UnknownNameError
from seedproof.metrics import FAMILIES, METRIC_NAMES, Accumulator
from seedproof.metrics.accumulator import Need
from seedproof.metrics.dynamics import DYNAMICS_NAMES
from seedproof.metrics.entropy import Entropy
from seedproof.metrics.explanations import EXPLANATION_NAMES
from seedproof.metrics.flips import Flips

# Every report begins with them, and predictions are all they need.
ALWAYS: tuple[type[Accumulator], ...] = (Flips, Entropy)
# What is measured from records of its own, where there are any.
BESIDE_PREDICTIONS = (*EXPLANATION_NAMES, *DYNAMICS_NAMES)

_WORDS: dict[Need, str] = {
    "labels": "gold labels",
    "confidence": "probabilities",
    "probs": "probabilities of all classes",
    "truncated": "top classes",
}


def chosen_families(
    has: frozenset[Need], asked: Collection[str] | None = None
) -> tuple[type[Accumulator], ...]:
    """The families to measure, in the order in which they are shown.

    Args:
        has: What is known beside predictions.
        asked: Names of metrics; everything that the data allows without them.

    Returns:
        The families of these metrics, and those of flips and entropies.
    """
    return tuple(
        family
        for family in FAMILIES
        if family.needs <= has
        and (asked is None or family in ALWAYS or not set(asked).isdisjoint(family.figures))
    )


def check_asked(asked: Collection[str], has: frozenset[Need]) -> None:
    """Refuse metrics that do not exist or that the data does not allow.

    Args:
        asked: Names of metrics.
        has: What is known beside predictions.

    Raises:
        UnknownNameError: There is no such metric.
        OptionError: It needs something that is not known.
    """
    for metric in asked:
        if metric in BESIDE_PREDICTIONS:
            continue
        if metric not in METRIC_NAMES:
            raise unknown(metric, BESIDE_PREDICTIONS)
        if not needs_of([metric]) <= has:
            raise OptionError(
                f"{metric} needs {needs_in_words(metric)}, and these predictions lack some of "
                "that. Leave it out."
            )


def needs_of(asked: Collection[str]) -> frozenset[Need]:
    """What some metrics need beside predictions."""
    families = [family for family in FAMILIES if not set(asked).isdisjoint(family.figures)]
    return frozenset(need for family in families for need in family.needs)


def needs_in_words(metric: str) -> str:
    """What one metric needs beside predictions, for messages."""
    needs = needs_of([metric])
    return " and ".join(words for need, words in _WORDS.items() if need in needs)


def unknown(metric: str, further: Collection[str] = ()) -> UnknownNameError:
    """The error that lists the known metrics."""
    known = ", ".join((*METRIC_NAMES, *further))
    return UnknownNameError(f"There is no metric {metric!r}. Known: {known}.")
