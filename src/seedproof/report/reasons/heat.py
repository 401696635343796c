"""The same text, explained by several runs: each word with its share of the whole."""

import math
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import pyarrow.compute as pc

from seedproof.measurement.explanations.result import ExplanationMeasurement
from seedproof.measurement.explanations.telling import OTHER_ANSWERS, OTHER_REASONS, SAME_REASONS
from seedproof.messages import Message
from seedproof.metrics.explanations.family import PAPER_TOP
from seedproof.metrics.explanations.top_tokens import n_top, token_ranks
from seedproof.metrics.explanations.weights import token_weights
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
RULES = {
    OTHER_REASONS: Message(
        "agreed-and-farthest-apart",
        "Of the examples on which all runs agree, the one with reasons farthest apart, in the mean "
        "over runs.",
    ),
    OTHER_ANSWERS: Message(
        "disagreed-and-farthest-apart",
        "Of the examples on which runs differ, the one with reasons farthest apart, in the mean "
        "over runs.",
    ),
    SAME_REASONS: Message(
        "agreed-and-closest",
        "Of the examples on which all runs agree, the one with reasons closest, in the mean over "
        "runs.",
    ),
}


@dataclass(frozen=True)
class Word:
    """One token as one run weighs it.

    Args:
        text: The token.
        times: Its share of all magnitudes, times the number of tokens: 1 is an even share.
        step: How dark it is, from 0 for up to an even share to 4.
        is_top: Whether it is among the run's top 20 %.
    """

    text: str
    times: float
    step: int
    is_top: bool


@dataclass(frozen=True)
class HeatRow:
    """One run's view of a text.

    Args:
        run: Name of the run.
        words: The first tokens of the text.
        top_words: All its top tokens, in the order of the text.
        answer: What the run predicts, and how surely if that is known.
    """

    run: str
    words: tuple[Word, ...]
    top_words: tuple[str, ...]
    answer: str


@dataclass(frozen=True)
class HeatMap:
    """A text that was found by rule, as the first runs explain it.

    Args:
        title: What it is an example of.
        example: Its id.
        captions: By which rule it was found, and what all runs make of it.
        rows: One for each of the first runs.
        is_cut: Whether only the first words are shown.
    """

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
    magnitudes = np.abs(np.array(row["scores"], dtype=np.float64))
    times = token_weights(magnitudes) * magnitudes.shape[1]
    is_top = token_ranks(magnitudes) < n_top(magnitudes.shape[1], PAPER_TOP)
    answers = _answers(row, classes)
    return HeatMap(
        title=_title(row["rule"], is_top),
        example=row["example"],
        captions=_captions(row, is_top, classes),
        rows=tuple(
            HeatRow(
                run=run,
                words=tuple(
                    Word(text, round(float(x), 2), _step(x), bool(top))
                    for text, x, top in zip(
                        row["tokens"][:MAX_TOKENS], times[i], is_top[i], strict=False
                    )
                ),
                top_words=tuple(
                    text for text, top in zip(row["tokens"], is_top[i], strict=True) if top
                ),
                answer=answers[i],
            )
            for i, run in enumerate(runs[:MAX_RUNS])
        ),
        is_cut=len(row["tokens"]) > MAX_TOKENS,
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
    is_split = rule == OTHER_ANSWERS
    answer = "Other answers" if is_split else "Same answer"
    if (is_top == is_top[0]).all():
        kind, reasons = "same-top-words", "same top words"
    elif rule == SAME_REASONS:
        kind, reasons = "closest-reasons", "closest reasons"
    else:
        kind, reasons = "other-reasons", "other reasons"
    start = "other-answers" if is_split else "same-answer"
    return Message(f"{start}-{kind}", "{answer}, {reasons}", answer=answer, reasons=reasons)


def _captions(
    row: Mapping[str, Any], is_top: BoolArray, classes: Sequence[str]
) -> tuple[Message, ...]:
    n_tokens = is_top.shape[1]
    messages = [RULES[row["rule"]], _said(row, classes), _named(is_top)]
    if n_tokens > MAX_TOKENS:
        messages.append(
            Message(
                "words-left-out",
                "The first {n_shown} of {n_tokens} words are shown.",
                n_shown=MAX_TOKENS,
                n_tokens=n_tokens,
            )
        )
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
    named = [(classes[index], n) for index, n in counts]
    return Message(
        "answers-split",
        "{votes}.",
        votes=ShownVotes(
            n_runs, tuple(named[:MAX_ANSWERS]), sum(n for _, n in named[MAX_ANSWERS:])
        ),
    )


@dataclass(frozen=True)
class ShownVotes:
    """How many runs give which answer, as a list in words.

    Args:
        n_runs: How many runs there are.
        named: The most frequent answers, and how many runs give them.
        n_others: How many runs give another one.
    """

    n_runs: int
    named: tuple[tuple[str, int], ...]
    n_others: int

    def __str__(self) -> str:
        (most, n_most), *others = self.named
        verb = "says" if n_most == 1 else "say"
        parts = [f"{n_most} of {self.n_runs} runs {verb} “{most}”"]
        parts += [f"{n} “{name}”" for name, n in others]
        return ", ".join([*parts, *([f"{self.n_others} something else"] if self.n_others else [])])
