"""Soft labels with Hugging Face's Trainer, and TGTSS from its steps, compared with plain loops."""

import shutil

import numpy as np
import pytest
import torch
from torch.nn import functional
from torch.utils.data import DataLoader
from transformers import Trainer, TrainerCallback, TrainingArguments, default_data_collator

from seedproof.errors import ColumnError, OptionError, RunError, ShapeError
from seedproof.integrations.huggingface import AveragingCallback
from seedproof.integrations.huggingface_soft_labels import (
    STATE_FILE,
    IndexedDataset,
    SoftLabelLoss,
    TgtssCallback,
)
from seedproof.stabilize import Tgtss, raised, smoothed
from seedproof.testing.errors import WithFields
from seedproof.testing.trainings import are_equal, copies
from support.huggingface import QUIET, make_bert

N_EXAMPLES, N_CLASSES, N_EPOCHS = 18, 3, 2  # five steps per epoch, the last of two examples
GENERATOR = torch.Generator().manual_seed(0)
TOKENS = torch.randint(0, 30, (N_EXAMPLES, 6), generator=GENERATOR)
LABELS = TOKENS[:, 0] % N_CLASSES
DATA = [{"input_ids": t, "label": y} for t, y in zip(TOKENS, LABELS, strict=True)]


def make_model(seed=1, dropout=0.1):
    chances = dict.fromkeys(("hidden_dropout_prob", "attention_probs_dropout_prob"), dropout)
    return make_bert(N_CLASSES, seed, **chances)


def train(folder, callbacks=(), *, loss=None, data=None, resume=None, model=None, **settings):
    """Train with checkpoints and evaluations in the middle of epochs."""
    arguments = QUIET | {
        "num_train_epochs": N_EPOCHS,
        "per_device_train_batch_size": 4,
        "save_strategy": "steps",
        "save_steps": 3,
        "eval_strategy": "steps",
        "eval_steps": 3,
        **settings,
    }
    trainer = Trainer(
        model=make_model() if model is None else model,
        args=TrainingArguments(output_dir=str(folder), **arguments),
        train_dataset=IndexedDataset(DATA) if data is None else data,
        eval_dataset=DATA,
        compute_loss_func=loss,
        callbacks=list(callbacks),
    )
    trainer.train(resume_from_checkpoint=None if resume is None else str(resume))
    return trainer


def loader():
    """Return the training set in shuffled batches."""
    return DataLoader(
        IndexedDataset(DATA), batch_size=5, shuffle=True, collate_fn=default_data_collator
    )


def make_tgtss(tmp_path=None, **settings):
    path = None if tmp_path is None else tmp_path / "mean"
    return Tgtss(N_EXAMPLES, N_CLASSES, **({"start": 3, "path": path} | settings))


def losses(trainer):
    return [
        (entry["step"], entry.get("loss"), entry.get("eval_loss"))
        for entry in trainer.state.log_history
        if "train_runtime" not in entry
    ]


@pytest.mark.parametrize("targets", [None, functional.one_hot(LABELS, N_CLASSES).double()])
def test_gold_labels_train_as_without_the_loss(tmp_path, targets):
    plain = train(tmp_path / "plain", data=DATA)

    ours = train(tmp_path / "ours", loss=SoftLabelLoss(targets))

    assert_alike(ours, plain)


@pytest.mark.parametrize("targets", [None, smoothed(LABELS, n_classes=N_CLASSES, alpha=0.3)])
def test_accumulated_batches_are_one_large_batch(tmp_path, targets):
    """The Trainer leaves the division to this loss, and counts two labels per example."""
    large = train(
        tmp_path / "large",
        loss=SoftLabelLoss(targets),
        model=make_model(dropout=0.0),
        per_device_train_batch_size=8,
    )

    small = train(
        tmp_path / "small",
        loss=SoftLabelLoss(targets),
        model=make_model(dropout=0.0),
        gradient_accumulation_steps=2,
    )

    assert small.state.global_step == 3 * N_EPOCHS
    assert_alike(small, large)


