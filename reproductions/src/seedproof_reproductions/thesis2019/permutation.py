"""Attention of DeepICF to a user's history, shuffled: how far does the output move?"""

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import torch
from torch import Tensor
from torch.nn.utils.rnn import pad_sequence

import seedproof as sp
from seedproof.explain import permute_attention
from seedproof.records.permutation import CHANGES
from seedproof.typing import BoolArray, FloatArray
from seedproof_reproductions.ratios import Ratio
from seedproof_reproductions.results import plain_figure, plain_figures, short
from seedproof_reproductions.thesis2019.confidence import BINS, MIN_ANSWERS, confidence_bins
from seedproof_reproductions.thesis2019.data import Prepared
from seedproof_reproductions.thesis2019.models import DeepICF

# Users whose histories are padded to the same length; they are sorted by it.
USERS = 256
SCALES = ("probability", "logit")


def shuffle_attention(
    model: DeepICF, prepared: Prepared, *, n_shuffles: int = 100
) -> sp.PermutedAttention:
    """Shuffle the attention of the tested item of each user, always in the same ways."""
    tested = torch.from_numpy(prepared.data.candidates[:, 0])
    order = prepared.histories.sizes.argsort()
    weights = model.attend(order, tested[order])
    parts = [
        _shuffled(model, prepared, users, of_users, n_shuffles)
        for users, of_users in zip(torch.split(order, USERS), _split(weights, USERS), strict=True)
    ]
    back = order.argsort().numpy()
    joined = {
        name: np.concatenate([getattr(part, name) for part in parts])[back]
        for name in ("probs", *CHANGES)
    }
    return sp.PermutedAttention(**joined, n_shuffles=n_shuffles)


def _split(weights: Sequence[Tensor], size: int) -> list[Sequence[Tensor]]:
    return [weights[start : start + size] for start in range(0, len(weights), size)]


def _shuffled(
    model: DeepICF, prepared: Prepared, users: Tensor, weights: Sequence[Tensor], n_shuffles: int
) -> sp.PermutedAttention:
    tested = torch.from_numpy(prepared.data.candidates[:, 0])[users]
    histories = [model.history[prepared.histories.of(user)] for user in users.tolist()]

    def output(of_rows: Tensor, rows: Tensor) -> Tensor:
        # Rows of a user follow each other, and share its history.
        known, counts = torch.unique_consecutive(rows, return_counts=True)
        of_users = torch.split(of_rows, counts.tolist())
        pooled = [
            some[:, : len(histories[row])] @ histories[row]
            for row, some in zip(known.tolist(), of_users, strict=True)
        ]
        return model.score_pooled(torch.cat(pooled), tested[rows])

    sizes = torch.tensor([len(of_user) for of_user in weights])
    return permute_attention(
        output,
        pad_sequence(list(weights), batch_first=True),
        torch.arange(int(sizes.max())) < sizes.unsqueeze(1),
        n_shuffles=n_shuffles,
        ids=prepared.data.names[users.numpy()].tolist(),
        batch_size=USERS * n_shuffles,
    )


class Changes:
    """Changes by shuffles of all runs of an arm, by confidence.

    Args:
        runs: By the name of the run; all for the same users, whose tested items are positive.
    """

    def __init__(self, runs: Mapping[str, sp.PermutedAttention]) -> None:
        self.runs = runs
        probs = np.stack([run.probs for run in runs.values()])
        self.places = confidence_bins(probs.max(axis=2))
        # Class 1 is the interaction: all others were missed.
        self.parts = {"all": np.ones(probs.shape[:2], np.bool_), "missed": probs.argmax(2) == 0}
        self.values = {
            scale: np.stack([getattr(run, f"{scale}_change") for run in runs.values()])
            for scale in SCALES
        }

    def figures(self) -> dict[str, Any]:
        """Return changes of all answers and of missed items, in bins, and first less last bin.

        What the library's own report has comes with it: floors, and how far two runs are apart.
        """
        n_users = self.places.shape[1]
        report = sp.measure_permutation(
            self.runs, labels=np.ones(n_users, dtype=np.int64), classes=("no", "yes")
        )
        return {
            "n_shuffles": report.n_shuffles,
            "report": plain_figures(report.groups[0].metrics),
            **{name: self._by_confidence(chosen) for name, chosen in self.parts.items()},
        }

    def _by_confidence(self, chosen: BoolArray) -> dict[str, Any]:
        in_bins = {name: chosen & (self.places == place) for place, name in enumerate(BINS)}
        of_scales = {}
        for scale, values in self.values.items():
            ratios = {name: _mean(values, cells) for name, cells in in_bins.items()}
            first, last = ratios[BINS[0]], ratios[BINS[-1]]
            decrease = None if first is None or last is None else first - last
            of_scales[scale] = {
                "all": _plain(_mean(values, chosen)),
                "bins": {name: _plain(ratio) for name, ratio in ratios.items()},
                "decrease": _plain(decrease),
            }
        n_answers = {name: int(cells.sum()) for name, cells in in_bins.items()}
        return {"n_answers": n_answers, **of_scales}

    def compared_with(self, other: "Changes") -> dict[str, Any]:
        """Return by how much changes are larger than those of another arm, paired by seed."""
        shared = [name for name in self.runs if name in other.runs]
        mine, others = (Changes({name: of.runs[name] for name in shared}) for of in (self, other))
        compared: dict[str, Any] = {"n_pairs": len(shared)}
        for part, chosen in mine.parts.items():
            ratios = {
                scale: (_mean(values, chosen), _mean(others.values[scale], others.parts[part]))
                for scale, values in mine.values.items()
            }
            compared[part] = {
                scale: None if a is None or b is None else _plain(a - b)
                for scale, (a, b) in ratios.items()
            }
        return compared


def _mean(values: FloatArray, chosen: BoolArray) -> Ratio | None:
    """Return the mean over chosen answers; None if a run has too few of them."""
    return Ratio.mean(values, chosen) if chosen.sum(axis=1).min() >= MIN_ANSWERS else None


def _plain(ratio: Ratio | None) -> list[float | None] | None:
    return None if ratio is None else plain_figure(ratio.estimate())


def attention_entropy(model: DeepICF, prepared: Prepared) -> float | None:
    """Return the entropy of the attention to tested items, as a share of that of equal weights."""
    users = torch.arange(prepared.data.n_users)
    weights = model.attend(users, torch.from_numpy(prepared.data.candidates[:, 0]))
    shares = []
    for of_user in weights:
        p = of_user / of_user.sum()
        shares.append(float(torch.special.entr(p).sum() / np.log(len(p))))
    return short(float(np.mean(shares)))
