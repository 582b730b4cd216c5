#!/usr/bin/python3
"""An epoch of winnow-mlp beside one of PyTorch under each loss, activation, optimizer, shape and other hyperparameter
that changes what is computed, so that none of them has a slow path.

    bench/mlp/hyperparameters.py --bin build/bin [--repeats 3] [--epochs 4] [--only PART,...]

Most cases change one thing of a plain job: 12,000 x 100 with 10 classes, hidden layers of 128 and 64, ReLU, batches of
128, SGD with momentum, one thread. The least epoch after the first of each of the repeats, which take turns; without
validation data. Printed: milliseconds of both and their ratio, PyTorch's divided by winnow-mlp's (above 1, winnow-mlp is
faster); at the end the geometric mean, and the cases in which PyTorch is faster. --only: cases whose name contains one
of these. A PyTorch whose BLAS is no fair peer is refused, as by run.py.
"""

import argparse
import dataclasses
import json
import os
import pathlib
import subprocess
import sys
import time

os.environ.setdefault("OMP_WAIT_POLICY", "passive")  # before libgomp is loaded
os.environ["WINNOW_CACHE_DIR"] = "off"  # data files made for one run

import numpy  # noqa: E402  (the environment must be set first)

import systems  # noqa: E402

ROOT = pathlib.Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "bench"))
import many_cases  # noqa: E402  (the path must be set first)

ROWS, FEATURES, CLASSES = 12_000, 100, 10
PLAIN = {"hidden_layers": "128,64", "activation": "relu", "batch_size": 128, "optimizer": "sgd", "learning_rate": 0.01,
         "momentum": 0.9, "loss": "cross_entropy", "eval_metric": "loss", "nthread": 1, "seed": 1}


@dataclasses.dataclass
class Case:
    name: str
    changed: dict = dataclasses.field(default_factory=dict)
    rows: int = ROWS
    features: int = FEATURES
    classes: int = CLASSES

    @property
    def parameters(self):
        return PLAIN | self.changed

    def make(self):
        draw = numpy.random.default_rng(5)
        x = draw.normal(size=(self.rows, self.features))
        scores = numpy.tanh(x @ draw.normal(size=(self.features, self.classes)) / 3) + draw.normal(size=(self.rows, self.classes))
        loss = self.parameters["loss"]
        label = {"cross_entropy": lambda: scores.argmax(1), "logistic": lambda: scores[:, 0] > 0}.get(loss, lambda: scores[:, 0])()
        return x.astype(numpy.float32), label.astype(numpy.float32)


def cases():
    yield Case("plain")
    for loss in ("logistic", "mse", "huber"):
        yield Case(loss, {"loss": loss})
    for activation in ("leaky_relu", "gelu", "tanh"):
        yield Case(activation, {"activation": activation})
    for optimizer in ("adam", "adamw"):
        yield Case(optimizer, {"optimizer": optimizer, "learning_rate": 0.001})
    for name, value in (("momentum", 0), ("nesterov", True), ("dropout", 0.2), ("input_dropout", 0.2),
                        ("batch_norm", "synchronised"), ("weight_decay", 0.001), ("clip_norm", 1), ("label_smoothing", 0.1),
                        ("precision", "bf16")):
        yield Case(f"{name} {value}", {name: value})
    yield Case("batch_norm, adam, dropout", {"batch_norm": "synchronised", "optimizer": "adam", "learning_rate": 0.001, "dropout": 0.2})
    for size in (8, 32, 512, 4096):
        yield Case(f"batches of {size}", {"batch_size": size})
    for size in (8, 512):
        yield Case(f"batches of {size}, adam", {"batch_size": size, "optimizer": "adam", "learning_rate": 0.001})
    for layers in ("8", "16", "16,16,16,16,16,16,16,16", "100,50,25", "512", "512,512", "1000"):
        yield Case(f"layers {layers}", {"hidden_layers": layers})
    yield Case("layers 32,32, gelu, adam", {"hidden_layers": "32,32", "activation": "gelu", "optimizer": "adam"})
    for features in (3, 10, 784):
        yield Case(f"{features} features", features=features)
    for classes in (2, 100, 1000):
        yield Case(f"{classes} classes", classes=classes)
    yield Case("200 rows", rows=200)
    yield Case("10 features, layers 16, mse, batches of 32", {"hidden_layers": "16", "loss": "mse", "batch_size": 32}, features=10)


