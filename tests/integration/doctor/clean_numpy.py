"""Softmax regression without torch that uses all sources correctly."""

import numpy as np
from scipy.special import softmax

import seedproof as sp

run = sp.current_run()
data = np.random.default_rng(7)
x = data.normal(size=(120, 4))
y = (x[:, 0] > x[:, 1]).astype(int)
weights = run.rng("init").normal(size=(4, 2))
for batch in np.split(run.rng("order").permutation(80), 8):
    inputs = x[batch] * run.rng("dropout").binomial(1, 0.8, size=(10, 4))
    weights -= 0.1 * inputs.T @ (softmax(inputs @ weights, axis=1) - np.eye(2)[y[batch]])
probs = softmax(x[80:] @ weights, axis=1)
run.log_predictions("test", ids=range(80, 120), probs=probs, labels=y[80:])
