"""A measurement of texts as plain data: sentences, key figures, every metric, examples."""

from collections.abc import Sequence

from seedproof.measurement.result import Measurement
from seedproof.measurement.texts import TEXTS
from seedproof.messages import Sentences
from seedproof.report import checks
from seedproof.report.groups import group_tables
from seedproof.report.texts import sentences
from seedproof.report.texts.answers import as_line, given_answers, shown_answers, votes
from seedproof.report.view import (
    KeyFigure,
    Unstable,
    View,
    can_show,
    key,
    requested_metrics,
    row,
    unknown_column,
)

# `--show text` shows the answers themselves, which may be private.
TEXT = "text"
# In a terminal; `--all` prints the others.
KEY_METRICS = ("flip_rate", "ambiguity", "distinct_answers", "accuracy", "accuracy_sd")
SENTENCES = {
    "pairs-differ": "of the answers differ between two {repeats}.",
    "distinct": "different answers to an example from {n_runs} {repeats}, on average.",
    "examples-differ": "of the examples get different answers from the {n_all} {of_all}.",
    "right": "of the answers are right.",
    "entropy": "mean entropy of the answers to an example.",
}
_say = Sentences(SENTENCES)


def build_text_view(measurement: Measurement, *, show: Sequence[str] = ()) -> View:
    """Return the view of a measurement of texts; raise for a column that cannot be shown."""
    known = shown_columns(measurement)
    for name in show:
        if name not in known:
            raise unknown_column(name, known, measurement.notes)
    return View(
        title=str(sentences.title(measurement)),
        headline=str(sentences.headline(measurement)),
        sentences=sentences.sentences(measurement),
        key_figures=_key_figures(measurement),
        rows=tuple(
            row(name, value, is_key=name in (requested_metrics(measurement) or KEY_METRICS))
            for name, value in measurement.metrics.items()
        ),
        groups=group_tables(measurement),
        unstable=_unstable(measurement, show),
        repeats=str(sentences.words(measurement)["of_all"]),
        notes=(
            *checks.notes(measurement.checks),
            *map(str, (*measurement.notes, *sentences.limits(measurement))),
        ),
        checks=checks.alerts(measurement.checks),
    )


def shown_columns(measurement: Measurement) -> tuple[str, ...]:
    """Return the columns of examples that can be shown on request, the texts of answers too."""
    has_texts = TEXTS in measurement.unstable_examples.column_names
    return tuple(dict.fromkeys((*can_show(measurement), *([TEXT] if has_texts else []))))


def _key_figures(measurement: Measurement) -> tuple[KeyFigure, ...]:
    metrics, words = measurement.metrics, sentences.words(measurement)
    last, meaning = "label_entropy", _say("entropy")
    if "accuracy" in metrics:
        last, meaning = "accuracy", _say("right")
    differ = _say("examples-differ", **words)
    return (
        key("flip_rate", metrics, _say("pairs-differ", **words), title="Answers that differ"),
        key("distinct_answers", metrics, _say("distinct", **words)),
        key("ambiguity", metrics, differ, title="Examples that differ"),
        key(last, metrics, meaning),
    )


def _unstable(measurement: Measurement, show: Sequence[str]) -> tuple[Unstable, ...]:
    """Return the examples on which runs differ most, with the share of each answer."""
    unstable, extras = [], measurement.extras()
    for example in measurement.unstable_examples.to_pylist():
        if example["flip_rate"] == 0.0:
            continue
        answers = given_answers(example)
        counts = votes(answers)
        shown = {
            name: "" if example[name] is None else str(example[name])
            for name in show
            if name in extras
        }
        if TEXT in show and TEXTS in example:
            shown["answers" if TEXT in extras else TEXT] = as_line(shown_answers(answers))
        unstable.append(
            Unstable(
                example=str(example["example"]),
                label=None,
                consensus=answers[0].name,
                votes=counts,
                is_tie=len(counts) > 1 and counts[0][1] == counts[1][1],
                flip_rate=example["flip_rate"],
                entropy=example["label_entropy"],
                mean=None,
                sd=None,
                probs=(),
                shown=shown,
            )
        )
    return tuple(unstable)
