"""A script of the kind that SageMaker's examples have: PyTorch, on one or more instances, with checkpoints. It knows SageMaker's
variables and folders, and nothing of Winnow."""

import argparse
import json
import os
import time

import torch
import torch.distributed as dist


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--epochs", type=int, default=4)
    parser.add_argument("--lr", type=float, default=0.1)
    parser.add_argument("--optimizer", type=str, default="sgd")
    parser.add_argument("--pause-file", type=str, default="")
    parser.add_argument("--hosts", type=json.loads, default=json.loads(os.environ["SM_HOSTS"]))
    parser.add_argument("--current-host", type=str, default=os.environ["SM_CURRENT_HOST"])
    parser.add_argument("--model-dir", type=str, default=os.environ["SM_MODEL_DIR"])
    parser.add_argument("--train", type=str, default=os.environ["SM_CHANNEL_TRAIN"])
    args = parser.parse_args()
    torch.manual_seed(1)
    torch.set_num_threads(1)
    rank = args.hosts.index(args.current_host)
    if len(args.hosts) > 1:
        dist.init_process_group("gloo", rank=rank, world_size=len(args.hosts))
    rows = []
    for name in sorted(os.listdir(args.train)):
        with open(os.path.join(args.train, name), encoding="ascii") as file:
            rows += [[float(cell) for cell in line.split(",")] for line in file]
    table = torch.tensor(rows)
    print(f"{args.current_host} trains on {len(rows)} rows of {sorted(os.listdir(args.train))}", flush=True)
    labels, features = table[:, 0], table[:, 1:]
    model = torch.nn.Linear(features.shape[1], 1)
    optimizer = {"sgd": torch.optim.SGD, "adam": torch.optim.Adam}[args.optimizer](model.parameters(), lr=args.lr)
    checkpoint = os.path.join(os.environ.get("SAGEMAKER_BASE_DIR", "/opt/ml"), "checkpoints", "state.pt")
    first = 0
    if os.path.exists(checkpoint):
        state = torch.load(checkpoint)
        model.load_state_dict(state["model"])
        first = state["epoch"]
        print(f"resumed after epoch {first}", flush=True)
    for epoch in range(first + 1, args.epochs + 1):
        for at in range(0, len(rows), 100):
            optimizer.zero_grad()
            loss = torch.nn.functional.binary_cross_entropy_with_logits(model(features[at:at + 100])[:, 0], labels[at:at + 100])
            loss.backward()
            if len(args.hosts) > 1:
                for parameter in model.parameters():
                    dist.all_reduce(parameter.grad)
                    parameter.grad /= len(args.hosts)
            optimizer.step()
        if rank == 0 and os.path.isdir(os.path.dirname(checkpoint)):
            torch.save({"model": model.state_dict(), "epoch": epoch}, checkpoint + ".tmp")
            os.rename(checkpoint + ".tmp", checkpoint)
        accuracy = ((model(features)[:, 0] > 0) == (labels > 0.5)).float().mean().item()
        print(f"epoch {epoch}; train_loss={loss.item():.6f}; accuracy={accuracy:.6f};", flush=True)
        while args.pause_file and epoch == 2 and os.path.exists(args.pause_file):
            time.sleep(0.05)
    if rank == 0:
        torch.save(model.state_dict(), os.path.join(args.model_dir, "model.pth"))
    if len(args.hosts) > 1:
        dist.barrier()  # a process that leaves while another needs it may fail that one
        dist.destroy_process_group()


if __name__ == "__main__":
    main()
