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
from seedproof.metrics.explanations.family import PAPER_TOP
from seedproof.metrics.explanations.top_tokens import n_top, token_ranks
from seedproof.metrics.explanations.weights import token_weights
from seedproof.report.numbers import NO_BREAK
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
    OTHER_REASONS: "Of the examples on which all runs agree, the one with reasons farthest apart, "
    "in the mean over runs.",
    OTHER_ANSWERS: "Of the examples on which runs differ, the one with reasons farthest apart, in "
    "the mean over runs.",
    SAME_REASONS: "Of the examples on which all runs agree, the one with reasons closest, in the "
    "mean over runs.",
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
        caption: By which rule it was found, and what all runs make of it.
        rows: One for each of the first runs.
        is_cut: Whether only the first words are shown.
    """

    title: str
    example: str
    caption: str
    rows: tuple[HeatRow, ...]
    is_cut: bool


def heat_maps(found: ExplanationMeasurement, classes: Sequence[str]) -> tuple[HeatMap, ...]:
    """The texts that show what the figures of one method mean.

    Args:
        found: What was measured.
        classes: Names of the classes.

    Returns:
        At most one for each rule. They hold texts of examples.
    """
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
        caption=_caption(row, is_top, classes),
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


def _title(rule: str, is_top: BoolArray) -> str:
    """What the rule promises, if the top words bear it out."""
    answer = "Other answers" if rule == OTHER_ANSWERS else "Same answer"
    if (is_top == is_top[0]).all():
        return f"{answer}, same top words"
    return f"{answer}, {'closest' if rule == SAME_REASONS else 'other'} reasons"


def _caption(row: Mapping[str, Any], is_top: BoolArray, classes: Sequence[str]) -> str:
    n_tokens = is_top.shape[1]
    found = [RULES[row["rule"]], _said(row, classes), _named(is_top)]
    if n_tokens > MAX_TOKENS:
        found.append(f"The first {MAX_TOKENS} of {n_tokens} words are shown.")
    return " ".join(found)


def _named(is_top: BoolArray) -> str:
    """How many top words a run names, all runs name, and all runs share."""
    n_each, n_any, n_all = is_top[0].sum(), is_top.any(axis=0).sum(), is_top.all(axis=0).sum()
    words = "top word" if n_each == 1 else f"{n_each} top words"
    if n_any == n_each:
        return f"All name the same {words}."
    each = f"Each names {'1 ' if n_each == 1 else ''}{words}, and {_all(len(is_top))} together"
    verb = "are" if n_all > 1 else "is"
    return f"{each} {n_any}; {n_all or 'none'} of them {verb} named by all."


def _all(n_runs: int) -> str:
    return "both" if n_runs == 2 else f"all {n_runs}"


def _said(row: Mapping[str, Any], classes: Sequence[str]) -> str:
    """What all runs answer, and how sure the least sure one is of it."""
    n_runs = len(row["predictions"])
    counts = Counter(row["predictions"]).most_common()
    if len(counts) == 1:
        sure = ""
        if row["confidences"] is not None:
            # Probabilities have 32 bits: 0.9 is a little less in them.
            least = math.floor(round(100 * min(row["confidences"]), 4))
            sure = f" and are at least {least}{NO_BREAK}% sure"
        return f"{_all(n_runs).capitalize()} runs say “{classes[counts[0][0]]}”{sure}."
    (most, n_most), *others = counts
    verb = "says" if n_most == 1 else "say"
    found = [f"{n_most} of {n_runs} runs {verb} “{classes[most]}”"]
    found += [f"{n} “{classes[index]}”" for index, n in others[: MAX_ANSWERS - 1]]
    rest = sum(n for _, n in others[MAX_ANSWERS - 1 :])
    return ", ".join([*found, *([f"{rest} something else"] if rest else [])]) + "."
