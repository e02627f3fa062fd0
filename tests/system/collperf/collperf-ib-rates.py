# SPDX-License-Identifier: GPL-2.0-only
"""InfiniBand at every rate gets what its line carries: cables and credits fit by default, and a run
whose credits do not cover its cables says so.
"""

import sys

sys.path.append(sys.path[0] + "/../shared")
from _system_test import MTU, SystemTest, main, nccl_table

HEADERS = 28  # LRH 8, BTH 12, ICRC 4, VCRC 2, delimiters 2
GBPS = {"EDR": 100, "HDR100": 100, "HDR": 200, "NDR200": 200, "NDR": 400, "XDR": 800}
RING = (
    "collperf --library=none --op=all_reduce --algorithm=ring --ranks=2 --gpus-per-server=1"
    " --topology=single-switch "
)


class Rates(SystemTest):
    def busbw(self, options, size="64M"):
        run = self.run_program(f"{RING} -b {size} -e {size} {options}")
        (row,) = nccl_table(run.out)
        return run, row["busbw"]

    def test_two_ranks_fill_the_line_at_every_rate(self):
        # With two ranks each sends and receives all the time. An ACK of 32 B each 16 packets, an
        # update of 8 B each 8: 0.06%.
        for nic, gbps in GBPS.items():
            run, busbw = self.busbw(f"--nic={nic}")
            self.assertWithin(busbw, gbps / 8 * MTU / (MTU + HEADERS), 0.006, nic)
            self.assertNotIn("the credits of a lane", run.err, nic)

    def test_too_long_a_cable_is_told_and_larger_blocks_fill_it(self):
        run, busbw = self.busbw("--nic=NDR --link-delay=1us")
        self.assertLess(busbw, 45)
        self.assertIn(
            "warning: the credits of a lane, 128KiB, do not cover the round trip of", run.err
        )
        # 2 x 8.2 us of 10.8 ms
        run, busbw = self.busbw("--nic=NDR --link-delay=4us --credit-block=512B", "512M")
        self.assertWithin(busbw, 50 * MTU / (MTU + HEADERS), 0.006, "credit blocks of 512 B")
        self.assertNotIn("the credits of a lane", run.err)


main()
