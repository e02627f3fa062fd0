# SPDX-License-Identifier: GPL-2.0-only
"""calls.log: what every GPU did when."""

from bounds import cut
from cluster_simulator.folder.calls import rank_stride
from cluster_simulator.folder.recovery import counting_spans, left_at
from cluster_simulator.folder.replicas import has_replicas, step_spans
from cluster_simulator.folder.streams import LONGEST_TIME_US, MOST_ROWS

MOST_STATES = 600000  # intervals of GPU states; beyond that every n-th GPU is kept
MOST_GPUS = 20000  # rows of the timeline
MOST_STEPS = 2000  # boundaries of steps in it, and step times
MOST_STREAMS = 1000  # names of them
MOST_CALLS = 40000  # calls with their names; beyond that of every n-th GPU
COMPUTE, OVERLAP, EXPOSED, IDLE, RECOVERING, LOADS = "C", "O", "X", "I", "R", "M"
# Four counters in one number.
COMPUTING, COMMUNICATING, HELD_UP, LOADING, WAITING = 1, 1 << 20, 1 << 40, 1 << 60, 0
MOST_NS = int(LONGEST_TIME_US * 1000)


def timeline_of(files, stats):
    """What every GPU did when, of calls.log; None if there is none."""
    file = files.open("calls.log")
    if not file:
        return None
    calls, names, streams, steps, comments = {}, {}, {}, {}, []
    # Replicas end the warm-up each in the middle of something: of that what is behind it.
    from_ns = round(1e3 * (_us(stats, "measured_from_us") or 0)) if has_replicas(stats) else 0
    begin, broken, logged = None, 0, 0
    with file:
        for line in files.lines("calls.log", file):
            if line[0] == "#":
                comments.append(line.rstrip("\r\n"))
                continue
            try:
                start, end, step, rank, stream, kind, name, _, _ = line.split("\t")
                start, end, rank, step = _ns(start), _ns(end), int(rank), int(step)
                if not (
                    0 <= start <= end <= MOST_NS and 0 <= rank < 1 << 31 and 0 <= step < 1 << 31
                ):
                    raise ValueError
            except (ValueError, OverflowError):
                broken += 1
                continue
            if end < from_ns:
                continue
            start = max(start, from_ns)
            logged += 1
            if logged > MOST_ROWS:
                files.problems.append(
                    f"calls.log has more than {MOST_ROWS:,} calls: those after them are left out"
                )
                break
            if kind == "compute" or kind == "memory":
                weight = COMPUTING
            else:
                # A receive is posted ahead and waits: its sender is who communicates. What the host
                # does is neither computing nor the network's.
                weight = WAITING if kind in ("recv", "host") else COMMUNICATING
            if kind == "host" and stream in ("load", "store"):
                weight = LOADING  # from memory beyond the GPU, and to it
            if stream == "server":
                weight = WAITING  # a parameter server beside the GPU, nothing of its own
            call = (
                start,
                end,
                names.setdefault(name, len(names)),
                streams.setdefault(stream, len(streams)),
                weight,
            )
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
        files.problems.append(
            f"calls.log: {broken} broken line{'s' if broken > 1 else ''} left out"
        )
    if not calls:
        return None
    return _pictured(calls, begin, list(names), list(streams), steps, rank_stride(comments), stats)


def _pictured(calls, begin, names, streams, steps, logged_every, stats):
    ranks = sorted(calls)
    totals = dict.fromkeys((COMPUTE, OVERLAP, EXPOSED, IDLE, RECOVERING, LOADS), 0)
    sequences, gpus, intervals = {}, [], 0
    held_up = _held_up(stats)
    left = {rank: round(time * 1e3) for rank, time in left_at(stats).items() if rank in calls}
    there = _There(left, calls)
    for rank in ranks:
        start, durations, states = _states(calls[rank], held_up, left.get(rank))
        there.add(totals, start, durations, states)
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
    per_server = ((stats.get("configuration") or {}).get("cluster") or {}).get("gpus_per_server", 8)
    return {
        "begin_us": begin / 1e3,
        "gpus": gpus,
        "sequences": [[states, list(durations)] for states, durations in sequences],
        "steps": _step_marks(steps, begin, stats),
        "mean_us": {
            state: total / there.divisor / 1e3 / max(1, _count_steps(steps, stats))
            for state, total in totals.items()
        },
        "gpus_per_server": per_server if isinstance(per_server, int) and per_server > 0 else 8,
        "logged_every": logged_every,
        "shown_every": max(1, every),
        "logged": len(ranks),
        **_named_calls(calls, ranks, begin, names, streams, per_server),
    }


