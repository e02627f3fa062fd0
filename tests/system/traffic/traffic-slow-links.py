# SPDX-License-Identifier: GPL-2.0-only
"""A frame that takes its time on a slow or a long link is no deadlock."""

import sys

sys.path.append(sys.path[0] + "/../shared")
from _system_test import SystemTest, main

# Five packets of 4096 B at most, 82 B around each, and a RETH of 16 B.
WIRE = 20000 + 5 * 82 + 16


class SlowLinks(SystemTest):
    def over(self, links, more=""):
        """A message of 20 kB from host 0 to host 1."""
        topology = self.write("links.txt", "3 1 2\n2\n" + links)
        message = self.write("flow.txt", "1\n0 1 3 100 20000 0\n")
        run = self.run_program(f"traffic --topology={topology} --flows={message} {more}")
        self.assertTrue(run.stats["completed"], run.stats.get("message"))
        return run

    def slow(self, more=""):
        """A link of 1 kb/s behind one of 100 Gb/s: each frame takes half a minute, in which no
        other is sent.
        """
        return self.over("0 2 100Gbps 1us 0\n1 2 1kbps 1us 0\n", more)

    def test_a_slow_link(self):
        """Time-outs fill the switch with retransmissions, so it pauses the sender again and again
        meanwhile.
        """
        run = self.slow()
        self.assertEqual(run.stats["flows"]["arrived"], 1)
        self.assertGreater(run.stats["pfc_pauses"], 0)
        (flow,) = run.rows("flows.csv")
        self.assertWithin(flow["fct_us"], WIRE * 8e3, 0.01)

    def test_shares_add_up_without_retransmissions(self):
        """links.csv is written all the time, although no frame begins for half a minute."""
        run = self.slow("--timeout-exponent=26")
        self.assertEqual(run.stats["retransmitted_packets"], 0)
        rows = [row for row in run.rows("links.csv") if row["link"] == "switch-2->server-1"]
        busy = sum(row["utilization"] for row in rows) * run.stats["links_csv"]["interval_us"]
        self.assertWithin(busy, WIRE * 8e3, 0.02)

    def test_to_the_moon(self):
        """1.3 s there and back again, twice."""
        run = self.over(
            "0 2 100Gbps 1300ms 0\n1 2 100Gbps 1300ms 0\n", "--pfc=0 --timeout-exponent=22"
        )
        self.assertWithin(run.stats["flows"]["last_arrival_us"], 2.6e6, 0.001)


if __name__ == "__main__":
    main()
