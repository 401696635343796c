"""A tiny training with numpy, for the stores of `make_outputs.py`.

    seedproof run train.py --seeds 3 --arms none,steady

Each run logs predictions of two splits, explanations with two draws, and dynamics.
"""

import numpy as np

import seedproof as sp

N_EXAMPLES, CLASSES, TOKENS = 60, ("cat", "dog", "fox"), ["a", "b", "c", "d", "e"]
# How far another seed moves the logits.
NOISE = {"none": 1.0, "steady": 0.5}
SPLITS = {"test": slice(0, 40), "dev": slice(40, 60)}


def main() -> None:
    """Log what a model with random weights would say of fixed examples."""
    run = sp.current_run()
    fixed, rng = np.random.default_rng(7), run.rng("init")
    labels = fixed.integers(len(CLASSES), size=N_EXAMPLES)
    start = fixed.normal(size=(N_EXAMPLES, len(CLASSES))) + 2 * np.eye(len(CLASSES))[labels]
    reasons = fixed.normal(size=(len(TOKENS),))
    noise = NOISE[run.arm] * rng.normal(size=start.shape)
    noise += NOISE[run.arm] * run.rng("order").normal(size=start.shape)

    dynamics = sp.Dynamics(n_classes=len(CLASSES), ids=np.arange(40), labels=labels[:40])
    for step in range(6):
        dynamics.update(softmax(start + noise * (6 - step))[:40])
    run.log_dynamics("test", dynamics)

    probs = softmax(start + noise)
    for split, rows in SPLITS.items():
        ids = np.arange(N_EXAMPLES)[rows]
        run.log_predictions(split, ids=ids, probs=probs[rows], labels=labels[rows], classes=CLASSES)
    for draw in range(2):
        scores = reasons + NOISE[run.arm] * rng.normal(size=(10, len(TOKENS)))
        run.log_explanations(
            "test", "lime", ids=np.arange(10), tokens=[TOKENS] * 10, scores=list(scores), draw=draw
        )
    run.log_scalar("loss", float(-np.log(probs[np.arange(N_EXAMPLES), labels]).mean()))


def softmax(logits: np.ndarray) -> np.ndarray:
    """Return the distribution over classes of each example."""
    weights = np.exp(logits - logits.max(axis=1, keepdims=True))
    return weights / weights.sum(axis=1, keepdims=True)


if __name__ == "__main__":
    main()
