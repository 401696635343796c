import os

import numpy as np
import pytest

from seedproof.errors import UnknownNameError, UnreadableError
from seedproof_reproductions.datasets.texts import MARKS, PADDING, Vocabulary
from seedproof_reproductions.word_vectors import embedding_matrix, find_vectors, read_npz, read_text

GLOVE = ["good 0.5 -1.0 2\n", "bad 1 2 3\n", "ugly 0 0 1\n"]


def test_npz_text_and_fasttext_of_the_same_vectors_agree(tmp_path):
    """These numbers are exact in half precision; a fastText file begins with two counts."""
    words, rows = ["good", "bad"], np.array([[0.5, -1.0, 2.0], [1, 2, 3]], dtype=np.float16)
    joined = np.frombuffer("\n".join(words).encode(), dtype=np.uint8)
    np.savez(tmp_path / "v.npz", words=joined, vectors=rows)
    (tmp_path / "v.txt").write_text("".join(GLOVE), encoding="utf-8")
    fasttext = "3 3\n" + "".join(line.replace("\n", " \n") for line in GLOVE)
    (tmp_path / "v.vec").write_text(fasttext, encoding="utf-8")

    for name in ("v.npz", "v.txt", "v.vec"):
        vectors = find_vectors(str(tmp_path / name), [*words, "3", "missing"])
        assert {word: row.tolist() for word, row in vectors.items()} == dict(
            zip(words, rows.tolist(), strict=True)
        )


def test_unknown_or_damaged_vectors_are_refused(tmp_path):
    """A wrong name or file, more vectors than words, other sizes, or missing numbers."""
    word = np.frombuffer(b"good", dtype=np.uint8)
    np.savez(tmp_path / "v.npz", words=word, vectors=np.zeros((2, 2)))

    with pytest.raises(UnknownNameError):
        find_vectors("word2vec", ["good"])
    with pytest.raises(UnreadableError):
        read_npz(tmp_path / "v.npz", ["good"])
    with pytest.raises(UnreadableError):
        embedding_matrix(Vocabulary(["good"]), read_text(GLOVE, ["good"]), n_dimensions=300)
    for lines in ([*GLOVE, "short 1 2\n"], ["a 1 2\n", "bad x 2\n"], ["bad\n"]):
        with pytest.raises(UnreadableError):
            read_text(lines, ["bad", "short"])


def test_words_without_a_vector_are_the_same_in_every_run():
    """Only the vocabulary determines the matrix; padding is 0."""
    vocabulary = Vocabulary(["good", "rare", "bad", "odd"])
    vectors = read_text(GLOVE, ["good", "bad"]) | {"<unknown>": np.ones(3, np.float32)}

    first, again = (embedding_matrix(vocabulary, vectors, n_dimensions=3) for _ in range(2))

    np.testing.assert_array_equal(first, again)
    assert first[len(MARKS)].tolist() == [0.5, -1.0, 2.0]
    assert first[len(MARKS) + 2].tolist() == [1.0, 2.0, 3.0]
    assert (first[PADDING] == 0).all()
    # A mark is not a word, even if a file has a row for it.
    assert not (first[MARKS.index("<unknown>")] == 1).all()
    assert len({tuple(row) for row in first}) == len(vocabulary)
    # Drawn rows have the spread of the known ones: of 30,000 numbers, to 5 %.
    many = Vocabulary(["good", "bad", *(f"w{i}" for i in range(10_000))])
    drawn = embedding_matrix(many, vectors, n_dimensions=3)[len(MARKS) + 2 :]
    assert np.std(drawn) == pytest.approx(np.std([vectors["good"], vectors["bad"]]), rel=0.05)


@pytest.mark.skipif("SEEDPROOF_DATA" not in os.environ, reason="SEEDPROOF_DATA is not set")
def test_real_subset_is_glove():
    """The first numbers of "the" in glove.6B.100d, with the three digits of half precision."""
    the = find_vectors("glove-100d", ["the"])["the"]

    np.testing.assert_allclose(the[:3], [-0.038194, -0.24487, 0.72812], rtol=1e-3)
    assert the.shape == (100,)
