# SPDX-License-Identifier: GPL-2.0-only
"""A run's folder, read once and made small enough for a page.

    data = Results("results/dltrain-1").page_data()

Every file may be missing, end in the middle of a line or hold anything else: what is there is shown, what is not
is said in `problems`. All sizes are bounded by the constants here and in reading.py, whatever the size of the run.
"""

import csv
import itertools
import math
import os
import re

import kinds
from cluster_simulator.sizes import merged
from cluster_simulator.schema import why_not_readable
from cluster_simulator.shown import printable
from graph import graph_from_links, graph_of
from reading import LONGEST_TIME_US, MOST_ROWS, blocks, bounded, cut, is_count, is_number, open_file, read_json
from series import LinkSeries, number, rounded

MOST_BINS = 120           # intervals of time of links, in pictures
MOST_LINK_VALUES = 400000  # links (both directions) x intervals
MOST_LINKS = 6000         # links in the topology picture: the busiest
MOST_NODES = 20000        # its nodes, should many have no link
MOST_INTERVALS = 1e9      # of links.csv, from stats.json; more is no grid
MOST_STATES = 600000      # intervals of GPU states; beyond that every n-th GPU is kept
MOST_GPUS = 20000         # rows of the timeline
MOST_STEPS = 2000         # boundaries of steps in it, and step times
MOST_STREAMS = 1000       # names of them
MOST_CALLS = 40000        # calls with their names; beyond that of every n-th GPU
MOST_COLLECTIVES = 2000   # rows of the table of collectives
MOST_OPERATIONS = 8       # curves by operation; the rest is one
MOST_SIZES = 64           # distinct message sizes shown one by one; beyond that classes, four an octave
MOST_POINTS = 240         # of a distribution
MOST_PORTS = 8            # worst ports
MOST_EVENTS = 40          # last lines of network_events.log, of runs that failed
MOST_FAIRNESS = 2000      # points of fairness.csv
LONGEST_LINE = 500        # of them, in characters
SLOWEST_KEPT = 10000      # messages that a sampled flows.csv holds for certain (flow-table.h)

FLOW_FIELDS = ["flow", "src", "dst", "bytes", "start_us", "end_us", "fct_us", "ideal_fct_us", "tag"]
FAIRNESS_FIELDS = ["time_us", "flows", "jain", "gbps"]
LINK_FIELDS = ["time_us", "link", "from", "to", "rate_gbps", "utilization", "queue_bytes", "pause_share"]
KNOWN_FILES = ["stats.json", "flows.csv", "links.csv", "calls.log", "network_events.log", "topology.json"]
OPERATION = re.compile(r"(all|reduce|broadcast|gather|scatter|send|recv|point)[\w-]*")
COMPUTE, OVERLAP, EXPOSED, IDLE = "C", "O", "X", "I"
MOST_NS = int(LONGEST_TIME_US * 1000)
CHECKS = {"objects": lambda value: isinstance(value, dict), "lists": lambda value: isinstance(value, list), "numbers": is_number,
          "counts": is_count, "times": lambda value: is_number(value) and 0 <= value <= LONGEST_TIME_US}


class NoResults(Exception):
    """The folder holds nothing to show; the message says what is wrong."""


