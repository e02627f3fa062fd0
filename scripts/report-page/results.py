# SPDX-License-Identifier: GPL-2.0-only
"""A run's folder, read once and made small enough for a page.

    data = page_data("results/dltrain-1")

Every file may be missing, end in the middle of a line or hold anything else: what is there is
shown, what is not is said in `problems`. All sizes are bounded by constants here and in the modules
of the parts, whatever the size of the run.
"""

import os

from bounds import bounded, cut, is_number
from cluster_simulator.folder.lists import add_lists
from cluster_simulator.folder.network import graph_from_links, graph_of
from cluster_simulator.folder.streams import LONGEST_TIME_US, Streams
from cluster_simulator.folder.tables import FILES
from cluster_simulator.schema import why_not_readable
from cluster_simulator.shapes import sound
from cluster_simulator.shown import printable
from estimates import estimates_of
from messages import fairness_of, messages_of
from network import picture_of, series_of
from ports import Events, ports_of
from serving import serving_of
from sharding import strategies_of
from states import MOST_STEPS, timeline_of
from traceback_lines import traceback_of

MOST_COLLECTIVES = 2000  # rows of the table of collectives
KNOWN_FILES = [*FILES, "topology.json"]


class NoResults(Exception):
    """The folder holds nothing to show; the message says what is wrong."""


def page_data(folder):
    """What the page's scripts draw. Raises NoResults."""
    if not any(os.path.isfile(os.path.join(folder, name)) for name in KNOWN_FILES):
        raise NoResults(f"{folder}: no results in it (none of {', '.join(KNOWN_FILES)})")
    files = Streams(folder)
    stats = stats_of(files)
    # A run that ended in its warm-up measured nothing: its stats.json says null.
    measured = "measured_from_us" not in stats or stats["measured_from_us"] is not None
    if not stats:
        files.problems.append(
            "There is no readable stats.json: the program was ended before it could say what came"
            " out. Shown is what the other files hold."
        )
    for key in stats.get("nondeterministic") or []:
        stats.pop(key, None)  # the same run gives the same page
    timeline = _shown(files, "calls.log", lambda: timeline_of(files, stats))
    topology, series, events = _shown(files, "links.csv", lambda: _links(files, stats)) or (
        None,
        None,
        None,
    )
    operations = operations_of(stats)  # of all collectives: before their list is shortened
    return {
        "stats": stats,
        "measured": measured,
        "timeline": timeline,
        "flows": _shown(files, "flows.csv", lambda: messages_of(files, stats)),
        "fairness": _shown(files, "fairness.csv", lambda: fairness_of(files)),
        "traceback": _shown(files, "stderr.txt", lambda: traceback_of(files, stats)),
        "serving": _shown(files, "requests.csv", lambda: serving_of(files, stats)),
        "topology": topology,
        "ports": _shown(files, "links.csv", lambda: ports_of(events, series))
        if series and measured
        else None,
        "sharding": _shown(files, "sharding.json", lambda: strategies_of(files)),
        "estimates": _shown(files, "estimates.csv", lambda: estimates_of(files)),
        "operations": operations,
        "collectives_left_out": shorten_collectives(stats),
        "events": events.shown if events else None,
        "problems": files.problems,
    }


def _shown(files, name, part):
    """One file that cannot be made sense of does not take the others along."""
    try:
        return part()
    except (
        ArithmeticError,
        LookupError,
        TypeError,
        ValueError,
        MemoryError,
        RecursionError,
    ) as error:
        files.problems.append(
            f"{name} cannot be shown: {type(error).__name__}: {printable(error, 200)}"
        )
        return None


def _json(files, name):
    value = files.json(name)
    other = why_not_readable(value, files.path(name))
    if other:
        raise NoResults(other)
    return value


def _links(files, stats):
    """(the picture of the network, what links carried over time, what the log of events says)"""
    content = _json(files, "topology.json")
    network = graph_of(content) if content else None
    if content and not network:
        files.problems.append(
            "topology.json is broken: the network is drawn from the names in links.csv"
        )
    series = series_of(files, stats, network)
    events = Events(files, series, not stats.get("completed", False))
    network = network or graph_from_links(series)
    return (picture_of(network, series), series, events) if network else (None, None, events)


