# SPDX-License-Identifier: GPL-2.0-only
"""Tasks of a rank, on streams, with what each waits for. Events and waits become ids in `after`."""

from . import graphs, kernels, raw, steps

# What writes in place, and updates nothing: new inputs, zeros, lots.
NO_UPDATES = {
    f"aten::{name}_"
    for name in (
        "copy zero fill normal uniform bernoulli random exponential resize set detach".split()
    )
}
COLLECTIVE_KEYS = ("root", "reduce", "batch")


class Tasks:
    """Of one rank, from its record. `groups`: a Groups, of all ranks. `host_us`: microseconds of
    the program on the CPU before each operator, beside what was measured. `named`: whether a user
    has named what ends a step.
    """

    def __init__(self, record, groups, host_us=0, named=False):
        self._host_us = host_us
        self._named = named
        self.rank = record.rank
        self.groups = groups
        self.streams = ["default"]
        self.tasks = []
        self._indices = {}  # (device, number): index of a stream
        self._last = {}  # stream: id of its last task
        self._pending = {}  # stream: ids that its next task waits for
        self._events = {}  # event: ids
        self._collectives = {}  # number: id
        self._done = set()  # ids that the program has waited for
        self._sequence = {}
        self._forward = {}  # sequence number of a node: (line, module)
        self._phase = "other"
        self._backward = set()  # sequence numbers of nodes that run in backward
        self._read_forward = set()  # storages that forward has read, and not written
        self._numbers = {}  # group's number in the process: its index there
        self._read(record)

    def _read(self, record):
        lines = graphs.replayed(record.lines)
        self.steps = steps.Steps(lines, self._named)
        self._backward = {line["b"] for line in lines if line.get("b", -1) >= 0}
        for position, line in enumerate(lines):
            kind = line["t"]
            self._number = self.steps.at(position)
            if kind == "op":
                self._operator(line)
            elif kind == "coll":
                waited = self._is_waited_for(lines, position)
                self._collective(line, not waited)
            elif kind == "record":
                stream = self._stream(line)
                self._events[line["e"]] = self._at_end(stream)
            elif kind == "wait":
                self._wait(self._stream(line), self._events.get(line["e"], set()))
            elif kind == "done":
                self._wait(self._stream(line), {self._collectives[line["c"]]})
            elif kind == "sync":
                self._synchronize(line)

    # ---- streams

    def _stream(self, line, key="s", name=None):
        where = (line["d"], line[key])
        index = self._indices.get(where)
        if index is None:
            if where[1] == 0 and not any(number == 0 for _, number in self._indices):
                index = 0
            else:
                index = len(self.streams)
                used = sum(told.startswith("stream") for told in self.streams)
                self.streams.append(name or f"stream {used + 1}")
            self._indices[where] = index
        return index

    def _at_end(self, stream):
        """What has to be done for all of a stream so far to be done."""
        last = self._last.get(stream)
        return self._latest(self._pending.get(stream, set()) | (set() if last is None else {last}))

    def _latest(self, ids):
        """Of each stream only the last, which is done after those before; of a grouped call, whose
        parts run together, all. (Streams on which nothing is issued for long would gather all there
        is.)
        """
        last = {}
        for i in ids:
            stream = self.tasks[i]["stream"]
            last[stream] = max(i, last.get(stream, i))
        return {i for i in ids if self._are_one(i, last[self.tasks[i]["stream"]])}

    def _are_one(self, one, other):
        """Tasks of one stream: the same, or parts of a grouped call."""
        batch = self.tasks[one].get("batch")
        return one == other or (batch is not None and batch == self.tasks[other].get("batch"))

    @staticmethod
    def _is_waited_for(lines, position):
        """Whether a collective is waited for before anything else is issued. Between may stand the
        event of its future, and what another thread frees at that time.
        """
        for at in range(position + 1, len(lines)):
            line = lines[at]
            if line["t"] == "done" and line["c"] == lines[position]["c"]:
                return True
            if line["t"] in ("op", "coll"):
                return False
        return False

    def _wait(self, stream, ids):
        mine = self._last.get(stream, -1)
        # Of its own stream nobody has to wait.
        ids = {i for i in ids if i != mine and self.tasks[i].get("stream") != stream}
        if ids:
            self._pending[stream] = self._latest(self._pending.get(stream, set()) | ids)

    # ---- tasks

    def _add(self, task, line, stream, after=()):
        task = {"id": len(self.tasks), **task, "step": self._number, "phase": self._phase_of(line)}
        if stream is not None:
            task["stream"] = stream
            after = set(after) | self._pending.pop(stream, set())
            self._last[stream] = task["id"]
        if after:
            task["after"] = sorted(after)
        where, module = self._source(line)
        if where:
            task["line"] = where
        if module:
            task["module"] = module
        self.tasks.append(task)
        return task["id"]

    def _phase_of(self, line):
        """Backward is what autograd runs, and optimizer what an optimizer's step does, or an update
        in place of what forward reads. Forward is what a module does, or what backward has a node
        of, and what follows on that.
        """
        if line.get("p"):
            self._phase = "other"
            return "optimizer"
        if "b" in line:
            self._phase = "other"
            return "backward"
        if line.get("m") or line.get("node") in self._backward:
            self._phase = "forward"
        return "optimizer" if line.get("update") else self._phase

    def _look_at(self, line):
        """Adds to an operator's line what tells its phase: "node", the number of the node that
        autograd made for it, just before it ran, and "update".
        """
        if "b" in line:
            return
        if line["q"] - 1 not in self._forward:
            self._forward[line["q"] - 1] = (line.get("l"), line.get("m"))
            line["node"] = line["q"] - 1
        if line.get("p"):
            return
        used, written = list(raw.storages(line["a"])), set(raw.storages(line["o"]))
        if self._phase_of(line) == "forward":
            self._read_forward |= set(used) - written
            self._read_forward -= written
        elif line["n"].partition(".")[0] not in NO_UPDATES:
            # (What is written is an argument as well: of sub_(), and of sub(out=...).)
            in_place = {one for one in written if used[:1] == [one]}
            line["update"] = not in_place.isdisjoint(self._read_forward)

    def _source(self, line):
        here = line.get("l"), line.get("m")
        if line.get("own"):
            return here
        return self._forward.get(line["b"], here) if line.get("b", -1) >= 0 else here

    def _host_work(self, line):
        """What the program did on the CPU before it issued this."""
        microseconds = line.get("us", 0) + self._host_us
        if microseconds > 0 and not line.get("replayed"):
            task = {"kind": "host", "name": "program", "us": round(microseconds, 3)}
            self._add(task, line, None)

    def _operator(self, line):
        self._look_at(line)
        self._host_work(line)
        made = kernels.of_operator(line)
        if not made:
            return  # a stream on which nothing ever runs is none
        stream = self._stream(line)
        for kernel in made:
            phase = self._phase_of(line)
            if phase == "optimizer" and kernel["kind"] in ("pointwise", "reduction", "memory"):
                kernel["kind"] = "optimizer"
            task = self._add(
                {"kind": kernel.pop("kind"), "name": line["n"].partition(".")[0], **kernel},
                line,
                stream,
            )
            if kernel.get("blocking"):
                self._add_sync(line, {task})

    def _collective(self, line, asynchronous):
        group = self.groups.of(self.rank, line["g"])
        issued_on = self._stream(line)
        named = f"nccl {group.name}" + (f" with {line['peer']}" if "peer" in line else "")
        stream = self._stream(line, "on", named)
        name = line["n"]
        tensors = list(raw.tensors([raw.value(line["i"]), raw.value(line["o"])]))
        task = {
            "kind": name if name in ("send", "recv") else "collective",
            "name": name,
            "bytes": line["bytes"],
            "group": group.kind,
            "async": asynchronous,
        }
        if name not in ("send", "recv"):
            task["op"] = name
        if tensors:
            task["dtype"] = tensors[0].dtype
        for key in COLLECTIVE_KEYS:
            if key in line:
                task[key] = line[key]
        for key in ("sends", "receives"):
            if key in line:
                task[key] = line[key]
        if "peer" in line:
            task["peer"] = line["peer"] - group.ranks.index(self.rank)
        counted = (line["g"], name if "peer" in line else None, line.get("peer"))
        self._host_work(line)
        task["sequence"] = self._sequence.get(counted, 0)
        self._sequence[counted] = task["sequence"] + 1
        after = self._at_end(issued_on)
        self._collectives[line["c"]] = self._add(task, line, stream, after)
        if name == "barrier":
            self._add_sync(line, {self._collectives[line["c"]]})

    def _synchronize(self, line):
        if "e" in line:
            waits = self._events.get(line["e"], set())
        elif "s" in line:
            waits = self._at_end(self._stream(line))
        else:
            waits = set().union(*(self._at_end(stream) for stream in range(len(self.streams))))
        self._add_sync(line, waits)

    def _add_sync(self, line, waits):
        waits = waits - self._done
        if waits:
            self._done |= waits
            self._add({"kind": "sync", "name": "synchronize"}, line, None, waits)
