"""Columns, row groups, digests and versions of a record."""

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp

from seedproof.errors import SchemaVersionError
from seedproof.records.arrow import texts_to_arrow
from seedproof.records.schema import (
    GROUP_BYTES,
    MAX_GROUP_ROWS,
    VALUE_COLUMNS,
    Kind,
    Layout,
    check_version,
    digest,
    floats_from_binary,
    ids_digest,
    integers_from_binary,
    labels_digest,
    need_double,
    probs_from_binary,
    references_digest,
    texts_digest,
    version_text,
)
from seedproof.records.text_records import reference_lists
from seedproof.testing.errors import WithFields

TEN = tuple(map(str, range(10)))


@pytest.mark.parametrize(
    ("layout", "rows"),
    [
        (Layout(Kind.PROBS, TEN), GROUP_BYTES // 40),
        (Layout(Kind.PROBS, tuple(map(str, range(150)))), GROUP_BYTES // 600),
        (Layout(Kind.TOP, TEN, n_top=5), GROUP_BYTES // 40),
        (Layout(Kind.LABELS, TEN), MAX_GROUP_ROWS),
        (Layout(Kind.NUMBERS, (), double=True), MAX_GROUP_ROWS),
        (Layout(Kind.PROBS, tuple(map(str, range(2_000_000)))), 1),
    ],
    ids=["ten-classes", "many-classes", "top-five", "labels-are-capped", "numbers", "one-row"],
)
def test_groups_hold_about_four_megabytes(layout, rows):
    """Rows of a group follow from the width of a row alone."""
    assert layout.rows_per_group == rows


@pytest.mark.parametrize(
    ("layout", "columns"),
    [
        (Layout(Kind.PROBS, TEN), {"probs": pa.binary(40)}),
        (
            Layout(Kind.TOP, TEN, n_top=3),
            {"top_classes": pa.binary(12), "top_probs": pa.binary(12)},
        ),
        (Layout(Kind.LABELS, TEN), {}),
    ],
    ids=["probs", "top", "labels"],
)
def test_each_kind_has_its_own_value_columns(layout, columns):
    """Each has the predicted class; values are never null, the label may be."""
    schema = layout.arrow()

    assert schema.names == ["example", "label", *columns, "prediction"]
    assert VALUE_COLUMNS[layout.kind] == (tuple(columns) or ("prediction",))
    for name, kind in {**columns, "prediction": pa.int32()}.items():
        assert schema.field(name).type == kind
        assert not schema.field(name).nullable
    assert schema.field("label").nullable
    assert schema.field("example").type == pa.int64()


@pytest.mark.parametrize("double", [False, True])
def test_numbers_have_targets_in_place_of_labels(double):
    schema = Layout(Kind.NUMBERS, (), double=double).arrow()

    assert schema.names == ["example", "target", *VALUE_COLUMNS[Kind.NUMBERS]]
    assert schema.field("value").type == (pa.float64() if double else pa.float32())
    assert not schema.field("value").nullable
    assert schema.field("target").type == pa.float64()
    assert schema.field("target").nullable


@pytest.mark.parametrize(
    ("numbers", "expected"),
    [([0, 1, -0.5], False), ([2**24, 0.25], False), ([0.1], True), ([2**24 + 1], True), ([1e300], True)],
)  # fmt: skip
def test_double_precision_is_used_where_single_would_change_a_number(numbers, expected):
    assert need_double(np.array(numbers, dtype=np.float64)) is expected


def test_extras_follow_under_a_prefix():
    """A user's column named like one of ours stays apart from it."""
    layout = Layout(Kind.LABELS, TEN, text_ids=True, extras=(("label", pa.float64()),))

    schema = layout.arrow()

    assert schema.field("example").type == pa.string()
    assert schema.field("extra.label").type == pa.float64()


@given(
    hnp.arrays(
        np.float32,
        st.tuples(st.integers(0, 7), st.integers(2, 5)),
        elements=st.floats(0, 1, width=32),
    )
)
def test_probabilities_survive_as_bytes(probs):
    """Fixed-size binary keeps every bit."""
    layout = Layout(Kind.PROBS, tuple(map(str, range(probs.shape[1]))))
    ids, labels = pa.array(range(len(probs)), pa.int64()), np.zeros(len(probs), dtype=np.int32)
    table = layout.table(ids, labels, probs)

    assert floats_from_binary(table.column("probs")).tobytes() == probs.tobytes()


def test_values_survive_slices_and_chunks():
    """A reader may get a column in several chunks, each a slice of something larger."""
    probs = np.linspace(0, 1, 40, dtype=np.float32).reshape(10, 4)
    classes = np.arange(40, dtype=np.int32).reshape(10, 4)
    layout = Layout(Kind.TOP, TEN, n_top=4)
    table = layout.table(pa.array(range(10)), np.zeros(10, dtype=np.int32), (classes, probs))

    pieces = pa.concat_tables([table.slice(2, 3), table.slice(7, 2)])

    chosen = [2, 3, 4, 7, 8]
    np.testing.assert_array_equal(floats_from_binary(pieces.column("top_probs")), probs[chosen])
    np.testing.assert_array_equal(
        integers_from_binary(pieces.column("top_classes")), classes[chosen]
    )


def test_unknown_labels_are_null():
    """-1 marks an unknown label."""
    layout = Layout(Kind.LABELS, TEN)

    table = layout.table(pa.array([1, 2]), np.array([-1, 3]), np.array([0, 0]))

    assert table.column("label").to_pylist() == [None, 3]


@given(st.lists(st.text(max_size=5), min_size=1, max_size=8), st.integers(0, 3))
def test_digest_of_ids_does_not_depend_on_where_they_are_kept(ids, skipped):
    """A slice of a longer array has the digest of its own rows."""
    whole = pa.array(["before"] * skipped + ids + ["after"])

    assert ids_digest(whole.slice(skipped, len(ids))) == ids_digest(pa.array(ids))


@pytest.mark.parametrize(
    ("ids", "others"),
    [([1, 2, 3], [1, 3, 2]), (["a", "bc"], ["ab", "c"]), ([""], ["", ""])],
    ids=["order", "boundaries", "empty-texts"],
)
def test_digest_of_ids_depends_on_values_order_and_boundaries(ids, others):
    """Some of these have the same bytes."""
    assert ids_digest(pa.array(ids)) != ids_digest(pa.array(others))


def test_digest_of_integer_ids_does_not_depend_on_their_width():
    """The digest is of 64-bit integers."""
    expected = digest(np.array([1, 2, 3], dtype="<i8").tobytes())

    assert (
        ids_digest(pa.array([1, 2, 3])) == ids_digest(pa.array([1, 2, 3], pa.int32())) == expected
    )


def test_digest_of_labels_depends_on_each_label():
    """An unknown label is not the first class."""
    assert labels_digest(np.array([0, 1])) == labels_digest(np.array([0, 1], dtype=np.int8))
    assert labels_digest(np.array([0, 1])) != labels_digest(np.array([-1, 1]))


def test_digest_has_sixteen_bytes():
    """BLAKE2b, as the page about the format says."""
    assert digest(b"") == "cae66941d9efbd404e4d88758ea67670"


def test_own_and_older_minor_versions_are_accepted(monkeypatch):
    """A later 1.x reads every earlier one."""
    check_version(version_text(), "here")
    monkeypatch.setattr("seedproof.records.schema.SCHEMA_VERSION", (1, 9))
    for text in ("1.0", "1.3", "1.6"):
        check_version(text, "here")


@pytest.mark.parametrize(
    "text", ["1.7", "2.0", "0.9", "1", "1.0.0", "one", "", None, 1.0e9, "1.-1"]
)
def test_other_versions_are_refused(text):
    """Newer, of another major number, or not a version at all."""
    with pytest.raises(SchemaVersionError, check=WithFields(path="store/run.json", newest="1.6")):
        check_version(text, "store/run.json")


def test_half_precision_is_widened_exactly():
    """Also below 6e-5, where half precision has numbers of fewer digits."""
    few = [0.0, 6e-8, 1e-7, 3e-5, 6.1e-5, 0.1, 0.5, 1.0]
    kept = np.array(few, dtype=np.float16).reshape(4, 2)
    layout = Layout(Kind.PROBS, ("no", "yes"), half=True)
    rows = layout.table(pa.array(range(4)), np.zeros(4, dtype=int), kept)

    probs = probs_from_binary(rows.column("probs"), 2)

    assert probs.dtype == np.float32
    np.testing.assert_array_equal(probs, kept.astype(np.float32))


def test_texts_have_references_in_place_of_labels():
    """A text may be missing, and meanings and marks are there only if they were given."""
    schema = Layout(Kind.TEXTS, (), by_meaning=True, judged=True).arrow()

    assert schema.names == ["example", "reference", *VALUE_COLUMNS[Kind.TEXTS]]
    assert schema.field("text").nullable
    assert Layout(Kind.TEXTS, ()).arrow().names == ["example", "reference", "text"]


def test_digest_of_texts_depends_on_where_they_end_and_are_missing():
    columns = [["ab", "c"], ["a", "bc"], ["", "abc"], [None, "abc"], ["abc", None], ["abc"]]

    digests = {texts_digest(texts_to_arrow(column)) for column in columns}

    assert len(digests) == len(columns)


def test_digest_of_references_depends_on_their_examples():
    columns = [
        [("a", "b"), ()],
        [("a",), ("b",)],
        [(), ("a", "b")],
        [("ab",), ()],
        [("a", ""), ("b",)],
    ]

    digests = {references_digest(reference_lists(column)) for column in columns}

    assert len(digests) == len(columns)
    whole = reference_lists([("x",), *columns[0]])
    assert references_digest(whole[1:]) == references_digest(reference_lists(columns[0]))
