"""Sentences about runs that give a number for each example, each with its condition."""

from math import prod

from seedproof.measurement.clusters import in_clusters
from seedproof.measurement.result import Measurement
from seedproof.messages import Message, Sentences
from seedproof.metrics.statistic import VERDICT_FROM, RootOfMean
from seedproof.records.answer_settings import weighted_by
from seedproof.report import groups
from seedproof.report.numbers import NO_BREAK, WithInterval, WithUnit
from seedproof.report.sentences import Sentence, amount, are_two_runs

# An outcome seen in every trial is at least this likely, with 95 % confidence.
TAIL = 0.05

# Degrees of freedom of the variance of what examples add to `example_sd`. Chosen in simulations of
# 100 and 400 examples with 5 runs: fewer in 78 to 99 % of studies of log-normal, t(3) or Pareto
# numbers, where its interval covers 62 to 90 %, and in 0 to 3 % of normal ones. That of the mean
# difference covers 93 to 96 %.
HEAVY_DF = 20

_MEANS = f"Means of the runs differ by ±{NO_BREAK}{{spread}}"
SENTENCES = {
    "measured": "{n_runs} {repeats}{inner} · {n_examples:,} examples{clusters}{weights}{labeled}",
    "some-targets": " ({n_labeled:,} with a target)",
    "one-evaluation": "The {mean_of} of one trial is {mean}.",
    "flips-need-repeats": "Flips need repeats: run each example again to see how far trials "
    "differ.",
    "no-number-differs": "All {n_runs} {repeats} give the same numbers.",
    "outcomes-changed": "Another {repeat} changes about {n_changed} in {per:,} outcomes.",
    "outcomes-of-few-differ": "Two of these {n_runs} {repeats} differ on about {n_changed} in "
    "{per:,} outcomes.",
    "outcomes-of-two-differ": "These two runs differ on about {n_changed} in {per:,} outcomes.",
    "numbers-of-two-differ": "These two runs differ by {difference} on one example, on average.",
    "numbers-differ": "Two {repeats} differ by {difference} on one example, on average.",
    "pass-rate": "The pass rate is {mean} over {over}.",
    "mean": "The mean is {mean} over {over}.",
    "one-trial": f"A single trial of each example would give it to within ±{NO_BREAK}{{noise}} "
    "(standard deviation).",
    "means-equal": "The means of all {n_runs} runs are equal.",
    "means-of-few-runs": f"{_MEANS}. {{n_runs}} runs are too few to explain that spread.",
    "means-within-noise": f"{_MEANS}; independent noise alone would give ±{NO_BREAK}{{noise}}. "
    "With {n_runs} runs, no significant excess is shown.",
    "means-beyond-noise": f"{_MEANS}; independent noise alone would give ±{NO_BREAK}{{noise}}. "
    "Some runs give higher numbers than others on the whole.",
    "examples-differ": f"On one example, {{repeats}} differ by ±{NO_BREAK}{{spread}} (standard "
    "deviation).",
    "two-runs-disagree": "These two runs disagree on {flips} of the examples.",
    "heavy-tails": "A few examples cause most of the standard deviation on one example, "
    f"±{NO_BREAK}{{spread}}: with such tails its interval is too short, so the mean difference "
    "comes first.",
    "examples-differ-by": "On one example, two {repeats} differ by {difference} on average.",
    "outcomes-differ": "Two {repeats} of one example disagree in {flips} of all pairs.",
    "flaky-examples": "{n_flaky:,} of {n_examples:,} examples ({share}) are flaky: they pass in "
    "some {repeats} and fail in others.",
    "solid-examples": "{n_solid:,} passed and {n_broken:,} failed in all {n_runs}. With so few "
    "{repeats}, such an example is only shown to do so at least {least} of the time.",
    "all-pass": "All of {n_runs} {repeats} pass with a chance of {all_pass}, at least one with "
    "{any_passes}.",
    "beyond-tolerance": "{share} of the pairs differ by more than the tolerance.",
    "across-threshold": "At the threshold {threshold}, {share} of the decisions flip.",
    "errors": "The mean absolute error is {mae}, the root mean squared error {rmse}.",
    "over-examples": "Intervals are over examples: {repeats} of one model are independent, so the "
    "means of examples contain their noise.",
    "over-judges": "The same judges grade every answer. Intervals are over judges like these and "
    "over examples, so more {repeats} alone do not narrow them; if a single model grades each "
    "answer anew, give its grades a name of their own in each trial, such as 0-1.",
    "unequal-trials": "Examples have {low} to {high} trials, and each example counts once: its "
    "mean is that of its own trials. {n_repeated:,} of {n_examples:,} examples have at least two, "
    "and show how far trials differ.",
    "unequal-powers": "pass^k and pass@k are over the examples with at least k trials: {listed}.",
    "unequal-left-out": "Figures that need the same number of trials of every example, such as "
    "parts of the variance and rank agreement, are left out.",
    "no-targets": "There are no targets, so errors are left out.",
    "two-runs": "With two runs, intervals are over examples only; another pair of runs may differ "
    "more.",
}
_say = Sentences(SENTENCES)


