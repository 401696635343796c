"""Charts of ranked lists and sets, and the sections of the page."""

from collections import Counter
from collections.abc import Sequence
from typing import Any

import numpy as np

from seedproof.measurement.result import Measurement
from seedproof.messages import Message, Sentences
from seedproof.metrics.card import card
from seedproof.records.arrow import to_numpy
from seedproof.report.figures.base import MAX_NAMED_RUNS, Figure, drawn_runs
from seedproof.report.figures.intervals import Line, Mark, intervals
from seedproof.report.items.exposure import exposures
from seedproof.report.items.sentences import KeyNames
from seedproof.report.numbers import WithUnit, number
from seedproof.report.overview import ItemCell, ItemRow, ItemTable, Section, group_table
from seedproof.report.view import ItemLine, View
from seedproof.stats.intervals import NORMAL, Estimate

# Examples on the page: lists take more room than sets.
N_LISTS, N_SETS = 12, 30
# Lists of so many runs fit next to each other, with so many items.
MAX_SHOWN_RUNS = 6
MAX_SHOWN_ITEMS = 10
MAX_LABELS = 20
SENTENCES = {
    "quality-by-run": "{name} of each of the {repeats}",
    "band": "Each point is one of the {repeats}. If examples changed independently of each other, "
    "95 of 100 would be inside the band. The last line is the mean of all, with its 95 % interval.",
    "outside-band": "{n_outside} of {n_runs} {repeats} are outside the band; {expected:g} would be "
    "expected.",
    "apart": "Mean over pairs of {repeats}, with 95 % intervals. 0 % if all {kind} are equal; of "
    "overlaps, what is missing to 100 %.",
    "labels": "Of the examples that one of two {repeats} gives the label, the share that the other "
    "does not, with intervals that hold for all labels together.",
    "labels-shown": "The {n_shown} least stable of {n_labels} labels.",
    "exposure": "Share of the examples that an item is shown to: one tick per run, the mean of all "
    "{repeats}, and the interval in which 95 of 100 runs would be if examples changed "
    "independently of each other.",
    "overlap-finding": "Two {repeats} differ in {distance} of their items",
    "quality-range": "{name} ranges from {low} to {high} %",
    "quality-equal": "{name} is the same in all {repeats}",
    "exposure-finding": "Items whose exposure depends most on the {repeat}",
    "least-stable": "The least stable examples",
    "lists": "Lists of the first {n_shown} of {n_runs} {repeats}. Colored: not in the first of "
    "these lists. Underlined: at another rank there. ✓: right.",
    "strips": "Items by the share of {repeats} that give them; the darker, the more. ✓: right.",
    "shown-of": "{n_shown:,} of {n_unstable:,} examples on which {repeats} differ; all examples "
    "are in examples.parquet.",
}
_say = Sentences(SENTENCES)


def item_figures(measurement: Measurement) -> tuple[Figure, ...]:
    """Return every chart that the data allows, in the order of the page."""
    figures = [_apart(measurement)]
    if f"{KeyNames.of(measurement).quality}_sd" in measurement.metrics:
        figures.append(_quality(measurement))
    if exposures(measurement):
        figures.append(_exposure(measurement))
    if len(measurement.by_class) > 1:
        figures.append(_labels(measurement))
    return tuple(figures)


def _apart(measurement: Measurement) -> Figure:
    """Return all distances between two runs; overlaps as what is missing to 100 %."""
    known = ("flips", "distance", "overlap")
    lines = [
        Line(_short(name), _from_overlap(value) if "overlap" in name else value)
        for name, value in measurement.metrics.items()
        if any(word in name for word in known) and "_sd" not in name
    ]
    return intervals(
        "apart",
        f"Two {measurement.repeats} compared",
        lines,
        section="Overlap",
        axis="distance, %",
        unit="percent",
        reading=[_say("apart", repeats=measurement.repeats, kind=measurement.kind)],
    )


def _short(name: str) -> str:
    if "overlap" in name:
        return f"1 - {name.replace('_overlap', '').replace('_', ' ')}"
    return name.replace("_distance", "").replace("_", " ")


def _from_overlap(overlap: Estimate) -> Estimate:
    low, high = overlap.low, overlap.high
    if low is None or high is None:
        return Estimate(1 - overlap.value)
    return Estimate(1 - overlap.value, 1 - high, 1 - low, overlap.over)


