"""Small inputs of every kind of answers, in every variant: rows of two arms, drawn from fixed seeds.

Nothing here knows the product. A table is a dictionary of columns with one row per answer.
"""

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import numpy.typing as npt

Table = dict[str, list[Any]]
Draw = Callable[["Shape", "np.random.Generator", float], "dict[str, Any]"]

CLASSES = ("ant", "bee", "cat")
ITEMS = tuple("abcdefghij")
LABELS = ("even", "prime", "round", "square")
N_PLACES = 6
# Single numbers per run, without examples.
SCALARS = ("loss", "reward")


# Limits of each kind, chosen so that some pass, some fail and some stay open.
LIMITS: dict[str, dict[str, dict[str, float]]] = {
    "labels": {"max": {"flip_rate": 0.45}, "min": {"accuracy": 0.4}},
    "probs": {"max": {"flip_rate": 0.6, "brier": 0.9}, "min": {"accuracy": 0.4}},
    "numbers": {"max": {"mae": 1.5}, "min": {"mean": 3.0}},
    "scores": {"max": {"example_sd": 0.5}, "min": {"mean": 0.2}},
    "passes": {"max": {"flip_rate": 0.6}, "min": {"mean": 0.3}},
    "rankings": {"max": {"first_item_flips": 0.9}, "min": {"ndcg@5": 0.2}},
    "sets": {"max": {"set_flips": 0.9}, "min": {"micro_f1": 0.5}},
    "texts": {"max": {"flip_rate": 0.6}, "min": {"accuracy": 0.4}},
    "scalars": {"max": {"loss": 0.45}, "min": {"reward": 1.0}},
}
NO_WORSE: dict[str, dict[str, float]] = {
    "labels": {"flip_rate": 0.2, "accuracy": 0.05},
    "probs": {"flip_rate": 0.2, "accuracy": 0.05},
    "numbers": {"mae": 0.2},
    "scores": {"mean": 0.02},
    "passes": {"mean": 0.05},
    "rankings": {"first_item_flips": 0.2, "ndcg@5": 0.05},
    "sets": {"set_flips": 0.2, "micro_f1": 0.05},
    "texts": {"flip_rate": 0.2, "accuracy": 0.05},
    "scalars": {"loss": 0.05},
}


@dataclass(frozen=True)
class Shape:
    """Numbers of repeats at each level, and of examples."""

    runs: int = 6
    examples: int = 24
    trials: int = 1
    judges: int = 1

    @property
    def repeats(self) -> int:
        """Number of answers to each example."""
        return self.runs * self.trials * self.judges


@dataclass(frozen=True)
class Variant:
    """Shapes of the two arms, and which columns and options are used."""

    old: Shape = Shape()
    new: Shape = Shape()
    levels: tuple[str, ...] = ("run",)
    roles: tuple[str, ...] = ()  # of cluster, weight, slice
    settings: tuple[str, ...] = ()  # of paired, sequential, declared
    is_constant: bool = False


VARIANTS = {
    "plain": Variant(),
    "clusters": Variant(roles=("cluster",)),
    "weights": Variant(roles=("weight",)),
    "slices": Variant(roles=("slice",)),
    "trials": Variant(Shape(1, trials=5), Shape(1, trials=5), levels=("trial",)),
    "trials-clusters": Variant(
        Shape(1, trials=5), Shape(1, trials=5), levels=("trial",), roles=("cluster",)
    ),
    "levels": Variant(Shape(5, trials=2), Shape(5, trials=2), levels=("run", "trial")),
    "judges": Variant(
        Shape(1, trials=3, judges=3), Shape(1, trials=3, judges=3), levels=("trial", "judge")
    ),
    "uneven": Variant(Shape(6), Shape(9)),
    "paired": Variant(Shape(10), Shape(10), settings=("paired",)),
    "looks": Variant(Shape(11), Shape(11), settings=("sequential",)),
    "declared": Variant(Shape(7), Shape(7), settings=("declared",)),
    "two-runs": Variant(Shape(2), Shape(2)),
    "three-runs": Variant(Shape(3), Shape(3)),
    "one-old-run": Variant(Shape(1), Shape(8)),
    "few-examples": Variant(Shape(5, examples=5), Shape(5, examples=5)),
    "alike": Variant(Shape(5), Shape(5), is_constant=True),
}


