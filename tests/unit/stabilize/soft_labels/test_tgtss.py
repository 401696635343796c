"""TGTSS on small trainings, compared with a list of all predictions."""

import numpy as np
import pytest
import torch
from torch.nn import functional

from seedproof.errors import MissingExampleError, OptionError, ShapeError
from seedproof.stabilize import Tgtss, TgtssSettings, raised, soft_cross_entropy
from seedproof.testing.errors import WithFields
from seedproof.testing.trainings import Net, adam, through_a_file

N_EXAMPLES, N_CLASSES, N_STEPS = 24, 3, 20
GENERATOR = torch.Generator().manual_seed(0)
EXAMPLES = torch.randn((N_EXAMPLES, 4), generator=GENERATOR)
LABELS = EXAMPLES[:, :3].argmax(dim=1)
BATCHES = [
    torch.randperm(N_EXAMPLES, generator=torch.Generator().manual_seed(step))[:6]
    for step in range(N_STEPS)
]


def train(look=None, *, targets=None):
    """Train; `look` is called per step with its number, the model, the batch and its logits."""
    model = Net()
    optimizer = adam(model)
    for step, rows in enumerate(BATCHES, start=1):
        logits = model(EXAMPLES[rows])
        optimizer.zero_grad()
        if targets is None:
            functional.cross_entropy(logits, LABELS[rows]).backward()
        else:
            soft_cross_entropy(logits, targets[rows]).backward()
        optimizer.step()
        if look is not None:
            look(step, model, rows, logits)
    return model


@torch.no_grad()
def predict(model):
    return model(EXAMPLES).softmax(dim=1)


def teach(tgtss):
    """Return an observed teacher, and a list of all observations."""
    stored = []

    def look(step, model, rows, logits):
        del rows, logits
        if tgtss.is_due(step):
            stored.append(predict(model))
            tgtss.observe(stored[-1], step=step)

    train(look)
    return torch.stack(stored).numpy()


@pytest.mark.parametrize("on_disk", [False, True])
@pytest.mark.parametrize(("every", "n_observed"), [(1, 16), (3, 6), (100, 1)])
def test_targets_equal_the_mean_of_stored_predictions(tmp_path, on_disk, every, n_observed):
    """Bit for bit: the mean in float64 of float32 predictions, from the fifth step on."""
    path = tmp_path / "mean" if on_disk else None
    tgtss = Tgtss(N_EXAMPLES, N_CLASSES, start=5, every=every, path=path)

    stored = teach(tgtss)

    mean = np.cumsum(stored.astype(np.float64), axis=0)[-1] / n_observed  # in order, one by one
    np.testing.assert_array_equal(tgtss.running_mean.mean(), mean)
    roots = np.sqrt(mean)
    q = roots / roots.sum(axis=1, keepdims=True)
    # Ours are divided by the largest before: three roundings, each of less than 2e-16.
    np.testing.assert_allclose(tgtss.targets(), q, rtol=0, atol=1e-15)
    assert tgtss.n_predicted == n_observed * N_EXAMPLES


def test_free_variant_equals_a_brute_force_mean_by_row():
    tgtss = Tgtss(N_EXAMPLES, N_CLASSES, start=3, power=0.7)
    came = {row: [] for row in range(N_EXAMPLES)}

    def look(step, model, rows, logits):
        del model
        if tgtss.is_due(step):
            probs = logits.detach().softmax(dim=1)
            tgtss.observe(probs, step=step, rows=rows)
            for row, row_probs in zip(rows.tolist(), probs.double().numpy(), strict=True):
                came[row].append(row_probs)

    train(look)

    mean = np.stack(
        [np.cumsum(all_of_it, axis=0)[-1] / len(all_of_it) for all_of_it in came.values()]
    )
    assert len({len(all_of_it) for all_of_it in came.values()}) > 1
    np.testing.assert_array_equal(tgtss.running_mean.mean(), mean)
    assert torch.equal(tgtss.targets(), raised(mean, power=0.7))
    assert tgtss.n_predicted == 0


def test_pieces_of_the_training_set_equal_the_whole():
    """At the same cost."""
    whole = Tgtss(N_EXAMPLES, N_CLASSES, start=1)
    pieces = Tgtss(N_EXAMPLES, N_CLASSES, start=1)
    probs = predict(Net())

    for step in (1, 2):
        whole.observe(probs, step=step)
        for rows in torch.arange(N_EXAMPLES).split(7):
            pieces.observe(probs[rows], step=step, rows=rows, is_extra=True)

    assert torch.equal(pieces.targets(), whole.targets())
    assert pieces.n_predicted == whole.n_predicted == 2 * N_EXAMPLES


