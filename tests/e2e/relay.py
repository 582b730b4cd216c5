"""Passes TCP connections on, each byte late by as many seconds as a file says; the file is read anew for each piece.

relay.py LISTEN_ADDRESS:PORT TO_ADDRESS:PORT DELAY_FILE
"""

import socket
import sys
import threading
import time


class Relay:
    def __init__(self, listen, to, delay_file):
        self.to, self.delay_file = to, delay_file
        self.listener = socket.create_server(listen, backlog=64)

    def delay(self):
        try:
            with open(self.delay_file, encoding="ascii") as file:
                return float(file.read() or 0)
        except OSError:
            return 0.0

    def serve(self):
        while True:
            near, _ = self.listener.accept()
            threading.Thread(target=self.pass_on, args=(near,), daemon=True).start()

    def pass_on(self, near):
        try:
            far = socket.create_connection(self.to)
        except OSError:
            near.close()
            return
        for one, other in ((near, far), (far, near)):
            threading.Thread(target=self.pump, args=(one, other), daemon=True).start()

    def pump(self, one, other):
        """A piece leaves when its delay is over; one that came meanwhile waits from when it came, not from then."""
        pieces, changed = [], threading.Condition()

        def send():
            while True:
                with changed:
                    changed.wait_for(lambda: pieces)
                    when, data = pieces.pop(0)
                time.sleep(max(0.0, when - time.monotonic()))
                try:
                    if not data:
                        other.shutdown(socket.SHUT_WR)
                        return
                    other.sendall(data)
                except OSError:
                    return

        threading.Thread(target=send, daemon=True).start()
        while True:
            try:
                data = one.recv(1 << 16)
            except OSError:
                data = b""
            with changed:
                pieces.append((time.monotonic() + self.delay(), data))
                changed.notify()
            if not data:
                return


if __name__ == "__main__":
    if len(sys.argv) != 4:
        sys.exit(__doc__)
    near_end, far_end = ((host, int(port)) for host, port in (end.rsplit(":", 1) for end in sys.argv[1:3]))
    Relay(near_end, far_end, sys.argv[3]).serve()
