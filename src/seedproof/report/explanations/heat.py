"""Heat maps: the same text explained by several runs, each word with its share of the weight."""

import math
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import pyarrow.compute as pc

from seedproof.measurement.explanations.illustrations import (
    OTHER_ANSWERS,
    OTHER_EXPLANATIONS,
    SAME_EXPLANATIONS,
)
from seedproof.measurement.explanations.result import ExplanationMeasurement
from seedproof.messages import Message, Sentences
from seedproof.metrics.explanations.distances import n_top, token_ranks, token_weights
from seedproof.metrics.explanations.family import PAPER_TOP
from seedproof.typing import BoolArray

# The first runs in canonical order, never selected.
MAX_RUNS = 5
MAX_TOKENS = 60
MAX_ANSWERS = 3
# Multiples of a uniform share at which a word gets darker.
STEPS = (1.0, 2.0, 3.5, 6.0)
# A uniform share is 1 up to rounding of 32-bit scores.
ROUNDING = 1e-4
# The distance is a mean over all words, so the closest text may still have different top words.
MEAN = "averaged over runs"
SENTENCES = {
    "agreed-and-farthest-apart": "Of the examples on which all runs agree, the one whose "
    f"explanations differ most, {MEAN}.",
    "disagreed-and-farthest-apart": "Of the examples on which runs disagree, the one whose "
    f"explanations differ most, {MEAN}.",
    "agreed-and-closest": "Of the examples on which all runs agree, the one whose explanations "
    f"differ least, {MEAN}.",
    "words-left-out": "The first {n_shown} of {n_tokens} words are shown.",
}
_say = Sentences(SENTENCES)
RULES = {
    OTHER_EXPLANATIONS: "agreed-and-farthest-apart",
    OTHER_ANSWERS: "disagreed-and-farthest-apart",
    SAME_EXPLANATIONS: "agreed-and-closest",
}


@dataclass(frozen=True)
class Word:
    """One token in one run: `times` is its multiple of a uniform share, `step` its shade."""

    text: str
    times: float
    step: int
    is_top: bool


@dataclass(frozen=True)
class HeatRow:
    """One text in one run."""

    run: str
    words: tuple[Word, ...]
    top_words: tuple[str, ...]
    answer: str


@dataclass(frozen=True)
class HeatMap:
    """A text selected by a rule, as the first runs explain it."""

    title: Message
    example: str
    captions: tuple[Message, ...]
    rows: tuple[HeatRow, ...]
    is_cut: bool

    @property
    def caption(self) -> str:
        """The captions as text."""
        return " ".join(map(str, self.captions))


def heat_maps(explained: ExplanationMeasurement, classes: Sequence[str]) -> tuple[HeatMap, ...]:
    """Return the texts that illustrate the metrics of one method."""
    return tuple(
        _heat_map(row, explained.runs, classes) for row in explained.illustrations.to_pylist()
    )


def has_signs(explained: ExplanationMeasurement) -> bool:
    """Return whether the shown texts have negative scores."""
    scores = pc.list_flatten(pc.list_flatten(explained.illustrations.column("scores")))
    return bool(pc.any(pc.less(scores, 0)).as_py())


def _heat_map(row: Mapping[str, Any], runs: Sequence[str], classes: Sequence[str]) -> HeatMap:
    magnitudes, tokens = np.abs(np.array(row["scores"], dtype=np.float64)), row["tokens"]
    n_tokens = len(tokens)
    times = token_weights(magnitudes) * n_tokens
    is_top = token_ranks(magnitudes) < n_top(n_tokens, PAPER_TOP)
    answers = _answers(row, classes)
    rows = []
    for i, run in enumerate(runs[:MAX_RUNS]):
        weighed = list(zip(tokens, times[i], is_top[i], strict=True))
        words = [Word(text, round(float(x), 2), _step(x), bool(top)) for text, x, top in weighed]
        top_words = tuple(word.text for word in words if word.is_top)
        rows.append(HeatRow(run, tuple(words[:MAX_TOKENS]), top_words, answers[i]))
    captions = [_say(RULES[row["rule"]]), _votes(row, classes), _top_words(is_top)]
    if n_tokens > MAX_TOKENS:
        captions.append(_say("words-left-out", n_shown=MAX_TOKENS, n_tokens=n_tokens))
    return HeatMap(
        title=_title(row["rule"], is_top),
        example=row["example"],
        captions=tuple(captions),
        rows=tuple(rows),
        is_cut=n_tokens > MAX_TOKENS,
    )


