"""Averages with Hugging Face's Trainer, compared with uninterrupted and plain training."""

import json
import shutil

import numpy as np
import pytest
import torch
from safetensors.torch import load_file
from transformers import (
    BertForTokenClassification,
    Trainer,
    TrainerCallback,
    TrainingArguments,
)

import seedproof as sp
from seedproof.errors import MissingAverageError, RunError
from seedproof.integrations.huggingface import AveragingCallback, RunCallback, seeds_of
from seedproof.records.location import Location
from seedproof.records.reader import Store
from seedproof.records.tags import spans_of_tags
from seedproof.stabilize import PRESETS
from seedproof.stabilize.optimizer_state import saved_average
from seedproof.testing.errors import WithFields
from seedproof.testing.trainings import are_equal, copies, is_same_data, n_hooks
from seedproof.training.spec import StudySpec
from support.huggingface import QUIET, make_bert

# Trainings of a few steps, whose averages still move.
pytestmark = pytest.mark.filterwarnings("ignore:The average still moves")
N_EXAMPLES, N_EPOCHS, N_STEPS = 16, 3, 4
GENERATOR = torch.Generator().manual_seed(0)
TOKENS = torch.randint(0, 30, (N_EXAMPLES, 6), generator=GENERATOR)
LABELS = (TOKENS[:, 0] > 15).long()
DATA = [{"input_ids": t, "labels": y} for t, y in zip(TOKENS, LABELS, strict=True)]
AVERAGES = [name for name in PRESETS if name != "none"]


def make_model(seed=1):
    return make_bert(2, seed)


def make_trainer(folder, callbacks, *, model=None, **settings):
    """Return a Trainer that evaluates and saves at every second step."""
    arguments = QUIET | {
        "num_train_epochs": N_EPOCHS,
        "per_device_train_batch_size": N_EXAMPLES // N_STEPS,
        "save_strategy": "steps",
        "save_steps": 2,
        "eval_strategy": "steps",
        "eval_steps": 2,
        **settings,
    }
    return Trainer(
        model=make_model() if model is None else model,
        args=TrainingArguments(output_dir=str(folder), **arguments),
        train_dataset=DATA,
        eval_dataset=DATA,
        callbacks=callbacks,
    )


def train(folder, name, *, resume=None, **settings):
    callback = AveragingCallback(name)
    trainer = make_trainer(folder, [callback], **settings)
    trainer.train(resume_from_checkpoint=None if resume is None else str(resume))
    return trainer, callback


def saved(folder):
    """Return model and optimizer of a checkpoint."""
    optimizer = torch.load(folder / "optimizer.pt", weights_only=True)
    return load_file(folder / "model.safetensors"), optimizer


def loss_of(weights):
    model = make_model()
    model.load_state_dict(weights)
    model.eval()
    with torch.no_grad():
        return float(model(input_ids=TOKENS, labels=LABELS).loss)


@pytest.mark.parametrize("name", PRESETS)
def test_resumed_training_equals_an_uninterrupted_one(name, tmp_path):
    """At any step, even the last of an epoch: every checkpoint and the model, bit for bit."""
    last = tmp_path / "out" / f"checkpoint-{N_EPOCHS * N_STEPS}"
    trainer, _ = train(tmp_path / "out", name, load_best_model_at_end=True)
    expected = saved(last), copies(trainer.model), trainer.state.log_history

    for step in (N_STEPS + 2, N_STEPS, 2):
        for later in range(step + 2, N_EPOCHS * N_STEPS + 1, 2):
            shutil.rmtree(tmp_path / "out" / f"checkpoint-{later}")
        resumed, _ = train(
            tmp_path / "out",
            name,
            resume=tmp_path / "out" / f"checkpoint-{step}",
            model=make_model(seed=2),
            load_best_model_at_end=True,
        )

        assert is_same_data(saved(last), expected[0]), step
        assert are_equal(copies(resumed.model), expected[1]), step
        assert losses(resumed.state.log_history) == losses(expected[2]), step


def losses(history):
    """Return the log of each step, without durations."""
    return [
        (entry["step"], entry["epoch"], entry.get("loss"), entry.get("eval_loss"))
        for entry in history
        if "train_runtime" not in entry
    ]