def title(measurement: Measurement) -> Message:
    """Return the size of the input in one line."""
    labeled: Message | str = ""
    if 0 < measurement.n_labeled < measurement.n_examples:
        labeled = _say("some-targets", n_labeled=measurement.n_labeled)
    inner = list(measurement.levels.items())[1:]
    return _say(
        "measured",
        n_runs=" to ".join(map(str, dict.fromkeys(measurement.run_range))),
        repeats=measurement.repeats.removesuffix("s")
        if measurement.n_runs == 1
        else measurement.repeats,
        inner="".join(f" × {size} {level}s" for level, size in inner),
        n_examples=measurement.n_examples,
        clusters=in_clusters(measurement.clusters),
        weights=weighted_by(measurement.weights),
        labeled=labeled,
    )


def _on_unequal(measurement: Measurement) -> tuple[Message, ...]:
    """Return which examples figures are of, if these have different numbers of trials."""
    counts = measurement.trial_counts
    if not counts:
        return ()
    n_with = {
        k: sum(n for n_trials, n in counts.items() if n_trials >= k)
        for k in range(1, max(counts) + 1)
    }
    powers = [int(name.removeprefix("pass^")) for name in measurement.metrics if "pass^" in name]
    listed = ", ".join(f"{n_with[k]:,} for k = {k}" for k in powers if k > min(counts))
    return (
        _say(
            "unequal-trials",
            low=min(counts),
            high=max(counts),
            n_repeated=n_with[2],
            n_examples=measurement.n_examples,
        ),
        *([_say("unequal-powers", listed=listed)] if listed else []),
        _say("unequal-left-out"),
    )


def headline(measurement: Measurement) -> Message:
    """Return how far two runs differ, on outcomes or on numbers."""
    metrics, fields = measurement.metrics, _words(measurement)
    if "mean_difference" not in metrics:
        mean = WithInterval(metrics["mean"], "value")
        return _say("one-evaluation", mean_of=_mean_of(measurement), mean=mean)
    if metrics["mean_difference"].value == 0.0:
        return _say("no-number-differs", **fields)
    if "flip_rate" not in metrics:
        difference = WithUnit(metrics["mean_difference"].value, "value")
        code = "numbers-of-two-differ" if _are_one_pair(measurement) else "numbers-differ"
        return _say(code, difference=difference, **fields)
    flips, per = metrics["flip_rate"].value, 100
    while per * flips < 1:
        per *= 10
    is_short = measurement.n_runs < VERDICT_FROM and measurement.repeats != "trials"
    few = "outcomes-of-two-differ" if _are_one_pair(measurement) else "outcomes-of-few-differ"
    code = few if is_short else "outcomes-changed"
    return _say(code, n_changed=round(per * flips), per=per, **fields)


def sentences(measurement: Measurement) -> tuple[Sentence, ...]:
    """Return the main findings by topic."""
    by_topic = {
        "Mean": _mean(measurement),
        "Outcomes": _outcomes(measurement),
        "Examples": _examples(measurement),
        **groups.findings(measurement),
        "Errors": _errors(measurement),
    }
    return tuple(Sentence(topic, messages) for topic, messages in by_topic.items() if messages)


def has_heavy_tails(measurement: Measurement) -> bool:
    """Return whether a few examples decide the standard deviation on one example.

    A saved measurement does not show it, because its statistics are not stored.
    """
    spread = measurement.statistics.get("example_sd")
    shape = spread.mean.drawn_shape if isinstance(spread, RootOfMean) else None
    return shape is not None and shape.df < min(HEAVY_DF, (shape.n - 1) / 2)


def _are_one_pair(measurement: Measurement) -> bool:
    """Return whether two runs give one number each, so that they are the only pair."""
    return are_two_runs(measurement) and not measurement.levels


def _words(measurement: Measurement) -> dict[str, object]:
    """Return the nouns for answers to the same example, and their number."""
    repeats, n_runs, levels = measurement.repeats, measurement.n_runs, measurement.levels
    if levels and repeats != "trials":
        # Answers are compared within a run.
        repeats, n_runs = f"{list(levels)[1]}s", prod(levels.values())
    return {"n_runs": n_runs, "repeats": repeats, "repeat": repeats.removesuffix("s")}


def _mean_of(measurement: Measurement) -> str:
    """Return what the mean of the numbers is: a pass rate if all are 0 or 1."""
    is_rate = "flip_rate" in measurement.metrics or "pass^1" in measurement.metrics
    return "pass rate" if is_rate else "mean"


