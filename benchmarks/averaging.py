"""Cost of weight averaging, compared with other libraries and with a bare training step.

    python benchmarks/averaging.py [--threads 1] [--rounds 30]

The variants of each comparison take turns in one process, and the ratios of their medians are
printed. In a long training step the cost of averaging is smaller than the noise, so the time of the
averaging call alone is printed as well. Needs `pip install ema-pytorch`.
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
    """Parameters in matrices and vectors of the same shapes as in a transformer.

    Args:
        n_parameters: Approximate number of parameters.
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
    """CNN of the papers: embedding, four filter widths, additive attention."""

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
        """Return the logits of each text."""
        words = self.embedding(tokens).transpose(1, 2)
        hidden = torch.cat([torch.relu(conv(words)) for conv in self.filters], 1).transpose(1, 2)
        weights = self.query(torch.tanh(self.key(hidden))).softmax(dim=1)
        return self.out((weights * hidden).sum(dim=1))


class Transformer(nn.Module):
    """Small transformer encoder."""

    def __init__(self) -> None:
        super().__init__()
        self.embedding = nn.Embedding(8_000, 256)
        layer = nn.TransformerEncoderLayer(256, 4, 1024, dropout=0.0, batch_first=True)
        self.encoder = nn.TransformerEncoder(layer, 4, enable_nested_tensor=False)
        self.out = nn.Linear(256, 2)

    def forward(self, tokens: Tensor) -> Tensor:
        """Return the logits of each text."""
        return self.out(self.encoder(self.embedding(tokens)).mean(dim=1))


def median_seconds(variants: dict[str, Callable[[], object]], rounds: int) -> dict[str, float]:
    """Call the variants in turns and return the median seconds of each."""
    durations: dict[str, list[float]] = {name: [] for name in variants}
    gc.disable()
    for turn in range(rounds + 2):
        for name, variant in variants.items():
            start = time.perf_counter()
            variant()
            if turn >= 2:
                durations[name].append(time.perf_counter() - start)
    gc.enable()
    return {name: statistics.median(times) for name, times in durations.items()}


def compare_updates(size: str, rounds: int) -> None:
    """Compare one update of each library on the same weights."""
    model = Blocks(SIZES[size])
    optimizer = torch.optim.SGD(model.parameters(), lr=0.0)
    aswa = stabilize.ASWA(model, optimizer)
    naswa = stabilize.NASWA(model, optimizer)
    plain = AveragedModel(model)
    fast = AveragedModel(model, multi_avg_fn=get_ema_multi_avg_fn(0.998))
    ema = EMA(model, beta=0.998, update_after_step=0, update_every=1)
    for averaged in (plain, fast):
        averaged.update_parameters(model)  # the first update only copies
    for _ in range(3):
        ema.update()
    seconds = median_seconds(
        {
            "seedproof": aswa._before_step,  # noqa: SLF001 - what an optimizer step calls
            "naswa": naswa._before_step,  # noqa: SLF001 - the same
            "AveragedModel": lambda: plain.update_parameters(model),
            "AveragedModel, multi": lambda: fast.update_parameters(model),
            "ema-pytorch": ema.update,
        },
        rounds,
    )
    ours = seconds["seedproof"]
    parts = [
        f"{name} {median * 1e3:.2f} ms ({median / ours:.2f})" for name, median in seconds.items()
    ]
    print(f"update, {size}: " + "; ".join(parts), flush=True)


def compare_steps(name: str, model: nn.Module, n_tokens: int, rounds: int) -> None:
    """Compare a training step with and without averaging."""
    generator = torch.Generator().manual_seed(0)
    tokens = torch.randint(0, 8_000, (32, n_tokens), generator=generator)
    labels = torch.randint(0, 2, (32,), generator=generator)
    # The optimizer of the papers, fused.
    optimizer = torch.optim.Adam(
        model.parameters(), lr=1e-3, weight_decay=1e-5, amsgrad=True, fused=True
    )

    def step() -> None:
        nn.functional.cross_entropy(model(tokens), labels).backward()
        optimizer.step()
        optimizer.zero_grad()

    averaging_seconds: dict[str, list[float]] = {"aswa": [], "naswa": []}

    def with_average(kind: str) -> Callable[[], None]:
        average = stabilize.build(kind, model, optimizer)
        average.remove()
        update = average._before_step  # noqa: SLF001 - so that the variants can take turns

        def averaged_step() -> None:
            nn.functional.cross_entropy(model(tokens), labels).backward()
            start = time.perf_counter()
            update()
            averaging_seconds[kind].append(time.perf_counter() - start)
            optimizer.step()
            optimizer.zero_grad()

        return averaged_step

    variants = {"bare": step, "aswa": with_average("aswa"), "naswa": with_average("naswa")}
    seconds = median_seconds(variants, rounds)
    n_parameters = sum(p.numel() for p in model.parameters()) / 1e6
    parts = [
        f"{kind} +{100 * (seconds[kind] / seconds['bare'] - 1):.1f} % "
        f"(averaging call {100 * statistics.median(times) / seconds['bare']:.1f} %)"
        for kind, times in averaging_seconds.items()
    ]
    print(
        f"step, {name} ({n_parameters:.1f} M): bare {seconds['bare'] * 1e3:.1f} ms; "
        + ", ".join(parts),
        flush=True,
    )


def main() -> None:
    """Compare updates, then training steps."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--threads", type=int, default=1)
    parser.add_argument("--rounds", type=int, default=30)
    options = parser.parse_args()
    torch.set_num_threads(options.threads)
    for size in SIZES:
        compare_updates(size, options.rounds)
    # The longest sentence in a batch of SST has about 40 words; IMDB texts are cut at 300.
    for n_tokens in (40, 300):
        name = f"CNN of the papers, {n_tokens} words"
        compare_steps(name, Attention(), n_tokens, options.rounds * 3)
    compare_steps("small transformer", Transformer(), 64, options.rounds * 2)


if __name__ == "__main__":
    main()
