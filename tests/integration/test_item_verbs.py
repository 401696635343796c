"""Ranked lists and sets through every verb, from the command inward."""

import csv
import json

import numpy as np
import pytest

N_RUNS, N_USERS, N_ITEMS = 10, 60, 20  # as many runs as a gate judges of a report
LABELS = np.array(["anger", "fear", "joy", "love"])


@pytest.fixture
def rankings(tmp_path):
    """Two tables of lists of the same users, the second with less noise, and right items."""
    affinity = np.random.default_rng(0).normal(size=(N_USERS, N_ITEMS))
    right = np.argsort(-affinity, axis=1)[:, 2:4]
    _write(
        tmp_path / "right.csv",
        ["user", "item"],
        ([f"u{user}", f"i{item}"] for user in range(N_USERS) for item in right[user]),
    )
    for name, noise in (("old", 0.8), ("new", 0.2)):
        rng = np.random.default_rng(len(name) + int(10 * noise))
        noisy = affinity + noise * rng.normal(size=(N_RUNS, N_USERS, N_ITEMS))
        lists = np.argsort(-noisy, axis=2)[:, :, :8]
        _write(
            tmp_path / f"{name}.csv",
            ["run", "user", "item", "rank"],
            (
                [f"seed_{run}", f"u{user}", f"i{item}", rank + 1]
                for run, user in np.ndindex(N_RUNS, N_USERS)
                for rank, item in enumerate(lists[run, user])
            ),
        )
    return tmp_path


@pytest.fixture
def sets(tmp_path):
    """Two tables of label sets of the same examples, the second with less noise."""
    scores = np.random.default_rng(0).normal(size=(80, 4)) - 0.3
    for name, noise in (("old", 0.8), ("new", 0.1)):
        rng = np.random.default_rng(int(10 * noise))
        is_given = scores + noise * rng.normal(size=(N_RUNS, *scores.shape)) > 0
        _write(
            tmp_path / f"{name}.csv",
            ["run", "example", "set", "gold"],
            (
                [f"seed_{run}", example, *map(_listed, (is_given[run, example], scores[example]))]
                for run, example in np.ndindex(N_RUNS, 80)
            ),
        )
    return tmp_path


def _listed(scores):
    return "|".join(LABELS[scores > 0])


def _write(path, header, rows):
    with path.open("w", newline="", encoding="utf-8") as file:
        csv.writer(file).writerows([header, *rows])


def _json(seedproof, *arguments):
    code, out, err = seedproof(*arguments, "--json")
    assert code in {0, 1, 3}, err  # 3: a decision is open
    return json.loads(out)


def test_lists_through_every_verb(seedproof, rankings):
    old, new = rankings / "old.csv", rankings / "new.csv"
    given = ["--example", "user", "--relevant", rankings / "right.csv", "--depth", "5"]

    measured = _json(seedproof, "measure", old, *given)
    arms = _json(seedproof, "compare", old, new, *given)
    versions = _json(seedproof, "compare", "--old", old, "--new", new, *given)
    gate = _json(seedproof, "gate", new, *given, "--min", "ndcg@5=0.1", "--max", "mrr_sd=0.5")
    ledger = rankings / "ledger.jsonl"
    decided = _json(seedproof, "decide", old, new, *given, "--ledger", ledger)
    refused, _, _ = seedproof("blame", old, *given)
    code, plan, err = seedproof("plan", "--pilot", old, *given, "--detect", "0.05")

    assert measured["kind"] == "rankings"
    assert {"first_item_flips", "jaccard_distance@5", "ndcg@5"} <= measured["metrics"].keys()
    assert measured["n_labeled"] == N_USERS
    (arm,) = arms["arms"]
    assert arms["primary"] == "first_item_flips"
    assert arm["effects"]["first_item_flips"]["verdict"] == "steadier"
    flips = arms["baseline"]["metrics"]["first_item_flips"]["value"]
    assert flips == pytest.approx(measured["metrics"]["first_item_flips"]["value"])
    figures = versions["whole"]["figures"]
    assert figures["distance_old"]["value"] == pytest.approx(
        measured["metrics"]["jaccard_distance@5"]["value"]
    )
    assert figures["quality_old"]["value"] == pytest.approx(measured["metrics"]["ndcg@5"]["value"])
    assert gate["outcome"] == "pass"
    assert decided["metric"] == "ndcg@5"
    assert refused == 2
    assert code == 0, err
    assert "seeds" in plan


def test_sets_through_every_verb(seedproof, sets):
    old, new = sets / "old.csv", sets / "new.csv"

    measured = _json(seedproof, "measure", old)
    arms = _json(seedproof, "compare", old, new)
    versions = _json(seedproof, "compare", "--old", old, "--new", new)
    gate = _json(seedproof, "gate", new, "--baseline", old, "--no-worse", "micro_f1")
    code, _, err = seedproof("plan", "--pilot", old, "--detect", "0.05")

    assert measured["kind"] == "sets"
    assert [group["name"] for group in measured["by_class"]] == LABELS.tolist()
    (arm,) = arms["arms"]
    assert arm["effects"]["set_flips"]["verdict"] == "steadier"
    assert arm["effects"]["micro_f1"]["verdict"] == "better"
    assert versions["kind"] == "sets"
    assert versions["whole"]["figures"]["distance_old"]["value"] == pytest.approx(
        measured["metrics"]["jaccard_distance"]["value"]
    )
    assert gate["outcome"] == "pass"
    assert code == 0, err


# ------------------------------------------------------------------------------- saved reports


def _saved(seedproof, folder, *options):
    """Return folders of the reports of both tables."""
    places = []
    for name in ("old", "new"):
        places.append(folder / f"{name}_report")
        code, _, err = seedproof("measure", folder / f"{name}.csv", *options, "--out", places[-1])
        assert code == 0, err
    return places


@pytest.mark.parametrize(
    ("kind", "primary", "quality"),
    [("rankings", "first_item_flips", "ndcg@10"), ("sets", "set_flips", "micro_f1")],
)
def test_saved_reports_get_the_verdicts_of_their_records(
    kind, primary, quality, seedproof, request
):
    folder = request.getfixturevalue(kind)
    of_lists = ["--example", "user", "--relevant", folder / "right.csv"]
    options = of_lists if kind == "rankings" else []
    old, new = _saved(seedproof, folder, *options)

    from_reports = _json(seedproof, "compare", old, new, "--out", folder / "page")
    from_records = _json(seedproof, "compare", folder / "old.csv", folder / "new.csv", *options)
    rules = ("--no-worse", f"{quality}=0.2", "--no-worse", primary, "--min", f"{quality}=0.05")
    target = folder / "new.csv"
    codes = [
        seedproof("gate", new, "--baseline", old, *rules)[0],
        seedproof("gate", target, *options, "--baseline", old, *rules)[0],
        seedproof("gate", target, *options, "--baseline", folder / "old.csv", *rules)[0],
    ]

    assert from_reports["primary"] == from_records["primary"] == primary
    effects, full = (compared["arms"][0]["effects"] for compared in (from_reports, from_records))
    assert effects.keys() == full.keys()
    assert effects[primary]["verdict"] == full[primary]["verdict"] == "steadier"
    assert effects[quality]["value"] == pytest.approx(full[quality]["value"])
    assert codes == [0, 0, 0]
    assert (folder / "page" / "comparison.html").stat().st_size > 0
