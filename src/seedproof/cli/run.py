"""`seedproof run`: the same training under many seeds."""

import re
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, NoReturn

import typer

from seedproof.cli import options
from seedproof.cli.documents import stdout_kept
from seedproof.errors import OptionError
from seedproof.exit_codes import ExitCode

if TYPE_CHECKING:
    from collections.abc import Sequence

    from seedproof.messages import Message
    from seedproof.report.gate_report import GateReport
    from seedproof.seeds import SeedPlan
    from seedproof.training.resume import RunState, Status
    from seedproof.training.spec import RunSpec
    from seedproof.training.study import Study

STOPPED = "Stopped. Finished runs are kept: run the same command to continue."
DEFAULT_SEEDS = 10
RULE = re.compile(r"\s*(\w+)\s*(<=|>=)\s*([0-9.eE+-]*[0-9.])\s*")
DEFAULT_SOURCES = ["init", "order", "dropout"]


def run(
    target: options.Training,
    arguments: options.Arguments = None,
    *,
    seeds: Annotated[int | None, typer.Option(help="Number of seeds.  [default: 10]")] = None,
    until_decided: Annotated[
        list[str] | None,
        typer.Option(
            metavar="RULE",
            help='Add seeds until this rule is decided, such as "flip_rate<=0.05": 5, 10, 20, 40, '
            "then 80.",
        ),
    ] = None,
    max_seeds: Annotated[
        int | None,
        typer.Option(help="The largest number of seeds with --until-decided.  [default: 80]"),
    ] = None,
    declared_runs: Annotated[
        int | None,
        typer.Option(
            metavar="N",
            help="Number of runs per arm at which the study is judged.  [default: the first "
            "--seeds]",
        ),
    ] = None,
    vary: Annotated[
        str | None,
        typer.Option(
            help="Vary these sources one at a time, such as init,order.  [default: all together]"
        ),
    ] = None,
    blame: Annotated[
        int | None,
        typer.Option(
            metavar="BLOCKS",
            help="Vary the sources in blocks, to find which one causes the flips. 10 blocks are "
            "recommended; use at least 5. --vary names the sources (init,order,dropout if "
            "omitted).",
        ),
    ] = None,
    arms: Annotated[
        str, typer.Option(help="Arms, separated by commas; they share the seeds.")
    ] = "none",
    store: Annotated[str, typer.Option(help="Where to write records: a folder or URL.")] = "runs",
    name: Annotated[
        str | None, typer.Option(help="Name of the study.  [default: the target's name]")
    ] = None,
    engine: Annotated[
        str, typer.Option(help="Where to train: serial, processes, ray or slurm.")
    ] = "processes",
    workers: Annotated[int | None, typer.Option(help="Number of runs at a time.")] = None,
    threads_per_run: Annotated[
        int, typer.Option(help="Threads per run. The results depend on this number.")
    ] = 1,
    timeout: Annotated[float | None, typer.Option(help="Time limit per run, in seconds.")] = None,
    retries: Annotated[
        int | None,
        typer.Option(help="Number of retries for a run whose process crashes.  [default: 2]"),
    ] = None,
    only: Annotated[
        int | None, typer.Option(help="Train only the run with this index, as in a job array.")
    ] = None,
    follow: Annotated[
        str | None, typer.Option(help="Show this logged scalar during training.")
    ] = None,
    record_arguments: Annotated[
        bool,
        typer.Option(help="Record the arguments of the script, with secrets masked."),
    ] = True,
    allow_changed_code: Annotated[
        bool,
        typer.Option(
            "--allow-changed-code", help="Keep finished runs even if the code has changed since."
        ),
    ] = False,
    deterministic: Annotated[
        bool, typer.Option(help="Make torch use deterministic algorithms.")
    ] = True,
    root: Annotated[
        int, typer.Option("--seed", help="Root seed, from which all other seeds are derived.")
    ] = 0,
    cpus: Annotated[float | None, typer.Option(help="CPUs per run (ray).")] = None,
    gpus: Annotated[float | None, typer.Option(help="GPUs per run (ray, slurm).")] = None,
    address: Annotated[str | None, typer.Option(help="Address of a cluster (ray).")] = None,
    partition: Annotated[str | None, typer.Option(help="Partition (slurm).")] = None,
    minutes: Annotated[int | None, typer.Option(help="Time limit per job (slurm).")] = None,
    as_json: options.Json = False,
) -> None:
    """Train with many seeds; finished runs are never repeated.

    The script needs no seeding code: all random generators are seeded before its first line runs.
    It must log its predictions with seedproof.current_run().log_predictions("test", ids=…,
    probs=…, labels=…).

    With --until-decided the exit code is that of seedproof gate: 0, 1 or 3.
    """
    from seedproof.stats.looks import LOOKS
    from seedproof.training.study import Study
    from seedproof.training.target import find_target

    limits = _limits(until_decided or ())
    if until_decided and (seeds is not None or only is not None or declared_runs is not None):
        raise OptionError(
            "--until-decided decides the number of seeds. Leave out --seeds, --only and "
            "--declared-runs; --max-seeds limits it.",
            option="--until-decided",
        )
    if max_seeds is not None and not until_decided:
        raise OptionError(
            "--max-seeds applies to --until-decided. Remove it, or pass --seeds.",
            option="--max-seeds",
        )
    words = tuple(arguments or ())
    training = find_target(target, words)
    settings: dict[str, Any] = {
        "cpus": cpus,
        "gpus": _whole(gpus) if engine == "slurm" else gpus,
        "address": address,
        "partition": partition,
        "minutes": minutes,
    }
    study = Study(
        name or Path(training.name.replace(":", ".")).name.removesuffix(".py"),
        training,
        seeds=_plan(seeds, vary, blame, root),
        arms=[arm.strip() for arm in arms.split(",")],
        store=store,
        arguments=words,
        threads_per_run=threads_per_run,
        deterministic=deterministic,
        seed=root,
        declared_runs=declared_runs,
        record_arguments=record_arguments,
    )
    if record_arguments and study.masked:
        typer.echo(str(_masking_note(study.masked)), err=True)
    how: dict[str, Any] = {
        "engine": engine,
        "workers": workers,
        "timeout": timeout,
        "retries": retries,
        "allow_changed_code": allow_changed_code,
        "follow": follow,
        "settings": {key: value for key, value in settings.items() if value is not None},
    }
    try:
        with stdout_kept(is_kept=as_json):
            if until_decided:
                report = study.run_until(
                    max=limits["max"],
                    min=limits["min"],
                    max_seeds=max_seeds or LOOKS[-1],
                    on_look=_show_look,
                    **how,
                )
            else:
                status = study.run(only=only, **how)
    except KeyboardInterrupt:
        typer.echo(STOPPED, err=True)
        raise typer.Exit(ExitCode.INTERRUPTED) from None
    if until_decided:
        _conclude_looks(report, study, store, as_json=as_json)
    verb = "measure" if blame is None else "blame"
    _conclude(status, study, store, only=only, verb=verb, as_json=as_json)


