"""CPU time to measure a table, compared with a script that a user would write instead.

Both read the same file on one thread, in fresh processes, in turns. The script computes five
figures without intervals or checks (polars for CSV and Parquet, numpy for npz). seedproof computes
all of its figures with intervals. Imports are not timed.

    python benchmarks/own_script.py                     # 10 runs × 200,000 examples × 3 classes
    python benchmarks/own_script.py --examples 20000 --turns 1
"""

import argparse
import json
import os
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import numpy as np

FORMATS = ("csv", "parquet", "npz")
# Maximum ratio of the times of seedproof and the script.
MAX_RATIO = {"csv": 2.0, "parquet": 2.5, "npz": 2.5}
ONE_THREAD = dict.fromkeys(("OMP_NUM_THREADS", "POLARS_MAX_THREADS", "OPENBLAS_NUM_THREADS"), "1")
FIGURES = ("flip_rate", "label_entropy", "accuracy_sd", "probability_sd", "predictive_kl")


def write_inputs(folder: Path, *, n_runs: int, n_examples: int, n_classes: int) -> None:
    """Write the same predictions in each format."""
    import polars as pl

    rng = np.random.default_rng(0)
    labels = rng.integers(0, n_classes, n_examples)
    logits = rng.normal(size=(n_examples, n_classes)) * 2
    logits[np.arange(n_examples), labels] += 1.5
    noisy = logits + rng.normal(size=(n_runs, n_examples, n_classes)) * 0.5
    probs = np.exp(noisy - noisy.max(axis=2, keepdims=True))
    probs = (probs / probs.sum(axis=2, keepdims=True)).astype(np.float32)
    frame = pl.DataFrame(
        {
            "run": np.repeat(np.arange(n_runs), n_examples),
            "example": np.tile(np.arange(n_examples), n_runs),
            "label": np.tile(labels, n_runs),
        }
        | {f"p_{k}": probs[:, :, k].ravel() for k in range(n_classes)}
    )
    frame.write_csv(folder / "table.csv")
    frame.write_parquet(folder / "table.parquet")
    np.savez(folder / "table.npz", probs=probs, labels=labels)


def by_script(path: Path) -> dict[str, float]:
    """Return five figures as a user would compute them."""
    if path.suffix == ".npz":
        content = np.load(path)
        probs, labels = content["probs"], content["labels"]
    else:
        import polars as pl

        frame = pl.read_csv(path) if path.suffix == ".csv" else pl.read_parquet(path)
        frame = frame.sort("run", "example")
        n_runs = frame["run"].n_unique()
        classes = [name for name in frame.columns if name.startswith("p_")]
        probs = np.stack([frame[c].to_numpy().reshape(n_runs, -1) for c in classes], axis=-1)
        labels = frame["label"].to_numpy().reshape(n_runs, -1)[0]
    n_runs, n_examples, n_classes = probs.shape
    predictions = probs.argmax(axis=2)
    votes = np.stack([(predictions == k).sum(axis=0) for k in range(n_classes)])
    same = (votes * (votes - 1)).sum(axis=0) / (n_runs * (n_runs - 1))
    shares = votes / n_runs
    entropy = -(shares * np.log(np.where(shares > 0, shares, 1))).sum(axis=0)
    accuracy = (predictions == labels).mean(axis=1)
    gold = probs[:, np.arange(n_examples), labels]
    logs = np.log(probs + 1e-10)
    own, cross = (probs * logs).sum(axis=2), probs.sum(axis=0) * logs.sum(axis=0)
    kl = (n_runs * own.sum(axis=0) - cross.sum(axis=1)) / (n_runs * (n_runs - 1))
    return {
        "flip_rate": float(1 - same.mean()),
        "label_entropy": float(entropy.mean()),
        "accuracy_sd": float(accuracy.std(ddof=1)),
        "probability_sd": float(gold.std(axis=0, ddof=1).mean()),
        "predictive_kl": float(kl.mean()),
    }


def by_seedproof(path: Path) -> dict[str, float]:
    """Return the same figures from a report of seedproof."""
    import seedproof as sp

    report = sp.measure(path)
    return {name: report[name].value for name in FIGURES}


def run_method(method: str, path: Path) -> None:
    """Print figures and CPU seconds of one method, without imports and a first call."""
    call = {"script": by_script, "seedproof": by_seedproof}[method]
    call(path.with_name(f"small-{path.name}"))
    start = time.process_time()
    figures = call(path)
    print(json.dumps({"seconds": time.process_time() - start, "figures": figures}))


def timed(method: str, path: Path) -> tuple[float, dict[str, float]]:
    """Return CPU seconds and figures of one method in a fresh process."""
    command = [sys.executable, __file__, "--alone", method, str(path)]
    output = subprocess.run(
        command, check=True, capture_output=True, env=os.environ | ONE_THREAD
    ).stdout
    result = json.loads(output)
    return result["seconds"], result["figures"]


def main() -> None:
    """Print one line per format; exit with 1 if a ratio exceeds its limit."""
    parser = argparse.ArgumentParser(description=__doc__.split("\n", maxsplit=1)[0])
    parser.add_argument("--runs", type=int, default=10)
    parser.add_argument("--examples", type=int, default=200_000)
    parser.add_argument("--classes", type=int, default=3)
    parser.add_argument("--turns", type=int, default=5)
    parser.add_argument("--alone", nargs=2, help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.alone:
        run_method(options.alone[0], Path(options.alone[1]))
        return
    is_slow = False
    with tempfile.TemporaryDirectory() as folder:
        shape = {"n_runs": options.runs, "n_classes": options.classes}
        write_inputs(Path(folder), n_examples=100, **shape)
        for kind in FORMATS:
            (Path(folder) / f"table.{kind}").rename(Path(folder) / f"small-table.{kind}")
        write_inputs(Path(folder), n_examples=options.examples, **shape)
        for kind in FORMATS:
            path = Path(folder) / f"table.{kind}"
            turns = [
                (timed("script", path), timed("seedproof", path)) for _ in range(options.turns)
            ]
            for (_, expected), (_, figures) in turns:
                for name in FIGURES:
                    if abs(expected[name] - figures[name]) > 1e-5:
                        raise SystemExit(
                            f"{name}: script {expected[name]}, seedproof {figures[name]}"
                        )
            script, seedproof = (statistics.median(t[i][0] for t in turns) for i in (0, 1))
            ratio = statistics.median(ours / base for (base, _), (ours, _) in turns)
            is_slow |= ratio > MAX_RATIO[kind]
            print(
                f"{kind:8} script {script:.2f} s, seedproof {seedproof:.2f} s of CPU: "
                f"ratio {ratio:.2f} (at most {MAX_RATIO[kind]})"
            )
    sys.exit(is_slow)


if __name__ == "__main__":
    main()
