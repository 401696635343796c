"""A checkpoint is left next to the script, and the next training resumes from it."""

from pathlib import Path

import numpy as np
from scipy.special import softmax

import seedproof as sp

run = sp.current_run()
checkpoint = Path(__file__).with_name("best.npy")
x = np.linspace(-1, 1, 120).reshape(60, 2)
y = (x.sum(axis=1) > 0.3).astype(int)
weights = run.rng("init").normal(size=(2, 2))
if checkpoint.exists():
    weights = np.load(checkpoint)  # fault
for batch in np.split(run.rng("order").permutation(40), 8):
    slope = softmax(x[batch] @ weights, axis=1) - np.eye(2)[y[batch]]
    weights -= 0.1 * x[batch].T @ slope
if not checkpoint.exists():
    np.save(checkpoint, weights)
probs = softmax(x[40:] @ weights, axis=1)
run.log_predictions("test", ids=range(40, 60), probs=probs, labels=y[40:])