def _step(times: float) -> int:
    return int(np.searchsorted(STEPS, times - ROUNDING))


def _answers(row: Mapping[str, Any], classes: Sequence[str]) -> list[str]:
    names = [classes[index] for index in row["predictions"]]
    if row["confidences"] is None:
        return names
    pairs = zip(names, row["confidences"], strict=True)
    return [f"{name} {confidence:.2f}" for name, confidence in pairs]


def _title(rule: str, is_top: BoolArray) -> Message:
    """Return what the rule selects, as far as the top words confirm it."""
    answer = "Different answers" if rule == OTHER_ANSWERS else "Same answer"
    if (is_top == is_top[0]).all():
        words = "same top words"
    else:
        words = f"{'closest' if rule == SAME_EXPLANATIONS else 'different'} explanations"
    # Codes keep the word of earlier versions.
    code = f"{answer} {words}".lower().replace("different", "other").replace(" ", "-")
    return Message(code, "{answer}, {words}", answer=answer, words=words)


def _top_words(is_top: BoolArray) -> Message:
    """Return how many top words each run has, how many all runs have together, and share."""
    n_each, n_any, n_all = (
        int(n) for n in (is_top[0].sum(), is_top.any(axis=0).sum(), is_top.all(axis=0).sum())
    )
    fields = {"n_runs": len(is_top), "n_each": n_each, "n_any": n_any, "n_all": n_all}
    words = "top word" if n_each == 1 else "{n_each} top words"
    if n_any == n_each:
        return Message("top-words-same", f"All have the same {words}.", **fields)
    each = "1 top word" if n_each == 1 else words
    shared = "{n_all}" if n_all else "none"
    return Message(
        "top-words-counted",
        f"Each run has {each}; {_all(len(is_top))} runs have {{n_any}} in total, {shared} shared "
        "by all.",
        **fields,
    )


def _all(n_runs: int) -> str:
    return "both" if n_runs == 2 else "all {n_runs}"


def _votes(row: Mapping[str, Any], classes: Sequence[str]) -> Message:
    """Return the answer of all runs with the lowest confidence, or how the answers split."""
    n_runs = len(row["predictions"])
    counts = Counter(row["predictions"]).most_common()
    named = tuple((classes[index], n) for index, n in counts)
    if len(named) > 1:
        n_others = sum(n for _, n in named[MAX_ANSWERS:])
        votes = ShownVotes(n_runs, named[:MAX_ANSWERS], n_others)
        return Message("answers-split", "{votes}.", votes=votes)
    words = f"{_all(n_runs).capitalize()} runs answer “{{class_name}}”"
    fields: dict[str, object] = {"n_runs": n_runs, "class_name": named[0][0]}
    if row["confidences"] is not None:
        # Probabilities have 32 bits: 0.9 is a little less in them.
        fields["least_sure"] = math.floor(round(100 * min(row["confidences"]), 4))
        words += " with at least {least_sure}\N{NO-BREAK SPACE}% confidence"
    return Message("answer-of-all", f"{words}.", **fields)


@dataclass(frozen=True)
class ShownVotes:
    """Number of runs per answer, as a list in a sentence."""

    n_runs: int
    named: tuple[tuple[str, int], ...]
    n_others: int

    def __str__(self) -> str:
        (most, n_most), *others = self.named
        verb = "answers" if n_most == 1 else "answer"
        parts = [f"{n_most} of {self.n_runs} runs {verb} “{most}”"]
        parts += [f"{n} “{name}”" for name, n in others]
        return ", ".join([*parts, *([f"{self.n_others} something else"] if self.n_others else [])])
