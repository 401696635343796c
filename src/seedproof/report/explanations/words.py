"""What is said about explanations. Every sentence has a condition."""

from collections.abc import Mapping, Sequence

from seedproof.measurement.explanations.result import ExplanationMeasurement
from seedproof.messages import Message, Sentences
from seedproof.report.numbers import WithInterval, WithUnit
from seedproof.stats.intervals import Estimate

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
SENTENCES = {
    "attended-words": "words two runs attend to most",
    "ranked-words": "words that two runs rank highest by {method}",
    "explainer-steady": "Explained twice, a run names the same ones.",
    "explainer-noise": "Two draws of one explainer already differ in {noise}.",
    "explainer-noise-not-exceeded": "Two draws of one explainer already differ in {noise}: these "
    "runs do not clearly show more.",
    "top-words-same": "All runs name the same top words",
    "top-words-differ": "Between two runs, {differ} of the top words differ",
    "top-words-differ-by-method": "Between two runs, {low:bare} to {high} of the top words differ, "
    "by explainer",
    "top-words-in-one-list": "Take a fifth of each text, the words that weigh most for one run, "
    "and the same for another run. Of the words in these two lists, {differ} are in only one of "
    "them.",
    "top-words-kept": "Counted for one run: {shared} of its top words are in the other’s list. "
    "Lists at random would share about 20\N{NO-BREAK SPACE}%, and more in short texts.",
    "noise-measured": "The floor is how far two draws of {method} are apart for one and the same "
    "run, over {n_repeated:,} examples: the explainer’s own chance. Where a figure is not beyond "
    "it, another draw changes the reasons as much as another seed does.",
    "no-noise": "Nothing is drawn for {method}: it follows from the model alone, so all of this "
    "distance comes with the seed.",
    "noise-unknown": "The explainer’s own noise is unknown: not every run was explained twice by "
    "{method}. Log a second draw of a few examples in all runs to know how much of this comes with "
    "the seed.",
}
_say = Sentences(SENTENCES)


def named(method: str) -> str:
    """A method as people read it."""
    return TITLES.get(method.replace("_", "-"), method)


def is_computed(method: str) -> bool:
    """Whether a method is known, by its name, to have no randomness of its own."""
    return method.replace("_", "-") in COMPUTED


def which_words(method: str) -> Message:
    """Whose top words are compared, such as "words two runs attend to most"."""
    if method == "attention":
        return _say("attended-words")
    return _say("ranked-words", method=named(method))


def sentences(
    explanations: Mapping[str, ExplanationMeasurement], n_examples: int
) -> tuple[Message, ...]:
    """How many of the top words differ between two runs, by each method."""
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
        return Message(
            "top-words-same",
            f"By {{method}}{part}, all {{n_runs}} runs name the same top words.",
            **fields,
            n_runs=explained.n_runs,
        )
    if 0 < explained.n_agreed < explained.n_examples:
        agreed = "{agreed} where all runs give the same answer"
        fields["agreed"] = WithUnit(explained.agreed[TOP_WORDS], "percent")
    if not is_first:
        end = f" ({agreed})" if agreed else ""
        return Message("top-words-differ", f"By {{method}}{part}: {{differ}}{end}.", **fields)
    end = f"; {agreed}" if agreed else ""
    return Message(
        "top-words-differ",
        f"Of the {{words}}{part}, {{differ}} are named by only one{end}.",
        **fields,
        words=which_words(method),
    )


def _on_noise(explained: ExplanationMeasurement, noise: Estimate) -> Message:
    """What the explainer's own chance does to the top words."""
    between = explained.metrics[TOP_WORDS]
    if noise.value == 0.0:
        return _say("explainer-steady")
    top = noise.value if noise.high is None else noise.high
    low = between.value if between.low is None else between.low
    code = "explainer-noise" if top < low else "explainer-noise-not-exceeded"
    return _say(code, noise=WithUnit(noise.value, "percent"))


def section_title(explanations: Sequence[ExplanationMeasurement]) -> Message:
    """The finding of the section, no stronger than what was computed."""
    values = sorted(explained.metrics[TOP_WORDS].value for explained in explanations)
    low, high = WithUnit(values[0], "percent"), WithUnit(values[-1], "percent")
    if values[-1] == 0.0:
        return _say("top-words-same")
    if str(low) == str(high):
        return _say("top-words-differ", differ=low)
    return _say("top-words-differ-by-method", low=low, high=high)


def paragraphs(explanations: Sequence[ExplanationMeasurement]) -> tuple[Message, ...]:
    """What to think of the top words, beside the chart; nothing where every method has a chart."""
    if len(explanations) != 1:
        return ()
    differ, shared = (
        WithInterval(explanations[0].metrics[name], "percent") for name in (TOP_WORDS, OVERLAP)
    )
    return _say("top-words-in-one-list", differ=differ), _say("top-words-kept", shared=shared)


def on_floor(explained: ExplanationMeasurement) -> Message:
    """What is known of the explainer's own noise, in a sentence or two."""
    method = named(explained.method)
    if explained.noise is not None:
        return _say("noise-measured", method=method, n_repeated=explained.n_repeated)
    return _say("no-noise" if is_computed(explained.method) else "noise-unknown", method=method)
