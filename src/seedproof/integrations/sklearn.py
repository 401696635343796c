"""Estimators of scikit-learn across seeds, through their `random_state`."""

import os
import shutil
import weakref
from dataclasses import dataclass, field
from pathlib import Path
from pickle import PicklingError
from tempfile import mkdtemp
from typing import Any

import numpy as np
import numpy.typing as npt

from seedproof._optional import require
from seedproof.errors import OptionError, ShapeError
from seedproof.seeds import SeedPlan
from seedproof.training.run import Run
from seedproof.training.study import Study


@dataclass(frozen=True, eq=False)
class FitEstimator:
    """Fits a clone of an estimator under the seeds of a run; frozen, so that it can travel.

    Args:
        estimator: Never fitted itself.
        fit: Examples to fit on, and their classes.
        held_out: Examples to predict, and their classes.
        ids: Ids of the examples to predict.
    """

    estimator: Any
    fit: tuple[Any, npt.NDArray[np.generic]] = field(repr=False)
    held_out: tuple[Any, npt.NDArray[np.generic]] = field(repr=False)
    ids: npt.NDArray[np.int64] = field(repr=False)

    def __call__(self, run: Run) -> None:
        """Fit, predict, and log what was predicted."""
        from sklearn.base import clone

        model = clone(self.estimator)
        model.set_params(**dict.fromkeys(_random_states(model), run.seed))
        model.fit(*self.fit)
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
    """A study of an estimator: the same data, the same split, another `random_state` each time.

    Call `.run(engine="serial")` on it, or another engine, and then `.measure()`.

    Args:
        estimator: A classifier; one inside a pipeline is found.
        X: Examples, as `fit` takes them.
        y: Their classes.
        seeds: How many seeds, or a plan.
        test_size: Share of the examples to predict, drawn once, with the classes in proportion.
        store: Where records go; a temporary folder that goes with the study without one.
        name: Name of the study; the estimator's class without one.
        seed: The number that every seed, and the split, comes from.

    Returns:
        A study, not run yet.

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
    from sklearn.base import is_classifier
    from sklearn.model_selection import train_test_split

    kind = type(estimator).__name__
    if not hasattr(estimator, "get_params") or not _random_states(estimator):
        raise OptionError(
            "Nothing in {estimator} takes a random_state, so no seed can change it. "
            "Give an estimator that draws, such as RandomForestClassifier().",
            estimator=kind,
        )
    if not is_classifier(estimator):
        raise OptionError(
            "{estimator} is no classifier, and seedproof compares predicted classes. "
            "Give a classifier.",
            estimator=kind,
        )
    labels = np.asarray(y)
    n_examples = X.shape[0] if hasattr(X, "shape") else len(X)
    if labels.shape != (n_examples,):
        raise ShapeError(
            "y has shape {shape!s}, but there are {n_examples} examples in X.",
            shape=labels.shape,
            n_examples=n_examples,
        )
    fit_ids, test_ids = train_test_split(
        np.arange(n_examples), test_size=test_size, stratify=labels, random_state=seed
    )
    fit_ids, test_ids = np.sort(fit_ids), np.sort(test_ids)
    train = FitEstimator(
        estimator,
        (_rows(X, fit_ids), labels[fit_ids]),
        (_rows(X, test_ids), labels[test_ids]),
        test_ids,
    )
    # Another setting or other data is another study: it must not join these runs.
    arguments = [_fingerprint(estimator, X, labels, test_size)]
    scratch = None
    if store is None:
        scratch = Path(mkdtemp(prefix="seedproof-"))
        store = scratch / "runs"
    study = Study(
        name or kind,
        train,
        seeds=seeds,
        store=store,
        arguments=arguments,
        seed=seed,
    )
    if scratch is not None:
        weakref.finalize(study, shutil.rmtree, scratch, ignore_errors=True)
    return study


def _random_states(estimator: Any) -> list[str]:  # noqa: ANN401 - scikit-learn has no types
    """Parameters that take a seed, also those of estimators inside."""
    names = estimator.get_params(deep=True)
    return [name for name in names if name.rsplit("__", 1)[-1] == "random_state"]


def _fingerprint(estimator: Any, *data: Any) -> str:  # noqa: ANN401 - scikit-learn has no types
    import joblib

    try:
        return str(joblib.hash((estimator, *data)))
    except (AttributeError, TypeError, PicklingError):
        # A lambda among its parameters, for example.
        return str(joblib.hash((repr(estimator), *data)))


def _rows(examples: Any, chosen: npt.NDArray[np.int64]) -> Any:  # noqa: ANN401 - as `fit` takes them
    from sklearn.utils import _safe_indexing

    return _safe_indexing(examples, chosen)
