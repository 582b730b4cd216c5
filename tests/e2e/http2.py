"""HTTP/2 by hand, well-behaved or not: calls of gRPC methods, and what a peer may send that no library would."""

import select
import socket
import ssl
import struct
import threading
import time
import zlib

DATA, HEADERS, RESET, SETTINGS, PING, WINDOW_UPDATE, CONTINUATION = 0, 1, 3, 4, 6, 8, 9
END_STREAM, END_HEADERS, ACK = 1, 4, 1
PREFACE = b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n"
LIST = "/winnow.v1.TuningService/ListTuningJobs"
CREATE = "/winnow.v1.TuningService/CreateTuningJob"


def frame(kind, flags, stream, payload=b""):
    return struct.pack(">I", len(payload))[1:] + bytes([kind, flags]) + struct.pack(">I", stream) + payload


def text(value):
    """A string of HPACK, not compressed."""
    value = value.encode() if isinstance(value, str) else value
    if len(value) < 127:
        return bytes([len(value)]) + value
    rest, head = len(value) - 127, b"\x7f"
    while rest >= 128:
        head += bytes([rest & 127 | 128])
        rest >>= 7
    return head + bytes([rest]) + value


def header(name, value, first=b"\x00"):
    return first + text(name) + text(value)


def request_headers(path, token=None, more=b""):
    headers = b"\x83\x86" + header(":path", path) + header(":authority", "localhost")
    headers += header("content-type", "application/grpc") + header("te", "trailers")
    if token:
        headers += header("authorization", "Bearer " + token)
    return headers + more


def trusting():
    """Of a test's own certificates."""
    context = ssl.create_default_context()
    context.check_hostname, context.verify_mode = False, ssl.CERT_NONE
    return context


class Connection:
    """A connection whose answers are read and kept by a thread."""

    def __init__(self, port, tls=False, settled=True):
        self.socket = socket.create_connection(("127.0.0.1", port), 30)
        self.socket.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        if tls:
            context = trusting()
            context.set_alpn_protocols(["h2"])
            self.socket = context.wrap_socket(self.socket, server_hostname="localhost")
        self.socket.setblocking(False)  # one thread at a time uses it, since TLS has one state for both directions
        self.settled, self.stream, self.ended = settled, 1, False
        self.answers, self.change = {}, threading.Condition()
        self.using = threading.Lock()
        self.sending = threading.Lock()
        self.send(PREFACE + frame(SETTINGS, 0, 0))
        threading.Thread(target=self._read, daemon=True).start()

    def send(self, data, patience=30):
        view = memoryview(data)
        with self.sending:
            while view:
                try:
                    with self.using:
                        view = view[self.socket.send(view):]
                except (BlockingIOError, ssl.SSLWantWriteError, ssl.SSLWantReadError):
                    if not select.select([], [self.socket], [], patience)[1]:
                        raise TimeoutError("the other side takes nothing") from None

    def receive(self):
        while True:
            try:
                with self.using:
                    return self.socket.recv(65536)
            except (BlockingIOError, ssl.SSLWantReadError, ssl.SSLWantWriteError):
                select.select([self.socket], [], [], 1)

    def _read(self):
        buffer = b""
        try:
            while True:
                part = self.receive()
                if not part:
                    break
                buffer += part
                while len(buffer) >= 9:
                    length = int.from_bytes(buffer[:3], "big")
                    if len(buffer) < 9 + length:
                        break
                    self._take(buffer[3], buffer[4], int.from_bytes(buffer[5:9], "big"), buffer[9:9 + length])
                    buffer = buffer[9 + length:]
        except (OSError, ValueError):
            pass  # ended by either side
        self.close()
        with self.change:
            self.ended = True
            self.change.notify_all()

    def _take(self, kind, flags, stream, payload):
        if kind == SETTINGS and not flags & ACK and self.settled:
            self.send(frame(SETTINGS, ACK, 0))
        if kind == PING and not flags & ACK:
            self.send(frame(PING, ACK, 0, payload))
        if kind not in (DATA, HEADERS, RESET):
            return
        with self.change:
            answer = self.answers.setdefault(stream, [b"", b"", False])
            answer[0 if kind == HEADERS else 1] += payload
            answer[2] = answer[2] or bool(flags & END_STREAM) or kind == RESET
            self.change.notify_all()

    def wait(self, condition, patience):
        with self.change:
            return self.change.wait_for(condition, patience)

    def call(self, path, body=b"", token=None, patience=60, more=b"", flag=b"\x00"):
        """Headers and messages of the answer, as they came; None if there was none."""
        stream, self.stream = self.stream, self.stream + 2
        try:
            self.send(frame(HEADERS, END_HEADERS, stream, request_headers(path, token, more)) +
                      frame(DATA, END_STREAM, stream, flag + struct.pack(">I", len(body)) + body))
        except (OSError, ValueError):
            return None
        self.wait(lambda: self.ended or self.answers.get(stream, [0, 0, False])[2], patience)
        answer = self.answers.get(stream)
        return tuple(answer[:2]) if answer and answer[2] else None

    def close(self):
        try:
            self.socket.close()
        except OSError:
            pass


