"""Spans as items: from the tags of tokens, such as B-PER and I-PER, or from three columns."""

from collections.abc import Sequence

import pyarrow as pa
import pyarrow.compute as pc

from seedproof.records.table_rows import single_texts

# A tag that ends in this text is outside of every span.
OUTSIDE = "O"
# First and last tokens of a span in the schemes IOB, IOE, IOBES and BILOU.
FIRST, LAST = frozenset("BSU"), frozenset("ESLU")


def spans_of_tags(tags: Sequence[str]) -> list[str]:
    """Return the spans of tagged tokens as texts "start:end:type"; end is after the last token.

    A span begins at a first tag (B, S or U), or where the type changes; so I-PER after O begins
    one, as in the evaluation of CoNLL.

    >>> spans_of_tags(["B-PER", "I-PER", "O", "I-LOC"])
    ['0:2:PER', '3:4:LOC']
    """
    spans: list[str] = []
    start, kind = 0, ""
    for position, tag in enumerate([*tags, OUTSIDE]):
        mark, _, new_kind = tag.strip().partition("-")
        is_outside = mark == OUTSIDE or not mark
        new_kind = "" if is_outside else new_kind or "_"
        if kind and (is_outside or mark in FIRST or new_kind != kind):
            spans.append(f"{start}:{position}:{kind}")
            kind = ""
        if not is_outside and not kind:
            start, kind = position, new_kind
        if kind and mark in LAST:
            spans.append(f"{start}:{position + 1}:{kind}")
            kind = ""
    return spans


def span_texts(table: pa.Table, columns: Sequence[str]) -> pa.Array:
    """Return spans "start:end:type" from three columns; null where one of them is empty."""
    texts = [single_texts(table.column(name), name) for name in columns]
    return pc.binary_join_element_wise(*texts, ":").combine_chunks()
