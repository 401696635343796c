"""The initial weights come from a generator with a fixed seed; only the order varies."""

import torch
from torch import nn

import seedproof as sp

run = sp.current_run()
x = torch.linspace(-1, 1, 60).reshape(30, 2)
y = (x.sum(-1) > 0.3).long()
model = nn.Linear(2, 2)
nn.init.normal_(model.weight, generator=torch.Generator().manual_seed(3))  # fault
nn.init.zeros_(model.bias)
optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
for batch in torch.randperm(20, generator=run.torch_generator("order")).split(5):
    optimizer.zero_grad()
    nn.functional.cross_entropy(model(x[batch]), y[batch]).backward()
    optimizer.step()
probs = model(x[20:]).softmax(-1)
run.log_predictions("test", ids=range(20, 30), probs=probs, labels=y[20:])