@pytest.mark.parametrize("name", ["aswa", "naswa-code", "switch-ema", "lawa"])
def test_checkpoints_at_the_end_of_epochs_can_be_resumed(name, tmp_path):
    """They are saved after the average has ended the epoch, which must not end twice."""
    settings = {"save_strategy": "epoch", "eval_strategy": "epoch"}
    trainer, callback = train(tmp_path / "out", name, **settings)
    expected = copies(trainer.model)

    resumed, again = train(
        tmp_path / "out",
        name,
        resume=tmp_path / "out" / f"checkpoint-{N_STEPS}",
        model=make_model(seed=2),
        **settings,
    )

    assert callback.average.n_epochs == again.average.n_epochs == N_EPOCHS
    assert are_equal(copies(resumed.model), expected)


def test_gradient_accumulation_can_be_resumed(tmp_path):
    """Three batches per epoch are two steps; the last has one batch only."""
    settings = {"per_device_train_batch_size": 6, "gradient_accumulation_steps": 2}
    settings |= {"save_steps": 1, "eval_steps": 1}
    trainer, callback = train(tmp_path / "out", "naswa", **settings)
    expected = copies(trainer.model)
    assert callback.average.n_steps == trainer.state.global_step == 2 * N_EPOCHS

    for step in (1, 2, 3):  # one in the middle of an epoch, and one at its end
        resumed, again = train(
            tmp_path / "out", "naswa", resume=tmp_path / "out" / f"checkpoint-{step}", **settings
        )

        assert are_equal(copies(resumed.model), expected)
        assert again.average.n_steps == 2 * N_EPOCHS


def test_checkpoint_outside_the_output_folder_can_be_resumed(tmp_path):
    """Even if the output folder has one of another training, at the same step."""
    trainer, _ = train(tmp_path / "here", "ema")
    expected = copies(trainer.model)
    train(tmp_path / "there", "ema", learning_rate=0.02)

    resumed, _ = train(tmp_path / "there", "ema", resume=tmp_path / "here" / "checkpoint-6")

    assert are_equal(copies(resumed.model), expected)


@pytest.mark.parametrize(
    ("optimizer", "fields"), [("adamw_torch", {"optimizer_steps": 6}), ("sgd", {"step": 6})]
)
def test_checkpoint_without_average_is_refused(optimizer, fields, tmp_path):
    """Also if the optimizer counts no steps."""
    make_trainer(tmp_path, [], optim=optimizer).train()

    with pytest.raises(MissingAverageError, check=WithFields(**fields)) as caught:
        train(tmp_path, "ema", resume=tmp_path / "checkpoint-6", optim=optimizer)

    assert caught.value.code == "SP505"


def test_average_can_start_late_and_be_resumed(tmp_path):
    """It counts epochs like the training, so that it ends none twice."""
    make_trainer(tmp_path, []).train()
    results = []
    for step in (6, 10):
        callback = AveragingCallback("switch-ema", start_late=True)
        trainer = make_trainer(tmp_path, [callback])
        trainer.train(resume_from_checkpoint=str(tmp_path / f"checkpoint-{step}"))
        results.append(copies(trainer.model))
        assert callback.average.n_steps == N_EPOCHS * N_STEPS - 6
        assert callback.average.n_epochs == N_EPOCHS

    assert are_equal(*results)


@pytest.mark.parametrize("name", AVERAGES)
def test_checkpoints_and_evaluation_have_the_averaged_weights(name, tmp_path):
    """The raw ones are in `optimizer.pt`."""
    trainer, callback = train(tmp_path, name)
    evaluated = {e["step"]: e["eval_loss"] for e in trainer.state.log_history if "eval_loss" in e}

    # In the middle of the last epoch, when all of them have begun.
    weights, optimizer = saved(tmp_path / f"checkpoint-{2 * N_STEPS + 2}")
    state = saved_average(optimizer["param_groups"])
    assert state["counters"]["n_entered"] > 0
    assert all(torch.equal(weights[key], value) for key, value in state["average"].items())
    assert any(not torch.equal(weights[key], value) for key, value in state["raw"].items())
    assert evaluated[2 * N_STEPS + 2] == pytest.approx(loss_of(weights), rel=1e-5)

    assert are_equal(callback.average.chosen_weights(), dict(trainer.model.named_parameters()))
    assert n_hooks(trainer.optimizer.optimizer) == 0


