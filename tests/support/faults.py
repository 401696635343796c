"""Faults that a study or an ingest must survive, for tests and for benchmarks/faults.py.

A trial starts a command, disturbs it, repeats the command where needed, and then checks that
nothing is lost or done twice, that no process is left, that no lock is held, and that
`summary.json` is that of an undisturbed study.
"""

import os
import re
import shutil
import signal
import subprocess
import sys
import time
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from functools import cache
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any, Self
from uuid import uuid4

import numpy as np

import seedproof as sp
from seedproof.records.location import Location
from seedproof.records.locks import LOCK_FILE, is_held
from seedproof.records.manifest import RunManifest
from seedproof.testing.engines import becomes_true, processes_with
from support.processes import hide_torch

MARK = "SEEDPROOF_FAULTS"
N_RUNS = 5
# Processes that an engine starts, by their role. An agent is a process of Ray or of SLURM.
ROLES = {
    "serial": ("coordinator",),
    "processes": ("coordinator", "worker", "guardian"),
    "ray": ("coordinator", "agent", "worker", "guardian"),
    "slurm": ("coordinator", "agent", "worker", "guardian"),
}
DAY_SECONDS = 86_400
DISK_BYTES = 16 * 2**20
N_DISK_POINTS = 20
COMMAND = "from seedproof.cli.main import main; main()"
# The command line has no jobs without SLURM.
LOCAL_JOBS = """
import sys
import seedproof as sp
from work import train

study = sp.Study("work.train", train, seeds={n_runs}, store="runs")
settings = dict(cluster="local", folder="jobs")
sys.exit(0 if study.run("slurm", settings=settings, progress=False).is_done else 4)
"""
MODULE = """
import time
from pathlib import Path

from model import predictions

def train(run):
    with (Path(__file__).parent / "began").open("a") as file:
        file.write(f"{run.arm}-{run.name}\\n")
    time.sleep(0.3)
    predictions(run)
"""
MODEL = """
import numpy as np

def predictions(run):
    probs = run.rng("init").dirichlet([1.0, 1.0, 1.0], 20)
    run.log_predictions("test", probs=probs, labels=np.arange(20) % 3)
"""

# Shifts the clock of a program by the seconds in a file. Times of files stay as they are.
CLOCK = """
import datetime, time, warnings

warnings.filterwarnings("ignore", "datetime.datetime size changed")
now, now_ns = time.time, time.time_ns

def shift():
    with open({path!r}) as file:
        return int(file.read() or 0)

class Shifted(datetime.datetime):
    @classmethod
    def now(cls, tz=None):
        return super().now(tz) + datetime.timedelta(seconds=shift())

time.time = lambda: now() + shift()
time.time_ns = lambda: now_ns() + 10**9 * shift()
datetime.datetime = Shifted
"""

Trial = Callable[[Path, int], Mapping[str, object]]


class FaultError(Exception):
    """Something was lost, done twice or left running."""


def require(condition: object, problem: str) -> None:
    """Raise an error unless a condition holds."""
    if not condition:
        raise FaultError(problem)


