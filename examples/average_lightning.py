"""Average weights with Lightning: one callback."""

import lightning.pytorch as pl
import torch
from torch import nn
from torch.utils.data import DataLoader, Subset, TensorDataset

import seedproof as sp
from seedproof.integrations.lightning import AveragingCallback, EpochSampler, RunCallback

EXAMPLES = torch.randn(600, 20, generator=torch.Generator().manual_seed(0))
DATA = TensorDataset(EXAMPLES, (EXAMPLES[:, 0] * EXAMPLES[:, 1] > 0).long())
FIT, TEST = Subset(DATA, range(400)), Subset(DATA, range(400, 600))


class Net(pl.LightningModule):  # noqa: D101 - as small as it gets
    def __init__(self) -> None:
        super().__init__()
        self.layers = nn.Sequential(nn.Linear(20, 64), nn.ReLU(), nn.Linear(64, 2))

    def forward(self, inputs: torch.Tensor) -> torch.Tensor:
        return self.layers(inputs)

    def training_step(self, batch: list[torch.Tensor]) -> torch.Tensor:
        return nn.functional.cross_entropy(self(batch[0]), batch[1])

    def configure_optimizers(self) -> torch.optim.Optimizer:
        return torch.optim.Adam(self.parameters(), lr=0.01)


def train(run: sp.Run) -> None:
    """Train one run; its arm is the kind of weight averaging."""
    callbacks = [AveragingCallback(run.arm), RunCallback(run, DataLoader(TEST, batch_size=200))]
    quiet = {"logger": False, "enable_checkpointing": False}
    trainer = pl.Trainer(max_epochs=5, callbacks=callbacks, **quiet)
    trainer.fit(Net(), DataLoader(FIT, batch_size=32, sampler=EpochSampler(FIT, run)))


if __name__ == "__main__":
    print(sp.Study("pl", train, seeds=2, arms=["none", "ema"], store="runs-pl").run("serial"))
