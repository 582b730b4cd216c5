"""One training of PyTorch in a process of its own: reads a job (JSON, systems.job_of) from standard input, trains and
prints its measurements as JSON, under the names of winnow-mlp's --timing.

All data are tensors in memory, standardised before the clock starts; a batch is one selection of rows, and no
DataLoader stands between. Of the two forms of PyTorch's optimizers (a loop over parameters, or `foreach`), which
took about as long, the default one is taken."""

import gzip
import json
import struct
import sys
import time

import numpy
import torch
from torch import nn

ACTIVATIONS = {"relu": nn.ReLU, "tanh": nn.Tanh, "gelu": nn.GELU}


def array(path):
    """The numbers of an IDX file of bytes."""
    with gzip.open(path) as file:
        data = file.read()
    shape = struct.unpack(f">{data[3]}I", data[4:4 + 4 * data[3]])
    return numpy.frombuffer(data, numpy.uint8, offset=4 + 4 * data[3]).reshape(shape)


def read(path):
    """Pixels and labels of the file of images `path`."""
    labels = array(path.replace("images-idx3", "labels-idx1"))
    return array(path).reshape(len(labels), -1).astype(numpy.float32), torch.from_numpy(labels.astype(numpy.int64))


def network(inputs, hyperparameters):
    """He's initialisation, and biases 0."""
    layers, width = [], inputs
    for hidden in map(int, hyperparameters["hidden_layers"].split(",")):
        layers += [nn.Linear(width, hidden), ACTIVATIONS[hyperparameters["activation"]]()]
        if hyperparameters.get("dropout"):
            layers.append(nn.Dropout(hyperparameters["dropout"]))
        width = hidden
    layers.append(nn.Linear(width, 10))
    for layer in layers:
        if isinstance(layer, nn.Linear):
            nn.init.kaiming_normal_(layer.weight, nonlinearity="relu")
            nn.init.zeros_(layer.bias)
    return nn.Sequential(*layers)


def optimizer(parameters, hyperparameters):
    if hyperparameters["optimizer"] == "adam":
        return torch.optim.Adam(parameters, lr=hyperparameters["learning_rate"])
    return torch.optim.SGD(parameters, lr=hyperparameters["learning_rate"], momentum=hyperparameters["momentum"])


def train_epoch(model, moves, data, labels, batch_size, bf16):
    model.train()
    for rows in torch.randperm(len(labels)).split(batch_size):
        moves.zero_grad(set_to_none=True)
        with torch.cpu.amp.autocast(enabled=bf16, dtype=torch.bfloat16):
            loss = nn.functional.cross_entropy(model(data[rows]), labels[rows])
        loss.backward()
        moves.step()


def accuracy(model, data, labels, bf16):
    model.eval()
    with torch.no_grad(), torch.cpu.amp.autocast(enabled=bf16, dtype=torch.bfloat16):
        return (model(data).argmax(1) == labels).double().mean().item()


def main():
    job = json.load(sys.stdin)
    hyperparameters = job["hyperparameters"]
    torch.set_num_threads(job["threads"])
    torch.manual_seed(hyperparameters["seed"])
    start = time.perf_counter()
    pixels, labels = read(job["train"])
    mean, deviation = pixels.mean(dtype=numpy.float64), pixels.std(dtype=numpy.float64)
    data = torch.from_numpy(((pixels - mean) / deviation).astype(numpy.float32))
    if job["validation"]:
        other, other_labels = read(job["validation"])
        other = torch.from_numpy(((other - mean) / deviation).astype(numpy.float32))
    model = network(data.shape[1], hyperparameters)
    moves = optimizer(model.parameters(), hyperparameters)
    bf16 = hyperparameters.get("precision") == "bf16"
    said = {"setup_seconds": time.perf_counter() - start, "epoch_seconds": [], "epoch_cpu_seconds": [],
            "validation-accuracy": []}
    for _ in range(hyperparameters["epochs"]):
        begun, cpu = time.perf_counter(), time.process_time()
        train_epoch(model, moves, data, labels, hyperparameters["batch_size"], bf16)
        said["epoch_seconds"].append(time.perf_counter() - begun)
        said["epoch_cpu_seconds"].append(time.process_time() - cpu)
        if job["validation"]:
            said["validation-accuracy"].append(accuracy(model, other, other_labels, bf16))
    print(json.dumps(said))


if __name__ == "__main__":
    main()
