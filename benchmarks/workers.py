"""What do workers gain, and what does comparing cost?

    python benchmarks/workers.py [--part small|compare|processes|ray] [--scale 1.0] [--repeat 3]

Four parts, each of which prints a line. Steps take turns, each in a process of its own with its
modules loaded; the best of all rounds counts, as seconds by the clock and of CPU.

- `small`: two arms of 10 runs × 5,000 × 3 in memory: comparing them, against measuring both.
- `compare`: two arms of 10 runs × 500,000 × 3 in stores: serially, with one worker, with two.
- `processes`: 20 runs × 400,000 × 10: measured serially, and by two processes.
- `ray`: the same on Ray with two workers, against bare tasks that read the same columns and compute
  the same kernels; Ray runs already when the clock starts.
"""

import argparse
import json
import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path

import numpy as np
from measure import write_store
from scale import one_step as ray_step

import seedproof as sp

ARMS = ("base", "arm")
Shape = tuple[int, int, int]
Found = dict[str, float]


def drawn(shape: Shape, seed: int) -> np.ndarray:
    """Probabilities of runs that share most of what they say."""
    logits = 4 * np.random.default_rng(0).normal(size=(1, *shape[1:]))
    logits = logits + np.random.default_rng([1, seed]).normal(size=shape)
    raised = np.exp(logits - logits.max(axis=2, keepdims=True))
    return (raised / raised.sum(axis=2, keepdims=True)).astype(np.float32)


def timed(work: Callable[[], object]) -> Found:
    """Seconds that some work takes, of this process and of those that it started."""
    before, start = os.times(), time.perf_counter()
    work()
    seconds, after = time.perf_counter() - start, os.times()
    return {"seconds": seconds, "cpu": sum(after[:4]) - sum(before[:4])}


def one_step(step: str, folder: Path, shape: Shape) -> Found:
    """Do one step in this process, after its modules are loaded."""
    part, _, how = step.partition(" ")
    if part == "ray":
        found = ray_step(how, folder / "base", shape, 0)
        return {"seconds": found["seconds"], "cpu": 0.0}
    sp.measure([[0, 1], [1, 1]])
    _ = sp.compare  # loads its module; what comparing loads later counts
    arms = {name: folder / name for name in ARMS}
    if part == "small":
        arrays = {name: drawn(shape, seed) for seed, name in enumerate(ARMS)}
        if how == "measure":
            return timed(lambda: [sp.measure(one) for one in arrays.values()])
        return timed(lambda: sp.compare(arrays))
    engine = {} if how == "serial" else {"engine": "processes", "workers": int(how)}
    if part == "compare":
        return timed(lambda: sp.compare(arms, **engine))
    return timed(lambda: sp.measure(arms["base"], **engine))


def alone(step: str, folder: Path, shape: Shape) -> Found:
    """One step in a process of its own, on one thread."""
    command = [sys.executable, __file__, "--step", step, "--folder", str(folder)]
    command += ["--shape", *map(str, shape)]
    output = subprocess.check_output(command, env=os.environ | {"OMP_NUM_THREADS": "1"})
    found: Found = json.loads(output.splitlines()[-1])
    return found


# What each part does, the reference first; and its shape.
PARTS: dict[str, tuple[tuple[str, ...], Shape]] = {
    "small": (("measure", "compare"), (10, 5_000, 3)),
    "compare": (("serial", "1", "2"), (10, 500_000, 3)),
    "processes": (("serial", "2"), (20, 400_000, 10)),
    "ray": (("kernels", "measure"), (20, 400_000, 10)),
}


def do_part(part: str, folder: Path, scale: float, repeat: int) -> None:
    """Write what a part reads, take turns, print a line."""
    steps, (n_runs, n_examples, n_classes) = PARTS[part]
    shape = (n_runs, n_examples if part == "small" else int(n_examples * scale), n_classes)
    for seed, arm in enumerate(ARMS[: {"small": 0, "compare": 2}.get(part, 1)]):
        write_store(folder / arm, *shape, seed=seed)
    rounds = [{one: alone(f"{part} {one}", folder, shape) for one in steps} for _ in range(repeat)]
    best = {
        one: {clock: min(row[one][clock] for row in rounds) for clock in ("seconds", "cpu")}
        for one in steps
    }
    listed = "; ".join(
        f"{one} {best[one]['seconds']:.2f} s (CPU {best[one]['cpu']:.2f} s, "
        f"{best[one]['seconds'] / best[steps[0]]['seconds']:.2f} of {steps[0]})"
        for one in steps
    )
    print(f"{part}: {shape[0]} × {shape[1]:,} × {shape[2]}: {listed}", flush=True)


def main() -> None:
    """One part or all of them."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--part", choices=PARTS)
    parser.add_argument("--scale", type=float, default=1.0, help="share of the examples")
    parser.add_argument("--repeat", type=int, default=3)
    parser.add_argument("--folder", type=Path, help="on a disk with room; a temporary one without")
    parser.add_argument("--step", help=argparse.SUPPRESS)
    parser.add_argument("--shape", type=int, nargs=3, help=argparse.SUPPRESS)
    given = parser.parse_args()
    if given.step:
        print(json.dumps(one_step(given.step, given.folder, tuple(given.shape))))
        return
    for part in PARTS:
        if given.part in {None, part}:
            with tempfile.TemporaryDirectory(dir=given.folder, prefix="workers-") as folder:
                do_part(part, Path(folder), given.scale, given.repeat)


if __name__ == "__main__":
    main()
