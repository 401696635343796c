"""A network with dropout that uses all sources correctly: no fault."""

import numpy as np
import torch
from torch import nn

import seedproof as sp

run = sp.current_run()
data = np.random.default_rng(7)
x = torch.tensor(data.normal(size=(300, 8)), dtype=torch.float32)
y = (x[:, 0] + x[:, 1] > 0).long()
with run.seeded("init"):
    model = nn.Sequential(nn.Linear(8, 16), nn.ReLU(), nn.Dropout(0.2), nn.Linear(16, 2))
optimizer = torch.optim.Adam(model.parameters(), lr=0.01)
for _ in range(2):
    order = torch.randperm(200, generator=run.torch_generator("order"))
    for batch in order.split(20):
        with run.seeded("dropout"):
            loss = nn.functional.cross_entropy(model(x[batch]), y[batch])
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
model.eval()
probs = model(x[200:]).softmax(-1)
run.log_predictions("test", ids=range(200, 300), probs=probs, labels=y[200:])
