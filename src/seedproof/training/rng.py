"""The only file that touches global generators, and it always restores them."""

import os
import random
from collections.abc import Iterator
from contextlib import contextmanager
from types import ModuleType
from typing import Any

import numpy as np

from seedproof.training.torch_import_hook import holding, loaded_torch, once_loaded

# Calls that the doctor observes: those that seed a global generator, and those that create a
# generator without a seed unless one is given.
SEEDING = {
    "random.seed": "python",
    "numpy.random.seed": "numpy",
    "torch.manual_seed": "torch",
    "torch.random.manual_seed": "torch",
}
UNSEEDED = ("numpy.random.default_rng", "torch.seed")

# Seed for torch once it is loaded, and the state of its generator when that happened.
_torch_seed: int | None = None
_torch_at_first: Any = None


def seed_everything(sequence: np.random.SeedSequence) -> None:
    """Seed the generators of python, numpy and torch (CPU and every device)."""
    for_python, for_numpy, for_torch = (int(word) for word in sequence.generate_state(3))
    random.seed(for_python)
    np.random.seed(for_numpy)
    _seed_torch(for_torch)


def capture() -> dict[str, Any]:
    """Return the state of every global generator; for torch its seed, if it is not loaded."""
    state: dict[str, Any] = {"python": random.getstate(), "numpy": np.random.get_state()}
    torch = loaded_torch()
    if torch is None:
        once_loaded(_seed_late)
        state["torch"] = _torch_seed
    else:
        state["torch"] = torch.get_rng_state()
        if torch.cuda.is_available() and torch.cuda.is_initialized():
            state["cuda"] = torch.cuda.get_rng_state_all()
    return state


def restore(state: dict[str, Any]) -> None:
    """Restore every global generator to a captured state."""
    random.setstate(state["python"])
    np.random.set_state(state["numpy"])
    torch = loaded_torch()
    if torch is None or isinstance(state["torch"], int):
        _seed_torch(state["torch"])
        return
    torch.set_rng_state(_torch_at_first if state["torch"] is None else state["torch"])
    if "cuda" in state:
        torch.cuda.set_rng_state_all(state["cuda"])
    elif torch.cuda.is_available():
        # Devices were initialized meanwhile: they get the seed of the CPU.
        torch.cuda.manual_seed_all(torch.default_generator.initial_seed())


def _seed_torch(seed: int | None) -> None:
    """Seed torch, now or as soon as it is loaded."""
    global _torch_seed  # noqa: PLW0603 - as global as the generators
    torch = loaded_torch()
    if torch is None:
        _torch_seed = seed
        once_loaded(_seed_late)
        return
    # As `torch.manual_seed`, which also loads a compiler for seconds.
    torch.default_generator.manual_seed(seed)
    if torch.cuda.is_available():
        torch.cuda.manual_seed_all(seed)


def _seed_late(torch: ModuleType) -> None:
    global _torch_at_first  # noqa: PLW0603 - as global as the generators
    _torch_at_first = torch.get_rng_state()
    if _torch_seed is not None:
        _seed_torch(_torch_seed)


def advance() -> None:
    """Draw one number from every global generator, so that it does not repeat itself."""
    random.random()  # noqa: S311 - no secret
    np.random.random()
    torch = loaded_torch()
    if torch is not None:
        torch.rand(())


def to_portable() -> dict[str, Any]:
    """Return the state of every global generator as lists and tensors, for checkpoints."""
    state = capture()
    name, keys, *rest = state["numpy"]
    version, words, gauss = state["python"]
    return state | {"numpy": [name, keys.tolist(), *rest], "python": [version, list(words), gauss]}


def from_portable(saved: dict[str, Any]) -> None:
    """Restore every global generator to a state of `to_portable`."""
    name, keys, *rest = saved["numpy"]
    version, words, gauss = saved["python"]
    numpy_state = (name, np.array(keys, dtype=np.uint32), *rest)
    restore(saved | {"numpy": numpy_state, "python": (version, tuple(words), gauss)})


@contextmanager
def untouched() -> Iterator[None]:
    """Restore the global generators afterwards."""
    before = capture()
    try:
        yield
    finally:
        restore(before)


class GlobalStream:
    """Stream that global generators follow for a while, and continue the next time."""

    def __init__(self, sequence: np.random.SeedSequence) -> None:
        self._sequence = sequence
        self._state: dict[str, Any] | None = None
        self._is_followed = False

    @contextmanager
    def followed(self) -> Iterator[None]:
        """Let the global generators draw from this stream, then restore them."""
        if self._is_followed:
            yield  # nested use continues the stream
            return
        with untouched():
            self._is_followed = True
            if self._state is None:
                seed_everything(self._sequence)
            else:
                restore(self._state)
            try:
                yield
            finally:
                self._state = capture()
                self._is_followed = False


def torch_generator(sequence: np.random.SeedSequence, device: str) -> Any:  # noqa: ANN401 - torch's
    """Return a new generator of torch."""
    import torch

    generator = torch.Generator(device=device)
    generator.manual_seed(int(sequence.generate_state(1, np.uint64)[0] >> 1))
    return generator


@contextmanager
def repeatable() -> Iterator[None]:
    """Make torch use deterministic algorithms where it has them, then restore its settings."""
    before: list[tuple[int, bool, bool]] = []

    def choose(torch: ModuleType) -> None:
        cudnn = torch.backends.cudnn
        before.append((torch.get_deterministic_debug_mode(), cudnn.deterministic, cudnn.benchmark))
        # As `use_deterministic_algorithms`, which also loads a compiler for seconds.
        torch.set_deterministic_debug_mode("warn")
        cudnn.deterministic, cudnn.benchmark = True, False

    workspace = os.environ.get("CUBLAS_WORKSPACE_CONFIG")
    os.environ.setdefault("CUBLAS_WORKSPACE_CONFIG", ":4096:8")  # makes cuBLAS deterministic
    try:
        with holding(choose):
            yield
    finally:
        torch = loaded_torch()
        if torch is not None and before:
            mode, is_deterministic, is_benchmark = before[0]
            torch.set_deterministic_debug_mode(mode)
            cudnn = torch.backends.cudnn
            cudnn.deterministic, cudnn.benchmark = is_deterministic, is_benchmark
        if workspace is None:
            os.environ.pop("CUBLAS_WORKSPACE_CONFIG", None)