def _mean(measurement: Measurement) -> tuple[Message, ...]:
    metrics = measurement.metrics
    mean = metrics["mean"]
    code = _mean_of(measurement).replace(" ", "-")
    first = _say(code, mean=WithInterval(mean, "value"), over=mean.over or "these examples")
    if "mean_sd_independent" not in metrics:
        return first, _say("flips-need-repeats")
    noise = WithUnit(metrics["mean_sd_independent"].value, "value")
    if "mean_sd" not in metrics:
        return first, _say("one-trial", noise=noise)
    spread, alone = metrics["mean_sd"], metrics["mean_sd_independent"]
    n_runs, written = measurement.n_runs, WithUnit(spread.value, "value")
    if spread.value == 0.0:
        return first, _say("means-equal", n_runs=n_runs)
    if spread.low is None or n_runs < VERDICT_FROM:
        return first, _say("means-of-few-runs", spread=written, n_runs=n_runs)
    is_beyond = spread.low > (alone.value if alone.high is None else alone.high)
    code = "means-beyond-noise" if is_beyond else "means-within-noise"
    return first, _say(code, spread=written, noise=noise, n_runs=n_runs)


def _outcomes(measurement: Measurement) -> tuple[Message, ...]:
    metrics, words = measurement.metrics, _words(measurement)
    if "flip_rate" not in metrics:
        return ()
    broken, *flaky, solid = measurement.detail["passed_counts"].tolist()
    powers = [name.removeprefix("pass^") for name in metrics if name.startswith("pass^")]
    all_pass = [
        _say(
            "all-pass",
            all_pass=amount(measurement, metrics[f"pass^{k}"], "value"),
            any_passes=amount(measurement, metrics[f"pass@{k}"], "value"),
            **{**words, "n_runs": int(k)},
        )
        for k in powers[-1:]
    ]
    code = "two-runs-disagree" if _are_one_pair(measurement) else "outcomes-differ"
    solid_examples = _say(
        "solid-examples",
        n_solid=solid,
        n_broken=broken,
        least=WithUnit(TAIL ** (1 / (len(flaky) + 1)), "percent"),
        **words,
    )
    return (
        _say(code, flips=amount(measurement, metrics["flip_rate"], "percent"), **words),
        _say(
            "flaky-examples",
            n_flaky=sum(flaky),
            n_examples=solid + sum(flaky) + broken,
            share=WithUnit(metrics["flaky_share"].value, "percent"),
            **words,
        ),
        *([] if measurement.trial_counts else [solid_examples]),
        *all_pass,
    )


def _examples(measurement: Measurement) -> tuple[Message, ...]:
    metrics, words = measurement.metrics, _words(measurement)
    messages = []
    if "flip_rate" not in metrics and has_heavy_tails(measurement):
        difference = amount(measurement, metrics["mean_difference"], "value")
        value = WithUnit(metrics["example_sd"].value, "value")
        messages.append(_say("examples-differ-by", difference=difference, **words))
        messages.append(_say("heavy-tails", spread=value))
    elif "flip_rate" not in metrics and "example_sd" in metrics:
        spread = amount(measurement, metrics["example_sd"], "value")
        messages.append(_say("examples-differ", spread=spread, **words))
    if "beyond_tolerance" in metrics:
        share = amount(measurement, metrics["beyond_tolerance"], "percent")
        messages.append(_say("beyond-tolerance", share=share))
    for name, flips in metrics.items():
        if name.startswith("flip_rate@"):
            share = amount(measurement, flips, "percent")
            threshold = name.removeprefix("flip_rate@")
            messages.append(_say("across-threshold", threshold=threshold, share=share))
    return tuple(messages)


def _errors(measurement: Measurement) -> tuple[Message, ...]:
    metrics = measurement.metrics
    if "mae" not in metrics:
        return ()
    mae, rmse = (amount(measurement, metrics[name], "value") for name in ("mae", "rmse"))
    return (_say("errors", mae=mae, rmse=rmse),)


def limits(measurement: Measurement) -> tuple[Message, ...]:
    """Return the limitations of these runs and their records."""
    messages = list(_on_unequal(measurement))
    are_trials = measurement.repeats == "trials"
    over = measurement.metrics["mean"].over
    if over is not None and "judges" in over:
        messages.append(_say("over-judges", repeats=measurement.repeats))
    elif are_trials:
        messages.append(_say("over-examples", repeats=measurement.repeats))
    elif measurement.n_runs == 2:
        messages.append(_say("two-runs"))
    # Trials are scores, as a rule, which have no target.
    if not measurement.n_labeled and not are_trials and "flip_rate" not in measurement.metrics:
        messages.append(_say("no-targets"))
    return tuple(messages)
