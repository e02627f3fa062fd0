# SPDX-License-Identifier: GPL-2.0-only
# ctest: TIMEOUT 300
"""Jobs, and traffic beside a job, of traffic classes: a congestion control, transport, priority and
rate each."""

import sys
import unittest

sys.path.append(sys.path[0] + "/../shared")
from _system_test import SystemTest, repeatable

JOBS = (
    "dltrain --jobs=jobs.json --topology=leaf-spine --leaves=2 --spines=1 --gpus-per-server=1"
    " --library=none --report=0 --timeline=0 --progress=0"
)


def collective(name, hosts, **keys):
    return {
        "name": name,
        "hosts": hosts,
        "collective": {"op": "all_reduce", "bytes": "4MB", "iterations": 2},
        **keys,
    }


class JobClasses(SystemTest):
    def test_alone_a_job_is_one_of_a_network_of_its_law(self):
        for law in ("hpcc", "swift", "dctcp"):
            times = []
            for keys, more in (({"cc": law, "priority": 4}, ""), ({}, f" --cc={law}")):
                self.write("jobs.json", {"jobs": [collective("one", [0, 1, 2, 3], **keys)]})
                run = self.run_program(JOBS + " --alone=0" + more)
                (job,) = run.stats["jobs"]
                times.append(job["time_us"])
            with self.subTest(law=law):
                self.assertEqual(times[0], times[1])

    def test_two_jobs_of_two_laws(self):
        self.write(
            "jobs.json",
            {
                "jobs": [
                    collective("one", [0, 2], **{"class": "bulk"}),
                    collective("two", [1, 3], rate="50Gbps", transport="irn", priority=5),
                ]
            },
        )
        line = JOBS + " --class=bulk:cc=hpcc,priority=4 --ets=3:50,4:50,5:50"
        run = self.run_program(line)
        classes = {c["name"]: c for c in run.stats["classes"]}
        self.assertEqual(set(classes), {"default", "bulk", "irn-50Gbps"})
        self.assertEqual(classes["default"]["messages"], 0)
        self.assertEqual(classes["bulk"]["cc"], "hpcc")
        self.assertEqual(classes["irn-50Gbps"]["transport"], "irn")
        for job in run.stats["jobs"]:
            name = "bulk" if job["name"] == "one" else "irn-50Gbps"
            self.assertEqual(classes[name]["bytes"], job["bytes"])
        of = {r["tag"].split("/")[0]: r["class"] for r in run.rows("flows.csv")}
        self.assertEqual(of, {"one": "bulk", "two": "irn-50Gbps"})
        self.assertIn("bulk: hpcc (sigcomm19), rc, priority 4", run.out)
        again = self.run_program(line + " --threads=2")
        a, b = repeatable(run.stats), repeatable(again.stats)
        for stats in (a, b):
            stats.pop("configuration", None)
        self.assertEqual(a, b)

    def test_errors(self):
        for keys, words in (
            ({"cc": "hpc"}, ("/jobs/0/cc", "hpcc")),
            ({"priority": 9}, ("/jobs/0/priority", "allowed: 0 to 7")),
            ({"class": "bulk"}, ("/jobs/0/class", "is no class")),
            ({"rate": "fast"}, ("/jobs/0/rate", "a rate such as")),
            ({"transport": 3}, ("/jobs/0/transport", "must be a string")),
        ):
            self.write("jobs.json", {"jobs": [collective("one", [0, 1], **keys)]})
            with self.subTest(keys=keys):
                self.refuse(JOBS, *words)

    def test_background_has_a_class(self):
        run = self.run_program(
            "collperf --op=allreduce -b 1M -e 1M -n 2 -w 0 --servers=4 --gpus-per-server=1"
            " --topology=single-switch --class=bulk:cc=swift,priority=4,rate=30Gbps"
            " --background=pattern=permutation,bytes=1MB,flow-class=bulk --report=0 --timeline=0"
            " --progress=0"
        )
        classes = {c["name"]: c for c in run.stats["classes"]}
        self.assertGreater(classes["bulk"]["messages"], 0)
        self.assertGreater(classes["default"]["messages"], 0)
        self.refuse(
            "collperf --background=pattern=permutation,flow-class=bulk", "flow-class", "default"
        )


if __name__ == "__main__":
    unittest.main()