def test_student_learns_from_the_targets():
    """It ends nearer to the soft labels than its teacher's own training does."""
    tgtss = Tgtss(N_EXAMPLES, N_CLASSES, start=15)
    teach(tgtss)
    targets = tgtss.targets()

    def distance(model):
        return soft_cross_entropy(model(EXAMPLES), targets).item()

    assert distance(train(targets=targets)) < distance(train())


@pytest.mark.parametrize("on_disk", [False, True])
def test_resumed_teacher_equals_an_uninterrupted_one(tmp_path, on_disk):
    """From any step, bit for bit."""
    n_observed, stored = 12, np.random.default_rng(0).dirichlet(np.ones(3), size=(13, N_EXAMPLES))

    def make(name):
        path = tmp_path / name if on_disk else None
        return Tgtss(N_EXAMPLES, N_CLASSES, start=2, every=2, path=path)

    def go_on(tgtss, first, last=n_observed):
        for index in range(first, last):
            tgtss.observe(stored[index], step=2 + 2 * index)

    expected = make("whole")
    go_on(expected, 0)
    for n_done in range(n_observed):
        killed = make(str(n_done))
        go_on(killed, 0, n_done)
        state = through_a_file(killed.state_dict())
        go_on(killed, n_done, n_done + 1)
        killed.running_mean.close()

        resumed = make(str(n_done))
        resumed.load_state_dict(state)
        go_on(resumed, n_done)

        assert torch.equal(resumed.targets(), expected.targets())
        assert resumed.n_predicted == expected.n_predicted
        assert resumed.has_observed
        resumed.running_mean.close()


def test_examples_never_observed_are_refused_or_get_gold_labels():
    tgtss = Tgtss(4, 2, start=1)
    tgtss.observe([[0.64, 0.36], [0.1, 0.9]], step=1, rows=[2, 0])

    with pytest.raises(MissingExampleError, check=WithFields(n_unseen=2, n_chosen=4)):
        tgtss.targets()
    with pytest.raises(MissingExampleError, check=WithFields(n_unseen=1, n_chosen=2)):
        tgtss.targets([2, 3])
    with pytest.raises(ShapeError, check=WithFields(n_labels=2, n_examples=4)):
        tgtss.targets([2, 3], gold=[0, 1])

    q = tgtss.targets([3, 2, 1], gold=[0, 0, 0, 1])
    expected = [[0.0, 1.0], [4 / 7, 3 / 7], [1.0, 0.0]]
    np.testing.assert_allclose(q, expected, rtol=0, atol=1e-15)
    assert tgtss.targets([2]).shape == (1, 2)


def test_due_steps_start_at_start_and_count_by_every():
    settings = TgtssSettings(start=4, every=3)

    assert [step for step in range(1, 15) if settings.is_due(step)] == [4, 7, 10, 13]


def test_steps_not_due_or_repeated_are_refused():
    """Training resumed without its state would count steps twice."""
    tgtss = Tgtss(2, 2, start=4, every=2)
    probs = [[0.5, 0.5], [0.5, 0.5]]

    with pytest.raises(OptionError, check=WithFields(step=5)):
        tgtss.observe(probs, step=5)
    tgtss.observe(probs, step=6)
    with pytest.raises(OptionError, check=WithFields(step=4, last_step=6)):
        tgtss.observe(probs, step=4)
    with pytest.raises(OptionError, check=WithFields(step=6, last_step=6)):
        tgtss.observe(probs, step=6)

    assert tgtss.running_mean.counts.tolist() == [1, 1]


def test_states_with_other_settings_are_refused():
    state = Tgtss(2, 2, start=4).state_dict()

    with pytest.raises(OptionError) as caught:
        Tgtss(2, 2, start=5).load_state_dict(state)

    fields = caught.value.fields
    assert (fields["stored"]["start"], fields["settings"]["start"]) == (4, 5)


@pytest.mark.parametrize(
    "settings",
    [{"start": -1}, {"start": 1.5}, {"every": 0}, {"power": 0.0}, {"power": float("nan")}],
)
def test_bad_settings_are_refused(settings):
    name, value = next(iter(settings.items()))

    fields = settings if name == "power" else {"option": name, "number": value}
    with pytest.raises(OptionError, check=WithFields(**fields)):
        Tgtss(2, 2, **({"start": 1} | settings))
