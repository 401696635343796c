"""A small transformer and quiet settings, for tests with Hugging Face's Trainer."""

from transformers import BertConfig, BertForSequenceClassification

from seedproof.testing.trainings import fill

QUIET = {
    "learning_rate": 0.01,
    "logging_steps": 1,
    "report_to": [],
    "disable_tqdm": True,
    "use_cpu": True,
    "dataloader_pin_memory": False,
    "seed": 3,
}


def make_bert(n_classes, seed=1, *, kind=BertForSequenceClassification, **settings):
    """Return a transformer with dropout, so that generators matter."""
    config = BertConfig(
        vocab_size=30,
        hidden_size=8,
        num_hidden_layers=1,
        num_attention_heads=2,
        intermediate_size=8,
        num_labels=n_classes,
        max_position_embeddings=8,
        **settings,
    )
    model = kind(config)
    fill(model, seed)
    return model
