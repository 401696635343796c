"""Hugging Face's Trainer: averaged weights, and the seeds and predictions of a run."""

from collections.abc import Iterable, Mapping
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
    """Return the seeds of a run as arguments of `TrainingArguments`.

    `TrainingArguments(..., **seeds_of(run))`: `seed` covers weights and dropout, which the Trainer
    does not distinguish, and `data_seed` the order of examples.

    Args:
        run: The run.

    Returns:
        `seed` and `data_seed`.
    """
    both = np.random.SeedSequence([run.seeds["init"], run.seeds["dropout"]])
    return {"seed": int(both.generate_state(1)[0]), "data_seed": run.seeds["order"]}


def load_saved(
    file: str,
    key: str,
    args: TrainingArguments,
    state: TrainerState,
    resume_from: str | Path | None,
) -> Mapping[str, Any]:
    """Load a file that has a key from the checkpoint that training is resumed from.

    The Trainer does not say which checkpoint that is, so try all likely folders.
    """
    likely = (
        resume_from,
        args.resume_from_checkpoint,
        Path(str(args.output_dir)) / f"checkpoint-{state.global_step}",
    )
    folders = [Path(folder) for folder in likely if isinstance(folder, str | Path)]
    for folder in folders:
        if (folder / file).is_file():
            saved: Mapping[str, Any] = torch.load(
                folder / file, map_location="cpu", weights_only=True
            )
            if key in saved:
                return saved
    raise RunError(
        "Training resumes at step {step}, but the state of this callback was not saved in {file} "
        "of {places}. Resume from a checkpoint that was saved with this callback (pass its folder "
        "as resume_from if it is elsewhere), or start again.",
        step=state.global_step,
        file=file,
        folders=folders,
        places=tuple(map(str, folders)),
    )


class AveragingCallback(TrainerCallback):
    """Average the weights while a Trainer trains.

    Evaluation, the choice of the best model and saved checkpoints use the averaged weights; the
    raw ones are saved in `optimizer.pt`, so that training can be resumed. After training, the
    model has the averaged weights, or those of the best checkpoint if the Trainer loads it.

    Args:
        name: `none`, `aswa`, `naswa`, `ema`, `switch-ema`, `swa`, `lawa`, …: see
            `seedproof.stabilize.build`.
        policy: Settings that replace the preset's.
        resume_from: The checkpoint's folder, if training is resumed from outside the Trainer's
            output folder.
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
        """Attach to the optimizer; if training is resumed, restore the average."""
        self._applied.close()
        if self.average is not None:
            # Training that was interrupted did not reach `on_train_end`.
            self.average.remove()
        bare = getattr(optimizer, "optimizer", optimizer)
        self.average = build(self.name, model, bare, policy=self.policy)
        if state.global_step > 0 and self.average.policy is not None:
            saved = load_saved("optimizer.pt", STATE_KEY, args, state, self.resume_from)[STATE_KEY]
            _check_matches(model, saved, state.global_step)
            self.average.load_state_dict(saved)
            # A checkpoint at the last step of an epoch is saved before the epoch ends.
            while int(state.epoch or 0) > self.average.n_epochs:
                self.average.end_epoch()

    def on_step_begin(self, *args: Any, **kwargs: Any) -> None:
        """Give the model its own weights for training."""
        self._applied.close()

    on_epoch_begin = on_step_begin

    def on_step_end(
        self, args: TrainingArguments, state: TrainerState, control: TrainerControl, **kwargs: Any
    ) -> None:
        """Apply the averaged weights if the Trainer evaluates or saves next."""
        self._apply_if_used(control)

    def on_epoch_end(
        self, args: TrainingArguments, state: TrainerState, control: TrainerControl, **kwargs: Any
    ) -> None:
        """End the epoch of the average."""
        self._applied.close()
        if self.average is not None:
            self.average.end_epoch()
        self._apply_if_used(control)

    def _apply_if_used(self, control: TrainerControl) -> None:
        is_used = control.should_evaluate or control.should_save
        if is_used and self.average is not None and self.average.n_entered > 0:
            self._applied.enter_context(self.average.applied())

    def on_train_end(
        self, args: TrainingArguments, state: TrainerState, control: TrainerControl, **kwargs: Any
    ) -> None:
        """Leave the chosen weights in the model."""
        if self.average is None:
            return
        has_best_model = args.load_best_model_at_end and state.best_model_checkpoint is not None
        if has_best_model:
            # The Trainer has just loaded averaged weights.
            self.average.leave_model_as_it_is()
        self._applied.close()
        if not has_best_model:
            self.average.finish()


def _check_matches(model: Any, saved: Mapping[str, Any], step: int) -> None:
    """Check that the saved average belongs to the model: other checkpoints may be in the folder."""
    if saved["raw"] is None:
        return
    for name, parameter in model.named_parameters():
        average = saved["average"].get(name)
        if average is None or hasattr(parameter, "_local_tensor"):
            continue
        if not torch.equal(parameter.detach().cpu(), average.to(parameter.dtype)):
            raise RunError(
                "The average for step {step} belongs to another checkpoint than the model: "
                "{parameter!r} differs. Pass the checkpoint's folder as resume_from.",
                step=step,
                parameter=name,
            )


class RunCallback(TrainerCallback):
    """Log the predictions of a run when its training ends.

    Place it after an `AveragingCallback`, so that it sees the averaged weights.

    Args:
        run: The run.
        split: Name of the data.
        batches: Data to predict, such as a DataLoader that does not shuffle. If omitted, the
            Trainer's evaluation data.
        ids: Id of each example. If omitted, its position.
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
        """Predict and log."""
        batches = eval_dataloader if self.batches is None else self.batches
        if batches is None:
            raise RunError(
                "There is nothing to predict. Pass batches, or give the Trainer an eval_dataset.",
                missing="batches",
            )
        probs, labels = [], []
        with evaluating(model):
            for batch in batches:
                moved = {name: values.to(args.device) for name, values in batch.items()}
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
