"""Pretrained word vectors: GloVe and fastText in text form, and our subset of GloVe."""

import zipfile
from collections.abc import Collection, Iterable, Mapping
from pathlib import Path

import numpy as np

from seedproof.errors import UnknownNameError, UnreadableError
from seedproof.typing import FloatArray
from seedproof_reproductions.datasets.files import local_file, public_file
from seedproof_reproductions.datasets.texts import MARKS, PADDING, Vocabulary

SUBSET = "word_vectors/glove6b_100d_subset_f16.npz"
# Words without a vector are drawn from this seed, whatever the run's: all runs share them.
FIXED_SEED = 20190


def find_vectors(name: str, words: Collection[str]) -> dict[str, FloatArray]:
    """Return the vectors of some words."""
    if name == "glove-100d":
        subset = local_file(SUBSET)
        if subset is not None:
            return read_npz(subset, words)
        archive = zipfile.ZipFile(public_file("word_vectors/glove.6B.zip"))
        with archive, archive.open("glove.6B.100d.txt") as lines:
            return read_text((line.decode() for line in lines), words)
    path = Path(name)
    if not path.is_file():
        raise UnknownNameError(
            "There are no word vectors {name!r}. Known: glove-100d; or give the path of an "
            ".npz, or of a text file of GloVe or fastText.",
            name=name,
        )
    if path.suffix == ".npz":
        return read_npz(path, words)
    with path.open(encoding="utf-8") as file:
        return read_text(file, words)


def read_text(lines: Iterable[str], words: Collection[str]) -> dict[str, FloatArray]:
    """Read vectors from the text form of GloVe or fastText: a word and its numbers per line.

    fastText has a line before them with two counts, which is skipped.
    """
    wanted = frozenset(words)
    vectors: dict[str, FloatArray] = {}
    size = 0
    for place, line in enumerate(lines):
        word, *numbers = line.rstrip("\n").rstrip(" ").split(" ")
        if place == 0 and len(numbers) == 1:
            continue
        size = size or len(numbers)
        if len(numbers) != size or size == 0:
            raise UnreadableError(
                "Line {line} has {n_numbers} numbers and others have {size}: this is not "
                "a file of word vectors as GloVe and fastText write them.",
                line=place + 1,
                n_numbers=len(numbers),
                size=size,
            )
        if word in wanted:
            try:
                vectors[word] = np.array(numbers, dtype=np.float32)
            except ValueError as error:
                raise UnreadableError(
                    "Line {line} contains non-numeric values.", line=place + 1
                ) from error
    return vectors


def read_npz(path: Path, words: Collection[str]) -> dict[str, FloatArray]:
    """Read vectors from an `.npz` with `words`, joined by newlines, and `vectors`."""
    wanted = frozenset(words)
    try:
        with np.load(path) as file:
            known = bytes(file["words"]).decode().split("\n")
            vectors = file["vectors"]
    except (KeyError, ValueError, OSError) as error:
        raise UnreadableError(
            "{path} does not hold words and vectors ({reason}).", path=path, reason=str(error)
        ) from error
    if len(known) != len(vectors):
        raise UnreadableError(
            "{path} has {n_words} words and {n_vectors} vectors.",
            path=path,
            n_words=len(known),
            n_vectors=len(vectors),
        )
    return {
        word: vectors[place].astype(np.float32)
        for place, word in enumerate(known)
        if word in wanted
    }


def embedding_matrix(
    vocabulary: Vocabulary, vectors: Mapping[str, FloatArray], *, n_dimensions: int
) -> FloatArray:
    """Return the first rows of an embedding, the same in every run.

    Words without a vector, and the marks, are drawn with the standard deviation of those that
    have one, from a fixed seed. Padding is 0.
    """
    sizes = {vector.shape for vector in vectors.values()} or {(n_dimensions,)}
    if sizes != {(n_dimensions,)}:
        raise UnreadableError(
            "The word vectors have the shapes {sizes}, and the model takes "
            "{n_dimensions} numbers per word.",
            sizes=sorted(sizes),
            n_dimensions=n_dimensions,
        )
    numbers = [i for i, word in enumerate(vocabulary.words) if word in vectors and i >= len(MARKS)]
    rows = [vectors[vocabulary.words[number]] for number in numbers]
    spread = float(np.std(rows)) if rows else 0.1
    rng = np.random.default_rng(FIXED_SEED)
    matrix = rng.normal(0.0, spread, (len(vocabulary), n_dimensions)).astype(np.float32)
    if rows:
        matrix[numbers] = rows
    matrix[PADDING] = 0.0
    return matrix
