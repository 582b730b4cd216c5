"""A stand-in for a kubelet, for tests: kubelet.py KUBECONFIG NODE CPUS MEMORY_GIB FOLDER

It registers the node, renews its lease, runs the commands of the pods that are bound to the node, and reports their
phases. What it does not do: images (a pod has the programs of this machine, and an image "absent/…" cannot be
pulled), isolation, networks, probes, limits. A path at which a volume is mounted is replaced, in commands and
variables, by the volume's folder. What runs on the node dies with this process.
"""

import base64
import json
import os
import re
import select
import shutil
import signal
import subprocess
import sys
import threading
import time

from control_plane import Api, ApiError, die_with_parent

RENEWAL = 1.0  # seconds between two reports of the node


def now(fraction=False):
    text = time.strftime("%Y-%m-%dT%H:%M:%S", time.gmtime())
    return text + (".000000Z" if fraction else "Z")


class Pod:
    def __init__(self, item, node):
        self.item, self.node = item, node
        self.uid, self.name = item["metadata"]["uid"], item["metadata"]["name"]
        self.path = f"/api/v1/namespaces/{item['metadata']['namespace']}/pods/{self.name}"
        self.folder = os.path.join(node.folder, self.uid)
        self.process, self.started, self.ended = None, None, False
        self.kill_at = None  # when it is asked to leave
        self.reported, self.why = "", ""

    def spec(self):
        return self.item["spec"]

    def report(self, phase, state, **more):
        ready = "True" if phase == "Running" else "False"
        container = {"name": self.spec()["containers"][0]["name"], "image": self.spec()["containers"][0]["image"],
                     "imageID": "", "ready": phase == "Running", "restartCount": 0, "state": state}
        status = {"phase": phase, "containerStatuses": [container], "hostIP": "127.0.0.1", "podIP": "127.0.0.1",
                  "conditions": [{"type": kind, "status": value} for kind, value in (
                      ("Initialized", "True"), ("PodScheduled", "True"), ("ContainersReady", ready), ("Ready", ready))]}
        if self.started:
            status["startTime"] = self.started
        status.update(more)
        text = json.dumps(status)
        if text == self.reported:
            return
        try:
            self.node.api.call("PATCH", self.path + "/status", {"metadata": {"uid": self.uid}, "status": status},
                               "application/strategic-merge-patch+json", ok=(404, 409))
            self.reported = text
        except (OSError, ApiError):
            pass  # the API server is not there; once more with the next look

    def seen_ready(self):
        """What the API server has last said of the pod's readiness."""
        return next((each["status"] for each in self.item["status"].get("conditions", []) if each["type"] == "Ready"), "")

    def mounts(self):
        """The folders of the volumes, by the path at which they are mounted. None: a secret is not there yet."""
        folders = {}
        for mount in self.spec()["containers"][0].get("volumeMounts", []):
            volume = next(each for each in self.spec()["volumes"] if each["name"] == mount["name"])
            folder = folders[mount["mountPath"]] = os.path.join(self.folder, mount["name"])
            os.makedirs(folder, mode=0o700, exist_ok=True)
            if "secret" in volume:
                namespace = self.item["metadata"]["namespace"]
                secret = self.node.api.get(f"/api/v1/namespaces/{namespace}/secrets/{volume['secret']['secretName']}",
                                           ok=(404,))
                if secret is None:
                    return None
                for name, data in secret.get("data", {}).items():
                    with open(os.open(f"{folder}/{name}", os.O_CREAT | os.O_WRONLY | os.O_TRUNC, 0o600), "wb") as file:
                        file.write(base64.b64decode(data))
        return folders

    def start(self):
        container = self.spec()["containers"][0]
        if container["image"].startswith("absent/"):
            self.report("Pending", {"waiting": {"reason": "ErrImagePull", "message": f"{container['image']}: not found"}})
            return
        os.makedirs(self.folder, exist_ok=True)
        folders = self.mounts()
        if folders is None:
            self.report("Pending", {"waiting": {"reason": "ContainerCreating"}})
            return

        def on_this_machine(text):
            for path, folder in folders.items():
                text = text.replace(path, folder)
            return text

        variables = {}
        for variable in container.get("env", []):
            path = variable.get("valueFrom", {}).get("fieldRef", {}).get("fieldPath")
            values = {"metadata.name": self.name, "spec.nodeName": self.node.name, "status.podIP": "127.0.0.1"}
            variables[variable["name"]] = values[path] if path else on_this_machine(variable.get("value", ""))

        def expanded(text):
            replace = lambda match: "$" if match[0] == "$$" else variables.get(match[1], match[0])  # noqa: E731
            return on_this_machine(re.sub(r"\$\$|\$\(([A-Za-z_][A-Za-z0-9_]*)\)", replace, text))

        command = [expanded(word) for word in container.get("command", []) + container.get("args", [])]
        self.started = now()
        self.deadline = time.monotonic() + self.spec().get("activeDeadlineSeconds", 1e9)
        try:
            with open(os.path.join(self.folder, "output"), "ab") as output:
                self.process = subprocess.Popen(command, stdin=subprocess.DEVNULL, stdout=output, stderr=output,
                                                cwd=self.folder, env={"PATH": os.environ["PATH"], **variables},
                                                start_new_session=True, preexec_fn=die_with_parent)
        except OSError as error:
            self.started = None
            self.report("Pending", {"waiting": {"reason": "CreateContainerError", "message": str(error)}})

    def signal_group(self, number):
        try:
            os.killpg(self.process.pid, number)
        except ProcessLookupError:
            pass

    def leave(self, grace):
        if self.process is not None and self.kill_at is None:
            self.process.send_signal(signal.SIGTERM)  # to the container's first process, as a runtime does
        until = time.monotonic() + grace
        self.kill_at = until if self.kill_at is None else min(self.kill_at, until)

    def last_words(self):
        """The end of its output, of a container whose policy is FallbackToLogsOnError."""
        if self.spec()["containers"][0].get("terminationMessagePolicy") != "FallbackToLogsOnError":
            return ""
        with open(os.path.join(self.folder, "output"), "rb") as output:
            return output.read()[-2048:].decode(errors="replace")

    def look(self):
        """Does what is due. False: nothing is left of the pod."""
        leaves = "deletionTimestamp" in self.item["metadata"]
        if self.ended:
            if not leaves:
                return True
            try:
                self.node.api.call("DELETE", self.path, {"gracePeriodSeconds": 0, "preconditions": {"uid": self.uid}},
                                   ok=(404, 409))
            except (OSError, ApiError):
                return True
            return False
        if self.process is None:
            if leaves:
                self.ended = True
                return self.look()
            try:
                self.start()
            except (OSError, ApiError):
                return True
            if self.process is None:
                return True
        if leaves:
            self.leave(self.item["metadata"].get("deletionGracePeriodSeconds", 30))
        elif time.monotonic() > self.deadline:
            self.why = "DeadlineExceeded"
            self.leave(self.spec().get("terminationGracePeriodSeconds", 30))
        if self.kill_at is not None and time.monotonic() > self.kill_at:
            self.signal_group(signal.SIGKILL)
        code = self.process.poll()
        if code is None:
            if self.seen_ready() == "False":
                self.reported = ""  # the cluster had missed the node: once more
            self.report("Running", {"running": {"startedAt": self.started}})
            return True
        self.signal_group(signal.SIGKILL)  # a container ends with its first process
        code = 128 - code if code < 0 else code
        phase = "Failed" if code or self.why else "Succeeded"
        before = self.reported
        self.report(phase, {"terminated": {"exitCode": code, "reason": "Error" if code else "Completed",
                                           "message": self.last_words() if code else "",
                                           "startedAt": self.started, "finishedAt": now()}},
                    **({"reason": self.why} if self.why else {}))
        self.ended = self.reported != before
        return True


