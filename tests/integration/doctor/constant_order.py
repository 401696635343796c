"""Python and numpy have a fixed seed, so the order never varies; torch obeys its seed."""
# ruff: noqa: NPY002, TID251

import random

import numpy as np
import torch
from torch import nn

import seedproof as sp

np.random.seed(1234)  # fault
random.seed(1234)
x = torch.linspace(-1, 1, 60).reshape(30, 2)
y = (x.sum(-1) > 0.3).long()
model = nn.Linear(2, 2)
optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
for batch in np.split(np.random.permutation(20), 4):
    optimizer.zero_grad()
    nn.functional.cross_entropy(model(x[batch]), y[batch]).backward()
    optimizer.step()
probs = model(x[20:]).softmax(-1)
sp.current_run().log_predictions("test", ids=range(20, 30), probs=probs, labels=y[20:])
