"""Save what every verb of this seedproof gives, for later versions to be held against.

    python tests/golden/outputs/make_outputs.py

It writes `<version>/` next to itself: two stores that `run` made, one that `ingest` made, and what
each verb says of them, of the golden stores, of the example and of the demo. `test_outputs.py` runs
the same commands again and compares. Run this once per released version; never again for an old one.
0.1.0 is not released: what its commands print was renewed with the statistics of small studies.
"""

import os
import shlex
import subprocess
import sys
from pathlib import Path
from tempfile import TemporaryDirectory

HERE = Path(__file__).parent
ROOT = HERE.parents[2]
# Pages and texts are not data.
PROSE = ("*.html", "*.txt")

# What is made once and then kept, because other commands read it.
STORES = {
    "study": "run {here}/train.py --seeds 3 --arms none,steady --engine serial --store {out}",
    "blame-study": "run {here}/train.py --blame 5 --vary init,order --engine serial --store {out}",
    "ingested": "ingest {halves}/old.csv --out {out}",
}
# Commands whose standard output is JSON.
PRINTED = {
    "measure-example": "measure {root}/examples/predictions.csv --json",
    "measure-demo-none": "measure {demo} --arm none --json",
    "measure-demo-naswa": "measure {demo} --arm naswa --json",
    "measure-study-none": "measure {kept}/study --arm none --split test --json",
    "measure-ingested": "measure {kept}/ingested --json",
    "compare-demo": "compare {demo} --json",
    "compare-study": "compare {kept}/study --split test --json",
    "compare-reports": "compare {kept}/report-old {kept}/report-new --json",
    "compare-versions": "compare --old {halves}/old.csv --new {halves}/new.csv --json",
    "gate-limits": "gate {halves}/old.csv --max flip_rate=0.5 --min accuracy=0.99 --json",
    "gate-report": "gate {kept}/report-new --max flip_rate=0.001 --json",
    "gate-no-worse": (
        "gate {demo} --arm naswa --baseline {demo} --baseline-arm none "
        "--no-worse flip_rate --no-worse accuracy --json"
    ),
    "plan-sd": "plan --sd 0.012 --detect 0.005 --json",
    "plan-pilot": "plan --pilot {halves}/old.csv --detect 0.01 --detect-flip-ratio 0.8 --json",
    "blame": "blame {kept}/blame-study --split test --json",
    "status": "status {kept}/study --json",
    "doctor": "doctor {here}/train.py --json",
} | {
    f"measure-store-{version}-{arm}": (
        f"measure {{golden}}/store-{version} --arm {arm} --split test --json"
    )
    for version in ("1.0", "1.1", "1.2", "1.3")
    for arm in ("probs", "top", "labels")
}
# Commands that write a folder.
SAVED = {
    "report-old": "measure {halves}/old.csv --out {out}",
    "report-new": "measure {halves}/new.csv --out {out}",
    "versions": "compare --old {halves}/old.csv --new {halves}/new.csv --out {out}",
    "comparison": "compare {demo} --out {out}",
}


def seedproof(command: str, **places: Path) -> str:
    """Run a command and return what it prints; exit codes of the gate are results, too."""
    words = shlex.split(command.format(**{name: shlex.quote(str(p)) for name, p in places.items()}))
    done = subprocess.run(
        [sys.executable, "-m", "seedproof", *words],
        capture_output=True,
        text=True,
        check=False,
        env=os.environ | {"COLUMNS": "80"},
    )
    if done.returncode not in {0, 1, 3}:
        raise RuntimeError(f"seedproof {command}: exit {done.returncode}\n{done.stderr}")
    return done.stdout


def make_inputs(folder: Path) -> dict[str, Path]:
    """Unpack the demo's records, and cut the example into two tables of five runs."""
    seedproof("demo --out {out}", out=folder / "demo")
    lines = (ROOT / "examples" / "predictions.csv").read_text(encoding="utf-8").splitlines()
    for name, runs in (("old", "01234"), ("new", "56789")):
        # Every third example is enough.
        rows = [
            line
            for line in lines[1:]
            if line[0] in runs and int(line.split(",", maxsplit=2)[1]) % 3 == 0
        ]
        (folder / f"{name}.csv").write_text("\n".join([lines[0], *rows, ""]), encoding="utf-8")
    return {"demo": folder / "demo" / "store", "halves": folder}


def main() -> None:
    """Write everything into the folder of this version."""
    import seedproof as sp

    kept = HERE / sp.__version__
    if kept.exists():
        sys.exit(f"{kept} exists. Outputs of a version are made once; bump the version first.")
    kept.mkdir()
    with TemporaryDirectory() as scratch:
        places = {"here": HERE, "root": ROOT, "golden": HERE.parent, "kept": kept}
        places |= make_inputs(Path(scratch))
        for name, command in (STORES | SAVED).items():
            seedproof(command, **places, out=kept / name)
            for path in (path for glob in PROSE for path in (kept / name).glob(glob)):
                path.unlink()
        for name, command in PRINTED.items():
            (kept / f"{name}.json").write_text(seedproof(command, **places), encoding="utf-8")


if __name__ == "__main__":
    main()
