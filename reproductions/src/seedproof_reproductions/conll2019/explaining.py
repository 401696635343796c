"""Gradients and LIME of the models that a finished study chose, as a study of its own.

Records are never changed, so further explanations of the same models go into another store. Its
runs have the seeds and arms of the first, and explain the very weights that made its predictions.
"""

import os
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import torch

from seedproof.errors import NotFoundError, OptionError
from seedproof.explain import Gradients, Lime, TakesLengths, TokenBatch
from seedproof.records.location import Location
from seedproof.records.manifest import RunManifest
from seedproof.records.reader import Store
from seedproof.runs.run import Run
from seedproof.study.study import Study
from seedproof_reproductions.conll2019.chosen import load_chosen
from seedproof_reproductions.conll2019.data import PART_SEED, Encoded, encode, prepare
from seedproof_reproductions.conll2019.settings import EXPLAIN, Setting
from seedproof_reproductions.conll2019.training import evaluate
from seedproof_reproductions.datasets.vocabulary import UNKNOWN
from seedproof_reproductions.models import is_word

SPLIT = "test"
# Figures 7 and 10 of the paper.
EXPLAINED_ARMS = ("none", "naswa")


@dataclass(frozen=True)
class Explaining:
    """Explains the model that a run of another study chose; it can travel to another process.

    LIME is drawn anew for each draw, from a seed that all runs share: the distance between draws
    of one run is the explainer's noise.

    Args:
        source: The store of the study that trained the models, on this machine.
        n_lime: How many test examples LIME explains, a fixed random part; None is all.
        n_samples: Perturbed texts of each.
        n_draws: How often LIME is repeated.
    """

    source: str
    n_lime: int | None = 200
    n_samples: int = 5000
    n_draws: int = 2

    def arguments(self) -> tuple[str, ...]:
        """What decides the outcome beside the models: where they lie makes no difference."""
        names = ("n_lime", "n_samples", "n_draws")
        return tuple(f"{EXPLAIN}{name}={getattr(self, name)}" for name in names)

    def __call__(self, run: Run) -> None:
        """Explain the model of the run with the same arm and seeds.

        Args:
            run: Where predictions and explanations are kept.
        """
        setting = Setting.from_arguments(run.arguments)
        prepared = prepare(setting)
        model = load_chosen(self.source, _origin(self.source, run), prepared)
        texts = prepared.test.texts
        run.log_predictions(
            SPLIT,
            ids=texts.ids,
            probs=evaluate(model, prepared.test).probs,
            labels=texts.labels,
            classes=prepared.data.classes,
        )
        asked = TakesLengths(model)
        batch = token_batch(prepared.test)
        run.log_explanations(
            SPLIT, "gradient", ids=texts.ids, tokens=texts.tokens, scores=Gradients()(asked, batch)
        )
        some = texts.some(self.n_lime, rng=np.random.default_rng(PART_SEED))
        batch = token_batch(encode(some, prepared.vocabulary))
        for draw in range(self.n_draws):
            lime = Lime(replacement=UNKNOWN, seed=PART_SEED, draw=draw, n_samples=self.n_samples)
            run.log_explanations(
                SPLIT,
                "lime",
                ids=some.ids,
                tokens=some.tokens,
                scores=lime(asked, batch),
                draw=draw,
            )


def token_batch(split: Encoded) -> TokenBatch:
    """A split as explainers take it: marks at both ends are no words.

    Args:
        split: Single texts, as tensors.

    Returns:
        The same texts.

    Raises:
        OptionError: Examples are pairs of texts.
    """
    if split.query is not None:
        raise OptionError("Pairs of texts cannot be explained by gradients or LIME yet.")
    places = torch.arange(split.numbers.shape[1])
    return TokenBatch(
        split.numbers,
        places < split.lengths.unsqueeze(-1),
        split.texts.ids.tolist(),
        words=is_word(split.numbers, split.lengths),
    )


def _origin(source: str, run: Run) -> RunManifest:
    """The run that trained the model."""
    for found in Store(Location.of(source)).runs:
        if found.arm == run.arm and dict(found.seeds) == dict(run.seeds):
            return found
    raise NotFoundError(
        f"{source} has no finished run {run.name!r} of {run.arm!r} with the same seeds. "
        "Finish that study first."
    )


def explain_study(
    setting: Setting,
    explaining: Explaining,
    *,
    store: str | os.PathLike[str],
    seeds: int = 10,
    arms: Sequence[str] = EXPLAINED_ARMS,
) -> Study:
    """The study that explains the chosen models of another; resumable like any.

    Args:
        setting: The setting of the study that trained them.
        explaining: Where they are, and how they are explained.
        store: Where records go: another store than the first.
        seeds: How many seeds.
        arms: Which arms.

    Returns:
        A study whose runs have gradients and LIME beside their predictions.

    Raises:
        OptionError: Both stores are the same.
    """
    if Location.of(store) == Location.of(explaining.source):
        raise OptionError("Records are never changed. Give explanations a store of their own.")
    return Study(
        f"{setting.name}-explained",
        explaining,
        seeds=seeds,
        arms=arms,
        store=store,
        arguments=(*setting.as_arguments(), *explaining.arguments()),
        threads_per_run=1,
    )


def arms_to_explain(arms: Sequence[str]) -> tuple[str, ...]:
    """Those that the paper explained, if they are among the arms; else all of them."""
    found = tuple(arm for arm in EXPLAINED_ARMS if arm in arms)
    return found if len(found) == len(EXPLAINED_ARMS) else tuple(arms)
