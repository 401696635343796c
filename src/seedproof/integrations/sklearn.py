"""Studies of scikit-learn estimators across seeds, through their `random_state`."""

import os
import weakref
from dataclasses import dataclass, field
from pickle import PicklingError
from typing import Any

import numpy as np
import numpy.typing as npt

from seedproof._optional import require
from seedproof.errors import OptionError, ShapeError
from seedproof.predictions.duplicates import DRAWS_NOTHING
from seedproof.records.drafts import make_temporary_folder, remove_temporary_folder
from seedproof.seeds import SeedPlan
from seedproof.training.run import Run
from seedproof.training.study import Study

# Estimators that take a `random_state` and ignore it if a setting has one of these values.
IGNORE_SEEDS: dict[str, tuple[str, tuple[Any, ...]]] = {
    "ElasticNet": ("selection", ("cyclic",)),
    "Lasso": ("selection", ("cyclic",)),
    "LinearSVC": ("dual", (False,)),
    "LogisticRegression": ("solver", ("lbfgs", "newton-cg", "newton-cholesky")),
    "Ridge": ("solver", ("svd", "cholesky", "lsqr", "sparse_cg", "lbfgs")),
    "RidgeClassifier": ("solver", ("svd", "cholesky", "lsqr", "sparse_cg", "lbfgs")),
    "SVC": ("probability", (False,)),
}


@dataclass(frozen=True, eq=False)
class FitEstimator:
    """Fit a clone of an estimator with the seed of a run; frozen and picklable."""

    estimator: Any
    fit: tuple[Any, npt.NDArray[Any]] = field(repr=False)  # examples, and classes or numbers
    held_out: tuple[Any, npt.NDArray[Any]] = field(repr=False)
    ids: npt.NDArray[np.int64] = field(repr=False)  # of the held-out examples
    # Names of the labels, if an example may have several.
    labels: tuple[str, ...] = field(default=(), repr=False)

    def __call__(self, run: Run) -> None:
        """Fit, predict, and log the predictions."""
        from sklearn.base import clone, is_regressor

        model = clone(self.estimator)
        model.set_params(**dict.fromkeys(random_states(model), run.seed))
        model.fit(*self.fit)
        if self.labels:
            self._log_sets(run, model)
        else:
            (self._log_numbers if is_regressor(model) else self._log_classes)(run, model)
        if _draws_nothing(model):
            run.log_scalar(DRAWS_NOTHING, 1.0)

    def _log_numbers(self, run: Run, model: Any) -> None:  # noqa: ANN401 - scikit-learn has no types
        examples, targets = self.held_out
        predicted = model.predict(examples)
        run.log_predictions("test", ids=self.ids, values=predicted, targets=targets)
        run.log_scalar("mae", float(np.abs(predicted - targets).mean()))

    def _log_sets(self, run: Run, model: Any) -> None:  # noqa: ANN401 - same
        from sklearn.metrics import f1_score

        examples, flags = self.held_out
        # The labels that the estimator chooses, which most do at a probability of one half.
        predicted = model.predict(examples)
        predicted = np.asarray(predicted.todense() if hasattr(predicted, "todense") else predicted)
        run.log_predictions(
            "test",
            ids=self.ids,
            sets=predicted.astype(np.bool_),
            labels=flags.astype(np.bool_),
            classes=self.labels,
        )
        score = f1_score(flags, predicted, average="micro", zero_division=0.0)
        run.log_scalar("micro_f1", float(score))

    def _log_classes(self, run: Run, model: Any) -> None:  # noqa: ANN401 - same
        examples, labels = self.held_out
        if hasattr(model, "predict_proba"):
            probs = model.predict_proba(examples)
            predicted, given = model.classes_[probs.argmax(axis=1)], {"probs": probs}
        else:
            predicted = model.predict(examples)
            given = {"predictions": predicted.astype(str)}
        run.log_predictions(
            "test",
            ids=self.ids,
            labels=labels.astype(str),
            classes=[str(name) for name in model.classes_],
            **given,
        )
        run.log_scalar("accuracy", float(np.mean(predicted == labels)))


