"""What a study costs beside the trainings: against bare loops that do the same in fresh processes.

    python benchmarks/overhead.py [--runs 40] [--seconds 2] [--engines processes,ray]

Both sides start a fresh process for each training, import torch, train for about two seconds with
one thread, and write the same predictions as Parquet. They take turns, so that both meet the same
noise; what is reported is the ratio of their wall times.
"""

import argparse
import time
from collections.abc import Callable
from concurrent.futures import ProcessPoolExecutor
from multiprocessing import get_context
from pathlib import Path
from tempfile import TemporaryDirectory

import seedproof as sp

N_TURNS = 4
N_EXAMPLES = 2000


def train(seed: int, seconds: float) -> "tuple[object, object]":
    """Train a small network for a fixed time; probabilities and labels of a test set."""
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


def bare(seed: int, seconds: float, folder: str) -> None:
    """The same without seedproof: seed, train, write."""
    import pyarrow as pa
    import pyarrow.parquet as pq
    import torch

    torch.set_num_threads(1)
    torch.manual_seed(seed)  # noqa: TID251 - what people write without seedproof
    probs, labels = train(seed, seconds)
    columns = {
        "example": pa.array(range(N_EXAMPLES)),
        "label": pa.array(labels.numpy()),
        "probs": pa.array(list(probs.numpy())),
    }
    pq.write_table(pa.table(columns), f"{folder}/{seed}.parquet")


class Training:
    """The same with seedproof.

    Args:
        seconds: How long a training takes.
    """

    def __init__(self, seconds: float) -> None:
        self.seconds = seconds

    def __call__(self, run: sp.Run) -> None:
        """Train and log."""
        probs, labels = train(run.seed, self.seconds)
        run.log_predictions("test", probs=probs, labels=labels)


def bare_processes(n_runs: int, seconds: float, folder: Path) -> None:
    """A loop over a pool whose processes do one task each."""
    context = get_context("spawn")
    with ProcessPoolExecutor(2, mp_context=context, max_tasks_per_child=1) as pool:
        waiting = [pool.submit(bare, seed, seconds, str(folder)) for seed in range(n_runs)]
        for one in waiting:
            one.result()


def bare_ray(n_runs: int, seconds: float, folder: Path) -> None:
    """Ray tasks whose worker processes do one task each."""
    import ray

    task = ray.remote(max_calls=1, num_cpus=1)(bare)
    ray.get([task.remote(seed, seconds, str(folder)) for seed in range(n_runs)])


def studied(engine: str) -> Callable[[int, float, Path], None]:
    """A study of as many runs."""

    def go(n_runs: int, seconds: float, folder: Path) -> None:
        study = sp.Study("overhead", Training(seconds), seeds=n_runs, store=folder / "runs")
        workers = 2 if engine == "processes" else None
        status = study.run(engine, workers=workers, progress=False)
        if not status.is_done:
            raise SystemExit(str(status))

    return go


def compare(engine: str, n_runs: int, seconds: float) -> None:
    """Take turns, and report the ratio."""
    bares = {"processes": bare_processes, "ray": bare_ray}
    sides = {"bare": bares[engine], "seedproof": studied(engine)}
    total = dict.fromkeys(sides, 0.0)
    for turn in range(N_TURNS):
        # Whoever goes first meets a colder machine: they change places.
        for name in sorted(sides, reverse=bool(turn % 2)):
            with TemporaryDirectory() as folder:
                began = time.perf_counter()
                sides[name](n_runs // N_TURNS, seconds, Path(folder))
                total[name] += time.perf_counter() - began
    ratio = total["seedproof"] / total["bare"]
    print(
        f"{engine}: {n_runs} runs of {seconds:g} s; bare {total['bare']:.1f} s, "
        f"seedproof {total['seedproof']:.1f} s, ratio {ratio:.3f}",
        flush=True,
    )


def main() -> None:
    """Compare on each engine."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--runs", type=int, default=40)
    parser.add_argument("--seconds", type=float, default=2.0)
    parser.add_argument("--engines", default="processes,ray")
    choice = parser.parse_args()
    for engine in choice.engines.split(","):
        if engine == "ray":
            import ray

            ray.init(num_cpus=2, include_dashboard=False, log_to_driver=False)
        compare(engine, choice.runs, choice.seconds)


if __name__ == "__main__":
    main()
