"""Two optimizers, and fixed noise that disturbs no generator."""
# ruff: noqa: TID251

import torch
from torch import nn

import seedproof as sp

run = sp.current_run()
maker, judge = nn.Linear(2, 3), nn.Linear(3, 1)
makes = torch.optim.Adam(maker.parameters(), lr=0.01)
judges = torch.optim.Adam(judge.parameters(), lr=0.01)
for _ in range(3):
    real, made = torch.randn(16, 3) + 2, maker(torch.randn(16, 2))
    judges.zero_grad()
    (judge(made.detach()).mean() - judge(real).mean()).backward()
    judges.step()
    makes.zero_grad()
    (-judge(made).mean()).backward()
    makes.step()
    with torch.random.fork_rng():
        torch.manual_seed(0)
        run.log_scalar("fixed", judge(maker(torch.randn(16, 2))).mean())
share = torch.sigmoid(judge(torch.eye(3)))
run.log_predictions("points", probs=torch.cat([1 - share, share], -1), labels=[1, 1, 1])
