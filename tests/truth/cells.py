"""The cells of the corpus: a table of kinds, verbs and variants, and the data that hold their truth.

Each cell has its figures, and which of their fields an oracle gives as well. What the product
refuses is truth, too: the cell then holds the code of the error.
"""

import json
import math
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path

from truth.inputs import KINDS, VARIANTS

DATA = Path(__file__).parent / "data"
# Two results that differ by rounding alone; the second is for what is 0 but for rounding.
RELATIVE, ABSOLUTE = 1e-9, 1e-12

Figures = dict[str, dict[str, float | int | str | bool]]

VERBS = ("measure", "compare", "versions", "gate", "decide", "plan", "blame")
# Verbs that take one arm say the same of these variants as of the plain one; and the number of runs
# that was declared, or looked at, does not matter to the others.
OF_TWO_ARMS = ("compare", "versions", "gate", "decide")
OF_GROWING_STUDIES = ("compare", "gate", "decide")
ONLY = {
    "uneven": OF_TWO_ARMS,
    "paired": ("measure", "compare", "decide"),
    "looks": OF_GROWING_STUDIES,
    "declared": OF_GROWING_STUDIES,
    "slices": ("measure", "versions"),
    # Parts of no variance are roots of rounding errors.
    "alike": tuple(verb for verb in VERBS if verb != "blame"),
    "one-old-run": ("compare", "versions", "gate"),
}

# Verbs and variants of single numbers per run, which have no examples, and of explanations.
PARTIAL: dict[str, tuple[tuple[str, ...], tuple[str, ...]]] = {
    "scalars": (
        ("measure", "compare", "gate", "decide", "plan"),
        ("plain", "uneven", "paired", "looks", "declared", "two-runs", "three-runs", "alike"),
    ),
    "explanations": (("measure", "compare"), ("plain", "two-runs", "three-runs")),
}

# The figures of a cell that matter most, by verb: a cell is an oracle's if all fields of their
# values and intervals are.
MAIN: dict[str, dict[str, tuple[str, ...]]] = {
    "measure": {
        "labels": ("metrics.flip_rate", "metrics.accuracy"),
        "probs": ("metrics.flip_rate", "metrics.accuracy", "metrics.nll"),
        "numbers": ("metrics.mean",),
        "scores": ("metrics.mean",),
        "passes": ("metrics.mean",),
        "rankings": ("metrics.first_item_flips", "metrics.ndcg@5"),
        "sets": ("metrics.set_flips",),
        "texts": ("metrics.flip_rate", "metrics.accuracy"),
        "scalars": ("metrics.loss", "metrics.loss_sd"),
        "explanations": ("attention.explanation_kl", "attention.explanation_js"),
    },
    "compare": {
        "labels": ("effects.flip_rate", "effects.accuracy"),
        "probs": ("effects.flip_rate", "effects.accuracy"),
        "numbers": ("effects.mae",),
        "scores": ("effects.mean",),
        "passes": ("effects.mean",),
        "rankings": ("effects.first_item_flips", "effects.ndcg@5"),
        "sets": ("effects.set_flips",),
        "texts": ("effects.accuracy",),
        "scalars": ("effects.loss",),
    },
    "versions": {
        "labels": ("flip_rate_beyond", "accuracy_change"),
        "probs": ("flip_rate_beyond", "accuracy_change"),
        "numbers": ("difference_beyond", "error_change"),
        "scores": ("difference_beyond", "mean_change"),
        "passes": ("difference_beyond", "mean_change"),
        "rankings": ("distance_beyond", "quality_change"),
        "sets": ("distance_beyond", "quality_change"),
        "texts": ("flip_rate_beyond", "accuracy_change"),
    },
    "gate": {
        "labels": ("limit.max flip_rate", "limit.max flip_rate deciding"),
        "probs": ("limit.max flip_rate", "limit.max flip_rate deciding"),
        "numbers": ("limit.max mae", "limit.max mae deciding"),
        "scores": ("limit.min mean", "limit.min mean deciding"),
        "passes": ("limit.min mean", "limit.min mean deciding"),
        "rankings": ("limit.max first_item_flips", "limit.max first_item_flips deciding"),
        "sets": ("limit.max set_flips", "limit.max set_flips deciding"),
        "texts": ("limit.min accuracy", "limit.min accuracy deciding"),
        "scalars": ("limit.max loss", "limit.max loss deciding"),
    },
    # With too few runs there is no effect, and only the answer is compared.
    "decide": dict.fromkeys(KINDS, ("effect",)),
    "plan": dict.fromkeys(KINDS, ("reaches sd 5", "reaches sd 6", "pilot.sd")),
    "blame": dict.fromkeys(KINDS, ("all", "parts.variance_example", "parts.variance_residual")),
}
# Fields that an oracle must give if a main figure has them.
DECIDING = ("value", "low", "high", "outcome", "sd", "of_mean", "observed")


