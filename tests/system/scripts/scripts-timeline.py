# SPDX-License-Identifier: GPL-2.0-only
"""timeline.json, by a run and by scripts/timeline: the trace obeys the format as Perfetto reads it,
and its sums are those of stats.json.
"""

import bisect
import collections
import copy
import json
import math
import os
import signal
import subprocess
import sys
import time
import unittest

sys.path.append(sys.path[0] + "/../shared")
from _system_test import ROOT, SLOWER, SystemTest, main

SCRIPT = os.path.join(ROOT, "scripts", "timeline")
US_TO_NS = 1000


class FormatError(Exception):
    """What is wrong with a trace."""


class Reader:
    """A validating reader of the trace-event format (JSON object form), of what Perfetto's importer
    asks for:

    every event has ph, pid and, but for counters, tid; all but metadata have a time; slices (X, or
    B with its E) of a thread are nested, in whole nanoseconds, to which the importer rounds;
    processes and threads that have events have names; each arrow has one begin (s) and one end (f,
    bp = e), which is not earlier, and each lies within exactly one slice of its thread.
    """

    KINDS = set("XBEMCsfi")

    def __init__(self, trace):
        if not isinstance(trace, dict) or not isinstance(trace.get("traceEvents"), list):
            raise FormatError("traceEvents is missing")
        self.other = trace.get("otherData", {})
        self.processes, self.threads = {}, {}
        self.slices = collections.defaultdict(list)  # (pid, tid) -> events with "ts" and "dur"
        self.counters = collections.defaultdict(list)  # (pid, name) -> [(ts, values)]
        self.arrows = collections.defaultdict(lambda: {"s": [], "f": []})  # (cat, name, id) -> ends
        self.instants = []
        self.count = 0  # events that are no metadata
        self._sorted = {}  # (pid, tid) -> (slices by begin, begins)
        open_slices = collections.defaultdict(list)
        for event in trace["traceEvents"]:
            self._read(event, open_slices)
        for track, left in open_slices.items():
            self._need(not left, f"B without E on {track}: {left}")
        self._check_names()
        for track, slices in self.slices.items():
            self._check_nesting(track, slices)
        self.bound = {key: self._bind(key, ends) for key, ends in self.arrows.items()}

    @staticmethod
    def _need(condition, message):
        if not condition:
            raise FormatError(message)

    def _number(self, event, key):
        value = event.get(key)
        self._need(
            isinstance(value, (int, float))
            and not isinstance(value, bool)
            and math.isfinite(value)
            and value >= 0,
            f"{key} is no number of at least 0: {event}",
        )
        return value

    def _read(self, event, open_slices):
        kind = event.get("ph")
        self._need(kind in self.KINDS, f"unknown ph: {event}")
        self._need(isinstance(event.get("pid"), int), f"pid: {event}")
        track = (event["pid"], event.get("tid"))
        if kind != "C":
            self._need(isinstance(event.get("tid"), int), f"tid: {event}")
        if kind != "E":
            self._need(isinstance(event.get("name"), str) and event["name"], f"name: {event}")
        if kind == "M":
            if event["name"] == "process_name":
                self._need(event["pid"] not in self.processes, f"named twice: {event}")
                self.processes[event["pid"]] = event["args"]["name"]
            elif event["name"] == "thread_name":
                self._need(track not in self.threads, f"named twice: {event}")
                self.threads[track] = event["args"]["name"]
            return
        self.count += 1
        self._number(event, "ts")
        if kind == "X":
            self._number(event, "dur")
            self.slices[track].append(event)
        elif kind == "B":
            open_slices[track].append(event)
        elif kind == "E":
            self._need(open_slices[track], f"E without B: {event}")
            begin = open_slices[track].pop()
            self._need(event["ts"] >= begin["ts"], f"ends before it begins: {begin}")
            self.slices[track].append({**begin, "dur": event["ts"] - begin["ts"]})
        elif kind == "C":
            for value in event["args"].values():
                self._need(
                    isinstance(value, (int, float)) and math.isfinite(value), f"counter: {event}"
                )
            self.counters[(event["pid"], event["name"])].append((event["ts"], event["args"]))
        elif kind in "sf":
            self._need("id" in event and "cat" in event, f"arrow without id or cat: {event}")
            self._need(
                kind == "s" or event.get("bp") == "e", f"would bind to the next slice: {event}"
            )
            self.arrows[(event["cat"], event["name"], event["id"])][kind].append(event)
        else:
            self._need(event.get("s") in ("t", "p", "g"), f"instant without scope: {event}")
            self.instants.append(event)

    def _check_names(self):
        used = set(self.slices) | {(one["pid"], one["tid"]) for one in self.instants}
        for track in used:
            self._need(track in self.threads, f"thread without a name: {track}")
        for pid in {pid for pid, _ in used} | {pid for pid, _ in self.counters}:
            self._need(pid in self.processes, f"process without a name: {pid}")

    def _check_nesting(self, track, slices):
        ends = []
        for one in sorted(slices, key=lambda one: (one["ts"], -one["dur"])):
            begin = math.floor(one["ts"] * US_TO_NS)
            end = begin + math.floor(one["dur"] * US_TO_NS)
            while ends and ends[-1] <= begin:
                ends.pop()
            self._need(not ends or end <= ends[-1], f"overlaps another slice of {track}: {one}")
            ends.append(end)

    def _bind(self, key, ends):
        """(the slice where an arrow begins with its track, that where it ends with its track)"""
        self._need(
            len(ends["s"]) == 1 and len(ends["f"]) == 1,
            f"arrow {key}: {len(ends['s'])} begins, {len(ends['f'])} ends",
        )
        self._need(ends["s"][0]["ts"] <= ends["f"][0]["ts"], f"arrow {key} ends before it begins")
        return tuple(self._slice_at(ends[kind][0]) for kind in "sf")

    def _slice_at(self, event):
        track = (event["pid"], event["tid"])
        if track not in self._sorted:
            slices = sorted(self.slices[track], key=lambda one: one["ts"])
            self._sorted[track] = (slices, [one["ts"] for one in slices])
        slices, begins = self._sorted[track]
        place = bisect.bisect_right(begins, event["ts"]) - 1
        found = [
            one
            for one in slices[max(0, place - 1) : place + 1]
            if one["ts"] <= event["ts"] <= one["ts"] + one["dur"]
        ]
        self._need(len(found) == 1, f"an arrow lies within {len(found)} slices: {event}")
        return track, found[0]

    def tracks(self, process, thread):
        """Slices of all threads whose process and thread names begin so: [(process name, thread
        name, slices)].
        """
        result = []
        for (pid, tid), slices in sorted(self.slices.items()):
            names = self.processes[pid], self.threads[(pid, tid)]
            if names[0].startswith(process) and names[1].startswith(thread):
                result.append((*names, slices))
        return result


