"""The same text, explained by several runs: each word with its share of the whole."""

import math
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import pyarrow.compute as pc

from seedproof.measurement.explanations.illustrations import (
    OTHER_ANSWERS,
    OTHER_REASONS,
    SAME_REASONS,
)
from seedproof.measurement.explanations.result import ExplanationMeasurement
from seedproof.messages import Message, Sentences
from seedproof.metrics.explanations.distances import n_top, token_ranks, token_weights
from seedproof.metrics.explanations.family import PAPER_TOP
from seedproof.typing import BoolArray

# The first runs in canonical order, never chosen.
MAX_RUNS = 5
MAX_TOKENS = 60
MAX_ANSWERS = 3
# A word is darker from so many times an even share on.
STEPS = (1.0, 2.0, 3.5, 6.0)
# An even share is 1 up to rounding of 32-bit scores.
ROUNDING = 1e-4
# A distance is a mean over runs and all words: those closest may still name other top words.
MEAN = "in the mean over runs"
SENTENCES = {
    "agreed-and-farthest-apart": "Of the examples on which all runs agree, the one with reasons "
    f"farthest apart, {MEAN}.",
    "disagreed-and-farthest-apart": "Of the examples on which runs differ, the one with reasons "
    f"farthest apart, {MEAN}.",
    "agreed-and-closest": "Of the examples on which all runs agree, the one with reasons closest, "
    f"{MEAN}.",
    "words-left-out": "The first {n_shown} of {n_tokens} words are shown.",
}
_say = Sentences(SENTENCES)
RULES = {
    OTHER_REASONS: "agreed-and-farthest-apart",
    OTHER_ANSWERS: "disagreed-and-farthest-apart",
    SAME_REASONS: "agreed-and-closest",
}


@dataclass(frozen=True)
class Word:
    """One token as one run weighs it: `times` is its share, 1 if even; `step` is how dark it is."""

    text: str
    times: float
    step: int
    is_top: bool


@dataclass(frozen=True)
class HeatRow:
    """One run's view of a text."""

    run: str
    words: tuple[Word, ...]
    top_words: tuple[str, ...]
    answer: str


@dataclass(frozen=True)
class HeatMap:
    """A text that was found by rule, as the first runs explain it."""

    title: Message
    example: str
    captions: tuple[Message, ...]
    rows: tuple[HeatRow, ...]
    is_cut: bool

    @property
    def caption(self) -> str:
        """The captions in words."""
        return " ".join(map(str, self.captions))


def heat_maps(found: ExplanationMeasurement, classes: Sequence[str]) -> tuple[HeatMap, ...]:
    """The texts that show what the figures of one method mean."""
    return tuple(_heat_map(row, found.runs, classes) for row in found.telling.to_pylist())


def has_signs(found: ExplanationMeasurement) -> bool:
    """Whether some score of the texts that are shown is negative."""
    scores = pc.list_flatten(pc.list_flatten(found.telling.column("scores")))
    return bool(pc.any(pc.less(scores, 0)).as_py())


def _heat_map(row: Mapping[str, Any], runs: Sequence[str], classes: Sequence[str]) -> HeatMap:
    magnitudes, tokens = np.abs(np.array(row["scores"], dtype=np.float64)), row["tokens"]
    times = token_weights(magnitudes) * magnitudes.shape[1]
    is_top = token_ranks(magnitudes) < n_top(magnitudes.shape[1], PAPER_TOP)
    answers = _answers(row, classes)
    rows = []
    for i, run in enumerate(runs[:MAX_RUNS]):
        weighed = list(zip(tokens, times[i], is_top[i], strict=True))
        words = [Word(text, round(float(x), 2), _step(x), bool(top)) for text, x, top in weighed]
        top_words = tuple(word.text for word in words if word.is_top)
        rows.append(HeatRow(run, tuple(words[:MAX_TOKENS]), top_words, answers[i]))
    return HeatMap(
        title=_title(row["rule"], is_top),
        example=row["example"],
        captions=_captions(row, is_top, classes),
        rows=tuple(rows),
        is_cut=len(tokens) > MAX_TOKENS,
    )


