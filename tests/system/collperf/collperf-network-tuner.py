# SPDX-License-Identifier: GPL-2.0-only
# ctest: TIMEOUT 600
"""--tuner=network: auto by what each schedule takes on the run's servers, NICs and links.

Expected: what it takes is, packet by packet, never 1.3 times as long as the fastest of all that
--compare names, and never 1.3 times as long as what --tuner=model takes. Flows go where there is
room (--load-balancer=adaptive), as which of equal links a hash takes is luck that no formula knows.
"""

import csv
import os
import sys

sys.path.append(sys.path[0] + "/../shared")
from _system_test import SystemTest, main

QUIET = " --report=0 --timeline=0 --attribution=0 --progress=0"
# What is held against it, by operation; all that can run on every shape below.
OTHERS = {
    "all_reduce": "ring,tree,double-binary-tree,recursive-doubling,halving-doubling,hierarchical,"
    "every-to-every,torus,direct",
    "all_gather": "ring,recursive-doubling,hierarchical,bruck,direct",
    "reduce_scatter": "ring,halving-doubling,hierarchical,direct",
    "broadcast": "ring,tree,k-nomial",
    "reduce": "ring,tree,k-nomial",
    "alltoall": "direct,pairwise,bruck",
    "gather": "direct,k-nomial",
}
TREE = " --topology=fat-tree --load-balancer=adaptive"
LEAVES = " --topology=leaf-spine --load-balancer=adaptive"
RAILS = " --topology=rail-optimized --load-balancer=adaptive"
# Operation, servers and network; sizes from 8 B to 256 MiB.
SHAPES = (
    ("all_reduce", "--servers=2 -g 8 --nic=100GbE", "1K 64K 4M 256M"),
    ("all_reduce", "--servers=3 -g 1 --nic=25GbE", "24 12K 6M"),
    ("all_reduce", "--servers=4 -g 2 --nic=200GbE --oversubscription=4" + TREE, "32 256K 16M"),
    ("all_reduce", "--servers=5 -g 4 --nics-per-server=4 --nic=400GbE --oversubscription=2" + RAILS,
     "160 160000 16000000"),
    ("all_reduce", "--servers=6 -g 1 --fabric=ib --nic=HDR --library=none", "96 98304 6291456"),
    ("all_reduce", "--server=dgx-h100 --servers=3 --oversubscription=2" + TREE, "6078360"),
    ("all_reduce", "--server=dgx-h100 --servers=2", "16K 419904 944784 16M"),
    ("all_reduce", "--server=dgx-1-v100 --servers=4 --oversubscription=4" + LEAVES, "1M"),
    ("all_reduce", "--servers=7 -g 2 --nics-per-server=2 --nic=100GbE --library=none"
     " --oversubscription=4" + RAILS, "2296 36736 587776"),
    ("all_gather", "--servers=7 -g 8 --nics-per-server=8 --nic=25GbE", "120960"),
    ("all_gather", "--servers=4 -g 2 --nic=200GbE --oversubscription=2" + TREE, "64K 8M"),
    ("reduce_scatter", "--servers=6 -g 1 --nic=400GbE", "96 98304 6291456"),
    ("broadcast", "--server=dgx-1-v100 --servers=4", "693304"),
    ("broadcast", "--servers=7 -g 8 --nics-per-server=8 --nic=200GbE --library=none"
     " --oversubscription=4" + TREE, "4618208"),
    ("reduce", "--servers=5 -g 8 --library=none", "1000"),
    ("reduce", "--servers=5 -g 2 --nics-per-server=2 --fabric=ib --nic=NDR", "40 640 10240"),
    ("alltoall", "--servers=3 -g 4 --nic=100GbE --oversubscription=4" + LEAVES, "768 3M"),
    ("gather", "--servers=6 -g 1 --fabric=ib --nic=EDR", "96 4532160"),
)


