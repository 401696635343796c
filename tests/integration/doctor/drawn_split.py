"""The held-out examples follow the source for splits."""

import numpy as np
from scipy.special import softmax

import seedproof as sp

run = sp.current_run()
x = np.linspace(-1, 1, 120).reshape(60, 2)
y = (x.sum(axis=1) > 0.3).astype(int)
drawn = run.rng("data").permutation(60)
train, test = drawn[:40], drawn[40:]  # fault
weights = run.rng("init").normal(size=(2, 2))
for batch in np.split(run.rng("order").permutation(train), 8):
    slope = softmax(x[batch] @ weights, axis=1) - np.eye(2)[y[batch]]
    weights -= 0.1 * x[batch].T @ slope
probs = softmax(x[test] @ weights, axis=1)
run.log_predictions("test", ids=test, probs=probs, labels=y[test])