class Results:
    def __init__(self, folder):
        self.folder = folder
        self.problems = []
        if not any(os.path.isfile(self._path(name)) for name in KNOWN_FILES):
            raise NoResults(f"{folder}: no results in it (none of {', '.join(KNOWN_FILES)})")
        self.stats = bounded(self._read_json("stats.json", most_bytes=64 << 20) or {}, self.problems)
        self._drop_odd_values()
        # A run that ended in its warm-up measured nothing: its stats.json says null.
        self.measured = "measured_from_us" not in self.stats or self.stats["measured_from_us"] is not None

    def page_data(self):
        stats = self.stats
        if not stats:
            self.problems.append("There is no readable stats.json: the program was ended before it could say what came out. "
                                 "Shown is what the other files hold.")
        for key in stats.get("nondeterministic") or []:
            if isinstance(key, str):
                stats.pop(key, None)  # the same run gives the same page
        timeline = self._shown("calls.log", self._timeline)
        topology, series = self._shown("links.csv", self._links) or (None, None)
        data = {
            "stats": stats,
            "measured": self.measured,
            "timeline": timeline,
            "flows": self._shown("flows.csv", self._flows),
            "fairness": self._shown("fairness.csv", self._fairness),
            "topology": topology,
            "ports": self._shown("links.csv", lambda: self._ports(series)) if series and self.measured else None,
            "collectives_left_out": self._shorten_collectives(),
            "events": self.events,
            "problems": self.problems,
        }
        return data

    def _shown(self, name, part):
        """One file that cannot be made sense of does not take the others along."""
        try:
            return part()
        except (ArithmeticError, LookupError, TypeError, ValueError, MemoryError, RecursionError) as error:
            self.problems.append(f"{name} cannot be shown: {type(error).__name__}: {printable(error, 200)}")
            return None

    # ---- files

    def _path(self, name):
        return os.path.join(self.folder, name)

    def _read_json(self, name, most_bytes):
        value, why = read_json(self._path(name), most_bytes)
        if why:
            self.problems.append(f"{name} cannot be read: {why}")
        other = why_not_readable(value, self._path(name))
        if other:
            raise NoResults(other)
        return value

    def _open(self, name):
        """The file, or None if there is none, which is a problem unless the program does not write it."""
        file, why = open_file(self._path(name))
        if why:
            self.problems.append(f"{name} cannot be read: {why}")
        return file

    def _lines(self, name, file):
        """Its lines, as far as they are of a length that a program writes."""
        for lines in blocks(file, name, self.problems):
            yield from lines

    def _csv_chunks(self, name, fields):
        """Columns of some 50,000 rows at a time, by the names in the first line: converting columns is what Python
        does fast. More of them may have come than `fields`."""
        file = self._open(name)
        if not file:
            return
        with file:
            broken, rows, found = 0, 0, None
            for lines in blocks(file, name, self.problems):
                if found is None:
                    found = lines.pop(0).rstrip("\r\n").split(",")
                    if found[:len(fields)] != fields:
                        self.problems.append(f"{name} has other columns than {','.join(fields)}: not shown")
                        return
                columns, bad = _columns(lines, len(found)) if lines else (None, 0)
                broken += bad
                if columns:
                    rows += len(columns[0])
                    yield dict(zip(found, columns))
                if rows > MOST_ROWS:
                    self.problems.append(f"{name} has more than {MOST_ROWS:,} rows: those after them are left out")
                    break
            if broken:
                self.problems.append(f"{name}: {broken} broken row{'s' if broken > 1 else ''} left out")

    def _numbers(self, name, column, most=1e15):
        """Its values; what is none, or out of any range that a run has (0 to `most`), counts as 0, and that is said once."""
        try:
            values = list(map(float, column))
            if not values or (0 <= min(values) and max(values) <= most and math.isfinite(sum(values))):
                return values
        except ValueError:
            pass
        problem = f"{name}: values that are no numbers of a run count as 0"
        if problem not in self.problems:
            self.problems.append(problem)
        return [value if 0 <= value <= most else 0.0 for value in map(number, column)]

    # ---- stats.json

    def _drop_odd_values(self):
        """What others rely on being an object, a list or a number is one, or is not there."""
        def check(of, prefix, **expected):
            for what, keys in expected.items():
                for key in keys.split():
                    if of.get(key) is not None and not CHECKS[what](of[key]):
                        self.problems.append(f"stats.json: {prefix}{key} is not what it should be: left out")
                        del of[key]
        stats = self.stats
        check(stats, "",
              objects="configuration topology flows drops attribution critical_path fct_us fct_slowdown links_csv flows_csv credits "
                      "gpu_memory_parts_bytes bytes_sent_per_gpu fairness port_classes offered_load nic_limits scale_up",
              lists="collectives links nondeterministic step_times_us slowdown_by_size longest_queues", times="simulated_time_us measured_from_us",
              counts="messages gpus servers steps_measured warmup_steps collectives_left_out step_times_left_out",
              numbers="message_bytes step_time_us compute_time_us communication_time_us exposed_communication_time_us samples_per_s tflops_per_gpu mfu "
                      "gpu_memory_bytes_estimate gpu_memory_capacity_bytes ecn_marks cnps pfc_pauses pfc_pause_time_us retransmitted_packets "
                      "timeouts share_done")
        inside = lambda key: stats.get(key) or {}
        check(inside("configuration"), "configuration.", objects="cluster fabric collperf")
        check(inside("configuration").get("cluster") or {}, "configuration.cluster.", counts="gpus_per_server")
        check(inside("scale_up"), "scale_up.", numbers="gpu_gbps")
        check(inside("links_csv"), "links_csv.", times="interval_us")
        check(inside("attribution"), "attribution.", objects="share", lists="ports slowest")
        check(inside("critical_path"), "critical_path.", objects="share", lists="hops path longest_messages")
        check(inside("flows"), "flows.", numbers="all posted arrived failed measured measured_arrived last_arrival_us goodput_gbps")
        check(inside("credits"), "credits.", numbers="stalls stall_time_us")
        for key in ("fct_us", "fct_slowdown"):
            check(inside(key), key + ".", numbers="p50 p90 p99 p999 max mean")
        for key in ("drops", "gpu_memory_parts_bytes"):
            check(inside(key), key + ".", numbers=" ".join(name for name in inside(key) if not re.search(r"\s", name)))
        for key, names, numbers in (("collectives", "op algorithm", "bytes time_us algbw_GBps busbw_GBps"),
                                    ("links", "link", "rate_gbps utilization")):
            rows = stats.get(key) or []
            whole = [row for row in rows if isinstance(row, dict) and all(isinstance(row.get(name), str) for name in names.split())
                     and all(is_number(row.get(name)) for name in numbers.split())]
            if len(whole) < len(rows):
                self.problems.append(f"stats.json: {len(rows) - len(whole)} of {key} {'is' if len(rows) - len(whole) == 1 else 'are'} "
                                     "not what they should be: left out")
                stats[key] = whole
        begin, end = stats.get("measured_from_us"), stats.get("simulated_time_us")
        if begin is not None and end is not None and begin > end:
            self.problems.append("stats.json: measured_from_us is later than simulated_time_us: both are left out")
            del stats["measured_from_us"], stats["simulated_time_us"]

    def _shorten_collectives(self):
        """stats.json names every collective of every step: thousands in a long run."""
        if isinstance(self.stats.get("step_times_us"), list):
            del self.stats["step_times_us"][MOST_STEPS:]
        rows, left_out = self.stats.get("collectives"), self.stats.get("collectives_left_out") or 0
        if not isinstance(rows, list) or len(rows) <= MOST_COLLECTIVES:
            return left_out
        most = MOST_COLLECTIVES
        # Whole steps: the table of operations has means of a step.
        while most and rows[most].get("step") is not None and rows[most - 1].get("step") == rows[most]["step"]:
            most -= 1
        self.stats["collectives"] = rows[: most or MOST_COLLECTIVES]
        return left_out + len(rows) - len(self.stats["collectives"])

    # ---- calls.log: what every GPU did when

    def _timeline(self):
        file = self._open("calls.log")
        if not file:
            return None
        calls, names, streams, steps, header = {}, {}, {}, {}, ""
        begin, broken, logged = None, 0, 0
        with file:
            for line in self._lines("calls.log", file):
                if line[0] == "#":
                    header = header or line
                    continue
                try:
                    start, end, step, rank, stream, kind, name, _, _ = line.split("\t")
                    start, end, rank, step = _ns(start), _ns(end), int(rank), int(step)
                    if not (0 <= start <= end <= MOST_NS and 0 <= rank < 1 << 31 and 0 <= step < 1 << 31):
                        raise ValueError
                except (ValueError, OverflowError):
                    broken += 1
                    continue
                logged += 1
                if logged > MOST_ROWS:
                    self.problems.append(f"calls.log has more than {MOST_ROWS:,} calls: those after them are left out")
                    break
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
        sizes, times, slowdowns, flow_sizes, rows, bytes_all = {}, {}, {}, {}, 0, 0
        operations, known = {}, {}
        for column in self._csv_chunks("flows.csv", FLOW_FIELDS):
            size = [int(value) for value in self._numbers("flows.csv", column["bytes"])]
            fct = self._numbers("flows.csv", column["fct_us"])
            ideal = self._numbers("flows.csv", column["ideal_fct_us"])
            rows += len(size)
            bytes_all += sum(size)
            tags = column["tag"]
            for tag in dict.fromkeys(tags):  # in order, as all here: the same run gives the same bytes
                if tag not in operations:
                    name = _operation(cut(tag, 60))
                    known.setdefault(name, name if len(known) < 64 else "other")
                    operations[tag] = known[name]
            for operation in dict.fromkeys(operations[tag] for tag in dict.fromkeys(tags)):
                chosen = [operations[tag] == operation for tag in tags] if len(operations) > 1 else None
                pick = (lambda values: list(itertools.compress(values, chosen))) if chosen else (lambda values: values)
                times.setdefault(operation, []).extend(pick(fct))
                slowdowns.setdefault(operation, []).extend(
                    [t / alone if alone > 0 else 1.0 for t, alone in zip(pick(fct), pick(ideal))])
                of_size = pick(size)
                flow_sizes.setdefault(operation, []).extend(of_size)
                _count(sizes.setdefault(operation, {}), of_size)
        if not rows:
            return None
        messages = self.stats.get("messages") or rows
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
        times, slowdowns, flow_sizes = merge(times), merge(slowdowns), merge(flow_sizes)
        threshold = _sample_threshold(slowdowns, rows, messages)
        weights = (threshold, (messages - SLOWEST_KEPT) / (rows - SLOWEST_KEPT)) if threshold else None
        return {
            "rows": rows, "messages": messages, "bytes": bytes_all,
            "sizes": _size_classes(sizes),
            "fct": _distributions(times, slowdowns, weights),
            "slowdown": _distributions(slowdowns, slowdowns, weights),
            "by_size": kinds.by_size(flow_sizes, slowdowns, weights),
            "kinds": kinds.compared(flow_sizes, times, slowdowns, weights),
        }

    # ---- fairness.csv: of traffic with --rate-interval

    def _fairness(self):
        points = []
        for column in self._csv_chunks("fairness.csv", FAIRNESS_FIELDS):
            points += zip(*(self._numbers("fairness.csv", column[name]) for name in FAIRNESS_FIELDS))
        every = -(-len(points) // MOST_FAIRNESS)
        return {"points": points[::max(1, every)], "every": max(1, every)} if points else None

    # ---- topology.json and links.csv: the network, and what it carried

    def _links(self):
        graph = self._read_json("topology.json", most_bytes=256 << 20)
        topology = graph_of(graph) if graph else None
        if graph and not topology:
            self.problems.append("topology.json is broken: the network is drawn from the names in links.csv")
        end = self.stats.get("simulated_time_us")
        interval = (self.stats.get("links_csv") or {}).get("interval_us") or 0
        begin = self.stats.get("measured_from_us") or 0.0
        if not interval or end is not None and end / interval > MOST_INTERVALS:
            interval = self._guess_interval()
        if end is None:
            begin, end = self._guess_span(interval)
        if end / interval > MOST_INTERVALS:  # of no run: one interval has it all
            interval = max(1.0, end)
        links = {} if topology is None else {name: None for name in topology["names"]}
        directions = max(2, 2 * len(links))
        intervals = max(1, math.ceil(end / interval - 1e-9) - math.floor(begin / interval + 1e-9))
        per_bin = max(1, -(-intervals // max(8, min(MOST_BINS, MOST_LINK_VALUES // directions))))
        series = LinkSeries(begin, end, interval, per_bin)
        for columns in self._csv_chunks("links.csv", LINK_FIELDS):
            series.add(columns, lambda name: self._numbers("links.csv", columns[name]))
        if series.left_out:
            self.problems.append(f"links.csv names too many links: {series.left_out:,} rows are left out")
        self._read_events(series)
        if topology is None:
            topology = graph_from_links(series)
            if not topology:
                return None, None
        return self._picture(topology, series), series

    def _guess_interval(self):
        times = set()
        for columns in self._csv_chunks("links.csv", LINK_FIELDS):
            times.update(columns["time_us"])
        times = sorted(value for value in map(number, times) if 0 <= value <= LONGEST_TIME_US)
        return max(1e-3, min((b - a for a, b in zip(times, times[1:]) if b > a), default=100.0))

    def _guess_span(self, interval):
        first, last = math.inf, 0.0
        for columns in self._csv_chunks("links.csv", LINK_FIELDS):
            times = self._numbers("links.csv", columns["time_us"], LONGEST_TIME_US)
            first, last = min(first, min(times)), max(last, max(times))
        return (max(0.0, first - interval), last) if last else (0.0, interval)

    def _picture(self, topology, series):
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
            out.append({"a": a, "b": b, "rate_gbps": rate, "delay_us": delay,
                        "use": [series.summary(name, rate) for name in (ab, ba)]})
        return {"name": cut(topology["name"]), **({"places": places} if places else {}), "nodes": [[cut(name), kind, tier] for name, kind, tier in nodes], "links": out, "left_out": left_out,
                "begin_us": series.begin, "end_us": series.end, "bin_us": series.bin_us, "bins": series.bins,
                "first_bin_us": series.grid_begin, "interval_us": series.interval, "rows": series.rows}

    # ---- network_events.log

    events = None

    def _read_events(self, series):
        file = self._open("network_events.log")
        if not file:
            return
        bin_us = max(series.bin_us, 1000.0)  # marks are logged a millisecond at a time
        marks, totals, limited, last = {}, {}, [], []
        pauses, measured = {}, series.begin
        finished, read = False, 0
        with file:
            for line in self._lines("network_events.log", file):
                read += 1
                if read > MOST_ROWS:
                    self.problems.append(f"network_events.log has more than {MOST_ROWS:,} lines: those after them are left out")
                    break
                if line[0] == "#":
                    total = re.match(r"# total (\w+) (\d+), measured (\d+)", line)
                    if total and len(total.group(0)) < 100:
                        totals[total.group(1)] = [int(total.group(2)), int(total.group(3))]
                    finished = finished or line.startswith("# end")
                    continue
                words = line.split(None, 4)
                if len(words) < 3:
                    continue
                last.append(cut(line.rstrip("\n"), LONGEST_LINE))
                if len(last) > 2 * MOST_EVENTS:
                    del last[:MOST_EVENTS]
                kind = words[1]
                if kind == "note":
                    only = re.search(r'"([a-z_]+)" is only counted', line)
                    if only and only.group(1) not in limited:
                        limited.append(only.group(1))
                    continue
                time = number(words[0])
                if time < measured - bin_us:
                    continue
                if kind == "ecn" and len(words) > 3 and time >= measured:
                    of = marks.setdefault(words[2], {})
                    at = int((time - measured) // bin_us)
                    of[at] = of.get(at, 0) + int(number(words[3]))
                elif kind == "pause" and time >= measured:
                    pauses[words[2]] = pauses.get(words[2], 0) + 1
        if not finished:
            self.problems.append("network_events.log has no end: the program was ended before it could complete it.")
        self.marks, self.pauses, self.marks_bin_us = marks, pauses, bin_us
        failed = not self.stats.get("completed", False)
        self.events = {"totals": totals, "cut": limited, "last": last[-MOST_EVENTS:] if failed else []}

    # ---- queue, marks, pauses of the worst ports

    marks, pauses, marks_bin_us = {}, {}, 1000.0

    def _ports(self, series):
        """The worst of each kind. Marks are of the same intervals as queues if links.csv has them, else of network_events.log,
        where they stand by the millisecond."""
        def largest(values, n=MOST_PORTS):
            return [name for value, name in sorted(((-value, name) for name, value in values.items() if value))[:n]]
        by_queue = {name: link.queue_peak for name, link in series.links.items()}
        by_pause = {name: link.paused for name, link in series.links.items()}
        by_marks = {name: sum(link.marks) for name, link in series.links.items() if link.marks} if series.has_marks \
            else {name: sum(of.values()) for name, of in self.marks.items()}
        ranked = [largest(values) for values in (by_marks, by_pause, by_queue)]
        worst = []
        for name in itertools.chain(*itertools.zip_longest(*ranked)):  # the worst of each kind first
            if name is not None and name not in worst:
                worst.append(name)
        ports = []
        for name in worst[:MOST_PORTS]:
            link = series.links.get(name)
            ports.append({
                "name": cut(name), "marks": by_marks.get(name, 0), "pauses": self.pauses.get(name, 0),
                "queue_peak_bytes": link.queue_peak if link else 0,
                "pause_share": series.paused_share(name),
                "queue_bytes": link.queue if link else [],
                "pause": [rounded(value) for value in series.pause_shares(name)] if link else [],
                "marks_over_time": (link.marks or [] if link else []) if series.has_marks else None,
                "marks_in": [] if series.has_marks else sorted(map(list, self.marks.get(name, {}).items())),
            })
        return {"ports": ports, "marks_bin_us": series.bin_us if series.has_marks else self.marks_bin_us, "marks_by_interval": series.has_marks,
                "ports_with": {"marks": len(by_marks), "pause": sum(1 for v in by_pause.values() if v),
                               "queue": sum(1 for v in by_queue.values() if v)}}


# ---- helpers

def _columns(lines, fields):
    """Columns of these CSV lines, and how many were broken. Hardly a file has a quoted field: then one split
    does it for all lines, three times as fast as the csv module."""
    text = "".join(lines)
    if '"' not in text and text.endswith("\n"):
        parts = text.replace("\r", "").replace("\n", ",").split(",")
        if len(parts) == fields * len(lines) + 1 and _is_number(parts[-1 - fields]) == _is_number(parts[0]):
            return [parts[i:-1:fields] for i in range(fields)], 0
    lines = [line.replace("\r", "").replace("\0", "") for line in lines]
    try:
        rows = list(csv.reader(lines))
    except csv.Error:  # a quotation mark that nothing closes takes all that follows: each line by itself then
        rows = [row for line in lines for row in _row(line)]
    whole = [row for row in rows if len(row) == fields]
    return list(zip(*whole)), len(rows) - len(whole)


def _row(line):
    try:
        return list(csv.reader([line]))
    except csv.Error:
        return [[]]


def _is_number(text):
    return text.replace(".", "", 1).isdigit()


def _ns(text):
    return round(float(text) * 1e3)


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
    named, used = {}, {}
    for rank in ranks[::max(1, every)][:max(1, MOST_CALLS // max(1, total // len(ranks)))]:
        flat = []
        for start, end, name, stream, _ in sorted(calls[rank])[:MOST_CALLS]:
            flat += [used.setdefault(name, len(used)), stream, start - begin, end - start]
        named[rank] = flat
    return {"names": [cut(names[name], 120) for name in used], "streams": [cut(name, 60) for name in streams[:MOST_STREAMS]], "calls": named,
            "named_every": max(1, every)}


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
        pairs = sorted(zip(of, kinds.weigh(slowdowns[name], weights)))
        out[name] = _distribution(pairs)
        everything += pairs
    if len(out) > 1:
        everything.sort()
        out = {"all": _distribution(everything), **out}
    return out


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
    """Per operation [bytes from, bytes to, messages, bytes in all]: each size by itself if there are few (nearly equal ones
    are one, sizes.py), else classes of a quarter of an octave."""
    distinct = sorted({size for of in sizes.values() for size in of})
    alike = {}  # the sizes that count as one, by the smallest of them
    first_of = dict(zip(distinct, merged(distinct)))
    for size, first in first_of.items():
        alike[first] = (first, size)  # ascending: the largest stays
    exact = len(distinct) <= MOST_SIZES
    out = {}
    for operation, of in sizes.items():
        classes = {}
        for size, count in of.items():
            if exact or size <= 0:
                key = alike[first_of[size]] if exact else (size, size)
            else:
                octave = math.floor(4 * math.log2(size) + 1e-9)
                key = (math.ceil(2 ** (octave / 4)), math.ceil(2 ** ((octave + 1) / 4)) - 1)
            entry = classes.setdefault(key, [0, 0])
            entry[0] += count
            entry[1] += count * size
        out[operation] = [[*key, *entry] for key, entry in sorted(classes.items())]
    return {"exact": exact, "operations": out}
