"""A hard-coded seed: the given seed has no effect."""
# ruff: noqa: TID251

import torch
from torch import nn

import seedproof as sp

torch.manual_seed(42)  # fault
x = torch.linspace(-1, 1, 60).reshape(30, 2)
y = (x.sum(-1) > 0.3).long()
model = nn.Sequential(nn.Linear(2, 8), nn.Dropout(0.5), nn.Linear(8, 2))
optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
for batch in torch.randperm(20).split(5):
    optimizer.zero_grad()
    nn.functional.cross_entropy(model(x[batch]), y[batch]).backward()
    optimizer.step()
model.eval()
probs = model(x[20:]).softmax(-1)
sp.current_run().log_predictions("test", ids=range(20, 30), probs=probs, labels=y[20:])
