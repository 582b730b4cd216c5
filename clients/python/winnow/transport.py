"""Calls of a server: JSON over HTTP/1.1, on connections that stay open."""

from __future__ import annotations

import base64
import http.client
import ipaddress
import json
import math
import os
import random
import socket
import ssl
import sys
import threading
import time
import urllib.parse
from typing import Any, Callable, Iterator, Mapping, Optional, Sequence

from winnow import errors

DEFAULT_ADDRESS = "127.0.0.1:8080"
_FIRST_PAUSE, _LONGEST_PAUSE = 0.05, 1.0  # seconds between two tries
_MORE = 10.0  # seconds by which a socket's timeout exceeds what the server was asked to wait
_SAFE = frozenset(("GET", "DELETE"))
_LONGEST_LINE, _MOST_HEADERS = 65536, 100  # of a response's head
_TIMEOUTS = (TimeoutError, socket.timeout)  # noqa: UP041: two until Python 3.9


class _UnixConnection(http.client.HTTPConnection):
    """HTTP over a socket of this host."""

    def __init__(self, path: str, timeout: float) -> None:
        super().__init__("localhost", timeout=timeout)
        self._path = path

    def connect(self) -> None:
        self.sock = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
        self.sock.settimeout(self.timeout)
        self.sock.connect(self._path)


class _NotHttp(http.client.HTTPException):
    """What answers does not speak HTTP/1: another try is answered the same."""


def _is_loopback(host: str) -> bool:
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return host == "localhost"


class Address:
    """Where a server is: "HOST:PORT", "http://HOST:PORT", "https://HOST:PORT" or "unix:/PATH". HOST:PORT is asked over TLS
    with `tls` or beyond this machine's loopback, where servers have it."""

    def __init__(self, text: str, tls: bool) -> None:
        self.text = text
        self.path = ""
        self.authority = "localhost"  # the Host of requests
        self.tls = tls
        self.private = True  # whether nobody on the way reads what is sent
        if text.startswith("unix:"):
            self.path = text[len("unix:"):]
            if not self.path.startswith("/"):
                raise ValueError(f"server: {text!r} is not an address; expected unix:/PATH")
            return
        parts = urllib.parse.urlsplit(text if "://" in text else "http://" + text)
        try:
            port = parts.port
        except ValueError:
            port = None
        plain_name = text.isascii() and text.isprintable() and " " not in text
        if (parts.scheme not in ("http", "https") or not parts.hostname or port is None or not plain_name
                or parts.path not in ("", "/")):
            raise ValueError(f"server: {text!r} is not an address; expected HOST:PORT, http://HOST:PORT, "
                             "https://HOST:PORT or unix:/PATH")
        here = _is_loopback(parts.hostname)
        self.tls = parts.scheme == "https" if "://" in text else tls or not here
        self.private = self.tls or here
        self.host, self.port = parts.hostname, port
        self.authority = f"[{self.host}]:{port}" if ":" in self.host else f"{self.host}:{port}"

    def __str__(self) -> str:
        return "unix:" + self.path if self.path else f"{'https' if self.tls else 'http'}://{self.authority}"


def tls_context(ca: Optional[str], cert: Optional[str], key: Optional[str]) -> ssl.SSLContext:
    """`ca`: PEM file of who signed the server's certificate; default: the system's. `cert`, `key`: the client's own."""
    for name, file in (("tls_ca", ca), ("tls_cert", cert), ("tls_key", key)):
        if file and not os.path.isfile(file):
            raise ValueError(f"{name}: {file!r} is not a file; expected a PEM file")
    context = ssl.create_default_context(cafile=ca)
    if cert:
        context.load_cert_chain(cert, key)
    return context