def study_estimator(
    estimator: Any,  # noqa: ANN401 - scikit-learn has no types
    X: Any,  # noqa: ANN401, N803 - a dataframe, an array, a sparse matrix; sklearn's own name
    y: npt.ArrayLike,
    *,
    seeds: int | SeedPlan = 10,
    test_size: float = 0.25,
    store: str | os.PathLike[str] | None = None,
    name: str | None = None,
    seed: int = 0,
) -> Study:
    """Create a study of an estimator: the same data and split, another `random_state` per run.

    Call `.run(engine="serial")` on it, or another engine, and then `.measure()`.

    Args:
        estimator: A classifier, also of several labels per example, a regressor, or a pipeline
            that ends in one.
        X: Examples, in any form that `fit` accepts.
        y: Their classes, their right numbers, or 0/1 flags (examples, labels); the columns of a
            dataframe of flags name the labels.
        seeds: Number of seeds, or a plan.
        test_size: Share of the examples to predict, drawn once, and stratified by class; not by
            label, if an example may have several.
        store: Folder for the records. If omitted, a temporary one that is deleted with the study.
        name: Name of the study. If omitted, the estimator's class.
        seed: The root of all seeds and of the split.

    Returns:
        A study that has not run yet.

    Raises:
        OptionError: Nothing in the estimator takes a `random_state`.

    Examples:
        >>> from sklearn.datasets import load_iris
        >>> from sklearn.tree import ExtraTreeClassifier
        >>> import seedproof as sp
        >>> study = sp.study_estimator(
        ...     ExtraTreeClassifier(), *load_iris(return_X_y=True), seeds=3
        ... )
        >>> study.run(engine="serial").is_done
        True
    """
    require("sklearn", extra="sklearn", feature="study_estimator")
    from sklearn.base import is_classifier, is_regressor
    from sklearn.model_selection import train_test_split
    from sklearn.utils import _safe_indexing

    kind = type(estimator).__name__
    if not hasattr(estimator, "get_params") or not random_states(estimator):
        raise OptionError(
            "{estimator} has no random_state, so seeds cannot change it. "
            "Pass a randomized estimator, such as RandomForestClassifier().",
            estimator=kind,
        )
    if not is_classifier(estimator) and not is_regressor(estimator):
        raise OptionError(
            "{estimator} is neither a classifier nor a regressor. Pass one of them.",
            estimator=kind,
        )
    right = np.asarray(y)
    n_examples = X.shape[0] if hasattr(X, "shape") else len(X)
    labels = _label_names(y, right) if is_classifier(estimator) else ()
    if right.shape[: 1 if labels else None] != (n_examples,):
        raise ShapeError(
            "y has shape {shape!s}, but there are {n_examples} examples in X.",
            shape=right.shape,
            n_examples=n_examples,
        )
    fit_ids, test_ids = train_test_split(
        np.arange(n_examples),
        test_size=test_size,
        stratify=right if is_classifier(estimator) and not labels else None,
        random_state=seed,
    )
    fit_ids, test_ids = np.sort(fit_ids), np.sort(test_ids)
    train = FitEstimator(
        estimator,
        (_safe_indexing(X, fit_ids), right[fit_ids]),
        (_safe_indexing(X, test_ids), right[test_ids]),
        test_ids,
        labels,
    )
    # Other settings or other data are another study, whose runs must not be mixed with these.
    arguments = [_fingerprint(estimator, X, right, test_size)]
    scratch = None
    if store is None:
        scratch = make_temporary_folder()
        store = scratch / "runs"
    study = Study(name or kind, train, seeds=seeds, store=store, arguments=arguments, seed=seed)
    if scratch is not None:
        weakref.finalize(study, remove_temporary_folder, scratch)
    return study


def _label_names(y: npt.ArrayLike, flags: npt.NDArray[Any]) -> tuple[str, ...]:
    """Return the names of the labels of 0/1 flags (examples, labels); empty if y is not flags."""
    if flags.ndim != 2:
        return ()
    if not ((flags == 0) | (flags == 1)).all():
        raise ShapeError(
            "y of shape {shape!s} has other values than 0 and 1. Several labels per example are "
            "flags (examples, labels); otherwise pass one class per example.",
            shape=flags.shape,
        )
    return tuple(map(str, getattr(y, "columns", range(flags.shape[1]))))


def random_states(estimator: Any) -> list[str]:  # noqa: ANN401 - scikit-learn has no types
    """Return the parameters that take a seed, including those of nested estimators."""
    names = estimator.get_params(deep=True)
    return [name for name in names if name.rsplit("__", 1)[-1] == "random_state"]


def _draws_nothing(estimator: Any) -> bool:  # noqa: ANN401 - scikit-learn has no types
    """Return True if all parts that take a seed are known to ignore it with their settings."""
    parts = [estimator, *estimator.get_params(deep=True).values()]
    seeded = [part for part in parts if hasattr(part, "random_state") and hasattr(part, "fit")]
    return all(
        getattr(part, setting, None) in values
        for part in seeded
        for setting, values in [IGNORE_SEEDS.get(type(part).__name__, ("", ()))]
    )


def _fingerprint(estimator: Any, *data: Any) -> str:  # noqa: ANN401 - scikit-learn has no types
    import joblib

    try:
        return str(joblib.hash((estimator, *data)))
    except (AttributeError, TypeError, PicklingError):
        # For example, a lambda among its parameters.
        return str(joblib.hash((repr(estimator), *data)))
