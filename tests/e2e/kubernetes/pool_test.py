"""The Kubernetes pool on a real control plane: an API server, a controller manager and a scheduler. Nodes are stand-ins
for kubelets, which run the pods' commands as processes of this machine."""

import json
import os
import subprocess
import sys
import unittest

import yaml

from control_plane import start_for, why_not
from processes import SKIPPED, wait_until
from proxy import Proxy

MANIFESTS = os.path.join(os.path.dirname(os.path.abspath(__file__)), "../../../docker/kubernetes")
DRIVER = os.environ.get("WINNOW_POOL_DRIVER", "")
SOON_GIVEN_UP = [{"key": f"node.kubernetes.io/{taint}", "operator": "Exists", "effect": "NoExecute", "tolerationSeconds": 1}
                 for taint in ("unreachable", "not-ready")]
PATIENT = ["sh", "-c", "trap 'exit 0' TERM; while :; do sleep 0.1; done"]  # leaves when it is asked to


class Driver:
    """A pool in a process of its own. Use it in `with`."""

    def __init__(self, prefix, kubeconfig, **settings):
        settings = {"kubeconfig": kubeconfig, "image": "winnow/worker", "tolerations": SOON_GIVEN_UP, "lost_pod_seconds": 1,
                    "pod": {"terminationGracePeriodSeconds": 2}} | settings
        self.process = subprocess.Popen([DRIVER, prefix, json.dumps(settings)], stdin=subprocess.PIPE,
                                        stdout=subprocess.PIPE, text=True)

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.process.kill()
        self.process.communicate()

    def do(self, what, **order):
        self.process.stdin.write(json.dumps({"do": what, **order}) + "\n")
        self.process.stdin.flush()
        return json.loads(self.process.stdout.readline())

    def submit(self, name, command=None, **order):
        return self.do("submit", name=name, command=["x"] + (command or []), **order)

    def list(self, *names):
        return self.do("list", names=names)

    def see(self, name):
        """The allocation; None if the pool has none of that name. It waits out the API server's absence."""
        answer = wait_until(lambda: (said := self.list(name))["status"] == "OK" and said, "the pool can list")
        return answer["allocations"].get(name)

    def until(self, name, condition, what):
        seen = []

        def holds():
            seen[:] = [self.see(name)]
            return condition(seen[0])
        try:
            wait_until(holds, what)
        except AssertionError as error:
            raise AssertionError(f"{error}; the last was {seen}") from None
        return seen[0]

    def until_running(self, name, nodes):
        return self.until(name, lambda a: a and a["state"] == "RUNNING" and len(a["hosts"]) == nodes, f"{name} runs")

    def until_gone(self, name):
        self.until(name, lambda a: a is None, f"{name} is gone")


def manifests():
    """The objects of docker/kubernetes."""
    found = []
    for name in sorted(os.listdir(MANIFESTS)):
        with open(os.path.join(MANIFESTS, name), encoding="utf-8") as file:
            found += [each for each in yaml.safe_load_all(file) if each]
    return found


def collection(item, namespace):
    """The path of the objects of that kind."""
    group = item["apiVersion"]
    kinds = {"NetworkPolicy": "networkpolicies"}
    kind = kinds.get(item["kind"], item["kind"].lower() + "s")
    return f"/{'apis/' if '/' in group else 'api/'}{group}/namespaces/{namespace}/{kind}"


def pruned(stored, sent):
    """What is stored, without what the server has added to what was sent."""
    if isinstance(sent, dict):
        return {key: pruned(stored.get(key), value) for key, value in sent.items()}
    if isinstance(sent, list):
        return [pruned(each, value) for each, value in zip(stored, sent)]
    return stored


def verb_of(method, path):
    """The resource and the verb of a request, as a Role names them."""
    parts = path.split("?")[0].split("/namespaces/")[1].split("/")
    if method == "GET":
        return parts[1], "watch" if "watch=true" in path else "list" if len(parts) == 2 else "get"
    return parts[1], {"POST": "create", "PUT": "update", "DELETE": "delete"}[method]


def program(command):
    """A pod's container that runs this instead of a worker."""
    return {"command": command}


