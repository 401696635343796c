"""The metrics to compute: those that the data allows and, if any are requested, only those."""

from collections.abc import Collection, Iterable, Mapping, Sequence
from difflib import get_close_matches
from typing import Any

from seedproof.errors import OptionError, UnknownNameError
from seedproof.metrics import FAMILIES, METRIC_NAMES, Accumulator, ClassFamily
from seedproof.metrics.accumulator import Need
from seedproof.metrics.accuracy import Accuracy
from seedproof.metrics.card import card_name
from seedproof.metrics.confidence import Truncation
from seedproof.metrics.dynamics import DYNAMICS_NAMES
from seedproof.metrics.entropy import Entropy
from seedproof.metrics.explanations import EXPLANATION_NAMES
from seedproof.metrics.flips import Flips
from seedproof.metrics.items import RANKING_FAMILIES, RANKING_NAMES, SET_FAMILIES, SET_NAMES
from seedproof.metrics.numbers import NUMBER_FAMILIES, NUMBER_NAMES
from seedproof.metrics.texts import TEXT_FAMILIES, TEXT_NAMES
from seedproof.records.schema import Kind
from seedproof.records.shards import ShardSource

# Every report begins with them, and they need nothing but predictions.
ALWAYS: tuple[type[ClassFamily], ...] = (Flips, Entropy)
# Metrics of records of their own, with the call that logs these records.
RECORDED: dict[str, tuple[tuple[str, ...], str]] = {
    "explanations": (EXPLANATION_NAMES, "run.log_explanations"),
    "dynamics": (DYNAMICS_NAMES, "run.log_dynamics"),
}

# Metrics of the kinds that are not classes. Scores of 0 and 1 have a flip rate as well.
NAMES_OF_KIND: Mapping[str, tuple[str, ...]] = {
    "numbers": (*NUMBER_NAMES, "flip_rate"),
    "rankings": RANKING_NAMES,
    "sets": SET_NAMES,
    "texts": TEXT_NAMES,
}
KIND_NAMES: tuple[str, ...] = tuple(
    dict.fromkeys((*NUMBER_NAMES, *RANKING_NAMES, *SET_NAMES, *TEXT_NAMES))
)

FAMILIES_OF_KIND: Mapping[str, Sequence[type[Accumulator[Any]]]] = {
    "classes": FAMILIES,
    "numbers": NUMBER_FAMILIES,
    "rankings": RANKING_FAMILIES,
    "sets": SET_FAMILIES,
    "texts": TEXT_FAMILIES,
}

# Metrics that chance makes larger the fewer examples there are, each with its corrected form.
WITHOUT_INTERVAL: Mapping[str, str] = {"ece": "ece_corrected"}

_WORDS: dict[Need, str] = {
    "labels": "gold labels",
    "confidence": "probabilities",
    "probs": "probabilities of all classes",
    "truncated": "top classes",
}


def known(source: ShardSource) -> frozenset[Need]:
    """Return the inputs other than predictions that a source has."""
    labels: set[Need] = {"labels"} if source.n_labeled else set()
    by_kind: dict[Kind, set[Need]] = {
        Kind.PROBS: {"confidence", "probs"},
        Kind.TOP: {"confidence", "truncated"},
    }
    return frozenset(labels | by_kind.get(source.kind, set()))


def chosen_families(
    has: frozenset[Need], requested: Collection[str] | None = None
) -> tuple[type[ClassFamily], ...]:
    """Return the families to measure, in display order; flips and entropies always come along.

    If `requested` is omitted, all that the data allows.
    """
    names = set(requested or ())
    if "probability_sd" in names:
        names.update(Truncation.figures)  # the error of its value
    return tuple(
        family
        for family in FAMILIES
        if family.needs <= has
        and (requested is None or family in ALWAYS or not names.isdisjoint(family.figures))
    )


def text_families(
    has: frozenset[Need], requested: Collection[str] | None = None
) -> tuple[type[ClassFamily], ...]:
    """Return the families of texts to measure; all but the accuracy always come along."""
    is_graded = requested is None or not set(requested).isdisjoint(Accuracy.figures)
    return tuple(x for x in TEXT_FAMILIES if x.needs <= has and (is_graded or not x.needs))


def known_metrics(metrics: Collection[str] | None) -> tuple[str, ...] | None:
    """Return the requested metrics, each once; refuse unknown names before anything is read."""
    if metrics is None:
        return None
    if isinstance(metrics, str):
        raise OptionError(
            "metrics is the string {metrics!r}. Pass a list: [{metrics!r}].", metrics=metrics
        )
    if not metrics:
        raise OptionError(
            "metrics is empty. Name at least one, or omit it to measure all.",
            metrics=tuple(metrics),
        )
    further = (*KIND_NAMES, *EXPLANATION_NAMES, *DYNAMICS_NAMES)
    for metric in metrics:
        if card_name(metric) not in (*METRIC_NAMES, *further):
            raise unknown(metric, further)
    return tuple(dict.fromkeys(metrics))


