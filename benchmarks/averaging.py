"""What averaging weights costs: against the averages of others, and over a bare training step.

    python benchmarks/averaging.py [--threads 1] [--rounds 30]

One process, one machine; the sides of each comparison take turns, and ratios of their medians are
reported. Where a step is long, what an average adds to it is less than its noise, so the average's
own time inside the step is shown beside. Needs `pip install ema-pytorch`.
"""

import argparse
import gc
import statistics
import time
from collections.abc import Callable

import torch
from ema_pytorch import EMA
from torch import Tensor, nn
from torch.optim.swa_utils import AveragedModel, get_ema_multi_avg_fn

from seedproof import stabilize

SIZES = {"1 M": 1_000_000, "22 M": 22_000_000, "110 M": 110_000_000}


class Blocks(nn.Module):
    """As many parameters as asked for, in matrices and vectors as a transformer has them.

    Args:
        n_parameters: About how many.
    """

    def __init__(self, n_parameters: int) -> None:
        super().__init__()
        width = 128 if n_parameters < 5_000_000 else 768
        per_layer = 4 * width * width + 13 * width
        n_layers = max(1, n_parameters // per_layer)
        self.matrices = nn.ParameterList(
            nn.Parameter(torch.randn(width, width)) for _ in range(4 * n_layers)
        )
        self.vectors = nn.ParameterList(
            nn.Parameter(torch.randn(width)) for _ in range(13 * n_layers)
        )


class Attention(nn.Module):
    """The papers' CNN: embedding, four widths of filters, additive attention."""

    def __init__(self) -> None:
        super().__init__()
        self.embedding = nn.Embedding(14_000, 300)
        self.filters = nn.ModuleList(
            nn.Conv1d(300, 32, width, padding=width // 2) for width in (1, 3, 5, 7)
        )
        self.key = nn.Linear(128, 64)
        self.query = nn.Linear(64, 1, bias=False)
        self.out = nn.Linear(128, 2)

    def forward(self, tokens: Tensor) -> Tensor:
        """Logits of each text."""
        words = self.embedding(tokens).transpose(1, 2)
        hidden = torch.cat([torch.relu(one(words)) for one in self.filters], 1).transpose(1, 2)
        weights = self.query(torch.tanh(self.key(hidden))).softmax(dim=1)
        return self.out((weights * hidden).sum(dim=1))


class Transformer(nn.Module):
    """A small encoder."""

    def __init__(self) -> None:
        super().__init__()
        self.embedding = nn.Embedding(8_000, 256)
        layer = nn.TransformerEncoderLayer(256, 4, 1024, dropout=0.0, batch_first=True)
        self.encoder = nn.TransformerEncoder(layer, 4, enable_nested_tensor=False)
        self.out = nn.Linear(256, 2)

    def forward(self, tokens: Tensor) -> Tensor:
        """Logits of each text."""
        return self.out(self.encoder(self.embedding(tokens)).mean(dim=1))


def medians(sides: dict[str, Callable[[], object]], rounds: int) -> dict[str, float]:
    """Median seconds of each side, taking turns."""
    taken: dict[str, list[float]] = {name: [] for name in sides}
    gc.disable()
    for turn in range(rounds + 2):
        for name, side in sides.items():
            began = time.perf_counter()
            side()
            if turn >= 2:
                taken[name].append(time.perf_counter() - began)
    gc.enable()
    return {name: statistics.median(times) for name, times in taken.items()}


def compare_updates(size: str, rounds: int) -> None:
    """Our update beside those of others, on the same weights."""
    model = Blocks(SIZES[size])
    optimizer = torch.optim.SGD(model.parameters(), lr=0.0)
    aswa = stabilize.ASWA(model, optimizer)
    naswa = stabilize.NASWA(model, optimizer)
    plain = AveragedModel(model)
    fast = AveragedModel(model, multi_avg_fn=get_ema_multi_avg_fn(0.998))
    other = EMA(model, beta=0.998, update_after_step=0, update_every=1)
    for one in (plain, fast):
        one.update_parameters(model)  # the first is a copy
    for _ in range(3):
        other.update()
    found = medians(
        {
            "seedproof": aswa._before_step,  # noqa: SLF001 - what an optimizer step calls
            "naswa": naswa._before_step,  # noqa: SLF001 - the same
            "AveragedModel": lambda: plain.update_parameters(model),
            "AveragedModel, multi": lambda: fast.update_parameters(model),
            "ema-pytorch": other.update,
        },
        rounds,
    )
    ours = found["seedproof"]
    parts = [
        f"{name} {seconds * 1e3:.2f} ms ({seconds / ours:.2f})" for name, seconds in found.items()
    ]
    print(f"update, {size}: " + "; ".join(parts), flush=True)


def compare_steps(name: str, model: nn.Module, n_tokens: int, rounds: int) -> None:
    """A training step with and without an average."""
    generator = torch.Generator().manual_seed(0)
    tokens = torch.randint(0, 8_000, (32, n_tokens), generator=generator)
    labels = torch.randint(0, 2, (32,), generator=generator)
    # As the papers train, fused.
    optimizer = torch.optim.Adam(
        model.parameters(), lr=1e-3, weight_decay=1e-5, amsgrad=True, fused=True
    )

    def step() -> None:
        nn.functional.cross_entropy(model(tokens), labels).backward()
        optimizer.step()
        optimizer.zero_grad()

    spent: dict[str, list[float]] = {"aswa": [], "naswa": []}

    def with_average(kind: str) -> Callable[[], None]:
        average = stabilize.build(kind, model, optimizer)
        average.remove()
        hooked = average._before_step  # noqa: SLF001 - so that the sides can take turns

        def go() -> None:
            nn.functional.cross_entropy(model(tokens), labels).backward()
            began = time.perf_counter()
            hooked()
            spent[kind].append(time.perf_counter() - began)
            optimizer.step()
            optimizer.zero_grad()

        return go

    sides = {"bare": step, "aswa": with_average("aswa"), "naswa": with_average("naswa")}
    found = medians(sides, rounds)
    n_parameters = sum(p.numel() for p in model.parameters()) / 1e6
    parts = [
        f"{kind} +{100 * (found[kind] / found['bare'] - 1):.1f} % "
        f"(its own time {100 * statistics.median(times) / found['bare']:.1f} %)"
        for kind, times in spent.items()
    ]
    print(
        f"step, {name} ({n_parameters:.1f} M): bare {found['bare'] * 1e3:.1f} ms; "
        + ", ".join(parts),
        flush=True,
    )


def main() -> None:
    """Compare updates, then steps."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--threads", type=int, default=1)
    parser.add_argument("--rounds", type=int, default=30)
    choice = parser.parse_args()
    torch.set_num_threads(choice.threads)
    for size in SIZES:
        compare_updates(size, choice.rounds)
    # The longest of 32 sentences of SST has about 40 words; texts of IMDB are cut at 300.
    for n_tokens in (40, 300):
        name = f"the papers' CNN, {n_tokens} words"
        compare_steps(name, Attention(), n_tokens, choice.rounds * 3)
    compare_steps("small transformer", Transformer(), 64, choice.rounds * 2)


if __name__ == "__main__":
    main()
