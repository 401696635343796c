"""Sentences about runs that give a text for each example, each with its condition."""

from math import prod

from seedproof.measurement.clusters import in_clusters
from seedproof.measurement.result import Measurement
from seedproof.messages import Message, Sentences
from seedproof.metrics.distinct import RAREFIED
from seedproof.metrics.statistic import VERDICT_FROM
from seedproof.report import groups
from seedproof.report.numbers import NO_BREAK, WithUnit
from seedproof.report.sentences import Sentence, amount, are_two_runs, spread_runs

_SHARES = f"Runs differ by ±{NO_BREAK}{{spread}} (standard deviation)"
SENTENCES = {
    "measured": "{size} · {n_examples:,} examples{clusters}{labeled}",
    "some-references": " ({n_labeled:,} with a reference)",
    "no-references": " (no references)",
    "no-answer-differs": "All {n_runs} {repeats} give the same answers.",
    "answers-changed": "Another {repeat} gives another answer to about {n_changed} in {per:,} "
    "examples.",
    "answers-of-few-differ": "Two of these {n_runs} {repeats} give different answers to about "
    "{n_changed} in {per:,} examples.",
    "answers-of-two-differ": "These two runs give different answers to about {n_changed} in "
    "{per:,} examples.",
    "two-runs-agree": "These two runs give the same answer to every example. Another pair of runs "
    "may not.",
    "two-runs-differ": "These two runs give different answers to {flip_rate} of the examples.",
    "answers-equal": "The {n_runs} {repeats} give the same answer to every example. The true share "
    "of different answers could still be up to {at_most}.",
    "answers-differ": "Two {repeats} give different answers to {flip_rate} of the examples. On "
    "{ambiguity} of the examples the {n_all} {of_all} do not all agree.",
    "distinct-answers": "An example gets {distinct} distinct answers from {n_runs} {repeats}, on "
    "average.",
    "right-answers": "{accuracy} of the answers are right.",
    "one-trial": "A single trial of each example would give this share to within "
    f"±{NO_BREAK}{{noise}} (standard deviation).",
    "shares-equal": "All {n_runs} runs have the same share of right answers.",
    "shares-of-few-runs": f"{_SHARES}. {{n_runs}} runs are too few to explain that spread.",
    "shares-within-noise": f"{_SHARES}; independent changes alone would give ±{NO_BREAK}{{noise}}. "
    "With {n_runs} runs, no significant excess is shown.",
    "shares-beyond-noise": f"{_SHARES}; independent changes alone would give ±{NO_BREAK}{{noise}}, "
    "so some runs are better than others.",
    "over-examples": "Intervals are over examples: {repeats} of one model are independent, so the "
    "figures of examples contain their noise.",
    "two-runs": "With two runs, intervals are over examples only; another pair of runs may differ "
    "more.",
    "right-answers-unknown": "The right answers to {n_unknown:,} of {n_examples:,} examples are "
    "unknown, so the share of right answers is of the others.",
    "accuracy-left-out": "There are no references, so the share of right answers is left out.",
}
_say = Sentences(SENTENCES)


def words(measurement: Measurement) -> dict[str, object]:
    """Return the nouns for answers to the same example, and their number.

    If runs have several trials each, trials of one run are compared.
    """
    repeats = of_all = "trials" if measurement.repeats == "trials" else "runs"
    n_runs = n_all = measurement.n_runs
    repeat = repeats.removesuffix("s")
    if measurement.levels:
        n_runs = measurement.levels["trial"]
        n_all = prod(measurement.levels.values())
        repeat, repeats, of_all = "trial", "trials of a run", "trials of all runs"
    return {
        "n_runs": n_runs,
        "repeats": repeats,
        "repeat": repeat,
        "n_all": n_all,
        "of_all": of_all,
    }


def title(measurement: Measurement) -> Message:
    """Return the size of the input in one line."""
    labeled: Message | str = ""
    if not measurement.n_labeled:
        labeled = _say("no-references")
    elif measurement.n_labeled < measurement.n_examples:
        labeled = _say("some-references", n_labeled=measurement.n_labeled)
    levels = measurement.levels or {str(words(measurement)["repeat"]): measurement.n_runs}
    return _say(
        "measured",
        size=" × ".join(f"{size} {level}s" for level, size in levels.items()),
        n_examples=measurement.n_examples,
        clusters=in_clusters(measurement.clusters),
        labeled=labeled,
    )


