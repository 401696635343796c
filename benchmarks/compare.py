"""Time to compare two arms, relative to measuring both.

    python benchmarks/compare.py [--examples 1000000] [--runs 50] [--classes 10] [--folder DIR]

Two arms are written as stores. Then both are measured, one after the other, and compared. Each step
runs in its own process, which also reports its peak memory.
"""

import argparse
import json
import resource
import subprocess
import sys
import tempfile
import time
from pathlib import Path

from measure import class_layout, write_store

from seedproof.comparison.arms.compare import ArmData, compare_arms
from seedproof.measurement.measure import measure_shards
from seedproof.records.location import Location
from seedproof.records.reader import Store

STEPS = ("measure", "compare")


def run_step(step: str, folder: Path) -> None:
    """Run one step and print its seconds and peak memory."""
    sources = [Store(Location.of(folder / arm)).shards() for arm in ("base", "arm")]
    start = time.perf_counter()
    with tempfile.TemporaryDirectory() as scratch:
        output = Location.of(scratch)
        if step == "measure":
            for source in sources:
                measure_shards(source, output / "examples.parquet")
        else:
            seeds = tuple(sources[0].runs)
            arms = [
                ArmData(name, source, seeds) for name, source in zip("ab", sources, strict=True)
            ]
            compare_arms(arms, output)
    elapsed = time.perf_counter() - start
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024 / 1e9
    print(json.dumps({"seconds": elapsed, "gigabytes": peak}))


def main() -> None:
    """Write both arms, run the steps in turns and print the best times."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--runs", type=int, default=50)
    parser.add_argument("--examples", type=int, default=1_000_000)
    parser.add_argument("--classes", type=int, default=10)
    parser.add_argument("--repeat", type=int, default=2)
    parser.add_argument("--folder", type=Path)
    parser.add_argument("--step", choices=STEPS)
    options = parser.parse_args()
    if options.step:
        run_step(options.step, options.folder)
        return
    with tempfile.TemporaryDirectory(dir=options.folder) as folder:
        for seed, arm in enumerate(("base", "arm")):
            layout = class_layout(options.classes)
            write_store(Path(folder) / arm, layout, options.runs, options.examples, seed=seed)
        results: dict[str, list[dict[str, float]]] = {step: [] for step in STEPS}
        for _ in range(options.repeat):
            for step, step_results in results.items():
                command = [sys.executable, __file__, "--step", step, "--folder", folder]
                step_results.append(json.loads(subprocess.check_output(command)))
    seconds = {step: min(row["seconds"] for row in rows) for step, rows in results.items()}
    peaks = {step: max(row["gigabytes"] for row in rows) for step, rows in results.items()}
    print(
        f"{options.runs} runs × {options.examples:,} × {options.classes}, two arms: measuring both "
        f"{seconds['measure']:.1f} s ({peaks['measure']:.2f} GB), comparing "
        f"{seconds['compare']:.1f} s ({peaks['compare']:.2f} GB): "
        f"{seconds['compare'] / seconds['measure']:.2f} times"
    )


if __name__ == "__main__":
    main()
