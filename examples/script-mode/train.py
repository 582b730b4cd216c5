"""A script in SageMaker's script mode, which knows nothing of Winnow: a line is fitted by gradient descent."""
import argparse
import json
import os
import random
parser = argparse.ArgumentParser()
parser.add_argument("--learning-rate", type=float, default=0.1)
parser.add_argument("--momentum", type=float, default=0.0)
parser.add_argument("--epochs", type=int, default=9)
parser.add_argument("--model-dir", default=os.environ.get("SM_MODEL_DIR", "."))
arguments = parser.parse_args()
draw = random.Random(1)
points = [(x, 3 * x - 1 + draw.gauss(0, 0.1)) for x in [draw.uniform(-1, 1) for _ in range(200)]]
line, speed = [0.0, 0.0], [0.0, 0.0]
for epoch in range(1, arguments.epochs + 1):
    errors = [(line[0] * x + line[1] - y, x) for x, y in points]
    for i, slope in enumerate((sum(2 * e * x for e, x in errors), sum(2 * e for e, _ in errors))):
        speed[i] = arguments.momentum * speed[i] + slope / len(points)
        line[i] -= arguments.learning_rate * speed[i]
    print(f"epoch={epoch} validation-loss={sum((line[0] * x + line[1] - y) ** 2 for x, y in points) / len(points):.6f}", flush=True)
with open(os.path.join(arguments.model_dir, "model.json"), "w", encoding="utf-8") as file:
    json.dump({"slope": line[0], "offset": line[1]}, file)
