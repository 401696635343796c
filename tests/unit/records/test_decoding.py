"""Untrusted JSON: limits of what is parsed, and classes by their annotations."""

import json
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field
from enum import StrEnum
from typing import Any, Literal, NamedTuple

import pytest
from hypothesis import given
from hypothesis import strategies as st

from seedproof.errors import OptionError
from seedproof.records import decoding
from seedproof.records.decoding import DecodingError, decode, parse_json
from seedproof.records.manifest import RunManifest, StudyPlan


class Color(StrEnum):
    RED = "red"


class Pair(NamedTuple):
    left: int
    right: str = "none"


@dataclass(frozen=True)
class Part:
    size: int

    def __post_init__(self) -> None:
        if self.size < 0:
            raise OptionError("{size} is below 0.", size=self.size)


@dataclass(frozen=True)
class Whole:
    name: str
    share: float
    is_new: bool
    kind: Literal["a", "b"]
    color: Color
    pair: Pair
    ends: tuple[int, int]
    parts: tuple[Part, ...] = ()
    words: Sequence[str] = ()
    counts: Mapping[str, int] = field(default_factory=dict)
    rest: Any = None
    limit: float | None = None
    grid: list[list[int]] = field(default_factory=list)


GOOD: dict[str, Any] = {
    "name": "x",
    "share": 0.5,
    "is_new": True,
    "kind": "a",
    "color": "red",
    "pair": [1],
    "ends": [0, 1],
    "parts": [{"size": 1}, {"size": 2}],
    "words": ["a"],
    "counts": {"n": 3},
    "rest": {"any": [None]},
    "limit": None,
    "grid": [[1], []],
}


def test_annotations_decide_the_types():
    whole = decode(Whole, GOOD)

    assert whole.parts == (Part(1), Part(2))
    assert whole.pair == Pair(1)
    assert whole.color is Color.RED
    assert (whole.words, whole.ends, whole.grid) == (("a",), (0, 1), [[1], []])
    assert json.loads(json.dumps(asdict(whole)))["counts"] == {"n": 3}


@pytest.mark.parametrize(
    ("change", "where"),
    [
        ({"name": 3}, "name"),
        ({"name": None}, "name"),
        ({"share": "0.5"}, "share"),
        ({"share": True}, "share"),
        ({"share": float("inf")}, "share"),
        ({"share": 10**400}, "share"),
        ({"is_new": 1}, "is_new"),
        ({"kind": "c"}, "kind"),
        ({"kind": ["a"]}, "kind"),
        ({"color": "blue"}, "color"),
        ({"pair": []}, "pair"),
        ({"pair": [1, "a", 2]}, "pair"),
        ({"pair": [1, 2]}, "pair[1]"),
        ({"pair": {"left": 1}}, "pair"),
        ({"ends": [1]}, "ends"),
        ({"parts": [{"size": 1}, {"size": "2"}]}, "parts[1].size"),
        ({"parts": [{"size": -1}]}, "parts[0]"),
        ({"parts": [{}]}, "parts[0].size"),
        ({"parts": {"0": 1}}, "parts"),
        ({"words": "a"}, "words"),
        ({"counts": {"n": 3.0}}, "counts.n"),
        ({"counts": [1]}, "counts"),
        ({"limit": "none"}, "limit"),
        ({"grid": [[1], [None]]}, "grid[1][0]"),
        ({"other": 1}, "other"),
    ],
)
def test_wrong_field_is_named(change, where):
    with pytest.raises(DecodingError) as refused:
        decode(Whole, GOOD | change)

    assert refused.value.field == where


def test_missing_field_is_named():
    with pytest.raises(DecodingError) as refused:
        decode(Whole, {"name": "x"}, field="study")

    assert refused.value.field == "study.share"


def test_unknown_keys_are_ignored_where_a_format_allows_them():
    assert decode(Part, {"size": 1, "later": 2}, allow_unknown=True) == Part(1)


@pytest.mark.parametrize(
    "content",
    [
        b"",
        b"{",
        b"\xff",
        b"NaN",
        b"[Infinity]",
        b'{"a": 1, "a": 2}',
        b"[" * 100_000,
        b"[" * 100_000 + b"]" * 100_000,
        b'{"a":' * 100_000 + b"1" + b"}" * 100_000,
        b"[" * 40 + b"]" * 40,
        b"1" * 10_000,
        b'["\\ud800"]',
        b'{"\\udfff": 1}',
        b"[" + b"[]," * decoding.MAX_VALUES + b"1]",
    ],
    ids=lambda content: repr(content[:12]),
)
def test_impossible_json_is_refused(content):
    with pytest.raises(DecodingError):
        parse_json(content)


def test_large_file_is_refused_unless_it_is_our_own(monkeypatch):
    monkeypatch.setattr(decoding, "MAX_BYTES", 10)

    with pytest.raises(DecodingError):
        parse_json(b'"0123456789"')
    assert parse_json(b'"0123456789"', is_own=True) == "0123456789"


JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(), inner, max_size=4),
)
KEYS = st.sampled_from(
    ["target", "seeds", "arms", "kind", "levels", "init", "root", "run_id", "parts"]
)


@given(value=st.dictionaries(KEYS, JSON) | JSON)
def test_anything_else_is_a_decoding_error(value):
    """No other exception, whatever the content."""
    for kind in (RunManifest, StudyPlan):
        for allow_unknown in (True, False):
            try:
                decode(kind, value, allow_unknown=allow_unknown)
            except DecodingError:
                continue
