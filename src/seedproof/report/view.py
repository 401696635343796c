"""A measurement as plain data: sentences, key figures, every metric, unstable examples."""

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import cast

from seedproof.errors import ColumnError
from seedproof.measurement.dynamics import DynamicsMeasurement
from seedproof.measurement.result import Measurement
from seedproof.messages import Message, Sentences
from seedproof.metrics import METRIC_NAMES
from seedproof.metrics.card import Unit, card, card_name, card_or_own
from seedproof.predictions.checks import Check
from seedproof.records.explanation_shards import EXPLANATIONS_LEFT_OUT
from seedproof.report import checks, sentences
from seedproof.report.explanations.sentences import TOP_WORDS, which_words
from seedproof.report.explanations.view import TOKENS, ExplanationTable, build_explanations
from seedproof.report.groups import GroupTable, group_tables
from seedproof.report.numbers import WithUnit, in_brackets, is_too_wide, number
from seedproof.report.sentences import Sentence
from seedproof.stats.intervals import WITHOUT_RUNS, Estimate

N_DOTS = 100
MAX_VOTES = 3
# Code of the note that lists the requested metrics.
SOME_METRICS = "some-metrics"
KEY_METRICS = (
    "flip_rate",
    "accuracy",
    "accuracy_sd",
    "probability_sd",
    "ece",
    "ece_corrected",
    "label_entropy_corrected",
)
# Shown first as well if classes are imbalanced: otherwise they are close to the accuracy.
CLASSWISE = ("balanced_accuracy", "macro_f1")
IMBALANCE = 3


@dataclass(frozen=True)
class Row:
    """One line of the table of metrics; a terminal shows the key metrics unless asked for all."""

    name: str
    title: str
    value: str
    interval: str
    over: str
    better: str
    card: str
    is_key: bool = True


@dataclass(frozen=True)
class DynamicsView:
    """Metrics of single runs over their steps."""

    title: str
    rows: tuple[Row, ...]
    notes: tuple[str, ...]


@dataclass(frozen=True)
class KeyFigure:
    """One of the few numbers that come first, with its unit apart."""

    name: str
    title: str
    value: str
    unit: str
    interval: str
    meaning: Message
    # Low end, value and high end of the interval on a scale from 0 to 1.
    bar: tuple[float, float, float] | None
    # A reference on the same scale, such as the value expected by chance.
    mark: float | None = None


@dataclass(frozen=True)
class Unstable:
    """One of the examples on which runs disagree most."""

    example: str
    label: str | None
    consensus: str
    # Class and number of runs, the most frequent first; rare ones together as "other".
    votes: tuple[tuple[str, int], ...]
    flip_rate: float
    entropy: float
    # Mean, standard deviation and values per run of the probability that is followed.
    mean: float | None
    sd: float | None
    probs: tuple[float, ...]
    is_tie: bool
    # Further columns that were requested, by name.
    shown: Mapping[str, str]


@dataclass(frozen=True)
class NumberLine:
    """One of the examples on which the numbers of the runs differ most."""

    example: str
    target: float | None  # None if it is unknown
    mean: float
    sd: float
    numbers: tuple[float, ...]  # of each run
    # Further columns that were requested, by name.
    shown: Mapping[str, str]


@dataclass(frozen=True)
class ItemLine:
    """One of the examples on which the lists or sets of the runs differ most."""

    example: str
    distance: float  # Jaccard distance of two runs
    items: tuple[tuple[str, ...], ...]  # of each run
    right: tuple[str, ...] | None  # None if they are unknown
    is_ranked: bool
    # Further columns that were requested, by name.
    shown: Mapping[str, str]


