"""Commands whose output is a document of every kind, and the inputs they read."""

import csv
from collections.abc import Iterable
from pathlib import Path

import numpy as np

from seedproof.demo.bundle import Bundle
from seedproof.demo.unpack import unpack

ROOT = Path(__file__).parents[2]
GOLDEN = ROOT / "tests" / "golden" / "outputs"
N_RUNS, N_EXAMPLES = 6, 48
WORDS = np.array(["anger", "fear", "joy", "love"])

# By name: the verb whose output it is, and the command. Names in braces are files of `make_inputs`.
COMMANDS = {
    "measure": "measure classes.csv --slice topic --cluster document",
    "measure-predictions": "measure {example} --metrics flip_rate,ambiguity",
    "measure-numbers": "measure numbers.csv --weight weight --slice topic --tolerance 0.5",
    "measure-judged": "measure judged.csv --threshold 0.5",
    "measure-rankings": "measure rankings.csv --relevant right.csv --depth 5",
    "measure-sets": "measure sets.csv --label gold",
    "measure-texts": "measure texts.csv",
    "measure-arms": "measure {demo}",
    "measure-dynamics": "measure {study} --arm none --split test",
    "measure-scalars": "measure scalars.csv",
    "measure-calibrated": "measure classes.csv --calibrate-on quiet.csv",
    "compare": "compare classes.csv quiet.csv --slice topic",
    "compare-arms": "compare {study} --split test --all-pairs",
    "compare-matched": "compare {demo} --match-rates",
    "compare-numbers": "compare numbers.csv other-numbers.csv",
    "compare-rankings": "compare rankings.csv other-rankings.csv --relevant right.csv",
    "compare-sets": "compare sets.csv other-sets.csv --label gold",
    "compare-texts": "compare texts.csv other-texts.csv",
    "compare-scalars": "compare scalars.csv --all-pairs",
    "compare-versions": "compare --old classes.csv --new quiet.csv --slice topic",
    "compare-versions-numbers": "compare --old numbers.csv --new other-numbers.csv",
    "compare-versions-rankings": (
        "compare --old rankings.csv --new other-rankings.csv --relevant right.csv"
    ),
    "compare-versions-sets": "compare --old sets.csv --new other-sets.csv --label gold",
    "compare-versions-texts": "compare --old texts.csv --new other-texts.csv",
    "gate-pass": "gate quiet.csv --max flip_rate=0.9",
    "gate-fail": "gate classes.csv --min accuracy=0.999",
    "gate-investigate": "gate classes.csv --max flip_rate=0.39",
    "gate-no-worse": "gate classes.csv --baseline quiet.csv --no-worse flip_rate --no-worse accuracy=0.01",
    "gate-numbers": "gate numbers.csv --max mae=0.1 --declared-runs 6",
    "gate-copies": "gate copies.csv --max flip_rate=0.9",
    "gate-scalars": "gate one-arm.csv --min accuracy=0.1",
    "decide": "decide quiet.csv classes.csv --ledger ledger.jsonl",
    "decide-numbers": "decide numbers.csv other-numbers.csv --ledger numbers.jsonl",
    "plan": "plan --sd 0.012 --detect 0.005 --arms 2",
    "plan-pilot": "plan --pilot classes.csv --pilot-arm quiet.csv --detect 0.01 --seeds 20",
    "plan-ratios": "plan --cv 0.3 --detect-flip-ratio 0.8 --detect-sd-ratio 2",
    "plan-scalars": "plan --pilot one-arm.csv --metric accuracy --detect 0.01",
    "plan-numbers": "plan --pilot numbers.csv --detect 0.1",
    "blame": "blame {blame_study} --split test",
    "blame-numbers": "blame judged.csv",
    "status": "status {study}",
    "ingest": "ingest classes.csv --out store",
    "report": "report classes.csv --out page.html",
    "report-figure": "report classes.csv --figure flip_matrix --out flips.svg",
}


