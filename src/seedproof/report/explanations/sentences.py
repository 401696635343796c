"""Sentences about explanations. Each has a condition; where it fails, a weaker one is used."""

from collections.abc import Mapping, Sequence

from seedproof.measurement.explanations.result import ExplanationMeasurement
from seedproof.messages import Message, Sentences
from seedproof.report.numbers import WithInterval, WithUnit
from seedproof.stats.intervals import Estimate

# Share of the top words of two runs that only one of them has: the metric that is easiest to grasp.
TOP_WORDS = "explanation_jaccard_20"
OVERLAP = "explanation_overlap"
# Methods without randomness: explaining a run twice gives the same result.
COMPUTED = frozenset({"attention", "gradient", "gradient-x-input", "integrated-gradients"})
TITLES = {
    "lime": "LIME",
    "gradient-x-input": "gradient × input",
    "integrated-gradients": "integrated gradients",
}
SENTENCES = {
    "attended-words": "words that two runs attend to most",
    "ranked-words": "words that two runs rank highest by {method}",
    "explainer-steady": "Explaining a run twice gives the same words.",
    "explainer-noise": "Explaining the same run twice already changes {noise} of the top words.",
    "explainer-noise-not-exceeded": "Explaining the same run twice already changes {noise} of the "
    "top words, so no additional difference between runs is shown.",
    "top-words-same": "All runs have the same top words",
    "top-words-differ": "Between two runs, {differ} of the top words differ",
    "top-words-differ-by-method": "Between two runs, {low:bare} to {high} of the top words differ, "
    "depending on the explainer",
    "top-words-in-one-list": "Take the top fifth of the words of each text for one run, and the "
    "same for another run. Of the words in these two lists, {differ} are in only one of them.",
    "top-words-kept": "Per run, {shared} of the top words are in the list of the other run. Random "
    "lists would share about 20\N{NO-BREAK SPACE}%, and more in short texts.",
    "noise-measured": "The last column is the noise of the explainer: the same figure if {method} "
    "explains the same run twice, over {n_repeated:,} examples. Where the two figures are about "
    "equal, explaining again changes the explanation as much as another run does.",
    "no-noise": "Explanations by {method} have no randomness of their own, so all of these "
    "are differences between runs.",
    "noise-unknown": "The noise of the explainer is unknown, because not every run was explained "
    "twice by {method}. Log a second draw of a few examples in all runs to measure it.",
}
_say = Sentences(SENTENCES)


def named(method: str) -> str:
    """Return the name of a method for readers."""
    return TITLES.get(method.replace("_", "-"), method)


def is_computed(method: str) -> bool:
    """Return whether a method is known to have no randomness of its own."""
    return method.replace("_", "-") in COMPUTED


def which_words(method: str) -> Message:
    """Return whose top words are compared, such as "words that two runs attend to most"."""
    if method == "attention":
        return _say("attended-words")
    return _say("ranked-words", method=named(method))


def sentences(
    explanations: Mapping[str, ExplanationMeasurement], n_examples: int
) -> tuple[Message, ...]:
    """Return the share of the top words that differ between two runs, by each method."""
    messages: list[Message] = []
    for method, explained in explanations.items():
        messages.append(_on_top_words(method, explained, n_examples, is_first=not messages))
        if explained.noise is not None:
            messages.append(_on_noise(explained, explained.noise[TOP_WORDS]))
    return tuple(messages)


def _on_top_words(
    method: str, explained: ExplanationMeasurement, n_examples: int, *, is_first: bool
) -> Message:
    fields: dict[str, object] = {
        "method": named(method),
        "differ": WithInterval(explained.metrics[TOP_WORDS], "percent"),
    }
    part = agreed = ""
    if explained.n_examples != n_examples:
        part = " on {n_examples:,} examples"
        fields["n_examples"] = explained.n_examples
    if explained.metrics[TOP_WORDS].value == 0.0:
        words = f"By {{method}}{part}, all {{n_runs}} runs have the same top words."
        return Message("top-words-same", words, **fields, n_runs=explained.n_runs)
    if 0 < explained.n_agreed < explained.n_examples:
        agreed = "{agreed} on examples where all runs give the same answer"
        fields["agreed"] = WithUnit(explained.agreed[TOP_WORDS], "percent")
    if not is_first:
        words = f"By {{method}}{part}: {{differ}}{f' ({agreed})' if agreed else ''}."
        return Message("top-words-differ", words, **fields)
    end = f" ({agreed})" if agreed else ""
    words = f"Of the {{words}}{part}, {{differ}} are top words in only one of the runs{end}."
    return Message("top-words-differ", words, **fields, words=which_words(method))


def _on_noise(explained: ExplanationMeasurement, noise: Estimate) -> Message:
    between = explained.metrics[TOP_WORDS]
    if noise.value == 0.0:
        return _say("explainer-steady")
    top = noise.value if noise.high is None else noise.high
    low = between.value if between.low is None else between.low
    code = "explainer-noise" if top < low else "explainer-noise-not-exceeded"
    return _say(code, noise=WithUnit(noise.value, "percent"))


def section_title(explanations: Sequence[ExplanationMeasurement]) -> Message:
    """Return the finding of the section."""
    values = sorted(explained.metrics[TOP_WORDS].value for explained in explanations)
    low, high = WithUnit(values[0], "percent"), WithUnit(values[-1], "percent")
    if values[-1] == 0.0:
        return _say("top-words-same")
    if str(low) == str(high):
        return _say("top-words-differ", differ=low)
    return _say("top-words-differ-by-method", low=low, high=high)


def paragraphs(explanations: Sequence[ExplanationMeasurement]) -> tuple[Message, ...]:
    """Return how to read the chart of a single method; several methods have their own charts."""
    if len(explanations) != 1:
        return ()
    differ, shared = (
        WithInterval(explanations[0].metrics[name], "percent") for name in (TOP_WORDS, OVERLAP)
    )
    return _say("top-words-in-one-list", differ=differ), _say("top-words-kept", shared=shared)


def on_floor(explained: ExplanationMeasurement) -> Message:
    """Return what is known about the noise of the explainer."""
    method = named(explained.method)
    if explained.noise is not None:
        return _say("noise-measured", method=method, n_repeated=explained.n_repeated)
    return _say("no-noise" if is_computed(explained.method) else "noise-unknown", method=method)
