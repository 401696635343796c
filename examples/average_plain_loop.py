"""Average weights in your own training loop: two lines, marked below."""

import torch
from torch import nn
from torch.utils.data import DataLoader, TensorDataset

import seedproof as sp

EXAMPLES = torch.randn(600, 20, generator=torch.Generator().manual_seed(0))
LABELS = (EXAMPLES[:, 0] * EXAMPLES[:, 1] > 0).long()


def train(run: sp.Run) -> None:
    """Train one run; its arm is the kind of weight averaging."""
    with run.seeded("init"):
        model = nn.Sequential(nn.Linear(20, 64), nn.ReLU(), nn.Linear(64, 2))
    optimizer = torch.optim.Adam(model.parameters(), lr=0.03)
    average = sp.stabilize.build(run.arm, model, optimizer)  # line 1
    data = TensorDataset(EXAMPLES[:400], LABELS[:400])
    order = run.torch_generator("order")
    loader = DataLoader(data, batch_size=16, shuffle=True, generator=order)
    for _ in range(30):
        for inputs, labels in loader:
            optimizer.zero_grad()
            nn.functional.cross_entropy(model(inputs), labels).backward()
            optimizer.step()
        average.end_epoch()  # line 2
    average.finish()
    run.log_predictions("test", probs=model(EXAMPLES[400:]).softmax(dim=-1), labels=LABELS[400:])


if __name__ == "__main__":
    arms = ["none", "ema", "switch-ema", "aswa"]
    study = sp.Study("average", train, seeds=5, arms=arms, store="runs-average")
    study.run("serial", progress=False)
    for arm, report in study.measure_arms().items():
        print(arm, report["flip_rate"], report["accuracy"], sep="\n  ")
