"""`seedproof compare --old … --new …`, from tables to files."""

import json

import numpy as np
import pyarrow as pa
import pyarrow.csv
import pyarrow.parquet as pq
import pytest

N_EXAMPLES = 200
CHANGED = range(0, N_EXAMPLES, 20)


def _table(rng, base, hard, n_runs, *, turned):
    """Return one row per run and example, with the answers to some examples inverted."""
    flipped = (rng.random((n_runs, N_EXAMPLES)) < 0.3) & hard
    answers = np.where(flipped, 1 - base, base)
    if turned:
        answers[:, list(CHANGED)] = 1 - base[list(CHANGED)]
    runs, examples = np.divmod(np.arange(n_runs * N_EXAMPLES), N_EXAMPLES)
    names = np.array(["no", "yes"])
    return pa.table(
        {
            "run": runs,
            "example": examples,
            "label": names[base[examples]],
            "prediction": names[answers[runs, examples]],
            "channel": np.where(examples % 20 == 0, "app", "web"),
        }
    )


@pytest.fixture
def tables(tmp_path):
    """Write seven old runs, and seven new ones with every twentieth answer inverted."""
    rng = np.random.default_rng(3)
    base, hard = rng.integers(0, 2, N_EXAMPLES), rng.random(N_EXAMPLES) < 0.1
    for name, turned in (("old", False), ("same", False), ("new", True)):
        pa.csv.write_csv(_table(rng, base, hard, 7, turned=turned), tmp_path / f"{name}.csv")


@pytest.mark.usefixtures("tables")
def test_changes_are_detected_and_their_examples_listed(seedproof, tmp_path):
    """With the slice that they are in."""
    code, out, err = seedproof(
        "compare", "--old", "old.csv", "--new", "new.csv", "--slice", "channel", "--out", "changes"
    )

    assert code == 0, err
    text = (tmp_path / "changes" / "versions.txt").read_text(encoding="utf-8")
    assert text.startswith(out.strip())
    summary = json.loads((tmp_path / "changes" / "versions.json").read_text(encoding="utf-8"))
    assert summary["is_beyond"]
    assert sorted(row["example"] for row in summary["unexplained"]) == list(CHANGED)
    by_channel = {part["name"]: part for part in summary["slices"]["channel"]}
    assert by_channel["app"]["is_beyond"]
    assert not by_channel["web"]["is_beyond"]
    examples = pq.read_table(tmp_path / "changes" / "examples.parquet")
    assert examples.num_rows == N_EXAMPLES
    assert examples["channel"][0].as_py() == "app"


@pytest.mark.usefixtures("tables")
def test_unchanged_version_has_no_flips_beyond_the_seed(seedproof):
    """The same training with other seeds."""
    code, out, err = seedproof("compare", "--old", "old.csv", "--new", "same.csv", "--json")

    assert code == 0, err
    summary = json.loads(out)
    assert not summary["is_beyond"]
    assert summary["unexplained"] == []
    assert summary["whole"]["figures"]["flip_rate"]["value"] > 0


@pytest.mark.usefixtures("tables")
def test_the_same_predictions_give_the_same_bytes(seedproof):
    """Without time, path or chance."""
    outputs = {
        seedproof("compare", "--old", "old.csv", "--new", "new.csv", "--json")[1] for _ in "ab"
    }

    assert len(outputs) == 1


@pytest.mark.usefixtures("tables")
def test_unknown_slice_is_refused(refused):
    """The error lists the known columns."""
    error = refused("compare", "--old", "old.csv", "--new", "new.csv", "--slice", "region")

    assert (error.code, error.fields["column"]) == ("SP103", "region")
    assert "channel" in error.fields["known"]
