"""What is said about explanations. Every sentence has a condition."""

from collections.abc import Mapping, Sequence

from seedproof.measurement.explanations.result import ExplanationMeasurement
from seedproof.report.numbers import NO_BREAK, bracketed, number

# Share of the top words of two runs that only one of them has: the figure that people grasp.
TOP_WORDS = "explanation_jaccard_20"
OVERLAP = "explanation_overlap"
# Computed from the weights of a model: explained twice, a run says the same.
COMPUTED = frozenset({"attention", "gradient", "gradient-x-input", "integrated-gradients"})
TITLES = {
    "lime": "LIME",
    "gradient-x-input": "gradient × input",
    "integrated-gradients": "integrated gradients",
}


def named(method: str) -> str:
    """A method as people read it."""
    return TITLES.get(method.replace("_", "-"), method)


def is_computed(method: str) -> bool:
    """Whether a method is known, by its name, to have no randomness of its own."""
    return method.replace("_", "-") in COMPUTED


def which_words(method: str) -> str:
    """Whose top words are compared, such as "words two runs attend to most"."""
    if method == "attention":
        return "words two runs attend to most"
    return f"words that two runs rank highest by {named(method)}"


def sentence(explanations: Mapping[str, ExplanationMeasurement], n_examples: int) -> str | None:
    """How many of the top words differ between two runs, by each method.

    Args:
        explanations: What was measured, by method.
        n_examples: How many examples were predicted; fewer that were explained are told.

    Returns:
        A sentence for each method, the first one in full; None without explanations.
    """
    found: list[str] = []
    for method, one in explanations.items():
        part = "" if one.n_examples == n_examples else f" on {one.n_examples:,} examples"
        differ, agreed = bracketed(one.metrics[TOP_WORDS], "percent"), _where_agreed(one)
        if one.metrics[TOP_WORDS].value == 0.0:
            said = f"By {named(method)}{part}, all {one.n_runs} runs name the same top words"
        elif found:
            said = f"By {named(method)}{part}: {differ}" + (f" ({agreed})" if agreed else "")
        else:
            said = f"Of the {which_words(method)}{part}, {differ} are named by only one"
            said += f"; {agreed}" if agreed else ""
        found.append(f"{said}.{_floor(one)}")
    return " ".join(found) or None


def _where_agreed(found: ExplanationMeasurement) -> str:
    """The same where runs agree on the answer, if that is a part of the examples."""
    if not 0 < found.n_agreed < found.n_examples:
        return ""
    return f"{_percent(found.agreed[TOP_WORDS])} where all runs give the same answer"


def _floor(found: ExplanationMeasurement) -> str:
    """What the explainer's own chance does to the top words, where it is known."""
    if found.noise is None:
        return ""
    noise, between = found.noise[TOP_WORDS], found.metrics[TOP_WORDS]
    if noise.value == 0.0:
        return " Explained twice, a run names the same ones."
    top = noise.value if noise.high is None else noise.high
    low = between.value if between.low is None else between.low
    more = "" if top < low else ": these runs do not clearly show more"
    return f" Two draws of one explainer already differ in {_percent(noise.value)}{more}."


def section_title(explanations: Sequence[ExplanationMeasurement]) -> str:
    """The finding of the section, no stronger than what was computed."""
    values = sorted(found.metrics[TOP_WORDS].value for found in explanations)
    low, high = number(values[0], "percent"), number(values[-1], "percent")
    if values[-1] == 0.0:
        return "All runs name the same top words"
    if low == high:
        return f"Between two runs, {low}{NO_BREAK}% of the top words differ"
    return f"Between two runs, {low} to {high}{NO_BREAK}% of the top words differ, by explainer"


def paragraphs(explanations: Sequence[ExplanationMeasurement]) -> tuple[str, ...]:
    """What to think of the top words, beside the chart; nothing where every method has a chart."""
    if len(explanations) != 1:
        return ()
    found = explanations[0]
    differ, shared = (bracketed(found.metrics[name], "percent") for name in (TOP_WORDS, OVERLAP))
    lists = (
        "Take a fifth of each text, the words that weigh most for one run, and the same for "
        f"another run. Of the words in these two lists, {differ} are in only one of them."
    )
    kept = (
        f"Counted for one run: {shared} of its top words are in the other’s list. Lists at random "
        f"would share about 20{NO_BREAK}%, and more in short texts."
    )
    return lists, kept


def on_floor(found: ExplanationMeasurement) -> str:
    """What is known of the explainer's own noise, in a sentence or two."""
    method = named(found.method)
    if found.noise is not None:
        return (
            f"The floor is how far two draws of {method} are apart for one and the same run, over "
            f"{found.n_repeated:,} examples: the explainer’s own chance. Where a figure is "
            "not beyond it, another draw changes the reasons as much as another seed does."
        )
    if is_computed(found.method):
        return (
            f"Nothing is drawn for {method}: it follows from the model alone, so all of this "
            "distance comes with the seed."
        )
    return (
        f"The explainer’s own noise is unknown: not every run was explained twice by {method}. Log "
        "a second draw of a few examples in all runs to know how much of this comes with the seed."
    )


def _percent(share: float) -> str:
    return f"{number(share, 'percent')}{NO_BREAK}%"
