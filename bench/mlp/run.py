#!/usr/bin/python3
"""winnow-mlp beside PyTorch: one epoch's time, accuracy over seeds, and what the matrix products alone cost.

    bench/mlp/run.py --bin build/bin --data FOLDER [--parts speed,accuracy,wide] [--threads 1,2] [--repeats 5]
                     [--seeds 5] [--epochs 20] [--json FILE]

MNIST, the network 784-256-128-10, batches of 128, SGD with learning rate 0.1 and momentum 0.9, He's initialisation,
pixels to mean 0 and deviation 1, in f32 and in bf16 (PyTorch: torch.cpu.amp.autocast). Each training is a process;
systems take turns, so that a busy machine is busy for all. Parts:
  speed     seconds of one epoch's training, no metric of validation data: of the epochs after each process's first, all
            repeats together, the median; the least, which a busy machine troubles less; and processor seconds of all
            threads, the median. Beside them bench-mlp-products: the same matrix products alone
  accuracy  of the test images after `--epochs`, for `--seeds` seeds, and the mean over each run's later half of the
            epochs, which is less noisy; "within noise": Welch's test does not tell the two apart (p > 0.05). All
            processes have one thread: threads change no bit of winnow-mlp's
  wide      the same times of another shape: 784-1024-1024-1024-10 with dropout 0.2 and Adam, GELU and tanh, on the
            first 12,000 images
A PyTorch whose BLAS is the reference one, or OpenBLAS with kernels for old processors, is refused.
"""

import argparse
import gzip
import json
import pathlib
import statistics
import struct
import sys
import tempfile

from scipy import stats

import systems

ROOT = pathlib.Path(__file__).resolve().parents[2]
PRECISIONS = ("f32", "bf16")
WANTED = {"f32": 0.72, "bf16": 0.50}  # of PyTorch's time of one epoch, one thread
WANTED_OF_THREADS = 1.85
WANTED_OF_BF16 = 0.002  # most accuracy that bf16 may cost
SPEED_EPOCHS = 5  # of one process, the first of which is not counted
NOISE = 0.05  # below such a probability two means are said to differ
WIDE = {"hidden_layers": "1024,1024,1024", "dropout": 0.2, "optimizer": "adam", "learning_rate": 0.001, "momentum": 0}
WIDE_ROWS, WIDE_EPOCHS = 12000, 3
WIDE_REPEATS = 2  # at most; its epochs are long


def parse():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--bin", default=ROOT / "build/bin", type=pathlib.Path, help="folder of winnow-mlp")
    parser.add_argument("--data", type=pathlib.Path, help="folder of MNIST; default: WINNOW_DATA_DIR")
    parser.add_argument("--parts", default="speed,accuracy,wide")
    parser.add_argument("--threads", default="1,2")
    parser.add_argument("--repeats", type=int, default=5)
    parser.add_argument("--seeds", type=int, default=5)
    parser.add_argument("--epochs", type=int, default=20)
    parser.add_argument("--json", type=pathlib.Path)
    return parser.parse_args()


def products(bin_folder, layers, rows, threads):
    """{(precision, threads): seconds of the matrix products of an epoch}."""
    output = systems.run([bin_folder / "bench-mlp-products", "--layers", ",".join(map(str, layers)), "--rows", rows,
                          "--threads", ",".join(map(str, threads))])
    cells = [[cell.strip() for cell in line.split("|")[1:-1]] for line in output.splitlines()[2:]]
    return {(row[1], int(row[2])): float(row[3]) for row in cells}


def times(runs):
    """The figures of one system from its runs."""
    wall = [seconds for run in runs for seconds in run["epoch_seconds"][1:]]
    cpu = [seconds for run in runs for seconds in run["epoch_cpu_seconds"][1:]]
    return {"median": statistics.median(wall), "least": min(wall), "cpu": statistics.median(cpu)}


