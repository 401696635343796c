"""The recorder equals a dense count, resumes to the bit, and merges over ranks."""

import io
import math
import pickle
import statistics

import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from scipy.stats import entropy as scipy_entropy

import seedproof as sp
from seedproof.errors import (
    DtypeError,
    EmptyInputError,
    InputError,
    OptionError,
    ProbabilityError,
    ShapeError,
    UnknownLabelError,
)
from seedproof.metrics.dynamics import step_entropy
from seedproof.records.dynamics import dynamics_of
from seedproof.testing.errors import WithFields
from seedproof.training import dynamics as module
from seedproof.training import dynamics_counts as counting
from seedproof.training.dynamics import Dynamics

N_EXAMPLES, N_CLASSES = 5, 4
LABELS = [0, 3, -1, 2, 1]


def one_update(rng, *, partial=True):
    """Return probabilities of some rows, with repeats, or of all examples in order."""
    n_rows = int(rng.integers(0, 9)) if partial else N_EXAMPLES
    rows = rng.integers(0, N_EXAMPLES, n_rows) if partial else None
    return rng.dirichlet(np.ones(N_CLASSES), n_rows).astype(np.float32), rows


def stream_of(seed, n_updates):
    """Return updates of a training: whole evaluations and batches of any size, mixed."""
    rng = np.random.default_rng(seed)
    return [one_update(rng, partial=bool(rng.integers(0, 3))) for _ in range(n_updates)]


STREAMS = st.builds(stream_of, st.integers(0, 10**6), st.integers(0, 20))


def recorder(**others):
    """Return a recorder of five examples."""
    return Dynamics(N_CLASSES, **({"labels": LABELS} | others))


def recorded(stream, **others):
    """Return a recorder after a stream of updates."""
    dynamics = recorder(**others)
    for values, rows in stream:
        dynamics.update(values, rows=rows)
    return dynamics


def dense(stream):
    """Return counts (examples, classes) and all gold probabilities per example."""
    counts = np.zeros((N_EXAMPLES, N_CLASSES), dtype=int)
    gold = [[] for _ in range(N_EXAMPLES)]
    for values, rows in stream:
        places = range(N_EXAMPLES) if rows is None else rows.tolist()
        for row, probs in zip(places, values.tolist(), strict=True):
            counts[row, probs.index(max(probs))] += 1
            if LABELS[row] >= 0:
                gold[row].append(probs[LABELS[row]])
    return counts, gold


def as_table(record):
    """Return the counts of a record as a dense table."""
    table = np.zeros((len(record), len(record.class_names)), dtype=int)
    rows = np.repeat(np.arange(len(record)), np.diff(record.offsets))
    table[rows, record.classes] = record.counts
    return table


def plain(dynamics):
    """Return the whole state of a recorder as bytes."""
    return {name: array.tobytes() for name, array in dynamics.state_dict().items()}


