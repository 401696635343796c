"""The one file through which the corpus calls the product: results become figures by name.

A figure is a dictionary of numbers and words, such as value, low, high and over. What is absent is
left out. Nothing here computes anything.
"""

import tempfile
from collections.abc import Callable, Iterable, Mapping
from dataclasses import asdict
from pathlib import Path
from typing import Any, TypeAlias

import pyarrow as pa

import seedproof as sp
from truth.inputs import LIMITS, NO_WORSE, Case, Table

Figure: TypeAlias = dict[str, float | int | str | bool]
Figures: TypeAlias = dict[str, Figure]

# A difference to plan for, in the unit of the metric.
DETECT = {"numbers": 0.5, "scores": 0.1}


def measured(case: Case, arm: str = "old") -> Figures:
    """Measure one arm."""
    if case.kind == "explanations":
        return _of_study(case, lambda store: _explained(sp.measure(store, arm=arm)))
    if case.kind == "scalars":
        summary = sp.measure_scalars(_table(case.arms[arm])).summary()
        return _measurement(summary["arms"][0]) | _checks(summary["checks"])
    report = sp.measure(_table(case.arms[arm]), **_options(case))
    summary = report.summary()
    figures = _measurement(summary)
    figures |= _columns(report.examples)
    return figures | _checks(summary["checks"])


def measured_arms(case: Case) -> Figures:
    """Measure each arm alone; only metrics, to hold them against those of a comparison."""
    return {
        f"{arm}.{name}": figure
        for arm in case.arms
        for name, figure in measured(case, arm).items()
        if name.startswith("metrics.")
    }


def compared_arms(case: Case) -> Figures:
    """Return the metrics of each arm as a comparison has them."""
    summary = _comparison(case).summary()
    return {
        f"{arm['name']}.metrics.{name}": _figure(estimate)
        for arm in (summary["baseline"], *summary["arms"])
        for name, estimate in arm["metrics"].items()
    }


def compared(case: Case) -> Figures:
    """Compare the arms: every effect of the new one against the old one."""
    if case.kind == "explanations":
        return _of_study(case, lambda store: _explained_effects(sp.compare(store, baseline="old")))
    report = _comparison(case)
    summary = report.summary()
    if case.kind == "scalars":
        return _scalar_effects(report, summary)
    figures = {
        f"effects.{name}": _effect(effect, report.effect("new", name).note)
        for name, effect in summary["arms"][0]["effects"].items()
    }
    judged = {name: summary.get(name) for name in ("primary", "quality", "confidence")}
    figures["judged"] = _figure({**judged, "is_paired": summary["baseline"]["is_paired"]})
    if summary.get("runs"):
        figures["runs"] = _figure(summary["runs"])
    votes = summary["arms"][0].get("votes")
    if votes:
        figures["votes"] = _figure({str(place): x for place, x in enumerate(votes)})
    return figures | _checks(summary["checks"])


def versions(case: Case) -> Figures:
    """Compare the arms as an old and a new version."""
    report = sp.compare_versions(
        _table(case.arms["old"]), _table(case.arms["new"]), **_options(case)
    )
    summary = report.summary()
    groups = [("", summary["whole"]), *_groups(summary)]
    figures: Figures = {}
    for prefix, group in groups:
        figures[f"{prefix}beyond"] = _figure(
            {**group["beyond"], "is_beyond": group["is_beyond"], "n": group["n_examples"]}
        )
        figures |= {f"{prefix}{name}": _figure(x) for name, x in group["figures"].items()}
    steadiness = report.steadiness
    if steadiness is not None:
        figures["steadiness"] = _effect(asdict(steadiness), steadiness.note)
    figures["permutation"] = _figure(summary["exchange"])
    figures["discoveries"] = _figure(summary["discoveries"])
    whole = ("quality", "confidence", "is_judged", "is_beyond", "baseline_from")
    figures["judged"] = _figure({name: summary[name] for name in whole})
    figures |= _columns(report.examples)
    return figures | _checks(summary["checks"])


def gated(case: Case) -> Figures:
    """Judge the old arm by limits, and the new one against the old one."""
    options = _options(case)
    n_declared = case.shapes["old"].repeats if "declared" in case.settings else None
    old, new = (_table(case.arms[name]) for name in ("old", "new"))
    of_limits = _or_refused(
        lambda: sp.gate(old, **LIMITS[case.kind], declared_runs=n_declared, **options)
    )
    of_baseline = _or_refused(
        lambda: sp.gate(
            new, no_worse=NO_WORSE[case.kind], baseline=old, declared_runs=n_declared, **options
        )
    )
    if of_limits == of_baseline:  # both are refused
        return of_limits
    return {
        f"{prefix}.{name}": figure
        for prefix, gate in (("limit", of_limits), ("baseline", of_baseline))
        for name, figure in (gate if isinstance(gate, dict) else _gate(gate)).items()
    }


