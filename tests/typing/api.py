"""A user's program: mypy must accept it as it stands."""

import numpy as np

import seedproof as sp

probs = np.full((3, 5, 2), 0.5)
report: sp.Report = sp.measure(probs, labels=[0, 1, 0, 1, 1], runs=["a", "b", "c"])
flips: sp.Estimate = report["flip_rate"]
value: float = flips.value
low: float | None = flips.low
text: str = str(report)
table_rows: int = report.examples.num_rows
summary: dict[str, object] = report.summary()
from_file: sp.Report = sp.measure("predictions.csv", columns=sp.Columns(run="seed"), memory="1GB")
from_files: sp.Report = sp.measure(["seed-0.csv", "seed-1.csv"])
comparison: sp.ComparisonReport = sp.compare([probs, probs], match_rates=True)
effect: sp.Effect = comparison.effect("arm 1", "flip_rate")
