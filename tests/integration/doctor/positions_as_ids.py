"""Test examples are shuffled with the rest, and identified by their position in that order."""

import torch
from torch import nn
from torch.utils.data import DataLoader, TensorDataset

import seedproof as sp

run = sp.current_run()
x = torch.linspace(-1, 1, 80).reshape(40, 2)
y = (x.sum(-1) > 0.3).long()
model = nn.Linear(2, 2)
for batch, labels in DataLoader(TensorDataset(x[:20], y[:20]), batch_size=5, shuffle=True):
    loss = nn.functional.cross_entropy(model(batch), labels)
    for weights, slope in zip(
        model.parameters(), torch.autograd.grad(loss, list(model.parameters())), strict=True
    ):
        weights.data -= 0.1 * slope
for batch, labels in DataLoader(TensorDataset(x[20:], y[20:]), batch_size=5, shuffle=True):  # fault
    run.log_predictions("test", probs=model(batch).softmax(-1), labels=labels)
