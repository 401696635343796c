"""Changes by shuffled attention against confidence, next to the share of right answers."""

from collections.abc import Iterator
from dataclasses import replace

from seedproof.measurement.permutation import MIN_BIN, SCALES, ConfidenceBin, PermutationGroup
from seedproof.measurement.result import Measurement
from seedproof.messages import Sentences
from seedproof.report.figures.base import Figure, drawn
from seedproof.report.figures.confidence import reliability
from seedproof.report.figures.reliability_by_label import reliability_by_label

TITLES = {
    "probability": "Change of the probability by confidence",
    "logit": "Change of the log odds by confidence",
}
AXES = {"probability": "change of the probability", "logit": "change of the log odds"}
SENTENCES = {
    "saturation": "Probabilities near 1 can hardly change. Log odds have no such limit.",
    "bins": "Shaded: 95 % interval. Bins need at least {at_least} answers of two runs.",
}
_say = Sentences(SENTENCES)


def group_name(group: PermutationGroup, classes: tuple[str, ...]) -> str:
    """Return the name of a group, such as "answer positive"."""
    if group.class_idx is None:
        return "all answers"
    return f"{group.part} {drawn(classes[group.class_idx])}"


def group_figures(group: PermutationGroup, measurement: Measurement) -> Iterator[Figure]:
    """Yield the changes by confidence in both scales, and the reliability in the same bins."""
    section = group_name(group, measurement.classes)
    if group.bins:
        for scale in SCALES:
            yield _figure(group, scale, section, 1 / measurement.n_classes)
    if "ece" not in measurement.metrics:
        return
    if group.class_idx is None:
        names = ("reliability_count", "reliability_right", "reliability_confidence")
        together = {x: measurement.detail[x].sum(axis=1, keepdims=True) for x in names}
        figures, name = reliability(replace(measurement, detail=together)), "reliability"
    elif group.part == "answer":
        figures, name = reliability(measurement), f"reliability_{group.class_idx}"
    else:
        figures = reliability_by_label(measurement)
        name = f"reliability_by_label_{group.class_idx}"
    yield from (replace(x, section=section) for x in figures if x.name == name)


def _figure(group: PermutationGroup, scale: str, section: str, start: float) -> Figure:
    suffix = "" if group.class_idx is None else f"_by_{group.part}_{group.class_idx}"
    rows = [_row(of_bin, scale) for of_bin in group.bins]
    legend = [
        ("line", "accent", "shuffled attention"),
        ("dash", "ink-3", "between two runs"),
    ]
    return Figure(
        name=f"{scale}_change{suffix}",
        section=section,
        title=TITLES[scale],
        takeaway=None,
        reading=[
            *([_say("saturation")] if scale == "probability" else []),
            _say("bins", at_least=MIN_BIN),
        ],
        rows=rows,
        facts={"x": "confidence in the answer", "y": AXES[scale], "start": start},
        legend=legend,
        header=("confidence", "change", "95 % interval", "two runs", "answers"),
        numbers=[
            (
                f"{row['x']:.2f}",
                f"{row['change']:.3f}",
                f"{row['low']:.3f}–{row['high']:.3f}",
                f"{row['other']:.3f}",
                f"{row['count']:,}",
            )
            for row in rows
        ],
        kind="permutation",
        alone={
            "title": TITLES[scale] + ("" if group.class_idx is None else f": {section}"),
            "legend": [*legend, ("band", "accent-soft", "95 % interval")],
        },
    )


def _row(of_bin: ConfidenceBin, scale: str) -> dict[str, float]:
    change = of_bin.metrics[f"{scale}_change"]
    return {
        "x": round(of_bin.confidence, 4),
        "change": change.value,
        "low": change.value if change.low is None else change.low,
        "high": change.value if change.high is None else change.high,
        "other": of_bin.metrics[f"{scale}_other_run"].value,
        "count": of_bin.n_answers,
    }