class SmallStudy:
    """Commands in a folder, with a mark in the environment of all their processes.

    Args:
        folder: Empty folder for the program.
        engine: Engine of the study.
        prefix: Program that starts the commands.
        program: Program that all processes run first.
    """

    def __init__(
        self,
        folder: Path,
        engine: str = "processes",
        *,
        prefix: Sequence[str] = (),
        program: str = "",
    ) -> None:
        self.folder, self.engine = folder, engine
        self.store = folder / "runs"
        self.mark = f"{MARK}-{uuid4().hex}"
        self._prefix = prefix
        self._environment = os.environ | {MARK: self.mark}
        self._environment |= hide_torch(folder / "site", program=program)
        for name, text in (("work.py", MODULE), ("model.py", MODEL)):
            (folder / name).write_text(text, encoding="utf-8")

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        """Kill what a failed trial has left."""
        for pid in processes_with(self.mark):
            with suppress(ProcessLookupError):
                os.kill(pid, signal.SIGKILL)

    def start(self, *words: str) -> "subprocess.Popen[str]":
        """Start a command; if omitted, the study."""
        program = COMMAND
        if not words and self.engine == "slurm":
            program = LOCAL_JOBS.format(n_runs=N_RUNS)
        elif not words:
            workers = () if self.engine == "serial" else ("--workers", "2")
            settings = ("--seeds", str(N_RUNS), "--engine", self.engine, *workers)
            words = ("run", "work:train", "--store", str(self.store), *settings)
        with (self.folder / "messages").open("w", encoding="utf-8") as messages:
            return subprocess.Popen(
                [*self._prefix, sys.executable, "-c", program, *words],
                cwd=self.folder,
                stdout=subprocess.DEVNULL,
                stderr=messages,
                env=self._environment,
                text=True,
            )

    def end(self, process: "subprocess.Popen[str]", *codes: int) -> int:
        """Wait for a command, which must return one of some exit codes without a traceback."""
        code = process.wait(300)
        messages = (self.folder / "messages").read_text(encoding="utf-8")
        require("Traceback" not in messages, messages)
        require(code in codes, f"exit code {code}: {messages}")
        return code

    def began(self) -> Counter[str]:
        """Count the starts of each run."""
        path = self.folder / "began"
        return Counter(path.read_text(encoding="utf-8").split() if path.exists() else [])

    def commits(self) -> dict[str, tuple[int, int]]:
        """Return inode and time of the commit of each run."""
        states = {path.parent.name: path.stat() for path in self.store.glob("runs/*/run.json")}
        return {name: (state.st_ino, state.st_mtime_ns) for name, state in states.items()}

    def finished(self) -> list[RunManifest]:
        """Return the finished runs."""
        runs = Location.of(self.store / "runs")
        return [RunManifest.load(runs / name) for name in self.commits()]

    def processes(self, coordinator: int) -> dict[str, list[int]]:
        """Return the processes of each role."""
        known: dict[int, tuple[int, bool]] = {}  # parent, and whether it runs a task
        for pid in processes_with(self.mark):
            with suppress(OSError):
                status = Path(f"/proc/{pid}/stat").read_text(encoding="utf-8").rpartition(")")[2]
                command = Path(f"/proc/{pid}/cmdline").read_bytes()
                known[pid] = int(status.split()[1]), b"seedproof.engines.child" in command
        tasks = {pid: parent for pid, (parent, is_task) in known.items() if is_task}
        guardians = [pid for pid, parent in tasks.items() if parent in tasks]
        workers = [pid for pid in tasks if pid not in guardians]
        agents = {tasks[pid] for pid in workers} - {coordinator}
        return {
            "coordinator": [coordinator],
            "worker": workers,
            "guardian": guardians,
            "agent": sorted(agents & known.keys()),
        }

    def require_no_process(self, *, within: float = 5.0) -> None:
        """Check that all processes end soon."""
        is_over = becomes_true(lambda: not processes_with(self.mark), within=within)
        require(is_over, f"orphans: {[_command(pid) for pid in processes_with(self.mark)]}")

    def require_no_training(self, coordinator: int) -> None:
        """Check that workers and guardians end soon."""

        def are_over() -> bool:
            processes = self.processes(coordinator)
            return not processes["worker"] and not processes["guardian"]

        require(becomes_true(are_over, within=15), "a training goes on without its coordinator")

    def check(self, before: Mapping[str, tuple[int, int]], *, n_lost: int) -> None:
        """Check a finished study, of which some runs were committed and some lost before."""
        self.require_no_process(within=15)
        commits, began = self.commits(), self.began()
        require(commits.items() >= before.items(), "a finished run is lost or was made again")
        names = sorted(run.name for run in self.finished())
        require(names == [str(seed) for seed in range(N_RUNS)], f"finished: {names}")
        require(N_RUNS <= began.total() <= N_RUNS + n_lost, f"began: {dict(began)}")
        held = [path for path in self.folder.rglob(LOCK_FILE) if is_held(path)]
        require(not held, f"stale locks: {held}")
        require(summary(self.store) == undisturbed_summary(), "another summary.json")


def _command(pid: int) -> str:
    """Return the command line of a process; "" if it has ended."""
    with suppress(OSError):
        words = Path(f"/proc/{pid}/cmdline").read_bytes().replace(b"\0", b" ")
        return words.decode(errors="replace").strip()
    return ""


def summary(store: Path) -> bytes:
    """Return the bytes of `summary.json`."""
    with TemporaryDirectory(prefix="seedproof-faults-") as folder:
        sp.measure(store).save(folder)
        return (Path(folder) / "summary.json").read_bytes()


@cache
def undisturbed_summary() -> bytes:
    """Return the `summary.json` of a study without faults."""
    with TemporaryDirectory(prefix="seedproof-faults-") as folder:
        program: dict[str, Any] = {}
        exec(MODEL, program)  # noqa: S102 - ours, see above
        study = sp.Study("work.train", program["predictions"], seeds=N_RUNS, store=folder)
        require(study.run("serial", progress=False).is_done, "an undisturbed study fails")
        return summary(Path(folder))


