"""Hugging Face's Trainer: training on soft labels, and soft labels from its steps."""
# ruff: noqa: ANN401, ARG002 - the framework defines the signatures of callbacks

import json
from collections.abc import Iterable, Mapping, Sized
from hashlib import sha256
from pathlib import Path
from typing import Any

import torch
from torch import Tensor
from torch.nn import functional
from torch.utils.data import Dataset
from transformers import TrainerCallback, TrainerControl, TrainerState, TrainingArguments

from seedproof.errors import ColumnError, OptionError, RunError, ShapeError
from seedproof.stabilize import Tgtss, soft_cross_entropy
from seedproof.stabilize.evaluation_mode import evaluating
from seedproof.training.rng import untouched

# Saved along with the Trainer's files in the folder of a checkpoint.
STATE_FILE = "seedproof_tgtss.pt"
LABEL_NAMES = ("labels", "label", "label_ids")
WRAP = "Wrap the training set: IndexedDataset(dataset)."


class IndexedDataset(Dataset[dict[str, Any]]):
    """A training set whose `labels` are pairs: the gold label and the row of the example.

    The Trainer passes only labels to the loss, so the row is passed with them. Wrap the training
    set only: labels without rows are taken for evaluation data.

    Args:
        dataset: Examples as mappings, with a gold label under `labels`, `label` or `label_ids`.
    """

    def __init__(self, dataset: Any) -> None:
        if not isinstance(dataset, Sized):
            raise OptionError(
                "A dataset without a length has no rows to number. Pass a list.",
                type_name=type(dataset).__name__,
            )
        self.dataset: Any = dataset

    def __len__(self) -> int:
        """Return the number of examples."""
        return len(self.dataset)

    def __getitem__(self, row: int) -> dict[str, Any]:
        """Return an example with a pair as its label."""
        example = dict(self.dataset[row])
        given = [example.pop(name) for name in LABEL_NAMES if name in example]
        if not given:
            raise ColumnError(
                "Example {row} has no label, only {columns}. Name its column as one of: {known}.",
                row=row,
                columns=tuple(map(str, example)),
                known=LABEL_NAMES,
            )
        return example | {"labels": [int(given[0]), int(row)]}


class SoftLabelLoss:
    """Loss for training on soft labels; pass it to the Trainer as `compute_loss_func`.

    The training set must be an `IndexedDataset`. Evaluation batches, whose labels have no rows,
    get the usual cross-entropy against their gold labels.

    Args:
        targets: Soft labels of the training set, axes (examples, classes). If omitted, training
            uses the gold labels: the loss of a teacher that a `TgtssCallback` observes.
    """

    def __init__(self, targets: Tensor | None = None) -> None:
        self.targets = None if targets is None else torch.as_tensor(targets)
        # Set by a callback: whether to keep the batches since the last step, with their rows.
        self.is_keeping = False
        self.kept: list[tuple[Tensor, Tensor]] = []

    def __call__(
        self, outputs: Any, labels: Tensor | None, num_items_in_batch: Tensor | int | None = None
    ) -> Tensor:
        """Return the loss of a batch, with the Trainer's signature."""
        logits = outputs["logits"] if isinstance(outputs, Mapping) else outputs[0]
        if labels is None or labels.shape not in (logits.shape[:1], (len(logits), 2)):
            shape = None if labels is None else tuple(labels.shape)
            raise ShapeError(
                "Labels have the shape {shape!s} for logits of {logits_shape!s}. "
                "Train on an IndexedDataset, and evaluate with one label per example.",
                shape=shape,
                logits_shape=tuple(logits.shape),
            )
        n_items = len(labels) if num_items_in_batch is None else num_items_in_batch
        if labels.ndim == 1:
            if logits.requires_grad:
                raise ShapeError(
                    f"Labels of a training batch have no rows. {WRAP}", labels="training"
                )
            return functional.cross_entropy(logits, labels, reduction="sum") / n_items
        gold, rows = labels.unbind(dim=1)
        if num_items_in_batch is not None:
            # The Trainer counts labels, and there are two per example.
            n_items = num_items_in_batch // 2
        if self.is_keeping:
            self.kept.append((logits.detach().float().softmax(dim=-1).cpu(), rows.cpu()))
        if self.targets is None:
            return functional.cross_entropy(logits, gold, reduction="sum") / n_items
        rows = rows.to(self.targets.device)
        if int(rows.max()) >= len(self.targets):
            raise ShapeError(
                "There are soft labels for {n_targets} examples, but none for row {row} of the "
                "training set. Pass one row per training example, in order.",
                n_targets=len(self.targets),
                row=int(rows.max()),
            )
        return soft_cross_entropy(logits, self.targets[rows], reduction="sum") / n_items


