"""Studies of scikit-learn estimators: the same data, another `random_state`."""

import gc
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
import scipy.sparse
from sklearn.base import clone
from sklearn.cluster import KMeans
from sklearn.ensemble import HistGradientBoostingRegressor, RandomForestClassifier
from sklearn.feature_selection import SelectKBest
from sklearn.linear_model import Lasso, LogisticRegression, SGDClassifier
from sklearn.metrics import f1_score
from sklearn.model_selection import train_test_split
from sklearn.multiclass import OneVsRestClassifier
from sklearn.naive_bayes import GaussianNB
from sklearn.neural_network import MLPClassifier
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import FunctionTransformer, QuantileTransformer, StandardScaler
from sklearn.tree import DecisionTreeClassifier, DecisionTreeRegressor

import seedproof as sp
from seedproof.errors import OptionError, ShapeError, StudyChangedError
from seedproof.integrations.sklearn import FitEstimator, study_estimator
from seedproof.records.location import Location
from seedproof.records.reader import Store
from seedproof.seeds import Streams
from seedproof.testing.errors import WithFields

N_EXAMPLES = 80


@pytest.fixture(scope="module")
def data():
    """Return two overlapping clouds, so that seeds make a difference."""
    rng = np.random.default_rng(2)
    y = np.arange(N_EXAMPLES) % 2
    return rng.normal(size=(N_EXAMPLES, 4)) + y[:, None], y


seen = []


class Noted(DecisionTreeClassifier):
    """A tree that records the seed of each fit."""

    def fit(self, X, y):  # noqa: N803 - scikit-learn's own name
        seen.append(self.random_state)
        return super().fit(X, y)


def tree():
    return DecisionTreeClassifier(splitter="random")


def made(study):
    """Return the finished runs of a study, and a reader of their predictions."""
    status = study.run("serial", progress=False)
    assert status.is_done, status.failed[0].traceback
    store = Store(Location.of(study.store))
    return store.runs, store.shards()


@pytest.fixture(scope="module")
def plain(data):
    """Return runs of a tree under two seeds, and their probabilities (runs, examples, classes)."""
    runs, shards = made(study_estimator(tree(), *data, seeds=2))
    return runs, probs_of(shards)


def probs_of(shards):
    return np.concatenate([shards.shard(i).probs for i in range(shards.n_shards)], axis=1)


class Contrary(DecisionTreeClassifier):
    """A tree that predicts the least probable class, as an SVC may."""

    def predict(self, X):  # noqa: N803 - scikit-learn's own name
        return self.classes_[self.predict_proba(X).argmin(axis=1)]


@pytest.mark.parametrize(
    "estimator", [RandomForestClassifier(3), Contrary(splitter="random")], ids=["forest", "tree"]
)
def test_study_is_run_and_measured(estimator, data):
    """The prediction is the most probable class, whatever `predict` returns."""
    study = sp.study_estimator(estimator, *data, seeds=3)
    status = study.run("serial", progress=False)

    report = study.measure()

    assert status.is_done
    assert 0 < report["flip_rate"].value < 1
    accuracies = [run.scalars["accuracy"] for run in status.runs]
    assert report["accuracy"].value == pytest.approx(np.mean(accuracies), rel=1e-12)


def test_every_run_predicts_the_same_held_out_examples(data):
    """Drawn once, stratified by class; ids are positions in X."""
    X, y = data  # noqa: N806 - scikit-learn's own name
    _, shards = made(study_estimator(tree(), X, y, seeds=2, test_size=0.25, seed=5))
    _, expected = train_test_split(
        np.arange(N_EXAMPLES), test_size=0.25, stratify=y, random_state=5
    )

    shard = shards.shard(0)

    assert shard.ids.to_pylist() == sorted(expected)
    assert shard.labels.tolist() == y[np.sort(expected)].tolist()
    assert shard.labels.sum() == 10  # half of a quarter of 80


def test_runs_equal_fits_with_their_random_state(data, plain):
    X, y = data  # noqa: N806 - same
    runs = plain[0]
    fit, held_out = train_test_split(np.arange(N_EXAMPLES), stratify=y, random_state=0)
    fit, held_out = np.sort(fit), np.sort(held_out)

    for run, probs in zip(*plain, strict=True):
        model = tree().set_params(random_state=Streams(run.seeds).seed).fit(X[fit], y[fit])
        # float32 is what a record holds.
        assert np.array_equal(probs, model.predict_proba(X[held_out]).astype(np.float32))
        assert run.scalars["accuracy"] == model.score(X[held_out], y[held_out])
    assert runs[0].seeds["init"] != runs[1].seeds["init"]


def test_seeds_reach_every_estimator_of_a_pipeline(data):
    seen.clear()
    pipeline = make_pipeline(QuantileTransformer(n_quantiles=5), SelectKBest(k=2), Noted())
    runs, _ = made(study_estimator(pipeline, *data, seeds=2))

    assert seen == [Streams(run.seeds).seed for run in runs]
    assert pipeline.get_params()["noted__random_state"] is None  # the user's own is never fitted


