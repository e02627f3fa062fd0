# SPDX-License-Identifier: GPL-2.0-only
# ctest: TIMEOUT 900
"""--load-balancer: every scheme with every program and fabric, what it needs of NICs, what is told
of it, errors; several queue pairs a connection."""

import os
import sys
import unittest

sys.path.append(sys.path[0] + "/../shared")
from _system_test import ROOT, SystemTest

SCHEMES = ["ecmp", "wcmp", "spray", "flowlet", "drill", "conga", "conweave", "adaptive", "reps"]
SCHEMES += ["plb"]
ON_INFINIBAND = ["tables", "ecmp", "spray", "flowlet", "drill", "adaptive"]
ANY_ORDER = ["spray", "drill", "adaptive", "reps", "plb"]

SMALL = " --report=0 --timeline=0"
TRAFFIC = (
    "traffic --topology=leaf-spine --hosts=9 --leaves=3 --spines=4 --pattern=permutation"
    " --bytes=300kB" + SMALL
)
COLLPERF = (
    "collperf --op=alltoall -b 64K -e 64K --servers=4 --gpus-per-server=1 --topology=leaf-spine"
    " --leaves=2 --spines=3" + SMALL
)
DLTRAIN = (
    "dltrain --model=gpt2 --seq=64 --servers=4 --gpus-per-server=1 --topology=leaf-spine"
    " --leaves=2 --spines=3 --steps=1 --warmup=0" + SMALL
)


