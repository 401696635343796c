"""Zip archives of logs, from anyone: what is odd in them is refused by name."""

import lzma
import struct
import zipfile
import zlib
from pathlib import Path
from typing import Self

import pyarrow as pa

from seedproof.records.decoding import LOG_BYTES, MAX_BYTES, DecodingError

# Compression method of a member; `zipfile` opens it from Python 3.14 on.
ZSTD = 93
METHODS = frozenset({zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED, ZSTD})
ENCRYPTED = 1  # flag of a member
# Logs shrink to a tenth; a large member that shrinks to less is made to fill the memory.
MOST_SHRINKING = 200
FAILURES = (
    zipfile.BadZipFile,
    zipfile.LargeZipFile,
    zlib.error,
    lzma.LZMAError,
    pa.ArrowException,
    struct.error,
    OSError,
    EOFError,
    NotImplementedError,
    RuntimeError,
    ValueError,
    OverflowError,
)


class Archive:
    """An open archive whose members are read whole.

    Args:
        path: The file.

    Raises:
        DecodingError: The archive or a member is damaged, too large, encrypted, or there twice.
    """

    def __init__(self, path: Path) -> None:
        try:
            self._archive = zipfile.ZipFile(path)
        except FAILURES as error:
            raise DecodingError(_reason(error)) from error

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self._archive.close()

    def __contains__(self, name: str) -> bool:
        return name in self._archive.namelist()

    def below(self, folder: str) -> list[str]:
        """Return the names of the members in a folder, in their order in the archive."""
        names = dict.fromkeys(self._archive.namelist())
        return [name for name in names if name.startswith(folder) and not name.endswith("/")]

    def read(self, name: str) -> bytes:
        """Return the content of a member.

        Args:
            name: Its name.

        Returns:
            All bytes, as its checksum has them.

        Raises:
            DecodingError: It is not there, or cannot be read.
        """
        infos = [info for info in self._archive.infolist() if info.filename == name]
        if len(infos) != 1:
            problem = "is there more than once" if infos else "is missing"
            raise DecodingError(f"{name} {problem}")
        (info,) = infos
        if info.flag_bits & ENCRYPTED or info.compress_type not in METHODS:
            raise DecodingError(f"{name} is encrypted, or compressed by an unknown method")
        limit = max(MAX_BYTES, min(LOG_BYTES, MOST_SHRINKING * info.compress_size))
        if info.file_size > limit:
            raise DecodingError(f"{name} has more than {limit:,} bytes")
        try:
            content = self._content(info)
        except FAILURES as error:
            raise DecodingError(f"{name} is damaged: {_reason(error)}") from error
        if len(content) != info.file_size or zlib.crc32(content) != info.CRC:
            raise DecodingError(f"{name} is damaged: its checksum does not match")
        return content

    def _content(self, info: zipfile.ZipInfo) -> bytes:
        # One byte more than there should be shows a size that is wrong.
        n_bytes = info.file_size + 1
        if info.compress_type != ZSTD:
            with self._archive.open(info) as file:
                return file.read(n_bytes)
        raw = self._archive.fp
        if raw is None:
            raise zipfile.BadZipFile("closed")
        raw.seek(info.header_offset)
        name_length, extra_length = struct.unpack("<26xHH", raw.read(30))
        raw.seek(info.header_offset + 30 + name_length + extra_length)
        packed = pa.BufferReader(raw.read(info.compress_size))
        with pa.input_stream(packed, compression="zstd") as stream:
            return bytes(stream.read(n_bytes))


def _reason(error: BaseException) -> str:
    """Return the first line of an error, or its type if it has none."""
    return str(error).strip().partition("\n")[0] or type(error).__name__
