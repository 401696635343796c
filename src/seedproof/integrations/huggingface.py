"""Hugging Face's Trainer: averaged weights, and the seeds and predictions of a run."""

from collections.abc import Iterable, Mapping, Sequence
from contextlib import ExitStack
from pathlib import Path
from typing import Any

import numpy as np
import torch
from transformers import TrainerCallback, TrainerControl, TrainerState, TrainingArguments

from seedproof.errors import RunError
from seedproof.stabilize import Policy, WeightAverage, build
from seedproof.stabilize.average import STATE_KEY
from seedproof.stabilize.evaluation_mode import evaluating
from seedproof.training.run import Run


def seeds_of(run: Run) -> dict[str, int]:
    """The seeds of a run as `TrainingArguments` takes them.

    `TrainingArguments(..., **seeds_of(run))`: `seed` covers weights and dropout, which the Trainer
    does not tell apart, and `data_seed` the order of examples.

    Args:
        run: The run.

    Returns:
        `seed` and `data_seed`.
    """
    both = np.random.SeedSequence([run.seeds["init"], run.seeds["dropout"]])
    return {"seed": int(both.generate_state(1)[0]), "data_seed": run.seeds["order"]}


def either(field: str, values: Sequence[object]) -> str:
    """Return the part of a template that names all values of a field as alternatives.

    >>> either("columns", ("label", "labels"))
    '{columns[0]} or {columns[1]}'
    """
    return " or ".join(f"{{{field}[{index}]}}" for index in range(len(values)))


def checkpoint_folders(
    args: TrainingArguments, state: TrainerState, *, resume_from: str | Path | None
) -> list[Path]:
    """Where the checkpoint may lie that a training is resumed from, the likeliest first.

    The Trainer tells its callbacks nothing of it.

    Args:
        args: The Trainer's.
        state: The Trainer's.
        resume_from: The folder, if the user has told it.

    Returns:
        One folder or more.
    """
    places = (
        resume_from,
        args.resume_from_checkpoint,
        Path(str(args.output_dir)) / f"checkpoint-{state.global_step}",
    )
    return [Path(place) for place in places if isinstance(place, str | Path)]


class AveragingCallback(TrainerCallback):
    """Averages weights while a Trainer trains.

    Evaluation, the choice of the best model and saved checkpoints use the averaged weights; the
    raw ones travel in `optimizer.pt`, so that a training can be resumed. After training, the model
    has the averaged weights, or those of the best checkpoint if the Trainer loads it.

    Args:
        name: `none`, `aswa`, `naswa`, `ema`, `switch-ema`, `swa`, `lawa`, …: see
            `seedproof.stabilize.build`.
        policy: Other settings than the name's own.
        resume_from: The checkpoint's folder, if a training is resumed from one that lies
            elsewhere than in the Trainer's own output folder.
    """

    def __init__(
        self, name: str, *, policy: Policy | None = None, resume_from: str | Path | None = None
    ) -> None:
        self.name = name
        self.policy = policy
        self.resume_from = resume_from
        self.average: WeightAverage | None = None
        self._applied = ExitStack()

    def on_train_begin(
        self,
        args: TrainingArguments,
        state: TrainerState,
        control: TrainerControl,
        model: Any = None,
        optimizer: Any = None,
        **kwargs: Any,
    ) -> None:
        """Attach to the optimizer; go on where a checkpoint was saved."""
        self._applied.close()
        if self.average is not None:
            # A training that was interrupted had no end to let go at.
            self.average.remove()
        bare = getattr(optimizer, "optimizer", optimizer)
        self.average = build(self.name, model, bare, policy=self.policy)
        if state.global_step > 0 and self.average.policy is not None:
            saved = self._saved(args, state)
            _check_it_is_of(model, saved, state.global_step)
            self.average.load_state_dict(saved)
            # A checkpoint that is saved with the last step of an epoch is saved before its end.
            while int(state.epoch or 0) > self.average.n_epochs:
                self.average.end_epoch()

    def _saved(self, args: TrainingArguments, state: TrainerState) -> Mapping[str, Any]:
        """The average in a checkpoint; the Trainer has loaded the rest of it before."""
        folders = checkpoint_folders(args, state, resume_from=self.resume_from)
        for folder in folders:
            if (folder / "optimizer.pt").is_file():
                saved = torch.load(folder / "optimizer.pt", map_location="cpu", weights_only=True)
                if STATE_KEY in saved:
                    found: Mapping[str, Any] = saved[STATE_KEY]
                    return found
        raise RunError(
            "The training goes on at step {step}, but no average was saved in "
            f"{either('folders', folders)}. Give the checkpoint's folder as resume_from.",
            step=state.global_step,
            folders=folders,
        )

    def on_step_begin(self, *args: Any, **kwargs: Any) -> None:
        """Training needs the model's own weights."""
        self._applied.close()

    def on_epoch_begin(self, *args: Any, **kwargs: Any) -> None:
        """Training needs the model's own weights."""
        self._applied.close()

    def on_step_end(
        self,
        args: TrainingArguments,
        state: TrainerState,
        control: TrainerControl,
        **kwargs: Any,
    ) -> None:
        """What is evaluated or saved next has the averaged weights."""
        self._apply_if_looked_at(control)

    def on_epoch_end(
        self,
        args: TrainingArguments,
        state: TrainerState,
        control: TrainerControl,
        **kwargs: Any,
    ) -> None:
        """The average learns that an epoch is over."""
        self._applied.close()
        if self.average is not None:
            self.average.end_epoch()
        self._apply_if_looked_at(control)

    def _apply_if_looked_at(self, control: TrainerControl) -> None:
        is_looked_at = control.should_evaluate or control.should_save
        if is_looked_at and self.average is not None and self.average.n_entered > 0:
            self._applied.enter_context(self.average.applied())

    def on_train_end(
        self,
        args: TrainingArguments,
        state: TrainerState,
        control: TrainerControl,
        **kwargs: Any,
    ) -> None:
        """Leave the chosen weights in the model."""
        if self.average is None:
            return
        if args.load_best_model_at_end and state.best_model_checkpoint is not None:
            # The Trainer has just loaded them, and they are averaged ones.
            self.average.leave_model_as_it_is()
        self._applied.close()
        if not args.load_best_model_at_end or state.best_model_checkpoint is None:
            self.average.finish()


