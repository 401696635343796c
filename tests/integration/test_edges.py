"""Errors where the system refuses: permissions, full disks, missing packages, no network."""

import ctypes
import json
import os
import socket
import subprocess
import sys
import time
from collections import Counter
from pathlib import Path

import pytest

START = "from seedproof.cli.main import main; main()"
TRAINING = """
import os

import numpy as np

def train(run):
    probs = run.rng("init").dirichlet([1.0, 1.0, 1.0], 20_000)
    run.log_predictions("test", probs=probs.astype(np.float32), labels=np.arange(20_000) % 3)
"""
RUN_BYTES = 300_000
MOUNT, UNMOUNT = "/usr/bin/mount", "/usr/bin/umount"
full_only = pytest.mark.skipif(
    os.environ.get("SEEDPROOF_FULL") != "1", reason="slow; SEEDPROOF_FULL=1 runs it"
)
TABLE = "run,example,label,prediction\n" + "".join(
    f"{run},{example},a,{'ab'[(run + example) % 2]}\n" for run in range(5) for example in range(20)
)
PR_CAPBSET_DROP, CAP_DAC_OVERRIDE, CAP_DAC_READ_SEARCH = 24, 1, 2


def obey_permissions() -> None:
    """Make a program that root starts obey permissions, as those of all other users do."""
    for capability in (CAP_DAC_OVERRIDE, CAP_DAC_READ_SEARCH):
        ctypes.CDLL(None).prctl(PR_CAPBSET_DROP, capability, 0, 0, 0)


@pytest.fixture
def call(tmp_path, without_torch):  # noqa: ARG001 - it is in the environment
    """Return a function that calls the command line as an ordinary user does."""
    (tmp_path / "work.py").write_text(TRAINING, encoding="utf-8")
    (tmp_path / "table.csv").write_text(TABLE, encoding="utf-8")

    def call(*arguments: object, code: int = 2, start: str = START, **environment: str) -> str:
        done = subprocess.run(
            [sys.executable, "-c", start, *map(str, arguments)],
            cwd=tmp_path,
            env=os.environ | environment,
            capture_output=True,
            text=True,
            timeout=120,
            check=False,
            preexec_fn=obey_permissions,
        )
        assert done.returncode == code, done.stderr
        return done.stdout if code == 0 else done.stderr

    return call


def is_refused(err: str, code: str) -> bool:
    """Return whether a command ended with one error in one line."""
    *_, last = err.splitlines()
    return (
        "Traceback" not in err and last.startswith(f"error {code}: ") and err.count("error SP") == 1
    )


@pytest.fixture
def closed():
    """Return a function that takes the permission to write from a path, or another one."""
    before: list[tuple[Path, int]] = []

    def close(path: Path, mode: int = 0o555) -> Path:
        before.append((path, path.stat().st_mode))
        path.chmod(mode)
        return path

    yield close
    for path, mode in before:
        path.chmod(mode)


class TestPermissions:
    """Files and folders that this user may not read or write."""

    def test_table(self, call, closed, tmp_path):
        closed(tmp_path / "table.csv", 0)

        assert is_refused(call("measure", "table.csv"), "SP102")

    def test_folder_of_a_report(self, call, closed, tmp_path):
        (tmp_path / "closed").mkdir()
        closed(tmp_path / "closed")

        assert is_refused(call("measure", "table.csv", "--out", "closed/report"), "SP115")

    def test_store_of_an_ingest(self, call, closed, tmp_path):
        (tmp_path / "closed").mkdir()
        closed(tmp_path / "closed")

        assert is_refused(call("ingest", "table.csv", "--out", "closed/runs"), "SP115")

    def test_store_of_a_study(self, call, seedproof, closed, tmp_path):
        """Its folder, and that of its runs; the study continues afterwards."""
        run = ("run", "work:train", "--seeds", 2)
        (tmp_path / "closed").mkdir()
        closed(tmp_path / "closed")

        assert is_refused(call(*run, "--store", "closed/store"), "SP115")

        call(*run, "--only", 0, code=0)
        closed(tmp_path / "runs" / "runs")
        assert is_refused(call(*run), "SP115")

        (tmp_path / "runs" / "runs").chmod(0o755)
        call(*run, code=0)
        assert statuses(seedproof) == {"finished": 2}

        closed(next((tmp_path / "runs" / "runs").glob("*/run.json")), 0)
        assert is_refused(call("measure", "runs"), "SP101")


def statuses(seedproof, store: str = "runs") -> Counter[str]:
    """Return the number of runs by status."""
    _, out, _ = seedproof("status", store, "--json")
    return Counter(run["status"] for run in json.loads(out)["runs"])


@pytest.fixture
def small_disk(tmp_path):
    """Mount a disk with room for the plan and two runs; return its folder."""
    folder = tmp_path / "disk"
    folder.mkdir()
    size = 3 * RUN_BYTES
    mounted = subprocess.run(
        [MOUNT, "-t", "tmpfs", "-o", f"size={size}", "tmpfs", str(folder)],
        capture_output=True,
        check=False,
    )
    if mounted.returncode:
        pytest.skip("only root may mount a disk")
    yield folder
    subprocess.run([UNMOUNT, "-l", str(folder)], check=True)


def enlarge(disk: Path) -> None:
    """Give the disk more room."""
    subprocess.run([MOUNT, "-o", "remount,size=100m", str(disk)], check=True)


