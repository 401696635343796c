"""Train one run: lock it, seed everything, train, commit. Engines map this over the runs."""

import os
import platform
import sys
import time
import traceback
import warnings
from collections.abc import Callable, Iterator, Mapping
from contextlib import ExitStack, contextmanager, suppress
from dataclasses import dataclass
from datetime import UTC, datetime
from functools import cache
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import Any, Literal

from seedproof.engines import n_cores
from seedproof.errors import CodeChangedError, RunError, RunExistsError
from seedproof.messages import Message, problem_of
from seedproof.records.drafts import temporary_folder
from seedproof.records.location import Location
from seedproof.records.locks import locked
from seedproof.records.manifest import RunManifest
from seedproof.records.reader import load_run
from seedproof.records.schema import digest
from seedproof.training.code import file_digest, loaded_files
from seedproof.training.masking import MaskedArguments, mask_arguments
from seedproof.training.run import Run, RunWarning
from seedproof.training.spec import RunSpec
from seedproof.training.target import Target, loaded_afresh
from seedproof.training.torch_import_hook import loaded_torch, seconds_of_loading

VERSIONS = ("seedproof", "numpy", "torch", "scikit-learn", "transformers", "lightning")


@dataclass(frozen=True)
class Trained:
    """Result of a run; `elsewhere` if another process is training it."""

    status: Literal["finished", "elsewhere"]
    scalars: Mapping[str, float]
    seconds: float


@dataclass(frozen=True)
class TrainRun:
    """Task that trains a run in any process; frozen, so that it can be pickled."""

    store: Location
    target: Target
    code: Mapping[str, str]  # digests that are known beforehand
    is_alone: bool  # in its process, so that its output goes to `log.txt`
    # Arguments with their secrets. If omitted, those of the specification of each run.
    arguments: tuple[str, ...] | None = None

    @property
    def masked(self) -> MaskedArguments:
        """The arguments without their secrets."""
        return mask_arguments(self.arguments or ())

    def __call__(self, spec: RunSpec) -> Trained:
        """Train the run, unless it is finished or another process is training it."""
        folder = self.store / "runs" / spec.run_id
        with locked(folder) as has_lock:
            if not has_lock:
                return Trained("elsewhere", {}, 0.0)
            finished = finished_in(folder)
            if finished is not None:
                return finished
            code = digest(repr(sorted(self.code.items())).encode())
            run = Run(spec, folder, code=code, arguments=self.arguments)
            log = folder / "log.txt"
            with output_to(log, is_wanted=self.is_alone, hide=self.masked.hide):
                began, began_at = datetime.now(UTC), time.monotonic()
                self._check_code()
                with run.active(), loaded_afresh(self.target.root):
                    start = time.perf_counter() - seconds_of_loading()
                    self.target(run)
                    seconds = time.perf_counter() - seconds_of_loading() - start
                    # By the clock of now, which may have been set meanwhile.
                    since = time.time() - (time.monotonic() - began_at)
                    facts = self._facts(spec, began, seconds, since=since)
                if run.is_empty:
                    raise RunError(
                        "The run has logged nothing. Add run.log_predictions(...), or in a script "
                        "sp.current_run().log_predictions(...)."
                    )
                try:
                    return _as_trained(run.commit(facts))
                except RunExistsError:
                    # Without locks, another process may have been faster.
                    return _as_trained(load_run(folder))

    def _check_code(self) -> None:
        """Refuse a file that was saved since the study began."""
        for name, before in self.code.items():
            path = self.target.root / name
            if name.endswith(".py") and path.is_file() and file_digest(path) != before:
                raise CodeChangedError(
                    "{name} has changed since the study began. Run the study again: it "
                    "reports what to do about the finished runs.",
                    name=name,
                )

    def _facts(
        self, spec: RunSpec, began: datetime, seconds: float, *, since: float
    ) -> dict[str, Any]:
        files = loaded_files(self.target.root, since=since)
        return {
            "target": spec.target,
            "arguments": list(spec.arguments),
            "threads": spec.threads,
            "deterministic": spec.deterministic,
            "code": files | dict(self.code),
            "versions": {"python": platform.python_version()} | _versions(),
            "hardware": _hardware(),
            "began": began.isoformat(timespec="seconds"),
            "seconds": round(seconds, 3),
        }


def finished_in(folder: Location) -> Trained | None:
    """Return the result of a finished run; None if it is not finished."""
    if not (folder / "run.json").is_file():
        return None
    return _as_trained(load_run(folder))


def _as_trained(manifest: RunManifest) -> Trained:
    return Trained("finished", manifest.scalars, float(manifest.facts.get("seconds", 0.0)))


@contextmanager
def output_to(
    log: Location, *, is_wanted: bool, hide: Callable[[str], str] = str
) -> Iterator[None]:
    """Redirect the output of this process and its children to a file of the run.

    The traceback of an exception is added without secrets, by `hide`.
    """
    if not is_wanted:
        yield
        return
    log.check_links()
    with ExitStack() as stack:
        path = Path(log.path)
        if not log.is_local:
            scratch = stack.enter_context(temporary_folder())
            path = scratch / "log.txt"
            stack.callback(_upload, path, log)
        path.parent.mkdir(parents=True, exist_ok=True)
        # A retry after a crash continues the same file.
        file = stack.enter_context(path.open("ab", buffering=0))
        stack.enter_context(_redirected(file.fileno()))
        try:
            yield
        except BaseException:
            file.write(hide(traceback.format_exc()).encode(errors="replace"))
            raise


def _upload(path: Path, log: Location) -> None:
    """Write a log to an object store; a run does not fail if this fails."""
    earlier = log.read_bytes() if log.is_file() else b""
    try:
        log.replace(earlier + path.read_bytes())
    except OSError as error:
        message = Message(
            "log-not-written",
            "{path} could not be written: {reason}",
            path=log,
            reason=problem_of(error),
        )
        warnings.warn(RunWarning(message), stacklevel=1)


@contextmanager
def _redirected(to: int) -> Iterator[None]:
    for stream in (sys.stdout, sys.stderr):
        stream.flush()
    kept = [os.dup(1), os.dup(2)]
    try:
        for channel in (1, 2):
            os.dup2(to, channel)
        yield
    finally:
        for stream in (sys.stdout, sys.stderr):
            stream.flush()
        for channel, before in zip((1, 2), kept, strict=True):
            os.dup2(before, channel)
            os.close(before)


@cache
def _versions() -> dict[str, str]:
    versions = {}
    for package in VERSIONS:
        with suppress(PackageNotFoundError):
            versions[package] = version(package)
    return versions


def _hardware() -> dict[str, Any]:
    torch = loaded_torch()  # if it is not loaded, no GPU was used
    n_gpus = torch.cuda.device_count() if torch is not None else 0
    return {
        "machine": platform.machine(),
        "system": platform.system(),
        "cores": n_cores(),
        "gpus": [torch.cuda.get_device_name(i) for i in range(n_gpus)] if torch else [],
    }