@dataclass(frozen=True, repr=False)
class View:
    """A measurement in sentences and rows."""

    title: str
    headline: str
    sentences: tuple[Sentence, ...]
    key_figures: tuple[KeyFigure, ...]
    rows: tuple[Row, ...]
    notes: tuple[str, ...]
    # Errors, then warnings.
    checks: tuple[Check, ...] = ()
    # Of a hundred examples: all runs agree, some differ, entropy above 0.56; 0 for numbers.
    dots: tuple[int, int, int] = (0, 0, 0)
    explanations: tuple[ExplanationTable, ...] = ()
    # Classes and slices, the least stable first.
    groups: tuple[GroupTable, ...] = ()
    dynamics: DynamicsView | None = None
    unstable: tuple[Unstable, ...] = ()
    repeats: str = "runs"  # unit of repetition, in the table of unstable examples
    # In place of `unstable` if the runs give numbers.
    numbers: tuple[NumberLine, ...] = ()
    # The same if they give lists or sets.
    items: tuple[ItemLine, ...] = ()

    def __repr__(self) -> str:
        return f"<View of {self.title}: {self.headline}>"


def build_view(measurement: Measurement, *, show: Sequence[str] = ()) -> View:
    """Return the view of a measurement; raise for a column that cannot be shown."""
    known = can_show(measurement)
    for name in show:
        if name not in known:
            raise unknown_column(name, known, measurement.notes)
    columns = [name for name in show if name in measurement.extras()]
    key_metrics = _key_metrics(measurement)
    return View(
        title=str(sentences.title(measurement)),
        headline=str(sentences.headline(measurement)),
        sentences=sentences.sentences(measurement),
        dots=agreement_dots(measurement),
        key_figures=_key_figures(measurement),
        rows=tuple(
            row(name, value, is_key=name in key_metrics)
            for name, value in measurement.metrics.items()
        ),
        explanations=build_explanations(measurement, with_texts=TOKENS in show),
        groups=group_tables(measurement),
        dynamics=_dynamics(measurement.dynamics),
        unstable=_unstable(measurement, columns),
        notes=(
            *checks.notes(measurement.checks),
            *map(str, (*measurement.notes, *sentences.limits(measurement))),
        ),
        checks=checks.alerts(measurement.checks),
    )


def _key_metrics(measurement: Measurement) -> Sequence[str]:
    """Return the metrics that a terminal shows by default: the requested ones, if there are any."""
    chosen = requested_metrics(measurement) or [
        *KEY_METRICS,
        *(CLASSWISE if _is_imbalanced(measurement) else ()),
    ]
    return [*chosen, *_own_metrics(measurement)]


def requested_metrics(measurement: Measurement) -> list[str]:
    """Return the metrics that were requested; empty if all were."""
    notes = [note for note in measurement.notes if note.code == SOME_METRICS]
    requested = [name for note in notes for name in cast("Sequence[str]", note.fields["metrics"])]
    # Metrics of explanations have a table of their own.
    return [name for name in requested if name in measurement.metrics]


def _is_imbalanced(measurement: Measurement) -> bool:
    """Return whether a frequent class has several times the gold labels of a rare one."""
    counts = measurement.detail.get("gold_count")
    if counts is None or not counts.any():
        return False
    return bool(counts.max() >= IMBALANCE * counts[counts > 0].min())


def _own_metrics(measurement: Measurement) -> Sequence[str]:
    """Return metrics of the user's own, and their spreads."""
    return [name for name in measurement.metrics if name not in METRIC_NAMES]


def _dynamics(dynamics: DynamicsMeasurement | None) -> DynamicsView | None:
    if dynamics is None:
        return None
    return DynamicsView(
        title=str(sentences.dynamics_title(dynamics)),
        rows=tuple(row(name, value) for name, value in dynamics.metrics.items()),
        notes=tuple(map(str, dynamics.notes)),
    )


def can_show(measurement: Measurement) -> tuple[str, ...]:
    """Return the columns of examples that can be shown on request."""
    tokens = (TOKENS,) if measurement.explanations else ()
    return tuple(dict.fromkeys((*measurement.extras(), *tokens)))


