"""Sentences about single runs over their steps."""

from seedproof.measurement.dynamics import ENTROPY, DynamicsMeasurement
from seedproof.messages import Message
from seedproof.report.numbers import WithInterval


def sentences(dynamics: DynamicsMeasurement | None) -> tuple[Message, ...]:
    """Return the entropy within one run in words; nothing if no run was traced."""
    if dynamics is None:
        return ()
    return (
        Message(
            "entropy-within-one-run",
            "Within one run the label entropy over its steps is {entropy} nats.",
            entropy=WithInterval(dynamics.metrics[ENTROPY], "nats"),
        ),
    )


def section_title() -> Message:
    """Return the title of the section."""
    return Message("entropy-over-steps", "How much a run changes its predictions over its steps")


def title(dynamics: DynamicsMeasurement) -> Message:
    """Return how many runs were traced, on how many examples, how often."""
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
