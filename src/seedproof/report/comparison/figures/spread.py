"""What accuracy's spread over runs is made of."""

from typing import Any

from seedproof.comparison.arms.result import Comparison
from seedproof.messages import Message
from seedproof.report.comparison.figures.names import drawn_arms
from seedproof.report.comparison.groups import names
from seedproof.report.comparison.words import settled_runs
from seedproof.report.figures import Figure
from seedproof.report.words import VERDICT_RUNS, spread_cause


def spread_parts(comparison: Comparison) -> Figure:
    """Variance of accuracy over runs: what independent flips give, and what is left."""
    called = drawn_arms(comparison)
    rows: list[dict[str, Any]] = []
    numbers, left_out = [], []
    for arm in (comparison.baseline, *comparison.arms):
        metrics = arm.measurement.metrics
        if arm.measurement.n_runs < VERDICT_RUNS or "accuracy_sd" not in metrics:
            left_out.append(arm)
            continue
        total = (100 * metrics["accuracy_sd"].value) ** 2
        chance = min((100 * metrics["accuracy_sd_independent"].value) ** 2, total)
        sd = f"{total**0.5:.2f}"
        numbers.append((called[arm.name], f"{chance:.2f}", f"{total - chance:.2f}", sd))
        rows += [
            {"arm": called[arm.name], "part": part, "from": start, "to": end, "text": f"sd {sd}"}
            for part, start, end in (("independent", 0.0, chance), ("excess", chance, total))
        ]
    reading = [
        Message(
            "variances-add-up",
            "Variances add up, so bars show variance; beside each bar is its sd in points.",
        )
    ]
    if left_out and rows:
        reading.append(
            Message(
                "few-runs-left-out",
                "Left out: {arms}; a spread of few runs says little.",
                arms=names(left_out),
            )
        )
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
        numbers=numbers,
    )


def _spread_finding(comparison: Comparison) -> Message:
    calm = settled_runs(comparison)
    base = comparison.baseline
    if calm:
        return Message(
            "spread-settled",
            "With {arms}, no spread beyond independent flips is seen any longer.",
            arms=names(calm),
        )
    if spread_cause(base.measurement) is not None:
        return Message(
            "spread-beyond-chance",
            "Runs of {baseline} differ by more than independent flips would give.",
            baseline=base.name,
        )
    return Message(
        "spread-within-chance",
        "Runs of {baseline} are not shown to differ by more than independent flips would give.",
        baseline=base.name,
    )
