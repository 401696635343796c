"""A user's program that calls every public name: mypy must accept it."""

from collections.abc import Mapping
from pathlib import Path

import numpy as np
import pyarrow as pa
from sklearn.ensemble import RandomForestClassifier
from torch import nn
from torch.optim import SGD

import seedproof as sp

probs = np.full((3, 5, 2), 0.5)
answers = [["a", "b"], ["a", "a"]]
table = pa.table({"id": [1, 2], "seed_0": ["a", "b"], "seed_1": ["a", "a"]})

# Predictions, from everything that holds them.
p: sp.Predictions = sp.Predictions.from_arrays(
    probs,
    labels=[0, 1, 0, 1, 1],
    ids=list("vwxyz"),
    classes=["no", "yes"],
    clusters=[1, 1, 2, 2, 2],
)
by_run: sp.Predictions = sp.Predictions.from_arrays({"a": probs[0], "b": probs[1]})
risks: sp.Predictions = sp.Predictions.from_arrays(probs[..., 0], positive="ill")
wide: sp.Predictions = sp.Predictions.from_table(table, columns=sp.Columns(wide="seed_"))
files: sp.Predictions = sp.Predictions.from_table(["seed-0.csv", "seed-1.csv"], slices=["language"])
frames: sp.Predictions = sp.Predictions.from_table([table, table])
of_store: sp.Predictions = sp.Predictions.from_store(Path("runs"), arm="none", split="test")
anything: sp.Predictions = sp.Predictions.load("runs", common_examples=True, memory="1GB")
names: tuple[str, ...] = p.runs
checks: tuple[sp.Check, ...] = p.checks
severities: list[str] = [check.severity for check in checks]
options: sp.LoadOptions = {"labels": "gold", "clusters": "document", "skip_damaged": True}

# Measure.
report: sp.Report = sp.measure(p, metrics=["flip_rate", "accuracy"])
class_flips: sp.Estimate = report.by_class[0].metrics["flip_rate"]
slice_names: list[str] = [group.name for group in report.slices["language"]]
arrays: sp.Report = sp.measure(probs, labels=[0, 1, 0, 1, 1], runs=["a", "b", "c"])
own: sp.Report = sp.measure(p, extra={"share": lambda y, answers: float((y == answers).mean())})
texts: sp.Report = sp.measure(answers, labels=["a", "b"])
mapping: sp.Report = sp.measure({"monday": ["a", "b"], "tuesday": ["a", "a"]})
from_file: sp.Report = sp.measure("predictions.csv", columns=sp.Columns(run="seed"), memory="1GB")
from_files: sp.Report = sp.measure(["seed-0.csv", "seed-1.csv"], **options)
flips: sp.Estimate = report["flip_rate"]
value: float = flips.value
low: float | None = flips.low
all_figures: dict[str, sp.Estimate] = dict(report.items())
table_rows: int = report.examples.num_rows
summary: dict[str, object] = report.summary()
chart: sp.Chart = report.figure("flip_matrix")
picture: bytes = chart.to_bytes("png")
arms: sp.SideBySide = sp.measure_arms("runs", split="test", engine="processes", workers=2)

# One number per run, without examples.
losses = pa.table({"arm": ["a", "b"] * 2, "seed": [0, 0, 1, 1], "loss": [0.1, 0.2, 0.1, 0.3]})
scalars: sp.ScalarReport = sp.measure_scalars(losses, metrics=["loss"], memory="1GB")
mean_loss: sp.Estimate = scalars["a"]["loss"]
scalar_comparison: sp.ScalarComparison = sp.compare_scalars(
    losses, baseline="a", primary="loss", lower=["loss"], margins={"loss": 0.1}
)
loss_effect: sp.Effect = scalar_comparison["b"]["loss_sd"]

