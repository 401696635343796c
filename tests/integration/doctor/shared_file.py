"""The best weights are kept in one file for all runs, which works for one run at a time only."""

from pathlib import Path

import numpy as np
from scipy.special import softmax

import seedproof as sp

run = sp.current_run()
x = np.linspace(-1, 1, 120).reshape(60, 2)
y = (x.sum(axis=1) > 0.3).astype(int)
weights, best = run.rng("init").normal(size=(2, 2)), np.inf
Path("out").mkdir(exist_ok=True)
for batch in np.split(run.rng("order").permutation(40), 8):
    slope = softmax(x[batch] @ weights, axis=1) - np.eye(2)[y[batch]]
    weights -= 0.1 * x[batch].T @ slope
    if np.abs(slope).mean() < best:
        best = np.abs(slope).mean()
        np.save("out/best.npy", weights)  # fault
probs = softmax(x[40:] @ np.load("out/best.npy"), axis=1)
run.log_predictions("test", ids=range(40, 60), probs=probs, labels=y[40:])
