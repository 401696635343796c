"""Sentences about ranked lists and sets, each with its condition."""

from dataclasses import dataclass

from seedproof.measurement.clusters import in_clusters
from seedproof.measurement.result import Measurement
from seedproof.messages import Message, Sentences
from seedproof.metrics.card import card
from seedproof.metrics.statistic import VERDICT_FROM
from seedproof.records.schema import Kind
from seedproof.report import groups
from seedproof.report.items.exposure import exposures
from seedproof.report.numbers import NO_BREAK, WithUnit
from seedproof.report.sentences import Sentence, amount, are_two_runs

_QUALITY = f"{{name}} is {{quality}}. {{Units}} differ by ±{NO_BREAK}{{spread}}"
_NOISE = f"{_QUALITY}; independent changes alone would give ±{NO_BREAK}{{noise}}."
SENTENCES = {
    "measured": "{n_runs} {repeats} · {n_examples:,} examples{clusters}{labeled} · {kind}",
    "some-labeled": " ({n_labeled:,} with right items)",
    "nothing-differs": "All {n_runs} {repeats} give the same {kind}.",
    "lists-change": "Another {repeat} changes the first item of {flips} of the lists{quality}.",
    "lists-of-few-differ": "Two of these {n_runs} {repeats} put another item first in {flips} of "
    "the lists{quality}.",
    "lists-of-two-differ": "These two {units} put another item first in {flips} of the "
    "lists{quality}.",
    "sets-of-two-differ": "These two {units} differ in {flips} of the sets{quality}.",
    "sets-change": "Another {repeat} changes {flips} of the sets{quality}.",
    "sets-of-few-differ": "Two of these {n_runs} {repeats} differ in {flips} of the sets{quality}.",
    "while-quality": f", while {{name}} moves by ±{NO_BREAK}{{spread}}",
    "two-first-items": "These two {units} put another item first for {flips} of the examples. Of "
    "the items among the first {depth} of either, {distance} are among those of only one.",
    "two-sets-differ": "These two {units} give different sets to {flips} of the examples. Of the "
    "items of either, {distance} are in only one.",
    "first-items": "Two {repeats} put another item first for {flips} of the examples. Of the items "
    "among the first {depth} of either, {distance} are among those of only one.",
    "sets-differ": "Two {repeats} give different sets to {flips} of the examples. Of the items of "
    "either, {distance} are in only one.",
    "quality-equal": "{name} is {quality}. It is equal in all {n_runs} {units}.",
    "quality-of-few-runs": f"{_QUALITY}. {{n_runs}} {{units}} are too few to explain that spread.",
    "quality-within-noise": f"{_NOISE} With {{n_runs}} {{units}}, no significant excess is shown.",
    "quality-beyond-noise": f"{_NOISE} Some {{units}} are better than others on the whole.",
    "exposure-varies": "{n_items} items are shown more often with some {repeats} than with others, "
    "beyond what independent changes explain: {item} to {low} to {high} of the examples.",
    "exposure-of-item-varies": "One item is shown more often with some {repeats} than with others, "
    "beyond what independent changes explain: {item} to {low} to {high} of the examples.",
    "exposure-as-expected": "No item is shown to be favored by a {repeat} beyond what independent "
    "changes explain.",
    "right-items-unknown": "The right items of {n_unknown:,} of {n_examples:,} examples are "
    "unknown, so quality is measured on the others. An empty cell is unknown; [] says that no item "
    "is right.",
    "no-right-items": "There are no right items, so quality is left out.",
    "two-runs": "With two {units}, intervals are over examples only; another pair of {units} may "
    "differ more.",
}
_say = Sentences(SENTENCES)


@dataclass(frozen=True)
class KeyNames:
    """Names of the metrics that come first."""

    flips: str
    distance: str
    quality: str
    depth: int | None

    @classmethod
    def of(cls, measurement: Measurement) -> "KeyNames":
        """Return those of lists or sets."""
        if measurement.kind == Kind.SETS:
            return cls("set_flips", "jaccard_distance", "micro_f1", None)
        start = "jaccard_distance@"
        distance = next(name for name in measurement.metrics if name.startswith(start))
        depth = int(distance.removeprefix(start))
        return cls("first_item_flips", distance, f"ndcg@{depth}", depth)


def words(measurement: Measurement) -> dict[str, object]:
    """Return the nouns of runs and answers, and the number of runs."""
    repeats = measurement.repeats
    units = "trials" if repeats == "trials" else "runs"
    return {
        "n_runs": measurement.n_runs,
        "units": units,
        "Units": units.capitalize(),
        "repeats": repeats,
        "repeat": repeats.removesuffix("s"),
        "kind": measurement.kind,
        "depth": KeyNames.of(measurement).depth,
    }


