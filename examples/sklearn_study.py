"""Measure two classifiers over ten seeds each. Needs scikit-learn, but not torch.

Usage: python examples/sklearn_study.py
"""

from sklearn.datasets import load_digits
from sklearn.ensemble import RandomForestClassifier
from sklearn.neural_network import MLPClassifier
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

import seedproof as sp

MODELS = {
    "forest": RandomForestClassifier(n_estimators=20),
    "network": make_pipeline(StandardScaler(), MLPClassifier((32,), early_stopping=True)),
}


def main() -> None:
    """Fit each model with ten seeds and print accuracy and flip rate."""
    X, y = load_digits(return_X_y=True)  # noqa: N806 - the convention of scikit-learn
    for name, model in MODELS.items():
        study = sp.study_estimator(model, X, y, seeds=10)
        study.run(engine="serial", progress=False)
        report = study.measure()
        print(f"{name:<8} accuracy {report['accuracy']}")
        print(f"{'':<8} flip rate {report['flip_rate']}")


if __name__ == "__main__":
    main()
