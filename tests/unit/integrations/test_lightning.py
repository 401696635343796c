"""Averages with Lightning's Trainer, compared with uninterrupted and plain training."""

import lightning.pytorch as pl
import numpy as np
import pytest
import torch
from lightning.pytorch.callbacks import Callback, Checkpoint, ModelCheckpoint, OnExceptionCheckpoint
from torch import nn
from torch.utils.data import DataLoader, TensorDataset

import seedproof as sp
from seedproof.errors import MissingAverageError, RunError
from seedproof.integrations.lightning import AveragingCallback, EpochSampler, RunCallback
from seedproof.records.location import Location
from seedproof.records.reader import Store
from seedproof.stabilize import PRESETS, AverageWarning
from seedproof.stabilize.optimizer_state import saved_average
from seedproof.testing.errors import WithFields, warning_codes
from seedproof.testing.trainings import (
    are_equal,
    averaged,
    copies,
    fill,
    is_same_data,
    n_hooks,
)
from seedproof.training.rng import seed_everything
from seedproof.training.spec import StudySpec

pytestmark = [
    # Trainings of a few steps, whose averages still move.
    pytest.mark.filterwarnings("ignore:The average still moves"),
    pytest.mark.filterwarnings("ignore:Batch-norm statistics are means"),
    # Small data needs no workers, and a silent trainer no logger.
    pytest.mark.filterwarnings("ignore::lightning.fabric.utilities.warnings.PossibleUserWarning"),
    # Checkpoints are resumed elsewhere than they were saved, on purpose.
    pytest.mark.filterwarnings("ignore:.*exists and is not empty:UserWarning"),
    pytest.mark.filterwarnings("ignore:The dirpath has changed:UserWarning"),
    pytest.mark.filterwarnings("ignore:Be aware that when using `ckpt_path`:UserWarning"),
    # It looks for a checkpoint where others than `ModelCheckpoint` save them.
    pytest.mark.filterwarnings("ignore:.*was called without a model:UserWarning"),
    pytest.mark.filterwarnings("ignore:.*there is no last checkpoint:UserWarning"),
    # Lightning's own, with the torch of now.
    pytest.mark.filterwarnings("ignore:.*LeafSpec:FutureWarning"),
]

N_EXAMPLES, N_EPOCHS, N_STEPS = 32, 4, 4
GENERATOR = torch.Generator().manual_seed(0)
INPUTS = torch.randn((N_EXAMPLES, 5), generator=GENERATOR)
LABELS = (INPUTS[:, 0] > 0).long()
DATA = TensorDataset(INPUTS, LABELS)
AVERAGES = [name for name in PRESETS if name != "none"]


class Net(pl.LightningModule):
    """A network with dropout, which draws, and batch norm."""

    def __init__(self, seed=1, *, compiled=False):
        super().__init__()
        self.layers = nn.Sequential(
            nn.Linear(5, 8), nn.BatchNorm1d(8), nn.ReLU(), nn.Dropout(0.3), nn.Linear(8, 2)
        )
        fill(self, seed)
        if compiled:
            self.layers = torch.compile(self.layers, backend="eager")

    def forward(self, inputs):
        return self.layers(inputs)

    def training_step(self, batch):
        return nn.functional.cross_entropy(self(batch[0]), batch[1])

    def validation_step(self, batch):
        self.log("val", nn.functional.cross_entropy(self(batch[0]), batch[1]))

    def configure_optimizers(self):
        optimizer = torch.optim.Adam(self.parameters(), lr=0.05)
        return [optimizer], [torch.optim.lr_scheduler.ExponentialLR(optimizer, 0.9)]


def make_run(arm="none", index=0):
    plan = sp.SeedPlan.all(index + 1)
    return sp.Run(StudySpec("pl", "train", plan, arms=(arm,)).runs()[index])


