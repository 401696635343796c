"""Write the corpus anew, and print what changed: `python tests/truth/regenerate.py [PART ...]`.

With parts of names, such as `numbers/compare` or `/clusters`, only those cells. Figures that an
oracle contradicts are printed and never written. Exits with 1 if anything changed or disagrees.
"""

import sys
from collections import Counter
from pathlib import Path

# Run as a script, from anywhere; the tests import it as part of `truth`.
sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from truth import oracles, product
from truth.cells import DATA, Cell, Figures, Truth, all_cells, changes, is_same, read, write
from truth.inputs import KINDS, case_of


def compute(cell: Cell) -> tuple[Truth, list[str]]:
    """Return what the product says of a cell, and where it differs from an oracle."""
    case = case_of(cell.kind, cell.variant)
    figures = product.figures_of(cell.verb, case)
    if "refused" in figures:
        return Truth(figures), []
    expected = oracles.figures_of(cell.verb, case)
    truth = Truth(figures, {name: sorted(fields) for name, fields in expected.items() if fields})
    return truth, disagreements(figures, expected)


def disagreements(figures: Figures, expected: Figures) -> list[str]:
    """Return the fields in which figures differ from those of oracles."""
    return [
        f"{name} {key}: product {figures.get(name, {}).get(key)!r}, oracle {value!r}"
        for name, fields in expected.items()
        for key, value in fields.items()
        if not is_same(figures.get(name, {}).get(key), value)
    ]


def main(parts: list[str], folder: Path = DATA) -> int:
    """Regenerate the cells whose names have any of these parts; all if there are none."""
    count: Counter[str] = Counter()
    folder.mkdir(exist_ok=True)
    for kind in KINDS:
        old = read(kind, folder)
        new: dict[str, Truth] = {}
        for cell in (x for x in all_cells() if x.kind == kind):
            name, before = str(cell), old.get(str(cell))
            after, what, lines = before, "", []
            if not parts or any(part in name for part in parts):
                after, what, lines = _renewed(cell, before)
            count[what] += bool(what)
            _print(name, lines)
            if after is not None:
                new[name] = after
        for name in old.keys() - new.keys():
            _print(name, ["was removed"])
            count["cells that are gone"] += 1
        write(kind, new, folder)
    totals = {what: n for what, n in count.items() if n}
    sys.stdout.writelines(f"{n} {what}\n" for what, n in totals.items())
    sys.stdout.write("" if totals else "Nothing changed.\n")
    return 1 if totals else 0


def _renewed(cell: Cell, before: Truth | None) -> tuple[Truth | None, str, list[str]]:
    """Return the truth to write, what happened to the cell, and what to print of it."""
    after, wrong = compute(cell)
    moved = changes(before.figures, after.figures) if before else []
    lines = [*(f"disagrees: {x}" for x in wrong), *map(str, moved)]
    if wrong:
        return before, "cells that disagree with an oracle, and were not written", lines
    if before is None:
        return after, "new cells", lines
    if moved:
        return after, "cells that changed", lines
    if before.oracle != after.oracle:
        return after, "cells of which an oracle gives other fields", ["another oracle"]
    return after, "", []


def _print(name: str, lines: list[str]) -> None:
    if lines:
        sys.stdout.writelines([f"{name}\n", *(f"  {line}\n" for line in lines)])


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
