"""Where ranks that are processes can meet."""

import random
import socket


def free_port():
    """A free port below those that the system gives out: no rank's own sockets can take it meanwhile."""
    while True:
        port = random.SystemRandom().randrange(15000, 32000)
        with socket.socket() as probe:
            try:
                probe.bind(("127.0.0.1", port))
                return port
            except OSError:
                continue
