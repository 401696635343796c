"""A script that seeds itself from `--seed`, with a data loader that has workers."""
# ruff: noqa: NPY002, S311, TID251

import argparse
import random

import numpy as np
import torch
from torch import nn
from torch.utils.data import DataLoader, Dataset

import seedproof as sp


class Noisy(Dataset):
    """Two clouds of points, with noise added on each access."""

    def __len__(self):
        """Number of points."""
        return 64

    def __getitem__(self, i):
        """A point and its class."""
        return torch.full((4,), i % 2 + np.random.normal() + random.random()), i % 2


if __name__ == "__main__":
    parser = argparse.ArgumentParser()
    parser.add_argument("--seed", type=int, required=True)
    seed = parser.parse_args().seed
    random.seed(seed)
    np.random.seed(seed)
    torch.manual_seed(seed)
    model = nn.Sequential(nn.Linear(4, 8), nn.Dropout(0.1), nn.Linear(8, 2))
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
    for inputs, labels in DataLoader(Noisy(), batch_size=16, shuffle=True, num_workers=2):
        optimizer.zero_grad()
        nn.functional.cross_entropy(model(inputs.float()), labels).backward()
        optimizer.step()
    test = torch.linspace(-1, 2, 20)[:, None].expand(20, 4)
    probs = model.eval()(test).softmax(-1)
    sp.current_run().log_predictions("test", ids=range(20), probs=probs, labels=[0, 1] * 10)