def test_best_model_has_averaged_weights(tmp_path):
    # The highest loss is an early one: the last weights will not do.
    settings = {"metric_for_best_model": "eval_loss", "greater_is_better": True}
    trainer, _ = train(tmp_path, "ema", load_best_model_at_end=True, **settings)

    losses_by_step = {
        step: loss_of(load_file(tmp_path / f"checkpoint-{step}" / "model.safetensors"))
        for step in range(2, N_EPOCHS * N_STEPS + 1, 2)
    }
    best = max(losses_by_step, key=losses_by_step.get)
    assert trainer.state.best_model_checkpoint == str(tmp_path / f"checkpoint-{best}")
    assert best != N_EPOCHS * N_STEPS
    expected = load_file(tmp_path / f"checkpoint-{best}" / "model.safetensors")
    assert are_equal(copies(trainer.model), expected)
    assert n_hooks(trainer.optimizer.optimizer) == 0


class Watch(TrainerCallback):
    """Record the progress of training."""

    def __init__(self):
        self.calls = []

    def on_step_end(self, args, state, control, **kwargs):
        del args, kwargs
        self.calls.append((state.global_step, state.epoch, control.should_training_stop))


def test_trainer_behaves_as_without_the_callback(tmp_path):
    """Epochs, schedule, arguments and attributes; and the weights, if the policy never restarts."""
    watches, trainers = [Watch(), Watch()], []
    for watch, callbacks in zip(watches, [[], [AveragingCallback("ema")]], strict=True):
        trainer = make_trainer(tmp_path / "out", [*callbacks, watch])
        before = {**vars(trainer)}, trainer.args.to_dict()
        trainer.train()
        assert trainer.args.to_dict() == before[1]
        trainers.append(trainer)
    bare, averaged = trainers

    assert watches[0].calls == watches[1].calls
    assert vars(bare).keys() == vars(averaged).keys()
    assert {k: type(v) for k, v in vars(bare).items()} == {
        k: type(v) for k, v in vars(averaged).items()
    }
    assert is_same_data(bare.lr_scheduler.state_dict(), averaged.lr_scheduler.state_dict())
    raw = [(e["loss"], e["learning_rate"]) for e in bare.state.log_history if "loss" in e]
    assert raw == [
        (e["loss"], e["learning_rate"]) for e in averaged.state.log_history if "loss" in e
    ]
    states = [json.loads(json.dumps(t.state.__dict__, default=str)) for t in trainers]
    for key in ("global_step", "epoch", "max_steps", "num_train_epochs", "save_steps"):
        assert states[0][key] == states[1][key]


class Accident(TrainerCallback):
    """Fail once, while the average is applied."""

    happened = False

    def on_evaluate(self, args, state, control, **kwargs):
        del args, state, control, kwargs
        if not self.happened:
            self.happened = True
            raise ZeroDivisionError


def test_trainer_can_train_again_after_an_exception(tmp_path):
    """With the model's own weights, and one average."""
    callback = AveragingCallback("ema")
    trainer = make_trainer(tmp_path, [callback, Accident()])
    with pytest.raises(ZeroDivisionError):
        trainer.train()

    trainer.train()

    assert callback.average.n_steps == N_EPOCHS * N_STEPS
    assert n_hooks(trainer.optimizer.optimizer) == 0


def test_seeds_follow_the_seeds_of_the_run():
    """`seed` changes with weights and dropout, `data_seed` with the order of examples."""
    plan = sp.SeedPlan.one_at_a_time(2, sources=["init", "order", "dropout"])
    runs = [sp.Run(spec) for spec in StudySpec("hf", "train", plan).runs()]

    by_both = {(run.seeds["init"], run.seeds["dropout"]): seeds_of(run)["seed"] for run in runs}
    by_order = {run.seeds["order"]: seeds_of(run)["data_seed"] for run in runs}

    for run in runs:
        seeds = seeds_of(run)
        both = run.seeds["init"], run.seeds["dropout"]
        assert seeds == {"seed": by_both[both], "data_seed": by_order[run.seeds["order"]]}
    assert len(set(by_both.values())) == len(by_both) >= 3
    assert len(set(by_order.values())) == len(by_order) >= 2