class PoolTest(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.plane = start_for(cls)

    def setUp(self):
        self.prefix = "winnow-0a1b2c3d-" + self.id().rsplit("test_", 1)[1].replace("_", "-")[:20].strip("-")
        self.name = self.prefix + "-1"

    def tearDown(self):
        left = [name for name in [*self.plane.jobs(), *self.plane.secrets()] if name.startswith("winnow-")]
        for name in left:  # after a failure; the other tests need the nodes
            self.plane.api.delete(f"/apis/batch/v1/namespaces/default/jobs/{name}", {"propagationPolicy": "Foreground"})
            self.plane.api.delete(f"/api/v1/namespaces/default/secrets/{name}")
        wait_until(lambda: not self.plane.pods() + self.plane.pods("tuning"), "no pod is left behind")
        self.assertEqual(left, [], "nothing is left behind")

    def driver(self, kubeconfig=None, **settings):
        settings.setdefault("container", program(PATIENT))
        driver = Driver(self.prefix, kubeconfig or self.plane.kubeconfig, **settings)
        self.addCleanup(driver.__exit__)
        return driver

    def behind_proxy(self, **settings):
        proxy = Proxy(self.plane.port, self.plane.path("certs/apiserver.crt"))
        self.addCleanup(proxy.close)
        kubeconfig = self.plane.write_kubeconfig("proxied", {"token": self.plane.token}, server=proxy.url)
        return proxy, self.driver(kubeconfig, **settings)

    def end(self, pool):
        self.assertEqual(pool.do("cancel", names=[self.name])["status"], "OK")
        pool.until_gone(self.name)

    def pods(self):
        return [pod for pod in self.plane.pods() if pod["metadata"]["labels"].get("winnow/allocation") == self.name]

    def output_of(self, pod):
        """What it has printed, on its stand-in of a node."""
        with open(self.plane.path(f"{pod['spec']['nodeName']}/{pod['metadata']['uid']}/output"), encoding="ascii") as file:
            return file.read()

    def test_three_nodes_start_together_read_their_secret_and_leave_when_asked(self):
        show = f"cat $1/secret; {PATIENT[2]}"
        pool = self.driver(container=program(["sh", "-c", show, "sh", "/var/run/winnow"]))
        self.assertEqual(pool.submit(self.name, nodes=3, files={"secret": "s3cret"})["status"], "OK")
        seen = pool.until_running(self.name, 3)
        self.assertEqual(len(set(seen["hosts"])), 3)
        self.assertEqual(self.plane.secrets().count(self.name), 1)
        wait_until(lambda: [self.output_of(pod) for pod in self.pods()] == ["s3cret"] * 3, "all read the secret")
        before = pool.do("count")["lists"]
        self.end(pool)
        self.assertEqual(pool.do("count")["lists"], before, "the watches told of it")

    def test_what_has_no_room_says_so_and_starts_when_there_is(self):
        pool = self.driver()
        self.assertEqual(pool.submit(self.name, nodes=4)["status"], "OK")
        pool.until_running(self.name, 4)
        second = self.prefix + "-2"
        pool.submit(second)
        seen = pool.until(second, lambda a: a and "waits for a node" in a["reason"], "the scheduler has no room")
        self.assertIn("Insufficient cpu", seen["reason"])
        self.assertEqual(seen["state"], "QUEUED")
        self.end(pool)
        pool.until_running(second, 1)
        self.name = second
        self.end(pool)

    def test_a_worker_that_fails_ends_its_allocation_with_its_exit_code_and_last_words(self):
        pool = self.driver(container=program(["sh", "-c", "echo no server at head:7070 >&2; exit 3"]))
        pool.submit(self.name)
        seen = pool.until(self.name, lambda a: a and a["state"] == "ENDED", "it has ended")
        self.assertIn("ended with exit code 3: no server at head:7070", seen["reason"])
        self.assertEqual(pool.do("forget", names=[self.name])["status"], "OK")
        pool.until_gone(self.name)

    def test_a_time_limit_is_told(self):
        pool = self.driver()
        pool.submit(self.name, time_limit=1)
        seen = pool.until(self.name, lambda a: a and a["state"] == "ENDED", "it has ended")
        self.assertIn("reached its time limit", seen["reason"])
        pool.do("forget", names=[self.name])
        pool.until_gone(self.name)

    def test_an_image_that_is_not_there_is_told(self):
        pool = self.driver(image="absent/worker")
        pool.submit(self.name)
        pool.until(self.name, lambda a: a and "image pull error, ErrImagePull: absent/worker" in a["reason"], "it is told")
        self.end(pool)

    def test_a_refusal_by_admission_of_pods_is_told(self):
        limits = "/api/v1/namespaces/default/limitranges"
        self.plane.api.apply(limits, {"apiVersion": "v1", "kind": "LimitRange", "metadata": {"name": "small"},
                                      "spec": {"limits": [{"type": "Container", "max": {"cpu": "100m"}}]}})
        self.addCleanup(self.plane.api.delete, f"{limits}/small")
        pool = self.driver()
        pool.submit(self.name)
        pool.until(self.name, lambda a: a and "maximum cpu usage per Container is 100m" in a["reason"], "it is told")
        self.end(pool)

    def test_a_pod_that_is_deleted_is_replaced_or_ends_its_allocation(self):
        pool = self.driver()
        pool.submit(self.name)
        pool.until_running(self.name, 1)
        first = self.pods()[0]["metadata"]
        self.plane.api.delete(f"/api/v1/namespaces/default/pods/{first['name']}")
        pool.until(self.name, lambda a: a and (a["state"] == "ENDED" or (
            len(a["hosts"]) == 1 and first["uid"] not in [pod["metadata"]["uid"] for pod in self.pods()])), "it is dealt with")
        self.end(pool)

    def test_a_job_that_is_deleted_by_others_is_gone(self):
        pool = self.driver()
        pool.submit(self.name, nodes=2, files={"secret": "x"})
        pool.until_running(self.name, 2)
        self.plane.api.delete(f"/apis/batch/v1/namespaces/default/jobs/{self.name}", {"propagationPolicy": "Background"})
        pool.until_gone(self.name)
        wait_until(lambda: self.name not in self.plane.secrets(), "the secret went with it")

    def test_watches_that_are_cut_off_go_on(self):
        proxy, pool = self.behind_proxy()
        pool.submit(self.name, nodes=2)
        pool.until_running(self.name, 2)
        lists = pool.do("count")["lists"]
        self.assertEqual(proxy.cut_watches(), 2)
        self.end(pool)
        self.assertEqual(pool.do("count")["lists"], lists, "they went on where they were")

    def test_an_api_server_that_is_killed_is_waited_for(self):
        pool = self.driver(tolerations=[])  # nodes may be missed meanwhile, but for less than half a minute
        pool.submit(self.name, nodes=2)
        pool.until_running(self.name, 2)
        before = {pod["metadata"]["uid"] for pod in self.pods()}
        self.plane.kill_api()
        wait_until(lambda: pool.list(self.name)["status"] == "UNAVAILABLE", "nothing is known")
        self.assertEqual(pool.do("cancel", names=[self.name])["status"], "UNAVAILABLE")
        self.assertEqual(pool.submit(self.prefix + "-2")["status"], "UNAVAILABLE")
        self.plane.start_api()
        pool.until_running(self.name, 2)
        self.assertEqual({pod["metadata"]["uid"] for pod in self.pods()}, before, "its pods ran on")
        self.assertIsNone(pool.see(self.prefix + "-2"))
        self.end(pool)

    def test_a_server_that_is_overloaded_is_asked_again(self):
        proxy, pool = self.behind_proxy()
        refusals = []

        def twice(method, path):
            if method != "POST" or len(refusals) == 2:
                return None
            refusals.append(path)
            return 429, "TooManyRequests", "slow down", {"Retry-After": 0}
        proxy.rules = twice
        self.assertEqual(pool.submit(self.name)["status"], "OK")
        proxy.rules = lambda method, path: (429, "TooManyRequests", "slow down", {"Retry-After": 3600}) if method == "POST" else None
        refused = pool.submit(self.prefix + "-2")
        self.assertEqual((refused["status"], len(refusals)), ("RESOURCE_EXHAUSTED", 2))
        pool.until_running(self.name, 1)
        self.end(pool)

    def test_a_job_that_admission_refuses_leaves_nothing(self):
        proxy, pool = self.behind_proxy()
        words = 'admission webhook "policy.example" denied the request: images must be signed'
        proxy.rules = lambda method, path: (400, "BadRequest", words, {}) if (method, "/jobs" in path) == ("POST", True) else None
        refused = pool.submit(self.name, files={"secret": "x"})
        self.assertEqual(refused["status"], "INVALID_ARGUMENT")
        self.assertIn(words, refused["message"])
        self.assertIsNone(pool.see(self.name))

    def test_a_submission_whose_answer_is_lost_is_found_by_its_name(self):
        proxy, pool = self.behind_proxy()
        proxy.rules = lambda method, path: "lose" if method == "POST" and path.endswith("/jobs") else None
        self.assertEqual(pool.submit(self.name, files={"secret": "x"})["status"], "UNAVAILABLE")
        proxy.rules = lambda method, path: None
        pool.until_running(self.name, 1)
        self.assertEqual(pool.submit(self.name, files={"secret": "x"})["status"], "ALREADY_EXISTS")
        # Another process, as after a crash, finds it too.
        with Driver(self.prefix, self.plane.kubeconfig) as other:
            other.until_running(self.name, 1)
        self.assertEqual(list(self.plane.jobs()), [self.name])
        self.end(pool)

    def test_the_manifests_are_accepted_by_the_api_server(self):
        kinds = set()
        for item in manifests():
            answer = self.plane.api.call("POST", collection(item, "default") + "?dryRun=All", item)
            kinds.add(answer["kind"])
            sent = json.dumps(item.get("spec", {}).get("template", item.get("rules")), sort_keys=True)
            stored = json.dumps(pruned(answer.get("spec", {}).get("template", answer.get("rules")),
                                       item.get("spec", {}).get("template", item.get("rules"))), sort_keys=True)
            self.assertEqual(stored, sent, "no field is unknown to the server")
        self.assertEqual(kinds, {"ConfigMap", "NetworkPolicy", "Role", "RoleBinding", "Service", "ServiceAccount",
                                 "StatefulSet"})

    def test_a_pool_needs_the_rights_of_the_manifests_and_no_others_also_where_a_node_is_lost(self):
        space = "tuning"
        self.plane.api.apply("/api/v1/namespaces", {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": space}})
        for item in manifests():
            if item["kind"] in ("ServiceAccount", "Role", "RoleBinding"):
                self.plane.api.apply(collection(item, space), item)
        made = self.plane.api.call("POST", f"/api/v1/namespaces/{space}/serviceaccounts/winnow-server/token",
                                   {"apiVersion": "authentication.k8s.io/v1", "kind": "TokenRequest", "spec": {}})
        with open(self.plane.path("server-token"), "w", encoding="ascii") as file:
            file.write(made["status"]["token"])
        proxy = Proxy(self.plane.port, self.plane.path("certs/apiserver.crt"))
        self.addCleanup(proxy.close)
        kubeconfig = self.plane.write_kubeconfig("account", {"tokenFile": "server-token"}, server=proxy.url, namespace=space)
        limits = f"/api/v1/namespaces/{space}/limitranges"
        self.plane.api.apply(limits, {"apiVersion": "v1", "kind": "LimitRange", "metadata": {"name": "small"},
                                      "spec": {"limits": [{"type": "Container", "max": {"cpu": "100m"}}]}})
        pool = self.driver(kubeconfig)
        self.assertEqual(pool.submit(self.name, files={"secret": "x"})["status"], "OK")
        pool.until(self.name, lambda a: a and "maximum cpu usage" in a["reason"], "events can be read")
        self.end(pool)
        self.plane.api.delete(f"{limits}/small")
        # A node that is lost, so that its pod is removed by the pool.
        lost = self.plane.add_node("node-gone")
        self.plane.wait_for_nodes()
        self.addCleanup(self.plane.api.delete, f"/api/v1/nodes/{lost}")
        pool = self.driver(kubeconfig, node_selector={"kubernetes.io/hostname": lost})
        self.name = self.prefix + "-2"
        self.assertEqual(pool.submit(self.name, files={"secret": "x"})["status"], "OK")
        pool.until_running(self.name, 1)
        self.plane.lose_node(lost)
        seen = pool.until(self.name, lambda a: a and "does not answer" in a["reason"], "the node is missed")
        self.assertIn(lost, seen["reason"])
        self.end(pool)
        used = {verb_of(method, path) for method, path in proxy.seen if "/namespaces/" in path}
        role = next(item for item in manifests() if item["kind"] == "Role")
        granted = {(resource, verb) for rule in role["rules"] for resource in rule["resources"] for verb in rule["verbs"]}
        self.assertEqual(used, granted)

    def test_a_client_certificate_is_an_access_and_a_wrong_authority_is_none(self):
        user = {"client-certificate": self.plane.path("me.pem"), "client-key": self.plane.path("me.key")}
        pool = self.driver(self.plane.write_kubeconfig("certificate", user))
        self.assertEqual(pool.submit(self.name)["status"], "OK")
        self.end(pool)
        wrong = self.plane.write_kubeconfig("wrong", user, ca=self.plane.path("clients.pem"))
        refused = self.driver(wrong).submit(self.name)
        self.assertEqual(refused["status"], "UNAVAILABLE")
        self.assertIn("certificate", refused["message"])


if __name__ == "__main__":
    if why_not():
        print(f"skipped: {why_not()}")
        sys.exit(SKIPPED)
    unittest.main(verbosity=2)