def kill(engine: str, role: str) -> Trial:
    """Return a trial that kills a process of a study, and repeats the command if it ended."""

    def trial(folder: Path, number: int) -> Mapping[str, object]:
        rng = np.random.default_rng(number)
        with SmallStudy(folder, engine) as study:
            process = study.start()
            require(becomes_true(study.began, within=120), "nothing began")
            time.sleep(rng.uniform(0, 1))
            killed: dict[str, list[int]] = {}

            def is_killed() -> bool:
                processes = study.processes(process.pid)
                with suppress(ProcessLookupError):  # it may have ended by itself
                    for victim in rng.permutation(processes[role])[:1]:
                        os.kill(int(victim), signal.SIGKILL)
                        killed.update(processes)
                return bool(killed)

            require(becomes_true(is_killed), f"no {role}")
            before = study.commits()
            if role == "coordinator":
                process.wait()
                if engine != "slurm":  # whose jobs go on
                    study.require_no_training(process.pid)
                # Agents of Ray wait for their dead coordinator for about a minute.
                study.require_no_process(within={"ray": 120, "slurm": 60}.get(engine, 15))
                process = study.start()
            study.end(process, 0)
            study.check(before, n_lost=max(1, len(killed["worker"])))
        return {"engine": engine, "victim": role, "n_finished": len(before)}

    return trial


def kill_guardians_and_coordinator(folder: Path, number: int) -> Mapping[str, object]:
    """Kill all guardians of a study, then its coordinator; workers must not go on."""
    rng = np.random.default_rng(number)
    with SmallStudy(folder) as study:
        process = study.start()
        require(becomes_true(study.began, within=120), "nothing began")
        time.sleep(rng.uniform(0, 1))
        processes, before = study.processes(process.pid), study.commits()
        for pid in (*processes["guardian"], process.pid):
            with suppress(ProcessLookupError):
                os.kill(pid, signal.SIGKILL)
        process.wait()
        study.require_no_process()
        study.end(study.start(), 0)
        study.check(before, n_lost=2)
    return {"engine": "processes", "victim": "guardians, coordinator", "n_finished": len(before)}


def delete_store(engine: str) -> Trial:
    """Return a trial that deletes the store during a study; the repeated command trains all runs."""

    def trial(folder: Path, number: int) -> Mapping[str, object]:
        with SmallStudy(folder, engine) as study:
            process = study.start()
            require(becomes_true(lambda: len(study.commits()) > number % 3, within=120), "no run")
            n_before = study.began().total()
            while study.store.exists():  # workers may create files meanwhile
                shutil.rmtree(study.store, ignore_errors=True)
            code = study.end(process, 2, 4)
            n_began = study.began().total()
            study.require_no_process()
            study.end(study.start(), 0)
            study.check({}, n_lost=n_began)
        return {"engine": engine, "exit_code": code, "n_began": n_before}

    return trial


def lose_permission(engine: str) -> Trial:
    """Return a trial that forbids new files in the store, or in the folders of its runs."""

    def trial(folder: Path, number: int) -> Mapping[str, object]:
        with SmallStudy(folder, engine, prefix=without_privileges()) as study:
            process = study.start()
            require(becomes_true(study.commits, within=120), "no run is finished")
            time.sleep(np.random.default_rng(number).uniform(0, 0.5))
            runs = study.store / "runs"
            places = [study.store, runs] if number % 2 else list(runs.iterdir())
            for place in places:
                place.chmod(0o555)
            before = study.commits()
            code = study.end(process, 0, 2, 4)
            study.require_no_process()
            require(code or len(study.commits()) == N_RUNS, "a success with runs missing")
            for place in places:
                place.chmod(0o755)
            n_lost = study.began().total() - len(study.commits())
            study.end(study.start(), 0)
            study.check(before, n_lost=n_lost)
        return {"engine": engine, "exit_code": code, "n_finished": len(before)}

    return trial


def jump_in_time(engine: str) -> Trial:
    """Return a trial that moves the clock by a day during a study, back or forward, and back again."""

    def trial(folder: Path, number: int) -> Mapping[str, object]:
        clock = folder / "clock"
        clock.write_text("0", encoding="utf-8")
        seconds = DAY_SECONDS if number % 2 else -DAY_SECONDS
        with SmallStudy(folder, engine, program=CLOCK.format(path=str(clock))) as study:
            process = study.start()
            require(becomes_true(study.began, within=120), "nothing began")
            time.sleep(np.random.default_rng(number).uniform(0, 1))
            clock.write_text(str(seconds), encoding="utf-8")
            require(becomes_true(lambda: study.began().total() > 2, within=120), "nothing goes on")
            clock.write_text("0", encoding="utf-8")
            study.end(process, 0)
            before = study.commits()
            study.end(study.start(), 0)
            study.check(before, n_lost=0)
        return {"engine": engine, "seconds": seconds}

    return trial


