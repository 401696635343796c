"""A measurement as plain data: words first, then key figures, every figure, unstable examples."""

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from seedproof.errors import ColumnError
from seedproof.measurement.result import Measurement
from seedproof.messages import Message
from seedproof.metrics.card import card
from seedproof.records.explanation_shards import EXPLANATIONS_LEFT_OUT
from seedproof.report import words
from seedproof.report.dynamics import title as dynamics_title
from seedproof.report.explanations.view import TOKENS, Reasons, build_reasons
from seedproof.report.explanations.words import TOP_WORDS, which_words
from seedproof.report.numbers import WithUnit, number, sign
from seedproof.report.words import Sentence
from seedproof.stats.intervals import Estimate

N_DOTS = 100
MAX_VOTES = 3


@dataclass(frozen=True)
class Row:
    """One line of the table of figures."""

    name: str
    title: str
    value: str
    interval: str
    over: str
    better: str
    card: str


@dataclass(frozen=True)
class DynamicsView:
    """What single runs do over their steps.

    Args:
        title: How many runs were traced, on how many examples.
        rows: Every figure.
        notes: How the records were read.
    """

    title: str
    rows: tuple[Row, ...]
    notes: tuple[str, ...]


@dataclass(frozen=True)
class KeyFigure:
    """One of the few figures that stand first.

    Args:
        name: Name of the metric.
        title: What it is.
        value: The number, without its unit.
        unit: What follows the number.
        interval: Its interval, or nothing.
        meaning: What it says, in one sentence.
        bar: Low end, value and high end of the interval on a scale from 0 to 1; None without.
        mark: A reference on the same scale, such as what chance would give.
    """

    name: str
    title: str
    value: str
    unit: str
    interval: str
    meaning: Message
    bar: tuple[float, float, float] | None
    mark: float | None = None


@dataclass(frozen=True)
class Unstable:
    """One of the examples on which runs disagree most.

    Args:
        example: Its id.
        label: Its gold class, if known.
        consensus: The class that most runs predict.
        votes: Class and number of runs, the most frequent first; rare ones together as "other".
        flip_rate: Share of the pairs of runs that disagree.
        entropy: Entropy of the votes.
        mean: Mean over runs of the probability that is followed.
        sd: Its standard deviation.
        probs: That probability for each run.
        is_tie: Whether no class has more votes than every other.
        shown: Further columns that were asked for, by name.
    """

    example: str
    label: str | None
    consensus: str
    votes: tuple[tuple[str, int], ...]
    flip_rate: float
    entropy: float
    mean: float | None
    sd: float | None
    probs: tuple[float, ...]
    is_tie: bool
    shown: Mapping[str, str]


@dataclass(frozen=True)
class View:
    """A measurement in words and rows.

    Args:
        title: What was measured, in one line.
        headline: The verdict, in one sentence.
        sentences: What a person wants to know first.
        dots: Of a hundred examples: all runs agree, some differ, entropy above 0.56.
        key_figures: The few figures that stand first.
        rows: Every figure.
        reasons: Explanations, by method; none without records of them.
        dynamics: What single runs do over their steps; None if no run was traced.
        unstable: The examples on which runs disagree most; none if no run disagrees.
        notes: How the input was read, and what limits the figures.
    """

    title: str
    headline: str
    sentences: tuple[Sentence, ...]
    dots: tuple[int, int, int]
    key_figures: tuple[KeyFigure, ...]
    rows: tuple[Row, ...]
    reasons: tuple[Reasons, ...]
    dynamics: DynamicsView | None
    unstable: tuple[Unstable, ...]
    notes: tuple[str, ...]


def build_view(measurement: Measurement, *, show: Sequence[str] = ()) -> View:
    """The view of a measurement."""
    for name in show:
        if name not in can_show(measurement):
            raise unknown_column(name, can_show(measurement), measurement.notes)
    columns = [name for name in show if name in measurement.extras()]
    return View(
        title=str(words.title(measurement)),
        headline=str(words.headline(measurement)),
        sentences=words.sentences(measurement),
        dots=agreement_dots(measurement),
        key_figures=_key_figures(measurement),
        rows=tuple(_row(name, value) for name, value in measurement.metrics.items()),
        reasons=build_reasons(measurement, with_texts=TOKENS in show),
        dynamics=_dynamics(measurement),
        unstable=_unstable(measurement, columns),
        notes=tuple(map(str, (*measurement.notes, *words.limits(measurement)))),
    )


def _dynamics(measurement: Measurement) -> DynamicsView | None:
    found = measurement.dynamics
    if found is None:
        return None
    return DynamicsView(
        title=str(dynamics_title(found)),
        rows=tuple(_row(name, value) for name, value in found.metrics.items()),
        notes=tuple(map(str, found.notes)),
    )


def can_show(measurement: Measurement) -> tuple[str, ...]:
    """What of an example may be shown if it is asked for."""
    tokens = (TOKENS,) if measurement.explanations else ()
    return tuple(dict.fromkeys((*measurement.extras(), *tokens)))


def unknown_column(name: str, known: Sequence[str], notes: Sequence[Message] = ()) -> ColumnError:
    """What to raise where something is to be shown that is not there."""
    if name == TOKENS:
        left_out = tuple(note for note in notes if note.code == EXPLANATIONS_LEFT_OUT)
        return ColumnError(
            "There are no tokens to show: they belong to explanations, and none was measured. "
            "{why}",
            why=" ".join(map(str, left_out)) or "Log explanations with run.log_explanations.",
            column=name,
            left_out=left_out,
        )
    return ColumnError(
        "There is no further column {column!r} to show. Carried along: {listed}.",
        column=name,
        listed=", ".join(map(repr, known)) or "none",
        known=tuple(known),
    )


