"""One short training under observation: what it seeded, drew, changed and logged."""

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
import numpy.typing as npt

from seedproof.doctor.instrumentation import TrainingMonitor, files_below
from seedproof.doctor.observation import Observed, SplitSeen
from seedproof.training.logbook import as_array
from seedproof.training.run import Run
from seedproof.training.spec import RunSpec
from seedproof.training.target import Target
from seedproof.training.torch_import_hook import holding, is_torch_loading, loaded_torch

# Weights are compared at every one of the first steps, and then now and then.
DENSE_STEPS, SPARSE_STEPS = 20, 10
LEADING_ELEMENTS = 4096
DIGEST_BYTES = 16
# A training may swallow the first alarm, in a `finally` or where exceptions are ignored.
ALARM_SECONDS = 1.0


class BudgetReachedError(BaseException):
    """Ends a training that has shown enough; no `except Exception` holds it up."""


@dataclass(frozen=True)
class Probe:
    """Trains once under observation; frozen, so that it can travel to a fresh process.

    Args:
        target: What is trained.
        steps: Optimizer steps after which it is ended.
        seconds: Time after which it is ended.
    """

    target: Target
    steps: int | None = None
    seconds: float | None = None

    def __call__(self, spec: RunSpec) -> Observed:
        """What the training did under the seeds of a run."""
        seen = Observed()
        root, here = self.target.root.resolve(), Path.cwd()
        with TemporaryDirectory(prefix="seedproof-") as scratch:
            watch = TrainingMonitor(seen, root=root, notes=Path(scratch) / "notes")
            run = _ProbedRun(spec, seen, watch, Path(scratch) / "checkpoints")
            before = files_below((root, here))
            with warnings.catch_warnings(), run.active():
                warnings.simplefilter("ignore")
                try:
                    with watch.on(), self._optimizers_observed(seen), self._limited():
                        self.target(run)
                except BudgetReachedError:
                    seen.is_cut = True
                torch = loaded_torch()
                seen.n_threads = None if torch is None else torch.get_num_threads()
            if not seen.is_cut:
                run.check()
        after = files_below((root, here))
        changed = (path for path, stamp in after.items() if before.get(path) != stamp)
        seen.files = sorted(_below(path, (root, here)) for path in changed)
        return seen

    @contextmanager
    def _limited(self) -> Iterator[None]:
        """End the training when its time is over, wherever it is."""
        if self.seconds is None or not hasattr(signal, "setitimer"):
            yield
            return
        is_on, seconds = True, self.seconds

        def end(*_: object) -> None:
            if is_on and not is_torch_loading():
                raise BudgetReachedError

        def begin(_: object = None) -> None:
            """The time is for the training: to load torch takes none of it."""
            signal.setitimer(signal.ITIMER_REAL, seconds, ALARM_SECONDS)

        before = signal.signal(signal.SIGALRM, end)
        begin()
        try:
            try:
                with holding(begin):
                    yield
            finally:
                # An alarm that comes now must not keep the clock from being stopped.
                is_on = False
        finally:
            signal.setitimer(signal.ITIMER_REAL, 0)
            signal.signal(signal.SIGALRM, before)

    @contextmanager
    def _optimizers_observed(self, seen: Observed) -> Iterator[None]:
        known: set[int] = set()

        def before(optimizer: Any, *_: object) -> None:  # noqa: ANN401 - torch's
            if seen.n_steps < DENSE_STEPS and id(optimizer) not in known:
                known.add(id(optimizer))
                seen.starts.append(_weights_digest(optimizer))
                seen.weights.setdefault(0, seen.starts[0])

        def after(optimizer: Any, *_: object) -> None:  # noqa: ANN401 - torch's
            seen.n_steps += 1
            if seen.n_steps <= DENSE_STEPS or seen.n_steps % SPARSE_STEPS == 0:
                seen.weights[seen.n_steps] = _weights_digest(optimizer)
            if self.steps is not None and seen.n_steps >= self.steps:
                raise BudgetReachedError

        handles: list[Any] = []

        def observe(_: ModuleType) -> None:
            from torch.optim import optimizer as optimizers

            handles.append(optimizers.register_optimizer_step_pre_hook(before))
            handles.append(optimizers.register_optimizer_step_post_hook(after))

        try:
            with holding(observe):
                yield
        finally:
            for handle in handles:
                handle.remove()


