"""A measurement of lists or sets as plain data: sentences, key figures, every metric, examples."""

from collections.abc import Sequence
from typing import Any

from seedproof.measurement.result import Measurement
from seedproof.messages import Sentences
from seedproof.report import checks
from seedproof.report.groups import group_tables
from seedproof.report.items import sentences
from seedproof.report.items.sentences import KeyNames
from seedproof.report.numbers import WithUnit
from seedproof.report.view import ItemLine, KeyFigure, View, can_show, key, row, unknown_column

SENTENCES = {
    "first-items": "of the examples get another first item from another {repeat}.",
    "sets": "of the examples get another set from another {repeat}.",
    "first-items-differ": "of the first {depth} items of two {repeats} are in only one list.",
    "items-differ": "of the items of two {repeats} are in only one set.",
    "quality": "mean of {n_runs} {repeats} on {n_labeled:,} examples.",
    "quality-spread": "standard deviation over {units}; independent changes would give {noise}.",
    "overlap": "of the lists agree, where early ranks count more.",
    "labels": "of the labels that one of two {repeats} gives, the other does not.",
}
_say = Sentences(SENTENCES)


def build_item_view(measurement: Measurement, *, show: Sequence[str] = ()) -> View:
    """Return the view of a measurement of items; raise for a column that cannot be shown."""
    known = can_show(measurement)
    for name in show:
        if name not in known:
            raise unknown_column(name, known, measurement.notes)
    names = KeyNames.of(measurement)
    first = {names.flips, names.distance, names.quality, f"{names.quality}_sd"}
    first |= {"rank_biased_overlap", "label_flips", "macro_f1"}
    return View(
        title=str(sentences.title(measurement)),
        headline=str(sentences.headline(measurement)),
        sentences=sentences.sentences(measurement),
        key_figures=_key_figures(measurement),
        rows=tuple(
            row(name, value, is_key=name in first) for name, value in measurement.metrics.items()
        ),
        groups=group_tables(measurement),
        items=_lines(measurement, show),
        repeats=measurement.repeats,
        notes=(
            *checks.notes(measurement.checks),
            *map(str, (*measurement.notes, *sentences.limits(measurement))),
        ),
        checks=checks.alerts(measurement.checks),
    )


def _key_figures(measurement: Measurement) -> tuple[KeyFigure, ...]:
    metrics, names = measurement.metrics, KeyNames.of(measurement)
    words = {**sentences.words(measurement), "n_labeled": measurement.n_labeled}
    is_set = names.depth is None
    meanings = {
        names.flips: _say("sets" if is_set else "first-items", **words),
        names.distance: _say("items-differ" if is_set else "first-items-differ", **words),
    }
    figures = [key(name, metrics, meaning) for name, meaning in meanings.items()]
    spread = f"{names.quality}_sd"
    if spread in metrics:
        noise = metrics[f"{spread}_independent"].value
        figures.append(key(names.quality, metrics, _say("quality", **words)))
        meaning = _say("quality-spread", noise=WithUnit(noise, "points"), **words)
        figures.append(key(spread, metrics, meaning, reference=noise))
    elif is_set and "label_flips" in metrics:
        figures.append(key("label_flips", metrics, _say("labels", **words)))
    elif not is_set:
        figures.append(key("rank_biased_overlap", metrics, _say("overlap")))
    return tuple(figures)


def _lines(measurement: Measurement, show: Sequence[str]) -> tuple[ItemLine, ...]:
    """Return the examples on which runs differ most, with all their items."""
    rows: list[dict[str, Any]] = measurement.unstable_examples.to_pylist()
    return tuple(
        ItemLine(
            example=str(values["example"]),
            distance=values["jaccard_distance"],
            items=tuple(map(tuple, values["items_by_run"])),
            right=None if values.get("right_items") is None else tuple(values["right_items"]),
            is_ranked=KeyNames.of(measurement).depth is not None,
            shown={name: "" if values[name] is None else str(values[name]) for name in show},
        )
        for values in rows
        if values["jaccard_distance"] > 0.0 or values.get("first_item_flips", 0.0) > 0.0
    )