def agreement_dots(measurement: Measurement) -> tuple[int, int, int]:
    """Of a hundred examples: all runs agree, some differ, entropy above 0.56.

    They add up, because they are rounded by largest remainder.
    """
    differ = measurement.metrics["ambiguity"].value
    high = measurement.metrics["high_entropy_share"].value
    exact = [N_DOTS * share for share in (1 - differ, differ - high, high)]
    whole = [int(share) for share in exact]
    by_remainder = sorted(range(3), key=lambda i: whole[i] - exact[i])
    for index in by_remainder[: N_DOTS - sum(whole)]:
        whole[index] += 1
    return whole[0], whole[1], whole[2]


def _key_figures(measurement: Measurement) -> tuple[KeyFigure, ...]:
    metrics = measurement.metrics
    pairs = _pairs(measurement.n_runs)
    flips = Message(
        "pairs-differ", "of the answers differ between two runs; mean of {pairs}.", pairs=pairs
    )
    found = [_key("flip_rate", metrics, flips)]
    if "accuracy_sd" in metrics:
        independent = metrics["accuracy_sd_independent"].value
        spread = Message(
            "spread-and-chance",
            "standard deviation over runs; independent flips would give {chance:bare}.",
            chance=WithUnit(independent, "points"),
        )
        found.append(_key("accuracy_sd", metrics, spread, reference=independent))
    else:
        entropy = Message("mean-entropy", "mean entropy of the runs' answers.")
        found.append(_key("label_entropy_corrected", metrics, entropy))
    touched = Message(
        "examples-touched",
        "of the examples get another answer from at least one of {n_runs} runs.",
        n_runs=measurement.n_runs,
    )
    found.append(_key("ambiguity", metrics, touched, title="Examples touched"))
    if measurement.explanations:
        found.append(_top_words(measurement, pairs))
    elif "probability_sd" in metrics:
        moved = Message("probability-spread", "standard deviation of one probability over runs.")
        found.append(_key("probability_sd", metrics, moved))
    else:
        apart = Message(
            "runs-farthest-apart", "of the answers differ between the two runs least alike."
        )
        found.append(_key("discrepancy", metrics, apart))
    return tuple(found)


def _pairs(n_runs: int) -> Message:
    n_pairs = n_runs * (n_runs - 1) // 2
    words = "the one pair of runs" if n_pairs == 1 else "{n_pairs:,} pairs of runs"
    return Message("pairs", words, n_pairs=n_pairs)


def _top_words(measurement: Measurement, pairs: Message) -> KeyFigure:
    """How much of the reasons differs, by the first method, beside the explainer's own noise."""
    method, explained = next(iter(measurement.explanations.items()))
    noise = None if explained.noise is None else explained.noise[TOP_WORDS].value
    template = "of the {words} are named by only one; mean of {pairs}."
    fields: dict[str, object] = {"words": which_words(method), "pairs": pairs}
    if noise is not None:
        template += " Two draws of one explainer: {noise:bare}."
        fields["noise"] = WithUnit(noise, "percent")
    meaning = Message("top-words-differ", template, **fields)
    return _key(
        TOP_WORDS, explained.metrics, meaning, reference=noise, title="Top words that differ"
    )


def _key(
    name: str,
    metrics: Mapping[str, Estimate],
    meaning: Message,
    *,
    reference: float | None = None,
    title: str | None = None,
) -> KeyFigure:
    about, estimate = card(name), metrics[name]
    bar, mark, interval = None, None, ""
    if estimate.low is not None and estimate.high is not None:
        scale = 1.25 * max(estimate.high, reference or 0.0) or 1.0
        bar = (estimate.low / scale, estimate.value / scale, estimate.high / scale)
        mark = None if reference is None else reference / scale
        interval = f"[{number(estimate.low, about.unit)}, {number(estimate.high, about.unit)}]"
    unit = {"percent": "%", "points": "points", "nats": "nats"}.get(about.unit, "")
    value = number(estimate.value, about.unit)
    return KeyFigure(name, title or about.title, value, unit, interval, meaning, bar, mark)


def _unstable(measurement: Measurement, show: Sequence[str]) -> tuple[Unstable, ...]:
    found = [row for row in measurement.unstable_examples.to_pylist() if row["flip_rate"] > 0]
    ballots = [_votes(row["predictions"], measurement.classes) for row in found]
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
            shown={name: _text(row[name]) for name in show},
        )
        for row, votes in zip(found, ballots, strict=True)
    )


def _votes(predictions: Sequence[int], classes: Sequence[str]) -> tuple[tuple[str, int], ...]:
    """How many runs say what, the most frequent first, ties by class."""
    counts = sorted(Counter(predictions).items(), key=lambda item: (-item[1], item[0]))
    named = [(classes[index], count) for index, count in counts]
    if len(named) <= MAX_VOTES:
        return tuple(named)
    rest = sum(count for _, count in named[MAX_VOTES:])
    return (*named[:MAX_VOTES], ("other", rest))


def _text(value: Any) -> str:  # noqa: ANN401 - a user's own column
    return "" if value is None else str(value)


def _row(name: str, value: Estimate) -> Row:
    about = card(name)
    interval = ""
    if value.low is not None and value.high is not None:
        interval = f"[{number(value.low, about.unit)}, {number(value.high, about.unit)}]"
    return Row(
        name=name,
        title=about.title,
        value=number(value.value, about.unit) + sign(about.unit),
        interval=interval,
        over=value.over or "",
        better=about.better,
        card=about.text,
    )
