# SPDX-License-Identifier: GPL-2.0-only
"""requests.csv, load.csv and instances.csv of dlserve: latencies, queues, the slowest requests."""

import heapq

import kinds
from bounds import cut
from cluster_simulator.folder.streams import number
from cluster_simulator.folder.tables import INSTANCES, LOAD, REQUESTS, always
from messages import distribution_of

MOST_SLOWEST = 20
MOST_INSTANCES = 8  # rows of the picture of the load
MOST_POINTS = 600  # of an instance over time
LATENCIES = ("ttft_ms", "tpot_ms", "e2e_ms")
OF_SLOWEST = (
    "id arrival_s input_tokens output_tokens instance decode_instance queue_ms ttft_ms tpot_ms"
    " e2e_ms preemptions kv_transfer_ms"
).split()


def serving_of(files, stats):
    """What the page draws of a serving run; None if it is none."""
    if not isinstance(stats.get("serving"), dict):
        return None
    instances = instances_of(files)
    return {**requests_of(files), "instances": instances, "load": load_of(files, instances)}


def requests_of(files):
    """Distributions of latencies in us, without warm-up, and the rows of the slowest requests."""
    values, slowest = {name: [] for name in LATENCIES}, []
    for column in files.columns("requests.csv", always(REQUESTS)):
        warm = column["warmup"]
        for name in LATENCIES:
            values[name] += [
                1e3 * number(value) for value, w in zip(column[name], warm) if value and w == "0"
            ]
        rows = zip(*(column[name] for name in OF_SLOWEST), warm)
        ended = (
            [number(value) if value else None for value in row[:-1]]
            for row in rows
            if row[-1] == "0" and row[OF_SLOWEST.index("e2e_ms")]
        )
        at = OF_SLOWEST.index("e2e_ms")
        slowest = heapq.nlargest(
            MOST_SLOWEST, [*slowest, *ended], key=lambda row: (row[at], -row[0])
        )
    latencies = {
        name[: -len("_ms")]: distribution_of(kinds.Ranked(sorted(of)))
        for name, of in values.items()
        if of
    }
    return {"latencies": latencies, "slowest": [dict(zip(OF_SLOWEST, row)) for row in slowest]}


def instances_of(files):
    found = []
    for column in files.columns("instances.csv", always(INSTANCES)):
        for name, role, blocks, engines in zip(
            column["name"], column["role"], column["kv_blocks"], column["engines"]
        ):
            found.append(
                {
                    "name": cut(name, 60),
                    "role": cut(role, 20),
                    "kv_blocks": number(blocks) * number(engines),
                }
            )
    return found


def load_of(files, instances):
    """For each of the first instances [us, waiting, running, share of the KV blocks]: of each part
    of the time the largest values, which hold until the next; None if there is nothing.
    """
    rows, end = {}, 0.0
    for column in files.columns("load.csv", always(LOAD)):
        numbers = {name: files.numbers("load.csv", column[name]) for name in always(LOAD)}
        for time, place, *values in zip(*(numbers[name] for name in always(LOAD))):
            end = max(end, 1e6 * time)
            if place < len(instances):
                rows.setdefault(int(place), []).append([1e6 * time, *values])
    if not rows or end <= 0:
        return None
    shown = {}
    for place in sorted(rows)[:MOST_INSTANCES]:
        blocks = instances[place]["kv_blocks"]
        points = []
        for time, waiting, running, used in rows[place]:
            begin = int(time / end * MOST_POINTS) * end / MOST_POINTS
            values = [waiting, running, round(used / blocks, 6) if blocks else 0.0]
            if points and points[-1][0] == round(begin, 3):
                points[-1][1:] = [max(pair) for pair in zip(points[-1][1:], values)]
            else:
                points.append([round(begin, 3), *values])
        shown[instances[place]["name"]] = points
    return {"end_us": end, "instances": shown, "left_out": len(rows) - len(shown)}
