"""Accuracy of weight averages with and without batch normalization, and of their warnings.

    python benchmarks/averages.py [--seeds 3] [--out benchmarks/averages.json]

Three small models (an MLP, a CNN and a residual net), each with and without batch norm, are trained
on scikit-learn's digits for 4 and for 16 epochs, with every average and every way to treat
batch-norm statistics. The file holds finished trainings, which are not repeated; then tables are
printed as Markdown. Takes about eight minutes on one core. Needs scikit-learn.
"""

import argparse
import json
import warnings
from collections.abc import Callable, Iterable, Iterator
from dataclasses import asdict, dataclass
from itertools import product
from pathlib import Path
from typing import Any, Literal

import numpy as np
import torch
from sklearn.datasets import load_digits
from torch import Tensor, nn

from seedproof import stabilize
from seedproof.stabilize import batch_norm
from seedproof.stabilize.travel import Travel

OUT = Path(__file__).with_suffix(".json")
MODELS = ("mlp", "cnn", "resnet")
AVERAGES = tuple(name for name in stabilize.PRESETS if name != "none")
N_TRAIN, BATCH = 600, 30
SHORT, LONG = 4, 16  # epochs
# Points of accuracy from which on a loss should have caused a warning.
LOSS = 0.02
# Seeds that chose the rule of the warning.
CHOOSING = 2


class Residual(nn.Module):
    """Block with a skip connection.

    Args:
        width: Number of channels.
        norm: Maker of the normalization.
    """

    def __init__(self, width: int, norm: Callable[[int], nn.Module]) -> None:
        super().__init__()
        self.path = nn.Sequential(
            nn.Conv2d(width, width, 3, padding=1),
            norm(width),
            nn.ReLU(),
            nn.Conv2d(width, width, 3, padding=1),
            norm(width),
        )

    def forward(self, images: Tensor) -> Tensor:
        """Return the images and what the path adds to them."""
        return torch.relu(images + self.path(images))


def make_model(name: str, *, normalized: bool) -> nn.Module:
    """Return a new model, drawn from torch's generator."""

    def flat(width: int) -> nn.Module:
        return nn.BatchNorm1d(width) if normalized else nn.Identity()

    def norm(width: int) -> nn.Module:
        return nn.BatchNorm2d(width) if normalized else nn.Identity()

    head = (nn.AdaptiveAvgPool2d(2), nn.Flatten(), nn.Linear(64, 10))
    first = (nn.Conv2d(1, 16, 3, padding=1), norm(16), nn.ReLU())
    if name == "mlp":
        layers = (nn.Linear(64, 64), flat(64), nn.ReLU(), nn.Linear(64, 64), flat(64), nn.ReLU())
        return nn.Sequential(nn.Flatten(), *layers, nn.Linear(64, 10))
    if name == "cnn":
        second = (nn.Conv2d(16, 16, 3, padding=1, stride=2), norm(16), nn.ReLU())
        return nn.Sequential(*first, *second, *head)
    return nn.Sequential(*first, Residual(16, norm), *head)


def make_optimizer(name: str, model: nn.Module) -> torch.optim.Optimizer:
    """Return the optimizer of a model: SGD for the CNN, Adam for the others."""
    if name == "cnn":
        return torch.optim.SGD(model.parameters(), lr=0.03, momentum=0.9)
    return torch.optim.Adam(model.parameters(), lr=2e-3)


def load_data() -> tuple[Tensor, Tensor]:
    """Return images with a little noise, so that models err, and their labels."""
    images, labels = load_digits(return_X_y=True)
    noise = np.random.default_rng(0).normal(0.0, 0.25, images.shape)
    order = np.random.default_rng(1).permutation(len(images))
    pixels = torch.tensor((images / 16 + noise)[order], dtype=torch.float32)
    return pixels.reshape(-1, 1, 8, 8), torch.tensor(labels[order])


@torch.no_grad()
def accuracy_of(model: nn.Module, images: Tensor, labels: Tensor) -> float:
    """Return the share of right answers in evaluation mode."""
    model.eval()
    share = float((model(images).argmax(dim=1) == labels).float().mean())
    model.train()
    return share


@dataclass(frozen=True)
class Training:
    """Settings of a training."""

    model: str
    normalized: bool
    epochs: int
    seed: int
    average: str = "none"
    batch_norm: Literal["average", "copy"] | None = None  # None where there is none

    @property
    def raw(self) -> "Training":
        """The same training without an average."""
        return Training(self.model, self.normalized, self.epochs, self.seed)


@dataclass(frozen=True)
class Outcome:
    """Accuracy of the weights that a training leaves, without and with data for batch norm."""

    accuracy: float
    refreshed: float
    moved: float = 0.0  # shares of the average's way, see `Travel`
    ahead: float = 0.0


def trainings(n_seeds: int) -> Iterator[Training]:
    """Yield all trainings; without batch norm the modes are the same."""
    for seed, model, normalized, epochs in product(
        range(n_seeds), MODELS, (True, False), (SHORT, LONG)
    ):
        yield Training(model, normalized, epochs, seed)
        modes: tuple[Any, ...] = ("average", "copy") if normalized else (None,)
        for average, mode in product(AVERAGES, modes):
            yield Training(model, normalized, epochs, seed, average, mode)


