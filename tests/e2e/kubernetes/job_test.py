"""Jobs on a Kubernetes pool of winnow-server. The control plane is real; nodes are stand-ins for kubelets, which run the
pods' workers as processes of this machine."""

import sys
import unittest

import control_plane
import processes
from pod_server import Site, job
from pool_server import result_of
from processes import wait_until
from proxy import Proxy


class KubernetesJobs(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.plane = control_plane.start_for(cls)
        with processes.Cluster(workers=4, slots=1) as local:
            name = local.client.submit(job("calm", 6), local.folder)
            if local.watch(name).to_end() != 0:
                raise AssertionError(local.client.run("describe", name))
            cls.calm = result_of(local.client, name)

    def test_it_grows_trains_single_nodes_and_gangs_and_shrinks_to_nothing(self):
        with Site(self.plane) as site:
            self.assertEqual(site.allocations(), [])
            self.assertIn('"kind": "Job"', site.client.run("pools", "render", "pods"))
            name = site.submit("calm", 6)
            site.wait_for_end(name)
            self.assertEqual(result_of(site.client, name), self.calm)
            seen = site.allocations()
            # A gang takes single nodes that are free; otherwise it gets an allocation of three.
            self.assertLessEqual({int(each["nodes"]) for each in seen}, {1, 3})
            for each in seen:
                self.assertTrue(each["id"] and each["hosts"], each)
            site.wait_for_nothing()
            self.assertEqual(site.rows("SELECT COUNT(*) FROM tokens WHERE revoke_us IS NULL OR revoke_us = 0"), [(0,)])
            site.expect_exact(self, name)

    def test_a_server_killed_between_a_submission_and_its_record_finds_it_by_its_name(self):
        proxy = Proxy(self.plane.port, self.plane.path("certs/apiserver.crt"))
        self.addCleanup(proxy.close)
        kubeconfig = self.plane.write_kubeconfig("proxied", {"token": self.plane.token}, server=proxy.url)
        with Site(self.plane, kubeconfig) as site:
            killed = []

            def kill_at_the_answer(method, path):
                if method != "POST" or not path.endswith("/jobs") or killed:
                    return None
                killed.append(path)
                return site.server.kill
            proxy.rules = kill_at_the_answer
            name = site.submit("calm", 6)
            wait_until(lambda: killed and not site.server.alive(), "it is killed")
            made = wait_until(self.plane.jobs, "its Job is there")
            self.assertEqual(len(made), 1)
            site.server.start()
            site.wait_for_end(name)
            self.assertEqual(result_of(site.client, name), self.calm)
            names = [each["name"] for each in site.allocations()]
            self.assertIn(next(iter(made)), names)
            self.assertEqual(len(names), len(set(names)))
            created = [path for method, path in proxy.seen if method == "POST" and path.endswith("/jobs")]
            # Of the others only the name was recorded before the server was killed.
            submitted = [each["name"] for each in site.allocations() if each["id"]]
            self.assertEqual(len(created), len(submitted), "none was submitted twice")
            site.wait_for_nothing()


if __name__ == "__main__":
    if control_plane.why_not():
        print(f"skipped: {control_plane.why_not()}")
        sys.exit(processes.SKIPPED)
    processes.main()
