"""Independent computations of the figures of a cell: by name, with the fields that they give."""

from typing import Any

from truth import oracle_explanations, oracle_scalars
from truth.inputs import Case
from truth.oracle_blame import blamed
from truth.oracle_compare import compared
from truth.oracle_decisions import decided, gated
from truth.oracle_measure import measured
from truth.oracle_plan import planned
from truth.oracle_versions import versions

VERBS = {
    "measure": measured,
    "compare": compared,
    "versions": versions,
    "gate": gated,
    "decide": decided,
    "plan": planned,
    "blame": blamed,
}
OTHERS = {
    "scalars": {
        "measure": oracle_scalars.measured,
        "compare": oracle_scalars.compared,
        "gate": oracle_scalars.gated,
    },
    "explanations": {"measure": oracle_explanations.measured},
}


def figures_of(verb: str, case: Case) -> dict[str, dict[str, Any]]:
    """Return the figures of a cell that can be computed independently; none of some verbs."""
    verbs = OTHERS.get(case.kind, VERBS)
    figures = verbs[verb](case) if verb in verbs else {}
    return {
        name: {key: _plain(value) for key, value in fields.items() if value is not None}
        for name, fields in figures.items()
    }


def _plain(value: Any) -> Any:
    return value.item() if hasattr(value, "item") else value