@pytest.mark.parametrize("waiting", [0, 2**16], ids=["settled-at-once", "waiting"])
@given(stream=STREAMS)
def test_counts_and_means_equal_a_dense_count(waiting, stream):
    """On random streams in which examples are seen unequally often."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(counting, "MAX_WAITING", waiting)
        dynamics = recorded(stream)
    counts, gold = dense(stream)

    entropy, (confidence, variability, right) = dynamics.label_entropy(), dynamics.cartography()

    for row in range(N_EXAMPLES):
        n_steps = counts[row].sum()
        if n_steps:
            assert entropy[row] == pytest.approx(scipy_entropy(counts[row]), abs=1e-12)
        else:
            assert math.isnan(entropy[row])
        if n_steps and LABELS[row] >= 0:
            assert confidence[row] == pytest.approx(statistics.fmean(gold[row]), abs=1e-12)
            assert variability[row] == pytest.approx(statistics.pstdev(gold[row]), abs=1e-7)
            assert right[row] == counts[row, LABELS[row]] / n_steps
        else:
            assert np.isnan([confidence[row], variability[row], right[row]]).all()
    if counts.any():
        assert as_table(dynamics.record()).tolist() == counts.tolist()
        assert dynamics.record().n_steps.tolist() == counts.sum(axis=1).tolist()


def test_stream_gives_the_numbers_of_the_paper():
    """90/5/5 over 100 steps gives 0.394, 75/25 gives 0.562, always the same class 0."""
    steps = np.stack(
        [
            np.repeat([0, 1, 2], [90, 5, 5]),
            np.repeat([3, 1], [75, 25]),
            np.full(100, 2),
        ]
    )
    dynamics = Dynamics(4, ids=range(3))

    for predictions in steps.T:
        dynamics.update(predictions)

    assert dynamics.label_entropy() == pytest.approx([0.394, 0.562, 0.0], abs=5e-4)


def test_memory_grows_with_the_pairs_and_not_with_the_classes():
    """10,000 examples by 100,000 classes: 2 MB instead of 4 GB."""
    rng = np.random.default_rng(0)
    first, second = rng.integers(0, 100_000, (2, 10_000))
    dynamics = Dynamics(100_000, ids=range(10_000))

    largest = 0
    for step in range(30):
        dynamics.update(np.where(rng.random(10_000) < 0.1 * (step > 3), second, first))
        largest = max(largest, dynamics.nbytes)

    n_pairs = len(dynamics.record().counts)
    assert 10_000 < n_pairs <= 20_000
    of_examples = 20 * 10_000  # steps, mean and squares
    assert dynamics.nbytes == 12 * n_pairs + of_examples
    assert largest <= dynamics.nbytes + 8 * counting.MAX_WAITING


@given(first=STREAMS, second=STREAMS)
def test_merge_of_two_halves_equals_the_whole(first, second):
    """Counts exactly; means up to rounding."""
    whole, merged, other = recorded(first + second), recorded(first), recorded(second)
    before = plain(other)

    merged.merge(other)

    assert plain(other) == before
    assert merged.n_updates == whole.n_updates
    left, right = merged.state_dict(), whole.state_dict()
    for name in ("keys", "counts", "n_steps", "given"):
        assert left[name].tolist() == right[name].tolist()
    for actual, expected in zip(merged.cartography(), whole.cartography(), strict=True):
        np.testing.assert_allclose(actual, expected, rtol=0, atol=1e-7)


def test_empty_recorder_changes_no_bit_of_a_merge():
    """On either side; merged recorders share no memory."""
    stream = stream_of(3, 12)
    other, dynamics, full = recorded(stream), recorder(), recorded(stream)

    dynamics.merge(other)
    full.merge(recorder())

    assert plain(dynamics) == plain(full) == plain(recorded(stream))
    dynamics.update(np.full((N_EXAMPLES, N_CLASSES), 0.25))
    assert plain(other) == plain(recorded(stream))


def through_pickle(state):
    """Save and load as a checkpoint of any library."""
    return pickle.loads(pickle.dumps(state))  # noqa: S301 - our own


def through_torch(state):
    """Save and load as a checkpoint of torch, with tensors only."""
    file = io.BytesIO()
    torch.save({name: torch.from_numpy(array) for name, array in state.items()}, file)
    file.seek(0)
    return torch.load(file)


def through_torch_as_arrays(state):
    """Save and load as a checkpoint of torch, with arrays."""
    file = io.BytesIO()
    torch.save(state, file)
    file.seek(0)
    return torch.load(file, weights_only=False)


def through_npz(state):
    """Save and load without pickle."""
    file = io.BytesIO()
    np.savez(file, **state)
    file.seek(0)
    return np.load(file, allow_pickle=False)


@pytest.mark.parametrize(
    "kept", [dict, through_pickle, through_torch, through_torch_as_arrays, through_npz]
)
@given(stream=STREAMS, place=st.floats(0, 1))
def test_resumed_recorder_equals_an_uninterrupted_one(kept, stream, place):
    """To the bit, wherever it stopped."""
    cut = int(place * len(stream))
    resumed = recorder()
    resumed.load_state_dict(kept(recorded(stream[:cut]).state_dict()))
    for values, rows in stream[cut:]:
        resumed.update(values, rows=rows)

    assert plain(resumed) == plain(recorded(stream))


def test_state_of_version_0_1_0_is_accepted():
    """Its curve of entropies is ignored."""
    dynamics = recorded(stream_of(1, 5))
    curve = {"curve_stride": 1, "curve_steps": [1, 2], "curve_values": [0.0, 0.5]}
    other = recorder()

    other.load_state_dict(dynamics.state_dict() | curve)

    assert plain(other) == plain(dynamics)


def test_state_is_a_copy():
    """Later updates change neither the state nor recorders that loaded it."""
    dynamics = recorded(stream_of(1, 5))
    state, bits = dynamics.state_dict(), plain(dynamics)

    other = recorder()
    other.load_state_dict(state)
    for changed in (dynamics, other):
        changed.update(np.full((N_EXAMPLES, N_CLASSES), 0.25))

    assert {name: array.tobytes() for name, array in state.items()} == bits


@pytest.mark.parametrize("dtype", [torch.float64, torch.float32, torch.float16, torch.bfloat16])
def test_tensors_that_require_a_gradient_are_accepted(dtype):
    """In every precision; half precision has a larger tolerance."""
    logits = torch.linspace(-2, 2, N_EXAMPLES * 3).reshape(N_EXAMPLES, 3).requires_grad_()
    dynamics = Dynamics(3, labels=torch.tensor([2, 1, 0, 2, 2]))

    dynamics.update(torch.softmax(logits, dim=1).to(dtype), rows=torch.arange(N_EXAMPLES))

    confidence, variability, right = dynamics.cartography()
    assert confidence[0] == pytest.approx(torch.softmax(logits, dim=1)[0, 2].item(), rel=1e-2)
    assert variability.tolist() == [0.0] * N_EXAMPLES
    assert right.tolist() == [1.0, 0.0, 0.0, 1.0, 1.0]


def test_first_class_of_a_tie_is_predicted():
    """As in records of predictions."""
    dynamics = recorder()
    dynamics.update(np.full((N_EXAMPLES, N_CLASSES), 0.25))

    assert dynamics.record().classes.tolist() == [0] * N_EXAMPLES


def test_predictions_alone_give_no_mean_probability():
    """Entropy and correctness need none."""
    dynamics = recorder()
    dynamics.update(np.array([0, 0, 0, 2, 2]))

    record, (confidence, variability, right) = dynamics.record(), dynamics.cartography()

    assert right[[0, 1, 3, 4]].tolist() == [1.0, 0.0, 1.0, 0.0]
    for unknown in (confidence, variability, record.gold_mean, record.gold_sd):
        assert np.isnan(unknown).all()


def test_record_has_sorted_examples_and_classes():
    """Ids by value and classes by name, as in records of predictions."""
    dynamics = Dynamics(
        3, ids=[7, 3, 5], labels=["fox", None, "cat"], classes=["fox", "dog", "cat"]
    )
    dynamics.update(np.array([[0.5, 0.25, 0.25], [0.0, 1.0, 0.0], [0.75, 0.0, 0.25]]))
    dynamics.update(np.array([[0.25, 0.75, 0.0]]), rows=[0])

    record = dynamics.record()

    assert record.class_names == ("cat", "dog", "fox")
    assert record.ids.to_pylist() == [3, 5, 7]
    assert record.labels.tolist() == [-1, 0, 2]
    assert record.n_steps.tolist() == [1, 1, 2]
    assert as_table(record).tolist() == [[0, 1, 0], [0, 0, 1], [0, 1, 1]]
    assert record.classes.tolist() == [1, 2, 1, 2]
    assert record.gold_mean[1:].tolist() == [0.25, 0.375]
    assert record.gold_sd[1:].tolist() == [0.0, 0.125]
    assert np.isnan([record.gold_mean[0], record.gold_sd[0]]).all()


def test_empty_batch_is_not_an_update():
    """The last rank may have no rows."""
    dynamics = recorder()

    dynamics.update(np.empty((0, N_CLASSES)), rows=np.empty(0))

    assert dynamics.n_updates == 0


GOOD = np.full((N_EXAMPLES, N_CLASSES), 0.25)
NAN = pytest.approx(np.nan, nan_ok=True)


@pytest.mark.parametrize(
    ("values", "rows", "error", "fields"),
    [
        (GOOD[:, :3], None, ShapeError, {"shape": (5, 3), "n_classes": 4}),
        (GOOD[None], None, ShapeError, {"shape": (1, 5, 4)}),
        (np.float64(0.5), None, ShapeError, {"shape": ()}),
        (GOOD[:3], None, ShapeError, {"n_values": 3, "n_examples": 5}),
        (GOOD[:3], [0, 1], ShapeError, {"n_values": 3, "shape": (2,)}),
        (GOOD[:1], [[0]], ShapeError, {"n_values": 1, "shape": (1, 1)}),
        (GOOD[:2], [0.0, 1.0], DtypeError, {"dtype": "float64", "highest": 4}),
        (GOOD[:2], ["a", "b"], DtypeError, {"dtype": "<U1", "highest": 4}),
        (GOOD[:2], [0, 5], InputError, {"row": 5, "n_examples": 5, "highest": 4}),
        (GOOD[:2], [0, -1], InputError, {"row": -1}),
        (GOOD * np.nan, None, ProbabilityError, {"example": 0, "probability": NAN}),
        (GOOD * 2, None, ProbabilityError, {"example": 0, "sum": 2.0}),
        (GOOD[:1] - 1, [3], ProbabilityError, {"example": 3, "probability": -0.75}),
        (GOOD.astype(int), None, DtypeError, {"shape": (5, 4), "dtype": "int64"}),
        (GOOD[:, 0], None, DtypeError, {"shape": (5,), "dtype": "float64"}),
        (["a"] * 5, None, DtypeError, {"shape": (5,), "dtype": "<U1"}),
        ([0, 1, 2, 4, 0], None, UnknownLabelError, {"example": 3, "class_idx": 4}),
        ([-1, 0, 0, 0, 0], None, UnknownLabelError, {"example": 0, "class_idx": -1}),
    ],
    ids=[
        "classes", "axes", "no-axis", "fewer", "fewer-rows", "axes-of-rows", "float-rows",
        "text-rows", "large-row", "negative-row", "nan", "sum", "negative", "integer-probs",
        "float-predictions", "texts", "large-class", "negative-class",
    ],
)  # fmt: skip
def test_invalid_update_is_refused_and_changes_nothing(values, rows, error, fields):
    """The error names the problem."""
    dynamics = recorder()

    with pytest.raises(error, check=WithFields(**fields)):
        dynamics.update(values, rows=rows)

    assert plain(dynamics) == plain(recorder())


@pytest.mark.parametrize("first", ["probs", "predictions"])
def test_probabilities_and_predictions_are_not_mixed(first):
    """Neither by updates nor by a merge: the mean would cover only some of the steps."""
    updates = {"probs": GOOD, "predictions": np.zeros(N_EXAMPLES, dtype=int)}
    second = next(name for name in updates if name != first)
    dynamics, other = recorder(), recorder()
    dynamics.update(updates[first])
    other.update(updates[second])
    before = plain(dynamics)

    mixed = WithFields(given=first, other=second)
    with pytest.raises(OptionError, check=mixed):
        dynamics.update(updates[second])
    with pytest.raises(OptionError, check=mixed):
        dynamics.merge(other)

    assert plain(dynamics) == before


OTHERS = [
    {"labels": [0, 3, -1, 2, 2]},
    {"labels": [*LABELS, 0]},
    {"ids": list("abcde")},
    {"ids": [1, 0, 2, 3, 4]},
    {"classes": list("abcd")},
]


@pytest.mark.parametrize("others", OTHERS, ids=["label", "one-more", "ids", "order", "classes"])
def test_recorders_of_different_examples_are_not_mixed(others):
    """Neither by a merge nor by a state."""
    dynamics, other = recorder(), recorder(**others)

    with pytest.raises(InputError):
        dynamics.merge(other)
    with pytest.raises(InputError, check=WithFields(key="examples")):
        dynamics.load_state_dict(other.state_dict())


def test_incomplete_state_is_refused():
    """The error names the missing key, and the recorder is not changed."""
    dynamics = recorded(stream_of(1, 3))
    state, before = dynamics.state_dict(), plain(dynamics)
    del state["counts"], state["keys"]

    with pytest.raises(InputError, check=WithFields(missing=("keys", "counts"))):
        dynamics.load_state_dict(state)

    assert plain(dynamics) == before


def test_recorder_without_updates_has_no_record():
    """The error is ours."""
    with pytest.raises(EmptyInputError):
        recorder().record()


def _train(run):
    """Train a small classifier of four blobs that predicts its test examples after every step."""
    draw = np.random.default_rng(0)
    labels = np.arange(240) % 4
    inputs = torch.from_numpy(draw.normal(0, 1.2, (240, 2)) + 2 * np.eye(4)[labels][:, :2]).float()
    gold = torch.from_numpy(labels)
    with run.seeded("init"):
        model = torch.nn.Sequential(torch.nn.Linear(2, 16), torch.nn.ReLU(), torch.nn.Linear(16, 4))
    optimizer = torch.optim.Adam(model.parameters(), lr=0.02)
    ids = [f"example {i}" for i in range(80)]
    test = sp.Dynamics(n_classes=4, ids=ids, labels=labels[160:])
    batches = sp.Dynamics(n_classes=4, labels=labels[:160])
    kept = []
    for _ in range(4):
        for batch in torch.from_numpy(run.rng("order").permutation(160)).split(32):
            logits = model(inputs[batch])
            optimizer.zero_grad()
            torch.nn.functional.cross_entropy(logits, gold[batch]).backward()
            optimizer.step()
            batches.update(torch.softmax(logits, dim=1), rows=batch)
            with torch.no_grad():
                kept.append(torch.softmax(model(inputs[160:]), dim=1).numpy())
            test.update(kept[-1])
    run.log_predictions("test", ids=ids, probs=kept[-1], labels=labels[160:])
    run.log_dynamics("test", test)
    run.log_dynamics("train", batches)
    return np.array(kept), labels[160:]


def test_training_is_logged_read_back_and_measured(make_run):
    """LE_s and the map of a real training equal those of all its probabilities."""
    run = make_run()
    kept, labels = _train(run)
    manifest = run.commit({})

    record = dynamics_of(run.folder.parent.parent, manifest, "test")
    of_batches = dynamics_of(run.folder.parent.parent, manifest, "train")

    order = np.argsort([f"example {i}" for i in range(80)])  # text sorts by its bytes
    predictions = kept.argmax(axis=2)
    by_class = (predictions[:, :, None] == np.arange(4)).sum(axis=0)
    expected = scipy_entropy(by_class, axis=1)
    assert expected.max() > 0.5  # some examples do move
    assert step_entropy(record.counts, record.offsets) == pytest.approx(expected[order], abs=1e-12)
    gold = kept[:, np.arange(80), labels].astype(np.float64)
    assert record.gold_mean == pytest.approx(gold.mean(axis=0)[order])
    assert record.gold_sd == pytest.approx(gold.std(axis=0)[order])
    assert record.ids.to_pylist() == sorted(f"example {i}" for i in range(80))
    assert (record.n_steps == 20).all()
    assert (of_batches.n_steps == 4).all()  # each example is in one batch of an epoch
    kinds = sorted(part.path.split("/")[0] for part in manifest.parts)
    assert kinds == ["dynamics", "dynamics", "predictions"]
    assert module.Dynamics is sp.Dynamics
