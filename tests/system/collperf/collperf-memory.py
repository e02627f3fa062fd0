# SPDX-License-Identifier: GPL-2.0-only
"""Direct all-to-all makes a connection for each pair of ranks: what one costs is bounded."""

import sys

sys.path.append(sys.path[0] + "/../shared")
from _system_test import SystemTest, main


class Memory(SystemTest):
    def bytes_a_pair(self, options):
        """Of resident memory, from the difference of two runs: the program, links and ranks hardly
        count. The least of three: whether a page of 2 MiB more is resident is chance, and makes 39
        B a pair.
        """
        few, many = 60, 240
        peaks = {few: [], many: []}
        for ranks in 3 * (few, many):
            run = self.run_program(
                f"collperf --library=none --op=alltoall --ranks={ranks} --gpus-per-server=1"
                " --topology=single-switch --warmup-iters=0 --iters=1 --check=0 --no-report"
                f" --no-timeline {options}"
            )
            peaks[ranks].append(run.stats["peak_rss_bytes"])
        return (min(peaks[many]) - min(peaks[few])) / (many * (many - 1) - few * (few - 1))

    def test_a_pair(self):
        # 1.1 to 1.4 kB when this was written, 1.9 to 2.1 when a queue pair that never sends carried
        # a requester's state and a congestion control; 1.6 and 1.8 since each end is made by its
        # host, with a record of the channel and tables of numbers of its own. Both ends, their
        # message, and what flows.csv remembers of it. With attribution 2.1 since collperf notes the
        # path of each message (a record of 256 B while it is under way) for collectives.csv,
        # and 2.27 since what waits at a rank lies by it in cache lines of its own.
        self.assertLess(self.bytes_a_pair("--no-attribution -b 240K -e 240K"), 1700)
        self.assertLess(self.bytes_a_pair("-b 240K -e 240K"), 2300)
        # InfiniBand's 1.71 since a queue pair may have a path selector and a transport of its own.
        self.assertLess(self.bytes_a_pair("--no-attribution --fabric=ib -b 240K -e 240K"), 1750)


main()
