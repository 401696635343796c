"""Spans from the tags of tokens."""

import pytest

from seedproof.records.tags import spans_of_tags


@pytest.mark.parametrize(
    ("tags", "spans"),
    [
        ("", []),
        ("O O", []),
        ("B-PER I-PER O B-LOC", ["0:2:PER", "3:4:LOC"]),
        ("B-PER B-PER", ["0:1:PER", "1:2:PER"]),
        ("I-PER I-LOC", ["0:1:PER", "1:2:LOC"]),
        ("O I-PER I-PER", ["1:3:PER"]),
        ("S-PER B-LOC E-LOC", ["0:1:PER", "1:3:LOC"]),
        ("U-PER B-LOC I-LOC L-LOC I-LOC", ["0:1:PER", "1:4:LOC", "4:5:LOC"]),
        ("I-PER E-PER I-PER", ["0:2:PER", "2:3:PER"]),
        ("B-work-of-art I-work-of-art", ["0:2:work-of-art"]),
        ("B I O", ["0:2:_"]),
    ],
)
def test_spans_of_tags(tags, spans):
    assert spans_of_tags(tags.split()) == spans
