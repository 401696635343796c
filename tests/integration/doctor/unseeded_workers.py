"""Each worker of a data loader creates a generator without a seed."""

import numpy as np
import torch
from torch import nn
from torch.utils.data import DataLoader, Dataset

import seedproof as sp


class Noisy(Dataset):
    """Two clouds of points, with noise added on each access."""

    def __len__(self):
        """Number of points."""
        return 32

    def __getitem__(self, i):
        """A point and its class."""
        rng = np.random.default_rng()  # fault
        return torch.tensor(i % 2 + rng.normal(size=4), dtype=torch.float32), i % 2


model = nn.Linear(4, 2)
optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
for inputs, labels in DataLoader(Noisy(), batch_size=8, shuffle=True, num_workers=2):
    optimizer.zero_grad()
    nn.functional.cross_entropy(model(inputs), labels).backward()
    optimizer.step()
test = torch.linspace(-1, 2, 20)[:, None].expand(20, 4)
probs = model(test).softmax(-1)
sp.current_run().log_predictions("test", ids=range(20), probs=probs, labels=[0, 1] * 10)
