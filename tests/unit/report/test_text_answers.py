"""The answers to one example, as a report shows them."""

import pytest

import seedproof as sp
from seedproof.measurement.texts import CODES, TEXTS, answer_names
from seedproof.report.overview import Piece
from seedproof.report.texts.answers import as_line, difference, given_answers, shown_answers, votes
from seedproof.report.texts.sentences import limits

ROW = {CODES: [3, 0, 3, 1], TEXTS: ["in Rome", "in Paris", "In Rome!", None]}


def test_answers_are_named_by_their_number_of_runs():
    answers = given_answers(ROW)

    assert [(x.name, x.count, x.text) for x in answers] == [
        ("A", 2, "in Rome"),
        ("right", 1, "in Paris"),
        ("B", 1, None),
    ]
    assert answer_names(list(range(1, 30)))[27] == "A1"


def test_rare_answers_are_counted_together():
    row = {CODES: [1, 1, 2, 3, 4, 5, 6, 7]}

    assert votes(given_answers(row))[-2:] == (("E", 1), ("others", 2))


def test_texts_are_shown_as_their_difference_from_the_most_frequent():
    first, right, missing = shown_answers(given_answers(ROW))

    assert first.pieces == (Piece("", "in Rome"),)
    assert right.pieces == (Piece("", "in"), Piece("del", "Rome"), Piece("ins", "Paris"))
    assert [piece.mark for piece in missing.pieces] == ["del", "ins"]
    assert as_line([first, right]) == "2× in Rome | 1× in [-Rome-] {+Paris+}"


@pytest.mark.parametrize(
    ("first", "second", "marks"),
    [
        ("a b", "A b.", ["del", "ins"]),
        ("a b", "A c", ["", "del", "ins"]),
        ("a", "a b", ["", "ins"]),
    ],
)
def test_case_is_marked_only_if_nothing_else_differs(first, second, marks):
    pieces = list(difference(first.split(), second.split()))

    assert [piece.mark for piece in pieces] == marks


@pytest.mark.parametrize(
    ("references", "fields"),
    [
        (["a", None, None, "b"], {"n_unknown": 2, "n_examples": 4}),
        (["a", "b", "c", "d"], None),
    ],
)
def test_examples_without_a_reference_are_counted(references, fields):
    report = sp.measure([list("abcd"), list("abca")], references=references)

    unknown = [x for x in limits(report.measurement) if x.code == "right-answers-unknown"]

    assert [note.fields for note in unknown] == ([] if fields is None else [fields])