def unknown_column(
    name: str, known: Sequence[str], notes: Sequence[Message] = (), *, has_answers: bool = False
) -> ColumnError:
    """Return the error for a column that cannot be shown.

    Args:
        name: Name of the column.
        known: Columns that can be shown.
        notes: Remarks on the measurement.
        has_answers: Answers are texts, whose own texts only `seedproof measure` shows.

    Returns:
        The error.
    """
    if name == "text" and has_answers:
        return ColumnError(
            "Comparisons name answers by letters, and do not show their texts. Show those of one "
            "arm: seedproof measure FILE --show text. Further columns: {listed}.",
            column=name,
            listed=", ".join(map(repr, known)) or "none",
            known=tuple(known),
        )
    if name == TOKENS:
        left_out = tuple(note for note in notes if note.code == EXPLANATIONS_LEFT_OUT)
        return ColumnError(
            "There are no tokens to show, because no explanations were measured. {why}",
            why=" ".join(map(str, left_out)) or "Log explanations with run.log_explanations.",
            column=name,
            left_out=left_out,
        )
    return ColumnError(
        "There is no column {column!r} to show. Available: {listed}.",
        column=name,
        listed=", ".join(map(repr, known)) or "none",
        known=tuple(known),
    )


def agreement_dots(measurement: Measurement) -> tuple[int, int, int]:
    """Return how many of a hundred examples have all runs agree, some differ, or high entropy.

    They add up to a hundred, because they are rounded by largest remainder.
    """
    differ = measurement.metrics["ambiguity"].value
    high = measurement.metrics["high_entropy_share"].value
    exact = [N_DOTS * share for share in (1 - differ, differ - high, high)]
    whole = [int(share) for share in exact]
    by_remainder = sorted(range(3), key=lambda i: whole[i] - exact[i])
    for index in by_remainder[: N_DOTS - sum(whole)]:
        whole[index] += 1
    return whole[0], whole[1], whole[2]


SENTENCES = {
    "pairs-differ": "of the answers differ between two runs; mean of {pairs}.",
    "one-pair": "the one pair of runs",
    "pairs": "{n_pairs:,} pairs of runs",
    "spread-and-chance": "standard deviation over runs; independent flips would give "
    "{chance:bare}.",
    "mean-entropy": "mean entropy of the runs’ answers.",
    "examples-that-flip": "of the examples get different answers from the {n_runs} runs.",
    "probability-spread": "standard deviation of the predicted probability over runs.",
    "runs-farthest-apart": "of the answers differ between the two most different runs.",
    "top-words-differ": "of the {words} are top words for only one; mean of {pairs}.",
    "top-words-and-noise": "of the {words} are top words for only one; mean of {pairs}. "
    "Same run, explained twice: {noise:bare}.",
}
_say = Sentences(SENTENCES)


def _key_figures(measurement: Measurement) -> tuple[KeyFigure, ...]:
    metrics, n_runs = measurement.metrics, measurement.n_runs
    n_pairs = n_runs * (n_runs - 1) // 2
    pairs = _say("one-pair" if n_pairs == 1 else "pairs", n_pairs=n_pairs)
    key_figures = [key("flip_rate", metrics, _say("pairs-differ", pairs=pairs))]
    if "accuracy_sd" in metrics:
        independent = metrics["accuracy_sd_independent"].value
        spread = _say("spread-and-chance", chance=WithUnit(independent, "points"))
        key_figures.append(key("accuracy_sd", metrics, spread, reference=independent))
    else:
        key_figures.append(key("label_entropy_corrected", metrics, _say("mean-entropy")))
    flipping = _say("examples-that-flip", n_runs=n_runs)
    key_figures.append(key("ambiguity", metrics, flipping, title="Examples that flip"))
    if measurement.explanations:
        key_figures.append(_top_words(measurement, pairs))
    elif "probability_sd" in metrics:
        key_figures.append(key("probability_sd", metrics, _say("probability-spread")))
    else:
        key_figures.append(key("discrepancy", metrics, _say("runs-farthest-apart")))
    return tuple(key_figures)


