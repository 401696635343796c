"""The seed is set after the model is built, so it affects only the order."""
# ruff: noqa: TID251

import argparse

import torch
from torch import nn

import seedproof as sp

parser = argparse.ArgumentParser()
parser.add_argument("--seed", type=int, default=0)
arguments = parser.parse_args()

x = torch.linspace(-1, 1, 60).reshape(30, 2)
y = (x.sum(-1) > 0.3).long()
model = nn.Linear(2, 2)
torch.manual_seed(arguments.seed)  # fault
for batch in torch.randperm(20).split(5):
    loss = nn.functional.cross_entropy(model(x[batch]), y[batch])
    for weights, slope in zip(
        model.parameters(), torch.autograd.grad(loss, list(model.parameters())), strict=True
    ):
        weights.data -= 0.1 * slope
probs = model(x[20:]).softmax(-1)
sp.current_run().log_predictions("test", ids=range(20, 30), probs=probs, labels=y[20:])
