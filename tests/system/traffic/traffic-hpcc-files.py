# SPDX-License-Identifier: GPL-2.0-only
"""HPCC's topology and flow files in, its fct file out."""

import sys

sys.path.append(sys.path[0] + "/../shared")
from _system_test import SystemTest, main

# Switches first, so that node numbers are not host numbers: 0 and 1 are leaves, 2 the spine, 3..6
# hosts.
TOPOLOGY = (
    "7 3 6\n0 1 2\n0 3 100Gbps 1000ns 0\n0 4 100Gbps 1000ns 0\n1 5 100Gbps 1000ns 0\n1 6"
    " 100Gbps 1000ns 0\n0 2 100Gbps 1000ns 0\n1 2 100Gbps 1000ns 0"
)
FLOWS = [(3, 5, 100, 1000000, 0), (4, 3, 200, 10, 0), (6, 3, 100, 40960, 0.001)]


def address(node):
    return "%08x" % (0x0B000001 + (node << 8))


class HpccFiles(SystemTest):
    def test_the_fct_file_is_that_of_the_flows(self):
        topology = self.write("topology.txt", TOPOLOGY)
        lines = "".join("%d %d 3 %d %d %.6f\n" % flow for flow in FLOWS)
        flow_file = self.write("flow.txt", "3\n" + lines)
        run = self.run_program(f"traffic --topology={topology} --flows={flow_file}")
        fct = {line.split()[0]: line.split()[1:] for line in run.text("fct.txt").splitlines()}
        self.assertEqual(len(fct), 3)
        rows = {row["flow"]: row for row in run.rows("flows.csv")}
        for number, (source, sink, port, size, start) in enumerate(FLOWS):
            with self.subTest(number):
                to, own_port, its_port, count, begin, took, alone = fct[address(source)]
                row = rows[number]
                self.assertEqual(to, address(sink))
                self.assertGreaterEqual(int(own_port), 0xC000)
                self.assertEqual(int(its_port), port)
                self.assertEqual((int(count), row["bytes"]), (size, size))
                self.assertEqual(int(begin), round(start * 1e9))
                self.assertEqual(int(begin), round(row["start_us"] * 1e3))
                self.assertEqual(int(took), int(row["fct_us"] * 1e3 + 0.5))
                self.assertEqual(int(alone), int(row["ideal_fct_us"] * 1e3 + 0.5))
                # The network is nearly idle.
                self.assertLessEqual(int(took), 1.02 * int(alone))
        self.assertWithin(run.stats["fct_slowdown"]["max"], 1, 0.02)


if __name__ == "__main__":
    main()
