"""CPU time of an epoch of the thesis' recommenders, against their bare passes, printed as Markdown.

    SEEDPROOF_DATA=… python benchmarks/recommenders.py --rounds 3

An epoch draws negatives and batches, and steps the optimizer. Bare passes are forward and backward
on the same batches, drawn beforehand. Takes about 5 minutes on one core with all users.
"""

import argparse
import time
from statistics import median

import torch

from seedproof_reproductions.thesis2019.data import Examples, Prepared, prepare
from seedproof_reproductions.thesis2019.models import MODELS, Recommender
from seedproof_reproductions.thesis2019.settings import SCHEDULES, Schedule, Setting
from seedproof_reproductions.thesis2019.sources import Sources
from seedproof_reproductions.thesis2019.training import fit, loss_of


def draw(model: Recommender, prepared: Prepared, schedule: Schedule) -> list[Examples]:
    """Draw the batches of the epoch that `fit` trains with the same seed."""
    _, order, negatives = Sources.from_seed(0)
    if model.reads_histories:
        n_positives = schedule.n_positives
        return list(prepared.batches_of_users(schedule.batch_size, order, negatives, n_positives))
    return list(prepared.batches_of_examples(schedule.batch_size, order, negatives))


def pass_over(model: Recommender, batches: list[Examples]) -> None:
    """Compute the loss and its gradients on each batch."""
    for users, items, labels in batches:
        model.zero_grad()
        torch.autograd.backward(loss_of(model(users, items), labels))


def time_both(
    model: Recommender, prepared: Prepared, schedule: Schedule, batches: list[Examples]
) -> tuple[float, float]:
    """Return the CPU time of the bare passes, and of an epoch."""
    began = time.process_time()
    pass_over(model, batches)
    between = time.process_time()
    fit(model, prepared, schedule, Sources.from_seed(0))
    return between - began, time.process_time() - between


def main() -> None:
    """Print the table."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--users", type=int, help="a part of the users; all if omitted")
    parser.add_argument("--models", nargs="+", choices=SCHEDULES, default=["deepicf", "gmf"])
    options = parser.parse_args()
    torch.set_num_threads(1)

    print("| model | bare passes, CPU s | epoch, CPU s | ratio: median (range) |")
    print("|---|---|---|---|", flush=True)
    for name in options.models:
        setting = Setting(name, n_users=options.users)
        prepared, schedule = prepare(setting), setting.schedule._replace(epochs=1)
        with Sources.from_seed(0).init:
            model = MODELS[name](prepared.histories, schedule.n_factors, setting.n_outputs)
        batches = draw(model, prepared, schedule)
        pass_over(model, batches[:10])  # warm up
        # In turns, so that other work on the machine slows both down.
        rounds = [time_both(model, prepared, schedule, batches) for _ in range(options.rounds)]
        bare, epochs = zip(*rounds, strict=True)
        ratios = [epoch / of_pass for of_pass, epoch in rounds]
        ends = f"{min(ratios):.2f} to {max(ratios):.2f}"
        figures = f"{median(bare):.1f} | {median(epochs):.1f} | {median(ratios):.2f} ({ends})"
        print(f"| {name} | {figures} |", flush=True)


if __name__ == "__main__":
    main()
