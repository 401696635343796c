"""Charts of runs that give a text for each example, and the sections of the page."""

from collections.abc import Sequence
from dataclasses import replace

from seedproof.measurement.result import Measurement
from seedproof.measurement.texts import TEXTS
from seedproof.messages import Sentences
from seedproof.metrics.entropy import HIGH_ENTROPY
from seedproof.report.figures.answers import accuracy_by_run, entropies, flip_matrix
from seedproof.report.figures.base import Figure
from seedproof.report.numbers import WithUnit, number
from seedproof.report.overview import AnswerLine, AnswerTable, Section, TextTable, group_table
from seedproof.report.texts.answers import given_answers, shown_answers, votes
from seedproof.report.texts.sentences import words
from seedproof.report.texts.view import TEXT
from seedproof.report.view import View

N_LISTED = 50
# With more runs, the table of distinct answers has some numbers of them.
SOME_RUNS = (1, 2, 3, 5, 10, 20, 50, 100, 200, 500, 1000, 2000)
MAX_COLUMNS = 10
SENTENCES = {
    "votes": "How far the {repeats} are from agreeing on an example",
    "bars": "Entropy of the answers to each example. The bar on the left counts examples to which "
    "all {repeats} give the same answer. An even split between two answers has 0.69. Counts are on "
    "a logarithmic scale.",
    "flips": "Two {repeats} give different answers to {share} of the examples",
    "distinct": "Distinct answers by number of {repeats}",
    "distinct-row": "distinct answers, mean",
    "accuracy": "{share} of the answers are right",
    "least-stable": "The least stable examples",
    "letters": "Letters name the answers to one example, the most frequent first; numbers are the "
    "{repeats} that give each. “right” is the right answer, however it is written.",
    "differences": "The most frequent answer is shown in full; others as their difference from it.",
    "texts-hidden": "--show text shows the texts of the answers.",
    "shown-of": "{n_shown:,} of {n_unstable:,} examples on which {repeats} differ; all examples "
    "are in examples.parquet.",
}
_say = Sentences(SENTENCES)


def text_figures(measurement: Measurement) -> tuple[Figure, ...]:
    """Return every chart that the data allows, in the order of the page."""
    fields = words(measurement)
    graded = [accuracy_by_run(measurement)] if "accuracy" in measurement.metrics else []
    if measurement.levels:
        return tuple(graded)
    histogram = entropies(measurement)
    figures = [
        replace(
            histogram,
            title=str(_say("votes", **fields)),
            takeaway=None,
            reading=[_say("bars", **fields)],
            legend=[
                ("band", "quiet", f"all {fields['repeats']} agree"),
                ("band", "accent", "some differ"),
                ("band", "alert-mark", f"entropy above {HIGH_ENTROPY}"),
            ],
            facts={**histogram.facts, "axis": "entropy of the answers"},
        )
    ]
    if measurement.repeats == "trials":  # no trial is better than another
        return tuple(figures)
    return (*figures, flip_matrix(measurement), *graded)


def text_sections(
    measurement: Measurement, view: View, show: Sequence[str] = ()
) -> tuple[Section, ...]:
    """Return the sections of the page."""
    texts = {sentence.topic: sentence.text for sentence in view.sentences}
    metrics, fields = measurement.metrics, words(measurement)
    share = WithUnit(metrics["flip_rate"].value, "percent")
    sections = [
        Section(
            "Flips",
            str(_say("flips", share=share, **fields)),
            () if measurement.levels else (_distinct(measurement),),
            paragraphs=(texts["Answers"],),
        )
    ]
    if "Accuracy" in texts:
        right = WithUnit(metrics["accuracy"].value, "percent")
        finding = str(_say("accuracy", share=right))
        sections.append(Section("Accuracy", finding, paragraphs=(texts["Accuracy"],)))
    sections += [
        Section(table.topic, str(table.finding).rstrip("."), (group_table(table),))
        for table in view.groups
    ]
    if view.unstable:
        sections.append(_examples(measurement, show))
    return tuple(sections)


def _distinct(measurement: Measurement) -> TextTable:
    """Return the mean number of distinct answers of one run, two runs and so on."""
    means, fields = measurement.detail["distinct_by_runs"], words(measurement)
    counts = list(range(1, len(means) + 1))
    if len(means) > MAX_COLUMNS:
        counts = [k for k in SOME_RUNS if k < len(means)] + [len(means)]
    return TextTable(
        (str(fields["repeats"]), *(f"{k:,}" for k in counts)),
        (
            (
                str(_say("distinct-row")),
                *(number(float(means[k - 1]), "value") for k in counts),
            ),
        ),
        title=str(_say("distinct", **fields)),
    )


def _examples(measurement: Measurement, show: Sequence[str]) -> Section:
    """Return the least stable examples, with the share of each answer and on request its text."""
    extras = [name for name in show if name in measurement.extras()]
    rows = [x for x in measurement.unstable_examples.to_pylist() if x["flip_rate"] > 0.0]
    has_texts = TEXTS in measurement.unstable_examples.column_names
    shows_texts = TEXT in show and has_texts
    lines = []
    for example in rows[:N_LISTED]:
        answers = given_answers(example)
        cells = (
            str(example["example"]),
            number(example["flip_rate"], "percent"),
            f"{example['distinct_answers']:g}",
            ", ".join(f"{name} ({count})" for name, count in votes(answers)),
            *("" if example[name] is None else str(example[name]) for name in extras),
        )
        lines.append(AnswerLine(cells, shown_answers(answers) if shows_texts else ()))
    fields = words(measurement)
    n_unstable = round(measurement.metrics["ambiguity"].value * measurement.n_examples)
    hint = "differences" if shows_texts else "texts-hidden"
    table = AnswerTable(
        ("example", "pairs that differ, %", "distinct", "answers", *extras),
        tuple(lines),
        notes=(
            str(_say("letters", **fields)),
            *([str(_say(hint))] if has_texts else []),
            str(_say("shown-of", n_shown=len(lines), n_unstable=n_unstable, **fields)),
        ),
    )
    return Section("Examples", str(_say("least-stable")), answers=table)