def fill_disk(engine: str) -> Trial:
    """Return a trial on a disk with room for a few blocks, which is then made larger."""

    def trial(folder: Path, number: int) -> Mapping[str, object]:
        with small_disk(folder / "disk") as disk, SmallStudy(folder, engine) as study:
            study.store = disk / "runs"
            ballast = fill(disk, except_blocks=number % N_DISK_POINTS)
            code = study.end(study.start(), 0, 2, 4)
            study.require_no_process()
            before, n_lost = study.commits(), study.began().total() - len(study.commits())
            ballast.unlink()
            study.end(study.start(), 0)
            study.check(before, n_lost=n_lost)
        return {"engine": engine, "exit_code": code, "n_finished": len(before)}

    return trial


def fill_disk_of_ingest(folder: Path, number: int) -> Mapping[str, object]:
    """Ingest a table on a disk with room for a few blocks, which is then made larger."""
    table = folder / "table.csv"
    rng = np.random.default_rng(0)
    lines = [f"{run},{i},{i % 2},{p:.3f}" for run in range(5) for i, p in enumerate(rng.random(40))]
    table.write_text("\n".join(["run,example,label,p_1", *lines]) + "\n", encoding="utf-8")
    with small_disk(folder / "disk") as disk, SmallStudy(folder) as study:
        words = ("ingest", str(table), "--out", str(disk / "store"))
        ballast = fill(disk, except_blocks=number % N_DISK_POINTS)
        code = study.end(study.start(*words), 0, 2)
        ballast.unlink()
        if code:
            study.end(study.start(*words), 0)
        study.require_no_process()
        left = {path.name for path in (disk / "store").iterdir()}
        require(left == {"runs", "study.json"}, f"left: {left}")
        require(summary(disk / "store") == summary(table), "another summary.json")
    return {"exit_code": code}


def use_read_only_store(folder: Path, _: int) -> Mapping[str, object]:
    """Read a finished store on a read-only disk, and refuse to add runs until it is writable."""
    with small_disk(folder / "disk") as disk, SmallStudy(folder) as study:
        study.store = disk / "runs"
        study.end(study.start(), 0)
        before = study.commits()
        mount("-o", "remount,ro", str(disk))
        study.end(study.start(), 0)
        study.end(study.start("measure", str(study.store)), 0)
        more = ("run", "work:train", "--store", str(study.store), "--arms", "ema")
        study.end(study.start(*more), 2)
        study.check(before, n_lost=0)
        mount("-o", "remount,rw", str(disk))
        study.end(study.start(*more, "--seeds", "1"), 0)
        require(len(study.commits()) == N_RUNS + 1, "the arm was not added")
        require(study.commits().items() >= before.items(), "a finished run is lost")
    return {}


def without_privileges() -> Sequence[str]:
    """Return a program that starts a command to which permissions apply, even for root."""
    if os.geteuid() != 0:
        return ()
    return ("setpriv", "--bounding-set=-dac_override,-dac_read_search", "--")


def can_mount() -> bool:
    """Return whether this process may mount a disk."""
    status = Path("/proc/self/status").read_text(encoding="utf-8")
    capabilities = re.search(r"CapEff:\s*(\w+)", status)
    return capabilities is not None and bool(int(capabilities[1], 16) >> 21 & 1)


def mount(*words: str) -> None:
    """Mount a disk, or change a mounted one."""
    subprocess.run(["/bin/mount", *words], check=True)


@contextmanager
def small_disk(folder: Path) -> Iterator[Path]:
    """Mount a small disk in memory."""
    folder.mkdir()
    mount("-t", "tmpfs", "-o", f"size={DISK_BYTES}", "seedproof-faults", str(folder))
    try:
        yield folder
    finally:
        subprocess.run(["/bin/umount", "--lazy", str(folder)], check=True)


def fill(disk: Path, *, except_blocks: int) -> Path:
    """Fill a disk except for some blocks, and return the file that does it."""
    path, status = disk / "ballast", os.statvfs(disk)
    with path.open("wb") as file:
        os.posix_fallocate(file.fileno(), 0, (status.f_bavail - except_blocks) * status.f_bsize)
    return path
