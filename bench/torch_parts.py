#!/usr/bin/env python3
"""What a part of a PyTorch script costs: python3-torch under winnow_trainer.serve, beside a process for every part.

    python3 bench/torch_parts.py --bin build/bin [--trials 27] [--python /usr/bin/python3]

A script imports torch, trains a small network on data it makes, and saves and resumes as docs/your-own-code.md shows. One
slot, ASHA. Three workers in turn: cold (--warm-trainers 0), forked ("warm": "FORK"), and forked with should_stop(wait=True).
Printed: the time from the last report of the part before to a part's first report, less the mean time of a unit.
"""

import argparse
import pathlib
import sys
import tempfile

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent))
import parts  # noqa: E402  (the path must be set first)
import service  # noqa: E402

SCRIPT = '''
import os, sys
import torch
import winnow_trainer as winnow

def main():
    torch.set_num_threads(1)
    torch.manual_seed(1)
    x = torch.randn(4000, 20)
    y = (x[:, 0] * x[:, 1] + x[:, 2] > 0).float()
    network = torch.nn.Sequential(torch.nn.Linear(20, 16), torch.nn.ReLU(), torch.nn.Linear(16, 1))
    optimizer = torch.optim.SGD(network.parameters(), lr=winnow.hyperparameters()["lr"])
    first = 1
    state = winnow.resume()
    if state:
        saved = torch.load(os.path.join(state[0], "state.pt"))
        network.load_state_dict(saved["network"])
        first = saved["epoch"] + 1
    draft = os.path.join(os.environ["SM_OUTPUT_DATA_DIR"], "state.pt")
    for epoch in range(first, 28):
        for batch in range(0, 4000, 100):
            optimizer.zero_grad()
            loss = torch.nn.functional.binary_cross_entropy_with_logits(network(x[batch:batch + 100])[:, 0], y[batch:batch + 100])
            loss.backward()
            optimizer.step()
        torch.save({"network": network.state_dict(), "epoch": epoch}, draft)
        winnow.save(draft)
        winnow.report(epoch, loss=float(loss))
        if winnow.should_stop(wait="WAIT" in os.environ):
            break

winnow.serve(main)
'''


def spec_of(folder, python, trials, warm, waits):
    return {
        "name": "torch", "trainer": {"command": [python, str(folder / "train.py")], "warm": warm, "metrics": [{"name": "loss"}],
                                     "environment": {"WAIT": "1"} if waits else {}},
        "working_directory": str(folder),
        "parameters": [{"name": "lr", "continuous": {"min": 0.001, "max": 1, "scaling": "LOG"}}],
        "objective": {"metric": "loss", "goal": "MINIMIZE"}, "strategy": "ASHA", "pruner": {"max_resource": 27},
        "limits": {"max_trials": trials}, "seed": 3,
    }


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--bin", type=pathlib.Path, required=True, help="folder of the programs")
    parser.add_argument("--trials", type=int, default=27)
    parser.add_argument("--python", default="/usr/bin/python3", help="that has torch")
    arguments = parser.parse_args()
    service.require_programs(arguments.bin)
    for kind, flags, warm, waits in (("cold", ["--warm-trainers=0"], "OFF", False), ("forked", [], "FORK", False),
                                     ("forked, waits", [], "FORK", True)):
        with tempfile.TemporaryDirectory(prefix="winnow-torch-") as temporary:
            folder = pathlib.Path(temporary)
            (folder / "train.py").write_text(SCRIPT, encoding="ascii")
            with parts.OneWorker(arguments.bin, folder, flags, 1) as one:
                job = one.run(spec_of(folder, arguments.python, arguments.trials, warm, waits))
                points = one.json("metrics", job["id"])["points"]
                elapsed, unit, costs = parts.costs_of(points, one.starts(), job["id"], 1)
                print(f"{kind:14} {elapsed:6.2f} s, a unit {unit * 1e3:5.1f} ms; parts "
                      + "; ".join(f"{k} {parts.spread(costs[k])}" for k in parts.KINDS), flush=True)


if __name__ == "__main__":
    main()
