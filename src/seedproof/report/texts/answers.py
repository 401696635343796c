"""The answers to one example: how often each is given, and how their texts differ."""

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from difflib import SequenceMatcher
from typing import Any

from seedproof.measurement.texts import CODES, TEXTS, answer_names
from seedproof.records.text_answers import USUAL
from seedproof.report.overview import Answer, Piece

MISSING_TEXT, OTHERS = "(no answer)", "others"
# Answers of an example that are listed one by one; the rest is counted.
MAX_ANSWERS = 5
# Longer texts are cut in the middle of the page.
MAX_WORDS = 60


@dataclass(frozen=True)
class GivenAnswer:
    """One of the answers to an example."""

    name: str  # "right", or a letter
    count: int  # runs that give it
    text: str | None  # as the first of them writes it; None if texts are not known


def given_answers(row: Mapping[str, Any]) -> list[GivenAnswer]:
    """Return the answers to one of the least stable examples, the most frequent first."""
    codes: Sequence[int] = row[CODES]
    texts: Sequence[str | None] = row.get(TEXTS) or [None] * len(codes)
    first: dict[int, str | None] = {}
    for code, text in zip(codes, texts, strict=True):
        first.setdefault(code, text)
    counts, names = Counter(codes), answer_names(codes)
    return [GivenAnswer(name, counts[code], first[code]) for code, name in names.items()]


def votes(answers: Sequence[GivenAnswer]) -> tuple[tuple[str, int], ...]:
    """Return how often each answer is given; rare ones together.

    >>> votes([GivenAnswer("right", 3, None), GivenAnswer("A", 1, None)])
    (('right', 3), ('A', 1))
    """
    listed = [(answer.name, answer.count) for answer in answers[:MAX_ANSWERS]]
    rest = sum(answer.count for answer in answers[MAX_ANSWERS:])
    return (*listed, (OTHERS, rest)) if rest else tuple(listed)


def shown_answers(answers: Sequence[GivenAnswer]) -> tuple[Answer, ...]:
    """Return the texts, each as its difference from the most frequent one."""
    first = _words(answers[0])
    return tuple(
        Answer(
            answer.name,
            answer.count,
            (Piece("", " ".join(first)),)
            if place == 0
            else tuple(difference(first, _words(answer))),
        )
        for place, answer in enumerate(answers[:MAX_ANSWERS])
    )


def _words(answer: GivenAnswer) -> list[str]:
    words = (answer.text or MISSING_TEXT).split() or [MISSING_TEXT]
    return words if len(words) <= MAX_WORDS else [*words[:MAX_WORDS], "…"]


def difference(first: Sequence[str], second: Sequence[str]) -> Iterator[Piece]:
    """Yield the words of a text: those of both, those of the first, those of the second alone.

    Case and punctuation are ignored, unless the words differ in nothing else.

    >>> [(x.mark, x.text) for x in difference(["in", "Paris"], ["In", "Rome."])]
    [('', 'In'), ('del', 'Paris'), ('ins', 'Rome.')]
    """
    forms, other_forms = ([USUAL.of(word) for word in words] for words in (first, second))
    matcher = SequenceMatcher(None, forms, other_forms, autojunk=False)
    if forms == other_forms:
        matcher.set_seqs(first, second)
    for operation, a, a_end, b, b_end in matcher.get_opcodes():
        if operation == "equal":
            yield Piece("", " ".join(second[b:b_end]))
            continue
        if a_end > a:
            yield Piece("del", " ".join(first[a:a_end]))
        if b_end > b:
            yield Piece("ins", " ".join(second[b:b_end]))


def as_line(answers: Sequence[Answer]) -> str:
    """Return texts in one line for a terminal: the first, then what others have in its place."""
    parts = []
    for answer in answers:
        signs = {"": "{}", "del": "[-{}-]", "ins": "{{+{}+}}"}
        pieces = (signs[piece.mark].format(piece.text) for piece in answer.pieces)
        parts.append(f"{answer.count}× {' '.join(pieces)}")
    return " | ".join(parts)