def decided(case: Case) -> Figures:
    """Decide whether the new arm replaces the old one, with the usual settings."""
    old, new = (_table(case.arms[name]) for name in ("old", "new"))
    with tempfile.TemporaryDirectory() as folder:
        ledger = Path(folder) / "ledger.jsonl"
        summary = sp.decide(old, new, ledger=ledger, **_options(case)).summary()
    return _decision(summary)


def planned(case: Case) -> Figures:
    """Plan for a difference, with the old arm as a pilot."""
    if case.kind == "scalars":
        table = _table(case.arms["old"])
        return _plan(sp.plan(pilot=table, metric="loss", detect=0.1).summary())
    pilot = sp.measure(_table(case.arms["old"]), **_options(case))
    return _plan(sp.plan(pilot=pilot, detect=DETECT.get(case.kind, 0.05)).summary())


def blamed(case: Case) -> Figures:
    """Split the variance of the old arm into its parts."""
    summary = sp.blame(_table(case.arms["old"]), **_options(case)).summary()
    return _flat(summary)


VERBS: Mapping[str, Callable[[Case], Figures]] = {
    "measure": measured,
    "compare": compared,
    "versions": versions,
    "gate": gated,
    "decide": decided,
    "plan": planned,
    "blame": blamed,
}


def figures_of(verb: str, case: Case) -> Figures:
    """Return all figures of a verb, or the code of the error if it is refused."""
    figures: Figures = _or_refused(lambda: VERBS[verb](case))
    return figures


# ------------------------------------------------------------------------------- input


def _table(rows: Table) -> pa.Table:
    return pa.table(rows)


def _options(case: Case) -> dict[str, Any]:
    roles = {"cluster": ("clusters", "document"), "weight": ("weight", "weight")}
    options: dict[str, Any] = {roles[x][0]: roles[x][1] for x in case.roles if x in roles}
    if "slice" in case.roles:
        options["slices"] = ["language"]
    if case.relevant is not None:
        options |= {"relevant": _table(case.relevant), "depth": 5}
    return options


def _comparison(case: Case) -> Any:
    inputs = {name: _table(rows) for name, rows in case.arms.items()}
    settings: dict[str, Any] = {
        name: True for name in ("paired", "sequential") if name in case.settings
    }
    if "declared" in case.settings:
        settings["declared_runs"] = case.shapes["old"].repeats
    if case.kind == "scalars":
        return sp.compare_scalars(inputs, **settings)
    return sp.compare(inputs, **settings, **_options(case))


def _or_refused(call: Callable[[], Any]) -> Any:
    try:
        return call()
    except sp.SeedproofError as error:
        return {"refused": {"code": error.code}}


# ----------------------------------------------------------------------------- results


def _measurement(summary: Mapping[str, Any]) -> Figures:
    figures = {f"metrics.{name}": _figure(x) for name, x in summary["metrics"].items()}
    for prefix, group in _groups(summary):
        figures |= {f"{prefix}{name}": _figure(x) for name, x in group["metrics"].items()}
        figures[f"{prefix}group"] = _figure(
            {"n": group["n_examples"], "is_less_stable": group["is_less_stable"]}
        )
    return figures


def _of_study(case: Case, call: Callable[[str], Figures]) -> Figures:
    """Log explanations, and answers that follow from them, in a store; return a verb's figures."""

    def train(run: sp.Run) -> None:
        scores = case.values[run.arm][int(run.name)]
        examples = list(range(len(scores)))
        run.log_predictions("test", predictions=scores.argmax(axis=1) % 2)
        tokens = [[f"t{place}" for place in range(scores.shape[1])]] * len(examples)
        run.log_explanations("test", "attention", ids=examples, tokens=tokens, scores=list(scores))

    with tempfile.TemporaryDirectory() as folder:
        store = str(Path(folder) / "store")
        study = sp.Study(
            "truth", train, seeds=case.shapes["old"].runs, arms=list(case.values), store=store
        )
        study.run(engine="serial", progress=False)
        return call(store)


def _explained(report: Any) -> Figures:
    summary = report.summary()["explanations"]
    return {
        f"{method}.{name}": _figure(estimate)
        for method, measured in summary.items()
        for name, estimate in measured["metrics"].items()
    }


def _explained_effects(report: Any) -> Figures:
    methods = report.summary()["arms"][0]["explanations"]
    return {
        f"{method}.{name}": _effect(effect, report.effect("new", name, method=method).note)
        for method, compared in methods.items()
        for name, effect in compared["effects"].items()
    }


