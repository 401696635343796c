"""The weights that dev chose, for whoever wants to look into the model that made a prediction."""

import os
from pathlib import Path

import torch

from seedproof.errors import NotFoundError
from seedproof.records.manifest import RunManifest
from seedproof_reproductions.conll2019.data import Prepared
from seedproof_reproductions.models import Classifier

FILE_NAME = "chosen.pt"


def load_chosen(store: str | os.PathLike[str], run: RunManifest, prepared: Prepared) -> Classifier:
    """The model of a finished run, as it was when it predicted the test split.

    Args:
        store: The study's folder on this machine; weights are no records, and travel nowhere.
        run: One of its runs.
        prepared: What the runs of its setting share.

    Returns:
        A model that is ready to answer.

    Raises:
        NotFoundError: The weights are gone.
    """
    folder = Path(store) / "runs" / run.run_id / "checkpoints"
    found = sorted(folder.glob(f"*/{FILE_NAME}"), key=lambda path: path.stat().st_mtime)
    if not found:
        raise NotFoundError(
            f"The weights of run {run.name!r} of {run.arm!r} are not below {folder}. Make the run "
            "again in another store, on this machine."
        )
    model = Classifier(prepared.shape, prepared.vectors)
    # A run that was tried again by other code leaves several; the last one made the records.
    model.load_state_dict(torch.load(found[-1], weights_only=True))
    return model.eval()