def title(measurement: Measurement) -> Message:
    """Return the size of the input in one line."""
    labeled: Message | str = ""
    if 0 < measurement.n_labeled < measurement.n_examples:
        labeled = _say("some-labeled", n_labeled=measurement.n_labeled)
    return _say(
        "measured",
        n_examples=measurement.n_examples,
        clusters=in_clusters(measurement.clusters),
        labeled=labeled,
        **words(measurement),
    )


def headline(measurement: Measurement) -> Message:
    """Return how much changes from run to run, and how little quality says about it."""
    metrics, names, fields = measurement.metrics, KeyNames.of(measurement), words(measurement)
    if metrics[names.distance].value == metrics[names.flips].value == 0.0:
        return _say("nothing-differs", **fields)
    quality: Message | str = ""
    spread = metrics.get(f"{names.quality}_sd")
    if spread is not None:
        moved = WithUnit(spread.value, "points")
        quality = _say("while-quality", name=card(names.quality).title, spread=moved)
    code = "sets" if names.depth is None else "lists"
    few = "-of-few-differ" if measurement.n_runs > 2 else "-of-two-differ"
    code += few if measurement.n_runs < VERDICT_FROM else "-change"
    flips = WithUnit(metrics[names.flips].value, "percent")
    return _say(code, flips=flips, quality=quality, **fields)


def sentences(measurement: Measurement) -> tuple[Sentence, ...]:
    """Return the main findings by topic."""
    by_topic = {
        "Overlap": _overlap(measurement),
        "Quality": _quality(measurement),
        "Exposure": _exposure(measurement),
        **groups.findings(measurement),
    }
    return tuple(Sentence(topic, messages) for topic, messages in by_topic.items() if messages)


def _overlap(measurement: Measurement) -> tuple[Message, ...]:
    metrics, names = measurement.metrics, KeyNames.of(measurement)
    code = "sets-differ" if names.depth is None else "first-items"
    return (
        _say(
            f"two-{code}" if are_two_runs(measurement) else code,
            flips=amount(measurement, metrics[names.flips], "percent"),
            distance=amount(measurement, metrics[names.distance], "percent"),
            **words(measurement),
        ),
    )


def _quality(measurement: Measurement) -> tuple[Message, ...]:
    metrics, name, n_runs = (
        measurement.metrics,
        KeyNames.of(measurement).quality,
        measurement.n_runs,
    )
    spread = metrics.get(f"{name}_sd")
    if spread is None:
        return ()
    noise = metrics[f"{name}_sd_independent"]
    if spread.value == 0.0:
        code = "quality-equal"
    elif spread.low is None or n_runs < VERDICT_FROM:
        code = "quality-of-few-runs"
    else:
        is_beyond = spread.low > (noise.value if noise.high is None else noise.high)
        code = "quality-beyond-noise" if is_beyond else "quality-within-noise"
    return (
        _say(
            code,
            name=card(name).title,
            quality=amount(measurement, metrics[name], "percent"),
            spread=WithUnit(spread.value, "points"),
            noise=WithUnit(noise.value, "points"),
            **words(measurement),
        ),
    )


def _exposure(measurement: Measurement) -> tuple[Message, ...]:
    listed = exposures(measurement)
    if "exposure_by_run" not in measurement.detail or measurement.n_runs < VERDICT_FROM:
        return ()
    favored = [exposure for exposure in listed if exposure.is_beyond]
    if not favored:
        return (_say("exposure-as-expected", **words(measurement)),)
    first = favored[0]
    return (
        _say(
            "exposure-of-item-varies" if len(favored) == 1 else "exposure-varies",
            n_items=len(favored),
            item=first.item,
            low=WithUnit(min(first.by_run), "percent"),
            high=WithUnit(max(first.by_run), "percent"),
            **words(measurement),
        ),
    )


def limits(measurement: Measurement) -> tuple[Message, ...]:
    """Return the limitations of these runs and their records."""
    messages = []
    if measurement.n_runs == 2:
        messages.append(_say("two-runs", **words(measurement)))
    if not measurement.n_labeled:
        messages.append(_say("no-right-items"))
    elif n_unknown := measurement.n_examples - measurement.n_labeled:
        fields = {"n_unknown": n_unknown, "n_examples": measurement.n_examples}
        messages.append(_say("right-items-unknown", **fields))
    return tuple(messages)
