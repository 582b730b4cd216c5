"""Cross-validation with scikit-learn: each fold is a level, and the trial counts the mean."""
import winnow_trainer as winnow
from sklearn.datasets import load_breast_cancer
from sklearn.model_selection import StratifiedKFold
from sklearn.tree import DecisionTreeClassifier

values = winnow.hyperparameters()
x, y = load_breast_cancer(return_X_y=True)
folds = StratifiedKFold(n_splits=5, shuffle=True, random_state=1)
for fold, (train, test) in enumerate(folds.split(x, y), start=1):
    tree = DecisionTreeClassifier(max_depth=values["max_depth"], min_samples_leaf=values["min_samples_leaf"],
                                  random_state=fold)
    winnow.report(fold, accuracy=tree.fit(x[train], y[train]).score(x[test], y[test]))
    if winnow.should_stop():
        break