@pytest.mark.parametrize(
    ("estimator", "seeds"),
    [
        (tree().set_params(random_state=1), 2),  # which is replaced
        (tree(), sp.SeedPlan.one_at_a_time(2, ["order"])),
    ],
    ids=["random state of the user", "one source"],
)
def test_every_source_that_varies_changes_the_fit(estimator, seeds, data):
    _, shards = made(study_estimator(estimator, *data, seeds=seeds))

    first, other = probs_of(shards)

    assert not np.array_equal(first, other)


@pytest.mark.parametrize(
    "estimator",
    [
        GaussianNB(),  # has no random_state
        make_pipeline(SelectKBest(k=2), GaussianNB()),
        KMeans(),  # predicts neither classes nor numbers
        tree,  # a function
    ],
)
def test_other_objects_than_randomized_estimators_are_refused(estimator, data):
    with pytest.raises(OptionError, check=WithFields(estimator=type(estimator).__name__)):
        study_estimator(estimator, *data)


@pytest.mark.parametrize(
    "estimator",
    [
        DecisionTreeRegressor(splitter="random"),
        make_pipeline(
            StandardScaler(), HistGradientBoostingRegressor(max_iter=5, max_features=0.5)
        ),
    ],
)
def test_regressors_log_numbers_and_targets(estimator, data):
    X, _ = data  # noqa: N806 - scikit-learn's own name
    y = X[:, 0] + X[:, 1] ** 2

    runs, shards = made(study_estimator(estimator, X, y, seeds=3))

    shard = shards.shard(0)
    np.testing.assert_array_equal(shard.targets, y[shard.ids.to_numpy()])
    assert shards.n_examples == N_EXAMPLES // 4
    assert (shards.kind, shards.repeats) == ("numbers", "seeds")
    errors = np.abs(shard.numbers - shard.targets).mean(axis=1)
    assert [run.scalars["mae"] for run in runs] == pytest.approx(errors.tolist())
    assert len(set(errors)) == 3


def test_regressors_that_draw_nothing_are_noted(data):
    X, _ = data  # noqa: N806 - same
    study = study_estimator(Lasso(), X, X[:, 0], seeds=3)
    study.run("serial", progress=False)

    severities = {check.name: check.severity for check in study.measure().checks}
    assert severities["duplicate-runs"] == "note"


def test_estimators_with_lambdas_are_studied(data):
    pipeline = make_pipeline(FunctionTransformer(lambda X: X), tree())  # noqa: N803 - same

    made(study_estimator(pipeline, *data, seeds=2))


def test_estimators_without_probabilities_give_classes(data):
    X, y = data  # noqa: N806 - same
    names = np.array(["no", "yes"])[y]
    study = study_estimator(SGDClassifier(loss="hinge"), X, names, seeds=2)
    runs, shards = made(study)

    shard = shards.shard(0)

    assert shards.classes == ("no", "yes")
    assert shard.probs is None
    assert shard.predictions.shape == (2, 20)
    for run, predictions in zip(runs, shard.predictions, strict=True):
        assert run.scalars["accuracy"] == np.mean(predictions == shard.labels)


@pytest.mark.parametrize("names", [[2, 10], ["b", "a"], [0.0, 1.0], [True, False]])
def test_classes_of_any_type_keep_their_labels(names, data):
    """A fully grown tree is right about every example that it was fitted on."""
    X, y = data  # noqa: N806 - same
    chosen = np.asarray(names)[y]
    doubled = np.concatenate([X, X]), np.concatenate([chosen, chosen])
    # With every example twice, nearly all that are held out were fitted on as well.
    runs, shards = made(study_estimator(tree(), *doubled, seeds=2, test_size=0.1))

    shard = shards.shard(0)

    for run, probs in zip(runs, shard.probs, strict=True):
        assert run.scalars["accuracy"] == np.mean(probs.argmax(axis=1) == shard.labels)
        assert run.scalars["accuracy"] > 0.8
    assert set(shards.classes) == {str(name) for name in names}


@pytest.mark.parametrize(
    "form",
    [pd.DataFrame, lambda X: X.tolist(), scipy.sparse.csr_array],  # noqa: N803 - same
    ids=["dataframe", "list", "sparse"],
)
def test_examples_may_have_every_form_that_fit_accepts(form, data, plain):
    X, y = data  # noqa: N806 - same
    given = pd.DataFrame(X, columns=list("abcd")) if form is pd.DataFrame else form(X)

    _, shards = made(study_estimator(tree(), given, y, seeds=2))

    assert np.array_equal(probs_of(shards), plain[1])


@pytest.mark.parametrize("y", [np.zeros(79), np.zeros((79, 2)), np.zeros((80, 2, 2)), 0])
def test_classes_of_another_shape_are_refused(y, data):
    with pytest.raises(ShapeError, check=WithFields(n_examples=80)):
        study_estimator(tree(), data[0], y)


