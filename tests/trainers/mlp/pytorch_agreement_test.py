#!/usr/bin/env python3
"""Models of winnow-mlp in other hands: the weights of model.safetensors, in a PyTorch module of the same names, give the
logits that `winnow-mlp predict` gives, to 1e-5; and so does its ONNX export, which ONNX's own checker accepts, with the
probabilities. Tables with texts and gaps and images; every activation and loss.

Usage: pytorch_agreement_test.py WINNOW_MLP. Ends with code 77 (skipped) where the modules numpy, torch and onnx are
absent."""

import csv
import io
import json
import math
import pathlib
import random
import struct
import subprocess
import sys
import tempfile

try:
    import numpy
    import onnx
    import onnx.helper
    import onnx.numpy_helper
    import torch
except ImportError as error:
    print(f"skipped: {error}")
    sys.exit(77)

BINARY = sys.argv[1]
ROWS, WIDTH, HEIGHT, CLASSES = 400, 5, 4, 4
TOLERANCE = 1e-5
FAILURES = []

# Name, hyperparameters, kind of labels.
CASES = [
    ("relu", {"hidden_layers": "20,7", "activation": "relu"}, "texts"),
    ("gelu with batch norm", {"hidden_layers": "33,16", "activation": "gelu", "batch_norm": "synchronised"}, "texts"),
    ("leaky relu, logistic", {"hidden_layers": "9", "activation": "leaky_relu", "leaky_slope": 0.2,
                              "loss": "logistic"}, "yes"),
    ("tanh with batch norm, squared", {"hidden_layers": "16,16,3", "activation": "tanh", "loss": "mse",
                                       "batch_norm": "synchronised"}, "number"),
    ("huber, raw inputs", {"hidden_layers": "12", "loss": "huber", "standardise": False,
                           "learning_rate": 1e-6}, "number"),
    ("images", {"hidden_layers": "24", "dropout": 0.2}, "images"),
    ("raw images", {"hidden_layers": "24", "activation": "gelu", "standardise": False}, "images"),
]


def check(what, holds, detail=""):
    if not holds:
        FAILURES.append(what)
        print(f"FAILED: {what} {detail}")


def close(what, ours, theirs):
    ours, theirs = numpy.asarray(ours, float), numpy.asarray(theirs, float)
    if ours.shape != theirs.shape:
        check(what, False, f"shapes {ours.shape} and {theirs.shape}")
        return
    worst = (abs(ours - theirs) / numpy.maximum(1, abs(theirs))).max(initial=0)
    check(what, worst <= TOLERANCE, f"they differ by {worst:.2g}")


def winnow(*arguments):
    run = subprocess.run([BINARY, *map(str, arguments)], capture_output=True, text=True, timeout=120)
    if run.returncode != 0:
        sys.exit(f"winnow-mlp {arguments[0]} ended with {run.returncode}: {run.stderr}")
    return run.stdout


def predict(model, data, *flags):
    """The header of the predictions, and the rows as texts."""
    header, *rows = csv.reader(io.StringIO(winnow("predict", "--model", model, "--data", data, *flags)))
    return header, rows


def write_table(path, labels, draw):
    """A column of numbers with gaps, one of texts, one that is far from 0; the label comes last."""
    with open(path, "w", newline="") as file:
        table = csv.writer(file)
        table.writerow(["size", "colour", "height", "label"])
        for _ in range(ROWS):
            size, height, colour = draw.gauss(0, 3), draw.gauss(500, 20), draw.choice(["blue", "red", "green"])
            score = size + (height - 500) / 10 + 2 * (colour == "red") + draw.gauss(0, 1)
            label = {"texts": ["low", "middle", "high"][(score > -1) + (score > 2)], "yes": int(score > 0),
                     "number": round(score, 3)}[labels]
            table.writerow(["" if draw.random() < 0.1 else f"{size:.4f}", colour, f"{height:.3f}", label])