def _masking_note(names: "Sequence[str]") -> "Message":
    from seedproof.messages import Message

    return Message(
        "arguments-masked",
        "note: {names} looks like a secret: the script gets it, and records have *** instead. "
        "Environment variables are safer, and --no-record-arguments records no argument.",
        names=", ".join(names),
    )


def _whole(gpus: float | None) -> int | None:
    if gpus is not None and gpus != int(gpus):
        raise OptionError(
            "--gpus {gpus:g} is not possible with slurm. Pass a whole number.",
            option="--gpus",
            gpus=gpus,
        )
    return None if gpus is None else int(gpus)


def _plan(seeds: int | None, vary: str | None, blame: int | None, root: int) -> "SeedPlan":
    from seedproof.seeds import SeedPlan

    sources = DEFAULT_SOURCES if vary is None else [source.strip() for source in vary.split(",")]
    if not all(sources):
        raise OptionError(
            "--vary {vary!r} has an empty source. Pass names, such as init,order.",
            option="--vary",
            vary=vary,
        )
    if blame is not None:
        if seeds is not None:
            raise OptionError(
                "--seeds has no effect with --blame, which gives each block its own seeds. "
                "Remove one of them.",
                options=("--seeds", "--blame"),
            )
        return SeedPlan.blocks(blame, sources, root=root)
    n_seeds = DEFAULT_SEEDS if seeds is None else seeds
    if vary is None:
        return SeedPlan.all(n_seeds, root=root)
    return SeedPlan.one_at_a_time(n_seeds, sources, root=root)


