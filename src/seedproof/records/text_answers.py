"""Free texts as answers: which of them are the same answer."""

import re
import unicodedata
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

import numpy as np

from seedproof.typing import IntArray

# Digits in groups of three, a decimal part, and a sign that does not follow a letter or digit.
_NUMBER = re.compile(r"(?<![\w.])([-+]?)(\d{1,3}(?:,\d{3})+|\d+)(?:\.(\d+))?(?![\w])")
# In place of the marks of a number while punctuation is removed.
_MINUS, _POINT = "\ue000", "\ue001"


@dataclass(frozen=True)
class Normalization:
    """Differences between two texts that do not make them different answers.

    Args:
        case: Upper and lower case.
        spaces: Number and kind of spaces and line breaks, also at the ends.
        punctuation: Punctuation marks, except those inside numbers.
        numbers: Ways of writing a number: "1,000", "+1000.0" and "1000" are the same.

    Examples:
        >>> Normalization().of(" The answer: 1,000.50! ")
        'the answer 1000.5'
        >>> Normalization(case=False).of("The  answer")
        'The answer'
    """

    case: bool = True
    spaces: bool = True
    punctuation: bool = True
    numbers: bool = True

    def of(self, text: str) -> str:
        """Return the form in which equal answers are equal texts."""
        text = unicodedata.normalize("NFKC", text)
        if self.case:
            text = text.casefold()
        if self.numbers:
            text = _NUMBER.sub(_plain_number, text)
        if self.punctuation:
            text = "".join(" " if _is_punctuation(sign) else sign for sign in text)
        text = text.replace(_MINUS, "-").replace(_POINT, ".")
        return " ".join(text.split()) if self.spaces else text

    @property
    def ignored(self) -> tuple[str, ...]:
        """Names of the differences that do not count."""
        return tuple(name for name, is_ignored in vars(self).items() if is_ignored)


def _plain_number(match: re.Match[str]) -> str:
    sign, whole, decimals = match.groups()
    whole = whole.replace(",", "").lstrip("0") or "0"
    decimals = (decimals or "").rstrip("0")
    is_zero = whole == "0" and not decimals
    return (
        (_MINUS if sign == "-" and not is_zero else "")
        + whole
        + (_POINT + decimals if decimals else "")
    )


def _is_punctuation(sign: str) -> bool:
    return unicodedata.category(sign).startswith("P")


def answer_codes(
    answers: Sequence[Sequence[str | None]], references: Sequence[Iterable[str]] | None = None
) -> IntArray:
    """Return the same number for the same answers of an example, axes (runs, examples).

    0 is an answer that equals one of the example's references. Others count from 1 on, in the order
    in which they occur. A missing answer is an answer of its own.

    Args:
        answers: Texts of each run, normalized.
        references: Right answers of each example, normalized; there may be several, or none.

    Examples:
        >>> answer_codes([["a", "x"], ["b", "x"], ["a", "y"]], [{"b"}, set()]).tolist()
        [[1, 1], [0, 1], [1, 2]]
    """
    codes = np.empty((len(answers), len(answers[0])), dtype=np.int32)
    for example, given in enumerate(zip(*answers, strict=True)):
        known = dict.fromkeys(references[example], 0) if references is not None else {}
        n_wrong = 0
        for run, text in enumerate(given):
            key = "\0missing" if text is None else text
            if key not in known:
                n_wrong += 1
                known[key] = n_wrong
            codes[run, example] = known[key]
    return codes