def write_images(path, draw):
    """As IDX, with the labels beside."""
    labels = [draw.randrange(CLASSES) for _ in range(ROWS)]
    pixels = bytes(min(255, draw.randrange(120) + 30 * label) for label in labels for _ in range(WIDTH * HEIGHT))
    path.write_bytes(struct.pack(">IIII", 0x803, ROWS, HEIGHT, WIDTH) + pixels)
    (path.parent / path.name.replace("images-idx3", "labels-idx1")).write_bytes(
        struct.pack(">II", 0x801, ROWS) + bytes(labels))


def raw_features(path, schema):
    """As the ONNX export takes them."""
    if schema["of_bytes"]:
        pixels = numpy.frombuffer(path.read_bytes()[16:], numpy.uint8)
        return pixels.reshape(ROWS, -1).astype(numpy.float32)
    with open(path, newline="") as file:
        rows = list(csv.DictReader(file))
    columns = []
    for column in schema["columns"]:
        cells = [row[column["name"]] for row in rows]
        if column["text"]:
            columns += [[float(cell == level) for cell in cells] for level in column["levels"]]
        else:
            columns.append([float(cell) if cell else math.nan for cell in cells])
    return numpy.array(columns, numpy.float32).T


def read_safetensors(path):
    """Metadata, and tensors by name."""
    content = path.read_bytes()
    length = struct.unpack("<Q", content[:8])[0]
    header, data = json.loads(content[8:8 + length]), content[8 + length:]
    metadata = header.pop("__metadata__")
    tensors = {}
    for name, entry in header.items():
        begin, end = entry["data_offsets"]
        values = numpy.frombuffer(data[begin:end], "<f4").reshape(entry["shape"])
        tensors[name] = torch.tensor(values)
    return metadata, tensors


class Layer(torch.nn.Linear):
    def __init__(self, inputs, outputs, batch_norm):
        super().__init__(inputs, outputs)
        if batch_norm:
            self.batch_norm = torch.nn.BatchNorm1d(outputs)

    def forward(self, x):
        x = super().forward(x)
        return self.batch_norm(x) if hasattr(self, "batch_norm") else x


class Perceptron(torch.nn.Module):
    def __init__(self, tensors, hyperparameters):
        super().__init__()
        count = len(hyperparameters["hidden_layers"].split(",")) + 1
        shapes = [tensors[f"layers.{i}.weight"].shape for i in range(count)]
        self.layers = torch.nn.ModuleList(
            Layer(shape[1], shape[0], f"layers.{i}.batch_norm.weight" in tensors) for i, shape in enumerate(shapes))
        self.activation = {"relu": torch.nn.ReLU(), "gelu": torch.nn.GELU(), "tanh": torch.nn.Tanh(),
                           "leaky_relu": torch.nn.LeakyReLU(float(hyperparameters["leaky_slope"]))
                           }[hyperparameters["activation"]]
        missing, unexpected = self.load_state_dict(tensors, strict=False)
        check("a state_dict of the same names",
              not unexpected and all(name.endswith("num_batches_tracked") for name in missing), (missing, unexpected))
        self.eval()

    def forward(self, x):
        for layer in self.layers[:-1]:
            x = self.activation(layer(x))
        return self.layers[-1](x)


def scaled(features, schema):
    mean, deviation = (numpy.array(schema[name], numpy.float32) for name in ("mean", "deviation"))
    if schema["of_bytes"]:
        features = features / numpy.float32(255)
    return (numpy.where(numpy.isnan(features), mean, features) - mean) / deviation


def softmax(x, axis):
    powers = numpy.exp(x - x.max(axis=axis, keepdims=True))
    return powers / powers.sum(axis=axis, keepdims=True)


OPERATIONS = {
    "Add": numpy.add, "Sub": numpy.subtract, "Mul": numpy.multiply, "Div": numpy.divide, "Tanh": numpy.tanh,
    "IsNaN": numpy.isnan, "Where": numpy.where,
    "Gemm": lambda a, b, c, transB: a @ (b.T if transB else b) + c,
    "BatchNormalization": lambda x, scale, bias, mean, variance, epsilon:
        (x - mean) / numpy.sqrt(variance + epsilon) * scale + bias,
    "Relu": lambda x: numpy.maximum(x, 0),
    "LeakyRelu": lambda x, alpha: numpy.where(x < 0, alpha * x, x),
    "Erf": lambda x: torch.erf(torch.tensor(x)).numpy(),
    "Softmax": softmax,
    "Sigmoid": lambda x: 1 / (1 + numpy.exp(-x)),
}


