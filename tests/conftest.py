"""Settings for all tests."""

import gc
import importlib
import os
import pkgutil
from pathlib import Path

import pytest
from hypothesis import settings

from support.gated import gated_packages

# Contracts are tests that live in the library: explain their asserts, too.
pytest.register_assert_rewrite(
    "seedproof.testing.engines",
    "seedproof.testing.explainers",
    "seedproof.testing.stabilizers",
)


# The packages whose coverage is gated, and their tests. Tracing makes Python a third slower, so
# nothing else is traced: neither other tests, nor most of what is imported.
GATED = gated_packages()
TRACED = (
    "contract/test_accumulators.py",
    "golden/",
    "integration/test_bad_input.py",
    "integration/test_choice_of_metrics.py",
    "integration/test_column_names.py",
    "integration/test_damaged_stores.py",
    "integration/test_hostile_stores.py",
    "integration/test_inputs.py",
    "integration/test_item_stores.py",
    "integration/test_limits.py",
    "integration/test_number_stores.py",
    "integration/test_number_tables.py",
    "integration/test_numbers.py",
    "integration/test_texts.py",
    "integration/test_weights.py",
    "property/test_item_tables.py",
    "property/test_number_tables.py",
    "unit/comparison/arms/",
    "unit/predictions/",
    *(f"unit/{package}/" for package in GATED),
)
COVERAGE = pytest.StashKey()


@pytest.hookimpl(tryfirst=True)
def pytest_collection(session):
    """With `--cov`, import the gated packages while tracing, before anything else."""
    if not session.config.pluginmanager.hasplugin("_cov"):
        return
    from coverage import Coverage

    tracer = Coverage.current()
    if tracer is None:  # `--no-cov`
        return
    if is_worker_or_alone(session.config):
        for path in GATED:
            name = f"seedproof.{path.replace('/', '.')}"
            package = importlib.import_module(name)
            for module in pkgutil.walk_packages(package.__path__, f"{name}."):
                importlib.import_module(module.name)
        session.config.stash[COVERAGE] = tracer
    # A worker has a second tracer, which would continue after the first.
    while (running := Coverage.current()) is not None:
        running.stop()


def is_worker_or_alone(config):
    """Return whether this process runs tests."""
    return hasattr(config, "workerinput") or not getattr(config.option, "numprocesses", None)


@pytest.hookimpl(wrapper=True)
def pytest_runtest_protocol(item):
    """Trace a test of the gated packages."""
    tracer = item.config.stash.get(COVERAGE, None)
    here = Path(__file__).parent
    place = item.path.relative_to(here).as_posix() if item.path.is_relative_to(here) else ""
    if tracer is None or not place.startswith(TRACED):
        return (yield)
    tracer.start()
    try:
        return (yield)
    finally:
        tracer.stop()


def pytest_collection_finish():
    """Exclude the 800,000 objects imported so far from garbage collections, which are frequent."""
    gc.collect()
    gc.freeze()


def pytest_sessionfinish():
    """Unfreeze them, or DuckDB reports leaked objects at exit."""
    gc.unfreeze()


@pytest.hookimpl(optionalhook=True)
def pytest_xdist_make_scheduler(config, log):
    """Give each file to one worker, and all tests of Ray to the same one.

    Short files come last. This pytest ignores xdist's own groups (pytest-xdist issue 1386).
    """
    from xdist.scheduler import LoadScopeScheduling

    class Scheduling(LoadScopeScheduling):
        def _split_scope(self, nodeid):
            is_ray = "::TestRay::" in nodeid or "test_study_ray.py" in nodeid
            return "ray" if is_ray else nodeid.partition("::")[0]

    config.option.loadscopereorder = False
    return Scheduling(config, log)


@pytest.fixture
def snapshot():
    """Compare a text with its snapshot, the only place where tests compare text.

    `SEEDPROOF_UPDATE_SNAPSHOTS=1` writes the files; review the difference before a commit.
    """

    def compare(name, text):
        place = Path(__file__).parent / "snapshots" / name
        if os.environ.get("SEEDPROOF_UPDATE_SNAPSHOTS") == "1":
            place.parent.mkdir(exist_ok=True)
            place.write_text(text, encoding="utf-8")
        assert text == place.read_text(encoding="utf-8")

    return compare


@pytest.fixture(scope="session")
def small_bert():
    """Return a function that makes a Hugging Face model with two layers of two heads."""

    def make(**settings):
        from transformers import BertConfig, BertForSequenceClassification

        from seedproof.testing.trainings import fill
        from seedproof.training.rng import untouched

        config = BertConfig(
            hidden_size=8,
            num_hidden_layers=2,
            num_attention_heads=2,
            intermediate_size=16,
            **settings,
        )
        with untouched():
            model = BertForSequenceClassification(config)
        fill(model, 0)
        return model

    return make


# Derandomized: the same examples on every machine, so that a failure is never a matter of luck.
# No deadline: a busy CI machine is not a bug.
settings.register_profile("seedproof", deadline=None, derandomize=True, max_examples=60)
settings.load_profile("seedproof")


@pytest.fixture(scope="session")
def make_explained_store(tmp_path_factory):
    """Return a function that writes a store of predictions and explanations of the same texts."""
    import numpy as np
    import pyarrow as pa

    from seedproof.records.explanations import write_explanations
    from seedproof.records.location import Location
    from seedproof.records.manifest import RunManifest, StudyManifest
    from seedproof.records.schema import Kind, Layout
    from seedproof.records.writer import PredictionsWriter

    def make(arms, *, tokens, labels=None, classes=("negative", "positive"), runs=None):
        """Write `arms`: predictions, and scores by method, per text (runs, draws, tokens)."""
        place = Location.of(tmp_path_factory.mktemp("explained") / "store")
        StudyManifest("texts", 1000).write(place)
        n_examples = len(tokens)
        gold = np.full(n_examples, -1) if labels is None else np.asarray(labels)
        for arm, (predictions, explanations) in arms.items():
            for run_idx, values in enumerate(predictions):
                name = str(run_idx) if runs is None else runs[run_idx]
                folder = place / "runs" / f"{arm}-{run_idx}"
                kind = Kind.LABELS if values.ndim == 1 else Kind.PROBS
                layout = Layout(kind, tuple(classes), text_ids=False)
                writer = PredictionsWriter(
                    folder, layout, run=name, rows_per_group=1000, split="test"
                )
                dtype = np.int32 if values.ndim == 1 else np.float32
                ids = pa.array(range(n_examples))
                writer.write(ids, gold.astype(np.int32), values.astype(dtype))
                parts = list(writer.close())
                for method, scores in explanations.items():
                    rows = [
                        {"example": i, "tokens": tokens[i], "scores": drawn, "draw": draw}
                        for i, of_runs in enumerate(scores)
                        for draw, drawn in enumerate(of_runs[run_idx])
                    ]
                    parts.append(write_explanations(folder, "test", method, rows))
                seeds = {"init": run_idx}
                run = RunManifest(f"{arm}-{run_idx}", name, tuple(parts), arm=arm, seeds=seeds)
                run.commit(folder)
        return str(place.path)

    return make
