"""Dynamics are measured along with predictions, and notes report what is left out."""

from pathlib import Path

import numpy as np
import pyarrow.parquet as pq
import pytest

import seedproof as sp
from seedproof.errors import DamagedStoreError, UnknownNameError
from seedproof.measurement.dynamics import DynamicsMeasurement, DynamicsSummary
from seedproof.measurement.load import load_saved
from seedproof.metrics.dynamics import DYNAMICS_NAMES
from seedproof.records.decoding import decode
from seedproof.records.location import Location
from seedproof.testing.errors import WithFields

N = 60
MANY = 20_000  # classes, so that 52 examples fill a row group
IDS = np.arange(N)
TRUTH = np.random.default_rng(0)
LABELS = TRUTH.integers(0, 3, N)
MARGIN = np.where(TRUTH.random(N) < 0.4, 4.0, TRUTH.normal(0.8, 1.0, N))


def log(run, *, split="dev", ids=IDS, n_steps=20, is_traced=True, labels=LABELS):
    """Log predictions of "dev" and the dynamics of their training."""
    rng = np.random.default_rng(int(run.name))
    place = np.asarray(ids)
    dynamics = sp.Dynamics(n_classes=3, ids=place, labels=LABELS[place])
    own = rng.normal(size=N)
    for _ in range(n_steps):
        is_right = MARGIN + 0.7 * own + 0.7 * rng.normal(size=N) > 0
        predicted = np.where(is_right, LABELS, (LABELS + 1) % 3)
        probs = np.full((N, 3), 0.1)
        probs[IDS, predicted] = 0.8
        dynamics.update(probs[place])
    run.log_predictions("dev", ids=IDS, probs=probs, labels=labels)
    if is_traced:
        run.log_dynamics(split, dynamics)


@pytest.fixture
def study(tmp_path):
    """Run a study whose runs log this way."""

    def make(train, seeds=3):
        study = sp.Study("small", train, seeds=seeds, store=tmp_path / "store")
        study.run("serial", progress=False)
        return study

    return make


def test_traced_runs_are_measured(study):
    """The figure has an interval over runs × examples, and each example its coordinates."""
    report = study(log, 8).measure()

    dynamics = report.dynamics
    assert tuple(dynamics.metrics) == DYNAMICS_NAMES
    assert (dynamics.n_runs, len(dynamics.runs), dynamics.n_examples, dynamics.n_steps) == (
        8,
        8,
        N,
        (20, 20),
    )
    assert all(dynamics.metrics[name].over == "runs × examples" for name in DYNAMICS_NAMES)
    assert dynamics.notes == ()
    assert report.measurement.notes == ()
    within = dynamics.examples.column("single_run_entropy").to_numpy()
    assert within.mean() == pytest.approx(dynamics.metrics["single_run_entropy"].value)
    right = dynamics.examples.column("correctness").to_numpy()
    assert right[within == 0] == pytest.approx(np.round(right[within == 0]))
    both = [dynamics.examples.column(name).to_numpy() for name in ("confidence", "variability")]
    cells = np.histogram2d(*both, bins=20, range=[(0, 1), (0, 0.5)])[0]
    assert dynamics.cartography.tolist() == cells.tolist()


def test_labels_that_contradict_each_other_give_a_note(study):
    """Five of sixty."""
    others = np.where(IDS < 5, (LABELS + 1) % 3, LABELS)

    (note,) = study(lambda run: log(run, labels=others)).measure().dynamics.notes

    assert note.code == "dynamics-with-other-labels"
    assert note.fields == {"n_runs": 3, "n_traced": 3, "n_examples": 5}


def test_predictions_without_labels_give_no_note(study):
    """Dynamics may have labels of their own."""
    assert study(lambda run: log(run, labels=None)).measure().dynamics.notes == ()


def test_some_traced_runs_are_enough(study):
    """One of four was traced: the interval is over examples alone."""
    dynamics = study(lambda run: log(run, is_traced=run.name == "2"), 4).measure().dynamics

    assert dynamics.runs == ("2",)
    assert dynamics.n_runs == 4
    assert dynamics.metrics["single_run_entropy"].over == "examples"


def test_report_without_dynamics_does_not_mention_them(study):
    """Neither in the summary nor on the page."""
    report = study(lambda run: log(run, is_traced=False)).measure()

    assert report.dynamics is None
    assert "dynamics" not in report.summary()
    assert "dynamics" not in str(report).lower()
    assert 'id="dynamics"' not in report.to_html()


