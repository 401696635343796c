"""One short training that is observed for `seedproof doctor`."""

import os
import signal
import warnings
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from hashlib import blake2b
from pathlib import Path
from tempfile import TemporaryDirectory
from types import ModuleType
from typing import Any

import numpy as np

from seedproof.doctor.instrumentation import TrainingMonitor, files_below
from seedproof.doctor.observation import Observed, SplitSeen
from seedproof.training.logbook import as_array, as_objects
from seedproof.training.run import Run
from seedproof.training.spec import RunSpec
from seedproof.training.target import Target
from seedproof.training.torch_import_hook import holding, is_torch_loading, loaded_torch

# Digests of the weights are taken at each of the first 20 steps, and then at every tenth.
DENSE_STEPS, SPARSE_STEPS = 20, 10
# At most this many leading elements of each tensor enter the digest.
LEADING_ELEMENTS = 4096
DIGEST_BYTES = 16
# Columns of `log_predictions`: classes, other kinds of answers, and right answers.
CLASSES = ("probs", "predictions", "top_probs")
OTHER_KINDS = ("values", "rankings", "sets", "texts")
GOLD = ("labels", "targets", "relevant", "references")
# The alarm is repeated at this interval, because a training may swallow the exception.
ALARM_SECONDS = 1.0


class BudgetReachedError(BaseException):
    """Raised to end a training at its budget; `except Exception` does not catch it."""


@dataclass(frozen=True)
class Probe:
    """Task that trains once under observation, within a budget of steps and seconds."""

    target: Target
    steps: int | None = None
    seconds: float | None = None

    def __call__(self, spec: RunSpec) -> Observed:
        """Return what the training did under the seeds of a run."""
        observed = Observed()
        root, here = self.target.root.resolve(), Path.cwd()
        with TemporaryDirectory(prefix="seedproof-") as scratch:
            monitor = TrainingMonitor(observed, root=root, notes=Path(scratch) / "notes")
            run = _ProbedRun(spec, observed, monitor, Path(scratch) / "checkpoints")
            before = files_below((root, here))
            with warnings.catch_warnings(), run.active():
                warnings.simplefilter("ignore")
                try:
                    with monitor.on(), self._optimizers_observed(observed), self._time_limited():
                        self.target(run)
                except BudgetReachedError:
                    observed.is_cut = True
                torch = loaded_torch()
                observed.n_threads = None if torch is None else torch.get_num_threads()
            if not observed.is_cut:
                run.check()
        after = files_below((root, here))
        changed = (path for path, stamp in after.items() if before.get(path) != stamp)
        observed.files = sorted(_relative(path, (root, here)) for path in changed)
        return observed

    @contextmanager
    def _time_limited(self) -> Iterator[None]:
        """End the training once its seconds have passed."""
        if self.seconds is None or not hasattr(signal, "setitimer"):
            yield
            return
        is_training, seconds = True, self.seconds

        def on_alarm(*_: object) -> None:
            if is_training and not is_torch_loading():
                raise BudgetReachedError

        def start_timer(_: object = None) -> None:
            """Start the timer, or restart it once torch is loaded: that time does not count."""
            signal.setitimer(signal.ITIMER_REAL, seconds, ALARM_SECONDS)

        previous_handler = signal.signal(signal.SIGALRM, on_alarm)
        start_timer()
        try:
            try:
                with holding(start_timer):
                    yield
            finally:
                # A late alarm must not prevent the timer from being stopped.
                is_training = False
        finally:
            signal.setitimer(signal.ITIMER_REAL, 0)
            signal.signal(signal.SIGALRM, previous_handler)

    @contextmanager
    def _optimizers_observed(self, observed: Observed) -> Iterator[None]:
        """Record steps and digests of the weights, and end the training at its budget of steps."""
        known_ids: set[int] = set()

        def before_step(optimizer: Any, *_: object) -> None:  # noqa: ANN401 - of torch
            if observed.n_steps < DENSE_STEPS and id(optimizer) not in known_ids:
                known_ids.add(id(optimizer))
                observed.starts.append(_weights_digest(optimizer))
                observed.weights.setdefault(0, observed.starts[0])

        def after_step(optimizer: Any, *_: object) -> None:  # noqa: ANN401 - of torch
            observed.n_steps += 1
            if observed.n_steps <= DENSE_STEPS or observed.n_steps % SPARSE_STEPS == 0:
                observed.weights[observed.n_steps] = _weights_digest(optimizer)
            if self.steps is not None and observed.n_steps >= self.steps:
                raise BudgetReachedError

        handles: list[Any] = []

        def add_hooks(_: ModuleType) -> None:
            from torch.optim import optimizer as optimizers

            handles.append(optimizers.register_optimizer_step_pre_hook(before_step))
            handles.append(optimizers.register_optimizer_step_post_hook(after_step))

        try:
            with holding(add_hooks):
                yield
        finally:
            for handle in handles:
                handle.remove()