class Node:
    def __init__(self, kubeconfig, name, cpus, memory_gib, folder):
        self.api, self.name, self.folder = Api(kubeconfig), name, folder
        self.capacity = {"cpu": cpus, "memory": f"{memory_gib}Gi", "pods": "20"}
        self.pods, self.lock = {}, threading.Lock()
        self.wake_read, self.wake_write = os.pipe()
        self.ending = False

    def wake(self):
        try:
            os.write(self.wake_write, b".")
        except BlockingIOError:
            pass  # it is awake

    def register(self):
        labels = {"kubernetes.io/hostname": self.name}
        self.api.apply("/api/v1/nodes", {"kind": "Node", "apiVersion": "v1",
                                         "metadata": {"name": self.name, "labels": labels}})

    def renew(self):
        lease = "/apis/coordination.k8s.io/v1/namespaces/kube-node-lease/leases"
        spec = {"holderIdentity": self.name, "leaseDurationSeconds": 40, "renewTime": now(fraction=True)}
        last = 0.0
        while not self.ending:
            try:
                if time.monotonic() - last > 5:
                    condition = {"type": "Ready", "status": "True", "reason": "KubeletReady", "message": "a stand-in",
                                 "lastHeartbeatTime": now(), "lastTransitionTime": now()}
                    self.api.call("PATCH", f"/api/v1/nodes/{self.name}/status",
                                  {"status": {"capacity": self.capacity, "allocatable": self.capacity,
                                              "addresses": [{"type": "InternalIP", "address": "127.0.0.1"}],
                                              "conditions": [condition]}}, "application/strategic-merge-patch+json")
                    last = time.monotonic()
                spec["renewTime"] = now(fraction=True)
                if self.api.call("PATCH", f"{lease}/{self.name}", {"spec": spec}, "application/merge-patch+json",
                                 ok=(404,)) is None:
                    self.api.apply(lease, {"apiVersion": "coordination.k8s.io/v1", "kind": "Lease",
                                           "metadata": {"name": self.name, "namespace": "kube-node-lease"}, "spec": spec})
            except (OSError, ApiError):
                pass
            time.sleep(RENEWAL)

    def take(self, kind, item):
        with self.lock:
            uid = item["metadata"]["uid"]
            known = self.pods.get(uid)
            if kind == "DELETED":
                if known is not None and known.process is not None:
                    known.signal_group(signal.SIGKILL)  # it was removed by force
                self.pods.pop(uid, None)
            elif known is not None:
                known.item = item
            elif item.get("status", {}).get("phase") not in ("Succeeded", "Failed"):
                self.pods[uid] = Pod(item, self)
        self.wake()

    def follow(self):
        path = f"/api/v1/pods?fieldSelector=spec.nodeName%3D{self.name}"
        while not self.ending:
            try:
                listed = self.api.get(path)
                for item in listed["items"]:
                    self.take("ADDED", item)
                with self.lock:
                    here = {item["metadata"]["uid"] for item in listed["items"]}
                    gone = [pod for uid, pod in self.pods.items() if uid not in here]
                for pod in gone:
                    self.take("DELETED", pod.item)
                version = listed["metadata"]["resourceVersion"]
                connection, response = self.api.open("GET", f"{path}&watch=true&resourceVersion={version}", timeout=120)
                for line in response:
                    event = json.loads(line)
                    if event["type"] == "ERROR":
                        break
                    self.take(event["type"], event["object"])
                connection.close()
            except (OSError, ApiError, ValueError, KeyError):
                time.sleep(0.3)

    def run(self):
        os.makedirs(self.folder, exist_ok=True)
        while True:
            try:
                self.register()
                break
            except (OSError, ApiError):
                time.sleep(0.3)
        for each in (self.renew, self.follow):
            threading.Thread(target=each, daemon=True).start()
        signal.set_wakeup_fd(self.wake_write, warn_on_full_buffer=False)
        while not self.ending:
            if select.select([self.wake_read], [], [], 0.1)[0]:
                os.read(self.wake_read, 4096)
            with self.lock:
                pods = list(self.pods.values())
            for pod in pods:
                if not pod.look():
                    with self.lock:
                        self.pods.pop(pod.uid, None)
        for pod in self.pods.values():
            if pod.process is not None:
                pod.signal_group(signal.SIGKILL)
        shutil.rmtree(self.folder, ignore_errors=True)

    def end(self, *_):
        self.ending = True


if __name__ == "__main__":
    if len(sys.argv) != 6:
        sys.exit(__doc__)
    node = Node(*sys.argv[1:])
    os.set_blocking(node.wake_write, False)
    signal.signal(signal.SIGTERM, node.end)
    signal.signal(signal.SIGCHLD, lambda *_: None)
    node.run()
