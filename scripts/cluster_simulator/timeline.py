# SPDX-License-Identifier: GPL-2.0-only
"""timeline.json of a run: a trace in the trace-event format, which the Perfetto viewer (and chrome://tracing) opens.

    write(load("results/dltrain-1"))        # -> results/dltrain-1/timeline.json

Tracks, all times in us since the simulation began:

    run    a thread "steps"; threads "collectives", from the first GPU's entry to the last one's leaving; a thread
           "losses": drops, retransmissions, time-outs, failed queue pairs (stats.json, network_events.log)
    GPU    a thread for every stream: its calls (calls.log)
    NIC    threads "sends": messages from post to arrival (flows.csv); threads "receives": the same messages at the
           other end, as long as they take on an idle network, ending when the last byte arrived; an arrow leads from
           one to the other
    links  counters: utilization (%), queue (B) and, where there were pauses, share of time paused (%) (links.csv)

Slices of a thread must not overlap, so messages that are under way together lie on several threads: "sends", "sends 2".

The file has at most max_events events besides the names of tracks, some 140 bytes each. What does not fit is left out
whole and said in "otherData": of GPUs every n-th is kept, of links the busiest, of messages the slowest and an even
choice of the others.
"""

import heapq
import json
import math
import os

import numpy

from .measures import measured_from, natural, slowdown

MAX_EVENTS = 1000000
PER_MESSAGE = 4  # a slice at either end, and the two ends of the arrow
FIRST_THREAD = 1000000  # numbers of threads are never those of processes
LOSSES = ("drop", "retransmission", "timeout", "qp_error")


class NothingToShow(Exception):
    """The run has neither calls nor messages nor links."""


def write(run, path=None, max_events=MAX_EVENTS):
    """Write timeline.json; returns what stands in its "otherData". Raises NothingToShow, or OSError."""
    path = path or run.path("timeline.json")
    choice = Choice(run, max_events)
    temporary = path + ".part"
    try:
        with open(temporary, "w", encoding="utf-8") as file:
            trace = Trace(file)
            choice.write(trace)
            about = choice.about(trace)
            trace.end(about)
        os.replace(temporary, path)
    except BaseException:
        if os.path.exists(temporary):
            os.unlink(temporary)
        raise
    return about


# ---- the format


class Trace:
    """Writes events one by one, a line each."""

    def __init__(self, file):
        self._file = file
        self._separator = '{"displayTimeUnit":"ms","traceEvents":[\n'
        self._processes = 0
        self._threads = FIRST_THREAD
        self.events = 0  # names of tracks not counted

    def _line(self, line):
        self._file.write(self._separator + line)
        self._separator = ",\n"

    def process(self, name):
        self._processes += 1
        pid = self._processes
        self._line(f'{{"ph":"M","name":"process_name","pid":{pid},"tid":0,"args":{{"name":{quoted(name)}}}}}')
        self._line(f'{{"ph":"M","name":"process_sort_index","pid":{pid},"tid":0,"args":{{"sort_index":{pid}}}}}')
        return pid

    def thread(self, pid, name):
        self._threads += 1
        tid = self._threads
        self._line(f'{{"ph":"M","name":"thread_name","pid":{pid},"tid":{tid},"args":{{"name":{quoted(name)}}}}}')
        self._line(f'{{"ph":"M","name":"thread_sort_index","pid":{pid},"tid":{tid},"args":{{"sort_index":{tid}}}}}')
        return tid

    def slice(self, pid, tid, begin, end, name, category, details):
        """name, category and details are JSON already."""
        self.events += 1
        self._line(
            f'{{"ph":"X","pid":{pid},"tid":{tid},"ts":{number(begin)},"dur":{number(end - begin)},"name":{name},'
            f'"cat":{category},"args":{details}}}'
        )

    def arrow(self, which, pid, tid, time, identity):
        """One end, "s" or "f", of an arrow: belongs to the slice that is open there at that time."""
        self.events += 1
        binding = ',"bp":"e"' if which == "f" else ""
        self._line(
            f'{{"ph":"{which}","pid":{pid},"tid":{tid},"ts":{number(time)},"id":{identity},"name":"message",'
            f'"cat":"message"{binding}}}'
        )

    def instant(self, pid, tid, time, name, details):
        self.events += 1
        self._line(
            f'{{"ph":"i","s":"t","pid":{pid},"tid":{tid},"ts":{number(time)},"name":{quoted(name)},"cat":"loss",'
            f'"args":{details}}}'
        )

    def counter(self, pid, name, key, time, value):
        self.events += 1
        self._line(
            f'{{"ph":"C","pid":{pid},"tid":0,"ts":{number(time)},"name":{name},"args":{{"{key}":{value:.10g}}}}}'
        )

    def end(self, about):
        if self._separator != ",\n":  # no line at all
            self._file.write(self._separator)
        self._file.write('\n],"otherData":' + json.dumps(about, indent=1) + "}\n")


