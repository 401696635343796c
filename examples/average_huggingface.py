"""Average weights with Hugging Face's Trainer: one callback."""

from tempfile import TemporaryDirectory

import torch
from transformers import BertConfig, BertForSequenceClassification, Trainer, TrainingArguments

import seedproof as sp
from seedproof.integrations.huggingface import AveragingCallback, RunCallback, seeds_of

GENERATOR = torch.Generator().manual_seed(0)
TOKENS = torch.randint(5, 100, (300, 12), generator=GENERATOR)
LABELS = (TOKENS[:, 0] > TOKENS[:, 1]).long()
DATA = [{"input_ids": t, "labels": y} for t, y in zip(TOKENS, LABELS, strict=True)]
SMALL = {"hidden_size": 32, "num_hidden_layers": 2, "num_attention_heads": 2}


def train(run: sp.Run) -> None:
    """Train one run; its arm is the kind of weight averaging."""
    with run.seeded("init"), TemporaryDirectory() as folder:
        model = BertForSequenceClassification(
            BertConfig(vocab_size=100, intermediate_size=64, num_labels=2, **SMALL)
        )
        arguments = TrainingArguments(
            folder, num_train_epochs=3, learning_rate=1e-3, eval_strategy="epoch",
            save_strategy="no", report_to=[], disable_tqdm=True, **seeds_of(run),
        )  # fmt: skip
        callbacks = [AveragingCallback(run.arm), RunCallback(run)]
        trainer = Trainer(
            model, arguments, train_dataset=DATA[:200], eval_dataset=DATA[200:], callbacks=callbacks
        )
        trainer.train()


if __name__ == "__main__":
    study = sp.Study("hf", train, seeds=2, arms=["none", "switch-ema"], store="runs-huggingface")
    print(study.run("serial", progress=False))
    print(study.measure_arms())