def _top_words(measurement: Measurement, pairs: Message) -> KeyFigure:
    """Return the share of top words that differ by the first method, with the explainer's noise."""
    method, explained = next(iter(measurement.explanations.items()))
    fields: dict[str, object] = {"words": which_words(method), "pairs": pairs}
    code, noise = "top-words-differ", None
    if explained.noise is not None:
        code, noise = "top-words-and-noise", explained.noise[TOP_WORDS].value
        fields["noise"] = WithUnit(noise, "percent")
    return key(
        TOP_WORDS,
        explained.metrics,
        _say(code, **fields),
        reference=noise,
        title="Top words that differ",
    )


def key(
    name: str,
    metrics: Mapping[str, Estimate],
    meaning: Message,
    *,
    reference: float | None = None,
    title: str | None = None,
) -> KeyFigure:
    """Return a metric as a key figure, with a reference such as the value expected by chance."""
    about, estimate = card(name), metrics[name]
    bar, mark = interval_bar(estimate, reference)
    return KeyFigure(
        name,
        title or about.title,
        value=number(estimate.value, about.unit),
        unit={"percent": "%", "points": "points", "nats": "nats"}.get(about.unit, ""),
        interval=_interval_of_key(estimate, about.unit),
        meaning=meaning,
        bar=bar,
        mark=mark,
    )


def interval_bar(
    estimate: Estimate, reference: float | None = None
) -> tuple[tuple[float, float, float] | None, float | None]:
    """Return the interval with its value, and a reference, on a scale from 0 to 1."""
    if estimate.low is None or estimate.high is None or is_too_wide(estimate):
        return None, None
    if estimate.low < 0.0:
        return None, None
    scale = 1.25 * max(estimate.high, reference or 0.0) or 1.0
    bar = (estimate.low / scale, estimate.value / scale, estimate.high / scale)
    return bar, None if reference is None else reference / scale


def _unstable(measurement: Measurement, show: Sequence[str]) -> tuple[Unstable, ...]:
    rows = [row for row in measurement.unstable_examples.to_pylist() if row["flip_rate"] > 0]
    ballots = [_votes(row["predictions"], measurement.classes) for row in rows]
    return tuple(
        Unstable(
            example=str(row["example"]),
            label=row.get("label"),
            consensus=row["consensus"],
            votes=votes,
            is_tie=votes[0][1] == votes[1][1],
            flip_rate=row["flip_rate"],
            entropy=row["label_entropy"],
            mean=row.get("probability_mean"),
            sd=row.get("probability_sd"),
            probs=tuple(row.get("probs") or ()),
            shown={name: "" if row[name] is None else str(row[name]) for name in show},
        )
        for row, votes in zip(rows, ballots, strict=True)
    )


def _votes(predictions: Sequence[int], classes: Sequence[str]) -> tuple[tuple[str, int], ...]:
    """Count the runs per class, the most frequent first, ties by class."""
    counts = sorted(Counter(predictions).items(), key=lambda item: (-item[1], item[0]))
    named = [(classes[index], count) for index, count in counts]
    if len(named) <= MAX_VOTES:
        return tuple(named)
    rest = sum(count for _, count in named[MAX_VOTES:])
    return (*named[:MAX_VOTES], ("other", rest))


def row(name: str, value: Estimate, *, is_key: bool = True) -> Row:
    """Return one line of the table of metrics."""
    about = card_or_own(name)
    return Row(
        name=name,
        title=about.title if card_name(name) == name else f"{about.title}: {name}",
        value=str(WithUnit(value.value, about.unit)),
        interval=_interval(value, about.unit),
        over=value.over or "",
        better=about.better,
        card=about.text,
        is_key=is_key,
    )


def _interval_of_key(estimate: Estimate, unit: Unit) -> str:
    """Return the interval, with what it is over if it says nothing about other runs."""
    ends = _interval(estimate, unit)
    return f"{ends} over {estimate.over}" if ends and estimate.over in WITHOUT_RUNS else ends


def _interval(estimate: Estimate, unit: Unit) -> str:
    return in_brackets(estimate, lambda end: number(end, unit)).strip()
