"""It creates a folder for its results, and fails if it exists."""

from pathlib import Path

import numpy as np
from scipy.special import softmax

import seedproof as sp

run = sp.current_run()
Path("results").mkdir()  # fault
x = np.linspace(-1, 1, 120).reshape(60, 2)
y = (x.sum(axis=1) > 0.3).astype(int)
weights = run.rng("init").normal(size=(2, 2))
for batch in np.split(run.rng("order").permutation(40), 8):
    slope = softmax(x[batch] @ weights, axis=1) - np.eye(2)[y[batch]]
    weights -= 0.1 * x[batch].T @ slope
np.save("results/weights.npy", weights)
probs = softmax(x[40:] @ weights, axis=1)
run.log_predictions("test", ids=range(40, 60), probs=probs, labels=y[40:])
