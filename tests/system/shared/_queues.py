# SPDX-License-Identifier: GPL-2.0-only
"""Queues and throughputs of a run of traffic, from queues.csv and fairness.csv: of tests/system and
of tests/bench/tables.py.
"""

import statistics

from _system_test import quantile


class Queue:
    """Bytes in the longest queue, from `begin` on; times without a row are those of an empty
    one.
    """

    def __init__(self, run, begin_us):
        rows = run.rows("queues.csv")
        link = rows[0]["link"]
        at = {row["time_us"]: row for row in rows if row["link"] == link}
        times = sorted(at)
        step = min(b - a for a, b in zip(times, times[1:]))
        late = [at[time] for time in times if time > begin_us]
        empty = round((run.stats["simulated_time_us"] - begin_us) / step) - len(late)
        self.means = [row["mean_bytes"] for row in late] + [0] * max(0, empty)
        self.mean = statistics.fmean(self.means)
        self.deviation = statistics.pstdev(self.means)
        self.most = max(row["max_bytes"] for row in late)

    def quantile(self, share):
        return quantile(self.means, share)


def late(run, begin_us):
    """(mean of Jain's index, mean Gb/s of payload) of the intervals from `begin` on"""
    rows = [row for row in run.rows("fairness.csv") if row["time_us"] > begin_us]
    return statistics.fmean(row["jain"] for row in rows), statistics.fmean(
        row["gbps"] for row in rows
    )