def train(training: Training, n_train: int = N_TRAIN) -> Outcome:
    """Train on the first images and measure on the rest, before and after a refresh."""
    images, labels = load_data()
    seen, rest = (images[:n_train], labels[:n_train]), (images[N_TRAIN:], labels[N_TRAIN:])
    torch.manual_seed(training.seed)  # noqa: TID251 - models and orders are drawn from it
    model = make_model(training.model, normalized=training.normalized)
    optimizer = make_optimizer(training.model, model)
    options: stabilize.AverageOptions = {}
    if training.batch_norm is not None:
        options["batch_norm"] = training.batch_norm
    average = stabilize.build(training.average, model, optimizer, **options)
    for _ in range(training.epochs):
        for rows in torch.randperm(n_train).split(BATCH):
            optimizer.zero_grad()
            nn.functional.cross_entropy(model(seen[0][rows]), seen[1][rows]).backward()
            optimizer.step()
        average.end_epoch()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", stabilize.AverageWarning)
        average.finish()
    accuracy = accuracy_of(model, *rest)
    if training.average == "none":
        return Outcome(accuracy, accuracy)
    travel = average._travel  # noqa: SLF001 - the warning shows it only if there is one
    # `finish(batches)` does the same to the same weights.
    batch_norm.refresh(model, seen[0].split(BATCH))
    refreshed = accuracy_of(model, *rest)
    return Outcome(accuracy, refreshed, travel.moved, travel.ahead)


def load(path: Path) -> dict[Training, Outcome]:
    """Return the finished trainings of a file."""
    if not path.exists():
        return {}
    rows = json.loads(path.read_text(encoding="utf-8"))
    return {Training(**row["training"]): Outcome(**row["outcome"]) for row in rows}


def save(path: Path, outcomes: dict[Training, Outcome]) -> None:
    """Write finished trainings, one per line."""
    rows = [
        json.dumps({"training": asdict(training), "outcome": rounded(asdict(outcome))})
        for training, outcome in outcomes.items()
    ]
    path.write_text("[\n" + ",\n".join(rows) + "\n]\n", encoding="utf-8")


def rounded(values: dict[str, object]) -> dict[str, object]:
    """Return values with four digits."""
    return {k: round(v, 4) if isinstance(v, float) else v for k, v in values.items()}


def usual_mode(training: Training) -> bool:
    """Return whether a training treats statistics as the preset does."""
    policy = stabilize.PRESETS[training.average]
    return policy is not None and training.batch_norm in {None, policy.batch_norm}


def is_unfinished(training: Training, outcome: Outcome) -> bool:
    """Return whether `finish` warns that the average still moves."""
    policy = stabilize.PRESETS[training.average]
    travel = Travel(torch.zeros(0))
    travel.moved, travel.ahead = outcome.moved, outcome.ahead
    return policy is not None and travel.is_unfinished(restarts=policy.restart != "none")


def has_doubtful_statistics(training: Training) -> bool:
    """Return whether `finish` warns of batch-norm statistics if it gets no data."""
    policy = stabilize.PRESETS[training.average]
    return training.normalized and policy is not None and batch_norm.caution(policy) is not None


def points(changes: Iterable[float]) -> str:
    """Return the mean and the worst change in points."""
    values = [100 * change for change in changes]
    if not values:
        return ""
    return f"{np.mean(values):+.1f} ({min(values):+.1f})".replace("-", "−")


def print_tables(outcomes: dict[Training, Outcome]) -> None:
    """Print changes of accuracy against the raw weights, and the rates of the warning."""
    changes = {
        training: (
            outcome.accuracy - outcomes[training.raw].accuracy,
            outcome.refreshed - outcomes[training.raw].accuracy,
        )
        for training, outcome in outcomes.items()
        if training.average != "none"
    }
    print("| average | epochs | `average` | `copy` | with data | no batch norm | warned |")
    print("|---|---|---|---|---|---|---|")
    for average, epochs in product(AVERAGES, (SHORT, LONG)):
        own = {t: c for t, c in changes.items() if (t.average, t.epochs) == (average, epochs)}
        by_mode = [[c[0] for t, c in own.items() if t.batch_norm == m] for m in ("average", "copy")]
        data = [c[1] for t, c in own.items() if t.normalized and usual_mode(t)]
        plain = [c[0] for t, c in own.items() if not t.normalized]
        usual = [t for t in own if usual_mode(t)]
        warned = sum(is_unfinished(t, outcomes[t]) for t in usual)
        cells = [*map(points, (*by_mode, data, plain)), f"{warned} of {len(usual)}"]
        print(f"| `{average}` | {epochs} | {' | '.join(cells)} |")
    for title, normalized in (("with batch norm", True), ("without batch norm", False)):
        for seeds, is_held_out in (("seeds that chose the rule", False), ("other seeds", True)):
            usual = {
                t: c
                for t, c in changes.items()
                if usual_mode(t)
                and t.normalized == normalized
                and (t.seed >= CHOOSING) == is_held_out
            }
            print(f"{title}, {seeds}: {rates(usual, outcomes)}")


def rates(changes: dict[Training, tuple[float, float]], outcomes: dict[Training, Outcome]) -> str:
    """Return how many losses and how many other trainings have a warning."""
    parts = []
    for kind, is_loss in ((f"lose more than {100 * LOSS:g} points", True), ("others", False)):
        trainings = [t for t, change in changes.items() if (change[0] < -LOSS) == is_loss]
        moving = [t for t in trainings if is_unfinished(t, outcomes[t])]
        any_note = [t for t in trainings if t in moving or has_doubtful_statistics(t)]
        parts.append(f"{len(moving)} (any note: {len(any_note)}) of {len(trainings)} that {kind}")
    return "; ".join(parts).replace("that others", "others")


def main() -> None:
    """Train what is missing, and print the tables."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--seeds", type=int, default=3)
    parser.add_argument("--out", type=Path, default=OUT)
    options = parser.parse_args()
    torch.set_num_threads(1)
    outcomes = load(options.out)
    for training in trainings(options.seeds):
        if training not in outcomes:
            outcomes[training] = train(training)
            save(options.out, outcomes)
    print_tables(outcomes)


if __name__ == "__main__":
    main()