def union(slices):
    """Time in which at least one of the slices is open."""
    total, last = 0.0, -math.inf
    for one in sorted(slices, key=lambda one: one["ts"]):
        end = one["ts"] + one["dur"]
        total += max(0.0, end - max(last, one["ts"]))
        last = max(last, end)
    return total


def small(test):
    """The default cluster (16 servers of 8 GPUs, k = 4), and 16 MB of parameters a step: a
    second.
    """
    layers = [{"name": f"layer {i}", "parameters": 2 << 20, "flops": 1.0e9} for i in range(4)]
    model = test.write(
        "small.json", {"name": "<script>alert(1)</script>", "sequence": 256, "layers": layers}
    )
    return f"dltrain --model={model} --placement=random --steps=2 --buckets=8MiB "


def text_of(path):
    with open(path, encoding="utf-8") as file:
        return file.read()


def steps_end(stats, step):
    return stats["measured_from_us"] + sum(stats["step_times_us"][: step + 1])


class Base(SystemTest):
    def script(self, *words, status=0):
        done = subprocess.run(
            [SCRIPT, *words], cwd=self.folder, capture_output=True, text=True, timeout=120 * SLOWER
        )
        self.assertEqual(done.returncode, status, done.stdout + done.stderr)
        return done

    def timeline(self, folder, *words):
        done = self.script(folder, *words)
        return self.read(folder), done

    @staticmethod
    def read(folder):
        with open(os.path.join(folder, "timeline.json"), encoding="utf-8") as file:
            return Reader(json.load(file))