def test_temporary_store_is_deleted_with_the_study(data):
    study = study_estimator(tree(), *data, seeds=2)
    study.run("serial", progress=False)
    place = Path(study.store)
    assert (place / "study.json").is_file()

    del study
    gc.collect()

    assert not place.parent.exists()


def test_store_of_the_user_is_kept_and_continued(data, tmp_path):
    study = study_estimator(tree(), *data, seeds=2, store=tmp_path / "runs")
    study.run("serial", progress=False)
    del study
    gc.collect()

    again = study_estimator(tree(), *data, seeds=3, store=tmp_path / "runs")

    assert again.status().counts == {"finished": 2, "waiting": 1}


@pytest.mark.parametrize("change", ["estimator", "data", "test_size"])
def test_other_settings_or_data_are_another_study(change, data, tmp_path):
    X, y = data  # noqa: N806 - same
    store = tmp_path / "runs"
    study_estimator(tree(), X, y, seeds=2, store=store).run("serial", only=0, progress=False)
    given = {"estimator": tree(), "X": X, "y": y, "test_size": 0.25}
    other = {"estimator": tree().set_params(max_depth=2), "data": X + 1, "test_size": 0.5}
    given["X" if change == "data" else change] = other[change]

    with pytest.raises(StudyChangedError, check=WithFields(setting="arguments")):
        study_estimator(**given, seeds=2, store=store).status()


def test_study_is_named_after_its_estimator(data):
    assert study_estimator(tree(), *data).status().study == "DecisionTreeClassifier"
    assert study_estimator(tree(), *data, name="mine").status().study == "mine"


def test_repr_contains_no_data(data):
    """It may end in an error message."""
    X, y = data  # noqa: N806 - same

    assert repr(FitEstimator(tree(), (X, y), (X, y), np.arange(2))) == (
        "FitEstimator(estimator=DecisionTreeClassifier(splitter='random'))"
    )


class FixedSeed(RandomForestClassifier):
    """A forest that ignores its seed."""

    def fit(self, X, y):  # noqa: N803 - scikit-learn's own name
        self.random_state = 0
        return super().fit(X, y)


@pytest.mark.parametrize(
    ("estimator", "severity"),
    [
        (LogisticRegression(), "note"),
        (make_pipeline(FunctionTransformer(), LogisticRegression()), "note"),
        (FixedSeed(n_estimators=3), "error"),
    ],
    ids=["draws nothing", "in a pipeline", "ignores its seed"],
)
def test_identical_runs_are_an_error_unless_the_estimator_draws_nothing(data, estimator, severity):
    study = study_estimator(estimator, *data, seeds=5)
    study.run(engine="serial")

    (check,) = study.measure().checks

    assert (check.name, check.severity) == ("duplicate-runs", severity)


@pytest.mark.parametrize(
    "estimator",
    [
        RandomForestClassifier(n_estimators=5),
        OneVsRestClassifier(SGDClassifier()),
        make_pipeline(StandardScaler(), MLPClassifier((4,), max_iter=5)),
    ],
    ids=["forest", "one-vs-rest", "network"],
)
@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
def test_multi_label_estimators_log_sets(estimator):
    rng = np.random.default_rng(0)
    examples = rng.normal(size=(80, 5))
    flags = pd.DataFrame(examples[:, :3] + rng.normal(size=(80, 3)) > 0, columns=["c", "a", "b"])

    study = study_estimator(estimator, examples, flags.astype(int), seeds=3)
    made(study)
    loaded = sp.Predictions.load(study.store)

    assert (loaded.kind, loaded.classes, loaded.n_examples) == ("sets", ("a", "b", "c"), 20)
    ids = loaded.ids.to_pylist()
    relevance = loaded.source.shard(0).relevance
    gold = [{loaded.classes[i] for i in row if i >= 0} for row in relevance.items]
    assert gold == [set(flags.columns[row]) for row in flags.to_numpy()[ids]]
    run = Store(Location.of(study.store)).runs[0]
    fit = [row for row in range(80) if row not in ids]
    model = clone(estimator).set_params(
        **dict.fromkeys(
            (name for name in estimator.get_params() if name.endswith("random_state")),
            Streams(run.seeds).seed,
        )
    )
    predicted = model.fit(examples[fit], flags.to_numpy()[fit]).predict(examples[ids])
    items = loaded.source.shard(0).items[0]
    sets = [{loaded.classes[i] for i in row if i >= 0} for row in items]
    assert sets == [set(flags.columns[row.astype(bool)]) for row in predicted]
    assert run.scalars["micro_f1"] == f1_score(flags.to_numpy()[ids], predicted, average="micro")


def test_labels_with_two_axes_are_flags():
    with pytest.raises(ShapeError):
        study_estimator(
            RandomForestClassifier(), np.zeros((4, 2)), [[0, 2], [1, 0], [0, 1], [1, 1]]
        )