def _scalar_effects(report: Any, summary: Mapping[str, Any]) -> Figures:
    (pair,) = summary["pairs"]
    figures = {
        f"effects.{name}": _effect(effect, report["new"][name].note)
        for name, effect in pair["effects"].items()
    }
    judged = ("primary", "confidence")
    figures["judged"] = _figure(
        {**{name: summary[name] for name in judged}, "is_paired": pair["is_paired"]}
    )
    figures["runs"] = _figure(summary["runs"])
    return figures | _checks(summary["checks"])


def _groups(summary: Mapping[str, Any]) -> Iterable[tuple[str, Mapping[str, Any]]]:
    by_column = {"class": summary.get("by_class") or [], **(summary.get("slices") or {})}
    for column, groups in by_column.items():
        for group in groups:
            yield f"{column}={group['name']}.", group


def _gate(report: Any) -> Figures:
    summary = report.summary()
    names = ("outcome", "judged_runs", "next_look", "declared_runs")
    figures = {"gate": _figure({name: summary[name] for name in names})}
    for verdict in summary["rules"]:
        rule = verdict["rule"]
        name = f"{rule['kind']} {rule['metric']}"
        names = ("outcome", "reason", "more_runs", "chance")
        figures[name] = _figure({x: verdict[x] for x in names})
        for part in ("found", "deciding", "baseline"):
            if verdict[part] is not None:
                figures[f"{name} {part}"] = _figure(verdict[part])
        if verdict["effect"] is not None:
            figures[f"{name} effect"] = _figure(_without_text(verdict["effect"]))
    return figures | _checks(summary["checks"])


def _decision(summary: Mapping[str, Any]) -> Figures:
    names = ("answer", "reason", "chance", "metric", "max_runs", "n_runs", "level")
    more = {f"more_{name}": n for name, n in summary["more_runs"].items()}
    figures = {"decision": _figure({**{name: summary[name] for name in names}, **more})}
    for name in ("effect", "quality"):
        if summary[name] is not None:
            figures[name] = _figure(_without_text(summary[name]))
    return figures | _checks(summary["checks"])


def _plan(summary: Mapping[str, Any]) -> Figures:
    figures = {f"needs {x['kind']}": _figure(x) for x in summary["answers"]}
    figures |= {f"reaches {x['kind']} {x['n_seeds']}": _figure(x) for x in summary["reaches"]}
    pilot = summary.get("pilot") or {}
    figures |= _flat({name: x for name, x in pilot.items() if isinstance(x, dict)}, "pilot.")
    return figures


def _effect(effect: Mapping[str, Any], note: Any) -> Figure:
    code = None if note is None else getattr(note, "code", None)
    left_out = {"note", "metric"}
    return _figure({name: x for name, x in effect.items() if name not in left_out} | {"note": code})


def _without_text(effect: Mapping[str, Any]) -> dict[str, Any]:
    return {name: x for name, x in effect.items() if name not in {"note", "text"}}


def _columns(examples: pa.Table) -> Figures:
    """Return the mean and a moment of each column of numbers, which shows their order."""
    figures: Figures = {}
    for name in examples.column_names:
        column = examples[name].combine_chunks()
        if name == "example" or not (  # ids
            pa.types.is_floating(column.type) or pa.types.is_integer(column.type)
        ):
            continue
        values = [(place, x) for place, x in enumerate(column.to_pylist()) if x is not None]
        figures[f"examples.{name}"] = {
            "n": len(values),
            "sum": float(sum(x for _, x in values)),
            "moment": float(sum(place * x for place, x in values)),
        }
    return figures


def _checks(checks: Iterable[Mapping[str, Any]]) -> Figures:
    return {
        f"check.{x['arm'] or 'all'}.{x['name']}": {
            "severity": x["severity"],
            "runs": " ".join(x["runs"]),
        }
        for x in checks
    }


def _flat(value: Mapping[str, Any], prefix: str = "") -> Figures:
    """Return nested data as figures: what is a plain dictionary, or a list of them, by name."""
    plain = {name: x for name, x in value.items() if isinstance(x, int | float | str)}
    figures = {prefix.rstrip(".") or "all": _figure(plain)} if plain else {}
    for name, inner in value.items():
        if name == "notes":
            continue
        if isinstance(inner, Mapping):
            figures |= _flat(inner, f"{prefix}{name}.")
        elif isinstance(inner, list | tuple):
            for item in inner:
                if isinstance(item, Mapping):
                    own = item.get("metric") or item.get("unit")
                    figures |= _flat(item, f"{prefix}{name}.{own}.")
    return figures


def _figure(fields: Mapping[str, Any]) -> Figure:
    """Return the fields that hold a number or a word."""
    return {
        name: x.item() if hasattr(x, "item") else x
        for name, x in fields.items()
        if isinstance(x, bool | int | float | str) or hasattr(x, "item")
    }
