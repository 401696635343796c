"""Rows of a text file, counted from its bytes.

A reader that loses a row reports no error, so its rows are compared with this count. One pass in
blocks also unpacks a packed file to its end and finds the longest row.
"""

import re
from abc import ABC, abstractmethod
from dataclasses import dataclass, replace
from math import inf
from pathlib import Path
from typing import TypeAlias

import numpy as np
import numpy.typing as npt

from seedproof.errors import UnreadableError
from seedproof.messages import Message
from seedproof.records.text_files import OPEN_QUOTE, unpacked, unreadable
from seedproof.typing import Progress

# A block and what is computed from it stay in the processor's cache.
BLOCK_BYTES = 2**18
# Content that repeats so often is not a table, unless it is small.
MOST_PACKED, HARMLESS_BYTES = 200, 10**8
# Margin beyond the longest row, for its line end.
SPARE_BYTES = 1024
# DuckDB skips the white space of C between two lines of JSON.
WHITE_SPACE = b" \t\n\v\f\r"
BYTE_ORDER_MARK = b"\xef\xbb\xbf"
_LINE_FEED, _RETURN, _QUOTE, _SPACE, _BRACKET, _BRACE = b'\n\r" [{'
# Parsers call themselves for each level; logs have fewer than ten.
MOST_NESTED = 200
_STRING = re.compile(rb'"(?:[^"\\]|\\.)*"', re.DOTALL)
_STEPS = np.zeros(256, dtype=np.int8)
_STEPS[list(b"[{")], _STEPS[list(b"]}")] = 1, -1

_Bytes: TypeAlias = npt.NDArray[np.uint8]
_Words: TypeAlias = npt.NDArray[np.uint64]
_Flags: TypeAlias = npt.NDArray[np.bool_]


@dataclass(frozen=True)
class RowCount:
    """Size of a text file in rows."""

    n_rows: int  # rows that are not blank, with the header if there is one
    n_bytes: int  # bytes of the unpacked file
    longest: int  # bytes of the longest row, overestimated by at most a block
    longest_at: int = 0  # offset of that row
    open_quote: int | None = None  # offset of the quote that never closes; None if all close
    has_quotes: bool = False  # whether there is any quote

    @property
    def buffer_bytes(self) -> int:
        """Size of a buffer for any row with its line end."""
        return self.longest + SPARE_BYTES


class RowCounter(ABC):
    """Count of the rows in a stream of bytes that comes in blocks of any size."""

    def __init__(self) -> None:
        self._n_rows = 0
        self._n_bytes = 0
        self._longest = 0
        self._longest_at = 0
        # Bytes of the row that has begun.
        self._row_bytes = 0

    @abstractmethod
    def add(self, block: bytes) -> None:
        """Take the next bytes."""

    def close(self) -> RowCount:
        """Return the count, at the end of the file."""
        self._compare(self._row_bytes, self._n_bytes)
        return RowCount(self._n_rows, self._n_bytes, self._longest, self._longest_at)

    def _measure(self, size: int, ends: tuple[int, int] | None) -> None:
        """Take a block's size, and where its first and last row end; None if none ends in it."""
        if ends is None:
            self._row_bytes += size
        else:
            first, last = ends
            self._compare(self._row_bytes + first, self._n_bytes + first)
            self._compare(last - first, self._n_bytes + last)
            self._row_bytes = size - last - 1
        self._n_bytes += size

    def _compare(self, length: int, end: int) -> None:
        """Keep a row as the longest one, if it is."""
        if length > self._longest:
            self._longest, self._longest_at = length, end - length


