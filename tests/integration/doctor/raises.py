"""It fails in its last line, after training."""

import numpy as np
from scipy.special import softmax

import seedproof as sp

run = sp.current_run()
x = np.linspace(-1, 1, 120).reshape(60, 2)
y = (x.sum(axis=1) > 0.3).astype(int)
weights = run.rng("init").normal(size=(2, 2))
for batch in np.split(run.rng("order").permutation(40), 8):
    slope = softmax(x[batch] @ weights, axis=1) - np.eye(2)[y[batch]]
    weights -= 0.1 * x[batch].T @ slope
probs = softmax(x[40:] @ weights, axis=1)
run.log_predictions("test", ids=range(40, 60), probs=probs, labels=y[41:])  # fault
