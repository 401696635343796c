"""Free texts as answers: which of them are the same answer.

An answer is kept as a key: equal answers of an example have equal keys, in all runs and versions.
Metrics take codes, which number the answers of one example; see `codes_of`.
"""

import re
import unicodedata
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, fields
from hashlib import blake2b
from typing import TypeAlias

import numpy as np
import numpy.typing as npt

from seedproof.errors import OptionError
from seedproof.typing import BoolArray, IntArray

AnswerKeys: TypeAlias = npt.NDArray[np.uint64]

# Key and code of every right answer.
RIGHT = 0
# Key of a missing answer, which is an answer of its own.
MISSING = 1
# Digits in groups of three, a decimal part, and a sign that does not follow a letter or digit.
_NUMBER = re.compile(r"(?<![\w.])([-+]?)(\d{1,3}(?:,\d{3})+|\d+)(?:\.(\d+))?(?![\w])")
# In place of the marks of a number while punctuation is removed.
_MINUS, _POINT = "\ue000", "\ue001"


class _Blanks(dict[int, int]):
    """A space for each punctuation mark, every other sign as it is; filled as signs occur."""

    def __missing__(self, code: int) -> int:
        is_mark = unicodedata.category(chr(code)).startswith("P")
        self[code] = ord(" ") if is_mark else code
        return self[code]


_BLANKS = _Blanks()


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

    @classmethod
    def distinguishing(cls, differences: Iterable[str]) -> "Normalization":
        """Return a normalization to which these differences matter.

        >>> Normalization.distinguishing(["case"]).ignored
        ('spaces', 'punctuation', 'numbers')
        """
        known = tuple(field.name for field in fields(cls))
        for name in differences:
            if name not in known:
                raise OptionError(
                    "`{option}` has {name!r}, which is not one of: {known}. Pass some of these.",
                    option="distinguish",
                    name=name,
                    known=known,
                )
        return cls(**dict.fromkeys(differences, False))

    def of(self, text: str) -> str:
        """Return the form in which equal answers are equal texts."""
        text = unicodedata.normalize("NFKC", text)
        if self.case:
            text = text.casefold()
        if self.numbers:
            text = _NUMBER.sub(_plain_number, text)
        if self.punctuation:
            text = text.translate(_BLANKS)
        text = text.replace(_MINUS, "-").replace(_POINT, ".")
        return " ".join(text.split()) if self.spaces else text

    @property
    def ignored(self) -> tuple[str, ...]:
        """Names of the differences that do not count."""
        return tuple(name for name, is_ignored in vars(self).items() if is_ignored)


USUAL = Normalization()
# Only equal texts are equal.
VERBATIM = Normalization(case=False, spaces=False, punctuation=False, numbers=False)


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


def answer_keys(texts: Iterable[str | None], normalization: Normalization) -> AnswerKeys:
    """Return the same key for texts that are the same answer; `MISSING` where there is none.

    Keys are 64 bits of a digest. Only those of one example are ever compared, so that a chance
    of 1 in 10^19 that two different answers have the same key does not matter.
    """
    keys: dict[str | None, int] = {None: MISSING}
    places = []
    for text in texts:
        if text not in keys:
            keys[text] = _key(normalization.of(str(text)))
        places.append(keys[text])
    return np.array(places, dtype=np.uint64)


def _key(form: str) -> int:
    number = int.from_bytes(blake2b(form.encode(), digest_size=8).digest(), "little")
    return max(number, MISSING + 1)


def reference_keys(references: Sequence[Sequence[str]], normalization: Normalization) -> AnswerKeys:
    """Return keys of the right answers of each example, axes (examples, references).

    After the last reference of an example the rows have `RIGHT`, which is the key of no text.
    """
    counts = np.array([len(of_example) for of_example in references])
    flat = [text for of_example in references for text in of_example]
    keys = np.full((len(counts), int(counts.max(initial=1))), RIGHT, dtype=np.uint64)
    keys[np.arange(keys.shape[1]) < counts[:, np.newaxis]] = answer_keys(flat, normalization)
    return keys


def equal_any(keys: AnswerKeys, references: AnswerKeys) -> BoolArray:
    """Return which answers equal one of the references of their example, axes (runs, examples)."""
    return np.asarray((keys[..., np.newaxis] == references).any(axis=-1))


def codes_of(keys: AnswerKeys) -> IntArray:
    """Return the same number for the same answers of an example, axes (runs, examples).

    0 is a right answer, others count from 1 on. There are no more than the runs have answers.

    >>> codes_of(np.array([[7, 9], [0, 9], [7, 2]], dtype=np.uint64)).tolist()
    [[1, 2], [0, 2], [1, 1]]
    """
    order = np.argsort(keys, axis=0, kind="stable")
    ordered = np.take_along_axis(keys, order, axis=0)
    ranks = np.empty(keys.shape, dtype=np.int32)
    ranks[0] = ordered[0] != RIGHT
    ranks[1:] = ordered[1:] != ordered[:-1]
    codes = np.empty_like(ranks)
    np.put_along_axis(codes, order, ranks.cumsum(axis=0, dtype=np.int32), axis=0)
    return codes


def share_of_answer(is_true: BoolArray, keys: AnswerKeys) -> npt.NDArray[np.float64]:
    """Return the share of the rows with the same answer to an example for which a flag is set."""
    places = codes_of(keys) * keys.shape[1] + np.arange(keys.shape[1])
    counts = np.bincount(places.ravel())
    n_true = np.bincount(places.ravel(), is_true.ravel())
    return np.asarray(n_true[places] / counts[places])
