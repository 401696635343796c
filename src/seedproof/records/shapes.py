"""Tables of other shapes as long ones: a column per run, or one probability per row."""

from collections.abc import Sequence
from dataclasses import replace

from seedproof.errors import ClassesError
from seedproof.records.columns import Roles
from seedproof.records.normalize import both_classes, index_names, unique_names
from seedproof.records.scan import Scan, quote_name, text_of
from seedproof.records.shards import canonical_order


def long_form(scan: Scan, roles: Roles, *, may_differ: bool = False) -> tuple[Scan, Roles]:
    """A table with a column per run as one with a row per run and example."""
    if not roles.wide:
        return scan, roles
    run, answer = f"name of {roles.wide[0]} …", f"{roles.wide[0]} …"
    kept = [roles.example, *([roles.label] if roles.label else []), *roles.extras]
    columns = ", ".join(quote_name(name) for name in roles.wide)
    texts = [f"{text_of(scan, name)} AS {quote_name(name)}" for name in roles.wide]
    inner = ", ".join([*map(quote_name, kept), *texts])
    sql = (
        f"SELECT * FROM (SELECT {inner} FROM ({scan.sql})) "
        f"UNPIVOT INCLUDE NULLS ({quote_name(answer)} FOR {quote_name(run)} IN ({columns}))"
    )
    n_rows = None if scan.n_rows is None else scan.n_rows * len(roles.wide)
    if may_differ:
        sql, n_rows = f"SELECT * FROM ({sql}) WHERE {quote_name(answer)} IS NOT NULL", None
    types = {name: scan.types[name] for name in kept} | dict.fromkeys((run, answer), "VARCHAR")
    long = replace(scan, sql=sql, types=types, half=frozenset(), n_rows=n_rows)
    return long, replace(roles, run=run, prediction=answer, wide=())


def with_both_classes(
    roles: Roles, labels: Sequence[str], classes: Sequence[str] | None = None
) -> Roles:
    """Roles of a table with one probability per row, as those of a table with two."""
    if roles.positive is None:
        return roles
    column = roles.probs[0] if roles.probs else roles.prediction
    positive, names = both_classes(roles.positive, labels, classes)
    return replace(
        roles, probs=(str(column),) * 2, classes=names, prediction=None, positive=positive
    )


def named_classes(roles: Roles, classes: Sequence[str] | None) -> Roles:
    """Roles whose probability columns have names instead of indices."""
    if classes is None or not roles.classes or roles.positive is not None:
        return roles
    wanted = unique_names(classes, len(classes), "class", ClassesError)
    names = index_names(wanted)
    pairs = zip(roles.classes, roles.probs, strict=True)
    found = {names.get(name, name): column for name, column in pairs}
    if set(found) != set(wanted):
        raise ClassesError(
            "The classes {classes} do not name those of the columns, {columns}. Give one name per "
            "column, or leave them out.",
            classes=wanted,
            columns=roles.classes,
        )
    ordered = tuple(canonical_order(sorted(found)))
    return replace(roles, classes=ordered, probs=tuple(found[name] for name in ordered))
