"""Hostile logs of all readers, many of each, with a table that a second call continues.

    PYTHONPATH=tests python benchmarks/fuzz.py [--inputs 3000] [--seed 0] [--out fuzz] [--only NAME]

The inputs are those of tests/fuzz/test_logs.py: changes of real logs, of their bytes, of paths and
of tables of each kind. They are read in a process with `faulthandler`, so that a crash counts as an
outcome. Each input is measured or refused by name, or else it is a finding: a traceback, a crash, a
hang, or a row that is in no figure and that nothing names. `--out` has the table `fuzz.json`, and a
folder `found` with each such input. A batch is drawn from the seed and its number alone.
"""

import argparse
import json
import shutil
from collections import Counter
from collections.abc import Mapping
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from hypothesis import HealthCheck, Phase, given, seed, settings
from hypothesis import strategies as st

from support.log_inputs import TARGETS
from support.log_process import ENDS, Worker, end_of

BATCH = 50
SEEDS_PER_TARGET = 10_000


def run_batch(name: str, number: int, size: int, worker: Worker, folder: Path) -> dict[str, Any]:
    """Draw and read the inputs of one batch; keep those that are findings."""
    counts: Counter[str] = Counter()
    problems: list[dict[str, Any]] = []

    @seed(number)
    @settings(
        max_examples=size,
        database=None,
        deadline=None,
        phases=[Phase.generate],
        suppress_health_check=list(HealthCheck),
    )
    @given(st.data())
    def fuzz(data: st.DataObject) -> None:
        with TemporaryDirectory(prefix="seedproof-fuzz-") as scratch:
            drawn = TARGETS[name](data.draw, Path(scratch))
            answer = worker.read(drawn.target, drawn.columns, drawn.options)
            end, problem = end_of(drawn, answer)
            counts.update([end, "with oracle"] if drawn.oracle is not None else [end])
            counts["inputs"] += 1
            if end in {"measured", "refused"}:
                return
            kept = folder / f"{name}-{number}-{counts['inputs']}".replace(" ", "-")
            shutil.copytree(scratch, kept, dirs_exist_ok=True)
            facts = {
                "end": end,
                "problem": problem,
                "target": str(drawn.target).replace(scratch, "."),
                "columns": dict(drawn.columns),
                "options": dict(drawn.options),
            }
            (kept / "finding.json").write_text(json.dumps(facts, indent=1))
            problems.append({"folder": kept.name, "end": end, "problem": problem[-500:]})

    fuzz()
    return {"counts": dict(counts), "problems": problems}


def summary(table: Mapping[str, Mapping[str, Any]]) -> dict[str, Counter[str]]:
    """Return the counts of each target over all of its batches."""
    return {
        name: sum((Counter(batch["counts"]) for batch in batches.values()), Counter[str]())
        for name, batches in table.items()
    }


def main() -> None:
    """Continue the table until enough inputs were read, in turns over all targets."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--inputs", type=int, default=3_000, help="of all targets together")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--out", type=Path, default=Path("fuzz"))
    parser.add_argument("--only", nargs="*", default=list(TARGETS), choices=list(TARGETS))
    options = parser.parse_args()
    options.out.mkdir(parents=True, exist_ok=True)
    place = options.out / "fuzz.json"
    table = json.loads(place.read_text()) if place.exists() else {}
    size = min(BATCH, -(-options.inputs // len(options.only)))
    worker = Worker()
    try:
        while sum(count["inputs"] for count in summary(table).values()) < options.inputs:
            name = min(options.only, key=lambda x: summary(table).get(x, Counter())["inputs"])
            batches = table.setdefault(name, {})
            number = options.seed * SEEDS_PER_TARGET * len(TARGETS)
            number += list(TARGETS).index(name) * SEEDS_PER_TARGET + len(batches)
            batches[str(number)] = run_batch(name, number, size, worker, options.out / "found")
            place.write_text(json.dumps(table, indent=1) + "\n")
    finally:
        worker.end()
    total = Counter[str]()
    for name, counts in summary(table).items():
        total += counts
        print(f"{name}: " + ", ".join(f"{counts[x]} {x}" for x in ("inputs", *ENDS, "with oracle")))
    print("all: " + ", ".join(f"{total[x]} {x}" for x in ("inputs", *ENDS, "with oracle")))
    if any(total[end] for end in ENDS[2:]):
        raise SystemExit(1)


if __name__ == "__main__":
    main()
