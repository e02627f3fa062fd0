# SPDX-License-Identifier: GPL-2.0-only
# ctest: TIMEOUT 240
"""--fidelity=fast: rings whose end follows from their first steps."""

import sys

sys.path.append(sys.path[0] + "/../shared")
from _system_test import SystemTest, main

QUIET = " --report=0 --timeline=0 --progress=0"
RING = "collperf --algorithm=ring"


class FastRings(SystemTest):
    def both(self, line):
        return [
            self.run_program(f"{line} --fidelity={fidelity}{QUIET}").stats
            for fidelity in ("packet", "fast")
        ]

    def test_ends_as_in_packets(self):
        # Where no two messages of a ring share a port, the recurrence has the times of its hops.
        # An ACK more or less in front of a message is what it does not know: 7 ns at 100 Gb/s.
        for line, foreseen, fewer in (
            # Steps that take what the NIC takes for a chunk.
            (f"{RING} --servers=32 --ranks=32 --minbytes=4M --iters=4", 1, 2),
            # Chunks of two sizes, an odd number of ranks, InfiniBand.
            (f"{RING} --servers=33 --ranks=33 --minbytes=1M --iters=4 --fabric=ib", 2, 4),
            # Steps that take what their latencies are, servers of 8 GPUs, leaves and spines.
            (
                f"{RING} --servers=8 --server=dgx-a100 --nics-per-server=1 --topology=leaf-spine"
                " --minbytes=1M --iters=4",
                3,
                2,
            ),
            # A NIC a GPU: eight rings that meet inside servers only.
            (
                f"{RING} --servers=16 --server=dgx-h100 --topology=rail-optimized --minbytes=16M"
                " --iters=1 --fabric=ib",
                1,
                4,
            ),
            # One bucket right behind the other, whose last messages are still at the NICs.
            (
                "dltrain --model=gpt2 --zero=1 --topology=rail-optimized --servers=8"
                " --server=dgx-a100 --nics-per-server=1 --nic=100GbE --steps=1 --warmup=0",
                5,
                2,
            ),
        ):
            with self.subTest(line):
                packet, fast = self.both(line)
                ratio = fast["simulated_time_us"] / packet["simulated_time_us"]
                self.assertLess(abs(ratio - 1), 1e-4)
                its = fast["fast_forward"]
                self.assertGreaterEqual(its["foreseen"], foreseen)
                self.assertGreaterEqual(its["error"], abs(ratio - 1))
                self.assertGreater(packet["frame_hops"], fewer * fast["frame_hops"])

    def test_threads_agree(self):
        line = f"{RING} --servers=8 --server=dgx-a100 --nics-per-server=1 --minbytes=1M --iters=4"
        line += " --fidelity=fast" + QUIET
        runs = [
            self.run_program(line + more)
            for more in (" --threads=1", " --threads=2", " --threads=4", " --engine=ns3")
        ]
        for name in ("collectives.csv", "flows.csv", "links.csv"):
            rows = [run.rows(name) for run in runs]
            self.assertGreater(len(rows[0]), 0)
            for other in rows[1:]:
                self.assertEqual(rows[0], other)


if __name__ == "__main__":
    main()