def check_decides(metrics: Iterable[str]) -> None:
    """Refuse metrics by which nothing can be decided, and name those that can."""
    for metric in metrics:
        if metric in WITHOUT_INTERVAL:
            raise OptionError(
                "{metric} has no interval, because few examples make it too large, so nothing is "
                "decided by it. Use {remedy}.",
                metric=metric,
                remedy=WITHOUT_INTERVAL[metric],
            )


def is_metric(name: str) -> bool:
    """Return whether this is a metric of predictions, of any kind."""
    return card_name(name) in (*METRIC_NAMES, *KIND_NAMES)


def check_allowed(metrics: Collection[str] | None, source: ShardSource) -> None:
    """Refuse metrics that these predictions do not allow."""
    if metrics is None:
        return
    has = known(source)
    for metric in metrics:
        kinds = kinds_of(metric)
        given = answers_of(source.kind)
        if given not in kinds:
            raise OptionError(
                "{metric} is a metric of {right}, and these runs give {given}. Leave it out.",
                metric=metric,
                right=" and ".join(kinds),
                given=given,
            )
        if not needs_of([metric], given) <= has:
            raise OptionError(
                "{metric} needs {listed}, and these predictions do not have all of that. "
                "Leave it out.",
                metric=metric,
                listed=needs_in_words(metric, given),
                needs=needs_of([metric], given),
            )
    for folder, (names, call) in RECORDED.items():
        requested = [metric for metric in metrics if metric in names]
        start = f"{folder}/{source.split}/"
        paths = [part.path for run in source.manifests for part in run.parts]
        if requested and not any(path.startswith(start) for path in paths):
            raise OptionError(
                "{metric} needs {folder}, and these runs have none on the measured split. "
                "Log them with {call}, or leave it out.",
                metric=requested[0],
                folder=folder,
                call=call,
            )


def answers_of(kind: Kind) -> str:
    """Return what runs of a kind give, such as classes or numbers."""
    return str(kind) if kind in NAMES_OF_KIND else "classes"


def kinds_of(metric: str) -> tuple[str, ...]:
    """Return the kinds of answers that a metric is of."""
    name = card_name(metric)
    kinds = [kind for kind, names in NAMES_OF_KIND.items() if name in names]
    of_classes = (*METRIC_NAMES, *EXPLANATION_NAMES, *DYNAMICS_NAMES)
    return (*(("classes",) if name in of_classes else ()), *kinds)


def needs_of(metrics: Collection[str], kind: str = "classes") -> frozenset[Need]:
    """Return the inputs other than predictions that some metrics of a kind need."""
    names = set(map(card_name, metrics))
    families = [x for x in FAMILIES_OF_KIND[kind] if not names.isdisjoint(x.figures)]
    return frozenset(need for family in families for need in family.needs)


def needs_in_words(metric: str, kind: str = "classes") -> str:
    """Return the needs of one metric, for messages."""
    needs = needs_of([metric], kind)
    return " and ".join(words for need, words in _WORDS.items() if need in needs)


def unknown(metric: str, further: Collection[str] = ()) -> UnknownNameError:
    """Return the error that names the nearest metrics, or lists the known ones by kind."""
    names = tuple(dict.fromkeys((*METRIC_NAMES, *further)))
    near = get_close_matches(metric.lower().replace("-", "_"), names, n=3)
    advice = f"Did you mean {' or '.join(near)}?" if near else _listed(names)
    return UnknownNameError(
        "Unknown metric {metric!r}. {advice}",
        metric=metric,
        advice=advice,
        nearest=near[0] if near else None,
        known=names,
    )


def _listed(metrics: Collection[str]) -> str:
    """Return metrics in words, each under the first kind of answers that it is of."""
    by_kind: dict[str, list[str]] = {}
    for metric in metrics:
        by_kind.setdefault(kinds_of(metric)[0], []).append(metric)
    lists = [f"of {kind}: {', '.join(names)}" for kind, names in by_kind.items()]
    return f"Known metrics {'; '.join(lists)}."


def narrowed(source: ShardSource, requested: Collection[str] | None) -> ShardSource:
    """Return the same runs without columns that no requested metric needs."""
    is_whole = requested is None or source.kind in NAMES_OF_KIND
    if is_whole or needs_of(requested or ()) - {"labels"}:
        return source
    return source.predictions_alone()


def asks_for_explanations(requested: Collection[str] | None) -> bool:
    """Return whether explanations are measured, too."""
    return requested is None or not set(requested).isdisjoint(EXPLANATION_NAMES)


def asks_for_dynamics(requested: Collection[str] | None) -> bool:
    """Return whether dynamics are measured, too."""
    return requested is None or not set(requested).isdisjoint(DYNAMICS_NAMES)