@dataclass(frozen=True)
class Case:
    """One input: a kind of answers in a variant.

    Args:
        kind: Kind of answers.
        variant: Name of the variant.
        arms: Rows of the arms, `old` and `new`.
        values: What the rows hold, with the axes (repeats, examples, …), for oracles.
        gold: Right answer of each example, for oracles.
        clusters: Cluster of each example.
        weights: Weight of each example.
        slices: Value of the slice of each example.
        relevant: Right items of ranked lists, as a table of their own.
        roles: Which columns to use: cluster, weight, slice.
        settings: Which options to use: paired, sequential, declared.
    """

    kind: str
    variant: str
    arms: dict[str, Table]
    values: dict[str, npt.NDArray[Any]]
    gold: npt.NDArray[Any] | list[Any]
    clusters: npt.NDArray[np.int64]
    weights: npt.NDArray[np.float64]
    slices: list[str]
    shapes: dict[str, Shape]
    relevant: Table | None = None
    levels: tuple[str, ...] = ("run",)
    roles: tuple[str, ...] = ()
    settings: tuple[str, ...] = field(default=())


@dataclass(frozen=True)
class Answers:
    """Answers of one arm: values for oracles, and the same as columns, one row per answer."""

    values: npt.NDArray[Any]
    columns: Callable[[int, int], dict[str, Any] | list[dict[str, Any]]]


