"""A small study with exact numbers, the command line, and an object store on loopback."""

import logging
import os
import signal
import sys
from collections.abc import Callable, Iterator
from contextlib import suppress
from dataclasses import dataclass
from uuid import uuid4

import numpy as np
import pyarrow as pa
import pyarrow.fs
import pytest

from seedproof.cli.main import main
from seedproof.errors import SeedproofError
from seedproof.testing.engines import processes_with
from support.processes import hide_torch

N_RUNS, N_EXAMPLES = 5, 40
CLASSES = ("cat", "dog", "fox")
TEXT = "PRIVATE-TEXT"


@dataclass(frozen=True)
class Study:
    """Predictions as arrays and as one long table.

    Probabilities are multiples of 1/64: exact in float16, in float32 and as decimals, so that every
    input format gives the same bits.
    """

    probs: np.ndarray
    labels: np.ndarray
    table: pa.Table
    classes: tuple[str, ...] = CLASSES


@pytest.fixture(scope="session")
def study() -> Study:
    """Return five runs of forty examples and three classes; example ids are 0, 10, 20 and so on."""
    rng = np.random.default_rng(20)
    base = rng.dirichlet([0.6] * 3, N_EXAMPLES)
    noisy = 0.7 * base + 0.3 * rng.dirichlet([0.5] * 3, (N_RUNS, N_EXAMPLES))
    first = np.round(noisy[..., 0] * 64)
    second = np.minimum(np.round(noisy[..., 1] * 64), 64 - first)
    probs = np.stack([first, second, 64 - first - second], axis=-1) / 64
    labels = base.argmax(axis=1)
    runs, examples = np.divmod(np.arange(N_RUNS * N_EXAMPLES), N_EXAMPLES)
    columns = {
        "run": runs,
        "example": 10 * examples,
        "label": [CLASSES[labels[e]] for e in examples],
        **{f"p_{name}": probs[runs, examples, i] for i, name in enumerate(CLASSES)},
        "text": [f"{TEXT} of example {e}" for e in examples],
    }
    return Study(probs, labels, pa.table(columns))


@pytest.fixture
def secret() -> str:
    """Return a text that is in the text of every example, and nowhere else."""
    return TEXT


class CommandLine:
    """The command line in this process; `error` is the exception of the last call, if any."""

    def __init__(self, monkeypatch, capfd) -> None:
        self._monkeypatch, self._capfd = monkeypatch, capfd
        self.error: BaseException | None = None

    def __call__(self, *arguments: object) -> tuple[int, str, str]:
        """Return exit code, stdout and stderr."""
        self._monkeypatch.setattr(sys, "argv", ["seedproof", *map(str, arguments)])
        with pytest.raises(SystemExit) as left:
            main()
        self.error = left.value.__context__
        out, err = self._capfd.readouterr()
        return left.value.code or 0, out, err


@pytest.fixture
def seedproof(monkeypatch, capfd, tmp_path) -> CommandLine:
    """Return the command line, in an empty folder."""
    monkeypatch.chdir(tmp_path)
    return CommandLine(monkeypatch, capfd)


@pytest.fixture
def refused(seedproof) -> Callable[..., SeedproofError]:
    """Return a function that calls a command which fails in one line, and returns the error."""

    def call(*arguments: object) -> SeedproofError:
        code, out, err = seedproof(*arguments)
        error = seedproof.error
        assert isinstance(error, SeedproofError), err
        line = f"error {error.code}: {error}\n"
        if isinstance(error.fields.get("suggestion"), dict):  # the command line has its own advice
            line = err
        assert (code, out, err) == (2, "", line)
        assert err.count("\n") == 1
        return error

    return call


@pytest.fixture
def without_torch(tmp_path_factory, monkeypatch) -> None:
    """Hide torch from child processes, which then start fast."""
    for name, value in hide_torch(tmp_path_factory.mktemp("hidden") / "site").items():
        monkeypatch.setenv(name, value)


@pytest.fixture
def mark(monkeypatch) -> Iterator[str]:
    """Mark the environment of all child processes; kill those left at the end."""
    mark = f"seedproof-test-{uuid4().hex}"
    monkeypatch.setenv("SEEDPROOF_TEST_MARK", mark)
    yield mark
    for pid in processes_with(mark):
        with suppress(ProcessLookupError):
            os.kill(pid, signal.SIGKILL)


@pytest.fixture(scope="session")
def server():
    """Start an S3-compatible server on a free port."""
    from moto.server import ThreadedMotoServer

    logging.getLogger("werkzeug").setLevel(logging.ERROR)
    server = ThreadedMotoServer(ip_address="127.0.0.1", port=0, verbose=False)
    server.start()
    yield server.get_host_and_port()
    server.stop()


@pytest.fixture
def url(server, monkeypatch) -> Callable[[str], str]:
    """Return a function that makes URLs in a bucket of that server."""
    monkeypatch.setenv("AWS_ACCESS_KEY_ID", "anyone")
    monkeypatch.setenv("AWS_SECRET_ACCESS_KEY", "nothing")
    monkeypatch.setenv("AWS_EC2_METADATA_DISABLED", "true")  # ask no machine on the network
    host, port = server
    options = f"endpoint_override={host}:{port}&scheme=http&region=us-east-1"
    files, _ = pyarrow.fs.FileSystem.from_uri(f"s3://bucket?{options}&allow_bucket_creation=true")
    files.create_dir("bucket")
    return lambda path: f"s3://bucket/{path}?{options}"


@pytest.fixture
def tracking(monkeypatch, tmp_path) -> Iterator[Callable[[str], None]]:
    """Let MLflow keep runs in files of an empty folder; return a function for another address."""
    mlflow = pytest.importorskip("mlflow")
    from support.tracking import SETTINGS

    for name, value in SETTINGS.items():
        monkeypatch.setenv(name, value)
    monkeypatch.chdir(tmp_path)

    def use(uri: str) -> None:
        monkeypatch.setenv("MLFLOW_TRACKING_URI", uri)
        mlflow.set_tracking_uri(uri)

    use((tmp_path / "mlruns").as_uri())
    yield use
    mlflow.set_tracking_uri(None)


@pytest.fixture
def logged(tracking):
    """Return an empty experiment of MLflow."""
    from support.tracking import Logged

    del tracking
    return Logged()
