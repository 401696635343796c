"""It uses two threads, whatever the setting."""

import torch
from torch import nn

import seedproof as sp

torch.set_num_threads(2)  # fault
x = torch.linspace(-1, 1, 60).reshape(30, 2)
y = (x.sum(-1) > 0.3).long()
model = nn.Linear(2, 2)
for batch in torch.randperm(20).split(5):
    loss = nn.functional.cross_entropy(model(x[batch]), y[batch])
    for weights, slope in zip(
        model.parameters(), torch.autograd.grad(loss, list(model.parameters())), strict=True
    ):
        weights.data -= 0.1 * slope
probs = model(x[20:]).softmax(-1)
sp.current_run().log_predictions("test", ids=range(20, 30), probs=probs, labels=y[20:])
