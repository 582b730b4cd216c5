"""A proxy before an API server, for tests: HTTP here, HTTPS there. It refuses, loses and cuts off what a test says."""

import http.client
import http.server
import json
import ssl
import threading


class Proxy:
    """`rules` is asked for each request: a function of method and path whose result is None (pass it on), "lose" (pass
    it on, and hang up instead of answering), a function (pass it on, call it, and hang up), or (status, reason, message,
    headers)."""

    def __init__(self, port, authority):
        self.rules = lambda method, path: None
        self.port_there, self.context = port, ssl.create_default_context(cafile=authority)
        self.seen, self.streams, self.lock = [], set(), threading.Lock()
        proxy = self

        class Handler(http.server.BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"

            def handle_any(self):
                proxy.handle(self)

            do_GET = do_POST = do_PUT = do_DELETE = do_PATCH = handle_any

            def log_message(self, *_):
                pass

        self.server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self.server.daemon_threads = True
        self.port = self.server.server_address[1]
        threading.Thread(target=self.server.serve_forever, daemon=True).start()

    def sent(self, item):
        """The object that is passed on where `item` was sent to be created."""
        return item

    def told(self, item):
        """The object that clients get where the API server has told `item`."""
        return item

    def told_all(self, text):
        """An answer, which may have a list of objects."""
        answer = json.loads(text)
        if "items" in answer:
            answer["items"] = [self.told(item) for item in answer["items"]]
        return json.dumps(self.told(answer)).encode()

    @property
    def url(self):
        return f"http://127.0.0.1:{self.port}"

    def cut_watches(self):
        """Cuts off the watches that are open; how many."""
        with self.lock:
            streams = list(self.streams)
        for stream in streams:
            stream.shutdown(2)
        return len(streams)

    def handle(self, request):
        body = request.rfile.read(int(request.headers.get("Content-Length", 0)))
        rule = self.rules(request.command, request.path)
        with self.lock:
            self.seen.append((request.command, request.path))
        if isinstance(rule, tuple):
            status, reason, message, headers = rule
            self.answer(request, status, json.dumps({"kind": "Status", "code": status, "reason": reason,
                                                     "message": message}).encode(), headers)
            return
        connection = http.client.HTTPSConnection("127.0.0.1", self.port_there, context=self.context, timeout=600)
        try:
            headers = {key: value for key, value in request.headers.items()
                       if key.lower() not in ("host", "connection", "content-length")}
            if request.command == "POST":
                body = json.dumps(self.sent(json.loads(body))).encode()
            connection.request(request.command, request.path, body or None, headers)
            response = connection.getresponse()
            if "watch=true" in request.path and response.status == 200:
                self.stream(request, response)
                return
            text = response.read()
        except (OSError, http.client.HTTPException):
            request.close_connection = True
            return
        finally:
            connection.close()
        if rule is not None:
            if callable(rule):
                rule()
            request.close_connection = True
            return
        retry = response.getheader("Retry-After")
        if response.status < 300:
            text = self.told_all(text)
        self.answer(request, response.status, text, {"Retry-After": retry} if retry else {})

    def answer(self, request, status, text, headers):
        request.send_response(status)
        for name, value in {"Content-Type": "application/json", "Content-Length": len(text), **headers}.items():
            request.send_header(name, str(value))
        request.end_headers()
        request.wfile.write(text)

    def stream(self, request, response):
        request.close_connection = True
        with self.lock:
            self.streams.add(request.connection)
        try:
            request.send_response(200)
            request.send_header("Content-Type", "application/json")
            request.send_header("Connection", "close")
            request.end_headers()
            while line := response.readline():
                event = json.loads(line)
                request.wfile.write(json.dumps(dict(event, object=self.told(event["object"]))).encode() + b"\n")
                request.wfile.flush()
        except OSError:
            pass
        finally:
            with self.lock:
                self.streams.discard(request.connection)

    def close(self):
        self.server.shutdown()
        self.server.server_close()