def winnow_epoch(binary, case, folder, epochs):
    """Milliseconds of the least epoch after the first."""
    hyperparameters = folder / "hyperparameters.json"
    own = {"epochs": epochs + 1} | ({"num_class": case.classes} if case.parameters["loss"] == "cross_entropy" else {})
    hyperparameters.write_text(json.dumps(case.parameters | own), encoding="ascii")
    process = subprocess.Popen(
        [binary, "--train", folder / "train.csv", "--label", "label", "--hyperparameters", hyperparameters, "--model-dir",
         folder / "model", "--timing", folder / "timing.json"], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    _, errors = process.communicate()
    if process.returncode != 0:
        raise RuntimeError(errors.strip())
    return min(json.loads((folder / "timing.json").read_text())["epoch_seconds"][1:]) * 1e3


def network(nn, case):
    parameters = case.parameters
    activation = {"relu": nn.ReLU, "leaky_relu": nn.LeakyReLU, "gelu": nn.GELU, "tanh": nn.Tanh}[parameters["activation"]]
    layers, width = [], case.features
    if parameters.get("input_dropout"):
        layers.append(nn.Dropout(parameters["input_dropout"]))
    for hidden in map(int, parameters["hidden_layers"].split(",")):
        layers.append(nn.Linear(width, hidden))
        if "batch_norm" in parameters:
            layers.append(nn.BatchNorm1d(hidden))
        layers.append(activation())
        if parameters.get("dropout"):
            layers.append(nn.Dropout(parameters["dropout"]))
        width = hidden
    layers.append(nn.Linear(width, case.classes if parameters["loss"] == "cross_entropy" else 1))
    return nn.Sequential(*layers)


def torch_epoch(torch, case, x, label, epochs):
    parameters, nn = case.parameters, torch.nn
    data = torch.from_numpy(x)
    whole = parameters["loss"] == "cross_entropy"
    target = torch.from_numpy(label).long() if whole else torch.from_numpy(label).unsqueeze(1)
    model = network(nn, case)
    loss_of = {"cross_entropy": lambda: nn.CrossEntropyLoss(label_smoothing=parameters.get("label_smoothing", 0)),
               "logistic": nn.BCEWithLogitsLoss, "mse": nn.MSELoss, "huber": nn.HuberLoss}[parameters["loss"]]()
    rate, decay = parameters["learning_rate"], parameters.get("weight_decay", 0)
    optimizer = {"adam": lambda: torch.optim.Adam(model.parameters(), lr=rate, weight_decay=decay),
                 "adamw": lambda: torch.optim.AdamW(model.parameters(), lr=rate, weight_decay=decay),
                 "sgd": lambda: torch.optim.SGD(model.parameters(), lr=rate, weight_decay=decay, momentum=parameters["momentum"],
                                                nesterov=parameters.get("nesterov", False))}[parameters["optimizer"]]()
    bf16 = parameters.get("precision") == "bf16"
    times = []
    for _ in range(epochs + 1):
        begun = time.perf_counter()
        for rows in torch.randperm(len(data)).split(parameters["batch_size"]):
            if len(rows) == 1 and "batch_norm" in parameters:
                continue  # PyTorch refuses it
            optimizer.zero_grad(set_to_none=True)
            with torch.cpu.amp.autocast(enabled=bf16, dtype=torch.bfloat16):
                loss = loss_of(model(data[rows]), target[rows])
            loss.backward()
            if "clip_norm" in parameters:
                nn.utils.clip_grad_norm_(model.parameters(), parameters["clip_norm"])
            optimizer.step()
        times.append(time.perf_counter() - begun)
    return min(times[1:]) * 1e3


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--bin", default=ROOT / "build/bin", type=pathlib.Path, help="folder of winnow-mlp")
    parser.add_argument("--repeats", type=int, default=3)
    parser.add_argument("--epochs", type=int, default=4)
    parser.add_argument("--only", default="", help="parts of names of cases")
    arguments = parser.parse_args()
    if reason := systems.why_pytorch_is_unfit():
        sys.exit(reason)
    import torch
    torch.set_num_threads(1)
    binary, epochs = arguments.bin / "winnow-mlp", arguments.epochs

    def times_of(case, folder):
        x, label = case.make()
        numpy.savetxt(folder / "train.csv", numpy.column_stack([label, x]), delimiter=",", comments="", fmt="%.5g",
                      header="label," + ",".join(f"x{i}" for i in range(case.features)))
        return (lambda: winnow_epoch(binary, case, folder, epochs),
                lambda: torch_epoch(torch, case, x, label, epochs))

    print(f"PyTorch {torch.__version__}; ms an epoch: winnow-mlp, PyTorch; ratio")
    many_cases.compare(cases(), arguments.only, arguments.repeats, "PyTorch", times_of)


if __name__ == "__main__":
    main()
