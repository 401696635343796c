"""Draw SGD and ASWA on a surface with a saddle, with several seeds each.

    python docs/scripts/make_surface.py

Writes `docs/assets/averaging-surface.png`. The surface is x² − y² + y⁴/2 + x/5: a saddle near the
origin, and a valley on either side. Each seed has its own start and its own noise.
"""

from pathlib import Path

import altair as alt
import numpy as np
import torch
import vl_convert
from torch import nn

from seedproof import stabilize

TARGET = Path(__file__).parents[1] / "assets" / "averaging-surface.png"
N_SEEDS, N_EPOCHS, N_STEPS = 8, 12, 10
VIEW = alt.Scale(domain=[-1.8, 1.8], nice=False)
NOISE, LEARNING_RATE = 2.0, 0.05


def height(point: torch.Tensor) -> torch.Tensor:
    """Return the height of the surface at a point."""
    x, y = point[..., 0], point[..., 1]
    return x**2 - y**2 + y**4 / 2 + x / 5


def descend(seed: int, arm: str) -> list[dict[str, object]]:
    """Return the path of one seed."""
    generator = torch.Generator().manual_seed(seed)
    point = nn.Module()
    start = torch.tensor([1.2, 0.05]) + 0.05 * torch.randn(2, generator=generator)
    point.at = nn.Parameter(start)
    optimizer = torch.optim.SGD([point.at], lr=LEARNING_RATE)
    average = stabilize.build(arm, point, optimizer)
    rows: list[dict[str, object]] = []
    for step in range(N_EPOCHS * N_STEPS):
        x, y = point.at.tolist()
        shown = float(height(point.at.detach()))
        rows.append({"seed": seed, "arm": arm, "step": step, "x": x, "y": y, "height": shown})
        optimizer.zero_grad()
        noise = NOISE * torch.randn(2, generator=generator)
        (height(point.at) + (noise * point.at).sum()).backward()
        optimizer.step()
        if step % N_STEPS == N_STEPS - 1:
            average.end_epoch()
    average.finish()
    return rows


def main() -> None:
    """Compute the paths and draw them."""
    axis = np.linspace(-1.8, 1.8, 73)
    grid = [
        {"x": x, "y": y, "height": float(height(torch.tensor([x, y])))} for x in axis for y in axis
    ]
    paths = {arm: [r for s in range(N_SEEDS) for r in descend(s, arm)] for arm in ("none", "aswa")}
    shades = (
        alt.Chart(alt.Data(values=grid))
        .mark_square(size=30, opacity=1, clip=True)
        .encode(
            x=alt.X("x:Q", title=None, scale=VIEW, axis=alt.Axis(grid=False)),
            y=alt.Y("y:Q", title=None, scale=VIEW, axis=alt.Axis(grid=False)),
            color=alt.Color("height:Q", scale=alt.Scale(scheme="greys", reverse=True), legend=None),
        )
    )
    panels = []
    for arm, title in (("none", "SGD"), ("aswa", "SGD with ASWA")):
        lines = (
            alt.Chart(alt.Data(values=paths[arm]))
            .mark_line(strokeWidth=1.6, opacity=0.9)
            .encode(x="x:Q", y="y:Q", order="step:Q", color=alt.Color("seed:N", legend=None))
        )
        both = alt.layer(shades, lines).resolve_scale(color="independent")
        panels.append(both.properties(width=260, height=260, title=f"{title}, {N_SEEDS} seeds"))
    speed = (
        alt.Chart(alt.Data(values=[row for rows in paths.values() for row in rows]))
        .mark_line()
        .encode(
            x=alt.X("step:Q", title="step"),
            y=alt.Y("mean(height):Q", title="height, mean over seeds"),
            color=alt.Color("arm:N", title=None),
        )
        .properties(width=260, height=260, title="What it costs: the way down is slower")
    )
    chart = alt.hconcat(*panels, speed).configure_view(stroke=None)
    TARGET.write_bytes(vl_convert.vegalite_to_png(chart.to_json(), scale=2))


if __name__ == "__main__":
    main()