def make_inputs(folder: Path) -> dict[str, Path]:
    """Write small tables of every kind of answers, and return the places of larger inputs."""
    for name, noise in (("classes", 1.5), ("quiet", 0.3)):
        _write(folder / f"{name}.csv", _classes(noise))
    rows = list(_classes(1.0))
    # Another run with the answers of the first one.
    copies = [["0 again", *row[1:]] for row in rows if row[0] == "0"]
    _write(folder / "copies.csv", [*rows, *copies])
    for prefix, noise in (("", 0.8), ("other-", 0.2)):
        _write(folder / f"{prefix}numbers.csv", _numbers(noise))
        _write(folder / f"{prefix}rankings.csv", _rankings(noise))
        _write(folder / f"{prefix}sets.csv", _sets(noise))
        _write(folder / f"{prefix}texts.csv", _texts(noise))
    _write(folder / "judged.csv", _judged())
    right = ([f"e{e}", f"i{item}"] for e in range(N_EXAMPLES) for item in range(2))
    _write(folder / "right.csv", [["example", "item"], *right])
    scalars = list(_scalars())
    _write(folder / "scalars.csv", scalars)
    _write(folder / "one-arm.csv", [row for row in scalars if row[0] != "ema"])
    unpack(Bundle.load(), folder / "demo")
    return {
        "demo": folder / "demo" / "store",
        "example": ROOT / "examples" / "predictions.csv",
        "study": GOLDEN / "0.1.0" / "study",
        "blame_study": GOLDEN / "0.1.0" / "blame-study",
        "training": GOLDEN / "train.py",
    }


def _classes(noise: float) -> Iterable[list[object]]:
    rng, base = np.random.default_rng(1), np.random.default_rng(0).normal(size=(N_EXAMPLES, 3))
    yield ["run", "example", "label", "p_a", "p_b", "p_c", "topic", "document"]
    for run, e in np.ndindex(N_RUNS, N_EXAMPLES):
        raised = np.exp(2 * base[e] + noise * rng.normal(size=3))
        shares = np.round(raised / raised.sum(), 4)
        shares[2] = round(1 - shares[0] - shares[1], 4)
        label = "abc"[base[e].argmax()]
        yield [str(run), e, label, *np.abs(shares), f"topic {e % 3}", e // 2]


def _numbers(noise: float) -> Iterable[list[object]]:
    rng = np.random.default_rng(2)
    yield ["run", "example", "value", "target", "weight", "topic"]
    for run, e in np.ndindex(N_RUNS, N_EXAMPLES):
        yield [run, e, f"{e / 10 + noise * rng.normal():.4f}", e / 10, 1 + e % 3, f"topic {e % 2}"]


def _judged() -> Iterable[list[object]]:
    rng, base = np.random.default_rng(3), np.random.default_rng(4).random(N_EXAMPLES)
    yield ["trial", "judge", "example", "value"]
    for trial, judge, e in np.ndindex(N_RUNS, 2, N_EXAMPLES):
        yield [trial, f"judge {judge}", e, f"{base[e] + 0.2 * rng.normal():.4f}"]


def _rankings(noise: float) -> Iterable[list[object]]:
    rng = np.random.default_rng(5)
    yield ["run", "example", "item", "rank"]
    for run, e in np.ndindex(N_RUNS, N_EXAMPLES):
        order = np.argsort(np.arange(8) + 3 * noise * rng.normal(size=8))
        for rank, item in enumerate(order, start=1):
            yield [run, f"e{e}", f"i{item}", rank]


def _sets(noise: float) -> Iterable[list[object]]:
    rng, base = np.random.default_rng(6), np.random.default_rng(7).normal(size=(N_EXAMPLES, 4))
    yield ["run", "example", "set", "gold"]
    for run, e in np.ndindex(N_RUNS, N_EXAMPLES):
        given = WORDS[base[e] + noise * rng.normal(size=4) > 0]
        yield [run, e, "|".join(given), "|".join(WORDS[base[e] > 0])]


def _texts(noise: float) -> Iterable[list[object]]:
    rng = np.random.default_rng(8)
    yield ["run", "example", "answer", "reference"]
    for run, e in np.ndindex(N_RUNS, N_EXAMPLES):
        yield [run, e, f"It is {round(e + 2 * noise * rng.normal())}.", f"It is {e}."]


def _scalars() -> Iterable[list[object]]:
    rng = np.random.default_rng(9)
    yield ["arm", "seed", "accuracy", "loss"]
    for arm, shift in (("none", 0.0), ("ema", 0.02)):
        for seed in range(8):
            accuracy = 0.8 + shift + 0.01 * rng.normal()
            yield [arm, seed, f"{accuracy:.4f}", f"{1 - accuracy:.4f}"]


def _write(path: Path, rows: Iterable[list[object]]) -> None:
    with path.open("w", newline="", encoding="utf-8") as file:
        csv.writer(file).writerows(rows)
