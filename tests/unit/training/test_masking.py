"""Secrets among arguments are masked; digests, ids, paths and tokens of texts are not."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from seedproof.engines.serial import as_failure
from seedproof.training.masking import MASK, mask_arguments

JWT = "eyJhbGciOiJIUzI1NiJ9.eyJzdWIiOiIxMjM0In0.dozjgNryP4J3jVmNHl0w5N_XgL0n3I9PlFUP0THsR8U"
PEM = "-----BEGIN RSA PRIVATE KEY-----\nMIIEow\n-----END RSA PRIVATE KEY-----"
SECRETS = {
    ("--api-key", "x7f3"): ("--api-key", MASK),
    ("--api_key=x7f3",): (f"--api_key={MASK}",),
    ("--token=abc",): (f"--token={MASK}",),
    ("--hf-token", "abc"): ("--hf-token", MASK),
    ("HF_TOKEN=abc",): (f"HF_TOKEN={MASK}",),
    ("trainer.wandb.apiKey=abc",): (f"trainer.wandb.apiKey={MASK}",),
    ("--password", "two words"): ("--password", MASK),
    ("--client-secret", "abc"): ("--client-secret", MASK),
    ('{"lr": 1, "api_key": "abc"}',): (f'{{"lr": 1, "api_key": "{MASK}"}}',),
    ("--header", "Authorization: Bearer abc.def"): ("--header", f"Authorization: Bearer {MASK}"),
    ("s3://bucket/x?access_token=abc&y=1",): (f"s3://bucket/x?access_token={MASK}&y=1",),
    ("postgres://me:pass@host/db",): (f"postgres://me:{MASK}@host/db",),
    ("--note", f"key sk-{'a1' * 12} end"): ("--note", f"key {MASK} end"),
    (f"ghp_{'a1' * 18}",): (MASK,),
    (f"github_pat_{'a1_' * 10}",): (MASK,),
    (f"hf_{'aB' * 17}",): (MASK,),
    ("AKIAIOSFODNN7EXAMPLE",): (MASK,),
    (JWT,): (MASK,),
    ("--pem", PEM): ("--pem", MASK),
}
# Of ordinary commands.
HARMLESS = [
    ["--lr", "0.1", "--epochs=3", "-v", "data/train.csv", "--out", "/data/a-b_c/run 1"],
    ["--max-tokens", "512", "--pad-token", "<pad>", "--eos_token=</s>", "--tokenizer", "gpt2"],
    ["--num-tokens=5", "--token-level", "--tokens", "a", "--new_token", "x", "--token", "5"],
    ["--use-auth-token", "--fp16", "--use_auth_token=True"],
    [
        "da39a3ee5e6b4b0d3255bfef95601890afd80709",
        "--commit=9fceb02d0ae598e95dc970b74767f19372d61af8",
    ],
    ["e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855"],
    ["9b1deb4d-3b7d-4bad-9bdd-2b0d7b3dcb6d", "--run-id", "1b9d6bcd-bbfd-4b2d-9b5d-ab8dfbbd4bed"],
    ["--key", "label", "--keys=a,b", "--keyboard", "us", "--secretary", "x", "--passes", "3"],
    ["hf_internal_testing_tiny_random_bert", "sk-learn", "sk-model-small", "task-sk-1"],
    ["https://example.org/a:b/c@d", "s3://bucket/folder", "git@github.com:a/b.git", "user@host"],
    ["model.hidden_size=128", "+trainer.precision=16", "{seed}", "{run}-{arm}", "--author", "me"],
]


@pytest.mark.parametrize(("given", "expected"), SECRETS.items(), ids=lambda words: words[0][:20])
def test_secret_is_masked(given, expected):
    masked = mask_arguments(given)

    assert masked.arguments == expected
    assert len(masked.names) == len(masked.secrets) == 1
    assert masked.hide(f"error: {masked.secrets[0]}") == (
        f"error: {MASK}" if len(masked.secrets[0]) >= 4 else f"error: {masked.secrets[0]}"
    )


@pytest.mark.parametrize("arguments", HARMLESS, ids=lambda words: words[0][:20])
def test_ordinary_arguments_are_kept(arguments):
    assert mask_arguments(arguments) == (tuple(arguments), (), ())


@given(st.lists(st.sampled_from([word for words in SECRETS for word in words]) | st.text()))
def test_masked_arguments_stay_the_same(arguments):
    """Arguments that are given again are compared in their masked form."""
    masked = mask_arguments(arguments)

    assert mask_arguments(masked.arguments).arguments == masked.arguments
    assert len(masked.arguments) == len(arguments)


@given(st.uuids() | st.binary(min_size=8, max_size=32).map(bytes.hex), st.sampled_from(["", "-x"]))
def test_ids_and_digests_are_never_masked(text, end):
    arguments = (f"{text}{end}", f"runs/{text}/part-0", f"--id={text}")

    assert mask_arguments(arguments).arguments == arguments


def test_failure_does_not_quote_a_secret():
    masked = mask_arguments(["--password", "hunter22"])

    failure = masked.hide_in(as_failure(ValueError("bad password hunter22")))

    assert failure.message.fields["reason"].endswith(MASK)
    assert "hunter22" not in failure.traceback
