"""What is said about single runs over their steps. Every sentence has a condition."""

from seedproof.measurement.dynamics.association import TOP_SHARE
from seedproof.measurement.dynamics.result import DynamicsMeasurement
from seedproof.messages import Message
from seedproof.report.numbers import Correlation, WithInterval
from seedproof.stats.intervals import Estimate

PEARSON, PRECISION = "single_run_pearson", "single_run_precision"
REFERENCE = "other_runs_pearson"
# One run tells nearly as much as others would if even the low end of its interval reaches so much
# of the high end of theirs.
NEARLY = 0.9


def sentences(dynamics: DynamicsMeasurement | None) -> tuple[Message, ...]:
    """Whether what one run wavers on is what the others disagree on; none if no run was traced."""
    if dynamics is None:
        return ()
    if PEARSON not in dynamics.metrics:
        return (
            Message(
                "entropy-within-one-run",
                "Within one run the label entropy is {entropy} nats; these runs cannot say whether "
                "that tells what others disagree on.",
                entropy=WithInterval(dynamics.metrics["single_run_entropy"], "nats"),
            ),
        )
    r = dynamics.metrics[PEARSON]
    if not _is_shown(r):
        return (
            Message(
                "one-run-not-shown-to-agree",
                "What one run wavers on is not shown to go with what the {n_others} others "
                "disagree on: r\N{NO-BREAK SPACE}=\N{NO-BREAK SPACE}{pearson}.",
                n_others=dynamics.n_others,
                pearson=Correlation(r),
            ),
        )
    return (_agrees(dynamics), _least_stable(dynamics))


def _agrees(dynamics: DynamicsMeasurement) -> Message:
    """How well one run agrees with the others, and further runs where that is known."""
    words = (
        "What one run wavers on tells r\N{NO-BREAK SPACE}=\N{NO-BREAK SPACE}{pearson} of what the "
        "{n_others} others disagree on"
    )
    fields: dict[str, object] = {
        "pearson": Correlation(dynamics.metrics[PEARSON]),
        "n_others": dynamics.n_others,
    }
    if REFERENCE in dynamics.metrics:
        words += "; {n_others} further runs would tell about {reference}"
        fields["reference"] = Correlation(dynamics.metrics[REFERENCE])
    return Message("one-run-agrees", f"{words}.", **fields)


def _least_stable(dynamics: DynamicsMeasurement) -> Message:
    """How many of the least stable examples one run finds, and chance beside it."""
    share = TOP_SHARE if dynamics.least_stable is None else dynamics.least_stable
    precision = WithInterval(dynamics.metrics[PRECISION], "percent")
    if share > TOP_SHARE - 5e-4:  # on the page it is a tenth
        return Message(
            "least-stable-tenth",
            "Of the least stable tenth of the examples it finds {precision}; chance would find "
            "10\N{NO-BREAK SPACE}%.",
            precision=precision,
        )
    return Message(
        "least-stable-share",
        "Of the least stable {percent:.2g}\N{NO-BREAK SPACE}% of the examples (the others disagree "
        "on no more) it finds {precision}; chance would find {percent:.2g}\N{NO-BREAK SPACE}%.",
        percent=100 * share,
        precision=precision,
    )


def section_title(dynamics: DynamicsMeasurement) -> Message:
    """The finding of the section, no stronger than what was computed."""
    if PEARSON not in dynamics.metrics:
        return Message("entropy-over-steps", "How much a run wavers over its steps")
    r = dynamics.metrics[PEARSON]
    if not _is_shown(r):
        return Message(
            "one-run-not-shown-to-agree", "One run is not shown to tell where runs disagree"
        )
    if REFERENCE not in dynamics.metrics:
        return Message("one-run-agrees", "What one run wavers on goes with what others disagree on")
    low, high = _ends(r)
    other_low, other_high = _ends(dynamics.metrics[REFERENCE])
    n_others = dynamics.n_others
    if low >= NEARLY * other_high:
        return Message(
            "one-run-nearly-as-good",
            "One run tells nearly as much as {n_others} others would",
            n_others=n_others,
        )
    if high < other_low:
        return Message(
            "one-run-partly-as-good",
            "One run tells a part of what {n_others} others would",
            n_others=n_others,
        )
    return Message(
        "one-run-not-distinguished",
        "What one run tells is not told apart from what {n_others} others would",
        n_others=n_others,
    )


def paragraphs(dynamics: DynamicsMeasurement) -> tuple[Message, ...]:
    """What to think of it, beside the charts."""
    if PEARSON not in dynamics.metrics:
        return ()
    n_others = dynamics.n_others
    messages = [
        Message(
            "run-left-out-of-others",
            "A run is held against the {n_others} others alone: its own last step is also its "
            "vote, and would make the two look more alike than they are.",
            n_others=n_others,
        )
    ]
    if REFERENCE in dynamics.metrics:
        messages.append(
            Message(
                "noise-of-others",
                "The entropy over {n_others} runs is noisy itself, so that nothing goes with it "
                "perfectly. For reference: that over {n_others} further runs would reach about "
                "{reference}, as far as halves of these runs tell.",
                n_others=n_others,
                reference=Correlation(dynamics.metrics[REFERENCE]),
            )
        )
    values = dynamics.by_run[PEARSON]
    if len(values) > 1:
        messages.append(
            Message(
                "range-over-runs",
                "Single runs reach {low} to {high}.",
                low=Correlation(Estimate(float(values.min()))),
                high=Correlation(Estimate(float(values.max()))),
            )
        )
    return tuple(messages)


def title(dynamics: DynamicsMeasurement) -> Message:
    """How many runs were traced, on how many examples, how often."""
    low, high = dynamics.n_steps
    times = "{n_steps:,}" if low == high else "{n_steps:,} to {most_steps:,}"
    runs = "1 run" if len(dynamics.runs) == 1 else "{n_traced} runs"
    return Message(
        "traced",
        f"{runs} traced, {{n_examples:,}} examples, {times} looks at each",
        n_traced=len(dynamics.runs),
        n_examples=dynamics.n_examples,
        n_steps=low,
        most_steps=high,
    )


def reading(dynamics: DynamicsMeasurement) -> tuple[Message, ...]:
    """How to read the figures; nothing where there is only one."""
    if PEARSON not in dynamics.metrics:
        return ()
    against = Message(
        "run-against-others",
        "Each traced run is held against the {n_others} others, without itself.",
        n_others=dynamics.n_others,
    )
    if dynamics.metrics[PEARSON].over != "examples":
        return (against,)
    few = Message(
        "intervals-over-examples",
        "With fewer than 5 runs, or 3 traced ones, intervals are over examples only: another run "
        "may tell more or less.",
    )
    return against, few


def _is_shown(r: Estimate) -> bool:
    return r.low is not None and r.low > 0


def _ends(r: Estimate) -> tuple[float, float]:
    """Both ends of an interval; the value where there is none."""
    return (r.value, r.value) if r.low is None or r.high is None else (r.low, r.high)
