# SPDX-License-Identifier: GPL-2.0-only
"""A capture's folder from what the processes of a program recorded (source/record.h)."""

import glob
import json
import os
import re

from . import matching, places

VERSION = 1
# Data types that captures do not have: those of the same size.
TYPES = {"u32": "i32", "u64": "i64", "f8e4m3": "u8", "f8e5m2": "u8"}


class Recording:
    """processes: {pid: server}; communicators: {id: Communicator}."""

    def __init__(self, folder, processes, communicators):
        self._lines = []  # (pid, line), a process's in order
        for path in sorted(glob.glob(os.path.join(folder, "process-*.jsonl"))):
            pid = int(re.search(r"process-(\d+)", path)[1])
            with open(path, encoding="utf-8", errors="replace") as file:
                for text in file:
                    try:
                        self._lines.append((pid, json.loads(text)))
                    except ValueError:
                        break  # a process that was killed in the middle of a line
        self._servers = processes
        self._communicators = communicators
        self.notes = []
        self._find_gpus()
        self._find_groups()
        self._find_steps()
        self.tasks = {rank: _Tasks(self, rank) for rank in range(self.world)}
        for pid, line in self._lines:
            self._take(pid, line)

    def _find_gpus(self):
        used = {
            (self._servers.get(pid, 0), line["g"])
            for pid, line in self._lines
            if line["t"] in ("kernel", "copy", "fill", "nccl")
        }
        for comm in self._communicators.values():
            used |= {(server, gpu) for _, server, gpu in comm.members}
        self._ranks = {gpu: rank for rank, gpu in enumerate(sorted(used))}
        self.world = len(used)
        each = {}
        for server, _ in used:
            each[server] = each.get(server, 0) + 1
        self.gpus_per_server = max(each.values(), default=1)
        if len(set(each.values())) > 1:
            self.notes.append("the program uses more GPUs of some servers than of others")

    def _find_groups(self):
        """Kinds of groups; of each communicator its kind. Kind 0 is the world."""
        self.kinds = [{"name": "world", "groups": [list(range(self.world))]}]
        self._kind_of = {}
        world_taken = False
        for comm in self._communicators.values():
            ranks = [self._ranks[member[1:]] for member in comm.members]
            if ranks == self.kinds[0]["groups"][0] and not world_taken:
                world_taken = True
                self._kind_of[comm.id] = 0
                continue
            for number, kind in enumerate(self.kinds[1:], 1):
                if not any(set(group) & set(ranks) for group in kind["groups"]):
                    kind["groups"].append(ranks)
                    self._kind_of[comm.id] = number
                    break
            else:
                self._kind_of[comm.id] = len(self.kinds)
                self.kinds.append({"name": comm.name, "groups": [ranks]})

    def _find_steps(self):
        counts = {}
        for pid, line in self._lines:
            if line["t"] == "mark" and line["which"] == "end":
                counts[pid] = counts.get(pid, 0) + 1
        self._marked = bool(counts)
        self.steps = min(counts.values()) if counts else 1
        self._now = {}  # pid: (step, is in it)

    def _step(self, pid):
        if not self._marked:
            return 0
        number, inside = self._now.get(pid, (0, False))
        return number if inside else self.steps if number >= self.steps else -1

    def _take(self, pid, line):
        if line["t"] == "mark":
            number, inside = self._now.get(pid, (0, False))
            if line["which"] == "begin":
                self._now[pid] = (number, True)
            elif inside:
                self._now[pid] = (number + 1, False)
            return
        if line["t"] == "sync" and line["g"] < 0:
            for tasks in self.tasks.values():
                tasks.sync(pid, line)
            return
        rank = self._ranks.get((self._servers.get(pid, 0), line["g"]))
        if rank is None:
            return  # a GPU on which nothing is done
        tasks = self.tasks[rank]
        tasks.step = self._step(pid)
        getattr(tasks, line["t"])(pid, line)

    def note(self, text):
        if text not in self.notes:
            self.notes.append(text)

    def group(self, comm):
        return self._kind_of[comm]

    def ranks_of(self, comm):
        return self._communicators[comm].ranks

    def write(self, folder, more):
        for rank, tasks in self.tasks.items():
            path = os.path.join(folder, f"rank-{rank}.jsonl")
            with open(path, "w", encoding="utf-8") as file:
                head = {"kind": "rank", "rank": rank, "streams": tasks.streams}
                for line in (head, *tasks.tasks):
                    file.write(json.dumps(line) + "\n")
        ranks = list(range(self.world))
        ended = "cudaProfilerStop" if self._marked else "the end of the program"
        meta = {
            "format": "dltrain-capture",
            "version": VERSION,
            "world": self.world,
            "gpus_per_server": self.gpus_per_server,
            "captured": ranks,
            "ranks": ranks,
            "role_of": ranks,
            "groups": self.kinds,
            "steps": {"count": self.steps, "ended_by": ended, "take": [max(self.steps - 1, 0)]},
            "memory": [],
            **more,
        }
        meta["notes"] = [*meta["notes"], *self.notes]
        with open(os.path.join(folder, "meta.json"), "w", encoding="utf-8") as file:
            json.dump(meta, file, indent=1)
            file.write("\n")