def measure_speed(both, job, layers, rows, options, repeats):
    """Rows of the table, {(precision, threads): {system: figures, "products": seconds}}."""
    threads = list(map(int, options.threads.split(",")))
    cells = [(precision, count) for count in threads for precision in PRECISIONS]
    runs = {(cell, system.name): [] for cell in cells for system in both}
    alone = []
    for _ in range(repeats):
        for precision, count in cells:
            mine = {**job, "threads": count, "hyperparameters": {**job["hyperparameters"], "precision": precision}}
            for system in both:
                runs[(precision, count), system.name].append(system.train(mine))
        alone.append(products(options.bin, layers, rows, threads))
    return {cell: {**{system.name: times(runs[cell, system.name]) for system in both},
                   "products": min(one[cell] for one in alone)} for cell in cells}


def print_speed(title, table, both):
    ours, theirs = (system.name for system in both)
    print(f"\n### {title}\n\nMilliseconds of one epoch: median / least / processor.\n\n"
          f"| precision | threads | {ours} | {theirs} | ratio: median | least | processor | products alone | "
          f"least x products |\n| --- | --- | --- | --- | --- | --- | --- | --- | --- |")
    for (precision, threads), row in table.items():
        figures = [" / ".join(f"{1e3 * row[name][key]:.0f}" for key in ("median", "least", "cpu"))
                   for name in (ours, theirs)]
        ratios = " | ".join(f"{row[ours][key] / row[theirs][key]:.2f}" for key in ("median", "least", "cpu"))
        print(f"| {precision} | {threads} | {figures[0]} | {figures[1]} | {ratios} | {1e3 * row['products']:.0f} | "
              f"{row[ours]['least'] / row['products']:.2f} |", flush=True)


def said(holds):
    return "yes" if holds else "NO"


def print_speed_claims(table, both):
    ours, theirs = (system.name for system in both)
    print("\n| wanted | median | least | processor | held by the median |\n| --- | --- | --- | --- | --- |")
    for precision in PRECISIONS:
        if (precision, 1) in table:
            row = table[precision, 1]
            ratios = [row[ours][key] / row[theirs][key] for key in ("median", "least", "cpu")]
            print(f"| {precision}, one thread: at most {WANTED[precision]:.2f} of {theirs}'s time | "
                  + " | ".join(f"{ratio:.3f}" for ratio in ratios) + f" | {said(ratios[0] <= WANTED[precision])} |")
    for precision in PRECISIONS:
        if (precision, 1) in table and (precision, 2) in table:
            one, two = table[precision, 1][ours], table[precision, 2][ours]
            gains = [one[key] / two[key] for key in ("median", "least")]
            print(f"| {precision}: 2 threads at least {WANTED_OF_THREADS} times one | {gains[0]:.2f} | {gains[1]:.2f} "
                  f"| | {said(gains[0] >= WANTED_OF_THREADS)} |")


def measure_accuracy(both, job, options):
    """{(system, precision): by seed, accuracy after each epoch}."""
    found = {(system.name, precision): [] for precision in PRECISIONS for system in both}
    for seed in range(1, options.seeds + 1):
        for precision in PRECISIONS:
            hyperparameters = {**job["hyperparameters"], "precision": precision, "seed": seed, "epochs": options.epochs}
            for system in both:
                run = system.train({**job, "hyperparameters": hyperparameters})
                found[system.name, precision].append(run["validation-accuracy"])
                print(f"{system.name}, {precision}, seed {seed}: {run['validation-accuracy'][-1]:.4f}", file=sys.stderr)
    return found


def last(curve):
    return curve[-1]