def _step(times: float) -> int:
    return int(np.searchsorted(STEPS, times - ROUNDING))


def _answers(row: Mapping[str, Any], classes: Sequence[str]) -> list[str]:
    said = [classes[index] for index in row["predictions"]]
    if row["confidences"] is None:
        return said
    return [f"{name} {sure:.2f}" for name, sure in zip(said, row["confidences"], strict=True)]


def _title(rule: str, is_top: BoolArray) -> Message:
    """What the rule promises, if the top words bear it out."""
    answer = "Other answers" if rule == OTHER_ANSWERS else "Same answer"
    if (is_top == is_top[0]).all():
        reasons = "same top words"
    else:
        reasons = "closest reasons" if rule == SAME_REASONS else "other reasons"
    code = f"{answer} {reasons}".lower().replace(" ", "-")
    return Message(code, "{answer}, {reasons}", answer=answer, reasons=reasons)


def _captions(
    row: Mapping[str, Any], is_top: BoolArray, classes: Sequence[str]
) -> tuple[Message, ...]:
    n_tokens = is_top.shape[1]
    messages = [_say(RULES[row["rule"]]), _said(row, classes), _named(is_top)]
    if n_tokens > MAX_TOKENS:
        messages.append(_say("words-left-out", n_shown=MAX_TOKENS, n_tokens=n_tokens))
    return tuple(messages)


def _named(is_top: BoolArray) -> Message:
    """How many top words a run names, all runs name, and all runs share."""
    n_each, n_any, n_all = (
        int(n) for n in (is_top[0].sum(), is_top.any(axis=0).sum(), is_top.all(axis=0).sum())
    )
    fields = {"n_runs": len(is_top), "n_each": n_each, "n_any": n_any, "n_all": n_all}
    words = "top word" if n_each == 1 else "{n_each} top words"
    if n_any == n_each:
        return Message("top-words-same", f"All name the same {words}.", **fields)
    each = "1 top word" if n_each == 1 else words
    shared = "{n_all} of them are" if n_all > 1 else f"{'{n_all}' if n_all else 'none'} of them is"
    return Message(
        "top-words-counted",
        f"Each names {each}, and {_all(len(is_top))} together {{n_any}}; {shared} named by all.",
        **fields,
    )


def _all(n_runs: int) -> str:
    return "both" if n_runs == 2 else "all {n_runs}"


def _said(row: Mapping[str, Any], classes: Sequence[str]) -> Message:
    """What all runs answer, and how sure the least sure one is of it."""
    n_runs = len(row["predictions"])
    counts = Counter(row["predictions"]).most_common()
    if len(counts) == 1:
        start = f"{_all(n_runs).capitalize()} runs say “{{class_name}}”"
        fields: dict[str, object] = {"n_runs": n_runs, "class_name": classes[counts[0][0]]}
        if row["confidences"] is None:
            return Message("answer-of-all", f"{start}.", **fields)
        # Probabilities have 32 bits: 0.9 is a little less in them.
        least = math.floor(round(100 * min(row["confidences"]), 4))
        sure = "are at least {least_sure}\N{NO-BREAK SPACE}% sure"
        return Message("answer-of-all", f"{start} and {sure}.", **fields, least_sure=least)
    named = tuple((classes[index], n) for index, n in counts)
    n_others = sum(n for _, n in named[MAX_ANSWERS:])
    return Message(
        "answers-split", "{votes}.", votes=ShownVotes(n_runs, named[:MAX_ANSWERS], n_others)
    )


@dataclass(frozen=True)
class ShownVotes:
    """How many runs give which answer, as a list in words."""

    n_runs: int
    named: tuple[tuple[str, int], ...]
    n_others: int

    def __str__(self) -> str:
        (most, n_most), *others = self.named
        verb = "says" if n_most == 1 else "say"
        parts = [f"{n_most} of {self.n_runs} runs {verb} “{most}”"]
        parts += [f"{n} “{name}”" for name, n in others]
        return ", ".join([*parts, *([f"{self.n_others} something else"] if self.n_others else [])])
