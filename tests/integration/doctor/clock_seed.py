"""The seed is the time of day."""
# ruff: noqa: NPY002, TID251

import time

import numpy as np
from scipy.special import softmax

import seedproof as sp

np.random.seed(time.time_ns() % 2**32)  # fault
x = np.linspace(-1, 1, 120).reshape(60, 2)
y = (x.sum(axis=1) > 0.3).astype(int)
weights = np.random.normal(size=(2, 2))
for batch in np.split(np.random.permutation(40), 8):
    slope = softmax(x[batch] @ weights, axis=1) - np.eye(2)[y[batch]]
    weights -= 0.1 * x[batch].T @ slope
probs = softmax(x[40:] @ weights, axis=1)
sp.current_run().log_predictions("test", ids=range(40, 60), probs=probs, labels=y[40:])
