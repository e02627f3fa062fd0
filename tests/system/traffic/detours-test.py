# SPDX-License-Identifier: GPL-2.0-only
# ctest: TIMEOUT 900
"""--load-balancer=valiant, ugal: which ways packets take, what that makes of a dragonfly that is
sent to badly, and that all of it repeats.

A dragonfly of a = 8 switches a group with p = 1 host and h = 1 global link each has g = a h + 1 = 9
groups, each two joined by one link, and no way of two global links that is a shortest one: from
where a global link ends the next global link leads back."""

import sys
import unittest

sys.path.append(sys.path[0] + "/../shared")
from _same_bytes import SameBytesTest
from _system_test import SystemTest

SMALL = " --report=0 --timeline=0"
WIDE = (
    "--topology=dragonfly --groups=9 --group-switches=8 --hosts-per-switch=1 --global-links=1"
    " --hosts=72"
)
# Every host of group i sends to group i + 1, to the host of the same place.
ADVERSE = f"traffic {WIDE} --pattern=permutation --offset=8 --bytes=2MB --cc=dctcp" + SMALL
DETOURS = ["valiant", "ugal"]


def switches_of(row):
    return row["path"].split("->")[1:-1]


def group_of(switch):
    return switch.split("-")[1]


class Ways(SystemTest):
    def ways(self, line):
        run = self.run_program(line + " --trace-paths=all")
        self.assertEqual(run.stats["flows"]["arrived"], run.stats["flows"]["all"])
        rows = [row for row in run.rows("paths.csv") if row["packets"] > 0]
        self.assertTrue(rows)
        return rows

    def test_valiant_goes_by_a_third_group(self):
        # Two shortest ways, of at most 3 links each; such a way may itself go by another group,
        # where global, local, global is as short as local, global, local.
        rows = self.ways(ADVERSE.replace("2MB", "100kB") + " --load-balancer=valiant")
        third = set()
        direct = packets = 0
        for row in rows:
            switches = switches_of(row)
            groups = [group_of(switch) for switch in switches]
            between = set(groups) - {groups[0], groups[-1]}
            direct += 0 if between else row["packets"]
            packets += row["packets"]
            self.assertLessEqual(len(switches) - 1, 6, row["path"])
            third |= {(groups[0], group) for group in between}
        # Where the first part leads over the destination's own switch, it ends there: 1 of 8
        # switches, for 1 of 7 groups, on one of several ways.
        self.assertLess(direct, 0.05 * packets)
        # By chance each of 9 groups meets all 7 others that it may.
        self.assertEqual(len(third), 9 * 7)

    def test_what_stays_in_its_group_makes_no_detour(self):
        line = (
            f"traffic {WIDE} --pattern=all-to-all --bytes=4kB --load-balancer=valiant"
            + SMALL
        )
        for row in self.ways(line):
            switches = switches_of(row)
            if group_of(switches[0]) == group_of(switches[-1]):
                self.assertEqual(len(switches), 2, row["path"])

    def test_ugal_takes_shortest_ways_where_nobody_waits(self):
        # One host sends, at the rate of its link, so no switch has a queue.
        line = (
            f"traffic {WIDE} --pattern=incast --fan-in=1 --target=23 --bytes=500kB"
            " --load-balancer="
            + SMALL
        )
        shortest = self.ways(line.replace("balancer= ", "balancer=ugal "))
        self.assertLessEqual(max(len(switches_of(row)) for row in shortest), 4)
        detours = self.ways(line.replace("balancer= ", "balancer=valiant "))
        self.assertGreater(len(detours), len(shortest))

    def test_on_other_networks_by_a_switch(self):
        """HyperX of 2 dimensions and tori: two shortest ways, one behind the other."""
        for network, most in (
            ("--topology=hyperx --hyperx=4x3 --hosts-per-switch=2 --hosts=24 --nic=25GbE", 4),
            ("--topology=torus --torus=5 --hosts-per-switch=1 --hosts=5", 4),
            ("--topology=dragonfly-plus --hosts=24 --nic=200GbE", 6),
        ):
            line = f"traffic {network} --pattern=permutation --offset=2 --bytes=60kB" + SMALL
            for scheme in DETOURS:
                with self.subTest(network=network, scheme=scheme):
                    rows = self.ways(line + " --load-balancer=" + scheme)
                    longest = max(len(switches_of(row)) - 1 for row in rows)
                    self.assertLessEqual(longest, most)
            shortest = self.ways(line)
            self.assertLess(max(len(switches_of(row)) - 1 for row in shortest), longest)

    def test_of_a_file(self):
        nodes = []
        links = []
        for i in range(5):
            nodes += [{"name": f"h{i}", "kind": "host"}, {"name": f"s{i}", "kind": "switch"}]
            links.append({"from": f"h{i}", "to": f"s{i}"})
            links += [{"from": f"s{i}", "to": f"s{j}"} for j in range(i)]
        network = self.write(
            "full-mesh.json",
            {"defaults": {"rate": "40Gbps", "delay": "500ns"}, "nodes": nodes, "links": links},
        )
        line = f"traffic --topology={network} --pattern=permutation --bytes=100kB"
        for row in self.ways(line + " --load-balancer=valiant" + SMALL):
            self.assertEqual(len(switches_of(row)), 3)

    def test_a_failed_link_is_gone_round(self):
        for scheme in DETOURS:
            run = self.run_program(
                ADVERSE.replace("2MB", "1MB")
                + f" --load-balancer={scheme} --fault=link-down,at=50us,on=sw-0-0-sw-1-7"
            )
            self.assertEqual(run.stats["flows"]["arrived"], 72)