@dataclass(frozen=True, order=True)
class Cell:
    """A kind of answers, a verb, and a variant of the input."""

    kind: str
    verb: str
    variant: str

    def __str__(self) -> str:
        return f"{self.kind}/{self.verb}/{self.variant}"


@dataclass
class Truth:
    """Figures of a cell, and the fields of each that an oracle gives."""

    figures: Figures
    oracle: dict[str, list[str]] = field(default_factory=dict)

    @property
    def is_refused(self) -> bool:
        """True if the product refuses the cell."""
        return "refused" in self.figures


def main_figures(cell: Cell) -> tuple[str, ...]:
    """Return the names of the figures of a cell that matter most."""
    return MAIN.get(cell.verb, {}).get(cell.kind, ())


def is_oracle(cell: Cell, truth: Truth) -> bool:
    """Return whether the main figures of a cell are those of an oracle, and not only frozen."""
    main = [name for name in main_figures(cell) if name in truth.figures]
    return bool(main) and all(
        key in truth.oracle.get(name, ())
        for name in main
        for key in DECIDING
        if key in truth.figures[name]
    )


@dataclass(frozen=True)
class Change:
    """A field of a figure that differs; None where it is absent."""

    figure: str
    field: str
    old: float | str | None
    new: float | str | None

    def __str__(self) -> str:
        return f"{self.figure} {self.field}: {_written(self.old)} -> {_written(self.new)}"


def all_cells() -> list[Cell]:
    """Return all cells, by kind."""
    return [
        Cell(kind, verb, variant)
        for kind in KINDS
        for verb in VERBS
        for variant in VARIANTS
        if verb in ONLY.get(variant, VERBS)
        if verb in PARTIAL.get(kind, (VERBS, VARIANTS))[0]
        if variant in PARTIAL.get(kind, (VERBS, VARIANTS))[1]
    ]


def changes(old: Figures, new: Figures) -> list[Change]:
    """Return the fields that differ by more than rounding."""
    return [
        Change(name, key, before.get(key), after.get(key))
        for name in sorted({*old, *new})
        for before, after in [(old.get(name, {}), new.get(name, {}))]
        for key in sorted({*before, *after})
        if not is_same(before.get(key), after.get(key))
    ]


def is_same(first: object, second: object) -> bool:
    """Return whether two fields are equal but for rounding."""
    are_numbers = all(
        isinstance(x, int | float) and not isinstance(x, bool) for x in (first, second)
    )
    if not are_numbers:
        return type(first) is type(second) and first == second
    if math.isnan(first) or math.isnan(second):
        return math.isnan(first) and math.isnan(second)
    return math.isclose(first, second, rel_tol=RELATIVE, abs_tol=ABSOLUTE)


def read(kind: str, folder: Path = DATA) -> dict[str, Truth]:
    """Return the truth of all cells of a kind, by the name of the cell."""
    path = folder / f"{kind}.json"
    if not path.exists():
        return {}
    return {
        name: Truth(
            cell["figures"], {figure: fields.split() for figure, fields in cell["oracle"].items()}
        )
        for name, cell in json.loads(path.read_text(encoding="utf-8")).items()
    }


def write(kind: str, truths: Mapping[str, Truth], folder: Path = DATA) -> None:
    """Write the truth of all cells of a kind, with one line per figure."""
    text = "{" + ",".join(_cell_lines(name, truths[name]) for name in truths) + "\n}\n"
    (folder / f"{kind}.json").write_text(text, encoding="utf-8")


def _cell_lines(name: str, truth: Truth) -> str:
    oracle = {figure: " ".join(fields) for figure, fields in truth.oracle.items() if fields}
    parts = {"oracle": oracle, "figures": truth.figures}
    lines = ",".join(
        f'\n "{part}": {{{",".join(_lines(values))}}}' for part, values in parts.items()
    )
    return f"\n{_json(name)}: {{{lines}\n}}"


def _lines(values: Mapping[str, object]) -> Iterator[str]:
    for name in sorted(values):
        yield f"\n  {_json(name)}: {_json(values[name])}"


def _json(value: object) -> str:
    return json.dumps(value, ensure_ascii=False, separators=(",", ":"))


def _written(value: float | str | None) -> str:
    return "absent" if value is None else repr(value)
