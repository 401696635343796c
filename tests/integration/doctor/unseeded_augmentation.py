"""Inputs are augmented by an unseeded generator."""

import numpy as np
from scipy.special import softmax

import seedproof as sp

run = sp.current_run()
x = np.linspace(-1, 1, 120).reshape(60, 2)
y = (x.sum(axis=1) > 0.3).astype(int)
weights = run.rng("init").normal(size=(2, 2))
noise = np.random.default_rng()  # fault
for batch in np.split(run.rng("order").permutation(40), 8):
    inputs = x[batch] + noise.normal(scale=0.1, size=(5, 2))
    weights -= 0.1 * inputs.T @ (softmax(inputs @ weights, axis=1) - np.eye(2)[y[batch]])
probs = softmax(x[40:] @ weights, axis=1)
run.log_predictions("test", ids=range(40, 60), probs=probs, labels=y[40:])
