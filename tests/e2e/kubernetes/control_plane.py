"""A real Kubernetes control plane on 127.0.0.1 for tests: Debian's etcd, and an API server, controller manager and
scheduler from the directory that WINNOW_KUBERNETES_DIR names (each packed with xz). There is no kubelet: kubelet.py
stands in for it."""

import ctypes
import json
import os
import secrets
import shutil
import signal
import socket
import ssl
import subprocess
import sys
import tempfile
import http.client

PROGRAMS = ("kube-apiserver", "kube-controller-manager", "kube-scheduler")
HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.append(os.path.dirname(HERE))

from processes import wait_until  # noqa: E402

LIBC = ctypes.CDLL(None)
PR_SET_PDEATHSIG = 1


def die_with_parent():
    LIBC.prctl(PR_SET_PDEATHSIG, signal.SIGKILL)


def why_not():
    """Why no control plane can be started here; "": it can."""
    folder = os.environ.get("WINNOW_KUBERNETES_DIR", "")
    if not folder:
        return "WINNOW_KUBERNETES_DIR names no directory with the programs of a Kubernetes control plane"
    for name in PROGRAMS:
        if not os.path.exists(f"{folder}/{name}.xz"):
            return f"{folder} has no {name}.xz"
    for command in ("etcd", "openssl", "xz"):
        if shutil.which(command) is None:
            return f"{command} is not installed"
    return ""


def free_ports(count):
    sockets = [socket.socket() for _ in range(count)]
    for each in sockets:
        each.bind(("127.0.0.1", 0))
    ports = [each.getsockname()[1] for each in sockets]
    for each in sockets:
        each.close()
    return ports


class ApiError(Exception):
    def __init__(self, code, body):
        super().__init__(f"{code}: {body[:500]}")
        self.code = code


class Api:
    """Calls of an API server, by a kubeconfig in JSON, which is YAML too."""

    def __init__(self, kubeconfig):
        with open(kubeconfig, encoding="utf-8") as file:
            config = json.load(file)
        cluster, user = config["clusters"][0]["cluster"], config["users"][0]["user"]
        self.host, self.port = cluster["server"].split("//")[1].split(":")
        self.context = ssl.create_default_context(cafile=cluster["certificate-authority"])
        self.headers = {"Authorization": "Bearer " + user["token"]}

    def open(self, method, path, body=None, kind="application/json", timeout=30):
        """The connection and the response, of which nothing is read yet."""
        connection = http.client.HTTPSConnection(self.host, int(self.port), context=self.context, timeout=timeout)
        headers = dict(self.headers)
        data = None
        if body is not None:
            data = json.dumps(body)
            headers["Content-Type"] = kind
        connection.request(method, path, data, headers)
        return connection, connection.getresponse()

    def call(self, method, path, body=None, kind="application/json", ok=()):
        """The answer's JSON. ApiError for a refusal whose code is not in `ok`; None for one that is."""
        connection, response = self.open(method, path, body, kind)
        try:
            text = response.read().decode()
        finally:
            connection.close()
        if response.status in ok:
            return None
        if response.status >= 300:
            raise ApiError(response.status, text)
        return json.loads(text)

    def get(self, path, ok=()):
        return self.call("GET", path, ok=ok)

    def items(self, path):
        return self.get(path)["items"]

    def apply(self, path, item):
        """Creates it unless it is there."""
        return self.call("POST", path, item, ok=(409,))

    def merge(self, path, patch):
        return self.call("PATCH", path, patch, "application/merge-patch+json")

    def delete(self, path, options=None):
        return self.call("DELETE", path, options or {}, ok=(404,))