def flood(connections, parts, seconds):
    """Sends what the iterators `parts` give over the connections until they are cut off; how many bytes went out."""
    sent, end = 0, time.monotonic() + seconds
    open_ones = dict(enumerate(connections))
    while open_ones and time.monotonic() < end:
        for number, connection in list(open_ones.items()):
            part = next(parts[number])
            try:
                connection.send(part)
                sent += len(part)
            except (OSError, ValueError):
                del open_ones[number]
    return sent


def header_floods():
    """Streams that never end; each of 4,000 headers of one byte that stand for 3,900."""
    yield frame(HEADERS, END_HEADERS, 1, request_headers(LIST) + header("x-a", "v" * 3900, b"\x40"))
    stream = 3
    while True:
        yield frame(HEADERS, END_HEADERS, stream, request_headers(LIST) + b"\xbe" * 4000)
        stream += 2


def continuation_floods():
    """One stream whose headers never end."""
    yield frame(HEADERS, 0, 1, request_headers(LIST))
    part = header("x-b", "v" * 60) * 200
    while True:
        yield frame(CONTINUATION, 0, 1, part)


def data_floods():
    """Messages that are begun, of 16 MiB each, over a thousand streams."""
    for stream in range(1, 2001, 2):
        yield frame(HEADERS, END_HEADERS, stream, request_headers(CREATE)) + frame(
            DATA, 0, stream, b"\0" + struct.pack(">I", 16 << 20))
    while True:
        for stream in range(1, 2001, 2):
            yield frame(DATA, 0, stream, b"x" * 16000)


def zeros_compressed(mebibytes):
    packer = zlib.compressobj(9, zlib.DEFLATED, 31)
    zeros = bytes(1 << 20)
    return b"".join(packer.compress(zeros) for _ in range(mebibytes)) + packer.flush()


def send_compressed(connection, mebibytes, token=None):
    """One message that unpacks to so much; what was answered."""
    packed = zeros_compressed(mebibytes)
    stream, connection.stream = connection.stream, connection.stream + 2
    connection.send(frame(HEADERS, END_HEADERS, stream,
                          request_headers(CREATE, token, header("grpc-encoding", "gzip"))))
    connection.send(frame(DATA, 0, stream, b"\1" + struct.pack(">I", len(packed))))
    for begin in range(0, len(packed), 16000):
        last = begin + 16000 >= len(packed)
        try:
            connection.send(frame(DATA, END_STREAM if last else 0, stream, packed[begin:begin + 16000]))
        except (OSError, ValueError):
            break
        if begin > 40000:  # what the server takes without saying that it has room
            break
    connection.wait(lambda: connection.ended or connection.answers.get(stream, [0, 0, False])[2], 60)
    return connection.answers.get(stream, [b"", b"", False])[0]
