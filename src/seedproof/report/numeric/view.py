"""A measurement of numbers as plain data: sentences, key figures, every metric, examples."""

from collections.abc import Mapping, Sequence
from typing import Any

from seedproof.measurement.result import Measurement
from seedproof.messages import Message, Sentences
from seedproof.report import checks
from seedproof.report.groups import group_tables
from seedproof.report.numbers import WithUnit
from seedproof.report.numeric import sentences
from seedproof.report.view import KeyFigure, NumberLine, View, can_show, key, row, unknown_column

# In a terminal; `--all` prints the others.
KEY_METRICS = ("mean", "mean_sd", "flip_rate", "flaky_share", "beyond_tolerance", "mae", "rmse")
# They say the same as the flip rate if all numbers are 0 or 1.
KEY_SPREADS = ("example_sd", "mean_difference")
SENTENCES = {
    "one-trial": "mean of one trial of {n_examples:,} examples.",
    "mean": "mean of {n_runs} {repeats} on {n_examples:,} examples.",
    "mean-spread": "standard deviation of a run’s mean; independent noise would give {noise}.",
    "noise": "standard deviation of the mean of a single trial of each example.",
    "difference": "between two {repeats} on one example, on average.",
    "flips": "of the outcomes differ between two {repeats}.",
    "flaky": "of the examples pass in some {repeats} and fail in others.",
    "example-spread": "standard deviation over {repeats} on one example.",
}
_say = Sentences(SENTENCES)


def build_numeric_view(measurement: Measurement, *, show: Sequence[str] = ()) -> View:
    """Return the view of a measurement of numbers; raise for a column that cannot be shown."""
    known = can_show(measurement)
    for name in show:
        if name not in known:
            raise unknown_column(name, known, measurement.notes)
    return View(
        title=str(sentences.title(measurement)),
        headline=str(sentences.headline(measurement)),
        sentences=sentences.sentences(measurement),
        key_figures=_key_figures(measurement),
        rows=tuple(
            row(name, value, is_key=_is_key(name, measurement))
            for name, value in measurement.metrics.items()
        ),
        groups=group_tables(measurement),
        numbers=_lines(measurement, show),
        notes=(
            *checks.notes(measurement.checks),
            *map(str, (*measurement.notes, *sentences.limits(measurement))),
        ),
        checks=checks.alerts(measurement.checks),
    )


def _is_key(name: str, measurement: Measurement) -> bool:
    if name == "example_sd" and sentences.has_heavy_tails(measurement):
        return False
    if name in KEY_SPREADS:
        return "flip_rate" not in measurement.metrics
    return name in KEY_METRICS or name.startswith(("pass^", "flip_rate@"))


def _key_figures(measurement: Measurement) -> tuple[KeyFigure, ...]:
    metrics = measurement.metrics
    words = {
        "n_runs": " to ".join(map(str, dict.fromkeys(measurement.run_range))),
        "repeats": measurement.repeats,
        "n_examples": measurement.n_examples,
    }
    code = "one-trial" if measurement.n_runs == 1 else "mean"
    figures = [key("mean", metrics, _say(code, **words))]
    if "mean_sd_independent" not in metrics:
        return tuple(figures)
    noise = metrics["mean_sd_independent"].value
    if "mean_sd" in metrics:
        meaning = _say("mean-spread", noise=WithUnit(noise, "value"))
        figures.append(key("mean_sd", metrics, meaning, reference=noise))
    else:
        figures.append(key("mean_sd_independent", metrics, _say("noise"), title="One trial"))
    further: Mapping[str, Message] = {
        "mean_difference": _say("difference", **words),
        "example_sd": _say("example-spread", **words),
    }
    if sentences.has_heavy_tails(measurement):
        further = {"mean_difference": _say("difference", **words)}
    if "flip_rate" in metrics:
        further = {"flip_rate": _say("flips", **words), "flaky_share": _say("flaky", **words)}
    titles = {"mean_difference": f"Difference of two {measurement.repeats}"}
    return (
        *figures,
        *(key(name, metrics, meaning, title=titles.get(name)) for name, meaning in further.items()),
    )


def _lines(measurement: Measurement, show: Sequence[str]) -> tuple[NumberLine, ...]:
    """Return the examples on which runs differ most, with all their numbers."""
    rows: list[dict[str, Any]] = measurement.unstable_examples.to_pylist()
    return tuple(
        NumberLine(
            example=str(values["example"]),
            target=values.get("target"),
            mean=values["mean"],
            sd=values["sd"],
            numbers=tuple(x for x in values["numbers"] if x is not None),
            shown={name: "" if values[name] is None else str(values[name]) for name in show},
        )
        for values in rows
        if values["sd"] is not None and values["sd"] > 0.0
    )