class _Tasks:
    """Of one GPU."""

    def __init__(self, recording, rank):
        self._recording = recording
        self.rank = rank
        self.step = 0
        self.streams = ["default"]
        self.tasks = []
        self._numbers = {}  # (pid, stream): index
        self._last = {}  # index: id of its last task
        self._pending = {}  # index: ids that its next task waits for
        self._moments = {}  # (pid, moment): ids
        self._done = set()
        self._batches = 0
        self._sequence = {}

    def _stream(self, pid, number):
        key = (pid, number)
        if key not in self._numbers:
            if number == 0 and 0 not in self._numbers.values():
                self._numbers[key] = 0
            else:
                self._numbers[key] = len(self.streams)
                self.streams.append(f"stream {len(self.streams)}")
        return self._numbers[key]

    def _at_end(self, stream):
        last = self._last.get(stream)
        return self._pending.get(stream, set()) | (set() if last is None else {last})

    def _add(self, task, line, stream, after=None):
        task = {"id": len(self.tasks), **task, "step": self.step, "phase": "other"}
        if stream is not None:
            task["stream"] = stream
            after = self._pending.pop(stream, set()) if after is None else after
            self._last[stream] = task["id"]
        if after:
            task["after"] = sorted(after)
        where = line["p"]
        task["line"] = (
            places.of_launch(where, line["n"]) if line["t"] == "kernel" else places.shown(where)
        )
        self.tasks.append(task)

    # ---- lines

    def record(self, pid, line):
        self._moments[pid, line["e"]] = self._at_end(self._stream(pid, line["s"]))

    def wait(self, pid, line):
        stream = self._stream(pid, line["s"])
        ids = self._moments.get((pid, line["e"]))
        if ids is None:
            self._recording.note(
                "waits of a GPU for events of another one are not in the record, only in the times"
                " that the program saw"
            )
            return
        ids = {one for one in ids if self.tasks[one].get("stream") != stream}
        if ids:
            self._pending.setdefault(stream, set()).update(ids)

    def sync(self, pid, line):
        if line["e"]:
            waits = self._moments.get((pid, line["e"]), set())
        elif line["s"] >= 0:
            waits = self._at_end(self._stream(pid, line["s"]))
        else:
            waits = set().union(*(self._at_end(stream) for stream in range(len(self.streams))))
        waits = waits - self._done
        if waits:
            self._done |= waits
            self._add({"kind": "sync", "name": "synchronize"}, line, None, waits)

    def kernel(self, pid, line):
        task = {"kind": "pointwise", "name": line["n"]}
        if line["given"]:
            task = {"kind": "kernel", "name": line["n"], "us": line["ps"] * 1e-6}
        task.update(grid=line["grid"], block=line["block"])
        self._add(task, line, self._stream(pid, line["s"]))

    def copy(self, pid, line):
        if line["direction"] == "host":
            return
        stream = self._stream(pid, line["s"])
        if line["direction"] in ("to-gpu", "from-gpu"):
            task = {
                "kind": "memcpy",
                "name": "cudaMemcpy",
                "bytes": line["bytes"],
                "direction": line["direction"],
                "blocking": line["blocking"],
            }
        else:
            if line["direction"] == "between":
                self._recording.note("copies from GPU to GPU are recorded as copies within one")
            task = _moved("cudaMemcpy", line["bytes"])
        self._add(task, line, stream)

    def fill(self, pid, line):
        task = {"kind": "memory", "name": "cudaMemset", "read": 0, "written": line["bytes"]}
        self._add(task, line, self._stream(pid, line["s"]))

    def nccl(self, pid, line):
        stream = self._stream(pid, line["s"])
        operations = [matching.Operation.read(text) for text in line["ops"]]
        operations = [one for one in operations if one.count]
        comm, mine = line["comm"], line["rank"]
        messages = [one for one in operations if one.is_message]
        self._batches += 1
        for one in operations:
            if one.is_message and one.root == mine:
                if one.kind == "send":
                    self._add(_moved("to itself", one.bytes), line, stream)
                continue
            name = matching.NAMES[one.type]
            task = {
                "kind": one.kind if one.is_message else "collective",
                "name": one.kind,
                "bytes": matching.whole_bytes(one, self._recording.ranks_of(comm)),
                "group": self._recording.group(comm),
                "dtype": TYPES.get(name, name),
                "async": True,
            }
            if one.is_message:
                task["peer"] = one.root - mine
                if len(messages) > 1:
                    task["batch"] = self._batches
            else:
                task["op"] = one.kind
                if one.root >= 0:
                    task["root"] = one.root
                if one.reduction != "-":
                    how = one.reduction.partition("=")[0]
                    task["reduce"] = {"prod": "product", "premul": "sum"}.get(how, how)
            counted = (comm, one.kind if one.is_message else "", one.root if one.is_message else 0)
            task["sequence"] = self._sequence.get(counted, 0)
            self._sequence[counted] = task["sequence"] + 1
            self._add(task, line, stream)


def _moved(name, size):
    return {"kind": "memory", "name": name, "read": size, "written": size}
