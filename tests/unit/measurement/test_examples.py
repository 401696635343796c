"""The rows that are kept as least stable."""

import numpy as np
import pyarrow as pa

from seedproof.measurement import examples
from seedproof.measurement.examples import least_stable, least_stable_rows

SPREADS = np.array([np.nan, 0.0, 3.0, np.nan, 1.0, 2.0])


def test_rows_without_a_value_come_last(monkeypatch):
    """A single trial has no spread: neither the largest nor one of 0."""
    for n_kept, kept in ((2, [2, 5]), (4, [1, 2, 4, 5]), (5, [0, 1, 2, 4, 5])):
        monkeypatch.setattr(examples, "N_KEPT", n_kept)

        assert least_stable_rows([SPREADS]).tolist() == kept


def test_null_values_come_last_in_the_table():
    ids = list("abcdef")
    table = pa.table({"example": ids, "sd": pa.array(SPREADS, from_pandas=True)})

    assert least_stable(table, ("sd",)).column("example").to_pylist() == list("cfebad")
