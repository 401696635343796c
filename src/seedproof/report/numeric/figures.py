"""Charts of runs that give a number for each example, and the sections of the page."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from seedproof.measurement.result import Measurement
from seedproof.messages import Message, Sentences
from seedproof.records.arrow import to_numpy
from seedproof.report.figures.base import MAX_NAMED_RUNS, Figure, drawn, drawn_runs
from seedproof.report.figures.intervals import Line, intervals
from seedproof.report.numbers import WithUnit, bracketed, number
from seedproof.report.overview import Section, Strip, StripTable, group_table
from seedproof.report.view import NumberLine, View
from seedproof.stats.intervals import NORMAL

N_LISTED = 50
# With more examples, the map counts them in a grid.
MAX_POINTS = 2500
N_CELLS = 40
N_SHADES = 6
# Up to so many bars, each has its number.
MAX_PRINTED = 20
PARTS = "variance_"
# Colors of the parts, from the repeats to the examples to the rest.
PART_COLORS = ("alert-mark", "accent", "quiet", "accent-2", "rule-2", "r4", "r2", "ink-3")
SENTENCES = {
    "parts": "Variance of a single number. More {repeats} average out their own part and the rest, "
    "more examples all but the part of {repeats}.",
    "parts-of-levels": "Variance of a single number. `seedproof blame` prints by how much more of "
    "each level would narrow the interval of the mean.",
    "parts-of-trials": "Variance of a single number. More trials average out the rest; more "
    "examples average out both.",
    "outside-band": "{n_outside} of {n_runs} {repeats} are outside the band; {expected:g} would be "
    "expected.",
    "band": "Each point is the mean of one of the {repeats}. With independent noise alone, 95 of "
    "100 are inside the band. The last line is the mean of all, with its 95 % interval.",
    "passed": "Examples by the number of {repeats} that pass. In between, the result of a single "
    "one is luck.",
    "powers": "Chance that all of k {repeats} pass (pass^k) and that at least one does (pass@k), "
    "with 95 % intervals.",
    "map": "Left: low numbers; top: {repeats} differ most.",
    "counts-by-shade": "Darker cells hold more examples, on a logarithmic scale.",
    "thresholds": "Share of the examples on which two {repeats} are on different sides of a "
    "threshold, with 95 % intervals.",
    "strips": "One tick for each of the {repeats}, on the same scale for all examples{targets}.",
    "with-targets": "; the orange tick is the target",
    "outcome-strips": "One square for each of the {repeats}, filled if it passed.",
    "mean-by-run": "Mean of each of the {repeats}",
    "means-spread": "Means range from {low} to {high}",
    "of-one-trial": "The mean of one trial of {n_examples:,} examples",
    "of-unequal": "The mean of the trials of {n_examples:,} examples",
    "means-equal": "All means are equal",
    "pass-and-fail": "{share} of the examples are flaky",
    "nothing-flaky": "Every example gets the same outcome from all {repeats}",
    "example-spread": "On one example, two {repeats} differ by {difference} on average",
    "least-stable": "The least stable examples",
    "shown-of": "{n_shown:,} of {n_unstable:,} examples on which {repeats} differ; all examples "
    "are in examples.parquet.",
}
_say = Sentences(SENTENCES)


def numeric_figures(measurement: Measurement) -> tuple[Figure, ...]:
    """Return every chart that the data allows, in the order of the page."""
    if measurement.n_runs == 1:  # nothing to compare with
        return ()
    figures = [_means(measurement)] if "mean_by_run" in measurement.detail else []
    if any(name.startswith(PARTS) for name in measurement.metrics):
        figures.append(_parts(measurement))
    if "flip_rate" in measurement.metrics and "trial_counts" not in measurement.detail:
        figures.append(_passed(measurement))
    if "pass^1" in measurement.metrics:
        figures.append(_powers(measurement))
    thresholds = [name for name in measurement.metrics if name.startswith("flip_rate@")]
    if thresholds:
        figures.append(_thresholds(measurement, thresholds))
    if "flip_rate" not in measurement.metrics:  # outcomes have few means: see `passed_counts`
        figures.append(_map(measurement))
    return tuple(figures)


def _means(measurement: Measurement) -> Figure:
    """Return the mean of each run, and the band expected from independent noise."""
    by_run, overall = measurement.detail["mean_by_run"], measurement.metrics["mean"]
    mean, n_runs, repeats = float(by_run.mean()), measurement.n_runs, measurement.repeats
    # Deviations are from the mean of the same runs, which shrinks them.
    shrunk = (1 - 1 / n_runs) ** 0.5
    reach = NORMAL * shrunk * measurement.metrics["mean_sd_independent"].value
    inside = np.abs(by_run - mean) <= reach * (1 + 1e-9)
    names = drawn_runs(measurement)
    rows: list[dict[str, Any]] = [
        {
            "run": names[i],
            "mean_of_run": float(by_run[i]),
            "where": "inside" if inside[i] else "outside",
        }
        for i in np.argsort(-by_run, kind="stable")
    ]
    facts: dict[str, Any] = {
        "value": "mean_of_run",
        "format": ".5~g",
        "text": ".4~g",
        "repeat": repeats.removesuffix("s"),
        "mean": mean,
        "low": mean - reach,
        "high": mean + reach,
        "axis": f"mean over {measurement.n_examples:,} examples",
        "named": n_runs <= MAX_NAMED_RUNS,
    }
    if overall.low is not None and overall.high is not None and facts["named"]:
        ends = {"value": overall.value, "low": overall.low, "high": overall.high}
        facts["interval"] = {"run": _all(names), **ends}
    return Figure(
        name="mean_by_run",
        section="Mean",
        title=str(_say("mean-by-run", repeats=repeats)),
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
            ("band", "accent-soft", f"95 % of {repeats}, if noise were independent"),
            ("dot", "accent", "inside"),
            ("diamond", "alert-mark", "outside"),
            *([("square", "ink", "all, with its interval")] if "interval" in facts else []),
        ],
        header=(repeats.removesuffix("s"), "mean", "band"),
        numbers=[(row["run"], number(row["mean_of_run"], "value"), row["where"]) for row in rows],
        kind="accuracy_by_run",
    )


def _parts(measurement: Measurement) -> Figure:
    """Return the parts of the variance of a single number, side by side."""
    parts = {
        name.removeprefix(PARTS): estimate
        for name, estimate in measurement.metrics.items()
        if name.startswith(PARTS)
    }
    rows: list[dict[str, Any]] = []
    for name, estimate in parts.items():
        low = rows[-1]["high"] if rows else 0.0
        text = bracketed(estimate, "percent")
        title = "rest" if name == "residual" else name.replace("_", " × ")
        rows.append({"part": title, "low": low, "high": low + 100 * estimate.value, "text": text})
    repeats = measurement.repeats
    code = "parts" if "run" in parts else "parts-of-trials"
    if len(parts) > 3:
        code = "parts-of-levels"
    colors = PART_COLORS[: len(rows)] if "run" in parts else PART_COLORS[1 : 1 + len(rows)]
    return Figure(
        name="variance_parts",
        section="Mean",
        title="Parts of the variance",
        takeaway=None,
        reading=[_say(code, repeats=repeats)],
        rows=rows,
        facts={"axis": "share of the variance, %", "colors": colors},
        legend=[
            ("square", color, f"{row['part']} {row['text']}")
            for row, color in zip(rows, colors, strict=True)
        ],
        header=("part", "share"),
        numbers=[(row["part"], row["text"]) for row in rows],
    )


def _all(names: Sequence[str]) -> str:
    """Return a name for all runs together that no run has."""
    name = "all"
    while name in names:
        name += "*"
    return name


def _passed(measurement: Measurement) -> Figure:
    """Return the number of examples by how many runs pass."""
    counts = measurement.detail["passed_counts"].tolist()
    n_runs = len(counts) - 1
    groups = {0: "broken", n_runs: "solid"}
    rows = [
        {"passed": passed, "count": count, "group": groups.get(passed, "flaky")}
        for passed, count in enumerate(counts)
    ]
    return Figure(
        name="passed_counts",
        section="Outcomes",
        title="Solid, flaky and broken examples",
        takeaway=None,
        reading=[_say("passed", repeats=measurement.repeats)],
        rows=rows,
        facts={
            "axis": f"{measurement.repeats} that pass, of {n_runs}",
            "printed": len(rows) <= MAX_PRINTED,
        },
        legend=[
            ("square", "quiet", "broken: none pass"),
            ("square", "alert-mark", "flaky: some pass"),
            ("square", "accent", "solid: all pass"),
        ],
        header=("passed", "examples", ""),
        numbers=[(str(row["passed"]), f"{row['count']:,}", row["group"]) for row in rows],
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
        f"Chance that all, or any, of k {measurement.repeats} pass",
        lines,
        section="Outcomes",
        axis="chance",
        unit="value",
        marks={"bad": "all of k pass", "good": "at least one of k passes"},
        reading=[_say("powers", repeats=measurement.repeats)],
    )


def _thresholds(measurement: Measurement, names: Sequence[str]) -> Figure:
    """Return the share of decisions that flip at each threshold."""
    return intervals(
        "thresholds",
        "Decisions that flip",
        [Line(name.removeprefix("flip_rate@"), measurement.metrics[name]) for name in names],
        section="Spread",
        axis="flip rate, %",
        unit="percent",
        reading=[_say("thresholds", repeats=measurement.repeats)],
    )


def _map(measurement: Measurement) -> Figure:
    """Return mean against spread: a point per example, or counts if there are many."""
    is_small, repeats = measurement.n_examples <= MAX_POINTS, measurement.repeats
    reading = [_say("map", repeats=repeats)]
    return Figure(
        name="value_map",
        section="Spread",
        title="Mean and spread, " + ("one point per example" if is_small else "counts per cell"),
        takeaway=None,
        reading=reading if is_small else [*reading, _say("counts-by-shade")],
        rows=_points(measurement) if is_small else _cells(measurement),
        facts={
            "x": f"mean over {measurement.n_runs} {repeats}",
            "y": f"standard deviation over {repeats}",
        },
        kind="value_points" if is_small else "value_cells",
    )


def _points(measurement: Measurement) -> list[dict[str, Any]]:
    rows = measurement.example_table.read(["example", "mean", "sd"]).to_pylist()
    return [
        {
            "example": drawn(str(row["example"])),
            "mean": float(f"{row['mean']:.5g}"),
            "sd": float(f"{row['sd']:.5g}"),
        }
        for row in rows
        if row["sd"] is not None  # as that of a single trial
    ]


def _cells(measurement: Measurement) -> list[dict[str, Any]]:
    """Return the number of examples in each cell of a grid that is not empty."""
    table = measurement.example_table.read(["mean", "sd"]).drop_null()
    means, sds = (table.column(name).to_numpy() for name in ("mean", "sd"))
    counts, x, y = np.histogram2d(means, sds, bins=N_CELLS)
    log_largest = np.log(max(float(counts.max()), 2.0))
    return [
        {
            "x": float(x[i]),
            "x2": float(x[i + 1]),
            "y": float(y[j]),
            "y2": float(y[j + 1]),
            "count": int(counts[i, j]),
            "step": _shade(float(np.log(counts[i, j])) / log_largest),
        }
        for i, j in np.argwhere(counts > 0)
    ]


def _shade(share: float) -> int:
    return min(int(share * N_SHADES), N_SHADES - 1)


def numeric_sections(
    measurement: Measurement, view: View, show: Sequence[str] = ()
) -> tuple[Section, ...]:
    """Return the sections of the page."""
    del show
    texts = {sentence.topic: sentence.text for sentence in view.sentences}

    def section(topic: str, finding: Message, *named: str) -> Section:
        return Section(
            topic, str(finding), paragraphs=tuple(texts[name] for name in named if name in texts)
        )

    sections = [section("Mean", _mean_finding(measurement), "Mean")]
    if "Outcomes" in texts:
        sections.append(section("Outcomes", _outcome_finding(measurement), "Outcomes"))
    if "Examples" in texts:
        difference = WithUnit(measurement.metrics["mean_difference"].value, "value")
        spread = _say("example-spread", repeats=measurement.repeats, difference=difference)
        sections.append(section("Spread", spread, "Examples", "Errors"))
    sections += [
        Section(table.topic, str(table.finding).rstrip("."), (group_table(table),))
        for table in view.groups
    ]
    if view.numbers:
        sections.append(_examples(measurement, view.numbers))
    return tuple(sections)


def _mean_finding(measurement: Measurement) -> Message:
    if measurement.n_runs == 1:
        return _say("of-one-trial", n_examples=measurement.n_examples)
    if "trial_counts" in measurement.detail:
        return _say("of-unequal", n_examples=measurement.n_examples)
    by_run = measurement.detail["mean_by_run"]
    low, high = (number(float(end), "value") for end in (by_run.min(), by_run.max()))
    return _say("means-equal" if low == high else "means-spread", low=low, high=high)


def _outcome_finding(measurement: Measurement) -> Message:
    share = measurement.metrics["flaky_share"].value
    code = "pass-and-fail" if share > 0 else "nothing-flaky"
    return _say(code, share=WithUnit(share, "percent"), repeats=measurement.repeats)


@dataclass(frozen=True)
class _Axis:
    """A scale from 0 to 1 for the numbers of several examples."""

    low: float
    high: float

    @classmethod
    def of(cls, lines: Sequence[NumberLine]) -> "_Axis":
        values = [value for line in lines for value in line.numbers]
        values += [line.target for line in lines if line.target is not None]
        return cls(min(values), max(values))

    def places(self, values: Sequence[float]) -> tuple[float, ...]:
        """Return the place of each number once, to three digits."""
        width = self.high - self.low or 1.0
        return tuple(dict.fromkeys(round((value - self.low) / width, 3) for value in values))


def _examples(measurement: Measurement, lines: Sequence[NumberLine]) -> Section:
    """Return the least stable examples with all of their numbers."""
    repeats, listed = measurement.repeats, lines[:N_LISTED]
    has_targets, shown = bool(measurement.n_labeled), tuple(listed[0].shown)
    are_outcomes = "flip_rate" in measurement.metrics and measurement.n_runs <= MAX_NAMED_RUNS
    axis = _Axis.of(listed)
    rows = tuple(
        Strip(
            (
                line.example,
                number(line.mean, "value"),
                number(line.sd, "value"),
                *(("" if line.target is None else number(line.target, "value"),) * has_targets),
                *line.shown.values(),
            ),
            ticks=() if are_outcomes else axis.places(line.numbers),
            target=None if line.target is None else axis.places([line.target])[0],
            passed=tuple(value == 1.0 for value in line.numbers) if are_outcomes else (),
            text=", ".join(number(value, "value") for value in line.numbers[:MAX_NAMED_RUNS]),
        )
        for line in listed
    )
    code = "outcome-strips" if are_outcomes else "strips"
    targets: Message | str = _say("with-targets") if has_targets else ""
    n_unstable = _n_unstable(measurement)
    table = StripTable(
        ("example", "mean", "sd", *(("target",) * has_targets), *shown),
        repeats,
        rows,
        ends=("", "") if are_outcomes else tuple(number(x, "value") for x in (axis.low, axis.high)),
        notes=(
            str(_say(code, repeats=repeats, targets=targets)),
            str(_say("shown-of", n_shown=len(listed), n_unstable=n_unstable, repeats=repeats)),
        ),
    )
    return Section("Examples", str(_say("least-stable")), strips=table)


def _n_unstable(measurement: Measurement) -> int:
    n_unstable = 0
    for batch in measurement.example_table.batches(["sd"]):
        n_unstable += int((to_numpy(batch.column(0), missing=0.0) > 0.0).sum())
    return n_unstable