class LineCounter(RowCounter):
    """Count of the lines of a JSONL file, without those of white space alone."""

    def __init__(self) -> None:
        super().__init__()
        self._has_text = False
        self._n_opened = 0  # by the line that has begun
        self.may_be_deep = False
        self.no_object: int | None = None  # offset of the first line that begins otherwise

    def add(self, block: bytes) -> None:
        """Take the next bytes."""
        data = np.frombuffer(block, dtype=np.uint8)
        ends = np.flatnonzero(data == _LINE_FEED)
        self._count_opened(data, ends)
        self._find_no_object(block, data, ends)
        if not len(ends):
            self._measure(len(data), None)
            self._has_text = self._has_text or bool(block.strip(WHITE_SPACE))
            return
        first, last = int(ends[0]), int(ends[-1])
        self._measure(len(data), (first, last))
        self._n_rows += self._has_text or bool(block[:first].strip(WHITE_SPACE))
        starts, stops = ends[:-1] + 1, ends[1:]
        # Few lines begin with white space; only these are looked at as a whole.
        is_text = ~_IS_WHITE[data[starts]]
        self._n_rows += int(np.count_nonzero(is_text))
        for start, stop in zip(starts[~is_text].tolist(), stops[~is_text].tolist(), strict=True):
            self._n_rows += bool(block[start:stop].strip(WHITE_SPACE))
        self._has_text = bool(block[last + 1 :].strip(WHITE_SPACE))

    def _find_no_object(self, block: bytes, data: _Bytes, ends: npt.NDArray[np.intp]) -> None:
        """Notice the first line that is not an object, by the character it begins with."""
        if self.no_object is not None:
            return
        starts = ends + 1 if self._has_text else np.append(0, ends + 1)
        starts = starts[starts < len(data)]
        # Few lines begin with anything else; white space may stand before an object.
        for start in starts[data[starts] != _BRACE].tolist():
            line = block[start:].partition(b"\n")[0].lstrip(WHITE_SPACE)
            if line and not line.startswith(b"{"):
                self.no_object = self._n_bytes + start
                return

    def _count_opened(self, data: _Bytes, ends: npt.NDArray[np.intp]) -> None:
        """Notice lines with so many brackets that they may be nested too deep."""
        opened = np.flatnonzero((data == _BRACKET) | (data == _BRACE))
        counts = np.diff(np.searchsorted(opened, ends), prepend=0, append=len(opened))
        counts[0] += self._n_opened
        self._n_opened = int(counts[-1])
        self.may_be_deep = self.may_be_deep or bool(counts.max() > MOST_NESTED)

    def close(self) -> RowCount:
        """Return the count, at the end of the file."""
        self._n_rows += self._has_text
        return super().close()


