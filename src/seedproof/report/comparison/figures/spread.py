"""What accuracy's spread over runs is made of."""

from typing import Any

from seedproof.comparison.arms.result import Comparison
from seedproof.report.comparison.figures.names import drawn_arms
from seedproof.report.comparison.groups import names
from seedproof.report.comparison.words import settled_runs
from seedproof.report.figures import Figure
from seedproof.report.words import VERDICT_RUNS, spread_cause


def spread_parts(comparison: Comparison) -> Figure:
    """Variance of accuracy over runs: what independent flips give, and what is left."""
    called = drawn_arms(comparison)
    rows: list[dict[str, Any]] = []
    left_out = []
    for arm in (comparison.baseline, *comparison.arms):
        metrics = arm.measurement.metrics
        if arm.measurement.n_runs < VERDICT_RUNS or "accuracy_sd" not in metrics:
            left_out.append(arm)
            continue
        total = (100 * metrics["accuracy_sd"].value) ** 2
        chance = min((100 * metrics["accuracy_sd_independent"].value) ** 2, total)
        text = f"sd {total**0.5:.2f}"
        rows += [
            {"arm": called[arm.name], "part": part, "from": start, "to": end, "text": text}
            for part, start, end in (("independent", 0.0, chance), ("excess", chance, total))
        ]
    reading = "Variances add up, so bars show variance; beside each bar is its sd in points."
    if left_out and rows:
        few = "a spread of few runs says little"
        reading += f" Left out: {names(left_out)}; {few}."
    return Figure(
        name="spread_parts",
        section="Stability and accuracy",
        title="What accuracy’s spread is made of",
        takeaway=_spread_finding(comparison),
        reading=reading,
        rows=rows,
        facts={"x": "variance of accuracy over runs, points²", "arms": list(called.values())},
        legend=[
            ("band", "accent-2", "what independent flips give"),
            ("band", "alert-mark", "beyond: whole runs differ"),
        ],
        header=("arm", "independent, points²", "beyond, points²", "sd, points"),
        numbers=[
            (
                one["arm"],
                f"{one['to']:.2f}",
                f"{two['to'] - two['from']:.2f}",
                one["text"].removeprefix("sd "),
            )
            for one, two in zip(rows[::2], rows[1::2], strict=True)
        ],
    )


def _spread_finding(comparison: Comparison) -> str:
    calm = settled_runs(comparison)
    base = comparison.baseline
    if calm:
        return f"With {names(calm)}, no spread beyond independent flips is seen any longer."
    if spread_cause(base.measurement) is not None:
        return f"Runs of {base.name} differ by more than independent flips would give."
    return f"Runs of {base.name} are not shown to differ by more than independent flips would give."
