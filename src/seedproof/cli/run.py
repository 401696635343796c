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
STOPPED = "Stopped. Finished runs are kept: run the same command to continue."
DEFAULT_SEEDS = 10
DEFAULT_SOURCES = ["init", "order", "dropout"]


def run(
    target: options.Training,
    arguments: options.Arguments = None,
    *,
    seeds: Annotated[int | None, typer.Option(help="Number of seeds.  [default: 10]")] = None,
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
) -> None:
    """Train with many seeds; finished runs are never repeated.

    The script needs no seeding code: all random generators are seeded before its first line runs.
    It must log its predictions with seedproof.current_run().log_predictions("test", ids=…,
    probs=…, labels=…).
    """
    from seedproof.cli.status import show_checks
    from seedproof.training.study import Study
    from seedproof.training.target import find_target

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
    if only is None:
        show_checks(study.checks, err=True)
    requested = {run.run_id for run in study.planned(only)}
    _conclude(status, store, requested, verb="measure" if blame is None else "blame")


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

    sources = DEFAULT_SOURCES if vary is None else [source.strip() for source in vary.split(",")]
    if not all(sources):
        raise OptionError(
            "--vary {vary!r} has an empty source. Give names, such as init,order.",
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


def _conclude(status: "Status", store: str, requested: set[str], *, verb: str) -> None:
    from seedproof.cli.status import failures

    typer.echo(str(status), err=True)
    # The exit code is about the runs of this command; the store may have more.
    failed = [run for run in status.failed if run.spec.run_id in requested]
    if failed:
        for line in failures(failed):
            typer.echo(line, err=True)
        typer.echo(
            f"For details: seedproof status {store} --tracebacks. "
            "The same command retries these runs.",
            err=True,
        )
        raise typer.Exit(SOME_FAILED)
    if status.is_done:
        typer.echo(str(next_step(status, store, verb=verb)), err=True)


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
