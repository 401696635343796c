"""What a fresh process and its coordinator say to each other."""

import io
import os
import subprocess
import sys

import pytest

from seedproof.engines.child import read_message, write_message
from seedproof.engines.processes import BOOT


class Dribble(io.RawIOBase):
    """A channel that gives three bytes at a time, as a slow pipe may."""

    def __init__(self, content: bytes) -> None:
        self._content = io.BytesIO(content)

    def readable(self) -> bool:
        """It is."""
        return True

    def readinto(self, buffer) -> int:
        """Three bytes, or what is left."""
        return self._content.readinto(memoryview(buffer)[:3])


def written(*messages: bytes) -> bytes:
    """What is on the channel after some messages."""
    channel = io.BytesIO()
    for message in messages:
        write_message(channel, message)
    return channel.getvalue()


def test_messages_are_read_as_they_were_written():
    """One after the other, also empty ones, however the pipe cuts them."""
    channel = Dribble(written(b"first", b"", b"x" * 1000))

    assert [read_message(channel) for _ in range(3)] == [b"first", b"", b"x" * 1000]


@pytest.mark.parametrize("n_bytes", [0, 5, 12])
def test_a_message_that_is_cut_off_is_no_message(n_bytes):
    """The other side died in the middle of it."""
    with pytest.raises(EOFError):
        read_message(io.BytesIO(written(b"a long message")[:n_bytes]))


def test_a_process_whose_coordinator_died_before_asking_ends():
    """There is no request on its standard input, and there never will be."""
    code = subprocess.run(
        [sys.executable, "-c", BOOT], stdin=subprocess.DEVNULL, capture_output=True, timeout=60, check=False
    ).returncode  # fmt: skip

    assert code == 1


def test_a_process_whose_coordinator_died_while_asking_ends():
    """Half a request is none."""
    code = subprocess.run(
        [sys.executable, "-c", BOOT], input=written(os.urandom(100))[:50], capture_output=True, timeout=60, check=False
    ).returncode  # fmt: skip

    assert code == 1
