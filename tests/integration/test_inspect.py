"""An evaluation with the real Inspect and its mock model, which needs an environment of its own."""

import json
import os
import subprocess
from collections import defaultdict
from itertools import combinations
from statistics import fmean

import pytest

import seedproof as sp

PYTHON = os.environ.get("SEEDPROOF_INSPECT_PYTHON")
pytestmark = [
    pytest.mark.full,
    pytest.mark.skipif(PYTHON is None, reason="set SEEDPROOF_INSPECT_PYTHON"),
]
N_SAMPLES, N_EPOCHS = 30, 4
EVALUATION = f"""
import json, random, sys
from inspect_ai import Task, eval as run_eval
from inspect_ai.dataset import MemoryDataset, Sample
from inspect_ai.log import read_eval_log
from inspect_ai.model import ModelOutput, ModelUsage, get_model
from inspect_ai.scorer import match
from inspect_ai.solver import generate

draws = random.Random(3)


def answers():
    while True:
        answer = ModelOutput.from_content("mockllm/model", draws.choice(["yes", "no", "yes"]))
        # Otherwise the mock model downloads a table to count tokens.
        answer.usage = ModelUsage(input_tokens=2, output_tokens=1, total_tokens=3)
        yield answer


samples = [Sample(id=f"q{{n}}", input="?", target="yes" if n % 3 else "no") for n in range({N_SAMPLES})]
task = Task(dataset=MemoryDataset(samples, name="quiz"), solver=[generate()], scorer=match())
(log,) = run_eval(
    task, model=get_model("mockllm/model", custom_outputs=answers()), epochs={N_EPOCHS},
    log_format=sys.argv[1], log_dir="logs", display="none", log_realtime=False,
)
assert log.status == "success", log.error
kept = read_eval_log(log.location)
print(json.dumps({{
    "accuracy": kept.results.scores[0].metrics["accuracy"].value,
    "scores": [[s.id, s.epoch, s.scores["match"].value] for s in kept.samples],
}}))
"""


@pytest.mark.parametrize("log_format", ["eval", "json"])
def test_figures_are_those_of_inspect(tmp_path, log_format):
    """The mean is Inspect's accuracy; pairs of epochs disagree as often as in a loop."""
    done = subprocess.run(
        [str(PYTHON), "-c", EVALUATION, log_format],
        cwd=tmp_path,
        capture_output=True,
        text=True,
        check=True,
        timeout=300,
    )
    expected = json.loads(done.stdout.splitlines()[-1])
    by_sample = defaultdict(list)
    for sample, _, value in expected["scores"]:
        by_sample[sample].append(value)

    report = sp.measure(tmp_path / "logs")

    assert report.measurement.n_examples == len(by_sample) == N_SAMPLES
    assert report["mean"].value == pytest.approx(expected["accuracy"])
    pairs = [a != b for values in by_sample.values() for a, b in combinations(values, 2)]
    assert report["flip_rate"].value == pytest.approx(fmean(pairs))
    assert len(pairs) == N_SAMPLES * N_EPOCHS * (N_EPOCHS - 1) / 2
