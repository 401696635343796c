"""Ranked lists and sets in memory."""

import numpy as np
import pytest

import seedproof as sp
from seedproof.errors import (
    DtypeError,
    DuplicateExampleError,
    EmptyInputError,
    MissingValueError,
    OptionError,
    ProbabilityError,
    ShapeError,
    TooFewRunsError,
    UnknownLabelError,
)

LISTS = [[["b", "a"], ["c"]], [["a"], []]]


def named(loaded):
    """Return the items by name, (runs, examples)."""
    items = loaded.source.shard(0).items
    return [
        [[loaded.classes[item] for item in row if item >= 0] for row in of_run] for of_run in items
    ]


def right(loaded):
    """Return the right items of each example with their grades; None where unknown."""
    relevance = loaded.source.shard(0).relevance
    return [
        {loaded.classes[item]: grade for item, grade in zip(*row, strict=True) if item >= 0}
        if is_known
        else None
        for is_known, *row in zip(
            relevance.is_known, relevance.items, relevance.all_grades, strict=True
        )
    ]


def test_lists_keep_their_order_and_sets_do_not():
    rankings = sp.Predictions.load(LISTS, kind="rankings")
    sets = sp.Predictions.load(LISTS, kind="sets")

    assert (rankings.kind, named(rankings)) == ("rankings", LISTS)
    assert (sets.kind, named(sets)) == ("sets", [[["a", "b"], ["c"]], [["a"], []]])


def test_kind_follows_from_the_right_items():
    graded = sp.Predictions.load(LISTS, relevant=[{"a": 2, "z": 0}, None])
    gold = sp.Predictions.load(LISTS, labels=[["a"], []])

    assert (graded.kind, right(graded)) == ("rankings", [{"a": 2.0}, None])
    assert (gold.kind, right(gold)) == ("sets", [{"a": 1.0}, {}])


def test_integers_with_three_axes_are_rankings():
    values = np.array([[[5, 3], [7, -1]], [[3, 5], [5, 7]]])

    loaded = sp.Predictions.load(values, ids=[2, 1], relevant=np.array([[3, -1], [7, 5]]))

    assert (loaded.kind, loaded.classes) == ("rankings", ("3", "5", "7"))
    assert loaded.ids.to_pylist() == [1, 2]
    assert named(loaded) == [[["7"], ["5", "3"]], [["5", "7"], ["3", "5"]]]
    assert right(loaded) == [{"5": 1.0, "7": 1.0}, {"3": 1.0}]
    letters = sp.Predictions.load(values, classes=list("abcdefgh"))
    assert named(letters)[0] == [["f", "d"], ["h"]]
    texts = np.array(values, dtype=str)
    texts[texts == "-1"] = ""
    assert named(sp.Predictions.load(texts)) == named(sp.Predictions.load(values))


@pytest.mark.parametrize("form", ["bool", "int", "float"])
def test_flags_and_probabilities_are_sets(form):
    probs = np.array([[[0.5, 0.2, 0.9], [0.1, 0.4, 0.0]], [[1, 0, 0.6], [0, 0.7, 0]]])
    values = probs if form == "float" else (probs >= 0.5).astype(form)
    options = {"thresholds": 0.5} if form == "float" else {}

    loaded = sp.Predictions.load(values, classes=["z", "y", "x"], labels=probs[0] >= 0.5, **options)

    assert (loaded.kind, loaded.classes) == ("sets", ("x", "y", "z"))
    assert named(loaded) == [[["x", "z"], []], [["x", "z"], ["y"]]]
    assert right(loaded) == [{"x": 1.0, "z": 1.0}, {}]


def test_sets_of_python_need_no_kind():
    loaded = sp.Predictions.load({"x": [{"a", "b"}, set()], "y": [{"b"}, {"c"}]})

    assert (loaded.kind, loaded.runs) == ("sets", ("x", "y"))
    assert named(loaded) == [[["a", "b"], []], [["b"], ["c"]]]


@pytest.mark.parametrize("case", range(20))
def test_drawn_lists_stay_as_they_are(case):
    rng = np.random.default_rng(case)
    lists = [
        [rng.permutation(9)[: rng.integers(0, 5)].tolist() for _ in range(4)] for _ in range(3)
    ]
    keep = int(rng.integers(1, 5))

    loaded = sp.Predictions.load(lists, kind="rankings", keep=keep)

    expected = [[[str(item) for item in row[:keep]] for row in of_run] for of_run in lists]
    assert named(loaded) == expected


@pytest.mark.parametrize(
    ("values", "options", "error"),
    [
        (LISTS, {}, OptionError),
        (LISTS, {"kind": "lists"}, OptionError),
        ([[["a", "a"]], [["b"]]], {"kind": "rankings"}, DuplicateExampleError),
        ([[["a"], None], [["b"], ["a"]]], {"kind": "sets"}, MissingValueError),
        ([[["a"], "b"], [["b"], ["a"]]], {"kind": "sets"}, DtypeError),
        ([[["a", None]], [["b"]]], {"kind": "sets"}, UnknownLabelError),
        (LISTS, {"kind": "sets", "classes": ["a", "b"]}, UnknownLabelError),
        (LISTS, {"kind": "sets", "labels": [["a"]]}, ShapeError),
        ([LISTS[0], LISTS[1][:1]], {"kind": "sets"}, ShapeError),
        ([[], []], {"kind": "sets"}, EmptyInputError),
        (np.array([[[1, -1, 2]], [[1, 2, -1]]]), {}, MissingValueError),
        (np.array([[[1, 2]], [[3, 4]]]), {"classes": ["a", "b"]}, UnknownLabelError),
        (np.full((2, 3, 2), 0.3), {"labels": np.ones((3, 2))}, OptionError),
        (np.full((2, 3, 2), 1.3), {"thresholds": 0.5}, ProbabilityError),
        (np.full((2, 3, 2), 0.3), {"thresholds": [0.2, 0.5]}, OptionError),
        (np.ones((2, 3, 2), dtype=bool), {"classes": ["a"]}, ShapeError),
        (np.ones((2, 3), dtype=int), {"kind": "sets"}, ShapeError),
        # Gold classes of ranked lists would be ignored.
        (np.array([[[0], [2]], [[0], [1]]]), {"labels": [0, 1]}, OptionError),
        (np.full((2, 2, 1), "a"), {"labels": ["a", "b"]}, OptionError),
    ],
)
def test_wrong_input_is_refused(values, options, error):
    with pytest.raises(error):
        sp.Predictions.load(values, **options)


def test_one_run_is_too_few_to_measure():
    with pytest.raises(TooFewRunsError):
        sp.measure(LISTS[:1], kind="rankings")


def test_sigmoids_without_a_threshold_lead_to_sets():
    probs = np.full((2, 3, 4), 0.7)

    with pytest.raises(ProbabilityError):
        sp.measure(probs)
    assert sp.measure(probs, thresholds=0.5)["set_flips"].value == 0.0
