"""All randomness comes from one generator with a hard-coded seed."""

import numpy as np
from scipy.special import softmax

import seedproof as sp

rng = np.random.default_rng(0)  # fault
x = np.linspace(-1, 1, 120).reshape(60, 2)
y = (x.sum(axis=1) > 0.3).astype(int)
weights = rng.normal(size=(2, 2))
for batch in np.split(rng.permutation(40), 8):
    slope = softmax(x[batch] @ weights, axis=1) - np.eye(2)[y[batch]]
    weights -= 0.1 * x[batch].T @ slope
probs = softmax(x[40:] @ weights, axis=1)
sp.current_run().log_predictions("test", ids=range(40, 60), probs=probs, labels=y[40:])