class QuotedRowCounter(RowCounter):
    r"""Count of the rows of a CSV or TSV file.

    A row ends with \n, \r or \r\n outside of quotes, and empty ones do not count. A quote opens at
    the start of a cell only, where DuckDB allows one space before it; elsewhere it is text.

    Most files have quotes around whole cells only. There, a place is inside if the number of quotes
    up to it is odd: a doubled quote closes and opens again. That is computed with one bit per byte,
    64 at a time. If any quote would open elsewhere, the block is counted by its runs of quotes.
    """

    def __init__(self, separator: str) -> None:
        super().__init__()
        self._breaks = _LINE_FEED, _RETURN, ord(separator)
        self._is_inside = False
        self._has_quotes = False
        self._open_quote = 0
        # The two bytes before the block; a file begins as a line does.
        self._before = b"\n\n"
        # Whether the block before ended with quotes that are text.
        self._is_literal = False

    def add(self, block: bytes) -> None:
        """Take the next bytes."""
        if not block:
            return
        data = np.frombuffer(block, dtype=np.uint8)
        is_end = data == _LINE_FEED
        if b"\r" in block:
            is_end |= data == _RETURN
        ends = _bits(is_end)
        if self._is_inside or b'"' in block:
            self._has_quotes = True
            inside = self._inside_cells(data)
            ends &= ~(self._inside_runs(data) if inside is None else inside)
        else:
            self._is_literal = False
        # The row before an end is empty if there is an end right before it.
        was_end = self._row_bytes == 0
        self._n_rows += _count(ends & ~_shifted(ends, first=was_end))
        self._measure(len(data), _first_and_last(ends))
        self._before = (self._before + block[-2:])[-2:]

    def close(self) -> RowCount:
        """Return the count, at the end of the file."""
        self._n_rows += self._row_bytes > 0
        return replace(
            super().close(),
            open_quote=self._open_quote if self._is_inside else None,
            has_quotes=self._has_quotes,
        )

    def _inside_cells(self, data: _Bytes) -> _Words | None:
        """Return which bytes are inside of quotes; None if quotes open elsewhere than at cells."""
        quotes = _bits(data == _QUOTE)
        inside, ends_inside = _parity(quotes, first=self._is_inside)
        second, last = self._before
        is_break = data == self._breaks[0]
        for sign in self._breaks[1:]:
            is_break |= data == sign
        after_break = _shifted(_bits(is_break), first=last in self._breaks)
        after_quote = _shifted(quotes, first=last == _QUOTE and not self._is_literal)
        opening = quotes & inside
        elsewhere = opening & ~(after_break | after_quote)
        if elsewhere.any():
            spaces = _shifted(_bits(data == _SPACE), first=last == _SPACE)
            elsewhere &= ~(spaces & _shifted(after_break, first=second in self._breaks))
        if elsewhere.any():
            return None
        if ends_inside and (places := _first_and_last(opening)) is not None:
            self._open_quote = self._n_bytes + places[1]
        self._is_inside, self._is_literal = ends_inside, False
        return inside

    def _inside_runs(self, data: _Bytes) -> _Words:
        """Return which bytes are inside of quotes, wherever there are quotes.

        Inside, an odd run of quotes closes, and an even one is text. Outside, at the start of a
        cell, an odd run opens, and an even one closes what it opens; elsewhere, it is text. So only
        odd runs matter: at the start of a cell they flip the state, elsewhere they lead outside.
        """
        quotes = np.flatnonzero(data == _QUOTE)
        firsts = np.flatnonzero(np.diff(quotes, prepend=-2) > 1)
        starts, lengths = quotes[firsts], np.diff(firsts, append=len(quotes))
        padded = np.concatenate([np.frombuffer(self._before, np.uint8), data])
        is_break = _table(bytes(self._breaks))
        before, second = padded[starts + 1], padded[starts]
        opens = is_break[before] | ((before == _SPACE) & is_break[second])
        # A run of quotes that began in the previous block continues as it began.
        opens |= (before == _QUOTE) & (not self._is_literal)
        is_odd = (lengths & 1) == 1
        flips = self._is_inside + np.cumsum(opens & is_odd)
        # Flips count from the last run that certainly led outside.
        certain = np.maximum.accumulate(np.where(is_odd & ~opens, flips, 0))
        is_inside = np.concatenate([[self._is_inside], ((flips - certain) & 1) == 1])
        ends_in_run = quotes[-1] == len(data) - 1
        self._is_literal = bool(ends_in_run and not opens[-1] and not is_inside[-2])
        self._is_inside = bool(is_inside[-1])
        if self._is_inside and not is_inside.all():
            last = np.flatnonzero(~is_inside)[-1]
            self._open_quote = self._n_bytes + int(starts[last])
        changes = np.zeros(len(data), dtype=np.bool_)
        changes[starts] = is_inside[1:] != is_inside[:-1]
        return _parity(_bits(changes), first=bool(is_inside[0]))[0]


def _bits(flags: _Flags) -> _Words:
    """Return flags as bits of 64-bit words, the first one lowest."""
    packed = np.packbits(flags, bitorder="little")
    if len(packed) % 8:
        packed = np.concatenate([packed, np.zeros(-len(packed) % 8, dtype=np.uint8)])
    return packed.view("<u8")


def _shifted(words: _Words, *, first: bool) -> _Words:
    """Return for each bit the one before it."""
    shifted = words << np.uint64(1)
    shifted[1:] |= words[:-1] >> np.uint64(63)
    shifted[0] |= np.uint64(first)
    return shifted


def _parity(words: _Words, *, first: bool) -> tuple[_Words, bool]:
    """Return for each bit whether the number of ones up to it is odd, and the same for all."""
    # With `first`, there is a one before the first bit.
    for step in (1, 2, 4, 8, 16, 32):
        words = words ^ (words << np.uint64(step))
    after = np.bitwise_xor.accumulate(words >> np.uint64(63)) ^ np.uint64(first)
    before = np.concatenate([[np.uint64(first)], after[:-1]])
    # Minus one has all bits set.
    return words ^ np.negative(before), bool(after[-1])


def _count(words: _Words) -> int:
    """Return the number of ones."""
    return int(np.bitwise_count(words).sum(dtype=np.int64))


