"""A Kubernetes pool of winnow-server, which is killed at each step of an allocation's life. The control plane is real; nodes
are stand-ins for kubelets, which run the pods' workers as processes of this machine."""

import sys
import unittest

import control_plane
import processes
from pod_server import Site
from processes import wait_until
from proxy import Proxy


class KubernetesServerKills(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.plane = control_plane.start_for(cls, nodes=1)

    def expect_as_if_it_had_not_been(self, site, why):
        name = site.submit_single("killed", 2)
        wait_until(lambda: not site.server.alive(), f"the server dies {why}")
        site.server.start()
        site.wait_for_end(name)
        site.expect_exact(self, name)
        site.wait_for_nothing()
        names = [row[0] for row in site.rows("SELECT name FROM allocations")]
        self.assertEqual(len(names), len(set(names)))
        self.assertLessEqual(sum(each.get("workers", 0) for each in site.allocations()), 2, site.allocations())
        self.assertEqual(site.rows("SELECT COUNT(*) FROM tokens WHERE revoke_us IS NULL OR revoke_us = 0"), [(0,)])

    def test_the_server_is_killed_at_each_step(self):
        for step in ("recorded", "before submit", "after submit", "before cancel", "after cancel", "before forget"):
            with self.subTest(step), Site(self.plane, fault=f"pools: {step}", max_nodes=1) as site:
                self.expect_as_if_it_had_not_been(site, step)

    def test_the_server_is_killed_between_the_calls_of_a_step(self):
        for method, collection in (("POST", "secrets"), ("POST", "jobs"), ("DELETE", "jobs")):
            with self.subTest(method=method, collection=collection):
                proxy = Proxy(self.plane.port, self.plane.path("certs/apiserver.crt"))
                self.addCleanup(proxy.close)
                kubeconfig = self.plane.write_kubeconfig("proxied", {"token": self.plane.token}, server=proxy.url)
                with Site(self.plane, kubeconfig, max_nodes=1) as site:
                    killed = []

                    def kill(seen, path):
                        if killed or seen != method or f"/{collection}" not in path:
                            return None
                        killed.append(path)
                        return site.server.kill
                    proxy.rules = kill
                    self.expect_as_if_it_had_not_been(site, f"after {method} {collection}")


if __name__ == "__main__":
    if control_plane.why_not():
        print(f"skipped: {control_plane.why_not()}")
        sys.exit(processes.SKIPPED)
    processes.main()