def quoted(words):
    return json.dumps(str(words))


def number(us):
    """Microseconds with all picoseconds and no zeros at the end."""
    words = f"{us:.6f}".rstrip("0").rstrip(".")
    return "0" if words == "-0" else words


class Lanes:
    """Puts slices, which come in order of their begin, on as few threads as they need not to overlap."""

    def __init__(self, trace, pid, name):
        self._trace, self._pid, self._name = trace, pid, name
        self._busy, self._free, self._threads = [], [], []

    def place(self, begin, end):
        while self._busy and self._busy[0][0] <= begin:
            heapq.heappush(self._free, heapq.heappop(self._busy)[1])
        if not self._free:
            count = len(self._threads) + 1
            self._threads.append(self._trace.thread(self._pid, self._name + (f" {count}" if count > 1 else "")))
            heapq.heappush(self._free, count - 1)
        lane = heapq.heappop(self._free)
        heapq.heappush(self._busy, (end, lane))
        return self._threads[lane]


# ---- what fits


class Choice:
    """What of a run goes into the file, and writes it."""

    def __init__(self, run, max_events):
        self.run = run
        self.max_events = max_events
        self.calls, self.flows, self.links = run.calls(), run.flows(), Counters(run)
        self.steps = step_slices(run)
        self.collectives = [one for one in run.stats.get("collectives") or [] if "start_us" in one]
        events = run.events()
        self.losses = events[events["what"].isin(LOSSES)]
        self.found = {
            "gpus": int(self.calls["rank"].nunique()),
            "calls": len(self.calls),
            "messages": len(self.flows),
            "links": len(self.links.names),
            "losses": len(self.losses),
            "collectives": len(self.collectives),
        }
        if not (len(self.calls) or len(self.flows) or self.links.names):
            raise NothingToShow(
                f"{run.folder}: there is nothing to show: no call, no message, no link in the measured time"
            )
        self._choose()

    def _choose(self):
        room = self.max_events
        self.steps = self.steps[: room // 10]
        self.collectives = self.collectives[: room // 10]
        self.losses = self.losses.iloc[: room // 20]
        room -= len(self.steps) + len(self.collectives) + len(self.losses)
        self._choose_gpus(int(room * 0.4))
        room -= len(self.calls)
        wanted = PER_MESSAGE * len(self.flows)
        self.links.choose(max(int(room * 0.3), room - wanted))
        room -= self.links.events
        self._choose_messages(max(0, room // PER_MESSAGE))

    def _choose_gpus(self, room):
        """Every n-th GPU, whole."""
        if len(self.calls) <= room:
            return
        ranks = sorted(self.calls["rank"].unique())
        count = self.calls["rank"].value_counts()
        stride = -(-len(self.calls) // max(room, 1))
        while sum(count[rank] for rank in ranks[::stride]) > room and stride <= len(ranks):
            stride += 1
        keep = ranks[::stride] if stride <= len(ranks) else []
        self.calls = self.calls[self.calls["rank"].isin(keep)]

    def _choose_messages(self, room):
        """Half of the room for the slowest, half for every n-th of the others."""
        if len(self.flows) <= room:
            return
        order = numpy.argsort(-slowdown(self.flows), kind="stable")
        slowest, others = order[: room // 2], numpy.sort(order[room // 2 :])
        count = room - len(slowest)
        even = others[numpy.unique(numpy.linspace(0, len(others) - 1, count).astype(int))] if count else others[:0]
        self.flows = self.flows.iloc[numpy.sort(numpy.concatenate([slowest, even]))]

    # ---- writing

    def write(self, trace):
        self._write_run(trace)
        self._write_gpus(trace)
        self._write_messages(trace)
        self.links.write(trace)

    def _write_run(self, trace):
        if not (self.steps or self.collectives or len(self.losses)):
            return
        pid = trace.process("run")
        if self.steps:
            tid = trace.thread(pid, "steps")
            for count, (begin, end) in enumerate(self.steps, 1):
                trace.slice(pid, tid, begin, end, quoted(f"step {count}"), '"step"', "{}")
        lanes = Lanes(trace, pid, "collectives")
        for one in sorted(self.collectives, key=lambda one: one["start_us"]):
            begin, end = one["start_us"], one["start_us"] + one["time_us"]
            details = {
                key: one[key] for key in ("op", "algorithm", "bytes", "ranks", "algbw_GBps", "busbw_GBps") if key in one
            }
            trace.slice(
                pid,
                lanes.place(begin, end),
                begin,
                end,
                quoted(one.get("name", one.get("op"))),
                '"collective"',
                json.dumps(details),
            )
        if len(self.losses):
            tid = trace.thread(pid, "losses")
            for time, what, where, details in self.losses.itertuples(index=False):
                trace.instant(pid, tid, time, what, json.dumps({"where": where, "details": details}))

    def _write_gpus(self, trace):
        if self.calls.empty:
            return
        per_server = self.run.stats.get("configuration", {}).get("cluster", {}).get("gpus_per_server")
        for rank, calls in self.calls.groupby("rank", sort=True):
            server = f" (server {rank // per_server})" if per_server else ""
            pid = trace.process(f"GPU {rank}{server}")
            streams = sorted(calls["stream"].unique(), key=lambda name: (name != "compute", name))
            for stream in streams:
                tid = trace.thread(pid, stream)
                mine = calls[calls["stream"] == stream].sort_values(["start_us", "end_us"], kind="stable")
                for begin, end, step, kind, call, size, group in zip(
                    *(
                        mine[column].tolist()
                        for column in ("start_us", "end_us", "step", "kind", "call", "bytes", "group")
                    )
                ):
                    details = f'{{"step":{step}' + (
                        f',"bytes":{size},"group":{quoted(group)}' if kind == "collective" else ""
                    )
                    trace.slice(pid, tid, begin, end, quoted(call), quoted(kind), details + "}")

    def _write_messages(self, trace):
        if self.flows.empty:
            return
        flows = self.flows
        # A flow's number is used again after 2^32 flows or in several steps of one collective: rows have their own.
        table = list(
            zip(
                range(len(flows)),
                *(
                    flows[column].tolist()
                    for column in ("flow", "src", "dst", "bytes", "start_us", "end_us", "fct_us", "ideal_fct_us", "tag")
                ),
            )
        )
        sends, receives = {}, {}
        for row in table:
            sends.setdefault(row[2], []).append(row)
            receives.setdefault(row[3], []).append(row)
        for host in sorted(set(sends) | set(receives), key=natural):
            pid = trace.process(f"NIC {host}")
            self._write_sends(trace, pid, sends.get(host, []))
            self._write_receives(trace, pid, receives.get(host, []))

    @staticmethod
    def _write_sends(trace, pid, rows):
        lanes = Lanes(trace, pid, "sends")
        for row, flow, _, dst, size, begin, end, _, ideal, tag in sorted(rows, key=lambda row: (row[5], row[0])):
            tid = lanes.place(begin, end)
            late = (end - begin) / ideal if ideal > 0 else 1
            details = (
                f'{{"to":{quoted(dst)},"bytes":{size},"flow":{flow},"ideal_fct_us":{number(ideal)},'
                f'"slowdown":{late:.4g}}}'
            )
            trace.slice(pid, tid, begin, end, quoted(tag), '"send"', details)
            trace.arrow("s", pid, tid, (begin + end) / 2, row)

    @staticmethod
    def _write_receives(trace, pid, rows):
        lanes = Lanes(trace, pid, "receives")
        arrivals = sorted((max(row[5], row[6] - row[8]) if row[8] > 0 else row[5], row) for row in rows)
        for begin, (row, flow, src, _, size, _, end, _, _, tag) in arrivals:
            tid = lanes.place(begin, end)
            trace.slice(
                pid, tid, begin, end, quoted(tag), '"receive"', f'{{"from":{quoted(src)},"bytes":{size},"flow":{flow}}}'
            )
            trace.arrow("f", pid, tid, (begin + end) / 2, row)

    def about(self, trace):
        """otherData: what the file is of, and what is left out."""
        kept = {
            "gpus": int(self.calls["rank"].nunique()),
            "calls": len(self.calls),
            "messages": len(self.flows),
            "links": self.links.kept,
            "losses": len(self.losses),
            "collectives": len(self.collectives),
        }
        missing = {key: self.found[key] - kept[key] for key in kept if self.found[key] > kept[key]}
        stats = self.run.stats
        about = {
            "program": self.run.program,
            "run": self.run.name,
            "complete": self.run.complete,
            "time_unit": "us since the simulation began",
            "measured_from_us": stats.get("measured_from_us"),
            "events": trace.events,
            "max_events": self.max_events,
            "shown": kept,
            "left_out": missing,
        }
        if not self.run.complete:
            about["problem"] = self.run.problem
        if self.run.rank_stride() > 1:
            about["calls_log"] = f"holds only every {self.run.rank_stride()}th GPU"
        if self.run.flows_are_sample():
            about["flows_csv"] = f"holds a sample of the {stats.get('messages', 0)} messages and the slowest"
        return about


def step_slices(run):
    """[(begin, end)] of the measured steps: from the last GPU's end of one to the last GPU's end of the next."""
    begin = measured_from(run)
    result = []
    for time in run.stats.get("step_times_us") or []:
        result.append((begin, begin + time))
        begin += time
    return result


class Counters:
    """Counters of the links; a value holds until the next one, so equal ones are written once."""

    def __init__(self, run):
        self._series = {}
        table = run.links()
        begin = measured_from(run)
        interval = float(run.stats.get("links_csv", {}).get("interval_us") or 0) or _interval(table)
        for name, mine in table.groupby("link", sort=False) if len(table) else ():
            self._series[name] = _counters(mine.sort_values("time_us"), begin, interval)
        order = sorted(self._series, key=lambda name: (-self._series[name]["busy"], natural(name)))
        self.names = order
        self._chosen = order
        self._count()

    def _count(self):
        self.events = sum(len(values) for name in self._chosen for values in self._series[name]["counters"].values())
        self.kept = len(self._chosen)

    def choose(self, room):
        """The busiest links, whole."""
        chosen, events = [], 0
        for name in self.names:
            events += sum(map(len, self._series[name]["counters"].values()))
            if events > room:
                break
            chosen.append(name)
        self._chosen = chosen
        self._count()

    def write(self, trace):
        if not self._chosen:
            return
        pid = trace.process("links")
        for name in sorted(self._chosen, key=natural):
            for (what, key), values in self._series[name]["counters"].items():
                title = quoted(f"{name} {what}")
                for time, value in values:
                    trace.counter(pid, title, key, time, value)


def _interval(table):
    """Without stats.json: the difference of times that is most frequent."""
    times = sorted(set(table["time_us"].tolist()))
    steps = [round(b - a, 6) for a, b in zip(times, times[1:])]
    return max(set(steps), key=lambda step: (steps.count(step), step)) if steps else (times[0] if times else 1.0)


def _counters(rows, begin, interval):
    """{"busy": us, "counters": {(what, key): [(time, value)]}} of a link."""
    times = rows["time_us"].tolist()
    starts = [max(begin, (math.ceil(time / interval - 1e-9) - 1) * interval) for time in times]
    utilization, queue, pause = (rows[column].tolist() for column in ("utilization", "queue_bytes", "pause_share"))
    counters = {("utilization", "%"): _shares(starts, times, utilization)}
    if any(queue):
        counters[("queue", "B")] = _queue(starts, times, queue)
    if any(pause):
        counters[("paused", "%")] = _shares(starts, times, pause)
    return {"busy": sum(u * (end - start) for u, start, end in zip(utilization, starts, times)), "counters": counters}


def _shares(starts, ends, values):
    """A value holds over its interval; where an interval has no row it is 0."""
    result, last = [], None
    for place, (start, end, value) in enumerate(zip(starts, ends, values)):
        if value != last:
            result.append((start, 100 * value))
            last = value
        if place + 1 == len(starts) or starts[place + 1] > end + 1e-6:
            if last:
                result.append((end, 0))
            last = 0
    return result


def _queue(starts, ends, values):
    """A value is of the end of its interval; a link without a row has no queue."""
    result, last = [(starts[0], 0)], 0
    for place, (end, value) in enumerate(zip(ends, values)):
        if value != last:
            result.append((end, value))
            last = value
        if last and place + 1 < len(starts) and starts[place + 1] > end + 1e-6:
            result.append((starts[place + 1], 0))
            last = 0
    return result
