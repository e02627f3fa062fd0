# SPDX-License-Identifier: GPL-2.0-only
"""Settings of places (--set), rates and delays of tiers: they act where they are set and nowhere
else, and the bytes are the same over files, engines, threads and ranks.
"""

import json
import sys

sys.path.append(sys.path[0] + "/../shared")
from _mpi import MPIRUN
from _same_bytes import ALWAYS, SameBytesTest
from _system_test import main

QUIET = " --progress=0 --report=0 --timeline=0"
# Senders that do not hear of marks, so that queues are as long at each tier, whoever marks.
FAT_TREE = "traffic --k=4 --pattern=incast --fan-in=12 --bytes=1MB --cc=none" + QUIET
LEAF_SPINE = (
    "traffic --topology=leaf-spine --leaves=4 --spines=2 --hosts-per-leaf=4 --hosts=16"
    " --pattern=incast --fan-in=12 --bytes=1MB --cc=none" + QUIET
)
PLACES = (
    "traffic --k=4 --pattern=random-permutation --bytes=300kB --no-ecn --set=core:ecn=on"
    " --set=core-1:switch-latency=2us --set=agg-*:load-balancer=spray --set=edge-0-0:alpha=0.25"
    " --set=server-1:ns3::RdmaNic::MaxRate=50000000000 --tier-delay=core:1500ns --hash-seed=3"
    " --set=edge:hash-offset=8 --loss-recovery=out-of-order"
)
PLACES = PLACES.replace("edge-0-0:alpha", "edge-0-0:ns3::RdmaSwitch::Alpha")

# Two switches in a row.
CHAIN = {
    "defaults": {"rate": "100Gbps", "delay": "1us"},
    "nodes": [
        {"name": "a", "kind": "host"},
        {"name": "s", "kind": "switch", "tier": "low"},
        {"name": "t", "kind": "switch", "tier": "high", "set": {"switch_latency": "500ns"}},
        {"name": "b", "kind": "host"},
    ],
    "links": [{"from": "a", "to": "s"}, {"from": "s", "to": "t"}, {"from": "t", "to": "b"}],
}


