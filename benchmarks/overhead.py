"""Overhead of a study, compared with plain loops that train in fresh processes.

    python benchmarks/overhead.py [--runs 40] [--seconds 2] [--engines processes,ray]
    python benchmarks/overhead.py --sync [--runs 40] [--seconds 1] [--rows 2000000]

Both start a fresh process per training, import torch, train for about two seconds with one thread,
and write the same predictions as Parquet. They take turns, so that load on the machine affects both
alike. The ratio of their wall times is printed.

With `--sync`, a study and an ingest are compared with the same without forcing anything to the
disk: the cost of surviving a power failure. The time inside of the calls is printed, too, because
on a busy machine the ratio of two wall times is noisy.
"""

import argparse
import os
import time
from collections.abc import Callable
from concurrent.futures import ProcessPoolExecutor
from multiprocessing import get_context
from pathlib import Path
from tempfile import TemporaryDirectory
from threading import current_thread, main_thread
from typing import Self

import numpy as np

import seedproof as sp
from seedproof.records import durability, resumable_ingest

N_TURNS = 4
N_EXAMPLES = 2000


def train(seed: int, seconds: float) -> "tuple[object, object]":
    """Train a small network for a fixed time; return probabilities and labels of a test set."""
    import torch

    generator = torch.Generator().manual_seed(0)
    examples = torch.randn(N_EXAMPLES, 64, generator=generator)
    labels = (examples[:, :8].sum(dim=1) > 0).long()
    model = torch.nn.Sequential(torch.nn.Linear(64, 128), torch.nn.ReLU(), torch.nn.Linear(128, 2))
    optimizer = torch.optim.Adam(model.parameters(), lr=1e-3)
    order = torch.Generator().manual_seed(seed)
    end = time.perf_counter() + seconds
    while time.perf_counter() < end:
        batch = torch.randint(0, N_EXAMPLES, (64,), generator=order)
        loss = torch.nn.functional.cross_entropy(model(examples[batch]), labels[batch])
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
    return model(examples).softmax(dim=-1).detach(), labels


def train_plain(seed: int, seconds: float, folder: str) -> None:
    """Seed, train and write predictions without seedproof."""
    import pyarrow as pa
    import pyarrow.parquet as pq
    import torch

    torch.set_num_threads(1)
    torch.manual_seed(seed)  # noqa: TID251 - usual code without seedproof
    probs, labels = train(seed, seconds)
    columns = {
        "example": pa.array(range(N_EXAMPLES)),
        "label": pa.array(labels.numpy()),
        "probs": pa.array(list(probs.numpy())),
    }
    pq.write_table(pa.table(columns), f"{folder}/{seed}.parquet")


class Training:
    """Training function for a study of seedproof.

    Args:
        seconds: Duration of a training.
        is_synced: Whether its commit is forced to the disk.
    """

    def __init__(self, seconds: float, *, is_synced: bool = True) -> None:
        self.seconds = seconds
        self.is_synced = is_synced

    def __call__(self, run: sp.Run) -> None:
        """Train and log the predictions."""
        if not self.is_synced:
            durability.sync = lambda _: None
        probs, labels = train(run.seed, self.seconds)
        run.log_predictions("test", probs=probs, labels=labels)


def run_pool(n_runs: int, seconds: float, folder: Path) -> None:
    """Train in a pool whose processes run one task each."""
    context = get_context("spawn")
    with ProcessPoolExecutor(2, mp_context=context, max_tasks_per_child=1) as pool:
        futures = [pool.submit(train_plain, seed, seconds, str(folder)) for seed in range(n_runs)]
        for future in futures:
            future.result()


def run_ray_tasks(n_runs: int, seconds: float, folder: Path) -> None:
    """Train in Ray tasks whose worker processes run one task each."""
    import ray

    task = ray.remote(max_calls=1, num_cpus=1)(train_plain)
    ray.get([task.remote(seed, seconds, str(folder)) for seed in range(n_runs)])


def study_runner(engine: str) -> Callable[[int, float, Path], None]:
    """Return a function that runs a study on an engine."""

    def run_study(n_runs: int, seconds: float, folder: Path) -> None:
        study = sp.Study("overhead", Training(seconds), seeds=n_runs, store=folder / "runs")
        workers = 2 if engine == "processes" else None
        status = study.run(engine, workers=workers, progress=False)
        if not status.is_done:
            raise SystemExit(str(status))

    return run_study


class SyncClock:
    """Counts the seconds that this process waits for the disk."""

    def __init__(self, *, is_synced: bool) -> None:
        self.seconds = 0.0
        self._is_synced = is_synced
        self._sync, self._finish = durability.sync, durability.Syncs.__exit__

    def __call__(self, path: Path) -> None:
        """Force a path to the disk; the main thread does not wait for the others."""
        start = time.perf_counter()
        if self._is_synced:
            self._sync(path)
        if current_thread() is main_thread():
            self.seconds += time.perf_counter() - start

    def __enter__(self) -> Self:
        def finish(syncs: durability.Syncs, *given: object) -> None:
            start = time.perf_counter()
            self._finish(syncs, *given)
            self.seconds += time.perf_counter() - start

        durability.sync = resumable_ingest.sync = self
        durability.Syncs.__exit__ = finish
        return self

    def __exit__(self, *_: object) -> None:
        durability.sync = resumable_ingest.sync = self._sync
        durability.Syncs.__exit__ = self._finish


