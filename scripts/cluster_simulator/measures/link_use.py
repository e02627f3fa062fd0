# SPDX-License-Identifier: GPL-2.0-only
"""Links and ports over time, from links.csv, and ECN marks."""

import math

import numpy

from .gpu_time import measured_from
from .names import part


class Links:
    """links.csv with its intervals: rows are of whole intervals of one grid, save the first and the
    last.

    A link's rate may change; between its rows it is that of the row before. Time counts by it: what
    a link could send in an interval is its length times its rate then over its largest rate, which
    is the length alone where nothing changes.
    """

    def __init__(self, run):
        self.table = run.links()
        times = self.table["time_us"].to_numpy()
        self.begin = measured_from(run)
        if self.begin >= times.max():  # of another run
            self.begin = 0.0
        self.end = max(
            float(times.max()), float(run.stats.get("simulated_time_us") or 0), self.begin + 1e-3
        )
        self.interval = max(
            float(part(run.stats, "links_csv").get("interval_us") or guess_interval(times)), 1e-6
        )
        # A row's interval begins at the grid point before its time.
        index = numpy.ceil(times / self.interval - 1e-9) - 1
        self.start = numpy.maximum(index * self.interval, self.begin)
        self.covered = numpy.maximum(times - self.start, 1e-6)
        self.names, self.link = numpy.unique(
            self.table["link"].to_numpy().astype(str), return_inverse=True
        )
        self._find_rates()
        busy = self.table["utilization"].to_numpy() * self.covered * self.slowness
        span = numpy.full(len(self.names), max(self.end - self.begin, 1e-6))
        for link in self.steps:
            span[link] = max(float(self._capacity(link, self.end)), 1e-6)
        self.mean = numpy.bincount(self.link, busy, len(self.names)) / span
        #: bytes that each link carried
        self.carried = self.mean * span * self.rate * 125

    def _find_rates(self):
        """Sets rate (the largest, by link), slowness (of each row, its rate over that) and steps:
        {link whose rate changes: (us from which on a rate holds, rate over the largest)}.
        """
        rates = self.table["rate_gbps"].to_numpy(dtype=float)
        self.rate = numpy.zeros(len(self.names))
        numpy.maximum.at(self.rate, self.link, rates)
        self.slowness = rates / numpy.maximum(self.rate, 1e-12)[self.link]
        self.steps = {}
        for link in numpy.unique(self.link[self.slowness != 1.0]):
            mine = numpy.flatnonzero(self.link == link)
            mine = mine[numpy.argsort(self.start[mine], kind="stable")]
            begins = self.start[mine].copy()
            begins[0] = self.begin
            self.steps[int(link)] = begins, self.slowness[mine]

    def _capacity(self, link, times):
        """What a link of `steps` could send from the begin to each of these times: us at its
        largest rate.
        """
        begins, slowness = self.steps[link]
        before = numpy.concatenate([[0.0], numpy.cumsum(numpy.diff(begins) * slowness[:-1])])
        at = numpy.clip(numpy.searchsorted(begins, times, side="right") - 1, 0, None)
        return before[at] + (numpy.asarray(times) - begins[at]) * slowness[at]

    @property
    def has_marks(self):
        """Whether ECN marks stand in each interval; in older results network_events.log alone has
        them, by the ms.
        """
        return "ecn_marks" in self.table.columns

    @property
    def has_peaks(self):
        """Whether a row has the longest that a queue was; older results have what it was at the
        end of the interval.
        """
        return "queue_peak_bytes" in self.table.columns

    @property
    def queues(self):
        """Bytes, a value a row: the longest that is known."""
        column = "queue_peak_bytes" if self.has_peaks else "queue_bytes"
        return self.table[column].to_numpy()

    def edges(self, bins):
        """Bounds of at most so many bins (us from begin), each of the same number of whole
        intervals.
        """
        first, last = math.floor(self.begin / self.interval + 1e-9), math.ceil(
            self.end / self.interval - 1e-9
        )
        every = -(-(last - first) // bins)
        grid = (
            numpy.arange(first, last + every, every)[: -(-(last - first) // every) + 1]
            * self.interval
        )
        return numpy.clip(grid - self.begin, 0, self.end - self.begin)

    def over_time(self, values, bins, chosen=None, how="mean"):
        """(edges in us from begin, array links x bins) of a column: its mean over time, its
        maximum, or its sum; "use": a utilization's mean, by what a link could send then.

        Bins are of whole intervals, so that each row belongs to one.
        """
        edges = self.edges(bins)
        count = len(edges) - 1
        middle = self.start + self.covered / 2 - self.begin
        place = numpy.clip(numpy.searchsorted(edges, middle, side="right") - 1, 0, count - 1)
        rows = (
            self.link
            if chosen is None
            else numpy.take(row_numbers(chosen, len(self.names)), self.link)
        )
        size = len(self.names) if chosen is None else len(chosen)
        keep = rows >= 0
        flat, values = (rows * count + place)[keep], values[keep]
        if how == "max":
            result = numpy.zeros(size * count)
            numpy.maximum.at(result, flat, values)
        elif how == "sum":
            result = numpy.bincount(flat, values, size * count)
        else:
            weight = self.covered * self.slowness if how == "use" else self.covered
            result = numpy.bincount(flat, values * weight[keep], size * count)
            spans = numpy.tile(numpy.diff(edges), (size, 1))
            for link in self.steps if how == "use" else ():
                row = link if chosen is None else row_numbers(chosen, len(self.names))[link]
                if row >= 0:
                    spans[row] = numpy.diff(self._capacity(link, edges + self.begin))
            # Rows of idle intervals are not there, so the mean is over the bin's length; the limit
            # is for what times are rounded to.
            result = numpy.minimum(result / numpy.maximum(spans, 1e-6).reshape(-1), 1.0)
        return edges, result.reshape(size, count)


def row_numbers(chosen, size):
    rows = numpy.full(size, -1)
    rows[numpy.asarray(chosen, dtype=int)] = numpy.arange(len(chosen))
    return rows


def guess_interval(times):
    """Without stats.json: most differences of times are the interval."""
    steps = numpy.diff(numpy.unique(times))
    steps = numpy.round(steps[steps > 0], 6)
    if len(steps) == 0:
        return float(times[0]) or 1.0
    values, counts = numpy.unique(steps, return_counts=True)
    return float(values[counts.argmax()])


def ecn_marks(run):
    """Columns time_us (begin of the millisecond), where, marks; of the measured time."""
    events = run.events()
    marked = events[(events["what"] == "ecn") & (events["time_us"] >= measured_from(run))]
    count = marked["details"].str.extract(r"^(\d{1,15}) marks", expand=False)
    marked = marked.assign(marks=count.astype(float)).dropna(subset=["marks"])
    return marked[["time_us", "where", "marks"]]


def port_scores(run, links):
    """(longest queue, marks, pause time), an array over the ports each."""
    table = links.table
    queue = numpy.zeros(len(links.names))
    numpy.maximum.at(queue, links.link, links.queues)
    paused = numpy.bincount(
        links.link, table["pause_share"].to_numpy() * links.covered, len(links.names)
    )
    if links.has_marks:
        marks_of = numpy.bincount(links.link, table["ecn_marks"].to_numpy(), len(links.names))
    else:
        marked = ecn_marks(run).groupby("where")["marks"].sum()
        marks_of = numpy.array([marked.get(name, 0.0) for name in links.names])
    return queue, marks_of, paused


def worst_ports(scores, links, most=5):
    """Ports by longest queue, marks and pause time in turn: the worst of each, then the second of
    each, ...
    """
    # Names in order where numbers are equal, so that the choice repeats.
    orders = [
        [i for i in numpy.lexsort((links.names, -score)) if score[i] > 0]
        for score in scores
    ]
    chosen = []
    for place in range(max(map(len, orders), default=0)):
        for order in orders:
            if place < len(order) and order[place] not in chosen and len(chosen) < most:
                chosen.append(order[place])
    return [int(i) for i in chosen]


def marks_per_interval(run, links, bins, ports=None):
    """(edges from begin, marks per ms: ports x bins), of these numbers of links, or one row of all
    together.

    In the bins of queues and pauses; of older results, which have no marks in links.csv, a bin a
    millisecond or more.
    """
    if links.has_marks:
        edges, marks = links.over_time(links.table["ecn_marks"].to_numpy(), bins, ports, "sum")
        marks = marks if ports is not None else marks.sum(axis=0, keepdims=True)
    else:
        marked = ecn_marks(run)
        span = links.end - links.begin
        count = max(1, min(bins, math.ceil(span / 1000)))
        edges = numpy.linspace(0, max(span, count * 1000.0), count + 1)
        of = (
            [marked]
            if ports is None
            else [marked[marked["where"] == links.names[port]] for port in ports]
        )
        marks = numpy.array([histogram_of_marks(one, links.begin, edges) for one in of])
    return edges, marks / (numpy.maximum(numpy.diff(edges), 1e-6) / 1000)


def histogram_of_marks(marked, begin, edges):
    place = numpy.maximum(marked["time_us"].to_numpy() - begin + 1e-6, 0)
    return numpy.histogram(place, edges, weights=marked["marks"].to_numpy())[0]
