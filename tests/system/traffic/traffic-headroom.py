# SPDX-License-Identifier: GPL-2.0-only
"""Headroom where serialization times are cut to whole ns: no lossless frame is dropped, although
links carry more than their rate.

--compat=hpcc has frames of 1048 B, which at 400 Gb/s take 20 ns instead of 20.96: 52.4 B/ns. After
XOFF what a round trip of 20 us holds still arrives at a port, 1,048,000 B, of which a 40th leaves
meanwhile, as 40 ports share the one to the receiver: 1,021,800 B. Headroom for 50 B/ns would be
1,003,289 B (2 x 10 us, 3 frames, a PFC frame).
"""

import re
import sys

sys.path.append(sys.path[0] + "/../shared")
from _system_test import SystemTest, main

RUN = (
    "traffic --compat=hpcc --nic=400GbE --topology=single-switch --hosts=41 --pattern=incast"
    " --fan-in=40 --cc=none --window=0B --link-delay=10us --no-report "
)


class Headroom(SystemTest):
    def test_nothing_is_dropped(self):
        stats = self.run_program(RUN + "--bytes=2MB --buffer=300kB").stats
        self.assertEqual(stats["configuration"]["fabric"]["time_unit"], "1ns")
        self.assertGreater(stats["pfc_pauses"], 0)
        self.assertEqual(sum(stats["drops"].values()), 0)
        self.assertEqual(stats["retransmitted_packets"], 0)

    def test_the_check_before_the_run_and_the_switch_agree(self):
        """The least buffer that the check allows is enough for the switch. 41 ports of 4 x 100 Gb/s
        have 1,048,000 + 1 + 3 x 1068 + 84 B of headroom and a minimum of 4,096 B each, so 263,846 B
        per 100 Gb/s are needed, and 251,846 as if links carried their rate.
        """
        refused = self.run_program(RUN + "--bytes=10kB --buffer=255kB", status=2)
        least = int(re.search(r"--buffer=(\d+)kB or more", refused.err)[1])
        self.assertTrue(264 <= least <= 270, refused.err)
        self.run_program(RUN + f"--bytes=10kB --buffer={least}kB")


if __name__ == "__main__":
    main()
