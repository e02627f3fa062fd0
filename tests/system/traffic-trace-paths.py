# SPDX-License-Identifier: GPL-2.0-only
# ctest: TIMEOUT 120
"""--trace-paths: paths.csv, and the last column of attribution.csv."""

import json
from collections import Counter, defaultdict

from _system_test import SystemTest, main

QUIET = " --report=0 --timeline=0 --progress=0"


class TracePaths(SystemTest):
    def paths(self, line):
        run = self.run_program("traffic " + line + QUIET)
        return run.rows("paths.csv"), run

    def test_every_flow_has_one_way_with_ecmp_and_it_exists(self):
        # Flows of one queue pair each, both fabrics, odd sizes.
        for network in (
            "--topology=fat-tree --k=4 --hosts=16",
            "--topology=leaf-spine --leaves=3 --spines=5 --hosts-per-leaf=3 --hosts=9 --nic=25GbE",
            "--topology=torus --torus=3x3 --hosts=9",
            "--fabric=ib --nic=HDR --topology=fat-tree --k=4 --hosts=13",
        ):
            with self.subTest(network):
                rows, run = self.paths(
                    f"{network} --pattern=permutation --bytes=300001 --trace-paths=all"
                )
                flows = run.rows("flows.csv")
                self.assertEqual(sum(row["messages"] for row in rows), len(flows))
                self.assertEqual(sum(row["bytes"] for row in rows), len(flows) * 300001)
                self.assertEqual(run.stats["paths_csv"]["rows"], len(rows))
                self.assertEqual(run.stats["paths_csv"]["messages_left_out"], 0)
                topology = json.loads(run.text("topology.json"))
                names = [node["name"] for node in topology["nodes"]]
                cables = {
                    frozenset((names[link["a"]], names[link["b"]])) for link in topology["links"]
                }
                slowest = {row["flow"]: row["path"] for row in run.rows("attribution.csv")}
                longest = defaultdict(float)
                for flow in flows:
                    pair = (flow["src"], flow["dst"])
                    longest[pair] = max(longest[pair], flow["fct_us"])
                    self.assertTrue(slowest[flow["flow"]].startswith(flow["src"] + "->"))
                for row in rows:
                    nodes = [node.split("#")[0] for node in row["path"].split("->")]
                    self.assertEqual((nodes[0], nodes[-1]), (row["src"], row["dst"]))
                    self.assertEqual(len(set(nodes)), len(nodes), "a way in a circle")
                    for a, b in zip(nodes, nodes[1:]):
                        self.assertIn(frozenset((a, b)), cables)
                    self.assertAlmostEqual(
                        row["fct_us_max"], longest[(row["src"], row["dst"])], places=5
                    )
                    self.assertLessEqual(row["fct_us_mean"], row["fct_us_max"])

    def test_only_those_that_were_asked_for(self):
        line = "--k=4 --pattern=all-to-all --hosts=6 --bytes=10kB"
        everything, _ = self.paths(line + " --trace-paths=all")
        some, _ = self.paths(line + " --trace-paths=server-1,server-*->server-4")
        expected = [
            row for row in everything if row["src"] == "server-1" or row["dst"] == "server-4"
        ]
        self.assertEqual(some, expected)
        self.assertEqual(Counter(row["src"] for row in some)["server-1"], 5)

    def test_spraying_takes_several_ways(self):
        rows, _ = self.paths(
            "--topology=leaf-spine --leaves=2 --spines=4 --hosts-per-leaf=4 --hosts=8"
            " --pattern=all-to-all --bytes=4kB --trace-paths=all"
            " --ns3::RdmaSwitch::LoadBalancer=spray --loss-recovery=out-of-order"
        )
        spines = {row["path"].split("->")[2] for row in rows if row["path"].count("->") == 4}
        self.assertEqual(spines, {"spine-0", "spine-1", "spine-2", "spine-3"})

    def test_refuses_what_cannot_be(self):
        for line, what in (
            ("--trace-paths=all --attribution=0", "allowed: with --attribution=1"),
            ("--trace-paths=all --network=analytic", "--trace-paths"),
            ("--trace-paths=sever-1", "did you mean 'server-1'?"),
            ("--trace-paths=all --completion=sender", "without --completion=sender"),
            ("--trace-paths=all --mpi-ranks=2", "does not cross processes"),
            ("--trace-paths=server-1,server-1", "--trace-paths"),
        ):
            with self.subTest(line):
                run = self.run_program("traffic --k=4 " + line, status=2)
                self.assertIn(what, run.err)
                self.assertEqual(run.err.count("error"), 1, run.err)


if __name__ == "__main__":
    main()