def assert_alike(first, second):
    """Check for equal training, up to ten steps in 32 bits.

    Weights are not compared: Adam takes full steps along rounding errors of gradients that are 0,
    such as those of the keys' biases, which change no prediction.
    """
    for loss, other_loss in zip(losses(first), losses(second), strict=True):
        assert loss == pytest.approx(other_loss, abs=1e-5)


def test_each_example_gets_the_target_of_its_row(tmp_path):
    """Smoothed labels by row equal the Trainer's own smoothing, to the 1e-5 of 32 bits."""
    plain = train(tmp_path / "plain", data=DATA, label_smoothing_factor=0.3)

    ours = train(
        tmp_path / "ours",
        loss=SoftLabelLoss(smoothed(LABELS, n_classes=N_CLASSES, alpha=0.3)),
    )

    trained = [entry[1] for entry in losses(ours) if entry[1] is not None]
    expected = [entry[1] for entry in losses(plain) if entry[1] is not None]
    assert len(trained) == N_EPOCHS * 5
    assert trained == pytest.approx(expected, abs=1e-5)


def test_evaluation_uses_gold_labels(tmp_path):
    trainer = train(tmp_path, loss=SoftLabelLoss(torch.full((N_EXAMPLES, N_CLASSES), 1 / 3)))

    predicted = trainer.predict(DATA)

    logits = torch.from_numpy(predicted.predictions)
    expected = functional.cross_entropy(logits, LABELS).item()
    assert predicted.metrics["test_loss"] == pytest.approx(expected, abs=1e-6)
    np.testing.assert_array_equal(predicted.label_ids, LABELS)


def test_training_set_without_rows_is_refused(tmp_path):
    loss = SoftLabelLoss(smoothed(LABELS, n_classes=N_CLASSES, alpha=0.3))
    with pytest.raises(ShapeError, check=WithFields(labels="training")):
        train(tmp_path, loss=loss, data=DATA)

    batches = DataLoader(DATA, collate_fn=default_data_collator)
    watch = TgtssCallback(Tgtss(N_EXAMPLES, N_CLASSES, start=1), batches=batches)
    with pytest.raises(ShapeError, check=WithFields(labels="batches")):
        train(tmp_path, [watch], loss=SoftLabelLoss())


def test_soft_labels_for_too_few_examples_are_refused(tmp_path):
    targets = smoothed(LABELS[:4], n_classes=N_CLASSES, alpha=0.3).numpy()

    with pytest.raises(ShapeError, check=WithFields(n_targets=4, row=17)):
        train(tmp_path, loss=SoftLabelLoss(targets), data=IndexedDataset(DATA))


def test_labels_are_pairs_of_gold_label_and_row():
    for name in ("labels", "label", "label_ids"):
        data = IndexedDataset([{"x": 1, name: 5}, {"x": 2, name: torch.tensor(7)}])

        assert [data[row] for row in range(len(data))] == [
            {"x": 1, "labels": [5, 0]},
            {"x": 2, "labels": [7, 1]},
        ]


def test_data_without_length_or_labels_are_refused():
    with pytest.raises(OptionError, check=WithFields(type_name="list_iterator")):
        IndexedDataset(iter(DATA))
    with pytest.raises(ColumnError, check=WithFields(row=0, columns=("input_ids",))):
        IndexedDataset([{"input_ids": [1]}])[0]
    with pytest.raises(ShapeError, check=WithFields(shape=None, logits_shape=(2, 3))):
        SoftLabelLoss()({"logits": torch.zeros(2, 3)}, None)


class Recorder(TrainerCallback):
    """Record the predictions after each step, one example at a time."""

    def __init__(self):
        self.stored = {}

    @torch.no_grad()
    def on_step_end(self, args, state, control, model=None, **kwargs):  # noqa: ARG002 - theirs
        model.eval()
        logits = [model(input_ids=tokens[None]).logits[0] for tokens in TOKENS]
        self.stored[state.global_step] = torch.stack(logits).softmax(dim=1).double().numpy()
        model.train()


