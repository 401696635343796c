"""Secrets in the arguments of a training, which records and pages must not contain.

An argument is a secret by its name, such as `--api-key`, or by its shape, such as that of a GitHub
token. Texts that only look random are kept: digests, ids and paths do as well.
"""

import re
from collections.abc import Sequence
from dataclasses import replace
from typing import NamedTuple

from seedproof.engines import Failure

MASK = "***"
# Shorter texts occur everywhere by chance.
LEAST_HIDDEN = 4

# Last words of names of secrets.
SECRET_NAME = re.compile(
    r"(?:^|_)(?:password|passwd|passphrase|[a-z0-9]+_pwd|secrets?|credentials?|authorization|bearer|apikey"
    r"|(?:access|account|anthropic|api|auth|client|encryption|hf|license|openai|private|secret"
    r"|service|signing|subscription|wandb)_?key)(?:_id|_value)?$"
)
TOKEN_NAME = re.compile(r"(?:^|_)([a-z0-9]*)_?token$")
# Tokens of texts, such as --pad-token; --max-tokens ends in another word.
TOKEN_OF_TEXT = re.compile(
    r"audio|bad|begin|blank|bos|class|cls|dist|distill|end|eos|first|forced|image|label|last|mask"
    r"|max|min|n|new|next|num|oov|pad|per|prefix|prompt|query|sep|separator|special|start|stop"
    r"|subword|suffix|text|trigger|unk|unused|video"
)
NO_SECRET = re.compile(r"(?:[-+]?[0-9.]+|true|false|none|null|yes|no|on|off|auto|)", re.IGNORECASE)

SHAPES = [
    re.compile(pattern, re.DOTALL)
    for pattern in (
        r"-----BEGIN [A-Z0-9 ]+-----.*?(?:-----END [A-Z0-9 ]+-----|$)",  # PEM
        r"\beyJ[\w-]{8,}\.[\w-]{8,}\.[\w-]*",  # JSON web tokens
        r"\bsk-[\w-]{16,}",  # OpenAI, Anthropic
        r"\b[rs]k_(?:live|test)_\w{10,}",  # Stripe
        r"\bgh[oprsu]_[A-Za-z0-9]{20,}",  # GitHub
        r"\bgithub_pat_\w{20,}",
        r"\bglpat-[\w-]{16,}",  # GitLab
        r"\bhf_[A-Za-z0-9]{20,}",  # Hugging Face
        r"\b(?:AKIA|ASIA)[0-9A-Z]{16}\b",  # AWS
        r"\bAIza[\w-]{30,}",  # Google
        r"\bya29\.[\w-]{20,}",
        r"\bxox[abeoprs]-[\w-]{10,}",  # Slack
        r"\bnpm_[A-Za-z0-9]{30,}",
        r"\bpypi-[\w-]{30,}",
        r"(?P<kept>://[^/\s:@]*:)[^/\s@]+(?=@)",  # password of a URL
        r"(?P<kept>\bBearer )\S+",
        r"(?P<kept>\bBasic )[\w+/]{8,}=*",
    )
]
# A name and a value inside an argument, such as HF_TOKEN=… or {"api_key": "…"}.
NAMED_VALUE = re.compile(
    r"""(?P<name>[A-Za-z][\w.-]*)(?P<sign>(?:["']?\s*=\s*|["']\s*:\s*|:\s+)["']?)"""
    r"""(?P<value>[^\s"'&,;{}]+)"""
)
VARIABLE = re.compile(r"([A-Za-z][\w.]*)=")
OPTION = re.compile(r"(?P<name>--?[A-Za-z][\w.-]*)(?P<sign>=)?(?P<value>.*)", re.DOTALL)


class MaskedArguments(NamedTuple):
    """Arguments without their secrets."""

    arguments: tuple[str, ...]
    names: tuple[str, ...]  # of what is masked: options, variables, or positions
    secrets: tuple[str, ...]  # texts that are masked, the longest first

    def hide(self, text: str) -> str:
        """Return a text without the secrets, such as a traceback that quotes an argument."""
        for secret in self.secrets:
            if len(secret) >= LEAST_HIDDEN:
                text = text.replace(secret, MASK)
        return text

    def hide_in(self, failure: Failure) -> Failure:
        """Return a failure without the secrets."""
        message = failure.message
        texts = {key: value for key, value in message.fields.items() if isinstance(value, str)}
        hidden = message.replace(**{key: self.hide(text) for key, text in texts.items()})
        return replace(failure, message=hidden, traceback=self.hide(failure.traceback))


def mask_arguments(arguments: Sequence[str]) -> MaskedArguments:
    """Return arguments with secrets replaced; arguments that are masked already stay the same.

    >>> mask_arguments(["--lr", "0.1", "--api-key", "x7f3"]).arguments
    ('--lr', '0.1', '--api-key', '***')
    """
    masker = _Masker()
    masked: list[str] = []
    option = ""  # the argument before, if it may take this one as its value
    for position, argument in enumerate(arguments, start=1):
        match = OPTION.fullmatch(argument)
        if match is None and option and _is_secret(option, argument):
            masked.append(masker.mask(option, argument))
        elif match is not None and match["sign"] and _is_secret(match["name"], match["value"]):
            masked.append(f"{match['name']}={masker.mask(match['name'], match['value'])}")
        else:
            variable = VARIABLE.match(argument)
            name = match["name"] if match is not None else variable[1] if variable else option
            masked.append(masker.mask_inside(argument, name or f"argument {position}"))
        option = match["name"] if match is not None and not match["sign"] else ""
    return MaskedArguments(
        tuple(masked),
        tuple(dict.fromkeys(masker.names)),
        tuple(sorted(set(masker.secrets), key=len, reverse=True)),
    )


class _Masker:
    """Replaces secrets, and collects them with their names."""

    def __init__(self) -> None:
        self.names: list[str] = []
        self.secrets: list[str] = []

    def mask(self, name: str, secret: str) -> str:
        """Return what is shown instead of a secret."""
        if secret != MASK:
            self.names.append(name)
            self.secrets.append(secret)
        return MASK

    def mask_inside(self, argument: str, name: str) -> str:
        """Return an argument without what is a secret by its shape, or by a name inside."""

        def of_shape(match: re.Match[str]) -> str:
            kept = match.groupdict().get("kept", "")
            return kept + self.mask(name, match[0].removeprefix(kept))

        def with_name(match: re.Match[str]) -> str:
            if not _is_secret(match["name"], match["value"]):
                return match[0]
            return match["name"] + match["sign"] + self.mask(match["name"], match["value"])

        for shape in SHAPES:
            argument = shape.sub(of_shape, argument)
        return NAMED_VALUE.sub(with_name, argument)


def _is_secret(name: str, value: str) -> bool:
    """Return whether the value of an option, variable or key of this name is a secret."""
    words = re.sub(r"([a-z0-9])([A-Z])", r"\1_\2", name.lstrip("-")).lower()
    words = re.sub(r"[.-]+", "_", words)
    if SECRET_NAME.search(words):
        # A scheme is followed by the secret, which has its own shape.
        return value.lower() not in {"", "basic", "bearer"}
    token = TOKEN_NAME.search(words)
    if token is None or TOKEN_OF_TEXT.fullmatch(token[1]):
        return False
    return NO_SECRET.fullmatch(value) is None
