# SPDX-License-Identifier: GPL-2.0-only
# ctest: TIMEOUT 300
"""Networks of dimensions: ASTRA-sim's times by formula, the same in packets, bounds and input."""

import sys

sys.path.append(sys.path[0] + "/../shared")
from _system_test import SystemTest, main

# ASTRA-sim 2 (astra-sim/astra-sim@6c41279, analytical congestion-unaware, built and run;
# endpoint-delay 10, local-mem-bw 1600, 1 queue a dimension): words, sizes, GB/s, ns, operation,
# bytes of a rank at its begin, splits, order, whether baseline, and its time in ns.
R4 = ("Ring", "4", "100", "500")
ASTRA = [
    (R4, "all_reduce", 1 << 20, 4, "ascending", False, 28360),
    (R4, "all_gather", 1 << 20, 4, "ascending", False, 35452),
    (R4, "reduce_scatter", 1 << 20, 4, "ascending", False, 14920),
    (R4, "alltoall", 1 << 20, 4, "ascending", False, 26920),
    (("FullyConnected", "4", "100", "500"), "all_reduce", 1 << 26, 4, "ascending", False, 348068),
    (("Switch", "4", "100", "500"), "all_reduce", 1 << 20, 4, "ascending", False, 31320),
    (("Switch", "16", "50", "1000"), "alltoall", 1 << 26, 4, "ascending", False, 86204),
    (
        ("Switch_Ring", "8,4", "400,50", "936.25,1000"),
        "all_reduce",
        1 << 28,
        16,
        "themis",
        False,
        1552450,
    ),
    (
        ("Switch_Ring", "8,4", "400,50", "936.25,1000"),
        "all_reduce",
        1 << 28,
        16,
        "round-robin",
        False,
        4528176,
    ),
    (
        ("Ring_Ring_Ring", "4,4,4", "100,100,100", "300,300,300"),
        "all_reduce",
        1 << 28,
        4,
        "ascending",
        True,
        6202410,
    ),
    (
        ("Ring_Ring_Ring", "4,4,4", "100,100,100", "300,300,300"),
        "all_reduce",
        1 << 28,
        16,
        "themis",
        False,
        2088903,
    ),
    (
        ("FullyConnected_Switch", "8,4", "50,25", "300,1000"),
        "all_gather",
        1 << 26,
        4,
        "ascending",
        False,
        8766440,
    ),
]


