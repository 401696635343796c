"""Which families are measured: what the data allows, and what somebody asked for."""

from collections.abc import Collection
from difflib import get_close_matches

from seedproof.errors import OptionError, UnknownNameError
from seedproof.metrics import FAMILIES, METRIC_NAMES, Accumulator
from seedproof.metrics.accumulator import Need
from seedproof.metrics.dynamics import DYNAMICS_NAMES
from seedproof.metrics.entropy import Entropy
from seedproof.metrics.explanations import EXPLANATION_NAMES
from seedproof.metrics.flips import Flips
from seedproof.metrics.truncation import Truncation

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
    wanted = set(asked or ())
    if "probability_sd" in wanted:
        # What is not known of it belongs to it.
        wanted.update(Truncation.figures)
    return tuple(
        family
        for family in FAMILIES
        if family.needs <= has
        and (asked is None or family in ALWAYS or not wanted.isdisjoint(family.figures))
    )


def check_name(metric: str) -> None:
    """Refuse what is no metric.

    Args:
        metric: A name.

    Raises:
        UnknownNameError: There is no such metric; the message has the nearest one.
    """
    if metric not in (*METRIC_NAMES, *BESIDE_PREDICTIONS):
        raise unknown(metric, BESIDE_PREDICTIONS)


def check_needs(asked: Collection[str], has: frozenset[Need]) -> None:
    """Refuse metrics that the data does not allow.

    Args:
        asked: Names of metrics.
        has: What is known beside predictions.

    Raises:
        OptionError: One needs something that is not known.
    """
    for metric in asked:
        if not needs_of([metric]) <= has:
            raise OptionError(
                "{metric} needs {listed}, and these predictions lack some of that. Leave it out.",
                metric=metric,
                listed=needs_in_words(metric),
                needs=needs_of([metric]),
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
    """The error that names the nearest metric, and lists the known ones."""
    names = (*METRIC_NAMES, *further)
    near = get_close_matches(metric.lower().replace("-", "_"), names, n=1)
    meant = f" Did you mean {near[0]}?" if near else ""
    return UnknownNameError(
        "There is no metric {metric!r}.{meant} Known: {known}.",
        metric=metric,
        meant=meant,
        nearest=near[0] if near else None,
        known=names,
    )