def run_synced(n_runs: int, seconds: float, folder: Path, *, is_synced: bool) -> None:
    """Run a study on two processes."""
    training = Training(seconds, is_synced=is_synced)
    with SyncClock(is_synced=is_synced):
        study = sp.Study("sync", training, seeds=n_runs, store=folder / "runs")
        if not study.run("processes", workers=2, progress=False).is_done:
            raise SystemExit("some runs failed")


def compare_study_syncs(n_runs: int, seconds: float) -> None:
    """Print what a study costs with and without forcing its commits to the disk."""
    total = {True: 0.0, False: 0.0}
    for turn in range(N_TURNS):
        for is_synced in (True, False) if turn % 2 else (False, True):
            with TemporaryDirectory() as folder:
                start = time.perf_counter()
                run_synced(n_runs // N_TURNS, seconds, Path(folder), is_synced=is_synced)
                total[is_synced] += time.perf_counter() - start
    ratio = total[True] / total[False]
    print(f"study: {n_runs} runs of {seconds:g} s; ratio of synced to unsynced {ratio:.3f}")
    with TemporaryDirectory() as folder, SyncClock(is_synced=True) as clock:
        training = Training(0.0)
        study = sp.Study("sync", training, seeds=n_runs, store=Path(folder) / "runs")
        study.run("serial", progress=False)
    per_run = clock.seconds / n_runs
    print(f"study: {1000 * per_run:.1f} ms of each run, {per_run / seconds:.1%} of {seconds:g} s")


def compare_ingest_syncs(n_rows: int) -> None:
    """Print what an ingest costs with and without forcing its commits to the disk."""
    with TemporaryDirectory() as name:
        folder = Path(name)
        rng, n_runs = np.random.default_rng(0), 10
        with (folder / "table.csv").open("w", encoding="utf-8") as file:
            file.write("run,example,label,p_0,p_1\n")
            for example in range(n_rows // n_runs):
                for run, p in enumerate(rng.random(n_runs)):
                    file.write(f"{run},{example},{example % 2},{p:.6f},{1 - p:.6f}\n")
        total, inside = {True: 0.0, False: 0.0}, 0.0
        for turn in range(N_TURNS):
            for is_synced in (True, False) if turn % 2 else (False, True):
                store = folder / f"store-{turn}-{is_synced}"
                os.sync()  # otherwise the writes of the previous turn are done in this one
                start = time.perf_counter()
                with SyncClock(is_synced=is_synced) as clock:
                    resumable_ingest.ingest_tables([folder / "table.csv"], store)
                total[is_synced] += time.perf_counter() - start
                inside += clock.seconds if is_synced else 0.0
    share = inside / total[True]
    print(
        f"ingest: {n_rows:,} rows in {total[True] / N_TURNS:.1f} s; ratio of synced to unsynced "
        f"{total[True] / total[False]:.3f}, {share:.1%} of the time in syncs"
    )


def compare(engine: str, n_runs: int, seconds: float) -> None:
    """Run both variants in turns and print the ratio of their times."""
    plain = {"processes": run_pool, "ray": run_ray_tasks}
    variants = {"bare": plain[engine], "seedproof": study_runner(engine)}
    total = dict.fromkeys(variants, 0.0)
    for turn in range(N_TURNS):
        # The first variant runs on a colder machine, so the order alternates.
        for name in sorted(variants, reverse=bool(turn % 2)):
            with TemporaryDirectory() as folder:
                start = time.perf_counter()
                variants[name](n_runs // N_TURNS, seconds, Path(folder))
                total[name] += time.perf_counter() - start
    ratio = total["seedproof"] / total["bare"]
    print(
        f"{engine}: {n_runs} runs of {seconds:g} s; bare {total['bare']:.1f} s, "
        f"seedproof {total['seedproof']:.1f} s, ratio {ratio:.3f}",
        flush=True,
    )


def main() -> None:
    """Compare both variants on each engine."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--runs", type=int, default=40)
    parser.add_argument("--seconds", type=float, default=2.0)
    parser.add_argument("--engines", default="processes,ray")
    parser.add_argument("--sync", action="store_true")
    parser.add_argument("--rows", type=int, default=2_000_000)
    options = parser.parse_args()
    if options.sync:
        compare_study_syncs(options.runs, options.seconds)
        compare_ingest_syncs(options.rows)
        return
    for engine in options.engines.split(","):
        if engine == "ray":
            import ray

            ray.init(num_cpus=2, include_dashboard=False, log_to_driver=False)
        compare(engine, options.runs, options.seconds)


if __name__ == "__main__":
    main()
