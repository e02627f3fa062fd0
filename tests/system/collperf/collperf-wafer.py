# SPDX-License-Identifier: GPL-2.0-only
"""Collectives on a wafer with dead dies, and networks that are read back from a run's files."""

import sys

sys.path.append(sys.path[0] + "/../shared")
from _system_test import SystemTest, main

SMALL = "--warmup-iters=0 --iters=1 --check=0 --no-report --no-timeline -b 256K -e 256K"


class Wafer(SystemTest):
    def time_of(self, line):
        """Microseconds of the only row, and the run."""
        run = self.run_program(f"collperf {SMALL} {line}")
        return run.rows("collectives.csv")[0]["time_us"], run

    def test_living_dies_alone_communicate(self):
        # Dies 3 (x 3, y 0) and 11 (x 1, y 2) of 5x4 are dead: 18 ranks. A ring's step takes at
        # least its bytes on one link: 2 x 17 steps of 256 KiB / 18 at 750 GB/s, 0.66 us.
        for fabric in ("roce", "ib"):
            for op in ("all_reduce --algorithm=ring", "alltoall"):
                time, run = self.time_of(
                    f"--wafer=5x4@750GBps,20ns --dead=3,11 --fabric={fabric} --op={op}"
                )
                self.assertIn("18 ranks", run.out)
                links = {row["link"] for row in run.rows("links.csv")}
                self.assertIn("r-0-4->r-1-4", links)
                for dead in ("r-0-3", "r-2-1"):
                    self.assertFalse([link for link in links if dead in link])
                if "ring" in op:
                    self.assertGreater(time, 2 * 17 * (256 * 1024 / 18) / 750e3)

    def test_rows_need_a_box(self):
        wafer = "collperf -b 64K -e 64K --wafer=5x4@750GBps,20ns"
        self.refuse(f"{wafer} --dead=3 --algorithm=by-dimension", "by-dimension", "no box", "ring")
        self.refuse(f"{wafer} --dead=3 --algorithm=torus", "fill no box")
        self.run_program(f"{wafer} --dead=4,9,14,19 --algorithm=by-dimension")

    def test_a_cut_and_a_dead_rank_are_told(self):
        wafer = "collperf --wafer=5x4@750GBps,20ns"
        self.refuse(f"{wafer} --dead=1,5", "--dead=1,5", "cuts die 2", "off from die 0")
        self.refuse(f"{wafer} --dead=3,11 --ranks=20", "--ranks=20", "18")
        self.refuse(f"{wafer} --dead=3,3", "--dead=3,3", "twice")
        for alone, option in (("1x1", "--wafer"), ("2x1 --dead=1", "--dead"), ("1x1", "single")):
            self.refuse(f"collperf --wafer={alone}", option)

    def test_several_wafers(self):
        _, run = self.time_of("--wafer=fred-baseline --wafers=2 --dead=3 --op=alltoall")
        self.assertIn("39 ranks", run.out)
        self.assertIn("assumed", run.err)

    def test_a_network_is_read_back(self):
        dims = "ring:4@2400Gbps,50ns+switch:2@800Gbps,500ns"
        time, run = self.time_of(f"--dims={dims}")
        self.assertIn("network.yml", run.err)  # among "Files"
        # Of ASTRA-sim's file, whose rates are GB of 2^30 bytes with ten digits, too.
        for name in ("topology.json", "network.yml"):
            again, _ = self.time_of(f"--topology={run.path(name)}")
            self.assertEqual(again, time, name)
        # Wafers with holes, by the table that made them: routes and NICs are not in the file.
        for wafer in (
            "--wafer=4x3 --dead=5",
            "--wafer=4x3 --dead-links=1-2,6-10",
            "--wafer=fred-baseline --wafers=2",
        ):
            time, run = self.time_of(f"{wafer} --op=alltoall")
            for _ in range(2):  # of what was read, too
                again, run = self.time_of(f"--topology={run.path('topology.json')} --op=alltoall")
                self.assertEqual(again, time, wafer)
        # One that is no product of dimensions, by its nodes and links.
        time, run = self.time_of("--topology=leaf-spine --ranks=8 --gpus-per-server=1")
        again, _ = self.time_of(f"--topology={run.path('topology.json')} --gpus-per-server=1")
        self.assertEqual(again, time)

    def test_a_drawing(self):
        drawing = self.write(
            "net.dot",
            "graph { node [kind=switch] s t; node [kind=host]\n"
            'edge [rate="100Gbps", delay="1us"]\n'
            "s -- t; s -- {a b}; t -- {c d} }\n",
        )
        time, _ = self.time_of(f"--topology={drawing} --gpus-per-server=1")
        graph = self.write(
            "net.json",
            '{"defaults": {"rate": "100Gbps", "delay": "1us"}, "nodes": ['
            + ", ".join(f'{{"name": "{n}", "kind": "switch"}}' for n in "st")
            + ", "
            + ", ".join(f'{{"name": "{n}", "kind": "host"}}' for n in "abcd")
            + '], "links": ['
            + ", ".join(f'{{"from": "{a}", "to": "{b}"}}' for a, b in "st sa sb tc td".split())
            + "]}",
        )
        self.assertEqual(self.time_of(f"--topology={graph} --gpus-per-server=1")[0], time)
        # --link-delay is for links without a delay.
        bare = self.write("bare.dot", 'graph { edge [rate="100Gbps"] s -- {a b c} }')
        slow, _ = self.time_of(f"--topology={bare} --gpus-per-server=1 --link-delay=5us")
        fast, _ = self.time_of(f"--topology={bare} --gpus-per-server=1")
        self.assertGreater(slow, fast)


main()
