# SPDX-License-Identifier: GPL-2.0-only
"""topology.json and links.csv: the network, and what it carried."""

import math

from bounds import cut
from cluster_simulator.amounts import counted
from cluster_simulator.folder.streams import LONGEST_TIME_US, number
from cluster_simulator.folder.tables import LINKS, always
from series import LinkSeries

MOST_BINS = 120  # intervals of time of links, in pictures
MOST_LINK_VALUES = 400000  # links (both directions) x intervals
MOST_LINKS = 6000  # links in the topology picture: the busiest
MOST_NODES = 20000  # its nodes, should many have no link
MOST_INTERVALS = 1e9  # of links.csv, from stats.json; more is no grid


def series_of(files, stats, network):
    """links.csv over time, in bins that a page has room for, of the links of `network`, which may
    be None.
    """
    end = stats.get("simulated_time_us")
    interval = (stats.get("links_csv") or {}).get("interval_us") or 0
    begin = stats.get("measured_from_us") or 0.0
    if not interval or end is not None and end / interval > MOST_INTERVALS:
        interval = _guess_interval(files)
    if end is None:
        begin, end = _guess_span(files, interval)
    if end / interval > MOST_INTERVALS:  # of no run: one interval has it all
        interval = max(1.0, end)
    links = {} if network is None else {name: None for name in network["names"]}
    directions = max(2, 2 * len(links))
    intervals = max(1, math.ceil(end / interval - 1e-9) - math.floor(begin / interval + 1e-9))
    per_bin = max(1, -(-intervals // max(8, min(MOST_BINS, MOST_LINK_VALUES // directions))))
    series = LinkSeries(begin, end, interval, per_bin)
    for columns in files.columns("links.csv", always(LINKS)):
        series.add(columns, lambda name: files.numbers("links.csv", columns[name]))
    if series.left_out:
        files.problems.append(
            f"links.csv names too many links: {counted(series.left_out, 'row')} left out"
        )
    return series


def _guess_interval(files):
    times = set()
    for columns in files.columns("links.csv", always(LINKS)):
        times.update(columns["time_us"])
    times = sorted(value for value in map(number, times) if 0 <= value <= LONGEST_TIME_US)
    return max(1e-3, min((b - a for a, b in zip(times, times[1:]) if b > a), default=100.0))


def _guess_span(files, interval):
    first, last = math.inf, 0.0
    for columns in files.columns("links.csv", always(LINKS)):
        times = files.numbers("links.csv", columns["time_us"], LONGEST_TIME_US)
        first, last = min(first, min(times)), max(last, max(times))
    return (max(0.0, first - interval), last) if last else (0.0, interval)


def picture_of(topology, series):
    """Nodes, links (the busiest if there are too many), and each direction's use over time."""
    nodes, links, places = topology["nodes"], topology["links"], topology["places"]

    def traffic(link):
        return sum(series.carried(name) for name in (link[4], link[5]))

    left_out = max(0, len(links) - MOST_LINKS)
    if left_out:
        links = sorted(links, key=lambda link: (-traffic(link), link[4]))[:MOST_LINKS]
    if left_out or len(nodes) > MOST_NODES:
        used = sorted({end for link in links for end in link[:2]})
        renumber = {old: new for new, old in enumerate(used)}
        nodes = [nodes[old] for old in used]
        places = places and {**places, "coordinates": [places["coordinates"][old] for old in used]}
        links = [[renumber[link[0]], renumber[link[1]], *link[2:]] for link in links]
    out = []
    for a, b, rate, delay, ab, ba in links:
        out.append(
            {
                "a": a,
                "b": b,
                "rate_gbps": rate,
                "delay_us": delay,
                "use": [series.summary(name, rate) for name in (ab, ba)],
            }
        )
    return {
        "name": cut(topology["name"]),
        # All that there are; of names in links.csv only those that carried something are known.
        "hosts": sum(kind == "host" for _, kind, _ in topology["nodes"])
        if topology["names"]
        else None,
        **({"places": places} if places else {}),
        "nodes": [[cut(name), kind, tier] for name, kind, tier in nodes],
        "links": out,
        "left_out": left_out,
        "begin_us": series.begin,
        "end_us": series.end,
        "bin_us": series.bin_us,
        "bins": series.bins,
        "first_bin_us": series.grid_begin,
        "interval_us": series.interval,
        "queue_peaks": series.has_peaks,
        "rows": series.rows,
    }
