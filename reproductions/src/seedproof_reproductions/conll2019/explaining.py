"""Gradients and LIME of the models that a finished study chose, as a study of its own.

Records are never changed, so further explanations of the same models go into another store. Its
runs have the seeds and arms of the first, and explain the weights that made its predictions.
"""

import os
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import torch

from seedproof.errors import OptionError
from seedproof.explain import Gradients, Lime, TakesLengths, TokenBatch
from seedproof.records.location import Location
from seedproof.training.run import Run
from seedproof.training.study import Study
from seedproof_reproductions.conll2019.data import PART_SEED, Encoded, encode, prepare
from seedproof_reproductions.conll2019.names import EXPLAINED
from seedproof_reproductions.conll2019.settings import EXPLAIN, Setting
from seedproof_reproductions.conll2019.training import evaluate, load_chosen, trained_run
from seedproof_reproductions.datasets.texts import UNKNOWN
from seedproof_reproductions.models import is_word
from seedproof_reproductions.runs import study_of

SPLIT = "test"
# Figures 7 and 10 of the paper.
EXPLAINED_ARMS = ("none", "naswa")


@dataclass(frozen=True)
class Explaining:
    """Explains the model that a run of another study chose; it can be sent to another process.

    LIME is repeated with several draws, from a seed that all runs share: the distance between
    draws of one run is the explainer's noise.

    Args:
        source: The store of the study that trained the models, on this machine.
        n_lime: Number of test examples that LIME explains, a fixed random part; None is all.
        n_samples: Perturbed texts of each.
        n_draws: Number of draws.
    """

    source: str
    n_lime: int | None = 200
    n_samples: int = 5000
    n_draws: int = 2

    def arguments(self) -> tuple[str, ...]:
        """Return the arguments of a run: the place of the models makes no difference."""
        names = ("n_lime", "n_samples", "n_draws")
        return tuple(f"{EXPLAIN}{name}={getattr(self, name)}" for name in names)

    def __call__(self, run: Run) -> None:
        """Explain the model of the run with the same arm and seeds."""
        prepared = prepare(Setting.from_arguments(run.arguments))
        model = load_chosen(self.source, trained_run(self.source, run, run.arm), prepared)
        texts = prepared.test.texts
        probs, classes = evaluate(model, prepared.test).probs, prepared.data.classes
        run.log_predictions(SPLIT, ids=texts.ids, probs=probs, labels=texts.labels, classes=classes)
        explained = TakesLengths(model)
        scores = Gradients()(explained, token_batch(prepared.test))
        run.log_explanations(SPLIT, "gradient", ids=texts.ids, tokens=texts.tokens, scores=scores)
        part = texts.sample(self.n_lime, rng=np.random.default_rng(PART_SEED))
        batch = token_batch(encode(part, prepared.vocabulary))
        for draw in range(self.n_draws):
            lime = Lime(replacement=UNKNOWN, seed=PART_SEED, draw=draw, n_samples=self.n_samples)
            scores = lime(explained, batch)
            run.log_explanations(
                SPLIT, "lime", ids=part.ids, tokens=part.tokens, scores=scores, draw=draw
            )


def token_batch(split: Encoded) -> TokenBatch:
    """Return a split as explainers take it; the marks at both ends are not words."""
    if split.query is not None:
        raise OptionError("Pairs of texts cannot be explained by gradients or LIME yet.")
    positions = torch.arange(split.numbers.shape[1])
    return TokenBatch(
        split.numbers,
        positions < split.lengths.unsqueeze(-1),
        split.texts.ids.tolist(),
        words=is_word(split.numbers, split.lengths),
    )


def explain_study(
    setting: Setting,
    explaining: Explaining,
    *,
    store: str | os.PathLike[str],
    seeds: int = 10,
    arms: Sequence[str] = EXPLAINED_ARMS,
) -> Study:
    """Return the study that explains the chosen models of another."""
    if Location.of(store) == Location.of(explaining.source):
        raise OptionError("Records are never changed. Give explanations a store of their own.")
    return study_of(
        setting,
        explaining,
        store=store,
        seeds=seeds,
        arms=arms,
        suffix=EXPLAINED,
        arguments=explaining.arguments(),
    )


def arms_to_explain(arms: Sequence[str]) -> tuple[str, ...]:
    """Return the arms that the paper explained, if all are among the arms; else all arms."""
    return EXPLAINED_ARMS if set(EXPLAINED_ARMS) <= set(arms) else tuple(arms)
