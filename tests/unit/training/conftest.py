"""Records of runs, and draws from global generators."""

import random  # noqa: TID251 - only draws show the state of global generators
from collections.abc import Callable, Iterator
from types import SimpleNamespace

import numpy as np
import pyarrow as pa
import pytest

from seedproof.records.location import Location
from seedproof.records.manifest import RecordedFile, RunManifest
from seedproof.records.run_reader import RunReader
from seedproof.records.schema import VALUE_COLUMNS, Kind, probs_from_binary


@pytest.fixture
def draw() -> Callable[..., list[list[float]]]:
    """Draw normal numbers from the global generators of python, numpy and torch.

    Python and numpy compute two at a time and keep the second as part of their state.
    """
    import torch

    def draw(n: int = 1) -> list[list[float]]:
        return [
            [random.gauss(0.0, 1.0), float(np.random.standard_normal()), torch.randn(1).item()]  # noqa: NPY002 - see above
            for _ in range(n)
        ]

    return draw


@pytest.fixture
def own_generators() -> Iterator[None]:
    """Restore the global generators independently of the code under test."""
    import torch

    python, numpy, of_torch = random.getstate(), np.random.get_state(), torch.get_rng_state()  # noqa: TID251, NPY002 - same
    yield
    random.setstate(python)
    np.random.set_state(numpy)  # noqa: TID251, NPY002 - same
    torch.set_rng_state(of_torch)  # noqa: TID251 - same


@pytest.fixture
def read_back() -> Callable[..., SimpleNamespace]:
    """Read the predictions of one run from its store."""

    def read(
        folder: Location, parts: tuple[RecordedFile, ...], split: str = "test"
    ) -> SimpleNamespace:
        run = RunManifest(folder.name, "0", parts)
        reader = RunReader(folder.parent.parent, run, split)
        column, gold = VALUE_COLUMNS[reader.kind][0], reader.kind.gold
        groups = range(len(reader.groups))
        rows = pa.concat_tables([reader.read(i, ["example", gold, column]) for i in groups])
        is_probs = reader.kind is Kind.PROBS
        values = rows.column(column)
        if is_probs:
            values = probs_from_binary(values, len(reader.classes))
        return SimpleNamespace(
            kind=reader.kind,
            classes=reader.classes,
            groups=[group.rows for group in reader.groups],
            ids=rows.column("example").to_pylist(),
            labels=rows.column(gold).to_pylist(),
            values=values.tolist() if is_probs else values.to_pylist(),
        )

    return read
