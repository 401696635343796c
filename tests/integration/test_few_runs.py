"""With fewer than five runs there are figures and no verdicts, whatever they show."""

import json
import re

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from seedproof.report.numbers import TOO_WIDE

N_EXAMPLES = 200
SHOWN = {"steadier", "less steady", "better", "worse"}
NO_VERDICT = "too few runs"
# More digits than a percentage that a reader can use.
ABSURD = re.compile(r"\d{6}")


def write_chance(path, n_runs, *, seed):
    """Write runs of a model at chance: every answer is drawn at random."""
    rng = np.random.default_rng(seed)
    shares = rng.random((n_runs, N_EXAMPLES))
    return write(path, shares)


def write_noisy(path, n_runs, *, noise, seed):
    """Write runs that add noise to the same shares."""
    rng = np.random.default_rng(seed)
    base = np.random.default_rng(0).random(N_EXAMPLES)
    return write(path, np.clip(base + noise * rng.standard_normal((n_runs, N_EXAMPLES)), 0, 1))


def write(path, shares):
    run, example = np.divmod(np.arange(shares.size), N_EXAMPLES)
    labels = np.random.default_rng(0).random(N_EXAMPLES) > 0.5
    columns = {"run": run, "example": example, "label": labels[example].astype(int).astype(str)}
    columns |= {"p_0": 1 - shares[run, example], "p_1": shares[run, example]}
    pq.write_table(pa.table(columns), path)
    return path


def effects_of(summary):
    (arm,) = summary["arms"]
    return arm["effects"]


@pytest.mark.parametrize("n_runs", [2, 3, 4])
def test_few_runs_of_a_model_at_chance_get_no_verdict(n_runs, seedproof, tmp_path):
    """Neither from `compare` nor from the gate, and no interval of ten digits is printed."""
    base, arm = (write_chance(tmp_path / f"{s}.parquet", n_runs, seed=s) for s in (1, 2))

    code, out, _ = seedproof("compare", base, arm, "--json")

    effects = effects_of(json.loads(out))
    assert code == 0
    assert {effect["verdict"] for effect in effects.values()} == {NO_VERDICT}
    assert {effect["detectable"] for effect in effects.values()} == {None}
    assert not ABSURD.search(seedproof("compare", base, arm)[1])
    rules = ("--max", "flip_rate=0.99", "--min", "accuracy=0.01", "--max", "accuracy_sd=0.9")
    code, out, _ = seedproof(
        "gate", base, *rules, "--no-worse", "flip_rate=9", "--baseline", arm, "--json"
    )
    assert code == 3
    judged = json.loads(out)
    assert {(rule["outcome"], rule["reason"], rule["more_runs"]) for rule in judged["rules"]} == {
        ("investigate", NO_VERDICT, 5 - n_runs)
    }
    assert {check["name"] for check in judged["checks"]} == {"few-runs"}


def test_interval_that_is_too_wide_is_named_and_kept_in_the_summary(seedproof, tmp_path):
    """The net flip rate of three runs at chance may be a thousand times the baseline's."""
    base, arm = (write_chance(tmp_path / f"{s}.parquet", 3, seed=s) for s in (1, 2))

    summary = json.loads(seedproof("compare", base, arm, "--json")[1])

    effect = effects_of(summary)["net_flip_rate"]
    assert effect["high"] > 100 * effect["value"]
    assert seedproof("compare", base, arm, "--out", tmp_path / "out")[0] == 0
    assert TOO_WIDE in (tmp_path / "out" / "comparison.html").read_text(encoding="utf-8")
    rule = ("--no-worse", "net_flip_rate", "--baseline", base)
    assert TOO_WIDE in seedproof("gate", arm, *rule)[1]


def test_figures_of_few_runs_are_still_judged_by_their_value(seedproof, tmp_path):
    """Ambiguity describes these runs and no others."""
    table = write_chance(tmp_path / "runs.parquet", 3, seed=1)

    assert seedproof("gate", table, "--max", "ambiguity=1")[0] == 0
    assert seedproof("gate", table, "--max", "ambiguity=0.1")[0] == 1


@pytest.mark.parametrize(("n_runs", "is_judged"), [(4, False), (5, True)])
def test_verdicts_begin_with_five_runs(n_runs, is_judged, seedproof, tmp_path):
    """Between two arms whose difference is obvious, and at a limit that is far away."""
    base = write_noisy(tmp_path / "base.parquet", n_runs, noise=0.3, seed=1)
    calm = write_noisy(tmp_path / "calm.parquet", n_runs, noise=0.01, seed=2)

    effects = effects_of(json.loads(seedproof("compare", base, calm, "--json")[1]))
    code, _, _ = seedproof("gate", calm, "--max", "flip_rate=0.5")

    assert (effects["flip_rate"]["verdict"] in SHOWN) == is_judged
    assert code == (0 if is_judged else 3)
    assert seedproof("compare", base, calm, "--out", tmp_path / "out")[0] == 0
    page = (tmp_path / "out" / "comparison.html").read_text(encoding="utf-8")
    assert (NO_VERDICT in page) != is_judged


@pytest.mark.parametrize(("n_old", "n_new", "is_beyond"), [(4, 4, False), (5, 1, True)])
def test_one_version_with_five_runs_is_enough(n_old, n_new, is_beyond, seedproof, tmp_path):
    """The new version gives the opposite answers."""
    old = write_noisy(tmp_path / "old.parquet", n_old, noise=0.02, seed=1)
    shares = 1 - np.random.default_rng(0).random(N_EXAMPLES)
    new = write(tmp_path / "new.parquet", np.tile(shares, (n_new, 1)))

    code, out, _ = seedproof("compare", "--old", old, "--new", new, "--json")

    summary = json.loads(out)
    assert (code, summary["is_beyond"]) == (0, is_beyond)
    assert (summary["unexplained"] == []) == (not is_beyond or n_new == 1)


def test_saved_reports_of_few_runs_get_no_verdict(seedproof, tmp_path):
    """The number of runs is saved with the figures."""
    for name, noise in (("base", 0.3), ("calm", 0.01)):
        table = write_noisy(tmp_path / f"{name}.parquet", 4, noise=noise, seed=1)
        assert seedproof("measure", table, "--out", tmp_path / name)[0] == 0

    rule = ("--no-worse", "flip_rate", "--baseline", tmp_path / "base", "--json")
    code, out, _ = seedproof("gate", tmp_path / "calm", *rule)

    (judged,) = json.loads(out)["rules"]
    assert (code, judged["reason"], judged["effect"]["verdict"]) == (3, NO_VERDICT, NO_VERDICT)
    assert judged["effect"]["low"] is not None
