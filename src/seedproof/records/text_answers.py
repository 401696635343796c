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
from seedproof.messages import Message
from seedproof.records.probabilities import UNLABELED
from seedproof.typing import BoolArray, FloatArray, IntArray

AnswerKeys: TypeAlias = npt.NDArray[np.uint64]

# Key and code of every right answer.
RIGHT = 0
# Key of a missing answer, which is an answer of its own.
MISSING = 1
# Digits in groups of three, a decimal part, and a sign that does not follow a letter or digit.
_NUMBER = re.compile(r"(?<![\w.])([-+]?)(\d{1,3}(?:,\d{3})+|\d+)(?:\.(\d+))?(?![\w])")
# An answer is right if more than this share of its rows is marked as right.
MAJORITY = 0.5
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


@dataclass(frozen=True, eq=False)
class TextAnswers:
    """Answers of all runs to the same examples, and how it is decided which are the same."""

    texts: np.ndarray  # str, or None where missing; axes (runs, examples)
    # Names of the answers with the same meaning, the same axes; None if equal texts decide.
    equivalent: np.ndarray | None = None
    references: Sequence[Sequence[str]] | None = None  # right answers of each example
    correct: FloatArray | None = None  # 1 if right, 0 if wrong, NaN if unknown; (runs, examples)

    def keys(self, normalization: Normalization) -> AnswerKeys:
        """Return a key for each answer: `RIGHT` for all that are right."""
        keys = self._keys(self.texts, normalization)
        of_texts = keys
        if self.equivalent is not None:
            # Texts decide where no meaning is given.
            named = self._keys(self.equivalent, VERBATIM)
            keys = np.where(named == MISSING, keys, named)
        is_right = np.zeros(keys.shape, dtype=np.bool_)
        if self.correct is not None:
            is_right = share_of_answer(self.correct == 1.0, keys) > MAJORITY
        elif self.references is not None:
            right = reference_keys(self.references, normalization)
            is_right = equal_any(of_texts, right)
            if self.equivalent is not None:
                is_right |= equal_any(self._keys(self.equivalent, normalization), right)
                # An answer that means the same as a right one is right.
                is_right = share_of_answer(is_right, keys) > 0.0
        return np.where(is_right & self.is_known, np.uint64(RIGHT), keys)

    @property
    def is_known(self) -> BoolArray:
        """True for each example whose right answers are known: (examples)."""
        if self.correct is not None:
            return np.asarray(~np.isnan(self.correct).any(axis=0))
        if self.references is not None:
            return np.array([bool(of_example) for of_example in self.references], dtype=np.bool_)
        return np.zeros(self.texts.shape[1], dtype=np.bool_)

    @property
    def right(self) -> Sequence[Sequence[str]]:
        """References of each example; none where they are unknown."""
        return [()] * self.texts.shape[1] if self.references is None else self.references

    @property
    def labels(self) -> IntArray:
        """Codes of the right answers: `RIGHT`, or -1 where they are unknown."""
        return np.where(self.is_known, RIGHT, UNLABELED)

    def examples(self, chosen: slice | IntArray) -> "TextAnswers":
        """Return the answers to some of the examples."""
        places, right = np.arange(self.texts.shape[1])[chosen].tolist(), self.references
        return TextAnswers(
            self.texts[:, chosen],
            None if self.equivalent is None else self.equivalent[:, chosen],
            None if right is None else [right[place] for place in places],
            None if self.correct is None else self.correct[:, chosen],
        )

    def runs(self, chosen: Sequence[int]) -> "TextAnswers":
        """Return the answers of some of the runs, in this order."""
        order = list(chosen)
        return TextAnswers(
            self.texts[order],
            None if self.equivalent is None else self.equivalent[order],
            self.references,
            None if self.correct is None else self.correct[order],
        )

    @staticmethod
    def joined(parts: Sequence["TextAnswers"], *, axis: int) -> "TextAnswers":
        """Concatenate the answers of several runs (0), or to several examples (1)."""
        right = parts[0].references
        if axis == 1 and right is not None:
            right = [of_example for part in parts for of_example in part.right]
        return TextAnswers(
            np.concatenate([part.texts for part in parts], axis=axis),
            _joined([(part.equivalent, part.texts.shape) for part in parts], None, axis),
            right,
            _joined([(part.correct, part.texts.shape) for part in parts], np.nan, axis),
        )

    def notes(self, normalization: Normalization) -> list[Message]:
        """Return how answers are compared, and remarks on missing and contradictory ones."""
        notes = [comparison_note(normalization, has_meanings=self.equivalent is not None)]
        n_missing = int(sum(text is None for text in self.texts.flat))
        if n_missing:
            notes.append(missing_note(n_missing, self.texts.size))
        if self.correct is not None:
            shares = share_of_answer(self.correct == 1.0, self._own_keys(normalization))
            is_split = ((shares > 0.0) & (shares < 1.0)).any(axis=0)
            n_split = int((is_split & self.is_known).sum())
            if n_split:
                notes.append(
                    Message(
                        "answers-judged-both-ways",
                        "On {n_examples:,} examples the same answer is marked as right in some "
                        "rows and as wrong in others; the majority decides.",
                        n_examples=n_split,
                    )
                )
        return notes

    def _own_keys(self, normalization: Normalization) -> AnswerKeys:
        """Return a key for each answer, right or not."""
        return TextAnswers(self.texts, self.equivalent).keys(normalization)

    def _keys(self, texts: np.ndarray, normalization: Normalization) -> AnswerKeys:
        return answer_keys(texts.ravel().tolist(), normalization).reshape(texts.shape)


def _joined(
    parts: Sequence[tuple[np.ndarray | None, tuple[int, ...]]], fill: float | None, axis: int
) -> np.ndarray | None:
    """Concatenate arrays, each given with its shape, filled where some are missing."""
    if all(array is None for array, _ in parts):
        return None
    arrays = [np.full(shape, fill) if array is None else array for array, shape in parts]
    return np.concatenate(arrays, axis=axis)


def missing_note(n_missing: int, n_answers: int) -> Message:
    """Return the note on answers that are missing."""
    return Message(
        "answers-missing",
        "{n_missing:,} of {n_answers:,} answers are empty; they are the same answer.",
        n_missing=n_missing,
        n_answers=n_answers,
    )


def comparison_note(normalization: Normalization, *, has_meanings: bool) -> Message:
    """Return the note on how it is decided which answers are the same."""
    if has_meanings:
        return Message(
            "answers-by-meaning",
            "Answers are the same if the column for equivalent answers says so, whatever their "
            "texts.",
        )
    if not normalization.ignored:
        return Message("answers-verbatim", "Answers are the same only if their texts are equal.")
    return Message(
        "answers-normalized",
        "Answers are the same if their texts are equal apart from {ignored}; --distinguish makes "
        "some of these count.",
        ignored=in_words([_WORDS[name] for name in normalization.ignored]),
        differences=normalization.ignored,
    )


def in_words(names: Sequence[str]) -> str:
    """Return names as a list in a sentence.

    >>> in_words(["case", "spaces", "numbers"])
    'case, spaces and numbers'
    """
    *others, last = names
    return f"{', '.join(others)} and {last}" if others else last


_WORDS = {
    "case": "case",
    "spaces": "spaces",
    "punctuation": "punctuation",
    "numbers": "the way numbers are written",
}