def case_of(kind: str, variant: str) -> Case:
    """Return the input of a kind in a variant."""
    how = VARIANTS[variant]
    if kind == "scalars":
        return _scalars(variant, how)
    if kind == "explanations":
        return _explanations(variant, how)
    rng = np.random.default_rng([KINDS.index(kind), 7])
    n = max(how.old.examples, how.new.examples)
    difficulty = rng.normal(size=n)
    clusters = np.sort(rng.integers(0, max(n // 3, 2), n))
    weights = np.round(np.exp(rng.normal(size=n) / 2), 3)
    slices = [("de", "en", "fr")[x] for x in rng.integers(0, 3, n)]
    gold = _GOLD[kind](n, rng)
    arms, values, shapes = {}, {}, {"old": how.old, "new": how.new}
    for index, (name, shape) in enumerate(shapes.items()):
        noise = np.random.default_rng([KINDS.index(kind), index, *_of_shape(shape)])
        answers = _DRAW[kind](shape, noise, difficulty[: shape.examples], gold, 0.7 * index)
        if how.is_constant:
            answers = np.repeat(answers[:1], len(answers), axis=0)
        values[name] = answers
        arms[name] = _rows(kind, answers, how.levels, shape, gold)
        extra = {"document": [f"d{x}" for x in clusters], "weight": weights.tolist()}
        extra |= {"language": slices}
        wanted = {"cluster": "document", "weight": "weight", "slice": "language"}
        for role in how.roles:
            column = extra[wanted[role]]
            arms[name][wanted[role]] = [column[i] for i in arms[name]["example"]]
    relevant = None
    if kind == "rankings":
        pairs = [(i, item) for i, items in enumerate(gold) for item in items]
        relevant = {"example": [i for i, _ in pairs], "item": [item for _, item in pairs]}
    return Case(
        kind,
        variant,
        arms,
        values,
        gold,
        clusters,
        weights,
        slices,
        shapes,
        relevant,
        how.levels,
        how.roles,
        how.settings,
    )


def _scalars(variant: str, how: Variant) -> Case:
    """Return arms with a loss and a reward per run, which move together; seeds are shared."""
    arms, values, shapes = {}, {}, {"old": how.old, "new": how.new}
    for index, (name, shape) in enumerate(shapes.items()):
        rng = np.random.default_rng([99, index, *_of_shape(shape)])
        seeds = np.random.default_rng([99, 7]).normal(size=shape.runs)
        drawn = np.stack([0.5 - 0.1 * index + 0.05 * seeds, 2.0 + index - seeds / 2], axis=1)
        drawn = np.round(drawn + rng.normal(size=drawn.shape) * [0.04, 0.5], 4)
        values[name] = np.repeat(drawn[:1], len(drawn), axis=0) if how.is_constant else drawn
        columns = dict(zip(SCALARS, values[name].T.tolist(), strict=True))
        arms[name] = {"run": list(range(shape.runs)), **columns}
    nothing = np.zeros(0)
    return Case(
        *("scalars", variant, arms, values, [], nothing.astype(np.int64), nothing, [], shapes),
        settings=how.settings,
    )


def _explanations(variant: str, how: Variant) -> Case:
    """Return scores of five tokens per run and example; the first run of an arm shares its seed."""
    values, shapes = {}, {"old": how.old, "new": how.new}
    for index, (name, shape) in enumerate(shapes.items()):
        rng = np.random.default_rng([98, index, *_of_shape(shape)])
        wave = np.sin(np.arange(12)[:, None] + np.arange(5))
        noise = rng.normal(size=(shape.runs, *wave.shape)) * (0.4 - 0.2 * index)
        values[name] = np.round(np.exp(wave + noise) * 256) / 256  # exact in 32 bits
    nothing = np.zeros(0)
    return Case(
        *("explanations", variant, {}, values, [], nothing.astype(np.int64), nothing, [], shapes)
    )


def _of_shape(shape: Shape) -> tuple[int, ...]:
    return shape.runs, shape.trials, shape.judges, shape.examples


def _rows(kind, answers, levels, shape: Shape, gold) -> Table:
    """Return one row per answer, or per item of a ranked list."""
    names = _names(levels, shape)
    rows: list[dict[str, Any]] = []
    for repeat, of_repeat in enumerate(answers):
        for example, answer in enumerate(of_repeat):
            key = {**names[repeat], "example": example}
            rows.extend({**key, **cells} for cells in _CELLS[kind](answer, gold[example]))
    return {column: [row[column] for row in rows] for column in rows[0]}


def _names(levels: tuple[str, ...], shape: Shape) -> list[dict[str, Any]]:
    """Return the names of each repeat at its levels; runs vary slowest."""
    return [
        {
            level: name
            for level, name in (("run", run), ("trial", trial), ("judge", f"j{judge}"))
            if level in levels
        }
        for run in range(shape.runs)
        for trial in range(shape.trials)
        for judge in range(shape.judges)
    ]


def _noise(shape: Shape, rng: np.random.Generator, *further: int) -> npt.NDArray[np.float64]:
    """Return noise of runs, trials, judges and single answers: (repeats, examples, …)."""
    n_repeats = shape.repeats
    of = np.arange(n_repeats)
    run, trial = of // (shape.trials * shape.judges), of // shape.judges
    judge = of % shape.judges
    size = (shape.examples, *further)
    runs = rng.normal(size=(n_repeats, *([1] * len(size))))[run] * 0.3
    trials = rng.normal(size=(n_repeats, *size))[trial] * 0.5
    judges = rng.normal(size=(n_repeats, *([1] * len(size))))[judge] * 0.3
    return runs + trials + judges + rng.normal(size=(n_repeats, *size)) * 0.4


def _logits(shape, rng, difficulty, gold, gain):
    n = shape.examples
    hard = np.zeros((n, len(CLASSES)))
    hard[np.arange(n), gold[:n]] = 1.2 + gain + difficulty
    return hard + _noise(shape, rng, len(CLASSES)) * (1.2 - gain / 2)


def _classes(shape, rng, difficulty, gold, gain):
    return _logits(shape, rng, difficulty, gold, gain).argmax(axis=2)


def _probs(shape, rng, difficulty, gold, gain):
    """Return probabilities in steps of 1/256, which add up to one without rounding."""
    raised = np.exp(_logits(shape, rng, difficulty, gold, gain))
    steps = np.floor(raised / raised.sum(axis=2, keepdims=True) * 250).astype(int) + 1
    steps[..., -1] = 256 - steps[..., :-1].sum(axis=2)
    return steps / 256


def _numbers(shape, rng, _difficulty, gold, gain):
    raw = np.asarray(gold)[: shape.examples] + _noise(shape, rng) * (1.3 - gain) + 0.4 * gain
    return np.round(raw, 3)


def _scores(shape, rng, difficulty, _gold, gain):
    raw = difficulty + gain + _noise(shape, rng)
    return np.round(1 / (1 + np.exp(-raw)), 3)


def _passes(shape, rng, difficulty, _gold, gain):
    return (1.5 * difficulty + 0.6 + gain + _noise(shape, rng) > 0).astype(float)


def _rankings(shape, rng, _difficulty, gold, gain):
    n = shape.examples
    taste = np.random.default_rng(5).normal(size=(n, len(ITEMS)))
    for example, items in enumerate(gold[:n]):
        taste[example, [ITEMS.index(item) for item in items]] += 1.0 + gain / 2
    scores = taste + _noise(shape, rng, len(ITEMS)) * (1.1 - gain / 2)
    return np.argsort(-scores, axis=2)[..., :N_PLACES]


def _sets(shape, rng, difficulty, gold, _gain):
    n = shape.examples
    right = np.array([[label in labels for label in LABELS] for labels in gold[:n]])
    scores = 2.0 * right - 1.0 + difficulty[:, None] / 3 + _noise(shape, rng, len(LABELS))
    return scores > 0


def _texts(shape, rng, difficulty, gold, gain):
    drawn = _classes(shape, rng, difficulty, gold, gain)
    return np.array([["12 apples", "a pear", "no fruit"][x] for x in drawn.ravel()]).reshape(
        drawn.shape
    )


OF_EXAMPLES = ("labels", "probs", "numbers", "scores", "passes", "rankings", "sets", "texts")
KINDS = (*OF_EXAMPLES, "scalars", "explanations")
_DRAW = dict(
    zip(
        OF_EXAMPLES,
        (_classes, _probs, _numbers, _scores, _passes, _rankings, _sets, _texts),
        strict=True,
    )
)
_GOLD: dict[str, Callable[[int, np.random.Generator], Any]] = {
    "labels": lambda n, rng: rng.integers(0, len(CLASSES), n),
    "probs": lambda n, rng: rng.integers(0, len(CLASSES), n),
    "numbers": lambda n, rng: np.round(rng.normal(5, 2, n), 2),
    "scores": lambda n, _: [None] * n,
    "passes": lambda n, _: [None] * n,
    "rankings": lambda n, rng: [
        sorted(rng.choice(ITEMS, 1 + i % 3, replace=False).tolist()) for i in range(n)
    ],
    "sets": lambda n, rng: [
        [x for x, is_right in zip(LABELS, row, strict=True) if is_right]
        for row in rng.random((n, len(LABELS))) < 0.45
    ],
    "texts": lambda n, rng: rng.integers(0, len(CLASSES), n),
}
ANSWERS = ("12 apples", "a pear", "no fruit")
_CELLS: dict[str, Callable[[Any, Any], list[dict[str, Any]]]] = {
    "labels": lambda x, y: [{"prediction": CLASSES[x], "label": CLASSES[y]}],
    "probs": lambda x, y: [
        {**{f"p_{name}": float(p) for name, p in zip(CLASSES, x, strict=True)}, "label": CLASSES[y]}
    ],
    "numbers": lambda x, y: [{"value": float(x), "target": float(y)}],
    "scores": lambda x, _: [{"value": float(x)}],
    "passes": lambda x, _: [{"value": float(x)}],
    "rankings": lambda x, _: [
        {"item": ITEMS[item], "rank": rank + 1} for rank, item in enumerate(x)
    ],
    "sets": lambda x, y: [
        {"labels": [a for a, b in zip(LABELS, x, strict=True) if b], "gold": list(y)}
    ],
    "texts": lambda x, y: [{"answer": str(x), "reference": ANSWERS[y]}],
}