# Compare.
comparison: sp.ComparisonReport = sp.compare({"none": p, "ours": probs}, baseline="none")
matched: sp.ComparisonReport = sp.compare([probs, probs], match_rates=True, labels=[0, 1, 0, 1, 1])
calibrated: sp.CalibrationReport = sp.calibrate(p, on=probs)
temperatures: Mapping[str, float] = calibrated.temperatures
shuffled = sp.PermutedAttention(
    probs=np.full((5, 2), 0.5),
    probability_change=np.ones(5),
    probability_floor=np.ones(5),
    logit_change=np.ones(5),
    logit_floor=np.ones(5),
    n_shuffles=100,
)
permutation: sp.PermutationReport = sp.measure_permutation([shuffled] * 5, labels=[0, 1, 0, 1, 1])
logit_change: sp.Estimate = permutation["logit_change"]
neighbors: sp.NeighborAgreement = sp.neighbor_agreement([np.eye(5), np.eye(5)], k=2)
agreement: sp.Estimate = neighbors.agreement
effect: sp.Effect = comparison.effect("ours", "flip_rate")
effects: Mapping[str, sp.Effect] = comparison.effects("ours")
arm: sp.ComparedArm = comparison.arm("ours")
versions: sp.VersionReport = sp.compare_versions(p, probs[:1], labels=[0, 1, 0, 1, 1])
gate: sp.GateReport = sp.gate(p, max={"flip_rate": 0.05}, no_worse=["accuracy"], baseline=probs)
allowing: sp.GateReport = sp.gate(p, max={"flip_rate": 0.05}, allow=["duplicate-runs"])
findings: tuple[sp.Check, ...] = (*report.checks, *comparison.checks, *arms.checks, *gate.checks)
outcome: str = gate.outcome
decision: sp.DecisionReport = sp.decide(p, probs, metric="accuracy", ledger="loop.jsonl")
more_runs: tuple[int, int] = decision.more_runs
plan: sp.Plan = sp.plan(pilot=p, detect=0.01)
blame: sp.BlameReport | sp.VarianceReport = sp.blame("runs", arm="none")

# What all results offer.
results: list[sp.Result] = [report, arms, comparison, versions, gate, decision, plan, blame]
pages: list[str] = [result.to_html() for result in results]
lines: list[str] = [result.text() for result in results]
jsons: list[str] = [result.to_json() for result in results]


# Train.
def train(run: sp.Run) -> None:
    """Draw predictions from the run's own generator."""
    drawn = run.rng("init").integers(0, 2, 10)
    run.log_predictions("test", predictions=drawn, labels=[0] * 10)
    dynamics = sp.Dynamics(2, labels=[0] * 10)
    dynamics.update(drawn)
    run.log_dynamics("test", dynamics)
    same: bool = sp.current_run() is run
    model = nn.Linear(2, 2)
    optimizer = SGD(model.parameters(), lr=0.1)
    average: sp.stabilize.WeightAverage = sp.stabilize.build(
        "ema", model, optimizer, decay=0.999, start=100, batch_norm="copy"
    )
    options: sp.stabilize.AverageOptions = {"window": 3, "every": 2}
    sp.stabilize.build("lawa", model, optimizer, **options)
    sp.stabilize.build("ema", model, optimizer, dekay=0.999)  # type: ignore[call-arg]
    sp.stabilize.build("ema", model, optimizer, decay="slow")  # type: ignore[arg-type]
    sp.stabilize.build("ema", model, optimizer, batch_norm="mean")  # type: ignore[arg-type]
    average.finish()
    del same


study: sp.Study = sp.Study("demo", train, seeds=sp.SeedPlan.all(10), store="runs")
study.run(engine="serial")
measured: sp.Report = study.measure()
forest: sp.Study = sp.study_estimator(RandomForestClassifier(), [[0.0], [1.0]] * 4, [0, 1] * 4)

try:
    sp.measure("nowhere.csv")
except sp.SeedproofError as error:
    code: str = error.code

version: str = sp.__version__