class NetworkTuner(SystemTest):
    def rows(self, line):
        """collectives.csv, by choice and size."""
        run = self.run_program(line + QUIET)
        with open(os.path.join(run.folder, "collectives.csv"), encoding="utf-8") as file:
            rows = list(csv.DictReader(file))
        return {(row["choice"], int(row["bytes"])): row for row in rows}

    def test_is_as_fast_as_what_there_is(self):
        for op, shape, sizes in SHAPES:
            for size in sizes.split():
                line = f"collperf --op={op} {shape} -b {size} --tuner="
                network = self.rows(f"{line}network --compare={OTHERS[op]}")
                model = self.rows(line + "model")
                taken = next(row for (name, _), row in network.items() if name == "table")
                fastest = min(network.values(), key=lambda row: float(row["time_us"]))
                time = float(taken["time_us"])
                with self.subTest(op=op, shape=shape, size=size, taken=taken["algorithm"]):
                    self.assertLessEqual(time, 1.3 * float(fastest["time_us"]), fastest)
                    by_model = next(iter(model.values()))
                    self.assertLessEqual(time, 1.3 * float(by_model["time_us"]), by_model)

    def test_knows_what_nccls_formula_does_not(self):
        # By hand: of two servers each sends S with a tree, and 2 (n-1) / n S = 1.875 S with a ring
        # of 16 ranks, of which the NIC is the narrowest part.
        line = "collperf -g 8 --servers=2 -b 1G" + QUIET
        model = self.run_program(line)
        network = self.run_program(line + " --tuner=network")
        (one,) = network.stats["tuner"]
        self.assertEqual((one["op"], one["bytes"], one["ranks"]), ("all_reduce", 1 << 30, 16))
        self.assertEqual(one["by_formula"]["algorithm"], "ring")
        gain = one["by_formula"]["formula_us"] / one["chosen"]["formula_us"]
        self.assertAlmostEqual(one["gain"], gain, delta=1e-9)
        self.assertAlmostEqual(gain, 1.875, delta=0.02)
        simulated = network.stats["collectives"][0]["time_us"]
        self.assertEqual(network.stats["collectives"][0]["algorithm"], one["chosen"]["algorithm"])
        self.assertAlmostEqual(one["chosen"]["formula_us"], simulated, delta=0.05 * simulated)
        slower = model.stats["collectives"][0]["time_us"]
        self.assertAlmostEqual(one["by_formula"]["formula_us"], slower, delta=0.05 * slower)
        self.assertGreater(slower / simulated, 1.8)
        # Who did not ask for it is told, in the run and in its plan; who did is not.
        for run in (model, self.run_program(line + " --dry-run")):
            said = [x for x in (run.out + run.err).splitlines() if "--tuner=network" in x]
            self.assertEqual(len(said), 1, run.err)
            self.assertIn(f"{one['chosen']['algorithm']}, ", said[0])
            self.assertIn("all_reduce of 1 GiB by ", said[0])
        self.assertNotIn("--tuner=network", network.out + network.err)
        # Who did hears in the plan what it gains.
        plan = self.run_program(line + " --tuner=network --dry-run").out
        self.assertIn("  tuner           by formula, against auto: ", plan)
        self.assertIn(f"takes {1 / gain:.2f} of the time of ring, simple", plan)
        # And not where there is nothing to gain.
        ring = self.run_program("collperf --ranks=4 -b 64M --dry-run" + QUIET)
        self.assertNotIn("--tuner=network", ring.out + ring.err)

    def test_names_a_named_algorithms_protocol(self):
        rows = self.rows("collperf --ranks=4 -b 8 --algorithm=tree --tuner=network --compare=ring")
        self.assertEqual({row["algorithm"] for row in rows.values()}, {"tree", "ring"})
        self.assertEqual({row["protocol"] for row in rows.values()}, {"ll"})

    def test_leaves_what_a_user_has_left_out(self):
        line = "collperf -g 4 --servers=2 -b 1M --tuner=network "
        for more, allowed in (
            ("--nccl-env=NCCL_ALGO=Ring", {"ring"}),
            ("--nccl-env=NCCL_ALGO=^Ring,Tree", None),
        ):
            (row,) = self.rows(line + more).values()
            if allowed:
                self.assertIn(row["algorithm"], allowed)
            else:
                self.assertNotIn(row["algorithm"], {"ring", "double-binary-tree"})
        (row,) = self.rows(line + "--protocol=simple").values()
        self.assertEqual(row["protocol"], "simple")

    def test_dltrain_takes_it(self):
        line = "dltrain --model=gpt2 --zero=0 --servers=2 --gpus-per-server=8 --nics-per-server=1 "
        plan = self.run_program(line + "--dry-run")
        (said,) = [x for x in plan.out.splitlines() if "--tuner=network" in x]
        self.assertTrue(said.startswith("  tuner "), said)
        model = self.run_program(line + QUIET)
        plan = self.run_program(line + "--tuner=network --dry-run")
        gains = r"\n  tuner +by formula, against auto: .* takes 0\.\d\d of the time"
        self.assertRegex(plan.out, gains)
        network = self.run_program(line + "--tuner=network" + QUIET)
        self.assertTrue(network.stats["tuner"])
        self.assertLess(network.stats["step_time_us"], model.stats["step_time_us"])

    def test_nothing_left_is_an_error(self):
        run = self.run_program(
            "collperf --ranks=4 -b 1M --library=none --algorithm=ring --tuner=network", status=2
        )
        self.assertIn("--tuner=network: nothing of this run is left to it", run.err)
        run = self.run_program("collperf --ranks=4 -b 1M --tuner=netwrok", status=2)
        self.assertIn("network", run.err)


class ForGroupsOfServers(SystemTest):
    """Switches between servers are named, and some groups are in one server."""

    LINE = "dltrain --model=gpt2 --zero=0 --gpus-per-server=2 --tp=2 --dry-run --servers="
    NAMED = " --algorithm=all_reduce=collnet-direct@64K- --aggregation-groups=1"

    def test_others_take_what_auto_does(self):
        run = self.run_program(self.LINE + "8" + self.NAMED)
        self.assertIn(
            "--algorithm: collnet-direct all_reduce is not for groups of 2 ranks in one server; "
            "they take what auto does",
            run.err,
        )
        lines = run.out.splitlines()
        (dp,) = [x for x in lines if "dp, 2 groups of 8: " in x]
        (tp,) = [x for x in lines if "tp, 8 groups of 2: " in x]
        self.assertIn("collnet-direct", dp)
        self.assertIn("ring", tp)
        self.assertNotIn("collnet", tp)

    def test_where_there_are_only_others_it_is_an_error(self):
        run = self.run_program(self.LINE + "1" + self.NAMED.split(" --aggregation")[0], status=2)
        self.assertIn("collnet-direct all_reduce: ", run.err)
        self.assertEqual(len(run.err.strip().splitlines()), 1, run.err)


if __name__ == "__main__":
    main()
