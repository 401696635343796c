"""It trains well, but logs no predictions."""

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
correct = (x[40:] @ weights).argmax(axis=1) == y[40:]
run.log_scalar("accuracy", correct.mean())  # fault