def stats_of(files):
    """stats.json, in which what the page relies on is what it should be, or not there."""
    stats = _json(files, "stats.json")
    stats = bounded(add_lists(stats, files.folder) if stats else {}, files.problems)
    stats, odd = sound(stats, nulls=True)
    for key in odd:
        files.problems.append(f"stats.json: {key} is not what it should be: left out")
    for key, needed in (
        ("collectives", "op algorithm bytes time_us algbw_GBps busbw_GBps"),
        ("compared", "choice op algorithm bytes time_us algbw_GBps busbw_GBps"),
        ("links", "link rate_gbps utilization"),
    ):
        rows = stats.get(key) or []
        whole = [row for row in rows if all(_is_result(row.get(name)) for name in needed.split())]
        if len(whole) < len(rows):
            count = len(rows) - len(whole)
            files.problems.append(
                f"stats.json: {count} of {key} {'is' if count == 1 else 'are'} not what they should"
                " be: left out"
            )
            stats[key] = whole
    for key in ("simulated_time_us", "measured_from_us"):
        if (stats.get(key) or 0) > LONGEST_TIME_US:
            files.problems.append(f"stats.json: {key} is not what it should be: left out")
            del stats[key]
    begin, end = stats.get("measured_from_us"), stats.get("simulated_time_us")
    if begin is not None and end is not None and begin > end:
        files.problems.append(
            "stats.json: measured_from_us is later than simulated_time_us: both are left out"
        )
        del stats["measured_from_us"], stats["simulated_time_us"]
    return stats


def _is_result(value):
    return isinstance(value, str) or is_number(value)


def operations_of(stats):
    """Sums over all collectives that stats.json lists, which are those of whole steps, by operation
    and algorithm: {steps, rows: [name, count, bytes, time in them summed over GPUs, what of this is
    waiting for the last to enter (None: an older run does not say), mean busbw by time]}; None if
    none is listed. A row that does not say how many GPUs it is of counts for all.
    """
    listed = stats.get("collectives")
    if not isinstance(listed, list) or not listed:
        return None
    told = lambda row, key, otherwise: (
        row[key] if is_number(row.get(key)) and row[key] > 0 else otherwise
    )
    waits = all("rank_wait_us" in row for row in listed)
    sums = {}
    for row in listed:
        of = sums.setdefault(f"{row['op']} ({row['algorithm']})", [0, 0, 0.0, 0.0, 0.0, 0.0])
        ranks = told(row, "ranks", told(stats, "gpus", 1))
        took = told(row, "time_us", 0.0)
        of[0] += 1
        of[1] += told(row, "bytes", 0)
        of[2] += told(row, "rank_time_us", 0.0) * ranks
        of[5] += told(row, "rank_wait_us", 0.0) * ranks
        of[3] += took
        of[4] += took * told(row, "busbw_GBps", 0.0)
    return {
        "steps": len({row.get("step") for row in listed if is_number(row.get("step"))}) or 1,
        "rows": [
            [cut(name), count, size, in_them, wait if waits else None, rate / took if took else 0]
            for name, (count, size, in_them, took, rate, wait) in sums.items()
        ],
    }


def shorten_collectives(stats):
    """stats.json names every collective of every step: thousands in a long run."""
    if isinstance(stats.get("step_times_us"), list):
        del stats["step_times_us"][MOST_STEPS:]
    rows, left_out = stats.get("collectives"), stats.get("collectives_left_out") or 0
    if not isinstance(rows, list) or len(rows) <= MOST_COLLECTIVES:
        return left_out
    most = MOST_COLLECTIVES
    # Whole steps: half of one would look as if the rest of it had not been.
    while (
        most
        and rows[most].get("step") is not None
        and rows[most - 1].get("step") == rows[most]["step"]
    ):
        most -= 1
    stats["collectives"] = rows[: most or MOST_COLLECTIVES]
    return left_out + len(rows) - len(stats["collectives"])