SLURM = """
import seedproof as sp
from seedproof.cli.main import main
from seedproof.engines import named, slurm

make = slurm.SlurmEngine
slurm.SlurmEngine = lambda **settings: make(cluster="local", **settings)
main()
"""


@pytest.mark.parametrize(
    "engine",
    [
        "serial",
        "processes",
        pytest.param("ray", marks=full_only),
        pytest.param("slurm", marks=full_only),
    ],
)
def test_study_on_a_full_disk_ends_with_an_error_and_can_be_resumed(
    call, seedproof, small_disk, engine
):
    """Finished runs are kept, and nothing else is visible."""
    command = ("run", "work:train", "--seeds", 6, "--store", "disk/runs", "--engine", engine)
    start = SLURM if engine == "slurm" else START

    err = call(*command, start=start)

    # Jobs of submitit on this machine print their interruption as well.
    assert "error SP200: " in err if engine == "slurm" else is_refused(err, "SP200")
    before = statuses(seedproof, "disk/runs")
    assert 0 < before["finished"] < 6
    enlarge(small_disk)
    call(*command, start=start, code=0)
    assert statuses(seedproof, "disk/runs") == {"finished": 6}
    code, _, err = seedproof("measure", "disk/runs")
    assert code == 0, err
    assert not list(small_disk.rglob("*.json.*"))


def test_ingest_on_a_full_disk_can_be_resumed(seedproof, small_disk, tmp_path):
    rows = (f"{run},{example},{example % 7}\n" for run in range(20) for example in range(20_000))
    (tmp_path / "large.csv").write_text("run,example,prediction\n" + "".join(rows))
    command = ("ingest", "large.csv", "--out", "disk/runs")

    code, _, err = seedproof(*command)
    assert code == 2
    assert is_refused(err, "SP200")
    enlarge(small_disk)
    for again in (command, ("measure", "disk/runs")):
        code, _, err = seedproof(*again)
        assert code == 0, err


def test_report_on_a_full_disk_is_refused(refused, small_disk, tmp_path):
    (tmp_path / "table.csv").write_text(TABLE, encoding="utf-8")
    (small_disk / "filled").write_bytes(bytes(3 * RUN_BYTES - 10_000))

    assert refused("measure", "table.csv", "--out", "disk/report").code == "SP115"


@pytest.fixture
def silent():
    """Return the address of a server that accepts connections and never answers."""
    with socket.create_server(("127.0.0.1", 0)) as server:
        yield "{}:{}".format(*server.getsockname())


class TestRemoteStores:
    """Stores behind URLs that cannot be opened."""

    @pytest.mark.parametrize(
        "url",
        [
            "s3://a:SECRET@bucket/x?region=us-east-1&scheme=http&endpoint_override=127.0.0.1:1",
            "hf://datasets/owner/name",
            "s3://bucket/x?colour=blue&region=us-east-1",
            "nowhere://bucket/x",
        ],
    )
    def test_store_that_cannot_be_reached(self, refused, monkeypatch, url):
        """Credentials are not shown."""
        monkeypatch.setenv("HF_ENDPOINT", "http://127.0.0.1:1")
        began = time.monotonic()
        error = refused("measure", url)

        assert error.code == "SP101"
        assert "SECRET" not in str(error)
        assert time.monotonic() - began < 15

    @full_only
    @pytest.mark.parametrize("scheme", ["s3", "gs"])
    def test_server_that_does_not_answer(self, call, silent, scheme):
        url = f"{scheme}://anonymous@bucket/x?scheme=http&endpoint_override={silent}"
        began = time.monotonic()

        assert is_refused(call("status", url), "SP101")
        assert time.monotonic() - began < 15

    def test_url_of_fsspec(self, call, seedproof, tmp_path):
        """A store is written and read through fsspec."""
        url = f"local://{tmp_path}/remote"

        call("run", "work:train", "--seeds", 2, "--store", url, code=0)
        code, out, err = seedproof("measure", url, "--json")

        assert code == 0, err
        assert out == seedproof("measure", "remote", "--json")[1]

    def test_fsspec_that_is_missing(self, call, tmp_path):
        hide = tmp_path / "sitecustomize.py"
        hide.write_text(HIDE.format(module="fsspec"), encoding="utf-8")

        err = call("measure", "hf://datasets/owner/name", PYTHONPATH=path_with(tmp_path))

        assert is_refused(err, "SP401")
        assert "seedproof[remote]" in err


HIDE = """
from importlib.machinery import PathFinder
find = PathFinder.find_spec
PathFinder.find_spec = lambda name, *rest: None if name == {module!r} else find(name, *rest)
"""


def path_with(folder: Path) -> str:
    """Return the value of PYTHONPATH with a further folder."""
    return os.pathsep.join([str(folder), os.environ.get("PYTHONPATH", "")])


@pytest.mark.parametrize(("package", "extra"), [("stabilize", "torch"), ("explain", "explain")])
def test_training_that_needs_torch_names_its_extra(call, tmp_path, package, extra):
    """Its runs fail, and the message says what to install."""
    (tmp_path / "script.py").write_text(f"import seedproof as sp\nsp.{package}\n")

    err = call("run", "script.py", "--seeds", 1, "--engine", "serial", code=4)

    assert f"seedproof[{extra}]" in err


def test_ray_that_does_not_start(call):
    """It cannot write its logs."""
    err = call("run", "work:train", "--seeds", 1, "--engine", "ray", RAY_TMPDIR="/proc/nowhere")

    assert is_refused(err, "SP500")