class ControlPlane:
    """Use it in `with`. Its files are in `folder`."""

    def __init__(self, folder, grace_period=6):
        self.folder, self.grace_period = folder, grace_period
        self.processes, self.nodes = {}, {}
        self.token = secrets.token_hex(16)

    def __enter__(self):
        try:
            self.begin()
        except BaseException:
            self.__exit__(sys.exc_info()[0])
            raise
        return self

    def path(self, name):
        return os.path.join(self.folder, name)

    def begin(self):
        os.makedirs(self.folder, exist_ok=True)
        packed = os.environ["WINNOW_KUBERNETES_DIR"]
        unpacking = []
        for name in PROGRAMS:
            with open(self.path(name), "wb") as file:
                unpacking.append(subprocess.Popen(["xz", "-dc", f"{packed}/{name}.xz"], stdout=file))
        self.make_keys()
        etcd, peer, self.port = free_ports(3)
        self.etcd = f"http://127.0.0.1:{etcd}"
        self.run("etcd", ["etcd", "--data-dir", self.path("etcd"), "--listen-client-urls", self.etcd,
                          "--advertise-client-urls", self.etcd, "--listen-peer-urls", f"http://127.0.0.1:{peer}",
                          "--initial-advertise-peer-urls", f"http://127.0.0.1:{peer}",
                          "--initial-cluster", f"default=http://127.0.0.1:{peer}", "--unsafe-no-fsync"])
        for process in unpacking:
            if process.wait() != 0:
                raise AssertionError("a program of the control plane cannot be unpacked")
        for name in PROGRAMS:
            os.chmod(self.path(name), 0o755)
        self.start_api()
        self.kubeconfig = self.write_kubeconfig("admin", {"token": self.token})
        self.api = Api(self.kubeconfig)
        self.start_controllers()

    def make_keys(self):
        def openssl(*arguments):
            subprocess.run(["openssl", *arguments], check=True, capture_output=True, cwd=self.folder)
        curve = ["-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:P-256", "-nodes"]
        openssl("genrsa", "-out", "sa.key", "2048")
        openssl("rsa", "-in", "sa.key", "-pubout", "-out", "sa.pub")
        openssl("req", "-x509", *curve, "-subj", "/CN=clients", "-days", "2", "-keyout", "clients.key", "-out", "clients.pem")
        openssl("req", "-new", *curve, "-subj", "/O=system:masters/CN=by-certificate", "-keyout", "me.key", "-out", "me.csr")
        openssl("x509", "-req", "-in", "me.csr", "-CA", "clients.pem", "-CAkey", "clients.key", "-CAcreateserial",
                "-days", "2", "-out", "me.pem")
        with open(self.path("tokens.csv"), "w", encoding="ascii") as file:
            file.write(f'{self.token},admin,1,"system:masters"\n')

    def run(self, name, command):
        """Starts a program; it dies with this one. REQUIRES the main thread."""
        with open(self.path(name + ".log"), "ab") as log:
            self.processes[name] = subprocess.Popen(command, stdin=subprocess.DEVNULL, stdout=log, stderr=log,
                                                    cwd=self.folder, start_new_session=True, preexec_fn=die_with_parent)

    def start_api(self):
        self.run("kube-apiserver", [
            self.path("kube-apiserver"), f"--etcd-servers={self.etcd}", f"--secure-port={self.port}",
            "--bind-address=127.0.0.1", "--advertise-address=127.0.0.1", f"--cert-dir={self.path('certs')}",
            "--service-account-key-file=sa.pub", "--service-account-signing-key-file=sa.key",
            "--service-account-issuer=https://kubernetes.test", "--api-audiences=api",
            "--token-auth-file=tokens.csv", "--client-ca-file=clients.pem", "--authorization-mode=RBAC",
            "--service-cluster-ip-range=10.0.0.0/24", "--disable-admission-plugins=ServiceAccount"])
        wait_until(self.is_ready, "the API server is ready")

    def is_ready(self):
        if self.processes["kube-apiserver"].poll() is not None:
            raise AssertionError("kube-apiserver did not start:\n" + self.log("kube-apiserver")[-2000:])
        try:
            context = ssl.create_default_context(cafile=self.path("certs/apiserver.crt"))
            connection = http.client.HTTPSConnection("127.0.0.1", self.port, context=context, timeout=5)
            try:
                connection.request("GET", "/readyz", headers={"Authorization": "Bearer " + self.token})
                return connection.getresponse().read() == b"ok"
            finally:
                connection.close()
        except (OSError, http.client.HTTPException):
            return False

    def start_controllers(self):
        self.run("kube-controller-manager", [
            self.path("kube-controller-manager"), f"--kubeconfig={self.kubeconfig}", "--leader-elect=false",
            "--secure-port=0", "--port=0", f"--node-monitor-grace-period={self.grace_period}s", "--node-monitor-period=1s",
            "--service-account-private-key-file=sa.key", "--kube-api-qps=200", "--kube-api-burst=400",
            "--controllers=job,nodelifecycle,garbagecollector,statefulset,podgc,namespace,serviceaccount"])
        self.run("kube-scheduler", [self.path("kube-scheduler"), f"--kubeconfig={self.kubeconfig}",
                                    "--leader-elect=false", "--secure-port=0", "--port=0"])

    def write_kubeconfig(self, name, user, server=None, namespace="default", ca=None):
        """Writes NAME.kubeconfig; its path."""
        path = self.path(f"{name}.kubeconfig")
        cluster = {"server": server or f"https://127.0.0.1:{self.port}"}
        if cluster["server"].startswith("https"):
            cluster["certificate-authority"] = ca or self.path("certs/apiserver.crt")
        with open(path, "w", encoding="utf-8") as file:
            json.dump({"apiVersion": "v1", "kind": "Config", "clusters": [{"name": "test", "cluster": cluster}],
                       "users": [{"name": name, "user": user}], "current-context": "test",
                       "contexts": [{"name": "test", "context": {"cluster": "test", "user": name, "namespace": namespace}}]},
                      file)
        return path

    def kill_api(self):
        self.processes["kube-apiserver"].kill()
        self.processes["kube-apiserver"].wait()

    def log(self, name):
        try:
            with open(self.path(name + ".log"), encoding="utf-8", errors="replace") as file:
                return file.read()
        except OSError:
            return ""

    def add_node(self, name, cpus=1, memory_gib=1):
        """Starts a stand-in for a kubelet, and waits until the node is registered."""
        folder = self.path(name)
        os.makedirs(folder, exist_ok=True)
        self.run(name, [sys.executable, "-B", os.path.join(HERE, "kubelet.py"), self.kubeconfig, name, str(cpus),
                        str(memory_gib), folder])
        self.nodes[name] = self.processes[name]
        return name

    def wait_for_nodes(self):
        def ready():
            found = {node["metadata"]["name"]: node for node in self.api.items("/api/v1/nodes")}
            return all(name in found and not found[name]["spec"].get("taints") and any(
                condition["type"] == "Ready" and condition["status"] == "True"
                for condition in found[name]["status"].get("conditions", [])) for name in self.nodes)
        wait_until(ready, "all nodes are ready")

    def lose_node(self, name):
        """Kills the stand-in and with it all that runs on the node."""
        process = self.nodes.pop(name)
        process.kill()
        process.wait()

    def jobs(self, namespace="default"):
        return {job["metadata"]["name"]: job for job in self.api.items(f"/apis/batch/v1/namespaces/{namespace}/jobs")}

    def pods(self, namespace="default"):
        return self.api.items(f"/api/v1/namespaces/{namespace}/pods")

    def secrets(self, namespace="default"):
        return [secret["metadata"]["name"] for secret in self.api.items(f"/api/v1/namespaces/{namespace}/secrets")]

    def __exit__(self, kind, *_):
        for process in self.nodes.values():
            process.send_signal(signal.SIGTERM)  # it ends its pods
        for process in self.nodes.values():
            try:
                process.wait(10)
            except subprocess.TimeoutExpired:
                process.kill()
        for process in reversed(self.processes.values()):
            process.kill()
            process.wait()
        if kind is not None:
            for name in self.processes:
                print(f"--- {name}\n" + self.log(name)[-1500:], file=sys.stderr)
        shutil.rmtree(self.folder, ignore_errors=True)


def start_for(tests, nodes=4):
    """A control plane with nodes, which ends with this class of tests."""
    folder = tempfile.mkdtemp(prefix="winnow-kubernetes-")
    plane = ControlPlane(os.path.join(folder, "plane"))
    plane.__enter__()
    tests.addClassCleanup(shutil.rmtree, folder, True)
    tests.addClassCleanup(plane.__exit__, None)
    for number in range(nodes):
        plane.add_node(f"node-{number}")
    plane.wait_for_nodes()
    return plane