class Throughput(SystemTest):
    """Of what hosts could send, by all that arrives until the last flow has."""

    def share_of(self, line):
        flows = self.run_program(line).stats["flows"]
        self.assertEqual(flows["arrived"], flows["all"])
        hosts = 72
        return flows["goodput_gbps"] / (100 * hosts)

    def test_adverse(self):
        # Shortest ways: the 8 hosts of a group share one link, 1 / (a h) = 1/8. Detours: each of 7
        # third groups gets 8/7 of a host's rate from a group and sends as much on, so a global link
        # carries 16/7 of it: at most 7/16 (1/2 for many groups).
        shortest = self.share_of(ADVERSE)
        self.assertLess(shortest, 1 / 8)
        self.assertGreater(shortest, 0.85 / 8)
        valiant = self.share_of(ADVERSE + " --load-balancer=valiant")
        self.assertLess(valiant, 7 / 16)
        self.assertGreater(valiant, 0.7 * 7 / 16)

    def test_uniform(self):
        # All to all, 71 flows a host, 64 of them to other groups. Shortest ways: 64 flows share the
        # link of each two groups, so a host's own link, with 71, is the bound. Detours: 128, so at
        # most 71/128 of what hosts could send.
        line = f"traffic {WIDE} --pattern=all-to-all --bytes=40kB --cc=dctcp" + SMALL
        shortest = self.share_of(line)
        valiant = self.share_of(line + " --load-balancer=valiant")
        self.assertLess(valiant, 71 / 128)
        self.assertGreater(shortest, 1.2 * valiant)


class Repeats(SameBytesTest):
    def test_engines_threads_and_processes(self):
        for scheme in DETOURS:
            line = ADVERSE.replace("2MB", "60kB") + " --load-balancer=" + scheme
            runs = [
                self.run_program(line + words).text("flows.csv")
                for words in ("", " --engine=ns3", " --threads=2", " --mpi-ranks=2")
            ]
            self.assertEqual(runs.count(runs[0]), len(runs), scheme)


class Refused(SystemTest):
    def test_what_cannot_be(self):
        for scheme in DETOURS:
            with self.subTest(scheme=scheme):
                tree = "traffic --k=4 --bytes=10kB --load-balancer=" + scheme
                self.refuse(tree, "--load-balancer", scheme, "nothing to gain", "dragonfly")
                self.refuse(
                    f"traffic {WIDE} --fabric=ib --load-balancer={scheme}",
                    "does not exist with --fabric=ib",
                )
                run = self.run_program(
                    ADVERSE.replace("2MB", "10kB") + " --load-balancer=" + scheme
                )
                self.assertIn("runs without PFC", " ".join(run.err.split()))
                self.assertFalse(run.stats["configuration"]["fabric"]["pfc"])


if __name__ == "__main__":
    unittest.main()