def test_dynamics_of_another_split_give_a_note(study):
    """They do not belong to these predictions."""
    report = study(lambda run: log(run, split="train")).measure()

    assert report.dynamics is None
    (note,) = report.measurement.notes
    assert note.code == "dynamics-of-other-split"
    assert (note.fields["splits"], note.fields["split"]) == (("train",), "dev")


def test_dynamics_of_some_examples_give_a_note(study):
    """Examples that every traced run recorded are measured."""
    dynamics = study(lambda run: log(run, ids=IDS[10:50])).measure().dynamics

    assert dynamics.n_examples == 40
    (note,) = dynamics.notes
    assert note.code == "traced-on-fewer-examples"
    assert note.fields == {"n_traced": 40, "n_examples": 60}
    assert dynamics.examples.column("example").to_pylist() == [str(i) for i in range(10, 50)]


def test_integer_ids_match_text_ids(study):
    """Ids that are all integers in the dynamics may be text in the predictions."""
    names = np.array([*map(str, range(N - 1)), "x"])

    def train(run):
        rng = np.random.default_rng(int(run.name))
        dynamics = sp.Dynamics(n_classes=2, ids=names[:40])
        for _ in range(3):
            predicted = rng.integers(0, 2, N)
            dynamics.update(predicted[:40])
        run.log_predictions("dev", ids=names, predictions=predicted, classes=["a", "b"])
        run.log_dynamics("dev", dynamics)

    seen = []
    report = sp.measure(study(train).store, progress=lambda done, total: seen.append((done, total)))

    assert report.dynamics.n_examples == 40
    assert set(report.dynamics.examples.column("example").to_pylist()) == set(names[:40])
    assert seen[-1] == (1, 1)


def test_unequal_numbers_of_steps_give_a_note(study):
    """Entropy grows with the number of steps."""
    dynamics = study(lambda run: log(run, n_steps=10 + 5 * int(run.name))).measure().dynamics

    assert dynamics.n_steps == (10, 20)
    assert dynamics.notes[0].code == "traced-unequally-often"
    assert dynamics.notes[0].fields == {"low": 10, "high": 20}


def test_runs_without_a_common_example_give_a_note(study):
    """Each run was traced on other examples."""
    cut = np.array_split(IDS, 3)
    report = study(lambda run: log(run, ids=cut[int(run.name)])).measure()

    assert report.dynamics is None
    (note,) = report.measurement.notes
    assert (note.code, note.fields) == ("dynamics-of-other-examples", {"split": "dev"})


def test_saved_report_has_the_same_dynamics(study, tmp_path):
    """All but the examples."""
    report = study(log, 8).measure()
    report.save(tmp_path / "out")

    again = load_saved(Location.of(tmp_path / "out"))

    assert again.to_json() == report.to_json()
    assert sp.Report(again).figure("cartography").to_bytes().startswith(b"\x89PNG")


def test_report_of_version_0_1_0_is_read(study):
    """It has further figures, which are ignored, and no map of examples."""
    dynamics = study(log).measure().dynamics
    older = dynamics.summary() | {"least_stable": 0.1, "map": None, "curve": None}
    del older["cartography"]
    older["metrics"] = older["metrics"] | {"single_run_pearson": {"value": 0.5}}
    older["by_run"] = older["by_run"] | {"single_run_pearson": [0.5] * 3}

    again = DynamicsMeasurement.from_summary(decode(DynamicsSummary, older, allow_unknown=True))

    assert again.summary() == dynamics.summary() | {"cartography": None}


def test_dynamics_are_measured_only_on_request(study):
    """Other metrics do not read them."""
    made = study(log)

    assert sp.measure(made.store, metrics=["flip_rate"]).dynamics is None
    report = sp.measure(made.store, metrics=["single_run_entropy"])
    assert "single_run_entropy" in report.dynamics.metrics
    with pytest.raises(UnknownNameError, check=WithFields(places=("report.dynamics.metrics",))):
        report["single_run_entropy"]


def damage(part):
    """Overwrite some bytes in the middle of a file."""
    content = part.read_bytes()
    middle = len(content) // 2
    part.write_bytes(content[:middle] + b"\0" * 8 + content[middle + 8 :])


