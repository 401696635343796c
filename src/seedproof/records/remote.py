"""Filesystems behind URLs: those of pyarrow, and all others through fsspec."""

import re
from collections.abc import Callable
from queue import Empty, SimpleQueue
from threading import Thread
from typing import Any, TypeAlias
from urllib.parse import parse_qsl, unquote, urlsplit

import pyarrow as pa
import pyarrow.fs

from seedproof._optional import require
from seedproof.errors import NotFoundError, SeedproofError, first_line

# Schemes that pyarrow opens itself.
BY_PYARROW = frozenset({"abfs", "abfss", "file", "gcs", "gs", "hdfs", "mock", "viewfs"})
# A filesystem that has not answered a first request by then is not reachable.
ANSWER_SECONDS = 10.0
# Three attempts to connect to S3 take no longer; the default of `from_uri` is ten.
CONNECT_SECONDS, ATTEMPTS = 3.0, 3
_CREDENTIALS = re.compile(r"//[^/@]*:[^/@]*@")
_FLAGS = frozenset({"true", "false"})

Place: TypeAlias = tuple[pyarrow.fs.FileSystem, str]


def connect(url: str) -> Place:
    """Return the filesystem of a URL and the path in it, after it has answered a first request.

    Args:
        url: Such as `s3://bucket/folder`, with the query parameters of pyarrow, or
            `hf://datasets/owner/name`.

    Returns:
        Filesystem and path.

    Raises:
        NotFoundError: It is not reachable, or refuses the request.
        MissingExtraError: A package for this kind of URL is not installed.
    """
    answers: SimpleQueue[Place | Exception] = SimpleQueue()
    # A daemon, because no filesystem lets a pending request be cancelled.
    Thread(target=_answer, args=(url, answers.put), daemon=True).start()
    try:
        answer = answers.get(timeout=ANSWER_SECONDS)
    except Empty:
        answer = TimeoutError(f"no answer within {ANSWER_SECONDS:.0f} seconds")
    if isinstance(answer, SeedproofError):
        raise answer
    if isinstance(answer, Exception):
        raise NotFoundError(
            "{location!r} cannot be opened ({reason}). Check the address, the network and the "
            "credentials, or pass a local path.",
            location=_CREDENTIALS.sub("//***@", url),
            reason=first_line(answer),
        ) from answer
    return answer


def _answer(url: str, put: Callable[[Place | Exception], None]) -> None:
    """Open a URL and look at its path."""
    try:
        files, path = _opened(url)
        files.get_file_info(path)
    except Exception as error:  # noqa: BLE001 - each filesystem has its own errors
        put(error)
    else:
        put((files, path))


def _opened(url: str) -> Place:
    scheme = url.partition("://")[0]
    if scheme == "s3":
        return _s3(url)
    if scheme in BY_PYARROW:
        files, path = pyarrow.fs.FileSystem.from_uri(url)
        return files, path
    if scheme in {"http", "https"}:
        raise ValueError("files of web servers cannot be listed: download them first")
    for module in ("fsspec", *(["huggingface_hub"] if scheme == "hf" else [])):
        require(module, extra="remote", feature=f"{scheme}://")
    import fsspec

    files, path = fsspec.core.url_to_fs(url)  # its errors name the packages of other schemes
    return pyarrow.fs.PyFileSystem(pyarrow.fs.FSSpecHandler(files)), path


def _s3(url: str) -> Place:
    """Open a URL of S3 like `S3FileSystem.from_uri`, but with few attempts to connect."""
    address = urlsplit(url)
    user, _, bucket = address.netloc.rpartition("@")
    key, _, secret = user.partition(":")
    options: dict[str, Any] = dict(parse_qsl(address.query, strict_parsing=bool(address.query)))
    options |= {name: value == "true" for name, value in options.items() if value in _FLAGS}
    if user:
        options |= {"access_key": unquote(key), "secret_key": unquote(secret)}
    if "region" not in options and "endpoint_override" not in options:
        options["region"] = pyarrow.fs.resolve_s3_region(bucket)
    try:
        files = pyarrow.fs.S3FileSystem(
            connect_timeout=CONNECT_SECONDS,
            retry_strategy=pyarrow.fs.AwsStandardS3RetryStrategy(max_attempts=ATTEMPTS),
            **options,
        )
    except TypeError as error:
        raise pa.ArrowInvalid(f"unknown parameter in {address.query!r}") from error
    return files, bucket + address.path