def plain(value: Any, path: str = "") -> Any:
    """`value` with what JSON cannot say as proto3's JSON says it, NaN and infinities as text; and numpy's numbers and arrays
    as Python's own. TypeError: there is something else, such as a date; `path` leads to `value`."""
    value = own(value)
    if isinstance(value, float):
        if math.isfinite(value):
            return value
        return "NaN" if math.isnan(value) else "Infinity" if value > 0 else "-Infinity"
    if isinstance(value, Mapping):
        return {str(name): plain(content, f"{path}.{name}" if path else str(name)) for name, content in value.items()}
    if isinstance(value, (list, tuple)):
        return [plain(content, f"{path}[{place}]") for place, content in enumerate(value)]
    if value is None or isinstance(value, (str, int)):
        return value
    raise TypeError(f"{path or 'the value'}: is {value!r:.100}, of type {type(value).__name__}; expected what JSON has, such as a "
                    "number or a text")


def own(value: Any) -> Any:
    """Numbers and arrays of numpy, pandas and torch as Python's own."""
    return value.tolist() if hasattr(value, "tolist") else value


def as_text(value: Any) -> Any:
    """A hyperparameter's value as a job has it; anything but a number or a boolean is left as it is."""
    value = own(value)
    if isinstance(value, bool):
        return "true" if value else "false"
    return repr(value) if isinstance(value, (int, float)) else value


def number(value: Any) -> float:
    """A number of a response, which may be "NaN", "Infinity" or "-Infinity"; NaN if it is absent."""
    return math.nan if value is None else float(value)


def seconds(duration: float) -> str:
    """A duration as proto3's JSON says it."""
    return f"{max(0.0, duration):.3f}s"


class _Patience:
    """The pauses between the tries of a call, which become longer."""

    def __init__(self, seconds_: float) -> None:
        self._seconds = seconds_
        self.renew()

    def renew(self) -> None:
        self._until, self._pause = time.monotonic() + self._seconds, _FIRST_PAUSE

    def wait(self, problem: BaseException) -> None:
        """Before the next try. Raises the problem of the last one if there is no time left for another."""
        if time.monotonic() + self._pause > self._until:
            raise problem
        time.sleep(self._pause * random.uniform(0.5, 1.0))
        self._pause = min(2 * self._pause, _LONGEST_PAUSE)


