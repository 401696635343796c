"""A power failure at any moment of a study or an ingest: commits survive, and work continues."""

import shutil
from pathlib import Path

import numpy as np
import pytest

import seedproof as sp
from seedproof.records.location import Location
from seedproof.records.manifest import RunManifest, unsealed
from seedproof.records.resumable_ingest import ingest_tables
from seedproof.records.schema import digest
from support.power_failure import KINDS, record, restore

N_EXAMPLES = 12


def train(run):
    """Log predictions and a scalar."""
    probs = run.rng("init").dirichlet([2, 2], size=N_EXAMPLES)
    run.log_predictions("test", probs=probs, labels=np.arange(N_EXAMPLES) % 2)
    run.log_scalar("loss", float(probs[0, 0]))


def study(folder):
    """Return a study of two arms and two seeds."""
    return sp.Study("small", train, seeds=2, arms=["none", "ema"], store=folder / "a" / "store")


def run_study(folder):
    """Train what is left."""
    assert study(folder).run("serial", progress=False).is_done


def summary(folder):
    """Return the measurement of all arms."""
    return study(folder).measure_arms().to_json()


def ingest(folder, table):
    """Ingest a table, or continue it; a finished store is refused, as it is not empty."""
    store = folder / "store"
    if not (store / "study.json").exists() or (store / "ingest.json").exists():
        ingest_tables([table], store)


def ingested_summary(folder):
    """Return the measurement of an ingested store."""
    return sp.measure(folder / "store").to_json()


@pytest.fixture(scope="module")
def table(tmp_path_factory):
    """Write a table of three runs with a further column."""
    path = tmp_path_factory.mktemp("table") / "table.csv"
    rng = np.random.default_rng(3)
    rows = [
        f"{run},{example},{example % 2},{p:.3f},{1 - p:.3f},x{example}"
        for example in range(N_EXAMPLES)
        for run, p in enumerate(rng.random(3).round(3))
    ]
    path.write_text("\n".join(["run,example,label,p_0,p_1,kind", *rows]) + "\n", encoding="utf-8")
    return path


def check_commits(root, moment):
    """Check that commits are there and complete, except files that the program has deleted."""
    deleted = {
        path for path in moment.committed if path_in(root, path) not in moment.disks["killed"]
    }
    for path in moment.committed - deleted:
        assert Path(path).exists()
    is_unfinished = any(root.rglob("ingest.json"))
    for path in root.rglob("run.json") if not is_unfinished else ():
        for part in RunManifest.load(Location.of(path.parent)).parts:
            content = (path.parent / part.path).read_bytes()
            assert (len(content), digest(content)) == (part.size, part.digest)
    for path in (*root.rglob("study.json"), *root.rglob("declared.json")):
        unsealed(Location.of(path))


def path_in(root, path):
    """Return a path as disks have it."""
    return f"/{Path(path).relative_to(root).as_posix()}"


def crash_everywhere(root, work, result):
    """Work once and record it, then continue from every disk; return the number of moments."""
    root.mkdir()
    with record(root) as moments:
        work(root)
    expected = result(root)
    # The last moment with a disk has the most commits.
    disks = {
        tuple(sorted(moment.disks[kind].items(), key=lambda item: item[0])): (moment, kind)
        for moment in moments
        for kind in KINDS
    }
    for content, (moment, kind) in disks.items():
        shutil.rmtree(root)
        root.mkdir()
        restore(dict(content), root)
        try:
            check_commits(root, moment)
            work(root)
            assert result(root) == expected
        except Exception as error:
            raise AssertionError(f"{kind} at moment {moment.place}, {moment.cause}") from error
    return len(moments), len(disks)


def test_study_survives_a_power_failure_at_any_moment(tmp_path):
    n_moments, n_disks = crash_everywhere(tmp_path / "disk", run_study, summary)

    assert n_moments > 40
    assert n_disks > 40


def test_ingest_survives_a_power_failure_at_any_moment(tmp_path, table):
    n_moments, n_disks = crash_everywhere(
        tmp_path / "disk", lambda root: ingest(root, table), ingested_summary
    )

    assert n_moments > 40
    assert n_disks > 40
