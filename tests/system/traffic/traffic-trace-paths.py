# SPDX-License-Identifier: GPL-2.0-only
# ctest: TIMEOUT 120
"""--trace-paths: paths.csv, and the last column of attribution.csv."""

import json
import sys
from collections import Counter, defaultdict

sys.path.append(sys.path[0] + "/../shared")
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
                # 73.2 packets of 4,096 B (InfiniBand the same), all on one way.
                mtu = run.stats["configuration"]["fabric"]["mtu"]
                for row in rows:
                    self.assertEqual(row["packets"], row["messages"] * -(-300001 // mtu))
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

    def one_flow(self, packets, more):
        """Packets by spine of one flow of so many."""
        table = self.write("flow.csv", f"start_ns,src,dst,bytes\n0,0,5,{packets * 1024 - 1}\n")
        rows, run = self.paths(
            f"--topology=leaf-spine --leaves=2 --spines=5 --hosts-per-leaf=4 --hosts=8 --mtu=1024"
            f" --flows={table} --trace-paths=all {more}"
        )
        self.assertEqual(run.stats["paths_csv"]["packets_left_out"], 0)
        self.assertEqual([row["messages"] for row in rows].count(1), 1)
        for row in rows:
            self.assertEqual(row["bytes"], (packets * 1024 - 1) * row["messages"])
            self.assertEqual(row["fct_us_max"] == "", row["messages"] == 0)
        counts = [row["packets"] for row in rows]
        self.assertEqual(counts, sorted(counts, reverse=True), "the most used first")
        return counts, run

    def test_how_many_packets_took_each_of_five_ways(self):
        for packets in (1, 4, 2003):
            for fabric in ("", "--fabric=ib --nic=HDR "):
                # In turns: as even as it can be.
                counts, _ = self.one_flow(
                    packets, fabric + "--load-balancer=spray --spray=round-robin"
                )
                share, more = divmod(packets, 5)
                even = [share + 1] * more + [share] * (5 - more)
                self.assertEqual(counts, [count for count in even if count])
                # By chance: binomial, within 5 standard deviations of a fifth.
                counts, _ = self.one_flow(packets, fabric + "--load-balancer=spray --spray=random")
                self.assertEqual(sum(counts), packets)
                if packets > 2000:
                    self.assertEqual(len(counts), 5)
                    for count in counts:
                        self.assertLess(abs(count - packets / 5), 5 * (packets * 0.16) ** 0.5)
                counts, _ = self.one_flow(packets, fabric + "--load-balancer=ecmp")
                self.assertEqual(counts, [packets])

    def test_packets_that_are_sent_again_count_again(self):
        for more in (
            "--load-balancer=spray --timeout-exponent=6",
            "--transport=irn",
            "--timeout-exponent=6",
        ):
            counts, run = self.one_flow(
                3000, f"{more} --fault=drop,at=0us,on=leaf-0-spine-2,to=0.05"
            )
            # What was sent is what came, or was dropped on the way (ACKs too).
            lost = sum(run.stats["drops"].values())
            self.assertGreaterEqual(sum(counts), 3000, more)
            self.assertLessEqual(sum(counts), run.stats["data_packets"], more)
            self.assertGreaterEqual(sum(counts), run.stats["data_packets"] - lost, more)

    def test_packets_of_measured_messages_and_nothing_else_is_changed(self):
        for line in (
            "--topology=leaf-spine --leaves=3 --spines=3 --hosts=9 --pattern=poisson --load=0.4"
            " --sizes=websearch --warm-up=100us --duration=300us --load-balancer=spray",
            "--k=4 --pattern=all-to-all --bytes=70kB --transport=ndp",
            "--k=4 --pattern=all-to-all --bytes=70kB --load-balancer=reps --cc=dctcp",
            "--k=4 --pattern=all-to-all --bytes=70kB --cc=hpcc --engine=ns3",
        ):
            with self.subTest(line):
                rows, run = self.paths(line + " --trace-paths=all")
                flows = run.rows("flows.csv")
                # Nothing is lost for good, and with trimming what was trimmed comes again.
                least = sum(-(-flow["bytes"] // 4096) for flow in flows)
                again = run.stats["retransmitted_packets"]
                self.assertGreaterEqual(sum(row["packets"] for row in rows), least)
                self.assertLessEqual(sum(row["packets"] for row in rows), least + again)
                other = self.run_program("traffic " + line + QUIET)
                for name in ("flows.csv", "attribution.csv", "links.csv"):
                    self.assertEqual(run.text(name), other.text(name), name)

    def test_dltrain_counts_the_packets_of_measured_steps(self):
        line = (
            "dltrain --model=gpt2 --seq=64 --servers=4 --gpus-per-server=1 --topology=leaf-spine"
            " --hosts-per-leaf=2 --leaves=2 --spines=3 --steps=1 --load-balancer=spray"
            " --trace-paths=all" + QUIET
        )
        sums = []
        for warmup in (0, 2):
            run = self.run_program(f"{line} --warmup={warmup}")
            rows = run.rows("paths.csv")
            # A ring over two leaves: two pairs within one, two across by three spines.
            self.assertEqual(len(rows), 2 + 2 * 3)
            self.assertTrue(all(row["packets"] for row in rows))
            sums.append(sum(row["packets"] for row in rows))
        self.assertEqual(sums[0], sums[1])

    def test_refuses_what_cannot_be(self):
        for line, what in (
            ("--trace-paths=all --attribution=0", "allowed: with --attribution=1"),
            ("--trace-paths=all --network=analytic", "--trace-paths"),
            ("--trace-paths=sever-1", "did you mean 'server-1'?"),
            ("--trace-paths=all --completion=sender", "without --completion=sender"),
            ("--trace-paths=all --operation=read", "--operation=write or send"),
            ("--trace-paths=all --operation=read --fabric=ib", "--operation=write or send"),
            ("--trace-paths=all --mpi-ranks=2", "does not cross processes"),
            ("--trace-paths=server-1,server-1", "--trace-paths"),
        ):
            with self.subTest(line):
                run = self.run_program("traffic --k=4 " + line, status=2)
                self.assertIn(what, run.err)
                self.assertEqual(run.err.count("error"), 1, run.err)


if __name__ == "__main__":
    main()