class Transport:
    """The calls of one server. Threads and forked processes may share it: each has its own connection."""

    def __init__(self, addresses: Sequence[Address], *, token: Optional[str], context: Optional[ssl.SSLContext],
                 timeout: float, patience: float) -> None:
        """`addresses`: of servers with one database, of which only the one that leads listens."""
        self.addresses, self.timeout, self.patience = list(addresses), timeout, patience
        self.gone = ""  # why no call is possible any more
        self._at = 0  # of the address that is in use
        self._context = context
        self._headers = {"Accept": "application/json"}
        if token:
            if not token.isascii() or not token.isprintable() or " " in token:
                raise ValueError("token: has a space or another character that no token has; expected wnw_…")
            self._headers["Authorization"] = "Bearer " + token
        self._here = threading.local()

    def __deepcopy__(self, _: dict[int, Any]) -> Transport:
        return self

    @property
    def address(self) -> Address:
        """The address in use."""
        return self.addresses[self._at % len(self.addresses)]

    def _check_gone(self) -> None:
        if self.gone:
            raise errors.Unavailable("UNAVAILABLE", self.gone)

    def _leave(self, address: Address) -> None:
        """Uses the next address, unless another thread has left this one already."""
        if self.address is address:
            self._at += 1

    def call(self, verb: str, path: str, fields: Mapping[str, Any] = {}, *, timeout: Optional[float] = None,
             patience: Optional[float] = None) -> Any:
        """The response as JSON. GET and DELETE send `fields` as the query, POST as the body.

        Tries again, for `patience` seconds, while the server cannot be reached or cannot record. So a POST may reach it
        twice.
        """
        self._check_gone()
        limit = timeout or self.timeout
        tries = _Patience(self.patience if patience is None else patience)
        unanswered = False
        while True:
            address = self.address
            try:
                status, answer = self._once(address, self._request(address, verb, path, fields), limit)
            except _NotHttp as error:
                raise errors.Unavailable("UNAVAILABLE", f"{address}: does not speak HTTP; expected the address of "
                                         "winnow-server's --http, not of its --listen, and https:// if it has TLS"
                                         ) from error
            except _TIMEOUTS as error:
                self._leave(address)
                raise errors.CallTimeout("DEADLINE_EXCEEDED",
                                         f"{verb} {path}: no answer of {address} in {limit:g} s") from error
            except (OSError, http.client.HTTPException) as error:  # also no name, no route, or no network
                if _is_final(error):
                    raise errors.Unavailable("UNAVAILABLE", f"{address}: {_said(error)}") from error
                silent = isinstance(error, http.client.RemoteDisconnected) and not address.tls and not address.path
                hint = "; if it has TLS, expected https://" if silent else ""
                problem: errors.ServerError = errors.Unavailable("UNAVAILABLE", f"{address}: {_said(error)}{hint}")
                self._leave(address)
                unanswered = True
            else:
                if unanswered and verb == "DELETE" and status == 404:
                    return {}  # it was deleted by the call that had no answer
                if status == 200 and _is_ours(path, answer):
                    return answer
                if status == 200:
                    raise errors.Unavailable("UNAVAILABLE", f"{address}: what answers is no winnow-server, as {verb} {path} has no "
                                             "JSON object; expected the address of winnow-server's --http")
                problem = errors.from_answer(status, answer)
                if status not in (429, 503):
                    raise problem
            tries.wait(problem)

    def begin(self, verb: str, path: str, fields: Mapping[str, Any] = {}, *,
              timeout: Optional[float] = None) -> Callable[[], Any]:
        """Sends a call on a further connection of this thread. What is returned waits for its response, as `call` does;
        it must be called, in this thread, before the next `begin`."""
        address = self.address
        request = self._request(address, verb, path, fields)
        limit = timeout or self.timeout
        earlier, self._here.ahead = getattr(self._here, "ahead", None), None
        # A call whose response nobody waited for, as after an interruption, would be answered before this one.
        if earlier is not None and not earlier.waits:
            self._here.ahead = earlier
        held: Optional[_Held] = None
        try:
            held = self._connection(address, limit, "ahead")
            held.waits = True
            held.sock.sendall(request)
        except (OSError, http.client.HTTPException):
            held = None

        def result() -> Any:
            if held is not None:
                try:
                    status, answer = held.receive()
                    held.waits = False
                    if status == 200 and _is_ours(path, answer):
                        return answer
                except (OSError, http.client.HTTPException):
                    pass  # the next begin opens another connection
            return self.call(verb, path, fields, timeout=timeout)

        return result

    def events(self, path: str, fields: Mapping[str, Any] = {}, *, resume: str = "",
               timeout: Optional[float] = None) -> Iterator[Any]:
        """The messages of a stream, until its end. `resume`: the field of the request that takes the id of the last
        event, for a stream that can be begun again; without it an interrupted stream raises Unavailable."""
        self._check_gone()
        last = ""
        tries = _Patience(self.patience)
        while True:
            query = dict(fields)
            if last:
                query[resume] = last
            text = urllib.parse.urlencode([(name, _query(value)) for name, value in query.items()])
            address = self.address
            connection = self._new(address, timeout or max(self.timeout, 2 * 15.0 + _MORE))  # a comment comes every 15 s
            try:
                connection.request("GET", path + ("?" + text if text else ""),
                                   headers={**self._headers, "Host": address.authority, "Accept": "text/event-stream"})
                response = connection.getresponse()
                if response.status != 200:
                    problem: errors.ServerError = errors.from_answer(response.status, _parsed(response.read()))
                    if response.status not in (429, 503):
                        raise problem
                else:
                    for kind, number_, data in _server_sent(response):
                        tries.renew()
                        if kind == "end":
                            return
                        if kind == "error":
                            problem = errors.from_answer(500, _parsed(data.encode()))
                            if not isinstance(problem, errors.Unavailable):
                                raise problem
                            break
                        last = number_ or last
                        yield json.loads(data)
                    problem = errors.Unavailable("UNAVAILABLE", f"{address}: the stream was cut off")
            except (OSError, http.client.HTTPException) as error:
                problem = errors.Unavailable("UNAVAILABLE", f"{address}: {_said(error)}")
                if _is_final(error):
                    raise problem from error
                self._leave(address)
            finally:
                connection.close()
            if not resume:
                raise problem
            tries.wait(problem)

    def blob(self, digest: str, size: int) -> bytes:
        """The bytes of a stored blob. Tries again, for `patience` seconds, where the stream is cut off."""
        tries = _Patience(self.patience)
        while True:
            try:
                data = b"".join([base64.b64decode(part["data"]) for part in self.events(f"/v1/blobs/{digest}")])
                break
            except errors.ServerError as error:
                passes = isinstance(error, errors.Unavailable) or error.code == "RESOURCE_EXHAUSTED"
                final = not passes or self.gone or error.__cause__ is not None and _is_final(error.__cause__)
                if final:
                    raise
                tries.wait(error)
        if len(data) != size:
            raise errors.ServerError("DATA_LOSS", f"blob {digest}: has {len(data)} bytes; expected {size}")
        return data

    def close(self) -> None:
        """Closes this thread's connections; the next call opens another."""
        self._here.held = self._here.ahead = None

    def _request(self, address: Address, verb: str, path: str, fields: Mapping[str, Any]) -> bytes:
        """A request in one piece, so that it leaves in one packet if it fits."""
        head, body = {"Host": address.authority, **self._headers}, b""
        if verb in _SAFE:
            query = urllib.parse.urlencode([(name, _query(content)) for name, value in fields.items()
                                            for content in (value if isinstance(value, (list, tuple)) else [value])])
            path += "?" + query if query else ""
        else:
            try:
                body = json.dumps(fields, allow_nan=False).encode()
            except (TypeError, ValueError):  # numbers that are not finite, or mappings that json does not know
                body = json.dumps(plain(fields), allow_nan=False).encode()
            head["Content-Type"] = "application/json"
            head["Content-Length"] = str(len(body))
        if not path.isascii() or not path.isprintable() or " " in path:
            raise ValueError(f"path: {path!r} has a space or another character that must be quoted")
        lines = [f"{verb} {path} HTTP/1.1", *(f"{name}: {value}" for name, value in head.items())]
        return "\r\n".join([*lines, "", ""]).encode("ascii") + body

    def _once(self, address: Address, request: bytes, limit: float) -> tuple[int, Any]:
        held = self._connection(address, limit)
        try:
            used, held.used = held.used, True
            try:
                held.sock.sendall(request)
                return held.receive()
            except (ConnectionError, http.client.BadStatusLine, ssl.SSLEOFError):
                if not used:
                    raise
                # A server closes connections that were idle; this one may have been.
                self._here.held = None
                held = self._connection(address, limit)
                held.used = True
                held.sock.sendall(request)
                return held.receive()
        except BaseException:
            self._here.held = None
            raise

    def _connection(self, address: Address, limit: float, name: str = "held") -> _Held:
        """This thread's connection of this name to this address."""
        held: Optional[_Held] = getattr(self._here, name, None)
        if (held is None or held.process != os.getpid() or held.connection.sock is None
                or held.address is not address):
            held = _Held(self._new(address, limit), address)
            setattr(self._here, name, held)
        if held.sock.gettimeout() != limit:
            held.sock.settimeout(limit)
        return held

    def _new(self, address: Address, limit: float) -> http.client.HTTPConnection:
        if address.path:
            return _UnixConnection(address.path, limit)
        if address.tls:
            return http.client.HTTPSConnection(address.host, address.port, timeout=limit,
                                               context=self._context or ssl.create_default_context())
        return _NoDelay(address.host, address.port, timeout=limit)