@pytest.mark.parametrize("given", [False, True], ids=["of the Trainer", "given"])
def test_run_logs_predictions_of_the_averaged_model(given, tmp_path):
    made = []

    def fit(run):
        rest = [{"input_ids": TOKENS[:5]}, {"input_ids": TOKENS[5:]}] if given else None
        ids = [100 + i for i in range(N_EXAMPLES)] if given else None
        trainer = make_trainer(
            tmp_path / "out" / run.name,
            [AveragingCallback(run.arm), RunCallback(run, split="dev", batches=rest, ids=ids)],
            save_strategy="no",
            eval_strategy="no" if given else "epoch",
            **seeds_of(run),
        )
        trainer.model.train()
        trainer.train()
        made.append((trainer.model.training, copies(trainer.model)))

    study = sp.Study("hf", fit, seeds=2, arms=["ema"], store=str(tmp_path / "store"))
    status = study.run("serial", progress=False)

    assert status.is_done, status.failed[0].traceback
    shard = Store(Location.of(study.store)).shards(split="dev").shard(0)
    for result, (was_training, weights) in zip(shard.probs, made, strict=True):
        model = make_model()
        model.load_state_dict(weights)
        expected = model.eval()(input_ids=TOKENS).logits.softmax(dim=-1).detach()
        np.testing.assert_allclose(result, expected, atol=1e-6)
        # The Trainer itself leaves a model as it evaluated it.
        assert was_training == given
    if given:
        assert shard.ids.to_pylist() == list(range(100, 100 + N_EXAMPLES))
    else:
        assert shard.labels.tolist() == LABELS.tolist()


def test_missing_data_is_an_error(tmp_path):
    run = sp.Run(StudySpec("hf", "train", sp.SeedPlan.all(1)).runs()[0])
    trainer = make_trainer(
        tmp_path, [RunCallback(run)], save_strategy="no", eval_strategy="no", max_steps=1
    )
    trainer.eval_dataset = None
    trainer.callback_handler.eval_dataloader = None

    with pytest.raises(RunError, check=WithFields(missing="batches")):
        trainer.train()


@pytest.mark.parametrize("has_labels", [True, False])
def test_tagged_tokens_are_logged_as_spans(tmp_path, has_labels):
    """Tokens without a label, or padding, are left out."""
    tags = ["O", "B-PER", "I-PER"]
    names = dict(enumerate(tags))
    labels = torch.where(TOKENS % 4 == 3, -100, TOKENS % 3)
    mask = (torch.arange(TOKENS.shape[1]) < 4).long().expand(TOKENS.shape)
    made = []

    def batches():
        for rows in torch.arange(N_EXAMPLES).split(5):
            batch = {"input_ids": TOKENS[rows], "attention_mask": mask[rows]}
            yield batch | ({"labels": labels[rows]} if has_labels else {})

    def fit(run):
        model = make_bert(3, int(run.name), kind=BertForTokenClassification, id2label=names)
        trainer = make_trainer(
            tmp_path / "out" / run.name,
            [RunCallback(run, batches=batches())],
            model=model,
            save_strategy="no",
            eval_strategy="no",
            max_steps=1,
        )
        trainer.train_dataset = [
            {"input_ids": t, "labels": y} for t, y in zip(TOKENS, labels, strict=True)
        ]
        trainer.train()
        made.append(model.eval()(input_ids=TOKENS, attention_mask=mask).logits.argmax(dim=-1))

    study = sp.Study("tags", fit, seeds=2, store=str(tmp_path / "store"))
    status = study.run("serial", progress=False)

    assert status.is_done, status.failed[0].traceback
    source = Store(Location.of(study.store)).shards()
    shard = source.shard(0)
    assert source.kind == "sets"
    counted = labels != -100 if has_labels else mask.bool()

    def spans(of_tokens):
        return [
            set(spans_of_tags([tags[tag] for tag in row[is_token].tolist()]))
            for row, is_token in zip(of_tokens, counted, strict=True)
        ]

    for items, chosen in zip(shard.items, made, strict=True):
        sets = [{source.classes[item] for item in row if item >= 0} for row in items]
        assert sets == spans(chosen)
    if has_labels:
        right = shard.relevance.items
        assert [{source.classes[i] for i in row if i >= 0} for row in right] == spans(labels)
    else:
        assert shard.relevance is None