class _ProbedRun(Run):
    """A run that remembers what was asked of it, and what was logged in the order it came."""

    def __init__(
        self, spec: RunSpec, seen: Observed, watch: TrainingMonitor, scratch: Path
    ) -> None:
        super().__init__(spec)
        self._seen = seen
        self._watch = watch
        self._scratch = scratch

    @property
    def checkpoint_dir(self) -> Path:
        """A fresh folder: a probe must not go on where another stopped."""
        self._scratch.mkdir(exist_ok=True)
        return self._scratch

    @property
    def seeds(self) -> Mapping[str, int]:
        """Seed of each source."""
        return _AskedSeeds(self.spec.seeds, self._seen.sources)

    @contextmanager
    def seeded(self, source: str) -> Iterator[None]:
        """Inside, global generators follow one source."""
        self._seen.sources.add(source)
        with super().seeded(source), self._watch.apart():
            yield

    def rng(self, source: str) -> np.random.Generator:
        """The numpy generator of one source."""
        self._seen.sources.add(source)
        return super().rng(source)

    def torch_generator(self, source: str, *, device: str = "cpu") -> Any:  # noqa: ANN401 - torch's
        """The torch generator of one source."""
        self._seen.sources.add(source)
        return super().torch_generator(source, device=device)

    def log_predictions(
        self,
        split: str,
        *,
        ids: npt.ArrayLike | None = None,
        probs: npt.ArrayLike | None = None,
        predictions: npt.ArrayLike | None = None,
        top_classes: npt.ArrayLike | None = None,
        top_probs: npt.ArrayLike | None = None,
        labels: npt.ArrayLike | None = None,
        classes: Sequence[str] | None = None,
    ) -> None:
        """Keep what the model says of each example."""
        super().log_predictions(
            split,
            ids=ids,
            probs=probs,
            predictions=predictions,
            top_classes=top_classes,
            top_probs=top_probs,
            labels=labels,
            classes=classes,
        )
        given = next(v for v in (probs, predictions, top_probs) if v is not None)
        values = as_array(given)
        kept = self._seen.splits.setdefault(split, SplitSeen(has_ids=ids is not None))
        first = len(kept.ids)
        names = range(first, first + len(values)) if ids is None else as_array(ids).tolist()
        kept.ids += map(str, names)
        gold = [""] * len(values) if labels is None else as_array(labels).tolist()
        kept.labels += map(str, gold)
        kept.values += [_short_bytes(row) for row in values]

    def check(self) -> None:
        """Raise what a real run would raise when it is committed."""
        self._log.write()


class _AskedSeeds(dict[str, int]):
    """Seeds that remember which of them were taken; to print all of them takes none."""

    def __init__(self, seeds: Mapping[str, int], sources: set[str]) -> None:
        super().__init__(seeds)
        self._sources = sources

    def __getitem__(self, source: str) -> int:
        value = super().__getitem__(source)
        self._sources.add(source)
        return value


def _short_bytes(row: Any) -> bytes:  # noqa: ANN401 - probabilities, or a class
    """The bits of a prediction, or their digest: a thousand classes would fill the memory."""
    bits = row.tobytes() if isinstance(row, np.ndarray) else str(row).encode()
    return bits if len(bits) <= DIGEST_BYTES else blake2b(bits, digest_size=DIGEST_BYTES).digest()


def _weights_digest(optimizer: Any) -> str:  # noqa: ANN401 - torch's
    """Digest of the leading weights of each tensor that an optimizer moves."""
    state = blake2b(digest_size=DIGEST_BYTES)
    for group in optimizer.param_groups:
        for weights in group["params"]:
            flat = weights.detach().flatten()[:LEADING_ELEMENTS]
            state.update(flat.double().cpu().numpy().tobytes())
    return state.hexdigest()


def _below(path: str, folders: Sequence[Path]) -> str:
    """A path below the first of the folders that it is in."""
    folder = next(folder for folder in folders if Path(path).is_relative_to(folder))
    return os.path.relpath(path, folder)
