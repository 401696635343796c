"""Charts of runs that give a number for each example, and the sections of the page."""

from seedproof.measurement.result import Measurement
from seedproof.messages import Sentences
from seedproof.report.figures.base import Figure
from seedproof.report.figures.intervals import Line, intervals
from seedproof.report.numbers import number
from seedproof.report.overview import Section, TextTable
from seedproof.report.view import View
from seedproof.stats.intervals import Estimate

N_LISTED = 50
SENTENCES = {
    "runs": "Each point is the mean over all examples of one of the {repeats}; the last line is "
    "the mean of all, with its 95 % interval.",
    "powers": "Chance that all of k {repeats} pass (pass^k) and that at least one does (pass@k), "
    "with 95 % intervals.",
}
_say = Sentences(SENTENCES)


def numeric_figures(measurement: Measurement) -> tuple[Figure, ...]:
    """Return every chart that the data allows, in the order of the page."""
    figures = [_means(measurement)]
    if "flip_rate" in measurement.metrics:
        figures.append(_powers(measurement))
    return tuple(figures)


def _means(measurement: Measurement) -> Figure:
    """Return the mean of each run, and of all."""
    by_run = measurement.detail["mean_by_run"].tolist()
    names = [f"{measurement.repeats.removesuffix('s')} {run}" for run in measurement.runs]
    lines = [
        Line(name, Estimate(value), "open")
        for name, value in zip(names[:N_LISTED], by_run[:N_LISTED], strict=True)
    ]
    lines.append(Line("all", measurement.metrics["mean"]))
    return intervals(
        "mean_by_run",
        f"Mean of each of the {measurement.repeats}",
        lines,
        section="Mean",
        axis="mean",
        unit="value",
        reading=[_say("runs", repeats=measurement.repeats)],
    )


def _powers(measurement: Measurement) -> Figure:
    """Return pass^k and pass@k for each k."""
    lines = [
        Line(name, value, "bad" if name.startswith("pass^") else "good")
        for name, value in measurement.metrics.items()
        if name.startswith(("pass^", "pass@"))
    ]
    return intervals(
        "passes",
        "Chance that k in a row pass",
        lines,
        section="Outcomes",
        axis="chance",
        unit="value",
        marks={"bad": "all of k pass", "good": "at least one of k passes"},
        reading=[_say("powers", repeats=measurement.repeats)],
    )


def numeric_sections(measurement: Measurement, view: View) -> tuple[Section, ...]:
    """Return the sections of the page: the mean, outcomes, and the least stable examples."""
    texts = {sentence.topic: sentence.text for sentence in view.sentences}
    sections = [Section("Mean", "Mean over runs and examples", paragraphs=(texts["Mean"],))]
    if "Outcomes" in texts:
        sections.append(Section("Outcomes", "Pass and fail", paragraphs=(texts["Outcomes"],)))
    if view.numbers:
        sections.append(_examples(measurement, view))
    return tuple(sections)


def _examples(measurement: Measurement, view: View) -> Section:
    lines = view.numbers[:N_LISTED]
    has_targets, shown = bool(measurement.n_labeled), tuple(lines[0].shown)
    header = ("example", "mean", "sd", *(("target",) if has_targets else ()), "numbers", *shown)
    rows = tuple(
        (
            line.example,
            line.mean,
            line.sd,
            *((line.target,) if has_targets else ()),
            " ".join(number(value, "value") for value in line.numbers),
            *line.shown.values(),
        )
        for line in lines
    )
    return Section("Examples", "The least stable examples", (TextTable(header, rows),))
