# SPDX-License-Identifier: GPL-2.0-only
"""links.csv as series over time, and the numbers in its fields."""

import math

from bounds import cut
from cluster_simulator.folder.streams import number

MOST_SERIES = 4000000  # values in memory: links x intervals


class LinkSeries:
    """links.csv in coarser intervals: `per_bin` of its own make one, so each row belongs to one.

    Shares are averaged over time; of queues the longest is kept. Where a link's rate changes, time
    counts by it: utilization is what was sent of what could have been. Between rows a link's rate
    is that of the row before."""

    class Link:
        __slots__ = (
            "rate",  # Gb/s, of the first row
            "told",  # the rate in its last row, as it stands there
            "steps",  # [(from when on in us, rate over the first row's)]
            "ends",
            "busy",
            "queue",
            "pause",
            "queue_peak",
            "paused",
            "marks",
        )

        def __init__(self, bins, begin, told, ends):
            self.rate, self.told, self.ends = number(told), told, ends
            self.steps = [(begin, 1.0)]
            self.busy, self.pause, self.queue = [0.0] * bins, [0.0] * bins, [0] * bins
            self.queue_peak, self.paused, self.marks = 0, 0.0, None

    def __init__(self, begin, end, interval, per_bin):
        self.begin, self.end, self.interval, self.per_bin = begin, end, interval, per_bin
        self.first = math.floor(begin / interval + 1e-9)
        self.grid_begin = self.first * interval
        self.bin_us = interval * per_bin
        self.bins = max(1, -(-(math.ceil(end / interval - 1e-9) - self.first) // per_bin))
        self.links, self.rows, self.left_out = {}, 0, 0
        self.has_marks = self.has_peaks = False

    def length(self, at):
        """Of bin `at`, in us, as far as it was measured."""
        start = self.grid_begin + at * self.bin_us
        return max(1e-9, min(self.end, start + self.bin_us) - max(self.begin, start))

    def add(self, columns, numbers):
        times, used = numbers("time_us"), numbers("utilization")
        pauses = columns["pause_share"]
        marks, peaks = columns.get("ecn_marks"), columns.get("queue_peak_bytes")
        self.has_marks, self.has_peaks = marks is not None, peaks is not None
        queues = peaks if self.has_peaks else columns["queue_bytes"]
        names, links, rates = columns["link"], self.links, columns["rate_gbps"]
        last, at, length = None, 0, 0.0
        for i, time in enumerate(times):
            if time != last:
                last = time
                index = math.ceil(time / self.interval - 1e-9) - 1
                at = min(self.bins - 1, max(0, (index - self.first) // self.per_bin))
                length = max(0.0, time - max(self.begin, index * self.interval))
            link = links.get(names[i])
            if link is None:
                if (len(links) + 1) * self.bins > MOST_SERIES:
                    self.left_out += 1
                    continue
                link = links[names[i]] = self.Link(
                    self.bins,
                    self.begin,
                    rates[i],
                    (columns["from"][i], columns["to"][i]),
                )
            if rates[i] != link.told:
                link.told = rates[i]
                slowness = max(0.0, number(rates[i])) / link.rate if link.rate > 0 else 1.0
                link.steps.append((time - length, slowness))
            link.busy[at] += used[i] * length * link.steps[-1][1]
            if queues[i] != "0":
                queue = whole(queues[i])
                if queue > link.queue[at]:
                    link.queue[at] = queue
                    link.queue_peak = max(link.queue_peak, queue)
            if pauses[i] != "0":
                paused = min(1.0, max(0.0, number(pauses[i]))) * length
                link.pause[at] += paused
                link.paused += paused
            if marks and marks[i] != "0":
                if link.marks is None:
                    link.marks = [0] * self.bins
                link.marks[at] += whole(marks[i])
        self.rows += len(times)

    def room(self, link, begin, end):
        """What a link could send between two times: us at its first rate."""
        if len(link.steps) == 1:
            return max(1e-9, end - begin)
        ends = [start for start, _ in link.steps[1:]] + [end]
        return max(
            1e-9,
            sum(
                max(0.0, min(end, until) - max(begin, start)) * slowness
                for (start, slowness), until in zip(link.steps, ends)
            ),
        )

    def room_of_bin(self, link, at):
        if len(link.steps) == 1:
            return self.length(at)
        start = self.grid_begin + at * self.bin_us
        return self.room(link, max(self.begin, start), min(self.end, start + self.bin_us))

    def carried(self, name):
        """Bytes on the wire, of the time that was measured."""
        link = self.links.get(name)
        return sum(link.busy) * link.rate * 125.0 if link else 0.0

    def paused_share(self, name):
        link = self.links.get(name)
        return rounded(link.paused / max(1e-9, self.end - self.begin)) if link else 0

    def pause_shares(self, name):
        return [value / self.length(at) for at, value in enumerate(self.links[name].pause)]

    def summary(self, name, rate):
        """Of one direction; utilization over time in 1/10,000."""
        link = self.links.get(name)
        if not link:
            return {
                "name": cut(name),
                "mean": 0,
                "bytes": 0,
                "queue": 0,
                "pause": 0,
                "over_time": None,
            }
        return {
            "name": cut(name),
            "mean": rounded(sum(link.busy) / self.room(link, self.begin, self.end)),
            "bytes": round(self.carried(name)),
            "queue": link.queue_peak,
            "pause": self.paused_share(name),
            "over_time": [
                round(1e4 * value / self.room_of_bin(link, at))
                for at, value in enumerate(link.busy)
            ],
            **self._rates(link, rate),
        }

    def _rates(self, link, cable):
        """Mean rates, of the whole time and of each bin, if they are not the cable's throughout."""
        if len(link.steps) == 1 and link.rate == cable:
            return {}
        whole_time = max(1e-9, self.end - self.begin)
        return {
            "rate": rounded(link.rate * self.room(link, self.begin, self.end) / whole_time),
            "rates": [
                rounded(link.rate * self.room_of_bin(link, at) / self.length(at))
                for at in range(self.bins)
            ],
        }


def whole(text):
    return int(min(1e15, max(0.0, number(text))))


def rounded(share):
    return round(share, 6)