class _Held:
    """A thread's connection, which is closed when nobody holds it any more."""

    def __init__(self, connection: http.client.HTTPConnection, address: Address) -> None:
        self.connection, self.address, self.process = connection, address, os.getpid()
        self.used = False  # a request was sent on it
        self.waits = False  # a request of `begin` was sent on it, and its response has not been read
        connection.connect()
        self._read = self.sock.makefile("rb")

    @property
    def sock(self) -> socket.socket:
        found: socket.socket = self.connection.sock
        return found

    def receive(self) -> tuple[int, Any]:
        """The response of the request that was sent last: its status and content. http.client's own reading of a response
        takes several times as long as all else that a call needs here."""
        status, headers = self._head()
        while 100 <= status < 200:
            status, headers = self._head()
        length, encoding = headers.get(b"content-length"), headers.get(b"transfer-encoding", b"")
        if encoding.lower() == b"chunked":
            data = b"".join(iter(self._chunk, b""))
            while self._line():
                pass
        elif length is not None:
            data = self._exactly(_size(length, 10))
        else:
            data = self._read.read()
        if headers.get(b"connection", b"").lower() == b"close" or length is None and not encoding:
            self.close()
        return status, _parsed(data)

    def _head(self) -> tuple[int, dict[bytes, bytes]]:
        """The status and the headers, by names in lower case."""
        if self._read.peek(1)[:1] not in (b"", b"H"):
            raise _NotHttp
        first = self._line()
        version, _, rest = first.partition(b" ")
        if not version.startswith(b"HTTP/1.") or not rest[:3].isdigit():
            raise http.client.BadStatusLine(repr(first))
        headers = {}
        while line := self._line():
            name, _, value = line.partition(b":")
            headers[name.lower()] = value.strip()
            if len(headers) > _MOST_HEADERS:
                raise http.client.HTTPException(f"got more than {_MOST_HEADERS} headers")
        return int(rest[:3]), headers

    def _line(self) -> bytes:
        line = self._read.readline(_LONGEST_LINE)
        if not line:
            raise http.client.RemoteDisconnected("the server closed the connection without a response")
        if not line.endswith(b"\n"):
            raise http.client.LineTooLong("a header")
        return line.rstrip(b"\r\n")

    def _chunk(self) -> bytes:
        """The next chunk; empty: there are no more."""
        size = _size(self._line().partition(b";")[0], 16)
        data = self._exactly(size)
        if size:
            self._line()
        return data

    def _exactly(self, size: int) -> bytes:
        data = self._read.read(size)
        if len(data) < size:
            raise http.client.IncompleteRead(data, size - len(data))
        return data

    def close(self) -> None:
        self._read.close()
        self.connection.close()

    def __del__(self, at_exit: Callable[[], bool] = sys.is_finalizing) -> None:
        try:
            if hasattr(self, "_read"):
                self.close()
        except Exception:
            if not at_exit():  # then modules that closing needs may be gone
                raise