class Places(SameBytesTest):
    def marks(self, line):
        """{switch: marks} of a run."""
        marks = {}
        for row in self.run_program(line).rows("links.csv"):
            node = row["link"].split("->")[0]
            marks[node] = marks.get(node, 0) + int(row["ecn_marks"])
        return {node: count for node, count in marks.items() if count}

    def test_ecn_at_one_tier_alone(self):
        for line, tier, others in (
            (FAT_TREE, "core", ("edge", "agg")),
            (LEAF_SPINE, "spine", ("leaf",)),
        ):
            line += " --ecn-kmin=5kB --ecn-kmax=20kB"
            everywhere = self.marks(line)
            for name in (tier, *others):
                self.assertTrue(any(node.startswith(name) for node in everywhere), everywhere)
            there = self.marks(line + f" --no-ecn --set={tier}:ecn=on")
            self.assertTrue(there)
            self.assertTrue(all(node.startswith(tier) for node in there), there)
            elsewhere = self.marks(line + f" --set={tier}:ecn=off")
            self.assertTrue(elsewhere)
            self.assertFalse(any(node.startswith(tier) for node in elsewhere), elsewhere)

    def fct_us(self, more="", chain=CHAIN):
        path = self.write("chain.json", json.dumps(chain))
        line = f"traffic --topology={path} --hosts=2 --pattern=incast --fan-in=1 --bytes=8MB {more}"
        line += QUIET
        return float(self.run_program(line).rows("flows.csv")[0]["fct_us"])

    def test_latency_to_the_picosecond(self):
        """One of two switches has 9.5 us instead of 0.5: 9 us more, by each way to say so."""
        plain = self.fct_us()
        slow = json.loads(json.dumps(CHAIN))
        slow["nodes"][2]["set"]["switch_latency"] = "9.5us"
        for more, chain in (
            (" '--set=t:switch-latency=9500ns'", CHAIN),
            (" --set=t:ns3::RdmaSwitch::PipelineLatency=9500ns", CHAIN),
            ("", slow),
        ):
            self.assertAlmostEqual(self.fct_us(more.replace("'", ""), chain) - plain, 9, 6, more)
        # The file's value is of a name, which a tier's does not win over, nor all switches'.
        self.assertEqual(self.fct_us(" --set=high:switch-latency=9500ns"), plain)
        self.assertEqual(self.fct_us(" --set=*:switch-latency=500ns"), plain)
        self.assertAlmostEqual(self.fct_us(" --set=low:switch-latency=9500ns") - plain, 9, 6)

    def test_polarization(self):
        """With one seed a switch of the second tier sends all that it gets from below by one
        port of its 4; with an offset of its own, or seeds of their own, by all.
        """
        line = "traffic --k=8 --pattern=random-permutation --bytes=20kB --cc=none" + QUIET

        def used(more):
            rows = self.run_program(line + more).rows("links.csv")
            return len(
                {
                    row["link"]
                    for row in rows
                    if row["link"].startswith("agg-") and "->core-" in row["link"]
                    and float(row["utilization"]) > 0.01
                }
            )

        own, one = used(""), used(" --hash-seed=7")
        self.assertLessEqual(one, 32)  # 32 switches, a port each
        self.assertGreater(own, 64)  # of 128
        self.assertGreater(used(" --hash-seed=7 --set=agg:hash-offset=8"), 64)

    def test_tiers_in_plan_and_results(self):
        line = (
            "traffic --k=4 --bytes=10kB --tier-rate=core:800Gbps --set=core:ecn-kmin=100kB"
            " --set=core-1:buffer=3MB" + QUIET
        )
        plan = self.run_program(line + " --dry-run").out
        # Hosts of all the network are chosen from: its switches are others than of the smallest.
        spread = self.run_program(
            "collperf --ranks=4 -b 4K --topology=leaf-spine --leaves=4 --hosts-per-leaf=4"
            " --placement=spread --set=leaf:switch-latency=1us" + QUIET
        )
        self.assertEqual(spread.stats["fabric"]["set"][0]["nodes"], 4)
        self.assertIn("core: 4 switches; links 800 Gb/s", plan)
        self.assertIn("the switches differ", plan)
        self.assertIn("core:ecn-kmin=100kB, core-1:buffer=3MB", plan)
        stats = self.run_program(line).stats
        tiers = {tier["tier"]: tier for tier in stats["fabric"]["tiers"]}
        self.assertEqual(tiers["core"]["rate_gbps"], 800)
        self.assertEqual(tiers["aggregation"]["rate_gbps"], 100)
        self.assertEqual(tiers["edge"]["ecn_kmin_bytes"], 400000)
        self.assertIsNone(tiers["core"]["ecn_kmin_bytes"])  # its switches differ
        self.assertEqual(
            [(s["place"], s["key"], s["as_run"], s["nodes"]) for s in stats["fabric"]["set"]],
            [("core", "ecn-kmin", "100000", 4), ("core-1", "buffer", "3000000", 1)],
        )
        self.assertNotIn("core: 4 switches", self.run_program("traffic --k=4 --dry-run").out)

    def test_same_bytes(self):
        expected = self.written(PLACES)
        for more in (" --engine=ns3", " --threads=3" + ALWAYS):
            with self.subTest(more):
                self.check_same(self.written(PLACES + more), expected)
        # From a file; and as it was run.
        configuration = self.run_program(PLACES).stats["configuration"]
        path = self.write("again.json", json.dumps(configuration))
        self.check_same(self.written(f"traffic --scenario={path}"), expected)
        line, settings = [], []
        for word in PLACES.split():
            (settings if word.startswith("--set=") else line).append(word)
        nested = {}
        for setting in sorted(word[len("--set=") :] for word in settings):
            left, value = setting.split("=")
            key = left[left.find(":ns3::") + 1 :] if ":ns3::" in left else left.split(":")[-1]
            nested.setdefault(left[: -len(key) - 1], {})[key.replace("-", "_")] = value
        path = self.write("set.json", json.dumps({"fabric": {"set": nested}}))
        by_file = self.written(" ".join(line) + f" --scenario={path}")
        for files in (by_file, expected):  # the order of settings of different places
            files.pop("stats.json")
        self.check_same(by_file, expected)

    def test_routes(self):
        """Of two ways from leaf to leaf the one that the file names, with any hash; when its link
        is cut there is none.
        """
        net = {
            "defaults": {"rate": "100Gbps", "delay": "1us"},
            "nodes": [{"name": f"h{i}", "kind": "host"} for i in range(8)]
            + [{"name": name, "kind": "switch"} for name in ("s", "t", "u", "v")],
            "links": [{"from": f"h{i}", "to": "st"[i // 4]} for i in range(8)]
            + [{"from": leaf, "to": spine} for leaf in "st" for spine in "uv"],
        }

        def used(routes, more=""):
            path = self.write("net.json", json.dumps({**net, "routes": routes}))
            line = f"traffic --topology={path} --pattern=permutation --offset=4 --bytes=20kB"
            rows = self.run_program(line + more + QUIET).rows("links.csv")
            return {row["link"] for row in rows if row["link"].startswith("s->")}

        self.assertEqual(
            {link for link in used([]) if link[3:] in "uv"}, {"s->u", "s->v"}
        )
        own = [{"at": "s", "to": ["h4", "h5", "h6", "h7"], "via": "v"}]
        own += [{"at": "t", "to": ["h0", "h1", "h2", "h3"], "via": ["v"]}]
        self.assertEqual({link for link in used(own) if link[3:] in "uv"}, {"s->v"})
        plan = self.write("net.json", json.dumps({**net, "routes": own}))
        self.assertIn(
            "8 next hops of the file",
            self.run_program(f"traffic --topology={plan} --dry-run").out,
        )
        self.refuse(f"traffic --topology={plan} --fabric=ib --dry-run", "")

    def test_ranks(self):
        if not MPIRUN:
            self.skipTest("no mpirun")
        self.compare_ranks(PLACES, (2, 3))

    def test_overtaking_at_places(self):
        """Packets that overtake each other at one place need senders that bear it, as with the
        options for the whole network.
        """
        line = "traffic --k=4 --dry-run"
        for given in ("core:load-balancer=spray", "edge:queue-disc=pifo"):
            done = self.run_program(f"traffic --k=4 --bytes=10kB --set={given}" + QUIET)
            fabric = done.stats["configuration"]["fabric"]
            self.assertEqual(fabric["loss_recovery"], "out-of-order")
            self.assertNotIn("overtake", done.out + done.err)
            done = self.run_program(f"{line} --loss-recovery=go-back-n --set={given}")
            self.assertIn(f"--set={given} with --loss-recovery=go-back-n", done.out + done.err)
        done = self.run_program("traffic --k=4 --bytes=10kB --set=core:load-balancer=wcmp" + QUIET)
        self.assertEqual(done.stats["configuration"]["fabric"]["loss_recovery"], "go-back-n")
        done = self.run_program(f"{line} --cc=hpcc --set=core:load-balancer=spray")
        self.assertIn("--cc=hpcc with --set=core:load-balancer=spray", done.out + done.err)

        chain = json.loads(json.dumps(CHAIN))
        chain["nodes"][2]["set"] = {"load_balancer": "spray"}
        plan = self.write("spray.json", chain)
        done = self.run_program(f"traffic --topology={plan} --bytes=10kB" + QUIET)
        fabric = done.stats["configuration"]["fabric"]
        self.assertEqual(fabric["loss_recovery"], "out-of-order")
        self.assertNotIn("overtake", done.out + done.err)
        done = self.run_program(f"traffic --topology={plan} --dry-run --loss-recovery=go-back-n")
        self.assertIn("with --loss-recovery=go-back-n", done.out + done.err)

    def test_keys_that_are_listed_are_settable(self):
        run = self.refuse("traffic --k=4 --dry-run --set=*:speed=1", "is no setting of a place")
        listed = run.err.split("allowed: ")[1].split(", ")
        for key in ("mtu", "ack-every", "loss-recovery", "payload", "time-unit"):
            self.assertNotIn(key, listed)
        self.assertIn("shaper", listed)

    def test_bad_places(self):
        line = "traffic --k=4 --dry-run"
        for given, words in (
            ("--set=cora:ecn=on", ("cora", "edge, aggregation, core", "did you mean 'core'?")),
            ("--set=core:ns3::RdmaSwitch::Alfa=1", ("Alfa", "did you mean")),
            ("--set=core:ns3::RdmaSwich::Alpha=1", ("RdmaSwich", "ns3::RdmaSwitch")),
            ("--set=core:ns3::RdmaSwitch::Alpha=x", ("'x'", "a number")),
            ("--set=core:mtu=1024", ("one for the whole network", "for all, --mtu=1024")),
            ("--set=hosts:loss-recovery=go-back-n", ("for all, --loss-recovery=go-back-n",)),
            ("--set=core:window=1MB", ("core:window=1MB", "NICs")),
            ("--set=hosts:ecn=on", ("hosts:ecn=on", "is of switches")),
            ("--set=core-0:1:ecn=on", ("core-0:1:ecn=on", "whole switches")),
            ("--set=core:ns3::DcqcnCongestionOps::G=0.5", ("congestion control",)),
            ("--set=core:ns3::MapScheduler::X=1", ("X",)),
            ("--set=core:load-balancer=sprai", ("sprai", "did you mean 'spray'")),
            ("--set=core:load-balancer=reps", ("reps chooses at the senders",)),
            ("--set=core:buffer=10kB", ("core", "too small")),
            ("--network=fluid --set=core:ecn=on", ("--set", "--network=packet")),
            ("--set=all:load-balancer=conga", ("conga needs every switch", "--load-balancer=")),
            ("--set=core:load-balancer=ugal", ("ugal needs every switch",)),
            ("--set=core:load-balancer=tables", ("tables does not exist", "--fabric=roce")),
            ("--transport=homa --set=edge:queue-disc=fq", ("edge:queue-disc=fq", "strictly")),
            ("--transport=uet --set=*:queue-disc=fq", ("*:queue-disc=fq", "trim", "drr")),
            ("--transport=homa --set=core:pfc=1", ("core:pfc=1", "homa", "pfc=0")),
            ("--transport=homa --set=edge:ecn=on", ("edge:ecn=on", "nobody to hear")),
            ("--transport=uet --set=edge:ecn=off", ("edge:ecn=off", "without marks")),
            (
                "--transport=homa --ns3::RdmaPort::QueueDisc=pifo",
                ("--ns3::RdmaPort::QueueDisc", "pifo", "strict"),
            ),
            (
                "--transport=homa --set=server-1:ns3::HomaParameters::Overcommitment=1",
                ("server-1", "transport of all NICs", "--ns3::HomaParameters::Overcommitment=1"),
            ),
            ("--set=agg-*:ecn-kmax=20kB", ("agg-*:ecn-kmax=20kB", "400kB", "20kB", "agg-0-0")),
            (
                "--set=edge-0-0:green_min_threshold=5000000",
                ("edge-0-0:green_min_threshold", "5MB", "of each port"),
            ),
        ):
            with self.subTest(given):
                self.refuse(f"{line} {given}", *words)


if __name__ == "__main__":
    main()