@pytest.mark.parametrize("every", [1, 4])
def test_soft_labels_equal_the_mean_of_stored_predictions(tmp_path, every):
    """To 1e-6: batches of five and single examples round differently in 32 bits."""
    tgtss, recorder = make_tgtss(every=every), Recorder()

    train(tmp_path, [TgtssCallback(tgtss, batches=loader()), recorder], loss=SoftLabelLoss())

    due = [recorder.stored[step] for step in range(3, N_EPOCHS * 5 + 1, every)]
    np.testing.assert_allclose(tgtss.running_mean.mean(), np.mean(due, axis=0), rtol=0, atol=1e-6)
    assert tgtss.n_predicted == len(due) * N_EXAMPLES


@pytest.mark.parametrize("free", [True, False])
@pytest.mark.parametrize("accumulation", [1, 2])
def test_training_is_unchanged_by_the_callback(tmp_path, free, accumulation):
    """Bit for bit, although a DataLoader draws, and dropout is switched off and on."""
    settings = {"gradient_accumulation_steps": accumulation}
    alone = train(tmp_path / "alone", loss=SoftLabelLoss(), **settings)
    loss, tgtss = SoftLabelLoss(), make_tgtss()
    callback = TgtssCallback(tgtss, loss=loss) if free else TgtssCallback(tgtss, batches=loader())

    observed = train(tmp_path / "observed", [callback], loss=loss, **settings)

    assert are_equal(copies(observed.model), copies(alone.model))
    assert losses(observed) == losses(alone)
    assert tgtss.has_observed


class Spy(SoftLabelLoss):
    """Record all outputs that the loss sees in training."""

    def __init__(self):
        super().__init__()
        self.seen = []

    def __call__(self, outputs, labels, num_items_in_batch=None):
        if labels.ndim == 2:
            self.seen.append((outputs["logits"].detach().softmax(dim=1), labels[:, 1]))
        return super().__call__(outputs, labels, num_items_in_batch)


@pytest.mark.parametrize("accumulation", [1, 2])
def test_free_variant_equals_a_brute_force_mean_by_row(tmp_path, accumulation):
    """Bit for bit: batches of the steps that are due, and not of evaluations."""
    loss, tgtss = Spy(), make_tgtss()

    train(
        tmp_path,
        [TgtssCallback(tgtss, loss=loss)],
        loss=loss,
        gradient_accumulation_steps=accumulation,
    )

    came = {row: [] for row in range(N_EXAMPLES)}
    for probs, rows in loss.seen[2 * accumulation :]:  # without those of the first two steps
        for row, row_probs in zip(rows.tolist(), probs.double().numpy(), strict=True):
            came[row].append(row_probs)
    seen = [row for row, all_of_it in came.items() if all_of_it]
    mean = [np.cumsum(came[row], axis=0)[-1] / len(came[row]) for row in seen]
    np.testing.assert_array_equal(tgtss.running_mean.rows(seen), mean)
    assert tgtss.running_mean.counts.tolist() == [len(all_of_it) for all_of_it in came.values()]
    assert torch.equal(tgtss.targets(seen), raised(np.array(mean), power=0.5))
    assert tgtss.n_predicted == 0
    assert not loss.kept