def later_half(curve):
    return statistics.mean(curve[len(curve) // 2:])


def compare(title, first, second, wanted, holds):
    gap = statistics.mean(first) - statistics.mean(second)
    error = ((statistics.variance(first) / len(first)) + (statistics.variance(second) / len(second))) ** 0.5
    p = stats.ttest_ind(first, second, equal_var=False).pvalue
    print(f"| {title} | {gap:+.4f} | {error:.4f} | {p:.2f} | {wanted} | {said(holds(gap, p))} |")


def print_accuracy(found, both, epochs):
    print(f"\n### Accuracy of the test images after {epochs} epochs\n\n"
          "| precision | system | by seed | mean | deviation | later half of the epochs: mean | deviation |\n"
          "| --- | --- | --- | --- | --- | --- | --- |")
    for (name, precision), curves in found.items():
        ends, halves = list(map(last, curves)), list(map(later_half, curves))
        print(f"| {precision} | {name} | {' '.join(f'{value:.4f}' for value in ends)} | {statistics.mean(ends):.4f} | "
              f"{statistics.stdev(ends):.4f} | {statistics.mean(halves):.4f} | {statistics.stdev(halves):.4f} |")
    ours, theirs = (system.name for system in both)
    print("\n| compared | difference of means | standard error | p | wanted | held |\n"
          "| --- | --- | --- | --- | --- | --- |")
    for what, figure in (("last epoch", last), ("later half", later_half)):
        values = {key: list(map(figure, curves)) for key, curves in found.items()}
        for precision in PRECISIONS:
            compare(f"{what}, {precision}: {ours} less {theirs}", values[ours, precision], values[theirs, precision],
                    "within noise, or better", lambda gap, p: p > NOISE or gap > 0)
        for name in (ours, theirs):
            compare(f"{what}, {name}: bf16 less f32", values[name, "bf16"], values[name, "f32"],
                    f"within {WANTED_OF_BF16}", lambda gap, p: abs(gap) <= WANTED_OF_BF16)


def head_of(path, rows, folder):
    """The first rows of an IDX file and of its labels as files of the same names in `folder`; the first's path."""
    for name in (path, path.replace("images-idx3", "labels-idx1")):
        with gzip.open(name) as file:
            data = file.read()
        dimensions = data[3]
        count, = struct.unpack(">I", data[4:8])
        begin = 4 + 4 * dimensions
        size = (len(data) - begin) // count
        part = data[:4] + struct.pack(">I", rows) + data[8:begin] + data[begin:begin + rows * size]
        (folder / pathlib.Path(name).name).write_bytes(gzip.compress(part, 1))
    return str(folder / pathlib.Path(path).name)


def run_speed(both, folder, options, _):
    job = systems.job_of(folder, hyperparameters={"epochs": SPEED_EPOCHS})
    table = measure_speed(both, job, (784, 256, 128, 10), 60000, options, options.repeats)
    print_speed(f"MNIST, 784-256-128-10, batches of 128; {options.repeats} repeats", table, both)
    print_speed_claims(table, both)
    return {f"{precision}, {threads}": row for (precision, threads), row in table.items()}


def run_accuracy(both, folder, options, _):
    job = systems.job_of(folder, validation=systems.images(folder, "t10k"))
    found = measure_accuracy(both, job, options)
    print_accuracy(found, both, options.epochs)
    return {f"{name}, {precision}": values for (name, precision), values in found.items()}


def run_wide(both, folder, options, work):
    path = head_of(systems.images(folder, "train"), WIDE_ROWS, work)
    report = {}
    for activation in ("gelu", "tanh"):
        job = systems.job_of(folder, train=path,
                             hyperparameters={**WIDE, "activation": activation, "epochs": WIDE_EPOCHS})
        repeats = min(options.repeats, WIDE_REPEATS)
        table = measure_speed(both, job, (784, 1024, 1024, 1024, 10), WIDE_ROWS, options, repeats)
        print_speed(f"{activation}, 784-1024-1024-1024-10, dropout 0.2, Adam, {WIDE_ROWS:,} images; {repeats} repeats",
                    table, both)
        report[activation] = {f"{precision}, {threads}": row for (precision, threads), row in table.items()}
    return report


def main():
    options = parse()
    folder = systems.mnist_folder(options.data)
    unfit = systems.why_pytorch_is_unfit()
    if unfit:
        sys.exit(unfit)
    parts = {"speed": run_speed, "accuracy": run_accuracy, "wide": run_wide}
    unknown = [part for part in options.parts.split(",") if part not in parts]
    if unknown:
        sys.exit(f"--parts {','.join(unknown)}: expected {', '.join(parts)}")
    report = {}
    with tempfile.TemporaryDirectory(prefix="winnow-bench-") as name:
        work = pathlib.Path(name)
        both = (systems.Winnow(options.bin, work), systems.PyTorch())
        for part in options.parts.split(","):
            report[part] = parts[part](both, folder, options, work)
    if options.json:
        options.json.write_text(json.dumps(report, indent=1))


if __name__ == "__main__":
    main()
