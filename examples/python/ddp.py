"""Data-parallel training in plain PyTorch; it knows nothing of Winnow. Each process trains on its part of the data."""
import argparse
import os
import torch
from torch import distributed
parser = argparse.ArgumentParser()
parser.add_argument("--lr", type=float, default=0.1)
parser.add_argument("--epochs", type=int, default=10, help="the epoch to stop at")
parser.add_argument("--out", default=".", help="where last.pt is; it is resumed")
options = parser.parse_args()
last = os.path.join(options.out, "last.pt")
distributed.init_process_group("gloo")
rank, world = distributed.get_rank(), distributed.get_world_size()
torch.manual_seed(1)
inputs, weights = torch.randn(1024, 32), torch.randn(32, 1)
model = torch.nn.parallel.DistributedDataParallel(torch.nn.Linear(32, 1))
optimizer = torch.optim.SGD(model.parameters(), lr=options.lr)
state = torch.load(last) if os.path.exists(last) else {"epoch": 0, "model": model.state_dict()}
model.load_state_dict(state["model"])
for epoch in range(state["epoch"] + 1, options.epochs + 1):
    for batch in inputs[rank::world].chunk(4):
        loss = torch.nn.functional.mse_loss(model(batch), batch @ weights)
        optimizer.zero_grad()
        loss.backward(), optimizer.step()
    if rank == 0:
        torch.save({"epoch": epoch, "model": model.state_dict()}, last + ".part")
        os.replace(last + ".part", last)
        print(f"epoch {epoch}: loss={loss.item():.6f} ({world} processes)", flush=True)
distributed.destroy_process_group()  # its threads must not outlive the program
