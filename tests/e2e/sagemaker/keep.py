"""A script that counts epochs, and keeps its place in the folder of checkpoints. It waits in the second while a file is there."""

import argparse
import os
import time

parser = argparse.ArgumentParser()
parser.add_argument("--pause-file", default="")
parser.add_argument("--epochs", type=int, default=3)
parser.add_argument("--large-mib", type=int, default=0)
args = parser.parse_args()
base = os.environ["SAGEMAKER_BASE_DIR"]
state = os.path.join(base, "checkpoints", "state", "epoch")
rank = int(os.environ["SM_CURRENT_HOST_RANK"])
while rank > 0 and os.path.exists(args.pause_file):  # the first instance is the one that counts
    time.sleep(0.05)
large, content = os.path.join(base, "checkpoints", "large"), bytes(range(256)) * (args.large_mib << 12)
epoch = 0
if os.path.exists(state):
    with open(state, encoding="ascii") as file:
        epoch = int(file.read())
    print("resumed after epoch", epoch, flush=True)
    if content:
        with open(large, "rb") as file:
            print("the large file is whole:", file.read() == content, flush=True)
elif content and rank == 0:
    with open(large, "wb") as file:
        file.write(content)
while rank == 0 and epoch < args.epochs:
    epoch += 1
    os.makedirs(os.path.dirname(state), exist_ok=True)
    with open(state + ".tmp", "w", encoding="ascii") as file:
        file.write(str(epoch))
    os.rename(state + ".tmp", state)
    print(f"epoch {epoch}; score={epoch}", flush=True)
    while epoch == 2 and args.pause_file and os.path.exists(args.pause_file):
        time.sleep(0.05)
with open(os.path.join(os.environ["SM_OUTPUT_DATA_DIR"], "rank"), "w", encoding="ascii") as file:
    file.write(str(rank))