def _limits(rules: list[str] | tuple[str, ...]) -> dict[str, Any]:
    """Return rules such as "flip_rate<=0.05" as keywords of `Study.run_until`."""
    limits: dict[str, dict[str, float]] = {"max": {}, "min": {}}
    for rule in rules:
        match = RULE.fullmatch(rule)
        if match is None:
            raise OptionError(
                "--until-decided {rule!r} is not a rule. Write a metric, <= or >=, and a limit, "
                'such as "flip_rate<=0.05".',
                option="--until-decided",
                rule=rule,
            )
        metric, sign, limit = match.groups()
        limits["max" if sign == "<=" else "min"][metric] = float(limit)
    return limits


def _show_look(report: "GateReport") -> None:
    typer.echo(f"Look at {report.result.stage.judged_runs} runs: {report.outcome}.", err=True)


def _conclude_looks(report: "GateReport", study: "Study", store: str, *, as_json: bool) -> NoReturn:
    """Print the verdict on the rules, and exit with its code."""
    from seedproof.cli.status import print_status

    status = study.status()
    failed = _failed(status, study.planned())
    if as_json and failed:
        print_status(status, study.checks)
    _refuse_failed(failed, store)
    options.print_result(report, as_json=as_json)
    raise typer.Exit(report.exit_code)


def _conclude(
    status: "Status", study: "Study", store: str, *, only: int | None, verb: str, as_json: bool
) -> None:
    """Print what became of the requested runs, and exit with an error if some are missing."""
    from seedproof.cli.status import print_status, show_checks

    checks = study.checks if only is None else ()
    if as_json:
        print_status(status, checks)
    else:
        show_checks(checks, err=True)
        typer.echo(str(status), err=True)
    requested = study.planned(only)
    _refuse_failed(_failed(status, requested), store)
    _refuse_missing(status, store, {run.run_id for run in requested})
    if status.is_done and not as_json:
        typer.echo(str(next_step(status, store, verb=verb)), err=True)


def _failed(status: "Status", requested: "Sequence[RunSpec]") -> "list[RunState]":
    """Return the failed runs of this command; the store may have more."""
    ids = {run.run_id for run in requested}
    return [run for run in status.failed if run.spec.run_id in ids]


def _refuse_failed(failed: "Sequence[RunState]", store: str) -> None:
    """Exit with the failures of the requested runs, if there are any."""
    from seedproof.cli.status import failures

    if failed:
        for line in failures(failed):
            typer.echo(line, err=True)
        typer.echo(
            f"For details: seedproof status {store} --tracebacks. "
            "The same command retries these runs.",
            err=True,
        )
        raise typer.Exit(ExitCode.TRAINING_FAILED)


def _refuse_missing(status: "Status", store: str, requested: set[str]) -> None:
    """Exit if requested runs are not in the store, although none of them failed."""
    from seedproof.training.resume import WAITING

    missing = [run for run in status.runs if run.status == WAITING]
    n_missing = sum(run.spec.run_id in requested for run in missing)
    if n_missing:
        typer.echo(
            f"{n_missing} requested runs are not in {store}: was it deleted? The same command "
            "makes them again.",
            err=True,
        )
        raise typer.Exit(ExitCode.TRAINING_FAILED)


def next_step(status: "Status", store: str, *, verb: str) -> "Message":
    """Return what to do with a study whose runs are all finished."""
    from seedproof.messages import Message

    if len({run.spec.arm for run in status.runs}) == len(status.runs):
        return Message(
            "single-run",
            "A single run cannot be compared: --seeds 5 adds four, and repeats nothing.",
        )
    return Message(
        "next-command",
        "{purpose} with: seedproof {verb} {store}",
        purpose="Measure them" if verb == "measure" else "Find the source",
        verb=verb,
        store=store,
    )
