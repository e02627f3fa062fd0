# SPDX-License-Identifier: GPL-2.0-only
"""InfiniBand on graphs of one's own: shortest paths where the lanes are enough, else what they
would need is said.
"""

import itertools
import sys

sys.path.append(sys.path[0] + "/../shared")
from _system_test import SystemTest, main


class IbGraphsTest(SystemTest):
    def graph(self, name, hosts, edges):
        """A file; `hosts` on each switch of `edges`."""
        switches = sorted({node for edge in edges for node in edge})
        nodes = [{"name": f"s{s}", "kind": "switch"} for s in switches]
        wires = [(f"s{a}", f"s{b}") for a, b in edges]
        for s in switches:
            for h in range(hosts):
                nodes.insert(0, {"name": f"h{s}-{h}", "kind": "host"})
                wires.append((f"h{s}-{h}", f"s{s}"))
        links = [{"from": a, "to": b, "rate": "100Gbps", "delay": "100ns"} for a, b in wires]
        return self.write(name, {"nodes": nodes, "links": links})

    def ring(self):
        return self.graph("ring.json", 1, [(s, (s + 1) % 6) for s in range(6)])

    def slim_fly(self):
        """50 switches of degree 7 and diameter 2: Besta and Hoefler, SC 2014, q = 5."""
        q = 5
        edges = []
        for x, y in itertools.product(range(q), repeat=2):
            for half, steps in enumerate(((1, 4), (2, 3))):
                at = q * q * half + q * x
                edges += [(at + y, at + z) for z in range(y) if y - z in steps]
            edges += [(q * x + y, q * q + q * m + (y - m * x) % q) for m in range(q)]
        return self.graph("slim-fly.json", 2, edges)

    def run_on(self, file, more=""):
        run = self.run_program(
            f"traffic --topology={file} --fabric=ib --pattern=random-permutation --bytes=300kB"
            f" --report=0 --timeline=0{more}"
        )
        return run.stats["flows"]["last_arrival_us"], run.out + run.err

    def test_one_lane_says_how_much_longer_its_paths_are(self):
        # Of six switches in a ring: 9 / 5 links on average; up*/down* turns nowhere at the switch
        # across from its root, so two of 30 pairs take four links for two.
        _, text = self.run_on(self.ring())
        self.assertIn(
            "note: the subnet: paths of updn have 1.93 links between switches on average, shortest"
            " paths 1.80; --ib-routing=dfsssp --vls=2 takes these",
            text,
        )

    def test_with_the_lanes_paths_are_the_shortest(self):
        for file in (self.ring(), self.slim_fly()):
            with self.subTest(file):
                longer, text = self.run_on(file)
                self.assertIn("takes these", text)
                shortest, text = self.run_on(file, " --vls=2")
                self.assertNotIn("takes these", text)
                self.assertNotIn("deadlock", text)
                asked, _ = self.run_on(file, " --vls=2 --ib-routing=dfsssp")
                self.assertEqual(shortest, asked)
                self.assertLessEqual(shortest, longer)
        # The network of diameter 2: 109 us with up*/down*, 73 with shortest paths.
        self.assertLess(shortest, 0.75 * longer)

    def test_a_tree_has_nothing_to_say(self):
        _, text = self.run_on(self.graph("line.json", 2, [(0, 1), (1, 2)]))
        self.assertNotIn("takes these", text)


if __name__ == "__main__":
    main()