class _NoDelay(http.client.HTTPConnection):
    """Sends a request's head and body without waiting for acknowledgements."""

    def connect(self) -> None:
        super().connect()
        self.sock.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)


def _size(text: bytes, base: int) -> int:
    try:
        size = int(text, base)
    except ValueError:
        size = -1
    if size < 0:
        raise http.client.HTTPException(f"{text!r} is no length")
    return size


def quoted(text: str) -> str:
    """A part of a path."""
    return urllib.parse.quote(text, safe="")


def _query(value: Any) -> str:
    if isinstance(value, bool):
        return "true" if value else "false"
    return str(value)


def _parsed(data: bytes) -> Any:
    try:
        return json.loads(data)
    except ValueError:
        return data.decode("utf-8", "replace")


def _is_ours(path: str, answer: Any) -> bool:
    """Whether it is what a method answers; other paths may answer anything."""
    return isinstance(answer, dict) or not path.startswith("/v1/")


def _is_final(error: BaseException) -> bool:
    """Whether another try would find the same: the certificate is not trusted, the socket not readable. A server that ends
    may cut off a connection in the midst of TLS."""
    return isinstance(error, PermissionError) or isinstance(error, ssl.SSLError) and not isinstance(error, ssl.SSLEOFError)


def _said(error: BaseException) -> str:
    return str(error) or type(error).__name__


def _server_sent(response: http.client.HTTPResponse) -> Iterator[tuple[str, str, str]]:
    """(event, id, data) of each event."""
    kind, number_, data = "", "", ""
    while True:
        line = response.readline().decode("utf-8")
        if not line:
            return
        line = line.rstrip("\r\n")
        if not line:
            if data:
                yield kind, number_, data
            kind, number_, data = "", "", ""
        elif not line.startswith(":"):
            name, _, value = line.partition(":")
            value = value[1:] if value.startswith(" ") else value
            if name == "event":
                kind = value
            elif name == "id":
                number_ = value
            elif name == "data":
                data += value
