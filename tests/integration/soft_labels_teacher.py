"""A teacher that is killed and resumed from checkpoints, and one that is not.

It forks before torch computes anything, so that each teacher has its own process and torch is
loaded once. Usage: soft_labels_teacher.py FOLDER
"""

import os
import signal
import sys
import time
import traceback
from pathlib import Path

import torch
from torch.nn import functional

from seedproof.errors import RunError
from seedproof.stabilize import RunningMean, Tgtss
from seedproof.stabilize.soft_labels import mapped_rows
from seedproof.testing.trainings import Net, adam

N_EXAMPLES, N_STEPS = 3000, 40
KILLS = [
    ("update", 7),
    ("snapshot", 12),
    ("checkpoint", 16),  # the snapshot is made, and the checkpoint that names it is not saved
    ("checkpoint", 16),
    ("restore", None),
    ("update", 23),
]
GENERATOR = torch.Generator().manual_seed(0)
EXAMPLES = torch.randn((N_EXAMPLES, 4), generator=GENERATOR)
LABELS = EXAMPLES[:, :3].argmax(dim=1)


def kill_this_process():
    """Kill this process at once."""
    os.kill(os.getpid(), signal.SIGKILL)


def kill_during_update():
    """Crash when half of the rows have their sums, and none its count."""

    def add_half(self, rows, values):
        del rows
        self._sums[: N_EXAMPLES // 2] += values[: N_EXAMPLES // 2]
        kill_this_process()

    RunningMean._add = add_half


def kill_during_copy():
    """Crash after some pieces of a snapshot were copied, in either direction."""
    mapped_rows.COPY_BYTES = 4096
    n_left = 5

    class Checksums:
        @staticmethod
        def crc32(piece, before):
            nonlocal n_left
            n_left -= 1
            if not n_left:
                kill_this_process()
            return len(piece) + before

    mapped_rows.zlib = Checksums


def train(folder, where=None, when=None):
    """Train, from the last checkpoint if there is one."""
    model, checkpoint = Net(), folder / "checkpoint.pt"
    optimizer = adam(model)
    tgtss = Tgtss(N_EXAMPLES, 3, start=3, every=2, path=folder / "mean")
    first = 1
    if where == "restore":
        kill_during_copy()
    if checkpoint.exists():
        saved = torch.load(checkpoint, weights_only=True)
        model.load_state_dict(saved["model"])
        optimizer.load_state_dict(saved["optimizer"])
        tgtss.load_state_dict(saved["tgtss"])
        first = saved["step"] + 1
    for step in range(first, N_STEPS + 1):
        rows = torch.arange(step, N_EXAMPLES, 50)
        optimizer.zero_grad()
        functional.cross_entropy(model(EXAMPLES[rows]), LABELS[rows]).backward()
        optimizer.step()
        if step == when and where == "update":
            kill_during_update()
        if tgtss.is_due(step):
            with torch.no_grad():
                tgtss.observe(model(EXAMPLES).softmax(dim=1), step=step)
        (folder / "step").write_text(str(step))
        if step % 4 == 0:
            if step == when and where == "snapshot":
                kill_during_copy()
            state = {"model": model.state_dict(), "optimizer": optimizer.state_dict()}
            state |= {"tgtss": tgtss.state_dict(), "step": step}
            if step == when and where == "checkpoint":
                kill_this_process()
            torch.save(state, folder / "unfinished.pt")
            (folder / "unfinished.pt").replace(checkpoint)
    return tgtss


def start(folder, where=None, when=None):
    """Start a teacher in its own process, which saves its targets at the end."""
    folder.mkdir(exist_ok=True)
    process = os.fork()
    if process:
        return process
    try:
        made = train(folder, where, when)
        torch.save([made.targets(), made.n_predicted], folder / "targets.pt")
    except BaseException:  # noqa: BLE001 - the parent's code must not continue here
        traceback.print_exc()
        os._exit(1)
    os._exit(0)


def end_of(process):
    """Return the exit code of a process: 0, or the negative number of its signal."""
    return os.waitstatus_to_exitcode(os.waitpid(process, 0)[1])


def main(folder):
    """Crash in every way, one after the other, then train to the end."""
    whole, killed = folder / "whole", folder / "killed"
    yield end_of(start(whole)) == 0
    yield end_of(start(killed, "update", 3)) == -signal.SIGKILL
    # There is no checkpoint yet: what is left is refused, and the file must go.
    try:
        RunningMean(N_EXAMPLES, 3, path=killed / "mean").mean()
    except RunError:
        (killed / "mean").unlink()
    for where, step in KILLS:
        yield end_of(start(killed, where, step)) == -signal.SIGKILL
    process = start(killed)
    while int((killed / "step").read_text() or 0) < 28:
        time.sleep(0.001)
    os.kill(process, signal.SIGKILL)
    yield end_of(process) == -signal.SIGKILL
    yield end_of(start(killed)) == 0


if __name__ == "__main__":
    torch.set_num_threads(1)
    adam(Net())  # loads the half of torch that comes with the first optimizer
    sys.exit(0 if all(list(main(Path(sys.argv[1])))) else 1)
