"""Kill the coordinator of a study repeatedly and check that every run is done exactly once.

    python benchmarks/kill_and_resume.py [--runs 200] [--kills 5] [--seed 0]

A study of small torch trainings runs with the engine `processes`. Only its coordinator is killed
with SIGKILL, at random times, and restarted. At the end the store must contain each run exactly
once, no process may be left, and `summary.json` must be identical to that of an undisturbed study,
which runs in one process with the engine `serial`.
"""

import argparse
import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path
from tempfile import TemporaryDirectory

import numpy as np

import seedproof as sp

MARKER = "SEEDPROOF_KILL_AND_RESUME"


def train(run: sp.Run) -> None:
    """Train a small classifier for a fraction of a second."""
    import torch

    examples = torch.randn(600, 10, generator=torch.Generator().manual_seed(0))
    labels = (examples[:, 0] * examples[:, 1] > 0).long()
    with run.seeded("init"):
        model = torch.nn.Sequential(
            torch.nn.Linear(10, 32), torch.nn.Tanh(), torch.nn.Linear(32, 2)
        )
    optimizer = torch.optim.Adam(model.parameters(), lr=0.01)
    for _ in range(3):
        order = torch.randperm(400, generator=run.torch_generator("order"))
        for batch in order.split(20):
            loss = torch.nn.functional.cross_entropy(model(examples[batch]), labels[batch])
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
    run.log_predictions("test", probs=model(examples[400:]).softmax(-1), labels=labels[400:])


def coordinate(store: str, n_runs: int) -> None:
    """Run the unfinished part of the study."""
    sp.Study("killed", train, seeds=n_runs, store=store).run("processes", workers=2)


def start(store: Path, n_runs: int) -> "subprocess.Popen[bytes]":
    """Start a coordinator in a new process."""
    return subprocess.Popen(
        [sys.executable, __file__, "--coordinate", str(store), "--runs", str(n_runs)],
        env=os.environ | {MARKER: str(store)},
        stderr=subprocess.DEVNULL,
    )


def left_over(store: Path) -> list[int]:
    """Return the ids of processes that a coordinator of this store has started."""
    pids = []
    for environ in Path("/proc").glob("[0-9]*/environ"):
        try:
            if f"{MARKER}={store}".encode() in environ.read_bytes().split(b"\0"):
                pids.append(int(environ.parent.name))
        except OSError:
            continue
    return pids


def run_disturbed(store: Path, n_runs: int, n_kills: int, rng: np.random.Generator) -> None:
    """Kill and restart the coordinator several times, then let it finish."""
    runs = store / "runs"
    kill_points = np.sort(rng.choice(np.arange(5, n_runs - 5), n_kills, replace=False))
    for n_finished in kill_points:
        coordinator = start(store, n_runs)
        while len(list(runs.glob("*/run.json"))) < n_finished:
            if coordinator.poll() is not None:
                raise SystemExit("the coordinator ended before it was killed")
            time.sleep(0.05)
        time.sleep(float(rng.uniform(0, 3)))
        n_processes = len(left_over(store))
        os.kill(coordinator.pid, signal.SIGKILL)
        coordinator.wait()
        killed_at = time.monotonic()
        while left_over(store):
            if time.monotonic() - killed_at > 10:
                raise SystemExit(f"orphaned processes: {left_over(store)}")
            time.sleep(0.02)
        n_done = len(list(runs.glob("*/run.json")))
        print(
            f"killed at {n_done} of {n_runs} runs with {n_processes} processes; "
            f"the last process ended after {time.monotonic() - killed_at:.2f} s",
            flush=True,
        )
    if start(store, n_runs).wait() != 0:
        raise SystemExit("the last coordinator failed")


def main() -> None:
    """Compare a disturbed study with an undisturbed one."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--runs", type=int, default=200)
    parser.add_argument("--kills", type=int, default=5)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--coordinate")
    options = parser.parse_args()
    if options.coordinate:
        coordinate(options.coordinate, options.runs)
        return
    with TemporaryDirectory() as folder:
        killed, undisturbed = Path(folder) / "killed", Path(folder) / "undisturbed"
        run_disturbed(killed, options.runs, options.kills, np.random.default_rng(options.seed))
        study = sp.Study("killed", train, seeds=options.runs, store=undisturbed)
        study.run("serial", progress=False)
        names = [json.loads(p.read_text())["name"] for p in killed.glob("runs/*/run.json")]
        if sorted(names, key=int) != [str(index) for index in range(options.runs)]:
            raise SystemExit(f"{len(names)} runs in the store, {len(set(names))} of them distinct")
        if left_over(killed) or left_over(undisturbed):
            raise SystemExit("processes are left")
        if sp.measure(killed).to_json() != sp.measure(undisturbed).to_json():
            raise SystemExit("the summaries differ")
        print(f"{len(names)} runs, each finished once; no orphaned processes; equal summary.json")


if __name__ == "__main__":
    main()
