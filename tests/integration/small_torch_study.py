"""A small torch training under some seeds, as a program that tests kill and restart.

python small_torch_study.py STORE N_RUNS ENGINE
"""

import sys
from pathlib import Path

import seedproof as sp


def train(run):
    """Train a classifier of 60 examples; log its start next to the store."""
    import torch

    with Path(sys.argv[1]).with_suffix(".began").open("a", encoding="utf-8") as file:
        file.write(run.name + "\n")
    examples = torch.randn(60, 4, generator=torch.Generator().manual_seed(0))
    labels = (examples[:, 0] * examples[:, 1] > 0).long()
    with run.seeded("init"):
        model = torch.nn.Sequential(torch.nn.Linear(4, 8), torch.nn.Dropout(0.2))
        model.append(torch.nn.Linear(8, 2))
    for _ in range(3):
        for batch in torch.randperm(60, generator=run.torch_generator("order")).split(20):
            with run.seeded("dropout"):
                logits = model(examples[batch])
            torch.nn.functional.cross_entropy(logits, labels[batch]).backward()
            # By hand: to load the optimizers of torch takes longer than all the training.
            with torch.no_grad():
                for weights in model.parameters():
                    weights.sub_(0.3 * weights.grad)
                    weights.grad = None
    run.log_predictions("test", probs=model.eval()(examples).softmax(-1), labels=labels)


if __name__ == "__main__":
    store, n_runs, engine = sys.argv[1:]
    # One CPU thread is deterministic anyway, and the setting of torch takes a second per run.
    study = sp.Study("small", train, seeds=int(n_runs), store=store, deterministic=False)
    workers = 2 if engine == "processes" else None
    sys.exit(0 if study.run(engine, workers=workers).is_done else 1)