def _quality(measurement: Measurement) -> Figure:
    """Return the quality of each run, and the band expected from independent changes."""
    name, n_runs, repeats = (
        KeyNames.of(measurement).quality,
        measurement.n_runs,
        measurement.repeats,
    )
    by_run, overall = measurement.detail[f"{name}_by_run"], measurement.metrics[name]
    mean, title = float(by_run.mean()), card(name).title
    # Deviations are from the mean of the same runs, which shrinks them.
    shrunk = (1 - 1 / n_runs) ** 0.5
    reach = NORMAL * shrunk * measurement.metrics[f"{name}_sd_independent"].value
    inside = np.abs(by_run - mean) <= reach * (1 + 1e-9)
    runs = drawn_runs(measurement)
    rows: list[dict[str, Any]] = [
        {
            "run": runs[i],
            "quality_of_run": 100 * float(by_run[i]),
            "where": "inside" if inside[i] else "outside",
        }
        for i in np.argsort(-by_run, kind="stable")
    ]
    facts: dict[str, Any] = {
        "value": "quality_of_run",
        "format": ".5~g",
        "text": ".4~g",
        "repeat": repeats.removesuffix("s"),
        "mean": 100 * mean,
        "low": 100 * (mean - reach),
        "high": 100 * (mean + reach),
        "axis": f"{title}, %",
        "named": n_runs <= MAX_NAMED_RUNS,
    }
    if overall.low is not None and overall.high is not None and facts["named"]:
        ends = {"value": overall.value, "low": overall.low, "high": overall.high}
        last = "all" if "all" not in runs else "all runs"
        facts["interval"] = {"run": last, **{end: 100 * x for end, x in ends.items()}}
    return Figure(
        name="quality_by_run",
        section="Quality",
        title=str(_say("quality-by-run", name=title, repeats=repeats)),
        takeaway=_say(
            "outside-band",
            n_outside=int((~inside).sum()),
            n_runs=n_runs,
            repeats=repeats,
            expected=0.05 * n_runs,
        ),
        reading=[_say("band", repeats=repeats)],
        rows=rows,
        facts=facts,
        legend=[
            ("band", "accent-soft", f"95 % of {repeats}, if changes were independent"),
            ("dot", "accent", "inside"),
            ("diamond", "alert-mark", "outside"),
            *([("square", "ink", "all, with its interval")] if "interval" in facts else []),
        ],
        header=(repeats.removesuffix("s"), title, "band"),
        numbers=[(row["run"], f"{row['quality_of_run']:.2f}", row["where"]) for row in rows],
        kind="accuracy_by_run",
    )


def _exposure(measurement: Measurement) -> Figure:
    """Return how often each run shows the items that differ most."""
    repeats = measurement.repeats
    lines = []
    for exposure in exposures(measurement):
        mean, reach = float(np.mean(exposure.by_run)), NORMAL * exposure.independent_sd
        expected = Estimate(mean, max(mean - reach, 0.0), min(mean + reach, 1.0))
        mark: Mark = "bad" if exposure.is_beyond else "open"
        lines.append(Line(exposure.item, expected, mark, exposure.by_run))
    return intervals(
        "exposure",
        "Exposure of items",
        lines,
        section="Exposure",
        axis="share of the examples, %",
        unit="percent",
        marks={
            "bad": "varies beyond independent changes",
            "open": "not shown to vary beyond them",
        },
        reading=[_say("exposure", repeats=repeats)],
    )


def _labels(measurement: Measurement) -> Figure:
    """Return the labels that runs agree on least."""
    flips = [(group.name, group.metrics["label_flips"], group) for group in measurement.by_class]
    flips.sort(key=lambda of_label: (not of_label[2].is_less_stable, -of_label[1].value))
    lines = [
        Line(name, share, "bad" if group.is_less_stable else "open")
        for name, share, group in flips[:MAX_LABELS]
    ]
    reading = [_say("labels", repeats=measurement.repeats)]
    if len(flips) > len(lines):
        reading.append(_say("labels-shown", n_shown=len(lines), n_labels=len(flips)))
    return intervals(
        "labels",
        "Flips by label",
        lines,
        section="Labels",
        axis="flips, %",
        unit="percent",
        marks={"bad": "shown to be above all labels together", "open": "not shown"},
        reference=measurement.metrics["label_flips"].value,
        reading=reading,
    )