class Schemes(SystemTest):
    def test_order_is_of_rdma(self):
        """Of TCP's segments the simulator does not know which ones came out of order."""
        tcp = " --protocol=tcp --load-balancer=spray"
        words = " ".join(self.run_program(TRAFFIC + tcp).out.split())
        self.assertIn("no RDMA packets, of which alone the order is known", words)
        self.assertNotIn("of packets out of order", words)

    def test_each_runs_with_traffic(self):
        for scheme in SCHEMES:
            with self.subTest(scheme=scheme):
                run = self.run_program(TRAFFIC + " --load-balancer=" + scheme)
                stats = run.stats
                self.assertEqual(stats["flows"]["arrived"], 9)
                balance = stats["load_balancing"]
                self.assertEqual(balance["balancer"], scheme)
                fabric = stats["configuration"]["fabric"]
                self.assertEqual(fabric["load_balancer"], scheme)
                self.assertEqual(
                    fabric["loss_recovery"],
                    "out-of-order" if scheme in ANY_ORDER else "go-back-n",
                )
                # Uplinks of three leaves to four spines; a spine has one way down.
                (tier,) = balance["equal_cost_links"]
                self.assertEqual((tier["tier"], tier["sets"], tier["links"]), (1, 3, 12))
                self.assertGreaterEqual(tier["max_over_mean"], 1)
                self.assertLessEqual(tier["max_over_mean"], 4)
                self.assertEqual("Load balancing" in run.out, scheme != "ecmp")
                if scheme in ("ecmp", "wcmp", "flowlet"):
                    self.assertEqual(balance["out_of_order_packets"], 0)
                    self.assertEqual(balance["path_changes"], 0)
                if scheme in ("spray", "reps"):
                    self.assertGreater(balance["out_of_order_packets"], 0)
                    self.assertGreater(balance["largest_held_bytes"], 0)
                    self.assertEqual(stats["retransmitted_packets"], 0)
                if scheme in ("reps", "conweave"):
                    self.assertGreater(balance["path_changes"], 0)
                elif scheme != "plb":
                    self.assertEqual(balance["path_changes"], 0)

    def test_each_runs_with_infiniband(self):
        for scheme in ON_INFINIBAND:
            with self.subTest(scheme=scheme):
                run = self.run_program(TRAFFIC + " --fabric=ib --load-balancer=" + scheme)
                self.assertEqual(run.stats["flows"]["arrived"], 9)
                self.assertEqual(run.stats["load_balancing"]["balancer"], scheme)
        same = [
            self.run_program(TRAFFIC + " --fabric=ib " + words).stats["simulated_time_us"]
            for words in ("--adaptive-routing", "--load-balancer=adaptive")
        ]
        self.assertEqual(same[0], same[1])

    def test_each_runs_with_collperf_and_dltrain(self):
        for scheme in SCHEMES:
            with self.subTest(scheme=scheme):
                for program in (COLLPERF, DLTRAIN):
                    stats = self.run_program(program + " --load-balancer=" + scheme).stats
                    self.assertTrue(stats["completed"])
                    self.assertEqual(stats["load_balancing"]["balancer"], scheme)

    def test_spray_by_turns_is_even(self):
        # 245 packets a flow of 1 MB, three of a leaf, and as many ACKs of 84 B, which take turns
        # too. By chance: binomial, 735 packets, a quarter each: 184, standard deviation
        # sqrt(735 x 3 / 16) = 11.7, 6%, so the largest of four is some 7% above on average, and in
        # turns at most some packets.
        spread = {
            order: self.run_program(
                TRAFFIC.replace("300kB", "1MB") + " --load-balancer=spray --spray=" + order
            ).stats["load_balancing"]["equal_cost_links"][0]["max_over_mean"]
            for order in ("random", "round-robin", "least-queue")
        }
        self.assertLess(spread["round-robin"], 1.1)
        self.assertLess(spread["least-queue"], spread["random"])
        self.assertLess(spread["round-robin"], spread["random"])

    def test_where_the_time_went_is_known_of_overtaken_messages(self):
        """With schemes that lose the order too: of all messages, and the parts add up."""
        traced = TRAFFIC + " --trace-paths=all --load-balancer="
        for scheme in SCHEMES:
            for more in ("", " --bit-error-rate=1e-7"):
                with self.subTest(scheme=scheme, more=more):
                    run = self.run_program(traced + scheme + more)
                    told = run.stats["attribution"]
                    self.assertEqual(told["messages"], 9)
                    self.assertEqual(told["messages_unknown"], 0)
                    self.assertAlmostEqual(sum(told["share"].values()), 1)
                    rows = run.rows("attribution.csv")
                    self.assertEqual(len(rows), 9)
                    for row in rows:
                        parts = sum(
                            value
                            for key, value in row.items()
                            if key.endswith("_us")
                            and key not in ("fct_us", "ideal_fct_us", "lost_us", "at_port_us")
                        )
                        self.assertAlmostEqual(parts, row["fct_us"], 5)
                    self.assertEqual(sum(row["messages"] for row in run.rows("paths.csv")), 9)

    def test_hash_collisions(self):
        """Three flows leave each of three leaves by four spines: pairs on one link, as a spine is
        always empty; where flows keep no ways nothing is said."""
        for seed in (1, 2, 3):
            run = self.run_program(f"{TRAFFIC} --trace-paths=all --seed={seed}")
            uplinks = {}
            for row in run.rows("paths.csv"):
                hops = row["path"].split("->")
                if len(hops) == 5:
                    uplinks.setdefault((hops[1], hops[2]), []).append(row)
            pairs = sum(len(rows) * (len(rows) - 1) // 2 for rows in uplinks.values())
            self.assertEqual(run.stats["load_balancing"]["hash_collisions"], pairs)
        for more in ("--load-balancer=spray", "--attribution=0"):
            stats = self.run_program(f"{TRAFFIC} {more}").stats
            self.assertIsNone(stats["load_balancing"]["hash_collisions"])
        with open(os.path.join(ROOT, "docs", "keys.md"), encoding="utf-8") as file:
            (line,) = [line for line in file if "load_balancing.hash_collisions" in line]
        for why in ("no path", "no --attribution", "several processes", "100,000 flows"):
            self.assertIn(why, line)

    def test_a_gap_of_nothing_sprays(self):
        for scheme in ("flowlet", "conga"):
            run = self.run_program(f"{TRAFFIC} --load-balancer={scheme} --flowlet-gap=0ns")
            self.assertEqual(
                run.stats["configuration"]["fabric"]["loss_recovery"], "out-of-order"
            )
            run = self.run_program(
                f"{TRAFFIC} --load-balancer={scheme} --flowlet-gap=0ns --loss-recovery=go-back-n"
            )
            self.assertIn("packets overtake each other", " ".join(run.err.split()))

    def test_same_bytes_again(self):
        for scheme in SCHEMES:
            with self.subTest(scheme=scheme):
                flows = [
                    self.run_program(TRAFFIC + " --load-balancer=" + scheme + words).text(
                        "flows.csv"
                    )
                    for words in ("", " --engine=ns3", " --threads=2")
                ]
                self.assertEqual(flows[0], flows[1])
                self.assertEqual(flows[0], flows[2])

    def test_a_configuration_as_run_runs_again(self):
        for scheme in ("spray", "conga", "reps"):
            with self.subTest(scheme=scheme):
                run = self.run_program(TRAFFIC + " --load-balancer=" + scheme)
                again = self.run_program(
                    "traffic --scenario=" + self.write("again.json", run.stats["configuration"])
                )
                self.assertEqual(run.text("flows.csv"), again.text("flows.csv"))


class Errors(SystemTest):
    def test_errors(self):
        for words, part in (
            ("--load-balancer=sprai", "spray"),
            ("--load-balancer=conga --fabric=ib", "does not exist with --fabric=ib"),
            ("--load-balancer=reps --fabric=ib", "LIDs"),
            ("--load-balancer=plb --fabric=ib", "LIDs"),
            ("--load-balancer=tables", "does not exist with --fabric=roce"),
            ("--load-balancer=spray --fabric=ib --adaptive-routing", "adaptive"),
            ("--spray=least-queue", "needs --load-balancer=spray"),
            ("--load-balancer=spray --flowlet-gap=1us", "flowlet or conga"),
            ("--load-balancer=spray --ecmp-resilient", "combined with --load-balancer=spray"),
            ("--load-balancer=spray --network=analytic", "packet"),
            ("--load-balancer=spray --ns3::RdmaSwitch::LoadBalancer=drill", "says another"),
            (
                "--load-balancer=flowlet --flowlet-gap=5us --ns3::FlowletLoadBalancer::Gap=3us",
                "allowed: one of them",
            ),
        ):
            with self.subTest(words=words):
                self.refuse(TRAFFIC + " " + words, part)
        run = self.run_program(TRAFFIC + " --ns3::RdmaNic::PathSelector=rep", status=2)
        self.assertIn("did you mean reps", run.err)
        self.refuse("traffic --k=4 --load-balancer=reps --transport=ndp", "--transport=ndp")
        run = self.run_program(TRAFFIC + " --load-balancer=spray --loss-recovery=go-back-n")
        self.assertIn("packets overtake each other", run.err)
        self.assertGreater(run.stats["retransmitted_packets"], 0)

    def test_attributes_still_choose(self):
        run = self.run_program(
            TRAFFIC + " --ns3::RdmaSwitch::LoadBalancer=spray --loss-recovery=out-of-order"
        )
        self.assertEqual(run.stats["load_balancing"]["balancer"], "spray")
        self.assertNotIn("overtake", run.err)
        # What an option would have decided is the user's: it is told, of either fabric.
        for fabric, switch in (("roce", "RdmaSwitch"), ("ib", "IbSwitch")):
            for balancer, warned in (("spray", True), ("drill", True), ("ecmp", False)):
                attribute = f"ns3::{switch}::LoadBalancer={balancer}"
                plan = self.run_program(f"{TRAFFIC} --fabric={fabric} --{attribute} --dry-run")
                self.assertEqual("overtake each other" in plan.err, warned, attribute)
                self.assertIn("ns-3 attributes " + attribute, plan.out)
        plan = self.run_program(TRAFFIC + " --ns3::RdmaNic::Mtu=1024 --dry-run")
        self.assertIn("ns3::RdmaNic::Mtu=1024 overrides --mtu", plan.err)
        # One is as run: a configuration has the option's default and the attribute, which counts.
        run = self.run_program(
            TRAFFIC + " --load-balancer=flowlet --ns3::FlowletLoadBalancer::Gap=3us"
        )
        again = self.run_program(
            "traffic --scenario=" + self.write("as-run.json", run.stats["configuration"])
        )
        self.assertEqual(again.text("flows.csv"), run.text("flows.csv"))


class QueuePairs(SystemTest):
    def test_splitting_and_turns(self):
        base = self.run_program(COLLPERF).stats
        for n in (2, 3, 5):
            for words in ("", " --split-data-on-qps"):
                with self.subTest(n=n, words=words):
                    run = self.run_program(COLLPERF + f" --qps-per-connection={n}" + words)
                    self.assertEqual(run.stats["data_bytes"], base["data_bytes"])
                    # A split message is n of them, empty ones too.
                    self.assertEqual(
                        run.stats["messages"], base["messages"] * (n if words else 1)
                    )
        same = self.run_program(COLLPERF + " --qps-per-connection=1 --split-data-on-qps").stats
        self.assertEqual(same["simulated_time_us"], base["simulated_time_us"])

    def test_dltrain_both_fabrics_engines_and_attribution(self):
        for fabric in ("", " --fabric=ib"):
            for words in (" --qps-per-connection=4", " --qps-per-connection=4 --split-data-on-qps"):
                with self.subTest(fabric=fabric, words=words):
                    runs = [
                        self.run_program(DLTRAIN + fabric + words + engine).stats
                        for engine in ("", " --engine=ns3")
                    ]
                    for key in ("simulated_time_us", "messages", "data_bytes", "fct_us"):
                        self.assertEqual(runs[0][key], runs[1][key])
                    shares = runs[0]["attribution"]["share"]
                    self.assertAlmostEqual(sum(shares.values()), 1, places=6)

    def test_nccl_variables(self):
        nccl = self.run_program(
            COLLPERF + " --nccl-env=NCCL_IB_QPS_PER_CONNECTION=3,NCCL_IB_SPLIT_DATA_ON_QPS=1"
        )
        ours = self.run_program(COLLPERF + " --qps-per-connection=3 --split-data-on-qps")
        self.assertEqual(nccl.stats["simulated_time_us"], ours.stats["simulated_time_us"])
        self.refuse(COLLPERF + " --qps-per-connection=0", "1 to 128")


if __name__ == "__main__":
    unittest.main()
