"""XGBoost as its users call it: a line of JSON for each round, and the model at the end."""
import argparse
import json
import os
import xgboost
from sklearn.datasets import load_breast_cancer
from sklearn.model_selection import train_test_split
parser = argparse.ArgumentParser()
parser.add_argument("--eta", type=float, default=0.3)
parser.add_argument("--max_depth", type=int, default=6)
parser.add_argument("--rounds", type=int, default=27)
options = parser.parse_args()
rows = train_test_split(*load_breast_cancer(return_X_y=True), test_size=0.3, random_state=1)
train, test = xgboost.DMatrix(rows[0], rows[2]), xgboost.DMatrix(rows[1], rows[3])
class Report(xgboost.callback.TrainingCallback):
    def after_iteration(self, model, epoch, evals_log):
        print(json.dumps({"round": epoch + 1, "logloss": evals_log["test"]["logloss"][-1]}), flush=True)
        return False
given = {"objective": "binary:logistic", "eta": options.eta, "max_depth": options.max_depth, "nthread": 1}
model = xgboost.train(given, train, options.rounds, [(test, "test")], callbacks=[Report()], verbose_eval=False)
model.save_model(os.path.join(os.environ.get("SM_MODEL_DIR", "."), "model.json"))
