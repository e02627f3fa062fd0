# SPDX-License-Identifier: GPL-2.0-only
# ctest: TIMEOUT 300
"""A host's state is touched by its own events only: all programs, checked as they run.

That the check finds what breaks the rule is tested where the rule can be broken: in native suites
(dltrain-job).
"""

import os
import sys

sys.path.append(sys.path[0] + "/../shared")
from _system_test import SystemTest, main

QUIET = " --no-report --no-timeline "
STAR = " --topology=single-switch "

DLTRAIN = (
    # All of ZeRO, both fabrics, several GPUs and NICs a server, odd counts.
    "--zero=0 --servers=3 --gpus-per-server=1" + STAR,
    "--zero=1 --servers=2 --gpus-per-server=2 --topology=fat-tree --k=2",
    "--zero=2 --servers=3 --gpus-per-server=2 --nics-per-server=2" + STAR,
    "--zero=3 --servers=5 --gpus-per-server=3" + STAR,
    "--zero=3 --servers=4 --gpus-per-server=2 --fabric=ib --topology=fat-tree --k=4",
    "--zero=2 --servers=3 --gpus-per-server=2 --network=analytic" + STAR,
    "--zero=1 --servers=3 --gpus-per-server=2 --step-latency=700ns" + STAR,
    "--zero=3 --zero-impl=deepspeed --servers=2 --gpus-per-server=4 --no-attribution" + STAR,
    "--zero=2 --servers=1 --gpus-per-server=5" + STAR,
)

COLLPERF = (
    "--op=all_reduce --servers=3 --gpus-per-server=3" + STAR,
    "--op=all_reduce --servers=4 --gpus-per-server=4 --nics-per-server=2 --algorithm=hierarchical"
    " --topology=fat-tree --k=4",
    "--op=all_gather --servers=5 --fabric=ib" + STAR,
    "--op=reduce_scatter --servers=3 --gpus-per-server=2 --network=analytic" + STAR,
    "--op=broadcast --servers=7 --root=3 -w 0" + STAR,
    "--op=alltoall --servers=3 --gpus-per-server=3 --algorithm=direct" + STAR,
    "--op=alltoall --servers=2 --gpus-per-server=4 --nics-per-server=4" + STAR,
)

TRAFFIC = (
    "--hosts=5 --pattern=permutation --bytes=100kB" + STAR,
    "--hosts=5 --pattern=incast --fan-in=4 --bytes=100kB --fabric=ib" + STAR,
    "--hosts=5 --pattern=all-to-all --bytes=50kB --network=analytic" + STAR,
)


class Owners(SystemTest):
    def setUp(self):
        super().setUp()
        self.addCleanup(os.environ.pop, "NS_GLOBAL_VALUE", None)

    def check(self, program, lines):
        for line in lines:
            with self.subTest(line):
                os.environ.pop("NS_GLOBAL_VALUE", None)
                plain = self.run_program(program + QUIET + line)
                os.environ["NS_GLOBAL_VALUE"] = "RdmaCheckOwners=true"
                run = self.run_program(program + QUIET + line)
                self.assertTrue(run.stats["completed"])
                # The programs were told, and what they check changes nothing.
                self.assertEqual(
                    run.stats["configuration"]["ns3"], {"ns3::RdmaCheckOwners": "true"}
                )
                self.assertEqual(run.stats["events"], plain.stats["events"])
                self.assertEqual(run.text("flows.csv"), plain.text("flows.csv"))

    def test_dltrain(self):
        self.check("dltrain --model=resnet50 --steps=2", DLTRAIN)

    def test_collperf(self):
        self.check("collperf -n 2 -b 3K -e 300K -f 10", COLLPERF)
        self.check("collperf -n 2", ["--op=barrier --servers=9 --step-latency=1us" + STAR])

    def test_traffic(self):
        self.check("traffic", TRAFFIC)

    def test_what_is_no_answer_is_refused(self):
        os.environ["NS_GLOBAL_VALUE"] = "RdmaCheckOwners=perhaps"
        run = self.run_program("traffic --hosts=2" + STAR, status=2)
        self.assertIn("RdmaCheckOwners", run.err)


main()
