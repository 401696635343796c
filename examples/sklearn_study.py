"""Ten seeds of two classifiers, side by side. Needs scikit-learn, and no torch.

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
    """Fit each model under ten seeds, and say how much they decided."""
    X, y = load_digits(return_X_y=True)  # noqa: N806 - scikit-learn's own name
    for name, model in MODELS.items():
        study = sp.study_estimator(model, X, y, seeds=10)
        study.run(engine="serial", progress=False)
        report = study.measure()
        print(f"{name:<8} accuracy {report['accuracy']}")
        print(f"{'':<8} flip rate {report['flip_rate']}")


if __name__ == "__main__":
    main()
