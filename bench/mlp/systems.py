"""winnow-mlp and PyTorch, each trained in a process of its own on the same images, hyperparameters and threads."""

import json
import os
import pathlib
import re
import subprocess
import sys

HERE = pathlib.Path(__file__).resolve().parent
FASHION = pathlib.Path("/usr/share/datasets/fashion-mnist")  # Debian's dataset-fashion-mnist
NO_CACHE = {"WINNOW_CACHE_DIR": "off"}
BLAS = "libblas.so.3-x86_64-linux-gnu"
BLAS_TO_HAVE = "openblas"


def mnist_folder(given=None):
    """Where the four files of MNIST are; ends the program with a sentence if nowhere."""
    folder = given or os.environ.get("WINNOW_DATA_DIR")
    if not folder or not (pathlib.Path(folder) / "train-images-idx3-ubyte.gz").exists():
        sys.exit("--data FOLDER, or WINNOW_DATA_DIR: expected the folder of train-images-idx3-ubyte.gz")
    return pathlib.Path(folder)


def images(folder, part):
    return str(pathlib.Path(folder) / f"{part}-images-idx3-ubyte.gz")


# Kernels of OpenBLAS for processors without AVX2. OpenBLAS 0.3.21 takes them in some virtual machines on new processors,
# where they reach an eighth of what the processor can.
OLD_KERNELS = {"prescott", "generic", "core2", "penryn", "dunnington", "nehalem", "athlon", "opteron", "opteron_sse3", "barcelona"}
# Prints the kernels that the OpenBLAS of this process has taken; nothing if it has none.
KERNELS_OF_BLAS = """
import ctypes, torch
torch.ones(2, 2) @ torch.ones(2, 2)
for path in sorted({line.split()[-1] for line in open("/proc/self/maps") if "openblas" in line or "libblas" in line}):
    name = getattr(ctypes.CDLL(path), "openblas_get_corename", None)
    if name:
        name.restype = ctypes.c_char_p
        print(name().decode())
        break
"""


def why_blas_is_slow():
    """A sentence if PyTorch's OpenBLAS has taken kernels of another age than this processor's; else ''."""
    taken = subprocess.run([sys.executable, "-c", KERNELS_OF_BLAS], capture_output=True, text=True).stdout.strip()
    has_avx2 = "avx2" in pathlib.Path("/proc/cpuinfo").read_text().split()
    if not has_avx2 or taken.lower() not in OLD_KERNELS:
        return ""
    return (f"PyTorch would multiply matrices by OpenBLAS's kernels for {taken}, though this processor has AVX2, which is no "
            "fair peer: set OPENBLAS_CORETYPE (Haswell, SkylakeX or Zen, as the processor is)")


def why_pytorch_is_unfit():
    """A sentence if PyTorch is absent, or would multiply matrices by the reference BLAS, which is some 25 times slower
    than what is compared, or by OpenBLAS's kernels for old processors; else ''."""
    code = "import torch; print(torch.__config__.show())"
    tried = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True)
    if tried.returncode != 0:
        return f"PyTorch: {tried.stderr.strip().splitlines()[-1]} (Debian: python3-torch)"
    if "BLAS_INFO=generic" not in tried.stdout:
        return why_blas_is_slow()  # a BLAS of its own, perhaps OpenBLAS
    try:
        asked = subprocess.run(["update-alternatives", "--query", BLAS], capture_output=True, text=True)
    except FileNotFoundError:
        asked = subprocess.CompletedProcess([], 1, "", "")
    values = [line.split(": ", 1)[1] for line in asked.stdout.splitlines() if line.startswith("Value: ")]
    value = values[0] if values else "an unknown library"
    if BLAS_TO_HAVE in value:
        return why_blas_is_slow()
    return (f"PyTorch would multiply matrices by {value} ({BLAS}), which is no fair peer: install "
            "libopenblas0-pthread, or choose it by update-alternatives")


def job_of(folder, **settings):
    """The network and settings of MNIST's benchmark, but for what `settings` say; names are winnow-mlp's."""
    return {"train": images(folder, "train"), "validation": None, "threads": 1, **settings,
            "hyperparameters": {"hidden_layers": "256,128", "activation": "relu", "weight_init": "he",
                                "batch_size": 128, "optimizer": "sgd", "learning_rate": 0.1, "momentum": 0.9,
                                "epochs": 5, "seed": 1, **settings.get("hyperparameters", {})}}


def run(command, text="", environment=None):
    """Standard output; RuntimeError with what it said if the command fails."""
    done = subprocess.run([str(part) for part in command], input=text, capture_output=True, text=True,
                          env={**os.environ, **(environment or {})})
    if done.returncode != 0:
        raise RuntimeError(f"{command[0]} ended with code {done.returncode}: {done.stderr.strip()[-500:]}")
    return done.stdout


class PyTorch:
    name = "PyTorch"

    def train(self, job):
        # A waiting thread that spins takes the processor of the others' threads.
        threads = str(job["threads"])
        environment = {"OMP_WAIT_POLICY": "passive", "OMP_NUM_THREADS": threads, "OPENBLAS_NUM_THREADS": threads}
        output = run([sys.executable, HERE / "peer_process.py"], json.dumps(job), environment)
        return json.loads(output.splitlines()[-1])


class Winnow:
    """The program winnow-mlp of the folder `bin_folder`; `work` gets what it writes."""

    name = "winnow-mlp"

    def __init__(self, bin_folder, work):
        self.binary, self.work = pathlib.Path(bin_folder) / "winnow-mlp", pathlib.Path(work)
        if not self.binary.exists():
            sys.exit(f"--bin {bin_folder}: expected the folder of winnow-mlp")

    def command(self, job, folder=None):
        """The command line; what it writes goes to `folder`."""
        folder = folder or self.work
        folder.mkdir(parents=True, exist_ok=True)
        (folder / "hp.json").write_text(json.dumps(job["hyperparameters"]))
        validation = ["--validation", job["validation"]] if job["validation"] else []
        return [self.binary, "--train", job["train"], *validation, "--hyperparameters", folder / "hp.json",
                "--model-dir", folder / "model", "--threads", str(job["threads"]), "--timing", folder / "timing.json"]

    def train(self, job):
        """What --timing says, and the metrics by epoch: accuracy of the validation data, and kept-share."""
        lines = run(self.command(job), environment=NO_CACHE).splitlines()
        said = json.loads((self.work / "timing.json").read_text())
        for metric in ("validation-accuracy", "kept-share"):
            said[metric] = [float(value) for line in lines for value in re.findall(rf"{metric}:(\S+)", line)]
        return said
