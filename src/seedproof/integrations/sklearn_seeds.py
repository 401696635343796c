"""Check that the `random_state` of a scikit-learn estimator controls all of its randomness."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, TypeAlias

import numpy as np
import numpy.typing as npt

from seedproof._optional import require
from seedproof.integrations.sklearn import random_states
from seedproof.training.rng import capture, restore, seed_everything, untouched

# What a model answers: probabilities, scores, predictions or features, by method.
_Outputs: TypeAlias = dict[str, npt.NDArray[Any]]
METHODS = ("predict_proba", "decision_function", "predict", "transform")
# Global generators, by the name of their state.
GENERATORS = {"numpy": "the global generator of numpy", "python": "the module random of Python"}
THREADS = "the order in which threads finish"
ENTROPY = "a generator without a seed, such as np.random.default_rng(), or the time"
N_OTHER_SEEDS = 3


@dataclass(frozen=True)
class SeedControl:
    """Answer to the question whether `random_state` controls all randomness of an estimator.

    Args:
        random_states: Parameters that take a seed, including those of nested estimators.
        leaks: Sources of randomness that no `random_state` controls.
        is_random: Whether another `random_state` changes the fitted model's outputs.
    """

    random_states: tuple[str, ...]
    leaks: tuple[str, ...]
    is_random: bool

    @property
    def is_controlled(self) -> bool:
        """True if fits with the same `random_state` gave the same outputs."""
        return not self.leaks

    def __str__(self) -> str:
        if self.leaks:
            return (
                "random_state does not control all randomness: outputs also depend on "
                f"{' and on '.join(self.leaks)}."
            )
        if self.is_random:
            return "random_state controls all randomness: equal seeds give equal bits."
        return "The estimator has no randomness: no seed changes its outputs."


def check_random_state(
    estimator: Any,  # noqa: ANN401 - scikit-learn has no types
    X: Any,  # noqa: ANN401, N803 - a dataframe, an array, a sparse matrix; sklearn's own name
    y: npt.ArrayLike | None = None,
    *,
    seed: int = 0,
) -> SeedControl:
    """Check that `random_state` controls all randomness of an estimator.

    It fits clones on three quarters of the examples and compares their outputs on all examples,
    bit by bit: with the same seed, with the same seed and another state of each global generator,
    and with other seeds. That takes seven fits, and two more if equal seeds give other outputs.
    A leak that shows in one of many fits only may be missed.

    Args:
        estimator: A classifier, a regressor, a transformer, or a pipeline.
        X: Examples, in any form that `fit` accepts.
        y: Their classes or right numbers, if `fit` needs them.
        seed: The seed of the fits that must be equal.

    Returns:
        Whether it does, and what else outputs depend on.

    Examples:
        >>> from sklearn.datasets import load_iris
        >>> from sklearn.tree import ExtraTreeClassifier
        >>> from seedproof.integrations.sklearn_seeds import check_random_state
        >>> print(check_random_state(ExtraTreeClassifier(), *load_iris(return_X_y=True)))
        random_state controls all randomness: equal seeds give equal bits.
    """
    require("sklearn", extra="sklearn", feature="check_random_state")
    fit = _fitting(estimator, X, None if y is None else np.asarray(y))
    with untouched():
        states = [_state(index) for index in range(2)]
        first = fit(seed, states[0])
        if not _are_equal(first, fit(seed, states[0])):
            alone = [fit(seed, states[0], one_thread=True) for _ in range(2)]
            leaks = [THREADS if _are_equal(*alone) else ENTROPY]
        else:
            leaks = [
                source
                for name, source in GENERATORS.items()
                if not _are_equal(first, fit(seed, {**states[0], name: states[1][name]}))
            ]
        others = [fit(seed + 1 + index, states[0]) for index in range(N_OTHER_SEEDS)]
    parameters = tuple(random_states(estimator))
    differs = any(not _are_equal(first, other) for other in others)
    return SeedControl(parameters, tuple(leaks), bool(parameters) and differs)


def _state(entropy: int) -> dict[str, Any]:
    """Return a state of all global generators."""
    seed_everything(np.random.SeedSequence(entropy))
    return capture()


def _fitting(
    estimator: Any,  # noqa: ANN401 - scikit-learn has no types
    examples: Any,  # noqa: ANN401 - same
    right: npt.NDArray[Any] | None,
) -> Callable[..., _Outputs]:
    """Return a function that fits a clone and returns its outputs on all examples."""
    from sklearn.base import clone
    from sklearn.utils import _safe_indexing

    n_examples = examples.shape[0] if hasattr(examples, "shape") else len(examples)
    # Three of four examples, in any order of the classes.
    rows = np.flatnonzero(np.random.default_rng(0).permutation(n_examples) % 4 > 0)
    data = _safe_indexing(examples, rows)

    def fit(seed: int, state: Mapping[str, Any], *, one_thread: bool = False) -> _Outputs:
        from threadpoolctl import threadpool_limits

        model = clone(estimator)
        model.set_params(**dict.fromkeys(random_states(model), seed))
        if one_thread:
            jobs = [x for x in model.get_params() if x.rsplit("__", 1)[-1] == "n_jobs"]
            model.set_params(**dict.fromkeys(jobs, 1))
        restore(dict(state))
        with threadpool_limits(1 if one_thread else None):
            model.fit(data, *([] if right is None else [right[rows]]))
            return _outputs(model, examples)

    return fit


def _outputs(model: Any, examples: Any) -> _Outputs:  # noqa: ANN401 - scikit-learn has no types
    outputs = {}
    for method in METHODS:
        if hasattr(model, method):
            output = getattr(model, method)(examples)
            output = output.toarray() if hasattr(output, "toarray") else output
            outputs[method] = np.asarray(output)
    return outputs


def _are_equal(first: _Outputs, second: _Outputs) -> bool:
    """Return whether outputs are the same bits."""
    return all(
        first[method].shape == output.shape
        and first[method].dtype == output.dtype
        and (
            first[method].tolist() == output.tolist()
            if output.dtype.hasobject
            else first[method].tobytes() == output.tobytes()
        )
        for method, output in second.items()
    )
