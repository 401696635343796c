"""Words are numbered in the order of a set, which differs in every process."""

import numpy as np
from scipy.special import softmax

import seedproof as sp

TEXTS = ["good film", "bad film", "a good plot", "a bad plot", "not bad", "not good"]
LABELS = np.array([1, 0, 1, 0, 1, 0])

run = sp.current_run()
words = {word for text in TEXTS for word in text.split()}
numbers = {word: number for number, word in enumerate(words)}  # fault
x = np.zeros((len(TEXTS), len(words)))
for row, text in zip(x, TEXTS, strict=True):
    row[[numbers[word] for word in text.split()]] = 1
weights = run.rng("init").normal(size=(len(words), 2))
for i in run.rng("order").permutation(6):
    weights -= 0.1 * np.outer(x[i], softmax(x[i] @ weights) - np.eye(2)[LABELS[i]])
run.log_predictions("texts", ids=TEXTS, probs=softmax(x @ weights, axis=1), labels=LABELS)