def make_trainer(callbacks, **settings):
    quiet = {
        "logger": False,
        "enable_progress_bar": False,
        "enable_model_summary": False,
        "enable_checkpointing": any(isinstance(c, Checkpoint) for c in callbacks),
        "accelerator": "cpu",
        "max_epochs": N_EPOCHS,
    }
    return pl.Trainer(callbacks=callbacks, **(quiet | settings))


def train(trainer, module, resume=None):
    """Fit a module with fresh generators, seeded differently if training is resumed."""
    seed_everything(np.random.SeedSequence(0 if resume is None else 1))
    batches = DataLoader(DATA, N_EXAMPLES // N_STEPS, sampler=EpochSampler(DATA, make_run()))
    trainer.fit(module, batches, DataLoader(DATA, N_EXAMPLES), ckpt_path=resume)


def fit(name, *others, module=None, resume=None, **settings):
    module = Net() if module is None else module
    callback = AveragingCallback(name)
    trainer = make_trainer([callback, *others], **settings)
    train(trainer, module, resume)
    return module, callback, trainer


def each_epoch(folder, **settings):
    """Keep a checkpoint per epoch."""
    return ModelCheckpoint(folder, filename="{epoch}", save_top_k=-1, **settings)


def load(path):
    return torch.load(path, weights_only=True)


def loss_of(weights):
    module = Net()
    module.load_state_dict(weights)
    module.eval()
    with torch.no_grad():
        return float(nn.functional.cross_entropy(module(INPUTS), LABELS))


@pytest.mark.parametrize("name", PRESETS)
def test_resumed_training_equals_an_uninterrupted_one(name, tmp_path):
    """After any epoch: the last checkpoint and the module, bit for bit."""
    module, _, _ = fit(name, each_epoch(tmp_path / "whole"))
    last = f"epoch={N_EPOCHS - 1}.ckpt"
    expected = load(tmp_path / "whole" / last)

    for epoch in range(N_EPOCHS - 1):
        resumed, callback, _ = fit(
            name,
            each_epoch(tmp_path / f"from {epoch}"),
            module=Net(seed=2),
            resume=tmp_path / "whole" / f"epoch={epoch}.ckpt",
        )

        checkpoint = load(tmp_path / f"from {epoch}" / last)
        assert are_equal(copies(resumed), copies(module)), epoch
        for key in ("state_dict", "optimizer_states", "lr_schedulers"):
            assert is_same_data(checkpoint[key], expected[key]), (epoch, key)
        assert callback.average.n_epochs == (0 if name == "none" else N_EPOCHS)


def test_generators_are_restored_from_the_checkpoint(tmp_path):
    """Lightning does not save them, so dropout would differ."""
    module, _, _ = fit("none", each_epoch(tmp_path))
    checkpoint = load(tmp_path / "epoch=1.ckpt")
    (key,) = [key for key in checkpoint["callbacks"] if "Averaging" in key]
    assert {"python", "numpy", "torch"} <= checkpoint["callbacks"][key]["generators"].keys()
    checkpoint["callbacks"][key]["generators"]["torch"] = torch.Generator().get_state()
    torch.save(checkpoint, tmp_path / "other.ckpt")

    resumed, _, _ = fit("none", resume=tmp_path / "epoch=1.ckpt")
    other, _, _ = fit("none", resume=tmp_path / "other.ckpt")

    assert are_equal(copies(resumed), copies(module))
    assert not are_equal(copies(other), copies(module))


class Seen(pl.LightningModule):
    """Record the order of examples; nothing in it draws."""

    def __init__(self):
        super().__init__()
        self.layer = nn.Linear(1, 2)
        self.orders = []

    def training_step(self, batch):
        self.orders.append(tuple(batch[0][:, 0].tolist()))
        return self.layer(batch[0]).sum()

    def configure_optimizers(self):
        return torch.optim.SGD(self.parameters(), lr=0.01)


@pytest.mark.parametrize("name", ["none", "aswa"])
def test_shuffling_loader_has_another_order_in_each_epoch(name):
    """Even if nothing else draws."""
    data = TensorDataset(torch.arange(8.0)[:, None])
    module = Seen()

    make_trainer([AveragingCallback(name)]).fit(module, DataLoader(data, 8, shuffle=True))

    assert len(module.orders) == N_EPOCHS
    assert len(set(module.orders)) == N_EPOCHS


def test_epoch_sampler_depends_on_seed_and_epoch_only():
    sampler, again = EpochSampler(DATA, make_run()), EpochSampler(DATA, make_run())
    other = EpochSampler(DATA, make_run(index=1))
    orders = []
    for epoch in (0, 1, 2):
        sampler.set_epoch(epoch)
        orders.append(list(sampler))
    again.set_epoch(2)

    assert len(sampler) == N_EXAMPLES
    assert all(sorted(order) == list(range(N_EXAMPLES)) for order in orders)
    assert orders[0] != orders[1] != orders[2]
    assert list(again) == orders[2]
    assert list(other) != orders[0]


@pytest.mark.parametrize("name", AVERAGES)
def test_checkpoints_and_validation_have_the_averaged_weights(name, tmp_path):
    """The raw ones are with the optimizer's state."""
    saver = each_epoch(tmp_path, monitor="val")
    module, callback, trainer = fit(name, saver)

    checkpoint = load(tmp_path / f"epoch={N_EPOCHS - 1}.ckpt")
    state = saved_average(checkpoint["optimizer_states"][0]["param_groups"])
    weights = checkpoint["state_dict"]
    chosen = callback.average.chosen_weights()
    assert "layers.4.weight" in chosen
    assert ("layers.1.running_mean" in chosen) == (PRESETS[name].batch_norm == "average")
    assert all(torch.equal(weights[key], value) for key, value in chosen.items())
    if PRESETS[name].restart == "none":
        assert any(not torch.equal(weights[key], value) for key, value in state["raw"].items())
    assert trainer.callback_metrics["val"].item() == pytest.approx(loss_of(weights), rel=1e-5)
    for path, score in saver.best_k_models.items():
        assert float(score) == pytest.approx(loss_of(load(path)["state_dict"]), rel=1e-5)

    assert are_equal({key: copies(module)[key] for key in chosen}, chosen)
    assert n_hooks(trainer.optimizers[0]) == 0


class Look(Callback):
    """Record the weights that are validated, and those that are trained."""

    def __init__(self):
        self.validated, self.trained = [], []

    def on_validation_epoch_end(self, trainer, pl_module):
        if not trainer.sanity_checking:
            self.validated.append(copies(pl_module))

    def on_train_batch_start(self, trainer, pl_module, batch, batch_idx):
        del trainer, batch, batch_idx
        self.trained.append(copies(pl_module))


def test_validation_within_an_epoch_has_the_averaged_weights():
    """And training continues with the model's own."""
    bare, look = Look(), Look()
    fit("none", bare, val_check_interval=0.5)

    _, callback, _ = fit("ema", look, val_check_interval=0.5)

    assert callback.average.n_epochs == N_EPOCHS
    assert len(look.trained) == N_EPOCHS * N_STEPS
    assert all(map(are_equal, look.trained, bare.trained))
    assert len(look.validated) == 2 * N_EPOCHS
    assert not any(map(are_equal, look.validated, bare.validated))


def test_best_checkpoint_is_validated_unchanged(tmp_path):
    """After training the callback does not touch the weights."""
    saver = ModelCheckpoint(tmp_path, monitor="val", mode="max", filename="best")
    module, _, trainer = fit("ema", saver)
    best = load(saver.best_model_path)["state_dict"]
    assert not are_equal(best, copies(module))

    (scores,) = trainer.validate(module, DataLoader(DATA, N_EXAMPLES), ckpt_path="best")
    trainer.save_checkpoint(tmp_path / "after.ckpt")

    assert scores["val"] == pytest.approx(float(saver.best_model_score), rel=1e-5)
    assert scores["val"] == pytest.approx(loss_of(best), rel=1e-5)
    assert are_equal(load(tmp_path / "after.ckpt")["state_dict"], best)


def test_compiled_part_does_not_change_the_saved_average(tmp_path):
    """Lightning saves it under other names, and it can be resumed."""
    compiled, _, _ = fit("ema", each_epoch(tmp_path / "c"), module=Net(compiled=True))
    plain, _, _ = fit("ema", each_epoch(tmp_path / "p"))
    resumed, _, _ = fit(
        "ema", module=Net(seed=2, compiled=True), resume=tmp_path / "c" / "epoch=1.ckpt"
    )

    assert are_equal(copies(compiled), copies(plain))
    assert are_equal(copies(resumed), copies(plain))
    states = [load(tmp_path / f / "epoch=1.ckpt")["optimizer_states"][0] for f in ("c", "p")]
    assert is_same_data(*(saved_average(state["param_groups"]) for state in states))


def test_checkpoint_without_average_is_refused(tmp_path):
    fit("none", each_epoch(tmp_path))

    with pytest.raises(MissingAverageError, check=WithFields(optimizer_steps=8)) as caught:
        fit("ema", resume=tmp_path / "epoch=1.ckpt")

    assert caught.value.code == "SP505"


def test_average_can_start_late_and_be_resumed(tmp_path):
    fit("none", each_epoch(tmp_path / "none"))
    results = []
    for checkpoint in ("none/epoch=1.ckpt", "late/epoch=2.ckpt"):
        module, callback = Net(seed=2), AveragingCallback("switch-ema", start_late=True)
        trainer = make_trainer([callback, each_epoch(tmp_path / "late")])
        train(trainer, module, resume=tmp_path / checkpoint)
        results.append(copies(module))
        assert callback.average.n_steps == 2 * N_STEPS

    assert are_equal(*results)


def test_weights_only_checkpoints_cause_a_warning(tmp_path):
    with pytest.warns(AverageWarning) as caught:
        fit("ema", each_epoch(tmp_path, save_weights_only=True))

    assert warning_codes(caught) == ["raw-weights-saved"]


def test_accumulated_gradients_are_one_step():
    _, callback, trainer = fit("aswa", accumulate_grad_batches=3)

    assert callback.average.n_steps == trainer.global_step == 2 * N_EPOCHS
    assert callback.average.n_epochs == N_EPOCHS


class TwoOptimizers(Net):
    """One optimizer per layer; the second steps half as often."""

    def __init__(self):
        super().__init__()
        self.automatic_optimization = False

    def training_step(self, batch, batch_idx):
        first, second = self.optimizers()
        first.zero_grad()
        second.zero_grad()
        self.manual_backward(super().training_step(batch))
        first.step()
        if batch_idx % 2:
            second.step()

    def configure_optimizers(self):
        layers = self.layers[0], self.layers[4]
        return [torch.optim.SGD(layer.parameters(), lr=0.1) for layer in layers]


@pytest.mark.parametrize(("index", "n_steps"), [(0, N_STEPS), (1, N_STEPS // 2)])
def test_one_of_several_optimizers_is_followed(index, n_steps):
    """Also with manual optimization."""
    callback = AveragingCallback("ema", optimizer=index)

    train(make_trainer([callback]), TwoOptimizers())

    assert callback.average.n_steps == n_steps * N_EPOCHS


def test_trainer_behaves_as_without_the_callback(tmp_path):
    """Epochs, schedule and loops; and the weights, if the policy never restarts."""
    seen = []

    class Watch(Callback):
        def on_train_batch_end(self, trainer, pl_module, outputs, batch, batch_idx):
            del pl_module, batch
            seen[-1].append(
                (
                    trainer.current_epoch,
                    trainer.global_step,
                    batch_idx,
                    trainer.optimizers[0].param_groups[0]["lr"],
                    outputs["loss"].item(),
                )
            )

    trainers = []
    for name in ("none", "ema"):
        seen.append([])
        _, _, trainer = fit(name, Watch(), each_epoch(tmp_path / name))
        trainers.append(trainer)
    bare, with_average = trainers

    assert seen[0] == seen[1]
    assert len(seen[0]) == N_EPOCHS * N_STEPS
    assert vars(bare).keys() == vars(with_average).keys()
    loops = [load(tmp_path / name / "epoch=3.ckpt")["loops"] for name in ("none", "ema")]
    assert is_same_data(*loops)


class Accident(Callback):
    """Fail in the second epoch, while the average is applied or not."""

    def __init__(self, hook):
        self.hook = hook

    def on_validation_epoch_end(self, trainer, pl_module):
        del pl_module
        if self.hook == "validation" and trainer.current_epoch == 1:
            raise ZeroDivisionError

    def on_train_batch_end(self, trainer, pl_module, outputs, batch, batch_idx):
        del pl_module, outputs, batch
        if self.hook == "training" and trainer.current_epoch == 1 and batch_idx == 2:
            raise ZeroDivisionError


@pytest.mark.parametrize("hook", ["validation", "training"])
def test_exception_restores_the_weights_of_the_module(hook):
    modules, trainers = [], []
    for name in ("none", "ema"):
        module, trainer = Net(), make_trainer([AveragingCallback(name), Accident(hook)])
        with pytest.raises(ZeroDivisionError):
            train(trainer, module)
        modules.append(module)
        trainers.append(trainer)

    assert are_equal(*map(copies, modules))
    assert n_hooks(trainers[1].optimizers[0]) == 0


@pytest.mark.parametrize("hook", ["validation", "training"])
def test_checkpoint_after_an_exception_has_both_sets_of_weights(hook, tmp_path):
    module, callback = Net(), AveragingCallback("ema")
    trainer = make_trainer([callback, Accident(hook), OnExceptionCheckpoint(tmp_path)])
    with pytest.raises(ZeroDivisionError):
        train(trainer, module)

    checkpoint = load(tmp_path / "on_exception.ckpt")
    state = saved_average(checkpoint["optimizer_states"][0]["param_groups"])
    own, inside = copies(module), averaged(callback.average, module)
    assert state["counters"]["n_entered"] > 0
    assert all(torch.equal(own[key], value) for key, value in state["raw"].items())
    assert are_equal(checkpoint["state_dict"], inside)


def test_run_logs_predictions_of_the_averaged_model(tmp_path):
    made = []

    def train_run(run):
        module = Net(seed=run.seed)
        test = DataLoader(DATA, 10)
        ids = range(50, 50 + N_EXAMPLES)
        callbacks = [AveragingCallback(run.arm), RunCallback(run, test, split="dev", ids=ids)]
        batches = DataLoader(DATA, 8, sampler=EpochSampler(DATA, run))
        make_trainer(callbacks, max_epochs=2).fit(module, batches)
        made.append((module.training, copies(module)))

    study = sp.Study("pl", train_run, seeds=2, arms=["ema"], store=str(tmp_path / "store"))
    status = study.run("serial", progress=False)

    assert status.is_done, status.failed[0].traceback
    shard = Store(Location.of(study.store)).shards(split="dev").shard(0)
    for result, (was_training, weights) in zip(shard.probs, made, strict=True):
        module = Net()
        module.load_state_dict(weights)
        expected = module.eval()(INPUTS).softmax(dim=-1).detach()
        np.testing.assert_allclose(result, expected, atol=1e-6)
        assert was_training
    assert shard.labels.tolist() == LABELS.tolist()
    assert shard.ids.to_pylist() == list(range(50, 50 + N_EXAMPLES))


def test_outputs_that_are_not_logits_are_refused():
    module = nn.Flatten(0)
    module.device = torch.device("cpu")

    with pytest.raises(RunError, check=WithFields(shape=(160,))):
        RunCallback(make_run(), DataLoader(DATA, N_EXAMPLES)).on_fit_end(None, module)
