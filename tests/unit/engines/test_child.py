"""Messages between a fresh process and its coordinator."""

import io
import os
import subprocess
import sys

import pytest

from seedproof.engines.child import read_message, write_message
from seedproof.engines.processes import BOOT


class Dribble(io.RawIOBase):
    """A channel that returns three bytes at a time, like a slow pipe."""

    def __init__(self, content: bytes) -> None:
        self._content = io.BytesIO(content)

    def readable(self) -> bool:
        """Return True."""
        return True

    def readinto(self, buffer) -> int:
        """Read at most three bytes."""
        return self._content.readinto(memoryview(buffer)[:3])


def written(*messages: bytes) -> bytes:
    """Return the content of the channel after some messages."""
    channel = io.BytesIO()
    for message in messages:
        write_message(channel, message)
    return channel.getvalue()


def test_messages_are_read_as_they_were_written():
    """In sequence, including empty ones, however the pipe splits them."""
    channel = Dribble(written(b"first", b"", b"x" * 1000))

    assert [read_message(channel) for _ in range(3)] == [b"first", b"", b"x" * 1000]


@pytest.mark.parametrize("n_bytes", [0, 5, 12])
def test_incomplete_message_raises_end_of_file(n_bytes):
    """The other side crashed in the middle of it."""
    with pytest.raises(EOFError):
        read_message(io.BytesIO(written(b"a long message")[:n_bytes]))


def test_process_ends_if_its_coordinator_crashed_before_the_request():
    """Its standard input is empty."""
    code = subprocess.run(
        [sys.executable, "-c", BOOT], stdin=subprocess.DEVNULL, capture_output=True, timeout=60, check=False
    ).returncode  # fmt: skip

    assert code == 1


def test_process_ends_if_its_coordinator_crashed_during_the_request():
    """Half a request is ignored."""
    code = subprocess.run(
        [sys.executable, "-c", BOOT], input=written(os.urandom(100))[:50], capture_output=True, timeout=60, check=False
    ).returncode  # fmt: skip

    assert code == 1
