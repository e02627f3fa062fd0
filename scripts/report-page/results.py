# SPDX-License-Identifier: GPL-2.0-only
"""A run's folder, read once and made small enough for a page.

    data = Results("results/dltrain-1").page_data()

Every file may be missing or end in the middle of a line: what is there is shown, what is not is said
in `problems`. All sizes are bounded by the constants below, whatever the size of the run.
"""

import csv
import itertools
import json
import math
import os
import re

from cluster_simulator.schema import why_not_readable

MOST_BINS = 120           # intervals of time of links, in pictures
MOST_LINK_VALUES = 400000  # links (both directions) x intervals
MOST_LINKS = 6000         # links in the topology picture: the busiest
MOST_STATES = 600000      # intervals of GPU states; beyond that every n-th GPU is kept
MOST_GPUS = 20000         # rows of the timeline
MOST_STEPS = 2000         # boundaries of steps in it, and step times
MOST_CALLS = 40000        # calls with their names; beyond that of every n-th GPU
MOST_COLLECTIVES = 2000   # rows of the table of collectives
MOST_OPERATIONS = 8       # curves by operation; the rest is one
MOST_SIZES = 64           # distinct message sizes shown one by one; beyond that classes, four an octave
MOST_POINTS = 240         # of a distribution
MOST_PORTS = 8            # worst ports
MOST_EVENTS = 40          # last lines of network_events.log, of runs that failed
SLOWEST_KEPT = 10000      # messages that a sampled flows.csv holds for certain (flow-table.h)

FLOW_FIELDS = ["flow", "src", "dst", "bytes", "start_us", "end_us", "fct_us", "ideal_fct_us", "tag"]
LINK_FIELDS = ["time_us", "link", "from", "to", "rate_gbps", "utilization", "queue_bytes", "pause_share"]
KNOWN_FILES = ["stats.json", "flows.csv", "links.csv", "calls.log", "network_events.log", "topology.json"]
OPERATION = re.compile(r"(all|reduce|broadcast|gather|scatter|send|recv|point)[\w-]*")
COMPUTE, OVERLAP, EXPOSED, IDLE = "C", "O", "X", "I"


class NoResults(Exception):
    """The folder holds nothing to show; the message says what is wrong."""