class _There:
    """Sums of GPUs' times for a mean over those that are there. While ranks leave, each time counts
    by how many are there then; unless any does, all is divided by their number at the end.
    """

    def __init__(self, left, calls):
        self.leaves = sorted(
            max(time, max(call[1] for call in calls[rank])) for rank, time in left.items()
        )
        self.ranks = len(calls)
        self.divisor = 1 if self.leaves else self.ranks

    def add(self, totals, start, durations, states):
        if not self.leaves:
            for duration, state in zip(durations, states):
                totals[state] += duration
            return
        gone = 0
        for duration, state in zip(durations, states):
            end = start + duration
            while start < end:
                while gone < len(self.leaves) and self.leaves[gone] <= start:
                    gone += 1
                until = min(end, self.leaves[gone]) if gone < len(self.leaves) else end
                totals[state] += (until - start) / max(1, self.ranks - gone)
                start = until


def _count_steps(steps, stats):
    """Measured ones that have calls; of replicas all, as calls stand where they ended."""
    known = stats.get("steps_measured") if has_replicas(stats) else None
    return known if isinstance(known, int) and known > 0 else sum(step > 0 for step in steps)


def _step_marks(steps, begin, stats):
    """[step, begin, end] in ns since `begin`: of attempts that were thrown away none."""
    if has_replicas(stats):
        spans = [
            (step, round(since * 1e3), round(until * 1e3))
            for step, (since, until) in enumerate(step_spans(stats), 1)
        ]
    elif counting_spans(stats) is None:
        spans = [(step, *span) for step, span in sorted(steps.items())]
    else:
        times = zip(stats["step_begins_us"], stats["step_times_us"])
        spans = [
            (step, round(since * 1e3), round((since + took) * 1e3))
            for step, (since, took) in enumerate(times, 1)
        ]
    return [[step, max(0, since - begin), end - begin] for step, since, end in spans[:MOST_STEPS]]


def _ns(text):
    return round(float(text) * 1e3)


def _held_up(stats):
    """[(begin, end)] in ns: when the job wrote a checkpoint, or a failure was known and it had not
    gone on yet.
    """
    recovery = stats.get("recovery")
    if not isinstance(recovery, dict):
        return []
    spans = []
    if "checkpoints_held_from_us" in recovery:
        begins, ends = (recovery.get(f"checkpoints_held_{when}_us") for when in ("from", "until"))
        for begin, end in zip(begins or [], ends or []):
            if _is_time(begin) and _is_time(end) and begin < end:
                spans.append((begin, end))
    else:  # of older results
        written = recovery.get("checkpoints_written_us") or []
        took = recovery.get("checkpoints_took_us")
        took = took or [recovery.get("checkpoint_time_us")] * len(written)
        for end, writing in zip(written, took):
            if isinstance(end, (int, float)) and isinstance(writing, (int, float)):
                spans.append((max(0, end - writing), end))
    failures = [f for f in recovery.get("failures") or [] if isinstance(f, dict)]
    for failure, after in zip(failures, [*failures[1:], stats]):
        begin, end = _us(failure, "known_us"), _us(failure, "resumed_us")
        if end is None:  # what it began the next failure ended, or the run did
            end = _us(after, "simulated_time_us" if after is stats else "known_us")
        if begin is not None and end is not None and begin < end:
            spans.append((begin, end))
    return [(round(begin * 1e3), round(end * 1e3)) for begin, end in spans]


def _is_time(value):
    return isinstance(value, (int, float)) and 0 <= value <= LONGEST_TIME_US


def _us(of, key):
    value = of.get(key)
    return value if _is_time(value) else None


def _states(calls, held_up, left=None):
    """Start, durations (ns) and states of one GPU: computing alone, with communication hidden
    behind it, communication alone (exposed), neither (held up by a checkpoint or a recovery, loads
    and stores alone, or idle, a bubble); from its first call to its last, or to when it left the
    job, if that is later.
    """
    edges = []
    for start, end, _, _, weight in calls:
        edges.append((start, weight))
        edges.append((end, -weight))
    if left is not None and left > min(edges)[0]:
        edges.append((left, WAITING))
    edges.sort()
    start = time = edges[0][0]
    if held_up:
        last = edges[-1][0]
        for begin, end in held_up:
            if begin < last and end > start:
                edges.append((max(begin, start), HELD_UP))
                edges.append((min(end, last), -HELD_UP))
        edges.sort()
    durations, states, active = [], [], 0
    for at, weight in edges:
        if at > time:
            computing = active & (COMMUNICATING - 1)
            communicating = active & (HELD_UP - COMMUNICATING)
            if computing:
                state = OVERLAP if communicating else COMPUTE
            elif communicating:
                state = EXPOSED
            else:
                held = active & (LOADING - HELD_UP)
                state = RECOVERING if held else LOADS if active else IDLE
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
    for rank in ranks[:: max(1, every)][: max(1, MOST_CALLS // max(1, total // len(ranks)))]:
        flat = []
        for start, end, name, stream, _ in sorted(calls[rank])[:MOST_CALLS]:
            flat += [used.setdefault(name, len(used)), stream, start - begin, end - start]
        named[rank] = flat
    return {
        "names": [cut(names[name], 120) for name in used],
        "streams": [cut(name, 60) for name in streams[:MOST_STREAMS]],
        "calls": named,
        "named_every": max(1, every),
    }