def headline(measurement: Measurement) -> Message:
    """Return how many answers differ; few runs are described, and nothing is said about others."""
    flips, fields = measurement.metrics["flip_rate"].value, words(measurement)
    if flips == 0.0:
        return _say("no-answer-differs", **fields)
    per = 100
    while per * flips < 1:
        per *= 10
    is_short = measurement.n_runs < VERDICT_FROM and measurement.repeats != "trials"
    few = "answers-of-two-differ" if _are_one_pair(measurement) else "answers-of-few-differ"
    code = few if is_short else "answers-changed"
    return _say(code, n_changed=round(per * flips), per=per, **fields)


def sentences(measurement: Measurement) -> tuple[Sentence, ...]:
    """Return the main findings by topic."""
    by_topic = {
        "Answers": _answers(measurement),
        **groups.findings(measurement),
        "Accuracy": _accuracy(measurement),
    }
    return tuple(Sentence(topic, messages) for topic, messages in by_topic.items() if messages)


def _are_one_pair(measurement: Measurement) -> bool:
    """Return whether two runs answer once each, so that they are the only pair."""
    return are_two_runs(measurement) and not measurement.levels


def _answers(measurement: Measurement) -> tuple[Message, ...]:
    metrics, fields = measurement.metrics, words(measurement)
    flips = metrics["flip_rate"]
    if _are_one_pair(measurement):
        share = WithUnit(flips.value, "percent")
        return (_say("two-runs-differ" if flips.value else "two-runs-agree", flip_rate=share),)
    if flips.value == 0.0 and flips.high is not None:
        return (_say("answers-equal", at_most=WithUnit(flips.high, "percent"), **fields),)
    differ = _say(
        "answers-differ",
        flip_rate=amount(measurement, flips, "percent"),
        ambiguity=WithUnit(metrics["ambiguity"].value, "percent"),
        **fields,
    )
    name = RAREFIED if RAREFIED in metrics and "distinct_answers" not in metrics else None
    distinct = amount(measurement, metrics[name or "distinct_answers"], "value")
    return differ, _say("distinct-answers", distinct=distinct, **fields)


def _accuracy(measurement: Measurement) -> tuple[Message, ...]:
    metrics = measurement.metrics
    if "accuracy" not in metrics:
        return ()
    first = _say("right-answers", accuracy=amount(measurement, metrics["accuracy"], "percent"))
    alone = metrics["accuracy_sd_independent"]
    noise = WithUnit(alone.value, "percent")
    if "accuracy_sd" not in metrics:
        return first, _say("one-trial", noise=noise)
    spread, n_runs = metrics["accuracy_sd"], measurement.n_runs
    written = WithUnit(spread.value, "percent")
    if spread.value == 0.0:
        return first, _say("shares-equal", n_runs=n_runs)
    if spread.low is None or n_runs < VERDICT_FROM:
        return first, _say("shares-of-few-runs", spread=written, n_runs=n_runs)
    is_beyond = spread.low > (alone.value if alone.high is None else alone.high)
    code = "shares-beyond-noise" if is_beyond else "shares-within-noise"
    return (
        first,
        _say(code, spread=written, noise=noise, n_runs=n_runs),
        *spread_runs(measurement),
    )


def limits(measurement: Measurement) -> tuple[Message, ...]:
    """Return the limitations of these runs and their records."""
    messages = []
    if measurement.repeats == "trials":
        messages.append(_say("over-examples", repeats=measurement.repeats))
    elif measurement.n_runs == 2:
        messages.append(_say("two-runs"))
    if not measurement.n_labeled:
        messages.append(_say("accuracy-left-out"))
    elif n_unknown := measurement.n_examples - measurement.n_labeled:
        fields = {"n_unknown": n_unknown, "n_examples": measurement.n_examples}
        messages.append(_say("right-answers-unknown", **fields))
    return tuple(messages)
