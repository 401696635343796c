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


def found(cell: Cell) -> tuple[Truth, list[str]]:
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
            name = str(cell)
            if parts and not any(part in name for part in parts):
                if name in old:
                    new[name] = old[name]
                continue
            truth, wrong = found(cell)
            before = old.get(name, Truth({}))
            moved = changes(before.figures, truth.figures)
            _print(name, [f"disagrees: {x}" for x in wrong])
            if wrong:
                count["cells that disagree with an oracle, not written"] += 1
                if name in old:
                    new[name] = old[name]
                continue
            if name not in old:
                count["new cells"] += 1
            elif moved:
                _print(name, [str(x) for x in moved])
                count["cells that changed"] += 1
            elif before.oracle != truth.oracle:
                _print(name, ["other fields have an oracle"])
                count["cells with other oracles"] += 1
            new[name] = truth
        for name in old.keys() - new.keys():
            _print(name, ["is no longer a cell"])
            count["cells that are gone"] += 1
        write(kind, new, folder)
    for what, n in count.items():
        print(f"{n} {what}")
    if not count:
        print("Nothing changed.")
    return 1 if count else 0


def _print(name: str, lines: list[str]) -> None:
    if lines:
        print(name)
        for line in lines:
            print(f"  {line}")


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