class DimsTest(SystemTest):
    def time_us(self, line):
        return self.run_program("collperf " + line).rows("collectives.csv")[-1]["time_us"]

    def test_astra_sims_times(self):
        for words, op, size, splits, order, baseline, ns in ASTRA:
            ranks = 1
            for n in words[1].split(","):
                ranks *= int(n)
            # nccl-tests' all_gather counts what a rank has in the end.
            size *= ranks if op == "all_gather" else 1
            line = (
                f"--topology={words[0]} --npus-count={words[1]} --bandwidth={words[2]}"
                f" --latency={words[3]} --network=dims --op={op} -b {size} -e {size}"
                f" --splits={splits} --dimension-order={order}"
            )
            line += " --collective-optimization=baseline" if baseline else ""
            self.assertLess(abs(self.time_us(line) * 1e3 / ns - 1), 0.001, line)

    def test_packets_beside_formulas(self):
        # One chunk, one way round, nothing shared: packets have headers, and store and forward.
        for dims, rows in [
            ("ring:8@400Gbps,1us", "one-way-ring"),
            ("line:4@400Gbps,1us", "one-way-ring"),
            ("fc:5@200Gbps,300ns", "direct"),
            ("switch:8@400GBps,936ns+ring:3@50GBps,1us", "halving-doubling,one-way-ring"),
        ]:
            line = (
                f"--dims={dims} --algorithm=by-dimension --splits=1 --dimension-order=ascending"
                f" --dimension-algorithms={rows} -b 4M -e 4M"
            )
            packets = self.time_us(line + " --channels=1")
            formula = self.time_us(line + " --network=dims --local-memory-rate=100000GBps")
            self.assertGreater(packets, 0.98 * formula, line)
            self.assertLess(packets, 1.15 * formula, line)

    def test_defaults_are_near_the_bound(self):
        # Least possible: 2 (n-1) / n S over all links of a GPU at once.
        for dims, links, ranks in [("ring:8", 2, 8), ("torus:4x4", 4, 16), ("torus:4x4x4", 6, 64)]:
            us = self.time_us(f"--dims={dims}@400Gbps,1us -b 64M -e 64M")
            least = 2 * (ranks - 1) / ranks * (1 << 26) / (links * 50e9) * 1e6
            self.assertGreater(us, 0.98 * least)
            self.assertLess(us, least / 0.9)

    def test_bytes_to_neighbours_as_the_schedule_says(self):
        # One chunk in ascending order: reduce-scatter of S in the ring of 4, half of it each way
        # round, 3/4 of that to each neighbour, and all-gather as much; between them an all-reduce
        # of S / 4 at the switch of 2, half of it there and half of it back.
        run = self.run_program(
            "collperf --dims=ring:4@400Gbps,100ns+switch:2@40Gbps,1us --algorithm=by-dimension"
            " --splits=1 --dimension-order=ascending -b 16M -e 16M"
        )
        sent = {}
        for row in run.rows("flows.csv"):
            sent[row["src"], row["dst"]] = sent.get((row["src"], row["dst"]), 0) + row["bytes"]
        to = {dst.split(":")[0]: size for (src, dst), size in sent.items() if "server-0:" in src}
        ring = 2 * (1 << 23) * 3 / 4
        self.assertEqual(to, {"server-1": ring, "server-3": ring, "server-4": 1 << 22})

    def test_flits_by_hand(self):
        # Flits of 16 bytes, one of header for each 256: so many flits at 50 GB/s, and 300 ns.
        flits = {1: 2, 100: 8, 257: 19, 4096: 272, 1 << 20: 256 * 272}
        flows = "start_us,src,dst,bytes\n" + "".join(
            f"{100 * i},0,1,{size}\n" for i, size in enumerate(flits)
        )
        run = self.run_program(
            "traffic --dims=ring:2@50GBps,300ns --fabric=scale-up"
            f" --flows={self.write('flows.csv', flows)}"
        )
        for row in run.rows("flows.csv"):
            us = flits[row["bytes"]] * 16 / 50e3 + 0.3
            self.assertAlmostEqual(row["fct_us"], us, 5)
            self.assertAlmostEqual(row["ideal_fct_us"], us, 5)

    def test_infiniband_has_lanes_for_rings(self):
        # Half way round rings of 8 and of 6: permutations that wait for each other in a circle
        # without a dateline.
        for seed in range(1, 6):
            fabric = "ib" if seed % 2 else "scale-up"
            run = self.run_program(
                f"traffic --dims=ring:8@100Gbps,100ns+ring:6@100Gbps,100ns --fabric={fabric}"
                f" --pattern=permutation --bytes=256KiB --seed={seed}"
            )
            self.assertEqual(len(run.rows("flows.csv")), 48)

    def test_wrong_input_is_named(self):
        for line, text in [
            ("--topology=dims", "--dims: is needed; allowed: dimensions with a +"),
            ("--dims=rign:4", 'names no kind of dimension: "rign" (did you mean ring?)'),
            ("--dims=ring:4@400", "has no rate behind @"),
            ("--dims=ring:4 --servers=5", "5 GPUs are more than the 4 of ring:4"),
            ("--dims=ring:4 --gpus-per-server=8", "is one GPU with a NIC for each of its links"),
            ("--topology=torus --network=dims", "has formulas for networks of dimensions"),
            (
                "--topology=Ring_Switch --npus-count=4,4 --bandwidth=1 --latency=1,1",
                "bandwidth has 1 of 2 dimensions",
            ),
            ("--topology=Ring_Swich", "unknown topology"),
            ("--dims=ring:4 --splits=4", "has no meaning for all_reduce (torus)"),
            ("--dims=fc:70", "switch:70"),
            ("--dims=ring:4 --fabric=scale-up --pcap=all", "no format for the flits"),
            ("--dims=ring:4 --fabric=roce --link-frames=flits", "--link-frames=flits"),
        ]:
            bad = self.run_program("collperf -b 1M -e 1M " + line, status=2)
            self.assertIn(text, bad.err)


if __name__ == "__main__":
    main()
