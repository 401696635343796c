"""Pretrained word vectors: GloVe and fastText in text form, and our subset of GloVe."""

import zipfile
from collections.abc import Collection, Iterable, Mapping
from pathlib import Path

import numpy as np

from seedproof.errors import UnknownNameError, UnreadableError
from seedproof.typing import FloatArray
from seedproof_reproductions.datasets.cache import Source, fetch, local_file
from seedproof_reproductions.datasets.vocabulary import MARKS, PADDING, Vocabulary

SUBSET = "word_vectors/glove6b_100d_subset_f16.npz"
GLOVE = Source(
    "https://nlp.stanford.edu/data/glove.6B.zip",
    "sha256:617afb2fe6cbd085c235baf7a465b96f4112bd7f7ccb2b2cbd649fed9cbcf2fb",
)
# Words without a vector are drawn from this seed, whatever the run's: all runs share them.
FIXED_SEED = 20190


def read_text(lines: Iterable[str], words: Collection[str]) -> dict[str, FloatArray]:
    """The vectors of some words from the text form of GloVe or fastText.

    Each line is a word and its numbers. fastText has a line before them with two counts, which
    is skipped.

    Args:
        lines: An open file.
        words: Which words; all others are skipped.

    Returns:
        A vector for each word that was found.

    Raises:
        UnreadableError: A line is too short, or two vectors differ in size.
    """
    wanted = frozenset(words)
    found: dict[str, FloatArray] = {}
    size = 0
    for place, line in enumerate(lines):
        word, *numbers = line.rstrip("\n").rstrip(" ").split(" ")
        if place == 0 and len(numbers) == 1:
            continue
        size = size or len(numbers)
        if len(numbers) != size or size == 0:
            raise UnreadableError(
                f"Line {place + 1} has {len(numbers)} numbers and others have {size}: this is no "
                "file of word vectors as GloVe and fastText write them."
            )
        if word in wanted:
            try:
                found[word] = np.array(numbers, dtype=np.float32)
            except ValueError as error:
                raise UnreadableError(f"Line {place + 1} holds what is no number.") from error
    return found


def read_npz(path: Path, words: Collection[str]) -> dict[str, FloatArray]:
    """The vectors of some words from an `.npz` with `words`, joined by newlines, and `vectors`.

    Args:
        path: The file.
        words: Which words; all others are skipped.

    Returns:
        A vector for each word that was found.

    Raises:
        UnreadableError: It holds something else.
    """
    wanted = frozenset(words)
    try:
        with np.load(path) as file:
            known = bytes(file["words"]).decode().split("\n")
            vectors = file["vectors"]
    except (KeyError, ValueError, OSError) as error:
        raise UnreadableError(f"{path} holds no words and vectors ({error}).") from error
    if len(known) != len(vectors):
        raise UnreadableError(f"{path} has {len(known)} words and {len(vectors)} vectors.")
    return {
        word: vectors[place].astype(np.float32)
        for place, word in enumerate(known)
        if word in wanted
    }


def find_vectors(name: str, words: Collection[str]) -> dict[str, FloatArray]:
    """The vectors of some words by the name of a published set.

    Args:
        name: `glove-100d`; or the path of a file of your own, `.npz`, `.txt` or `.vec`.
        words: Which words.

    Returns:
        A vector for each word that was found.

    Raises:
        UnknownNameError: There is no such set and no such file.
    """
    if name == "glove-100d":
        return _glove(words)
    path = Path(name)
    if not path.is_file():
        raise UnknownNameError(
            f"There are no word vectors {name!r}. Known: glove-100d; or give the path of an "
            ".npz, or of a text file of GloVe or fastText."
        )
    if path.suffix == ".npz":
        return read_npz(path, words)
    with path.open(encoding="utf-8") as file:
        return read_text(file, words)


def _glove(words: Collection[str]) -> dict[str, FloatArray]:
    subset = local_file(SUBSET)
    if subset is not None:
        return read_npz(subset, words)
    archive = zipfile.ZipFile(fetch(GLOVE, folder="word_vectors"))
    with archive, archive.open("glove.6B.100d.txt") as file:
        return read_text((line.decode() for line in file), words)


def embedding_matrix(
    vocabulary: Vocabulary, vectors: Mapping[str, FloatArray], *, n_dimensions: int
) -> FloatArray:
    """The rows that an embedding begins with, the same in every run.

    Words without a vector, and the marks, are drawn with the standard deviation of those that
    have one, from a fixed seed. Padding is 0.

    Args:
        vocabulary: The words that the model knows.
        vectors: Those that are pretrained.
        n_dimensions: Numbers a word, where no word has a vector.

    Returns:
        Axes (words, dimensions).

    Raises:
        UnreadableError: The vectors have another size.
    """
    sizes = {vector.shape for vector in vectors.values()} or {(n_dimensions,)}
    if sizes != {(n_dimensions,)}:
        raise UnreadableError(
            f"The word vectors have the shapes {sorted(sizes)}, and the model takes "
            f"{n_dimensions} numbers a word."
        )
    known = [(number, word) for number, word in enumerate(vocabulary.words) if word in vectors]
    known = [(number, word) for number, word in known if number >= len(MARKS)]
    rows = [vectors[word] for _, word in known]
    spread = float(np.std(rows)) if rows else 0.1
    rng = np.random.default_rng(FIXED_SEED)
    matrix = rng.normal(0.0, spread, (len(vocabulary), n_dimensions)).astype(np.float32)
    if rows:
        matrix[[number for number, _ in known]] = rows
    matrix[PADDING] = 0.0
    return matrix