class TgtssCallback(TrainerCallback):
    """Let a `Tgtss` observe a teacher while a Trainer trains it.

    It either predicts `batches` after each step that is due, or, for free, uses the predictions
    that the `loss` has seen anyway. Training gives the same bits with and without the callback.
    Each checkpoint holds its state, so `resume_from_checkpoint` gives the same soft labels as
    uninterrupted training. Place it before an `AveragingCallback`, so that it sees the weights
    being trained.

    Args:
        tgtss: The observer; after training, `tgtss.targets()` are the student's soft labels.
        batches: The training set, in any order, such as a DataLoader of an `IndexedDataset`.
        loss: The teacher's loss, whose training set is an `IndexedDataset`.
        resume_from: The checkpoint's folder, if training is resumed from outside the Trainer's
            output folder.

    Raises:
        OptionError: Not exactly one of batches and loss is given.
    """

    def __init__(
        self,
        tgtss: Tgtss,
        *,
        batches: Iterable[Mapping[str, Any]] | None = None,
        loss: SoftLabelLoss | None = None,
        resume_from: str | Path | None = None,
    ) -> None:
        if (batches is None) == (loss is None):
            raise OptionError(
                "Pass either batches, to predict them after each step that is due, or the loss, "
                "to observe its training batches for free.",
                given=() if batches is None else ("batches", "loss"),
            )
        self.tgtss = tgtss
        self.batches = batches
        self.loss = loss
        self.resume_from = resume_from

    def on_train_begin(
        self, args: TrainingArguments, state: TrainerState, control: TrainerControl, **kwargs: Any
    ) -> None:
        """Check the training; if it is resumed, restore the state."""
        if args.world_size > 1:
            raise RunError(
                "Training has {n_processes} processes, and each would observe only its own "
                "batches. Train the teacher in one process.",
                n_processes=args.world_size,
            )
        if state.global_step > 0:
            saved = _load_saved(args, state, self.resume_from)
            if saved["history"] != _digest(state):
                # Checkpoints of another training may be in the same folder.
                raise RunError(
                    "The {file} for step {step} belongs to another training: its losses differ. "
                    "Pass the checkpoint's folder as resume_from.",
                    file=STATE_FILE,
                    step=state.global_step,
                )
            self.tgtss.load_state_dict(saved["tgtss"])
        elif self.tgtss.has_observed:
            raise RunError(
                "This Tgtss has already observed another training. Create one per teacher."
            )

    def on_step_begin(
        self, args: TrainingArguments, state: TrainerState, control: TrainerControl, **kwargs: Any
    ) -> None:
        """Let the loss keep its batches if the step that begins is due."""
        if self.loss is not None:
            self.loss.kept.clear()
            self.loss.is_keeping = self.tgtss.is_due(state.global_step + 1)

    def on_step_end(
        self,
        args: TrainingArguments,
        state: TrainerState,
        control: TrainerControl,
        model: Any = None,
        **kwargs: Any,
    ) -> None:
        """Observe the step if it is due."""
        if not self.tgtss.is_due(state.global_step):
            return
        if self.loss is None:
            self._predict(state.global_step, model, device=args.device)
            return
        for probs, rows in self.loss.kept:
            self.tgtss.observe(probs, step=state.global_step, rows=rows)
        self.loss.kept.clear()
        self.loss.is_keeping = False

    @torch.no_grad()
    def _predict(self, step: int, model: Any, *, device: torch.device) -> None:
        with evaluating(model), untouched():  # a DataLoader draws from the global generator
            for batch in self.batches or ():
                moved = {name: values.to(device) for name, values in batch.items()}
                labels = moved.pop("labels").cpu()
                if labels.ndim != 2:
                    raise ShapeError(f"Labels of `batches` have no rows. {WRAP}", labels="batches")
                probs = model(**moved).logits.float().softmax(dim=-1)
                self.tgtss.observe(probs, step=step, rows=labels[:, 1], is_extra=True)

    def on_save(
        self, args: TrainingArguments, state: TrainerState, control: TrainerControl, **kwargs: Any
    ) -> None:
        """Save the state in the checkpoint's folder, which the Trainer has just written."""
        folder = Path(str(args.output_dir)) / f"checkpoint-{state.global_step}"
        if not folder.is_dir():
            return
        saved = {"tgtss": self.tgtss.state_dict(), "history": _digest(state)}
        # Under another name first, so that a file of this name is complete.
        torch.save(saved, folder / f"{STATE_FILE}.unfinished")
        (folder / f"{STATE_FILE}.unfinished").replace(folder / STATE_FILE)

    def on_train_end(
        self, args: TrainingArguments, state: TrainerState, control: TrainerControl, **kwargs: Any
    ) -> None:
        """Stop observing, and flush the mean if it is on disk."""
        if self.loss is not None:
            self.loss.is_keeping = False
            self.loss.kept.clear()
        self.tgtss.running_mean.flush()


def _digest(state: TrainerState) -> str:
    """Return a hash of the logged losses, which identifies a training."""
    return sha256(json.dumps(state.log_history, sort_keys=True).encode()).hexdigest()


def _load_saved(
    args: TrainingArguments, state: TrainerState, resume_from: str | Path | None
) -> Mapping[str, Any]:
    """Load the state file of the checkpoint that training is resumed from.

    The Trainer does not say which checkpoint that is, so try all likely folders.
    """
    likely = (
        resume_from,
        args.resume_from_checkpoint,
        Path(str(args.output_dir)) / f"checkpoint-{state.global_step}",
    )
    folders = [Path(folder) for folder in likely if isinstance(folder, str | Path)]
    for folder in folders:
        if (folder / STATE_FILE).is_file():
            saved: Mapping[str, Any] = torch.load(
                folder / STATE_FILE, map_location="cpu", weights_only=True
            )
            return saved
    raise RunError(
        "Training resumes at step {step}, but the state of this callback was not saved in {file} "
        "of {places}. Resume from a checkpoint that was saved with this callback (pass its folder "
        "as resume_from if it is elsewhere), or start again.",
        step=state.global_step,
        file=STATE_FILE,
        folders=folders,
        places=tuple(map(str, folders)),
    )
