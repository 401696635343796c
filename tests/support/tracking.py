"""Runs of MLflow as a user's program logs them, and figures of them by loops."""

import json
import os
import signal
import socket
import subprocess
import time
import urllib.error
import urllib.request
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from statistics import fmean
from uuid import uuid4

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

N_EXAMPLES = 12
# Ours must not wait for a server for minutes, print, or send anything.
SETTINGS = {
    "MLFLOW_DISABLE_TELEMETRY": "true",
    "MLFLOW_ALLOW_FILE_STORE": "true",
    "MLFLOW_SUPPRESS_PRINTING_URL_TO_STDOUT": "true",
    "MLFLOW_ENABLE_ARTIFACTS_PROGRESS_BAR": "false",
    "MLFLOW_HTTP_REQUEST_MAX_RETRIES": "1",
}
# A busy machine takes minutes to import what the server needs.
SERVER_SECONDS = 600


class Logged:
    """Runs of one experiment, as a user's program logs them."""

    def __init__(self) -> None:
        from mlflow import MlflowClient

        self.name = f"experiment-{uuid4().hex[:8]}"
        self.client = MlflowClient()
        self.experiment = self.client.create_experiment(self.name)

    def run(
        self, name, *, parent=None, status="FINISHED", tags=(), metrics=(), tables=(), **params
    ):
        """Log a run; tables are rows by the path of their artifact."""
        tags = dict(tags) | ({"mlflow.parentRunId": parent} if parent else {})
        run_id = self.client.create_run(self.experiment, tags=tags, run_name=name).info.run_id
        for key, value in params.items():
            self.client.log_param(run_id, key, value)
        for key, value in dict(metrics).items():
            self.client.log_metric(run_id, key, value)
        for path, rows in dict(tables).items():
            self.log_table(run_id, path, rows)
        if status is not None:
            self.client.set_terminated(run_id, status)
        return run_id

    def log_table(self, run_id, path, rows):
        """Log rows as mlflow.log_table does, which needs pandas, or as a file."""
        if path.endswith(".json"):
            data = [list(row) for row in zip(*rows.values(), strict=True)]
            self.client.log_dict(run_id, {"columns": list(rows), "data": data}, path)
            tag = json.dumps([{"path": path, "type": "table"}])
            self.client.set_tag(run_id, "mlflow.loggedArtifacts", tag)
            return
        place = f"{uuid4().hex}.parquet"
        pq.write_table(pa.table(rows), place)
        folder, _, name = path.rpartition("/")
        Path(place).rename(name)
        self.client.log_artifact(run_id, name, folder or None)


def predictions(seed, flip=0.3):
    """Return the rows of one run: ids, labels, and predictions that differ from them by chance."""
    rng = np.random.default_rng(seed)
    labels = np.arange(N_EXAMPLES) % 2
    wrong = rng.random(N_EXAMPLES) < flip
    return {
        "id": [f"ex-{index}" for index in range(N_EXAMPLES)],
        "label": labels.tolist(),
        "prediction": np.where(wrong, 1 - labels, labels).tolist(),
    }


def flip_rate(rows):
    """Return the share of examples on which two runs differ, averaged over pairs, by a loop."""
    runs = [run["prediction"] for run in rows]
    pairs = [(a, b) for i, a in enumerate(runs) for b in runs[:i]]
    return fmean(fmean(x != y for x, y in zip(a, b, strict=True)) for a, b in pairs)


@contextmanager
def server(program: str, folder: Path) -> Iterator[str]:
    """Start the server of MLflow with SQLite on loopback; end its process group."""
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    uri = f"http://127.0.0.1:{port}"
    hidden = {"PYTHONPATH", "MLFLOW_TRACKING_URI", "VIRTUAL_ENV"}
    environment = {name: value for name, value in os.environ.items() if name not in hidden}
    # It would start eight more processes for jobs.
    environment |= {"MLFLOW_SERVER_ENABLE_JOB_EXECUTION": "false", **SETTINGS}
    command = [program, "server", "--host", "127.0.0.1", "--port", str(port), "--workers", "1"]
    command += ["--backend-store-uri", f"sqlite:///{folder / 'mlflow.db'}"]
    command += ["--artifacts-destination", str(folder / "artifacts")]
    log = folder / "server.log"
    with log.open("wb") as output:
        process = subprocess.Popen(
            command,
            cwd=folder,
            env=environment,
            stdout=output,
            stderr=subprocess.STDOUT,
            start_new_session=True,
        )
    try:
        _wait(process, f"{uri}/version", log)
        yield uri
    finally:
        with suppress(ProcessLookupError):
            os.killpg(process.pid, signal.SIGTERM)
        with suppress(subprocess.TimeoutExpired):
            process.wait(30)
        with suppress(ProcessLookupError):
            os.killpg(process.pid, signal.SIGKILL)
        process.wait(30)


def _wait(process: subprocess.Popen, address: str, log: Path) -> None:
    ends = time.monotonic() + SERVER_SECONDS
    while time.monotonic() < ends:
        assert process.poll() is None, log.read_text(errors="replace")[-2000:]
        with suppress(urllib.error.URLError, OSError):
            urllib.request.urlopen(address, timeout=5).close()  # noqa: S310 - loopback
            return
        time.sleep(0.5)
    raise TimeoutError(log.read_text(errors="replace")[-2000:])