def test_damaged_dynamics_are_refused_or_left_out(study):
    """The note names the run; the rest is measured."""
    made = study(log, 4)
    damage(next(Path(made.store).rglob("dynamics/*/*.parquet")))

    with pytest.raises(DamagedStoreError):
        sp.measure(made.store)
    dynamics = sp.measure(made.store, skip_damaged=True).dynamics

    assert len(dynamics.runs) == 3
    (note,) = dynamics.notes
    assert note.code == "dynamics-left-out"
    assert {note.fields["run"]} == {"0", "1", "2", "3"} - set(dynamics.runs)
    assert isinstance(note.fields["why"], DamagedStoreError)
    assert str(made.store) not in str(note)


def test_dynamics_damaged_in_every_run_give_a_note(study):
    """Predictions alone are measured."""
    made = study(log)
    for part in Path(made.store).rglob("dynamics/*/*.parquet"):
        damage(part)

    report = sp.measure(made.store, skip_damaged=True)

    assert report.dynamics is None
    assert report.measurement.notes[-1].code == "dynamics-of-other-examples"


def wide_study(tmp_path):
    """Three runs of many classes, so that their predictions fill two row groups."""

    def train(run):
        rng = np.random.default_rng(int(run.name))
        dynamics = sp.Dynamics(n_classes=MANY, ids=IDS, labels=LABELS)
        for _ in range(4):
            predicted = rng.integers(0, 3, N)
            dynamics.update(predicted)
        probs = np.full((N, MANY), 0.5 / MANY, dtype=np.float32)
        probs[IDS, predicted] += 0.5
        run.log_predictions("dev", ids=IDS, probs=probs, labels=LABELS)
        run.log_dynamics("dev", dynamics)

    study = sp.Study("wide", train, seeds=3, store=tmp_path / "store")
    study.run("serial", progress=False)
    return study


def damage_column(study, starts):
    """Damage a page of the second row group of one run; return its number of examples."""
    part = next(Path(study.store).rglob("predictions/*/*.parquet"))
    group = pq.read_metadata(part).row_group(1)
    columns = [group.column(i) for i in range(group.num_columns)]
    column = next(c for c in columns if c.path_in_schema.startswith(starts))
    content = bytearray(part.read_bytes())
    content[column.data_page_offset + 20] ^= 255  # in its page, not in the footer
    part.write_bytes(content)
    return group.num_rows


def test_damaged_shard_of_predictions_is_left_out_of_dynamics(tmp_path):
    """Only examples whose predictions can be read are measured."""
    study = wide_study(tmp_path)
    n_lost = damage_column(study, "prediction")

    with pytest.raises(DamagedStoreError):
        sp.measure(study.store)
    dynamics = sp.measure(study.store, skip_damaged=True).dynamics

    assert 0 < dynamics.n_examples == N - n_lost < N
    assert dynamics.notes[0].code == "traced-on-fewer-examples"
    assert dynamics.notes[0].fields == {"n_traced": dynamics.n_examples, "n_examples": N}


def test_shard_with_damaged_probabilities_is_left_out_of_dynamics(tmp_path):
    """Although its predictions could be read."""
    study = wide_study(tmp_path)
    n_lost = damage_column(study, "prob")

    report = sp.measure(study.store, skip_damaged=True)

    assert report.measurement.left_out == (1,)
    assert report.measurement.n_examples == report.dynamics.n_examples == N - n_lost
    assert report.dynamics.notes == ()


def test_dynamics_of_predictions_alone_have_no_map(study):
    """Entropy and correctness need no probabilities."""

    def train(run):
        ranks = [sp.Dynamics(n_classes=3, ids=IDS, labels=LABELS) for _ in range(2)]
        rng = np.random.default_rng(int(run.name))
        for rank in ranks:
            predicted = np.where(MARGIN + rng.normal(size=N) > 0, LABELS, (LABELS + 1) % 3)
            rank.update(predicted)
        ranks[0].merge(ranks[1])
        run.log_predictions("dev", ids=IDS, predictions=predicted, labels=LABELS, classes="abc")
        run.log_dynamics("dev", ranks[0])

    report = study(train).measure()

    assert report.dynamics.cartography is None
    assert report.dynamics.examples.column("confidence").null_count == N
    assert report.dynamics.examples.column("correctness").null_count == 0
    page = report.to_html()
    assert 'id="dynamics"' in page
    assert "cartography" not in page