class Training(Base):
    def test_sums_are_those_of_stats(self):
        run = self.run_program(small(self))
        self.assertIn(f"\nTimeline         {run.path('timeline.json')}", run.out)
        own = self.read(run.folder)
        trace, done = self.timeline(run.folder)
        stats = run.stats
        self._written_by_the_run(own, trace)
        steps, gpus = stats["steps_measured"], stats["gpus"]
        self.assertEqual((steps, gpus, done.stderr, trace.other["left_out"]), (2, 128, "", {}))
        self.assertEqual(trace.count, trace.other["events"])

        # A GPU's computing is the sum of its compute stream; stats.json has the mean over GPUs and
        # steps.
        compute = trace.tracks("GPU ", "compute")
        self.assertEqual(len(compute), gpus)
        mean = sum(one["dur"] for _, _, slices in compute for one in slices) / gpus / steps
        self.assertAlmostEqual(mean, stats["compute_time_us"], delta=1e-6 * mean)
        # Communication is under way while any of the other streams is busy: a union, since streams
        # overlap.
        others = collections.defaultdict(list)
        for process, thread, slices in trace.tracks("GPU ", ""):
            if thread != "compute":
                others[process] += slices
        self.assertEqual(len(others), gpus)
        mean = sum(map(union, others.values())) / gpus / steps
        self.assertAlmostEqual(mean, stats["communication_time_us"], delta=1e-6 * mean)
        # GPU by GPU the same as calls.log.
        expected = collections.Counter()
        for line in run.text("calls.log").splitlines():
            if not line.startswith("#"):
                f = line.split("\t")
                expected[(f"GPU {f[3]} (server {int(f[3]) // 8})", f[4])] += float(f[1]) - float(
                    f[0]
                )
        found = {
            (process, thread): sum(one["dur"] for one in slices)
            for process, thread, slices in trace.tracks("GPU ", "")
        }
        self.assertEqual(set(found), set(expected))
        for track, time in expected.items():
            self.assertAlmostEqual(found[track], time, delta=1e-5 * time, msg=track)

        # Messages: all of them at both ends, every byte, each arrow from the sender's slice to the
        # receiver's.
        sends = [one for _, _, slices in trace.tracks("NIC ", "sends") for one in slices]
        receives = [one for _, _, slices in trace.tracks("NIC ", "receives") for one in slices]
        for ends in (sends, receives):
            self.assertEqual(len(ends), stats["messages"])
            self.assertEqual(sum(one["args"]["bytes"] for one in ends), stats["message_bytes"])
        self.assertAlmostEqual(
            sum(one["dur"] for one in sends) / len(sends),
            stats["fct_us"]["mean"],
            delta=1e-6 * stats["fct_us"]["mean"],
        )
        by_flow = {}
        for process, _, slices in trace.tracks("NIC ", "receives"):
            for one in slices:
                by_flow[
                    (one["args"]["flow"], one["name"], one["ts"] + one["dur"] > steps_end(stats, 0))
                ] = (process, one)
        self.assertEqual(len(by_flow), stats["messages"])
        for process, _, slices in trace.tracks("NIC ", "sends"):
            for send in slices:
                end = send["ts"] + send["dur"]
                receiver, receive = by_flow[
                    (send["args"]["flow"], send["name"], end > steps_end(stats, 0))
                ]
                self.assertEqual(process, "NIC " + receive["args"]["from"])
                self.assertEqual(receiver, "NIC " + send["args"]["to"])
                for key in ("bytes", "from_gpu", "to_gpu"):
                    self.assertEqual(send["args"][key], receive["args"][key])
                self.assertAlmostEqual(end, receive["ts"] + receive["dur"], delta=1e-5)
                self.assertAlmostEqual(
                    receive["dur"], min(send["args"]["ideal_fct_us"], send["dur"]), delta=1e-5
                )
        self._arrows(trace, run.rows("flows.csv"))
        per_host = collections.Counter()
        for row in run.rows("flows.csv"):
            per_host[f"NIC {row['src']}"] += row["bytes"]
        found = collections.Counter()
        for process, _, slices in trace.tracks("NIC ", "sends"):
            found[process] += sum(one["args"]["bytes"] for one in slices)
        self.assertEqual(found, per_host)

        # Steps and collectives.
        ((_, _, slices),) = trace.tracks("run", "steps")
        self.assertEqual(len(slices), steps)
        for one, time in zip(slices, stats["step_times_us"]):
            self.assertAlmostEqual(one["dur"], time, delta=1e-5)
        slices = [one for _, _, some in trace.tracks("run", "collectives") for one in some]
        self.assertAlmostEqual(
            sum(one["dur"] for one in slices),
            sum(one["time_us"] for one in stats["collectives"]),
            delta=1e-3,
        )

        # Counters: the integral of a link's utilization over the measured time is its mean in
        # stats.json. links.csv has six decimals, and its first and last interval are shorter, as is
        # the counter's.
        begin, end = stats["measured_from_us"], stats["simulated_time_us"]
        for link in stats["links"]:
            (points,) = [
                points
                for (_, name), points in trace.counters.items()
                if name == f"{link['link']} utilization"
            ]
            times = [time for time, _ in points] + [end]
            self.assertGreaterEqual(times[0], begin)
            area = sum(
                values["%"] / 100 * (later - time)
                for (time, values), later in zip(points, times[1:])
            )
            self.assertAlmostEqual(area / (end - begin), link["utilization"], delta=2e-3)
        self.assertTrue(any(name.endswith(" queue") for _, name in trace.counters))

        # The same run, the same bytes.
        with open(run.path("timeline.json"), "rb") as file:
            before = file.read()
        self.script(run.folder)
        with open(run.path("timeline.json"), "rb") as file:
            self.assertEqual(file.read(), before)

        self._bounded(run, stats)

    def _written_by_the_run(self, own, trace):
        """The run's own file: the same, but what does not fit."""
        self.assertEqual(own.other["max_events"], 100000)
        self.assertEqual(own.count, own.other["events"])
        self.assertLessEqual(own.count, 100000)
        for key in ("program", "complete", "measured_from_us"):
            self.assertEqual(own.other[key], trace.other[key])
        for key, count in trace.other["shown"].items():
            self.assertEqual(own.other["shown"][key] + own.other["left_out"].get(key, 0), count)
        self.assertEqual(own.tracks("GPU ", "")[0][2], trace.tracks("GPU ", "")[0][2])
        for (sender, _), (receiver, _) in own.bound.values():
            self.assertTrue(own.processes[sender[0]].startswith("GPU "))
            self.assertTrue(own.processes[receiver[0]].startswith("GPU "))

    def _arrows(self, trace, rows):
        """One for every message, from the sender's call to the receiver's, when it was posted and
        when it arrived.
        """
        # Ranks of a server are at one host, and no others.
        servers = {(row["from_gpu"] // 8, row["src"]) for row in rows} | {
            (row["to_gpu"] // 8, row["dst"]) for row in rows
        }
        self.assertEqual(len(servers), 16)
        self.assertEqual(
            (len({server for server, _ in servers}), len({host for _, host in servers})), (16, 16)
        )
        expected, found = collections.defaultdict(list), collections.defaultdict(list)
        for row in rows:
            expected[(row["from_gpu"], row["to_gpu"], row["tag"])].append(
                (row["start_us"], row["end_us"])
            )
        for key, ends in trace.arrows.items():
            (sender, send), (receiver, receive) = trace.bound[key]
            self.assertEqual((send["cat"], receive["cat"]), ("collective", "collective"))
            for what in ("step", "bytes", "group"):
                self.assertEqual(send["args"][what], receive["args"][what])
            self.assertEqual(send["name"], receive["name"])
            gpus = [int(trace.processes[pid].split()[1]) for pid, _ in (sender, receiver)]
            found[(*gpus, send["name"])].append((ends["s"][0]["ts"], ends["f"][0]["ts"], receive))
        self.assertEqual(set(found), set(expected))
        late = 0
        for key, arrows in found.items():
            times = sorted(expected[key])
            self.assertEqual(len(arrows), len(times))
            for (begin, end, call), (posted, arrived) in zip(
                sorted(arrows, key=lambda arrow: arrow[:2]), times
            ):
                # The first ns of a call and the last 3 are left free: readers round.
                self.assertAlmostEqual(begin, posted, delta=0.0031)
                if arrived < call["ts"]:  # its receiver was not there yet
                    self.assertAlmostEqual(end, call["ts"], delta=0.0011)
                    late += 1
                else:
                    self.assertAlmostEqual(end, arrived, delta=0.0031)
        self.assertLess(late, 0.5 * len(rows))

    def _bounded(self, run, stats):
        for limit in (100, 20000):
            trace, done = self.timeline(run.folder, f"--max-events={limit}")
            self.assertLessEqual(trace.count, limit)
            self.assertGreater(trace.count, 0.5 * limit)
            self.assertEqual(trace.other["max_events"], limit)
            sends = [one for _, _, slices in trace.tracks("NIC ", "sends") for one in slices]
            shown, missing = trace.other["shown"], trace.other["left_out"]
            self.assertEqual(len(sends), shown["messages"])
            self.assertEqual(shown["messages"] + missing["messages"], stats["messages"])
            self.assertIn("warning: left out: ", done.stderr)
            self.assertIn(f"{missing['messages']:,} messages", done.stderr)
            self.assertLess(os.path.getsize(run.path("timeline.json")), 400 * limit + 40000)
        # The slowest message is never left out.
        rows = run.rows("flows.csv")
        slowest = max(rows, key=lambda row: row["fct_us"] / row["ideal_fct_us"])
        self.assertIn(slowest["flow"], {one["args"]["flow"] for one in sends})
        # A GPU that is kept is whole.
        calls = collections.Counter(
            line.split("\t")[3] for line in run.text("calls.log").splitlines() if line[0] != "#"
        )
        for process in {process for process, _, _ in trace.tracks("GPU ", "")}:
            count = sum(len(slices) for _, _, slices in trace.tracks(process, ""))
            self.assertEqual(count, calls[process.split()[1]])

    def test_ctrl_c(self):
        words, out = self.command("dltrain --warmup=0 --placement=random --report=0")
        running = subprocess.Popen(
            words, cwd=self.folder, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
        )
        try:
            calls = os.path.join(out, "calls.log")
            # Some calls of all GPUs, so that there are messages whose call is in the log.
            while running.poll() is None and not (
                os.path.isfile(calls) and text_of(calls).count("reduce-scatter") > 3 * 128
            ):
                time.sleep(0.05)
            running.send_signal(signal.SIGINT)
            running.communicate(timeout=60 * SLOWER)
        finally:
            running.kill()
            running.wait()
        self.assertEqual(running.returncode, 130)
        trace = self.read(out)
        self.assertFalse(trace.other["complete"])
        self.assertRegex(trace.other["problem"], r"^the run was interrupted after \d")
        # A call that had not ended is in no log: the arrows of its messages are between NICs.
        kinds = collections.Counter()
        for key, ends in trace.arrows.items():
            ((sender, _), send), ((receiver, _), receive) = trace.bound[key]
            kind = trace.processes[sender].split()[0]
            kinds[kind] += 1
            self.assertEqual(kind, trace.processes[receiver].split()[0])
            self.assertEqual(send["name"], receive["name"])
            if kind == "GPU":
                self.assertEqual(send["args"], receive["args"])  # step, bytes, group
        self.assertGreater(kinds["GPU"], 0)
        self.assertEqual(sum(kinds.values()), trace.other["shown"]["messages"])

    def test_no_file(self):
        run = self.run_program(small(self) + "--timeline=0 --report=0")
        self.assertNotIn("timeline.json", os.listdir(run.folder))
        self.assertNotIn("Timeline ", run.out)
        # Where it cannot be written the run says so, in one line and by its status, and is else as
        # good as without it.
        place = "timeline.json.part"
        out = os.path.join(self.folder, "in-the-way")
        os.makedirs(os.path.join(out, place, "mine"))
        run = self.run_program(small(self) + "--report=0", out=out, status=1)
        self.assertRegex(
            run.err,
            r"^\w+: error: .*/timeline\.json: not written: Is a directory; "
            r"the other files are complete\n$",
        )
        self.assertEqual([name for name in os.listdir(out) if name.startswith("timeline")], [place])

    def test_many_calls(self):
        """More calls than fit: what is there of a GPU is whole, the slowest messages have their
        arrows.
        """
        layers = [{"name": f"layer {i}", "parameters": 1 << 14, "flops": 1.0e9} for i in range(200)]
        model = self.write("deep.json", {"name": "deep", "sequence": 256, "layers": layers})
        run = self.run_program(f"dltrain --model={model} --steps=2 --report=0")
        trace = self.read(run.folder)
        shown = trace.other["shown"]
        self.assertLessEqual(trace.count, 100000)
        self.assertLess(os.path.getsize(run.path("timeline.json")), 20e6)
        calls = collections.Counter(
            line.split("\t")[3] for line in run.text("calls.log").splitlines() if line[0] != "#"
        )
        self.assertEqual(len(calls), 128)
        found = collections.Counter()
        for process, _, slices in trace.tracks("GPU ", ""):
            found[process.split()[1]] += len(slices)
        self.assertEqual(found, {gpu: calls[gpu] for gpu in found})
        self.assertEqual(
            (len(found), trace.other["left_out"]["gpus"]), (shown["gpus"], 128 - shown["gpus"])
        )
        self.assertTrue(20 < len(found) < 128, len(found))
        slowest = max(run.rows("flows.csv"), key=lambda row: row["fct_us"] / row["ideal_fct_us"])
        self.assertTrue({str(slowest["from_gpu"]), str(slowest["to_gpu"])} <= set(found))
        # An arrow leads from call to call where both are shown, else from NIC to NIC.
        kinds = collections.Counter()
        for key in trace.arrows:
            ((sender, _), send), ((receiver, _), receive) = trace.bound[key]
            kind = trace.processes[sender].split()[0]
            self.assertEqual(kind, trace.processes[receiver].split()[0])
            if kind == "NIC":
                self.assertFalse(
                    {str(send["args"]["from_gpu"]), str(send["args"]["to_gpu"])} <= set(found)
                )
            kinds[kind] += 1
        self.assertGreater(min(kinds["GPU"], kinds["NIC"]), 0)

    def test_interrupted_and_killed(self):
        run = self.run_program(small(self))
        stats = run.stats
        stats.update(completed=False, interrupted=True, share_done=0.4)
        self.write(run.path("stats.json"), stats)
        for name, length in (("flows.csv", 100001), ("links.csv", 50001), ("calls.log", 30001)):
            os.truncate(run.path(name), length)
        trace, done = self.timeline(run.folder)
        self.assertIn("incomplete: the run was interrupted after 40% of the work", done.stderr)
        self.assertEqual(trace.other["complete"], False)
        whole = run.text("flows.csv").count("\n") - 1  # but the header; the last line is cut off
        self.assertEqual(trace.other["shown"]["messages"], whole)
        os.unlink(run.path("stats.json"))
        os.unlink(run.path("links.csv"))
        trace, done = self.timeline(run.folder)
        self.assertIn("stats.json is missing", done.stderr)
        self.assertEqual(trace.other["shown"]["messages"], whole)
        self.assertEqual(len(trace.counters), 0)

    def test_names_are_text(self):
        folder = os.path.join(self.folder, 'a "run" <script>')
        os.mkdir(folder)
        name = '</script><script>"\\'
        self.write(
            os.path.join(folder, "calls.log"),
            (
                "# start_us\tend_us\tstep\trank\tstream\tkind\tcall\tbytes\tgroup\n"
                f"1\t2.5\t1\t0\tcompute\tcompute\t{name}\t0\t-\n"
            ),
        )
        trace, _ = self.timeline(folder)
        ((_, _, (one,)),) = trace.tracks("GPU 0", "compute")
        self.assertEqual((one["name"], one["ts"], one["dur"]), (name, 1, 1.5))


class Traffic(Base):
    def test_incast_and_losses(self):
        run = self.run_program(
            "traffic --pattern=incast --topology=single-switch --hosts=17 --fan-in=16 --bytes=400kB"
            " --pfc=0 --buffer=50kB"
        )
        stats = run.stats
        self.assertGreater(sum(stats["drops"].values()), 0)
        trace, _ = self.timeline(run.folder)
        # 16 senders, one receiver: 16 threads "sends", and the messages' ends overlap.
        self.assertEqual(len(trace.tracks("NIC ", "sends")), 16)
        self.assertEqual(
            {process for process, _, _ in trace.tracks("NIC ", "receives")}, {"NIC server-0"}
        )
        self.assertGreater(len(trace.tracks("NIC server-0", "receives")), 1)
        self.assertEqual(
            sum(
                one["args"]["bytes"]
                for _, _, slices in trace.tracks("NIC ", "sends")
                for one in slices
            ),
            16 * 400000,
        )
        # Between hosts there are no calls.
        self.assertEqual(
            {(row["from_gpu"], row["to_gpu"]) for row in run.rows("flows.csv")}, {("", "")}
        )
        self.assertEqual(len(trace.bound), 16)
        for ((sender, _), send), ((receiver, _), receive) in trace.bound.values():
            self.assertEqual(trace.processes[sender], "NIC " + receive["args"]["from"])
            self.assertEqual(trace.processes[receiver], "NIC " + send["args"]["to"])
            self.assertEqual(send["args"]["flow"], receive["args"]["flow"])
        drops = sum(1 for one in trace.instants if one["name"] == "drop")
        self.assertEqual(drops, sum(stats["drops"].values()))


class Errors(Base):
    def refuse(self, *words, says):
        done = self.script(*words, status=2)
        lines = done.stderr.splitlines()
        self.assertEqual((len(lines), done.stdout), (1, ""), done.stderr)
        self.assertTrue(lines[0].startswith("timeline: error: "), lines[0])
        for word in says:
            self.assertIn(word, lines[0])

    def test_bad_input(self):
        os.makedirs(os.path.join(self.folder, "runs", "first"))
        self.write(
            "runs/first/flows.csv", "flow,src,dst,bytes,start_us,end_us,fct_us,ideal_fct_us,tag\n"
        )
        self.refuse("nowhere", says=["nowhere", "no such folder"])
        self.refuse("runs/frist", says=["runs/frist", "did you mean 'runs/first'?"])
        self.refuse("runs", says=["no results", "first"])
        self.refuse("runs/first", "--max-events=99", says=["--max-events=99", "100 to 100000000"])
        self.refuse(
            "runs/first", "--max-event=1000", says=["--max-event", "did you mean '--max-events'?"]
        )
        self.refuse(says=["DIR"])
        done = self.script("runs/first", status=1)
        self.assertIn("nothing to show", done.stderr)
        self.assertEqual(os.listdir(os.path.join(self.folder, "runs", "first")), ["flows.csv"])
        for option in ("--out", "--max-events"):
            self.assertIn(option, self.script("--help").stdout)


class ReaderItself(unittest.TestCase):
    """The reader refuses what Perfetto would misread: otherwise the tests above prove nothing."""

    GOOD = {
        "traceEvents": [
            {"ph": "M", "name": "process_name", "pid": 1, "tid": 0, "args": {"name": "p"}},
            {"ph": "M", "name": "thread_name", "pid": 1, "tid": 2, "args": {"name": "t"}},
            {
                "ph": "X",
                "name": "a",
                "cat": "c",
                "pid": 1,
                "tid": 2,
                "ts": 0,
                "dur": 10,
                "args": {},
            },
            {
                "ph": "X",
                "name": "b",
                "cat": "c",
                "pid": 1,
                "tid": 2,
                "ts": 10,
                "dur": 10,
                "args": {},
            },
            {"ph": "s", "name": "m", "cat": "m", "id": 1, "pid": 1, "tid": 2, "ts": 5},
            {"ph": "f", "name": "m", "cat": "m", "id": 1, "pid": 1, "tid": 2, "ts": 15, "bp": "e"},
            {"ph": "B", "name": "d", "pid": 1, "tid": 2, "ts": 30},
            {"ph": "E", "pid": 1, "tid": 2, "ts": 31},
        ]
    }

    def test_good(self):
        trace = Reader(copy.deepcopy(self.GOOD))
        self.assertEqual((trace.count, len(trace.bound)), (6, 1))

    def test_bad(self):
        for place, change in (
            (0, {"name": "other"}),
            (1, {"tid": 3}),
            (2, {"dur": 11}),
            (2, {"dur": -1}),
            (2, {"ts": "0"}),
            (2, {"ts": float("nan")}),
            (2, {"ph": "Z"}),
            (3, {"pid": "1"}),
            (3, {"name": ""}),
            (4, {"id": 2}),
            (4, {"ts": 16}),
            (4, {"ts": 25}),
            (5, {"ts": 4}),
            (5, {"bp": "x"}),
            (6, {"ph": "X", "dur": 0}),
            (7, {"ph": "B", "name": "e"}),
            (7, {"ts": 29}),
        ):
            trace = copy.deepcopy(self.GOOD)
            trace["traceEvents"][place].update(change)
            with self.subTest(place=place, change=change), self.assertRaises(FormatError):
                Reader(trace)


if __name__ == "__main__":
    main()