class Results:
    def __init__(self, folder):
        self.folder = folder
        self.problems = []
        if not any(os.path.isfile(self._path(name)) for name in KNOWN_FILES):
            raise NoResults(f"{folder}: no results in it (none of {', '.join(KNOWN_FILES)})")
        self.stats = self._read_json("stats.json") or {}
        self._drop_odd_values()

    def page_data(self):
        stats = self.stats
        if not stats:
            self.problems.append("There is no readable stats.json: the program was ended before it could say what came out. "
                                 "Shown is what the other files hold.")
        for key in stats.get("nondeterministic", []):
            stats.pop(key, None)  # the same run gives the same page
        timeline = self._timeline()
        topology, series = self._links()
        data = {
            "stats": stats,
            "timeline": timeline,
            "flows": self._flows(),
            "topology": topology,
            "ports": self._ports(topology, series) if series else None,
            "collectives_left_out": self._shorten_collectives(),
            "events": self.events,
            "problems": self.problems,
        }
        return data

    # ---- files

    def _path(self, name):
        return os.path.join(self.folder, name)

    def _read_json(self, name):
        try:
            with open(self._path(name), encoding="utf-8", errors="replace") as file:
                value = json.load(file)
        except FileNotFoundError:
            return None
        except (OSError, ValueError) as error:
            self.problems.append(f"{name} cannot be read: {error}")
            return None
        if not isinstance(value, dict):
            self.problems.append(f"{name} cannot be read: it is no JSON object")
            return None
        other = why_not_readable(value, self._path(name))
        if other:
            raise NoResults(other)
        return value

    def _open(self, name):
        """The file, or None if there is none, which is a problem unless the program does not write it."""
        try:
            return open(self._path(name), encoding="utf-8", errors="replace", newline="")
        except FileNotFoundError:
            return None
        except OSError as error:
            self.problems.append(f"{name} cannot be read: {error.strerror}")
            return None

    def _csv_chunks(self, name, fields):
        """Columns of up to 50,000 rows at a time: converting columns is what Python does fast."""
        file = self._open(name)
        if not file:
            return
        with file:
            found = file.readline().rstrip("\r\n").split(",")  # more may have come
            if found[:len(fields)] != fields:
                self.problems.append(f"{name} has other columns than {','.join(fields)}: not shown")
                return
            broken = 0
            while lines := file.readlines(1 << 22):
                columns, bad = _columns(lines, len(found))
                broken += bad
                if columns:
                    yield columns
            if broken:
                self.problems.append(f"{name}: {broken} broken row{'s' if broken > 1 else ''} left out")

    def _numbers(self, name, column):
        try:
            return list(map(float, column))
        except ValueError:
            self.problems.append(f"{name}: values that are no numbers count as 0")
            return [_number(text) for text in column]

    # ---- stats.json

    def _drop_odd_values(self):
        """What others rely on being an object, a list or a number is one, or is not there."""
        def check(of, kinds):
            for key, kind in kinds.items():
                if key in of and of[key] is not None and (not isinstance(of[key], kind) or isinstance(of[key], bool)):
                    self.problems.append(f"stats.json: {key} is not what it should be: left out")
                    del of[key]
        number = (int, float)
        check(self.stats, {"configuration": dict, "topology": dict, "flows": dict, "drops": dict, "attribution": dict, "critical_path": dict, "fct_us": dict, "fct_slowdown": dict,
                           "links_csv": dict, "gpu_memory_parts_bytes": dict, "collectives": list, "links": list, "nondeterministic": list,
                           "simulated_time_us": number, "measured_from_us": number, "messages": number})
        check(self.stats.get("configuration") or {}, {"cluster": dict, "fabric": dict, "collperf": dict})
        check(self.stats.get("links_csv") or {}, {"interval_us": number})
        check(self.stats.get("attribution") or {}, {"share": dict, "ports": list, "slowest": list})
        check(self.stats.get("critical_path") or {}, {"share": dict, "hops": list, "path": list, "longest_messages": list})
    def _shorten_collectives(self):
        """stats.json names every collective of every step: thousands in a long run."""
        if isinstance(self.stats.get("step_times_us"), list):
            del self.stats["step_times_us"][MOST_STEPS:]
        rows = self.stats.get("collectives")
        if not isinstance(rows, list) or len(rows) <= MOST_COLLECTIVES:
            return 0
        self.stats["collectives"] = rows[:MOST_COLLECTIVES]
        return len(rows) - MOST_COLLECTIVES

    # ---- calls.log: what every GPU did when

    def _timeline(self):
        file = self._open("calls.log")
        if not file:
            return None
        calls, names, streams, steps, header = {}, {}, {}, {}, ""
        begin, broken = None, 0
        with file:
            for line in file:
                if line[0] == "#":
                    header = header or line
                    continue
                try:
                    start, end, step, rank, stream, kind, name, _, _ = line.split("\t")
                    start, end, rank, step = _ns(start), _ns(end), int(rank), int(step)
                except ValueError:
                    broken += 1
                    continue
                computing = kind == "compute" or kind == "memory"
                call = (start, end, names.setdefault(name, len(names)), streams.setdefault(stream, len(streams)), computing)
                if rank in calls:
                    calls[rank].append(call)
                else:
                    calls[rank] = [call]
                span = steps.get(step)
                if span is None:
                    steps[step] = [start, end]
                else:
                    if start < span[0]:
                        span[0] = start
                    if end > span[1]:
                        span[1] = end
                if begin is None or start < begin:
                    begin = start
        if broken:
            self.problems.append(f"calls.log: {broken} broken line{'s' if broken > 1 else ''} left out")
        if not calls:
            return None
        every = re.search(r"only every (\d+)th rank", header)
        return self._timeline_of(calls, begin, list(names), list(streams), steps, int(every.group(1)) if every else 1)

    def _timeline_of(self, calls, begin, names, streams, steps, logged_every):
        ranks = sorted(calls)
        totals = {COMPUTE: 0, OVERLAP: 0, EXPOSED: 0, IDLE: 0}
        sequences, gpus, intervals = {}, [], 0
        for rank in ranks:
            start, durations, states = _states(calls[rank])
            for duration, state in zip(durations, states):
                totals[state] += duration
            # GPUs of a role often do the same to the nanosecond: each pattern is held once.
            key = (states, tuple(durations))
            if key not in sequences:
                sequences[key] = len(sequences)
                intervals += len(durations)
            gpus.append([rank, start - begin, sequences[key]])
        every = max(-(-intervals // MOST_STATES), -(-len(gpus) // MOST_GPUS))
        if every > 1:
            gpus = gpus[::every]
            used = sorted({gpu[2] for gpu in gpus})
            renumber = {old: new for new, old in enumerate(used)}
            gpus = [[rank, start, renumber[sequence]] for rank, start, sequence in gpus]
            keys = list(sequences)
            sequences = {keys[old]: new for old, new in renumber.items()}
        per_server = ((self.stats.get("configuration") or {}).get("cluster") or {}).get("gpus_per_server", 8)
        return {
            "begin_us": begin / 1e3,
            "gpus": gpus,
            "sequences": [[states, list(durations)] for states, durations in sequences],
            "steps": [[step, span[0] - begin, span[1] - begin] for step, span in sorted(steps.items())[:MOST_STEPS]],
            "mean_us": {state: total / len(ranks) / 1e3 / max(1, len(steps)) for state, total in totals.items()},
            "gpus_per_server": per_server if isinstance(per_server, int) and per_server > 0 else 8,
            "logged_every": logged_every, "shown_every": max(1, every), "logged": len(ranks),
            **_named_calls(calls, ranks, begin, names, streams, per_server),
        }

    # ---- flows.csv: sizes, completion times

    def _flows(self):
        sizes, times, slowdowns, rows, bytes_all = {}, {}, {}, 0, 0
        operations, known = {}, {}
        for column in self._csv_chunks("flows.csv", FLOW_FIELDS):
            size = [int(value) for value in self._numbers("flows.csv", column[3])]
            fct = self._numbers("flows.csv", column[6])
            ideal = self._numbers("flows.csv", column[7])
            rows += len(size)
            bytes_all += sum(size)
            tags = column[8]
            for tag in dict.fromkeys(tags):  # in order, as all here: the same run gives the same bytes
                if tag not in operations:
                    name = _operation(tag)
                    known.setdefault(name, name if len(known) < 64 else "other")
                    operations[tag] = known[name]
            for operation in dict.fromkeys(operations[tag] for tag in dict.fromkeys(tags)):
                chosen = [operations[tag] == operation for tag in tags] if len(operations) > 1 else None
                pick = (lambda values: list(itertools.compress(values, chosen))) if chosen else (lambda values: values)
                times.setdefault(operation, []).extend(pick(fct))
                slowdowns.setdefault(operation, []).extend(
                    [t / alone if alone > 0 else 1.0 for t, alone in zip(pick(fct), pick(ideal))])
                _count(sizes.setdefault(operation, {}), pick(size))
        if not rows:
            return None
        messages = self.stats.get("messages", rows)
        ranked = sorted(times, key=lambda operation: (operation == "other", -len(times[operation]), operation))
        kept, rest = ranked[:MOST_OPERATIONS], ranked[MOST_OPERATIONS:]
        merge = lambda of: {**{name: of[name] for name in kept},
                            **({"other": list(itertools.chain(*(of[name] for name in rest)))} if rest else {})}
        if rest:
            other = {}
            for name in rest:
                for size, count in sizes.pop(name).items():
                    other[size] = other.get(size, 0) + count
            sizes["other"] = other
        times, slowdowns = merge(times), merge(slowdowns)
        threshold = _sample_threshold(slowdowns, rows, messages)
        weights = (threshold, (messages - SLOWEST_KEPT) / (rows - SLOWEST_KEPT)) if threshold else None
        return {
            "rows": rows, "messages": messages, "bytes": bytes_all,
            "sizes": _size_classes(sizes),
            "fct": _distributions(times, slowdowns, weights),
            "slowdown": _distributions(slowdowns, slowdowns, weights),
        }

    # ---- topology.json and links.csv: the network, and what it carried

    def _links(self):
        graph = self._read_json("topology.json")
        topology = _graph_of(graph) if graph else None
        if graph and not topology:
            self.problems.append("topology.json is broken: the network is drawn from the names in links.csv")
        end = self.stats.get("simulated_time_us")
        interval = (self.stats.get("links_csv") or {}).get("interval_us") or self._guess_interval()
        begin = self.stats.get("measured_from_us") or 0.0
        if end is None:
            begin, end = self._guess_span(interval)
        links = {} if topology is None else {name: None for name in topology["names"]}
        directions = max(2, 2 * len(links))
        intervals = max(1, math.ceil(end / interval - 1e-9) - math.floor(begin / interval + 1e-9))
        per_bin = max(1, -(-intervals // max(8, min(MOST_BINS, MOST_LINK_VALUES // directions))))
        series = LinkSeries(begin, end, interval, per_bin)
        for columns in self._csv_chunks("links.csv", LINK_FIELDS):
            series.add(columns, lambda column: self._numbers("links.csv", column))
        self._read_events(series)
        if topology is None:
            topology = _graph_from_links(series)
            if not topology:
                return None, None
        return self._picture(topology, series), series

    def _guess_interval(self):
        times = set()
        for columns in self._csv_chunks("links.csv", LINK_FIELDS):
            times.update(columns[0])
        times = sorted(map(_number, times))
        return min((b - a for a, b in zip(times, times[1:]) if b > a), default=100.0)

    def _guess_span(self, interval):
        first, last = math.inf, 0.0
        for columns in self._csv_chunks("links.csv", LINK_FIELDS):
            times = self._numbers("links.csv", columns[0])
            first, last = min(first, min(times)), max(last, max(times))
        return (max(0.0, first - interval), last) if last else (0.0, interval)

    def _picture(self, topology, series):
        """Nodes, links (the busiest if there are too many), and each direction's use over time."""
        nodes, links = topology["nodes"], topology["links"]
        def traffic(link):
            return sum(series.carried(name) for name in (link[4], link[5]))
        left_out = max(0, len(links) - MOST_LINKS)
        if left_out:
            links = sorted(links, key=lambda link: (-traffic(link), link[4]))[:MOST_LINKS]
            used = sorted({end for link in links for end in link[:2]})
            renumber = {old: new for new, old in enumerate(used)}
            nodes = [nodes[old] for old in used]
            links = [[renumber[link[0]], renumber[link[1]], *link[2:]] for link in links]
        out = []
        for a, b, rate, delay, ab, ba in links:
            out.append({"a": a, "b": b, "rate_gbps": rate, "delay_us": delay,
                        "use": [series.summary(name, rate) for name in (ab, ba)]})
        return {"name": topology["name"], "nodes": nodes, "links": out, "left_out": left_out,
                "begin_us": series.begin, "end_us": series.end, "bin_us": series.bin_us, "bins": series.bins,
                "first_bin_us": series.grid_begin, "interval_us": series.interval, "rows": series.rows}

    # ---- network_events.log

    events = None

    def _read_events(self, series):
        file = self._open("network_events.log")
        if not file:
            return
        bin_us = max(series.bin_us, 1000.0)  # marks are logged a millisecond at a time
        counts, marks, totals, cut, last = {}, {}, {}, [], []
        pauses, measured = {}, series.begin
        finished = False
        with file:
            for line in file:
                if line[0] == "#":
                    total = re.match(r"# total (\w+) (\d+), measured (\d+)", line)
                    if total:
                        totals[total.group(1)] = [int(total.group(2)), int(total.group(3))]
                    finished = finished or line.startswith("# end")
                    continue
                words = line.split(None, 4)
                if len(words) < 3:
                    continue
                last.append(line.rstrip("\n"))
                if len(last) > 2 * MOST_EVENTS:
                    del last[:MOST_EVENTS]
                kind = words[1]
                if kind == "note":
                    if "is only counted" in line:
                        cut.append(line.split('"')[1])
                    continue
                time = _number(words[0])
                if time < measured - bin_us:
                    continue
                counts[kind] = counts.get(kind, 0) + 1
                if kind == "ecn" and len(words) > 3 and time >= measured:
                    of = marks.setdefault(words[2], {})
                    at = int((time - measured) // bin_us)
                    of[at] = of.get(at, 0) + int(_number(words[3]))
                elif kind == "pause" and time >= measured:
                    pauses[words[2]] = pauses.get(words[2], 0) + 1
        if not finished:
            self.problems.append("network_events.log has no end: the program was ended before it could complete it.")
        self.marks, self.pauses, self.marks_bin_us = marks, pauses, bin_us
        failed = not self.stats.get("completed", False)
        self.events = {"totals": totals, "cut": cut, "last": last[-MOST_EVENTS:] if failed else []}

    # ---- queue, marks, pauses of the worst ports

    marks, pauses, marks_bin_us = {}, {}, 1000.0

    def _ports(self, topology, series):
        def largest(values, n=MOST_PORTS):
            return [name for value, name in sorted(((-value, name) for name, value in values.items() if value))[:n]]
        by_queue = {name: link.queue_peak for name, link in series.links.items()}
        by_pause = {name: link.paused for name, link in series.links.items()}
        by_marks = {name: sum(of.values()) for name, of in self.marks.items()}
        ranked = [largest(values) for values in (by_marks, by_pause, by_queue)]
        worst = []
        for name in itertools.chain(*itertools.zip_longest(*ranked)):  # the worst of each kind first
            if name is not None and name not in worst:
                worst.append(name)
        ports = []
        for name in worst[:MOST_PORTS]:
            link = series.links.get(name)
            ports.append({
                "name": name, "marks": by_marks.get(name, 0), "pauses": self.pauses.get(name, 0),
                "queue_peak_bytes": link.queue_peak if link else 0,
                "pause_share": series.paused_share(name),
                "queue_bytes": link.queue if link else [],
                "pause": [_round(value) for value in series.pause_shares(name)] if link else [],
                "marks_in": sorted(map(list, self.marks.get(name, {}).items())),
            })
        return {"ports": ports, "marks_bin_us": self.marks_bin_us,
                "ports_with": {"marks": len(by_marks), "pause": sum(1 for v in by_pause.values() if v),
                               "queue": sum(1 for v in by_queue.values() if v)}}


class LinkSeries:
    """links.csv in coarser intervals: `per_bin` of its own make one, so each row belongs to one.

    Shares are averaged over time; of queues the longest is kept."""

    class Link:
        __slots__ = ("rate", "ends", "busy", "queue", "pause", "queue_peak", "paused")

        def __init__(self, bins, rate, ends):
            self.rate, self.ends = rate, ends
            self.busy, self.pause, self.queue = [0.0] * bins, [0.0] * bins, [0] * bins
            self.queue_peak, self.paused = 0, 0.0

    def __init__(self, begin, end, interval, per_bin):
        self.begin, self.end, self.interval, self.per_bin = begin, end, interval, per_bin
        self.first = math.floor(begin / interval + 1e-9)
        self.grid_begin = self.first * interval
        self.bin_us = interval * per_bin
        self.bins = max(1, -(-(math.ceil(end / interval - 1e-9) - self.first) // per_bin))
        self.links, self.rows = {}, 0

    def length(self, at):
        """Of bin `at`, in us, as far as it was measured."""
        start = self.grid_begin + at * self.bin_us
        return max(1e-9, min(self.end, start + self.bin_us) - max(self.begin, start))

    def add(self, columns, numbers):
        times, used = numbers(columns[0]), numbers(columns[5])
        queues, pauses = columns[6], columns[7]
        names, links = columns[1], self.links
        last, at, length = None, 0, 0.0
        for i, time in enumerate(times):
            if time != last:
                last = time
                index = math.ceil(time / self.interval - 1e-9) - 1
                at = min(self.bins - 1, max(0, (index - self.first) // self.per_bin))
                length = time - max(self.begin, index * self.interval)
            link = links.get(names[i])
            if link is None:
                link = links[names[i]] = self.Link(self.bins, _number(columns[4][i]), (columns[2][i], columns[3][i]))
            link.busy[at] += used[i] * length
            if queues[i] != "0":
                queue = int(_number(queues[i]))
                if queue > link.queue[at]:
                    link.queue[at] = queue
                    link.queue_peak = max(link.queue_peak, queue)
            if pauses[i] != "0":
                paused = _number(pauses[i]) * length
                link.pause[at] += paused
                link.paused += paused
        self.rows += len(times)

    def carried(self, name):
        """Bytes on the wire, of the time that was measured."""
        link = self.links.get(name)
        return sum(link.busy) * link.rate * 125.0 if link else 0.0

    def paused_share(self, name):
        link = self.links.get(name)
        return _round(link.paused / max(1e-9, self.end - self.begin)) if link else 0

    def pause_shares(self, name):
        return [value / self.length(at) for at, value in enumerate(self.links[name].pause)]

    def summary(self, name, rate):
        """Of one direction; utilization over time in 1/10,000."""
        link = self.links.get(name)
        if not link:
            return {"name": name, "mean": 0, "bytes": 0, "queue": 0, "pause": 0, "over_time": None}
        return {"name": name, "mean": _round(sum(link.busy) / max(1e-9, self.end - self.begin)),
                "bytes": round(self.carried(name)), "queue": link.queue_peak, "pause": self.paused_share(name),
                "over_time": [round(1e4 * value / self.length(at)) for at, value in enumerate(link.busy)]}


# ---- helpers

def _columns(lines, fields):
    """Columns of these CSV lines, and how many were broken. Hardly a file has a quoted field: then one split
    does it for all lines, three times as fast as the csv module."""
    text = "".join(lines)
    if '"' not in text and text.endswith("\n"):
        parts = text.replace("\r", "").replace("\n", ",").split(",")
        if len(parts) == fields * len(lines) + 1 and _is_number(parts[-1 - fields]) == _is_number(parts[0]):
            return [parts[i:-1:fields] for i in range(fields)], 0
    rows = [row for row in csv.reader(lines)]
    whole = [row for row in rows if len(row) == fields]
    return list(zip(*whole)), len(rows) - len(whole)


def _is_number(text):
    return text.replace(".", "", 1).isdigit()


def _number(text):
    try:
        value = float(text)
        return value if math.isfinite(value) else 0.0
    except ValueError:
        return 0.0


def _ns(text):
    return round(float(text) * 1e3)


def _round(share):
    return round(share, 6)


def _count(into, values):
    for value in values:
        into[value] = into.get(value, 0) + 1


def _operation(tag):
    """What a message's tag belongs to: "reduce-scatter bucket 3" is of reduce-scatter."""
    known = OPERATION.match(tag)
    name = known.group(0) if known else re.sub(r"[\s#-]*\d+\s*$", "", tag).strip() or "untagged"
    return "all (tag)" if name == "all" else name  # "all" is the sum over operations


def _states(calls):
    """Start, durations (ns) and states of one GPU: computing alone, with communication hidden behind it,
    communication alone (exposed), neither (idle, a bubble); from its first call to its last."""
    edges = []
    for start, end, _, _, computing in calls:
        weight = 1 if computing else 1 << 20  # two counters in one number
        edges.append((start, weight))
        edges.append((end, -weight))
    edges.sort()
    start = time = edges[0][0]
    durations, states, active = [], [], 0
    for at, weight in edges:
        if at > time:
            computing, communicating = active & 0xFFFFF, active >> 20
            state = (OVERLAP if communicating else COMPUTE) if computing else (EXPOSED if communicating else IDLE)
            if states and states[-1] == state:
                durations[-1] += at - time
            else:
                durations.append(at - time)
                states.append(state)
            time = at
        active += weight
    return start, durations, "".join(states)


def _named_calls(calls, ranks, begin, names, streams, per_server):
    total = sum(map(len, calls.values()))
    every = -(-total // MOST_CALLS)
    if every > 1 and isinstance(per_server, int) and per_server > 1:
        every = -(-every // per_server) * per_server  # whole servers: their first GPU
    named = {}
    for rank in ranks[::max(1, every)][:max(1, MOST_CALLS // max(1, total // len(ranks)))]:
        flat = []
        for start, end, name, stream, _ in sorted(calls[rank]):
            flat += [name, stream, start - begin, end - start]
        named[rank] = flat
    return {"names": names, "streams": streams, "calls": named, "named_every": max(1, every)}


def _sample_threshold(slowdowns, rows, messages):
    """Slowdown from which on a sampled flows.csv holds every message; None if it is no sample. The rest of
    its rows are a uniform sample of the rest of the messages, and count for several each."""
    if rows >= messages or rows <= SLOWEST_KEPT:
        return None
    values = sorted(itertools.chain(*slowdowns.values()))
    return values[-SLOWEST_KEPT]


def _distributions(values, slowdowns, weights):
    out = {}
    everything = []
    for name, of in values.items():
        pairs = sorted(zip(of, _weights(slowdowns[name], weights)))
        out[name] = _distribution(pairs)
        everything += pairs
    if len(out) > 1:
        everything.sort()
        out = {"all": _distribution(everything), **out}
    return out


def _weights(slowdowns, weights):
    if not weights:
        return itertools.repeat(1)
    threshold, weight = weights
    return [1 if slowdown >= threshold else weight for slowdown in slowdowns]


def _distribution(pairs):
    """[share of messages that took at most, value] at points that become denser towards the tail."""
    total = pairs[0][1] * len(pairs) if pairs[0][1] == pairs[-1][1] == 1 else sum(weight for _, weight in pairs)
    wanted = [1 - 10 ** (-step / 40) for step in range(MOST_POINTS)]
    points, target, cumulated = [], 0, 0.0
    if total == len(pairs):  # no weights: straight to the ranks
        for share in wanted:
            rank = max(1, math.ceil(share * total - 1e-9))
            if not points or rank != target:
                points.append([round(rank / total, 9), round(pairs[rank - 1][0], 6)])
                target = rank
        if target != len(pairs):
            points.append([1, round(pairs[-1][0], 6)])
    else:
        for value, weight in pairs:
            cumulated += weight
            if target < len(wanted) and cumulated / total >= wanted[target] - 1e-12:
                points.append([round(min(1, cumulated / total), 9), round(value, 6)])
                while target < len(wanted) and cumulated / total >= wanted[target] - 1e-12:
                    target += 1
        points.append([1, round(pairs[-1][0], 6)])
    return {"n": round(total), "points": points}


def _size_classes(sizes):
    """Per operation [bytes from, bytes to, messages, bytes in all]: each size by itself if there are few,
    else classes of a quarter of an octave."""
    distinct = {size for of in sizes.values() for size in of}
    out = {}
    for operation, of in sizes.items():
        classes = {}
        for size, count in of.items():
            if len(distinct) <= MOST_SIZES or size <= 0:
                key = (size, size)
            else:
                octave = math.floor(4 * math.log2(size) + 1e-9)
                key = (math.ceil(2 ** (octave / 4)), math.ceil(2 ** ((octave + 1) / 4)) - 1)
            entry = classes.setdefault(key, [0, 0])
            entry[0] += count
            entry[1] += count * size
        out[operation] = [[*key, *entry] for key, entry in sorted(classes.items())]
    return {"exact": len(distinct) <= MOST_SIZES, "operations": out}


def _graph_of(graph):
    """topology.json as [name, kind, tier] and [a, b, rate, delay, name a->b, name b->a]; None if broken."""
    try:
        nodes = [[str(node["name"]), str(node["kind"]), int(node["tier"])] for node in graph["nodes"]]
        links = []
        for link in graph["links"]:
            a, b, name = int(link["a"]), int(link["b"]), str(link["link"])
            _, hash_mark, ordinal = name[len(nodes[a][0]) + 2:][len(nodes[b][0]):].partition("#")
            links.append([a, b, float(link["rate_gbps"]), float(link["delay_us"]), name,
                          f"{nodes[b][0]}->{nodes[a][0]}{hash_mark}{ordinal}"])
    except (KeyError, TypeError, ValueError, IndexError):
        return None
    _fill_tiers(nodes, links)
    return {"name": str(graph.get("name", "")), "nodes": nodes, "links": links,
            "names": [name for link in links for name in link[4:6]]}


def _graph_from_links(series):
    """The part of the network that carried something, from the names in links.csv."""
    names = sorted({end for link in series.links.values() for end in link.ends}, key=_natural)
    index, links, pairs = {name: i for i, name in enumerate(names)}, [], {}
    for name, link in sorted(series.links.items()):
        ends = link.ends
        _, hash_mark, ordinal = name[len("->".join(ends)):].partition("#")
        key = (frozenset(ends), ordinal)
        if key in pairs:
            continue
        pairs[key] = True
        a, b = index[ends[0]], index[ends[1]]
        links.append([a, b, link.rate, 0.0, name, f"{ends[1]}->{ends[0]}{hash_mark}{ordinal}"])
    nodes = [[name, "host" if name.startswith("server-") or name.startswith("host") else "switch", 0] for name in index]
    if not nodes:
        return None
    if all(kind == "switch" for _, kind, _ in nodes):  # other names: what has one link is a host
        degree = {}
        for link in links:
            for end in link[:2]:
                degree[end] = degree.get(end, 0) + 1
        for i, node in enumerate(nodes):
            node[1] = "host" if degree.get(i, 0) == 1 else "switch"
    _fill_tiers(nodes, links)
    return {"name": "", "nodes": nodes, "links": links, "names": []}


def _natural(text):
    return [int(part) if part.isdigit() else part for part in re.split(r"(\d+)", text)]


def _fill_tiers(nodes, links):
    """A switch whose tier is not known stands one tier above the lowest of what it is wired to: its distance
    from the hosts."""
    if all(kind == "host" or tier for _, kind, tier in nodes):
        return
    neighbours = [[] for _ in nodes]
    for link in links:
        neighbours[link[0]].append(link[1])
        neighbours[link[1]].append(link[0])
    distance = {i: 0 for i, node in enumerate(nodes) if node[1] == "host"}
    wave = list(distance)
    while wave:
        wave = [other for i in wave for other in neighbours[i]
                if distance.setdefault(other, distance[i] + 1) == distance[i] + 1 and not nodes[other][2] == -1
                and _mark(nodes, other)]
    for i, node in enumerate(nodes):
        node[2] = distance.get(i, 1) if node[1] != "host" else 0


def _mark(nodes, i):
    """True the first time a switch is reached."""
    if nodes[i][1] == "host" or nodes[i][2] == -1:
        return False
    nodes[i][2] = -1
    return True
