# SPDX-License-Identifier: GPL-2.0-only
"""Direct all-to-all makes a connection for each pair of ranks: what one costs is bounded."""

from _system_test import SystemTest, main


class Memory(SystemTest):
    def bytes_a_pair(self, options):
        """Of resident memory, from the difference of two runs: the program, links and ranks hardly
        count.
        """
        few, many = 60, 240
        peaks = []
        for ranks in (few, many):
            run = self.run_program(
                f"collperf --library=none --op=alltoall --ranks={ranks} --gpus-per-server=1"
                " --topology=single-switch --warmup-iters=0 --iters=1 --check=0 --no-report"
                f" --no-timeline {options}"
            )
            peaks.append(run.stats["peak_rss_bytes"])
        return (peaks[1] - peaks[0]) / (many * (many - 1) - few * (few - 1))

    def test_a_pair(self):
        # 1.1 to 1.4 kB when this was written, 1.9 to 2.1 when a queue pair that never sends carried
        # a requester's state and a congestion control; 1.6 and 1.8 since each end is made by its
        # host, with a record of the channel and tables of numbers of its own. Both ends, their
        # message, and what flows.csv remembers of it. With attribution 2.1 since collperf notes the
        # path of each message (a record of 256 B while it is under way) for collectives.csv,
        # and 2.27 since what waits at a rank lies by it in cache lines of its own. 1.70 and 2.28
        # since ideal times of two sizes are remembered.
        self.assertLess(self.bytes_a_pair("--no-attribution -b 240K -e 240K"), 1750)
        self.assertLess(self.bytes_a_pair("-b 240K -e 240K"), 2300)
        # InfiniBand's 1.71 since a queue pair may have a path selector and a transport of its own.
        self.assertLess(self.bytes_a_pair("--no-attribution --fabric=ib -b 240K -e 240K"), 1750)


main()