def _check_it_is_of(model: Any, saved: Mapping[str, Any], step: int) -> None:
    """The Trainer tells nobody where it resumes from, and other checkpoints may lie around."""
    if saved["raw"] is None:
        return
    for name, parameter in model.named_parameters():
        average = saved["average"].get(name)
        if average is None or hasattr(parameter, "_local_tensor"):
            continue
        if not torch.equal(parameter.detach().cpu(), average.to(parameter.dtype)):
            raise RunError(
                "The average that was found for step {step} is of another checkpoint than the "
                "model: {parameter!r} differs. Give the checkpoint's folder as resume_from.",
                step=step,
                parameter=name,
            )


class RunCallback(TrainerCallback):
    """Logs the predictions of a run when its training ends.

    Give it after an `AveragingCallback`, so that it sees the averaged weights.

    Args:
        run: The run.
        split: Name of the data.
        batches: What is predicted, such as a DataLoader that does not shuffle; the Trainer's own
            evaluation data without it.
        ids: Id of each example; positions without them.
    """

    def __init__(
        self,
        run: Run,
        *,
        split: str = "test",
        batches: Iterable[Mapping[str, Any]] | None = None,
        ids: Any = None,
    ) -> None:
        self.run = run
        self.split = split
        self.batches = batches
        self.ids = ids

    @torch.no_grad()
    def on_train_end(
        self,
        args: TrainingArguments,
        state: TrainerState,
        control: TrainerControl,
        model: Any = None,
        eval_dataloader: Any = None,
        **kwargs: Any,
    ) -> None:
        """Predict, and log."""
        batches = eval_dataloader if self.batches is None else self.batches
        if batches is None:
            raise RunError(
                "There is nothing to predict: give batches, or let the Trainer evaluate.",
                missing="batches",
            )
        probs, labels = [], []
        with evaluating(model):
            for batch in batches:
                moved = {name: one.to(args.device) for name, one in batch.items()}
                gold = moved.pop("labels", None)
                probs.append(model(**moved).logits.float().softmax(dim=-1).cpu())
                if gold is not None:
                    labels.append(gold.cpu())
        self.run.log_predictions(
            self.split,
            ids=self.ids,
            probs=torch.cat(probs),
            labels=torch.cat(labels) if labels else None,
        )