def _first_and_last(words: _Words) -> tuple[int, int] | None:
    """Return the places of the first and the last one; None if there is none."""
    places = np.flatnonzero(words)
    if not len(places):
        return None
    first, last = int(words[places[0]]), int(words[places[-1]])
    low = (first & -first).bit_length() - 1
    return 64 * int(places[0]) + low, 64 * int(places[-1]) + last.bit_length() - 1


def _table(values: bytes) -> _Flags:
    """Return a flag per byte value: whether it is among some values."""
    table = np.zeros(256, dtype=np.bool_)
    table[list(values)] = True
    return table


_IS_WHITE = _table(WHITE_SPACE)


def count_rows(
    path: Path,
    counter: RowCounter,
    *,
    row_bytes: int,
    at_most: float = inf,
    progress: Progress | None = None,
) -> RowCount:
    """Count the rows of a text file, which is unpacked to its end or to `at_most` bytes."""
    size, n_bytes = path.stat().st_size, 0
    with unpacked(path) as (stream, file):
        block = stream.read(BLOCK_BYTES).removeprefix(BYTE_ORDER_MARK)
        while block:
            counter.add(block)
            n_bytes += len(block)
            is_bomb = n_bytes > max(HARMLESS_BYTES, MOST_PACKED * file.tell())
            if n_bytes > at_most or is_bomb:
                raise UnreadableError(
                    "{file} unpacks to more than {megabytes:,} MB. If this is expected, unpack it "
                    "first.",
                    file=path.name,
                    megabytes=n_bytes // 10**6,
                    problem="size",
                )
            if progress is not None:
                progress(file.tell(), size)
            block = stream.read(BLOCK_BYTES)
    count = counter.close()
    if isinstance(counter, LineCounter):
        _check_lines(path, counter)
    if count.open_quote is not None:
        line = _line_of(path, count.open_quote)
        raise unreadable((path.name,), Message(*OPEN_QUOTE, line=line))
    if count.longest > row_bytes:
        raise UnreadableError(
            "{file} has a row of {megabytes:,} MB in line {line:,}, which needs more memory than "
            "allowed. Raise {option}.",
            file=path.name,
            line=_line_of(path, count.longest_at),
            megabytes=count.longest // 10**6,
            option="--memory",
            problem="row",
        )
    return count


def _check_lines(path: Path, counter: LineCounter) -> None:
    """Raise an error if a line of JSON would end the process of its parser.

    Arrow's parser fails on a block of lines whose first line is null.
    """
    if counter.may_be_deep:
        check_nesting(path)
    if counter.no_object is not None:
        raise UnreadableError(
            "{file} cannot be read: line {line} is wrong: expected an object, such as "
            '{{"example": 1}}.',
            file=path.name,
            line=_line_of(path, counter.no_object),
            problem="object",
        )


def check_nesting(path: Path) -> None:
    """Raise an error if a line of JSON is nested so deep that a parser would crash."""
    depth = deepest = 0
    opening = b""  # of a string that goes on in the next block
    with unpacked(path) as (stream, _):
        while block := stream.read(BLOCK_BYTES):
            text, quote, string = _STRING.sub(b"", opening + block).partition(b'"')
            n_slashes = len(string) - len(string.rstrip(b"\\"))
            opening = quote + b"\\" * (n_slashes % 2)
            steps = _STEPS[np.frombuffer(text, dtype=np.uint8)]
            if len(steps):
                heights = np.cumsum(steps, dtype=np.int64) + depth
                deepest = max(deepest, int(heights.max()))
                depth = max(0, int(heights[-1]))
            if deepest > MOST_NESTED:
                raise UnreadableError(
                    "{file} has a line that is nested more than {most} levels deep. Leave out "
                    "what is not measured.",
                    file=path.name,
                    most=MOST_NESTED,
                    problem="nesting",
                )


def _line_of(path: Path, offset: int) -> int:
    """Return the number of the line that a byte is in, as editors count."""
    feeds = returns = 0
    with unpacked(path) as (stream, _):
        while offset > 0 and (block := stream.read(min(offset, BLOCK_BYTES))):
            offset -= len(block)
            feeds += block.count(b"\n")
            returns += block.count(b"\r")
    return 1 + (feeds or returns)
