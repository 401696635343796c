"""`seedproof run`: the same training under many seeds."""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from seedproof.cli import options
from seedproof.errors import OptionError

if TYPE_CHECKING:
    from seedproof.messages import Message
    from seedproof.seeds import SeedPlan
    from seedproof.training.resume import Status

SOME_FAILED, INTERRUPTED = 4, 130
STOPPED = "Stopped. Finished runs are kept: the same command goes on from here."
DEFAULT_SEEDS = 10
DEFAULT_SOURCES = ["init", "order", "dropout"]


def run(
    target: options.Training,
    arguments: options.Arguments = None,
    *,
    seeds: Annotated[int | None, typer.Option(help="How many seeds.  [default: 10]")] = None,
    vary: Annotated[
        str | None,
        typer.Option(
            help="Vary these sources one at a time, such as init,order; all together without it."
        ),
    ] = None,
    blame: Annotated[
        int | None,
        typer.Option(
            metavar="BLOCKS",
            help="Vary sources in blocks, to find out which one is to blame; 10 blocks are "
            "useful, 5 the least. --vary names the sources; init,order,dropout without it.",
        ),
    ] = None,
    arms: Annotated[str, typer.Option(help="Arms, with commas; they share the seeds.")] = "none",
    store: Annotated[str, typer.Option(help="Where records go: a folder or a URL.")] = "runs",
    name: Annotated[
        str | None, typer.Option(help="Name of the study.  [default: the target's]")
    ] = None,
    engine: Annotated[str, typer.Option(help="serial, processes, ray or slurm.")] = "processes",
    workers: Annotated[int | None, typer.Option(help="How many runs at a time.")] = None,
    threads_per_run: Annotated[
        int, typer.Option(help="Threads of each run; another number gives other bits.")
    ] = 1,
    timeout: Annotated[float | None, typer.Option(help="Seconds that a run may take.")] = None,
    retries: Annotated[
        int | None, typer.Option(help="Tries again after a run's process died.  [default: 2]")
    ] = None,
    only: Annotated[
        int | None, typer.Option(help="Make this run alone, for job arrays of your own.")
    ] = None,
    follow: Annotated[
        str | None, typer.Option(help="A logged scalar to show while it goes on.")
    ] = None,
    allow_changed_code: Annotated[
        bool, typer.Option("--allow-changed-code", help="Accept finished runs of other code.")
    ] = False,
    deterministic: Annotated[
        bool, typer.Option(help="Tell torch to choose repeatable algorithms.")
    ] = True,
    root: Annotated[int, typer.Option("--seed", help="What every seed comes from.")] = 0,
    cpus: Annotated[float | None, typer.Option(help="CPUs of a run (ray).")] = None,
    gpus: Annotated[float | None, typer.Option(help="GPUs of a run (ray, slurm).")] = None,
    address: Annotated[str | None, typer.Option(help="An existing cluster (ray).")] = None,
    partition: Annotated[str | None, typer.Option(help="Which partition (slurm).")] = None,
    minutes: Annotated[int | None, typer.Option(help="Time limit of a job (slurm).")] = None,
) -> None:
    """Train under many seeds; what is finished is never repeated.

    An unchanged script works: all generators are seeded before its first line. It logs with
    seedproof.current_run().log_predictions("test", ids=…, probs=…, labels=…).
    """
    from seedproof.training.study import Study
    from seedproof.training.target import find_target

    words = tuple(arguments or ())
    found = find_target(target, words)
    settings: dict[str, Any] = {
        "cpus": cpus,
        "gpus": _whole(gpus) if engine == "slurm" else gpus,
        "address": address,
        "partition": partition,
        "minutes": minutes,
    }
    study = Study(
        name or Path(found.name.replace(":", ".")).name.removesuffix(".py"),
        found,
        seeds=_plan(seeds, vary, blame, root),
        arms=[arm.strip() for arm in arms.split(",")],
        store=store,
        arguments=words,
        threads_per_run=threads_per_run,
        deterministic=deterministic,
        seed=root,
    )
    try:
        status = study.run(
            engine,
            workers=workers,
            timeout=timeout,
            retries=retries,
            only=only,
            allow_changed_code=allow_changed_code,
            follow=follow,
            settings={key: value for key, value in settings.items() if value is not None},
        )
    except KeyboardInterrupt:
        typer.echo(STOPPED, err=True)
        raise typer.Exit(INTERRUPTED) from None
    mine = {run.run_id for run in study.planned(only)}
    _conclude(status, store, mine, verb="measure" if blame is None else "blame")


def _whole(gpus: float | None) -> int | None:
    if gpus is not None and gpus != int(gpus):
        raise OptionError(
            "--gpus {gpus:g} is not possible with slurm. Give a whole number.",
            option="--gpus",
            gpus=gpus,
        )
    return None if gpus is None else int(gpus)


def _plan(seeds: int | None, vary: str | None, blame: int | None, root: int) -> "SeedPlan":
    from seedproof.seeds import SeedPlan

    sources = DEFAULT_SOURCES if vary is None else [one.strip() for one in vary.split(",")]
    if not all(sources):
        raise OptionError(
            "--vary {vary!r} names no source. Give some, such as init,order.",
            option="--vary",
            vary=vary,
        )
    if blame is not None:
        if seeds is not None:
            raise OptionError(
                "--seeds has no effect with --blame, which gives each block seeds of its own. "
                "Leave one of them out.",
                options=("--seeds", "--blame"),
            )
        return SeedPlan.blocks(blame, sources, root=root)
    n_seeds = DEFAULT_SEEDS if seeds is None else seeds
    if vary is None:
        return SeedPlan.all(n_seeds, root=root)
    return SeedPlan.one_at_a_time(n_seeds, sources, root=root)


def _conclude(status: "Status", store: str, mine: set[str], *, verb: str) -> None:
    from seedproof.cli.status import failures

    typer.echo(str(status), err=True)
    # A job of an array answers for its own run, and a command for the arms that it names.
    failed = [run for run in status.failed if run.spec.run_id in mine]
    if failed:
        for line in failures(failed):
            typer.echo(line, err=True)
        typer.echo(
            f"Look closer with: seedproof status {store} --tracebacks. "
            "The same command tries these runs again.",
            err=True,
        )
        raise typer.Exit(SOME_FAILED)
    if status.is_done:
        typer.echo(str(next_step(status, store, verb=verb)), err=True)


def next_step(status: "Status", store: str, *, verb: str) -> "Message":
    """What to do with a study whose runs are all finished."""
    from seedproof.messages import Message

    if len({run.spec.arm for run in status.runs}) == len(status.runs):
        return Message(
            "single-run",
            "A single run has no other to disagree with: --seeds 5 adds four, and repeats nothing.",
        )
    return Message(
        "next-command",
        "{purpose} with: seedproof {verb} {store}",
        purpose="Measure them" if verb == "measure" else "Find the source",
        verb=verb,
        store=store,
    )