class _ProbedRun(Run):
    """Run that records the requested sources, and the predictions in the order of logging."""

    def __init__(
        self, spec: RunSpec, observed: Observed, monitor: TrainingMonitor, scratch: Path
    ) -> None:
        super().__init__(spec)
        self._observed = observed
        self._monitor = monitor
        self._scratch = scratch

    @property
    def checkpoint_dir(self) -> Path:
        """An empty folder, since a probe must not resume another one."""
        self._scratch.mkdir(exist_ok=True)
        return self._scratch

    @property
    def seeds(self) -> Mapping[str, int]:
        """Seed of each source."""
        return _RequestedSeeds(self.spec.seeds, self._observed.sources)

    @contextmanager
    def seeded(self, source: str) -> Iterator[None]:
        """Let the global generators follow one source."""
        self._observed.sources.add(source)
        with super().seeded(source), self._monitor.apart():
            yield

    def rng(self, source: str) -> np.random.Generator:
        """Return the numpy generator of one source."""
        self._observed.sources.add(source)
        return super().rng(source)

    def torch_generator(self, source: str, *, device: str = "cpu") -> Any:  # noqa: ANN401 - of torch
        """Return the torch generator of one source."""
        self._observed.sources.add(source)
        return super().torch_generator(source, device=device)

    def log_predictions(self, split: str, **columns: Any) -> None:  # noqa: ANN401 - as in the base
        """Log predictions for some examples."""
        super().log_predictions(split, **columns)
        ids = columns.get("ids")
        right = next((columns[name] for name in GOLD if columns.get(name) is not None), None)
        name = next(name for name in (*CLASSES, *OTHER_KINDS) if columns.get(name) is not None)
        values = as_array(columns[name]) if name in CLASSES else as_objects(columns[name])
        log = self._observed.splits.setdefault(split, SplitSeen(has_ids=ids is not None))
        first = len(log.ids)
        row_ids = range(first, first + len(values)) if ids is None else as_array(ids).tolist()
        log.ids += map(str, row_ids)
        gold = [""] * len(values) if right is None else as_objects(right).tolist()
        log.labels += map(str, gold)
        log.values += [_short_bytes(row) for row in values]
        log.answers += _answers(values, columns) if name in CLASSES else []
        log.has_probs = columns.get("predictions") is None

    def check(self) -> None:
        """Raise the error that a real run would raise on commit."""
        self._log.write()


class _RequestedSeeds(dict[str, int]):
    """Seeds that record which sources are read; printing the mapping does not count as reading."""

    def __init__(self, seeds: Mapping[str, int], sources: set[str]) -> None:
        super().__init__(seeds)
        self._sources = sources

    def __getitem__(self, source: str) -> int:
        value = super().__getitem__(source)
        self._sources.add(source)
        return value


def _answers(values: Any, columns: Mapping[str, Any]) -> list[str]:  # noqa: ANN401 - any array
    """Return the predicted classes, by name if they have names."""
    array = np.asarray(values)
    if array.ndim == 1:
        return [str(answer) for answer in array.tolist()]
    winners = array.argmax(axis=1)
    if columns.get("top_classes") is not None:
        kept = np.asarray(as_array(columns["top_classes"]))
        winners = np.take_along_axis(kept, winners[:, np.newaxis], axis=1)[:, 0]
    names = columns.get("classes")
    return [str(index if names is None else names[index]) for index in winners.tolist()]


def _short_bytes(row: Any) -> bytes:  # noqa: ANN401 - probabilities, or a class
    """Return the bytes of a prediction, or their digest if there are many classes."""
    content = row.tobytes() if isinstance(row, np.ndarray) else str(row).encode()
    return (
        content
        if len(content) <= DIGEST_BYTES
        else blake2b(content, digest_size=DIGEST_BYTES).digest()
    )


def _weights_digest(optimizer: Any) -> str:  # noqa: ANN401 - of torch
    """Return a digest of the leading weights of each tensor of an optimizer."""
    state = blake2b(digest_size=DIGEST_BYTES)
    for group in optimizer.param_groups:
        for weights in group["params"]:
            flat = weights.detach().flatten()[:LEADING_ELEMENTS]
            state.update(flat.double().cpu().numpy().tobytes())
    return state.hexdigest()


def _relative(path: str, folders: Sequence[Path]) -> str:
    """Return a path relative to the first folder that contains it."""
    folder = next(folder for folder in folders if Path(path).is_relative_to(folder))
    return os.path.relpath(path, folder)