def run_onnx(graph, features):
    """The graph's outputs by name, after ONNX's definitions of its operations."""
    values = {tensor.name: onnx.numpy_helper.to_array(tensor) for tensor in graph.initializer}
    values[graph.input[0].name] = features
    for node in graph.node:
        attributes = {entry.name: onnx.helper.get_attribute_value(entry) for entry in node.attribute}
        values[node.output[0]] = OPERATIONS[node.op_type](*(values[name] for name in node.input), **attributes)
    return {output.name: values[output.name] for output in graph.output}


def check_case(folder, name, hyperparameters, labels):
    draw = random.Random(name)
    data = folder / ("train-images-idx3-ubyte" if labels == "images" else "train.csv")
    (write_images(data, draw) if labels == "images" else write_table(data, labels, draw))
    (folder / "hyperparameters.json").write_text(
        json.dumps({"epochs": 3, "batch_size": 20, "learning_rate": 0.05, "seed": 5, **hyperparameters}))
    winnow("--train", data, "--model-dir", folder, "--hyperparameters", folder / "hyperparameters.json",
           *([] if labels == "images" else ["--label", "label"]))
    model = folder / "model.safetensors"

    metadata, tensors = read_safetensors(model)
    schema, used = json.loads(metadata["schema"]), json.loads(metadata["hyperparameters"])
    features = raw_features(data, schema)
    perceptron = Perceptron(tensors, used)
    with torch.no_grad():
        theirs = perceptron(torch.tensor(scaled(features, schema))).numpy()
    header, rows = predict(model, data, "--logits")
    check(f"{name}: names of logits", header == [f"logit_{k}" for k in range(theirs.shape[1])], header)
    logits = numpy.array(rows, numpy.float32)
    check(f"{name}: a model that says something", numpy.ptp(logits) > 0.1, numpy.ptp(logits))
    close(f"{name}: logits beside PyTorch's", logits, theirs)
    shown = json.loads(winnow("show", "--model", model, "--json"))
    check(f"{name}: number of parameters", shown["parameters"] == sum(p.numel() for p in perceptron.parameters()))

    winnow("export-onnx", "--model", model, "--output", folder / "again.onnx")
    check(f"{name}: the export is what the training wrote",
          (folder / "again.onnx").read_bytes() == (folder / "model.onnx").read_bytes())
    exported = onnx.load(folder / "again.onnx")
    onnx.checker.check_model(exported, full_check=True)
    check(f"{name}: any number of rows", exported.graph.input[0].type.tensor_type.shape.dim[0].dim_param == "rows")
    outputs = run_onnx(exported.graph, features)
    classes = labels != "number"
    close(f"{name}: what ONNX computes", outputs["logits" if classes else "values"], logits)
    close(f"{name}: what ONNX computes of one row", run_onnx(exported.graph, features[:1])
          ["logits" if classes else "values"], logits[:1])
    check(f"{name}: what ONNX gives", sorted(outputs) == (["logits", "probabilities"] if classes else ["values"]))

    _, predictions = predict(model, data)
    if not classes:
        check(f"{name}: predictions are the values", predictions == rows)
        return
    header, shares = predict(model, data, "--probabilities")
    shares = numpy.array(shares, numpy.float32)
    close(f"{name}: probabilities", shares[:, -outputs["probabilities"].shape[1]:], outputs["probabilities"])
    best = [header[k].removeprefix("class_") for k in shares.argmax(axis=1)]
    check(f"{name}: the likeliest class is predicted", [row[0] for row in predictions] == best)
    if labels == "texts":
        check(f"{name}: classes bear their texts", header == ["class_high", "class_low", "class_middle"], header)


for case in CASES:
    with tempfile.TemporaryDirectory() as scratch:
        check_case(pathlib.Path(scratch), *case)
sys.exit(1 if FAILURES else 0)
