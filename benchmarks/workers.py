"""Speedup from workers, and time to compare two arms.

    python benchmarks/workers.py [--part small|compare|processes|ray] [--scale 1.0] [--repeat 3]

Each of the four parts prints one line. Steps take turns, each in its own process; loading modules
is not timed. The best wall and CPU seconds of all rounds are printed.

- `small`: two arms of 10 runs × 5,000 × 3 in memory are compared; the reference is measuring both.
- `compare`: two arms of 10 runs × 500,000 × 3 in stores are compared serially, with one worker, and
  with two.
- `processes`: 20 runs × 400,000 × 10 are measured serially, and with two processes.
- `ray`: the same study is measured on Ray with two workers; the reference is bare tasks that read
  the same columns and compute the same kernels. Starting Ray is not timed.
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
from measure import class_layout, write_store
from scale import run_step as run_ray_step

import seedproof as sp

ARMS = ("base", "arm")
Shape = tuple[int, int, int]
Timing = dict[str, float]


def draw_probs(shape: Shape, seed: int) -> np.ndarray:
    """Draw probabilities of runs that agree on most predictions."""
    logits = 4 * np.random.default_rng(0).normal(size=(1, *shape[1:]))
    logits = logits + np.random.default_rng([1, seed]).normal(size=shape)
    raised = np.exp(logits - logits.max(axis=2, keepdims=True))
    return (raised / raised.sum(axis=2, keepdims=True)).astype(np.float32)


def timed(work: Callable[[], object]) -> Timing:
    """Return wall and CPU seconds of a call, including child processes."""
    before, start = os.times(), time.perf_counter()
    work()
    seconds, after = time.perf_counter() - start, os.times()
    return {"seconds": seconds, "cpu": sum(after[:4]) - sum(before[:4])}


def run_step(step: str, folder: Path, shape: Shape) -> Timing:
    """Load the modules, then run one step in this process."""
    part, _, variant = step.partition(" ")
    if part == "ray":
        result = run_ray_step(variant, folder / "base", shape, 0)
        return {"seconds": result["seconds"], "cpu": 0.0}
    sp.measure([[0, 1], [1, 1]])
    _ = sp.compare  # loads its module; modules that it loads later are timed
    arms = {name: folder / name for name in ARMS}
    if part == "small":
        arrays = {name: draw_probs(shape, seed) for seed, name in enumerate(ARMS)}
        if variant == "measure":
            return timed(lambda: [sp.measure(probs) for probs in arrays.values()])
        return timed(lambda: sp.compare(arrays))
    engine = {} if variant == "serial" else {"engine": "processes", "workers": int(variant)}
    if part == "compare":
        return timed(lambda: sp.compare(arms, **engine))
    return timed(lambda: sp.measure(arms["base"], **engine))


def run_in_process(step: str, folder: Path, shape: Shape) -> Timing:
    """Run one step in its own process, on one thread."""
    command = [sys.executable, __file__, "--step", step, "--folder", str(folder)]
    command += ["--shape", *map(str, shape)]
    output = subprocess.check_output(command, env=os.environ | {"OMP_NUM_THREADS": "1"})
    timing: Timing = json.loads(output.splitlines()[-1])
    return timing


# Variants of each part, the reference first; and the shape of its study.
PARTS: dict[str, tuple[tuple[str, ...], Shape]] = {
    "small": (("measure", "compare"), (10, 5_000, 3)),
    "compare": (("serial", "1", "2"), (10, 500_000, 3)),
    "processes": (("serial", "2"), (20, 400_000, 10)),
    "ray": (("kernels", "measure"), (20, 400_000, 10)),
}


def run_part(part: str, folder: Path, scale: float, repeat: int) -> None:
    """Write the stores of a part, run its variants in turns and print a line."""
    variants, (n_runs, n_examples, n_classes) = PARTS[part]
    shape = (n_runs, n_examples if part == "small" else int(n_examples * scale), n_classes)
    for seed, arm in enumerate(ARMS[: {"small": 0, "compare": 2}.get(part, 1)]):
        write_store(folder / arm, class_layout(n_classes), *shape[:2], seed=seed)
    rounds = [
        {name: run_in_process(f"{part} {name}", folder, shape) for name in variants}
        for _ in range(repeat)
    ]
    best = {
        name: {clock: min(row[name][clock] for row in rounds) for clock in ("seconds", "cpu")}
        for name in variants
    }
    reference = variants[0]
    cells = "; ".join(
        f"{name} {best[name]['seconds']:.2f} s (CPU {best[name]['cpu']:.2f} s, "
        f"{best[name]['seconds'] / best[reference]['seconds']:.2f} of {reference})"
        for name in variants
    )
    print(f"{part}: {shape[0]} × {shape[1]:,} × {shape[2]}: {cells}", flush=True)


def main() -> None:
    """Run one part or all of them."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--part", choices=PARTS)
    parser.add_argument("--scale", type=float, default=1.0, help="fraction of the examples to use")
    parser.add_argument("--repeat", type=int, default=3)
    parser.add_argument(
        "--folder",
        type=Path,
        help="folder on a disk with enough space; if omitted, a temporary one",
    )
    parser.add_argument("--step", help=argparse.SUPPRESS)
    parser.add_argument("--shape", type=int, nargs=3, help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.step:
        print(json.dumps(run_step(options.step, options.folder, tuple(options.shape))))
        return
    for part in PARTS:
        if options.part in {None, part}:
            with tempfile.TemporaryDirectory(dir=options.folder, prefix="workers-") as folder:
                run_part(part, Path(folder), options.scale, options.repeat)


if __name__ == "__main__":
    main()
