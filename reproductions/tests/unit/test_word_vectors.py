import os

import numpy as np
import pytest
from seedproof_reproductions.datasets.vocabulary import MARKS, PADDING, Vocabulary
from seedproof_reproductions.word_vectors import embedding_matrix, find_vectors, read_npz, read_text

from seedproof.errors import UnknownNameError, UnreadableError

GLOVE = ["good 0.5 -1.0 2\n", "bad 1 2 3\n", "ugly 0 0 1\n"]


def test_glove_text_gives_the_words_that_are_wanted():
    """A line is a word and its numbers; other words are skipped."""
    found = read_text(GLOVE, ["good", "ugly", "missing"])

    assert sorted(found) == ["good", "ugly"]
    assert found["good"].tolist() == [0.5, -1.0, 2.0]


def test_fasttext_begins_with_two_counts_and_ends_lines_with_a_space():
    """The first line of a .vec file is no word."""
    lines = ["3 3\n", *(line.replace("\n", " \n") for line in GLOVE)]

    assert read_text(lines, ["bad", "3"])["bad"].tolist() == [1.0, 2.0, 3.0]
    assert "3" not in read_text(lines, ["bad", "3"])


@pytest.mark.parametrize(
    ("lines", "message"),
    [
        ([*GLOVE, "short 1 2\n"], "Line 4 has 2 numbers"),
        (["good 1 2\n", "bad x 2\n"], "Line 2 holds what is no number"),
        (["one\n"], "Line 1"),
    ],
)
def test_a_file_of_another_kind_is_refused(lines, message):
    """The message names the line."""
    with pytest.raises(UnreadableError, match=message):
        read_text(lines, ["bad", "short", "one"])


def test_npz_and_text_of_the_same_vectors_agree(tmp_path):
    """Half precision holds these numbers exactly."""
    words, rows = ["good", "bad"], np.array([[0.5, -1.0, 2.0], [1, 2, 3]], dtype=np.float16)
    np.savez(
        tmp_path / "v.npz",
        words=np.frombuffer("\n".join(words).encode(), dtype=np.uint8),
        vectors=rows,
    )
    (tmp_path / "v.txt").write_text("".join(GLOVE), encoding="utf-8")

    packed = find_vectors(str(tmp_path / "v.npz"), words)
    plain = find_vectors(str(tmp_path / "v.txt"), words)

    for word in words:
        np.testing.assert_array_equal(packed[word], plain[word])
        assert packed[word].dtype == np.float32


def test_npz_of_other_things_is_refused(tmp_path):
    """It must have words and vectors, as many of one as of the other."""
    np.savez(tmp_path / "a.npz", other=np.zeros(2))
    np.savez(
        tmp_path / "b.npz", words=np.frombuffer(b"one", dtype=np.uint8), vectors=np.zeros((2, 2))
    )

    with pytest.raises(UnreadableError, match="no words and vectors"):
        read_npz(tmp_path / "a.npz", ["one"])
    with pytest.raises(UnreadableError, match="1 words and 2 vectors"):
        read_npz(tmp_path / "b.npz", ["one"])


def test_unknown_vectors_are_refused():
    """Neither a known name nor a file."""
    with pytest.raises(UnknownNameError, match="glove-100d"):
        find_vectors("word2vec", ["good"])


def test_words_without_a_vector_are_drawn_alike_in_every_run():
    """Nothing but the vocabulary decides the matrix; padding is 0."""
    vocabulary = Vocabulary(["good", "rare", "bad", "odd"])
    vectors = read_text(GLOVE, ["good", "bad"])

    one, two = (embedding_matrix(vocabulary, vectors, n_dimensions=3) for _ in range(2))

    np.testing.assert_array_equal(one, two)
    assert one[len(MARKS)].tolist() == [0.5, -1.0, 2.0]
    assert one[len(MARKS) + 2].tolist() == [1.0, 2.0, 3.0]
    assert (one[PADDING] == 0).all()
    assert len({tuple(row) for row in one}) == len(vocabulary)


def test_drawn_vectors_spread_as_the_known_ones_do():
    """With 4000 numbers, the sd is met to 5 %: its own standard error is 1.1 %."""
    rng = np.random.default_rng(0)
    words = [f"w{i}" for i in range(100)]
    vectors = {word: rng.normal(0, 0.4, 40).astype(np.float32) for word in words[:50]}

    matrix = embedding_matrix(Vocabulary(words), vectors, n_dimensions=40)

    assert np.std(matrix[len(MARKS) + 50 :]) == pytest.approx(0.4, rel=0.05)


def test_a_mark_is_no_word():
    """A file may hold a row for `<unknown>`; the marks are drawn all the same."""
    vectors = {"<unknown>": np.ones(3, np.float32), "good": np.zeros(3, np.float32)}

    matrix = embedding_matrix(Vocabulary(["good"]), vectors, n_dimensions=3)

    assert not (matrix[MARKS.index("<unknown>")] == 1).all()


def test_vectors_of_another_size_are_refused():
    """The model's size and the file's must agree."""
    with pytest.raises(UnreadableError, match="300 numbers a word"):
        embedding_matrix(Vocabulary(["good"]), read_text(GLOVE, ["good"]), n_dimensions=300)


@pytest.mark.skipif("SEEDPROOF_DATA" not in os.environ, reason="SEEDPROOF_DATA is not set")
def test_the_real_subset_is_glove():
    """The first numbers of "the" in glove.6B.100d; half precision has three digits."""
    the = find_vectors("glove-100d", ["the"])["the"]

    np.testing.assert_allclose(
        the[:5], [-0.038194, -0.24487, 0.72812, -0.39961, 0.083172], rtol=1e-3
    )
    assert the.shape == (100,)
