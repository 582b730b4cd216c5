"""Data-parallel training over plain sockets: rank 0 adds up what all have computed. It knows torchrun's variables."""
import json
import os
import socket
import sys
import time
rank, world = int(os.environ.get("RANK", "0")), int(os.environ.get("WORLD_SIZE", "1"))
place = os.environ.get("MASTER_ADDR", "localhost"), int(os.environ.get("MASTER_PORT", "29500"))
server = socket.create_server(("", place[1])) if rank == 0 else None
link = socket.socket()
while rank and link.connect_ex(place):
    time.sleep(0.05)  # rank 0 does not listen yet
peers = [link.makefile("rw")] if rank else [server.accept()[0].makefile("rw") for _ in range(world - 1)]
def add(mine):
    """The sum over all ranks, on each of them."""
    total = mine if rank else [sum(each) for each in zip(mine, *(json.loads(peer.readline()) for peer in peers))]
    for peer in peers:
        print(json.dumps(total), file=peer, flush=True)
    return json.loads(peers[0].readline()) if rank else total
path = os.path.join(sys.argv[3], "last.json")
state = json.load(open(path)) if os.path.exists(path) else {"epoch": 0, "weight": 0.0}
for epoch in range(state["epoch"] + 1, int(sys.argv[2]) + 1):
    points = [i / 999 for i in range(rank, 1000, world)]
    [slope] = add([sum(2 * (state["weight"] - 3) * x * x for x in points) / 1000])
    state = {"epoch": epoch, "weight": state["weight"] - float(sys.argv[1]) * slope}
    [loss] = add([sum(((state["weight"] - 3) * x) ** 2 for x in points) / 1000])
    if rank == 0:
        json.dump(state, open(path + ".part", "w"))
        os.replace(path + ".part", path)
        print(f"epoch {epoch}: loss={loss:.9g} ({world} processes)", flush=True)
