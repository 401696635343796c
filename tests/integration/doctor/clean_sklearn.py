"""A scikit-learn forest, which takes one seed for everything."""

from sklearn.datasets import load_iris
from sklearn.ensemble import RandomForestClassifier
from sklearn.model_selection import train_test_split

import seedproof as sp

run = sp.current_run()
x, y = load_iris(return_X_y=True)
train, test = train_test_split(range(len(y)), random_state=0, stratify=y)
model = RandomForestClassifier(10, random_state=run.seed, n_jobs=1).fit(x[train], y[train])
run.log_predictions("test", ids=test, probs=model.predict_proba(x[test]), labels=y[test])