def item_sections(
    measurement: Measurement, view: View, show: Sequence[str] = ()
) -> tuple[Section, ...]:
    """Return the sections of the page."""
    del show
    texts = {sentence.topic: sentence.text for sentence in view.sentences}
    names, repeats = KeyNames.of(measurement), measurement.repeats
    distance = WithUnit(measurement.metrics[names.distance].value, "percent")
    findings: dict[str, Message] = {
        "Overlap": _say("overlap-finding", repeats=repeats, distance=distance)
    }
    if "Quality" in texts:
        findings["Quality"] = _quality_finding(measurement, names.quality)
    if exposures(measurement):
        findings["Exposure"] = _say("exposure-finding", repeat=repeats.removesuffix("s"))
    sections = [
        Section(topic, str(finding), paragraphs=(texts[topic],) if topic in texts else ())
        for topic, finding in findings.items()
    ]
    sections += [
        Section(table.topic, str(table.finding).rstrip("."), (group_table(table),))
        for table in view.groups
    ]
    if view.items:
        sections.append(_examples(measurement, view.items))
    return tuple(sections)


def _quality_finding(measurement: Measurement, name: str) -> Message:
    by_run = measurement.detail[f"{name}_by_run"]
    low, high = (number(float(end), "percent") for end in (by_run.min(), by_run.max()))
    fields = {"name": card(name).title, "repeats": measurement.repeats, "low": low, "high": high}
    return _say("quality-equal" if low == high else "quality-range", **fields)


def _examples(measurement: Measurement, lines: Sequence[ItemLine]) -> Section:
    """Return the least stable examples with the items of several runs."""
    is_ranked, shown, repeats = lines[0].is_ranked, tuple(lines[0].shown), measurement.repeats
    listed = lines[: N_LISTS if is_ranked else N_SETS]
    n_shown = min(MAX_SHOWN_RUNS, measurement.n_runs)
    rows = tuple(
        ItemRow(
            cells=(line.example, number(line.distance, "percent"), *line.shown.values()),
            columns=_ranked(line, n_shown) if is_ranked else (_strip(line),),
        )
        for line in listed
    )
    n_unstable = sum(
        int((to_numpy(batch.column(0)) > 0.0).sum())
        for batch in measurement.example_table.batches(["jaccard_distance"])
    )
    code = "lists" if is_ranked else "strips"
    of_runs = {"n_shown": n_shown, "n_runs": measurement.n_runs, "repeats": repeats}
    table = ItemTable(
        ("example", "distance, %", *shown),
        measurement.runs[:n_shown] if is_ranked else ("items",),
        rows,
        notes=(
            str(_say(code, **of_runs)),
            str(_say("shown-of", n_shown=len(listed), n_unstable=n_unstable, repeats=repeats)),
        ),
    )
    return Section("Examples", str(_say("least-stable")), items=table)


def _ranked(line: ItemLine, n_shown: int) -> tuple[tuple[ItemCell, ...], ...]:
    """Return the first items of several runs, compared with those of the first run."""
    reference = {item: rank for rank, item in enumerate(line.items[0])}
    right = frozenset(line.right or ())

    def cell(item: str, rank: int) -> ItemCell:
        is_same = reference.get(item) == rank
        mark = "same" if is_same else "at-other-rank" if item in reference else "new"
        return ItemCell(item, mark, is_right=item in right)

    return tuple(
        tuple(cell(item, rank) for rank, item in enumerate(items[:MAX_SHOWN_ITEMS]))
        for items in line.items[:n_shown]
    )


def _strip(line: ItemLine) -> tuple[ItemCell, ...]:
    """Return the items that any run gives, the most frequent first, and right ones that none does.

    Shades are from 0, given by none, to 5, given by all.
    """
    n_runs, right = len(line.items), line.right or ()
    counts = Counter(item for items in line.items for item in items)
    counts.update(dict.fromkeys(right, 0))
    ordered = sorted(counts.items(), key=lambda pair: (-pair[1], pair[0]))
    return tuple(
        ItemCell(f"{item} {count}/{n_runs}", f"share-{5 * count // n_runs}", item in right)
        for item, count in ordered
    )