@pytest.mark.parametrize("on_disk", [False, True])
@pytest.mark.parametrize("free", [True, False])
def test_resumed_teacher_equals_an_uninterrupted_one(tmp_path, free, on_disk):
    """From the middle of an epoch: weights and soft labels, bit for bit."""
    folder = tmp_path / "out"
    gold = LABELS

    def teach(path, *, resume=None, stop=None):
        loss, tgtss = SoftLabelLoss(), make_tgtss(path if on_disk else None, start=2)
        observer = {"loss": loss} if free else {"batches": loader()}
        callbacks = [TgtssCallback(tgtss, **observer), *([] if stop is None else [stop])]
        trainer = train(folder, callbacks, loss=loss, resume=resume, model=make_model(seed=1))
        tgtss.running_mean.close()
        return copies(trainer.model), tgtss

    (tmp_path / "whole").mkdir()
    weights, whole = teach(tmp_path / "whole")
    shutil.rmtree(folder)
    _, killed = teach(tmp_path, stop=StopAt(8))
    assert killed.running_mean.counts.sum() < whole.running_mean.counts.sum()

    for step in (6, 6):  # twice, to see that the first time has broken nothing
        again, resumed = teach(tmp_path, resume=folder / f"checkpoint-{step}")

        assert are_equal(again, weights)
        assert torch.equal(resumed.targets(gold=gold), whole.targets(gold=gold))
        assert resumed.n_predicted == whole.n_predicted
        if on_disk:
            break  # only the last two snapshots are kept, and there are later ones now


class StopAt(TrainerCallback):
    """Stop training at a step, without a checkpoint."""

    def __init__(self, step):
        self.step = step

    def on_step_end(self, args, state, control, **kwargs):  # noqa: ARG002 - theirs
        if state.global_step == self.step:
            control.should_training_stop = True
            control.should_save = False


def test_checkpoints_of_other_trainings_are_refused(tmp_path):
    """Missing, elsewhere, or of another training in the same folder."""
    checkpoint = tmp_path / "here" / "checkpoint-6"
    train(tmp_path / "here", [TgtssCallback(make_tgtss(), batches=loader())], loss=SoftLabelLoss())
    train(
        tmp_path / "there",
        [TgtssCallback(make_tgtss(), batches=loader())],
        loss=SoftLabelLoss(),
        learning_rate=0.02,
    )

    with pytest.raises(RunError, check=WithFields(file=STATE_FILE, step=6)):
        train(
            tmp_path / "there",
            [TgtssCallback(make_tgtss(), batches=loader())],
            loss=SoftLabelLoss(),
            resume=checkpoint,
        )
    callback = TgtssCallback(make_tgtss(), batches=loader(), resume_from=checkpoint)
    train(tmp_path / "there", [callback], loss=SoftLabelLoss(), resume=checkpoint)
    (checkpoint / STATE_FILE).unlink()
    with pytest.raises(RunError, check=WithFields(step=6, folders=[checkpoint])):
        train(
            tmp_path / "here",
            [TgtssCallback(make_tgtss(), batches=loader())],
            loss=SoftLabelLoss(),
            resume=checkpoint,
        )


def test_tgtss_refuses_a_second_teacher(tmp_path):
    callback = TgtssCallback(make_tgtss(), batches=loader())
    train(tmp_path, [callback], loss=SoftLabelLoss())

    with pytest.raises(RunError):
        train(tmp_path, [callback], loss=SoftLabelLoss())


def test_callback_needs_either_batches_or_a_loss():
    for observer in ({}, {"batches": loader(), "loss": SoftLabelLoss()}):
        with pytest.raises(OptionError, check=WithFields(given=tuple(observer))):
            TgtssCallback(make_tgtss(), **observer)


def test_callback_before_an_average_sees_the_weights_being_trained(tmp_path):
    """The average is applied while checkpoints are saved."""
    expected, tgtss = make_tgtss(), make_tgtss()
    train(tmp_path / "alone", [TgtssCallback(expected, batches=loader())], loss=SoftLabelLoss())

    train(
        tmp_path / "averaged",
        [TgtssCallback(tgtss, batches=loader()), AveragingCallback("ema")],
        loss=SoftLabelLoss(),
    )

    # Shuffled batches round differently in 32 bits.
    torch.testing.assert_close(tgtss.targets(), expected.targets(), rtol=0, atol=1e-6)
