# SPDX-License-Identifier: GPL-2.0-only
"""Where the time of the GPUs goes, from calls.log."""

import numpy
import pandas

from ..folder.recovery import counting_spans, left_at
from ..folder.replicas import has_replicas, step_spans
from .names import operations


def measured_from(run):
    """Where the time axes begin: the end of the warm-up."""
    return float(run.stats.get("measured_from_us") or 0)


def _own_calls(calls):
    """Without receives, which only wait, and what parameter servers do beside a GPU."""
    if "stream" in calls:
        calls = calls[calls["stream"] != "server"]
    return calls[calls["kind"] != "recv"]


def segments(calls):
    """Time of every rank cut where its state changes: arrays (rank, begin, end, state).

    States: 0 computing, 1 computing while communicating, 2 communicating only; waiting, 3, is left
    out, as receives are. Computing is any call of the GPU's that is no collective and no message:
    for what the host does (loading data, copies, its optimizer) the GPU waits.
    """
    calls = _own_calls(calls)
    calls = calls[calls["kind"] != "host"]
    collective = calls["kind"].isin(["collective", "send"]).to_numpy()
    rank = numpy.concatenate([calls["rank"], calls["rank"]])
    time = numpy.concatenate([calls["start_us"], calls["end_us"]])
    change = numpy.concatenate([numpy.ones(len(calls)), -numpy.ones(len(calls))]).astype(int)
    collective = numpy.concatenate([collective, collective])
    order = numpy.lexsort((time, rank))
    rank, time, change, collective = rank[order], time[order], change[order], collective[order]
    communicating = numpy.cumsum(numpy.where(collective, change, 0)) > 0
    computing = numpy.cumsum(numpy.where(collective, 0, change)) > 0
    state = numpy.where(
        computing, numpy.where(communicating, 1, 0), numpy.where(communicating, 2, 3)
    )
    keep = (rank[1:] == rank[:-1]) & (time[1:] > time[:-1]) & (state[:-1] != 3)
    return rank[:-1][keep], time[:-1][keep], time[1:][keep], state[:-1][keep]


def state_times(calls):
    """Mean time of a rank in computing, computing and communicating, communicating only (us)."""
    ranks = calls["rank"].nunique()
    _, begin, end, state = segments(calls)
    return [float((end - begin)[state == i].sum()) / max(ranks, 1) for i in range(3)]


def counting_calls(run):
    """calls.log without what was thrown away: of a run with recovery, the attempts of its measured
    steps that count. Before one has ended, and without recovery, all calls; of replicas, which end
    the warm-up each in the middle of something, what is behind it.
    """
    calls, spans = run.calls(), counting_spans(run.stats)
    if has_replicas(run.stats):
        steps, took = (run.stats.get(key) or 0 for key in ("steps_measured", "step_time_us"))
        since = measured_from(run)
        calls = _within(calls, since, since + steps * took if steps and took else float("inf"))
    if calls.empty or spans is None:
        return calls
    step = calls["step"].to_numpy()
    known = (step > 0) & (step <= len(spans))
    place = numpy.where(known, step - 1, 0)
    since, until = (numpy.array(ends)[place] for ends in zip(*spans))
    begin = calls["start_us"].to_numpy()
    return calls[known & (begin >= since) & (begin <= until)]


def _within(calls, since, until):
    """What of calls is in a span of time."""
    begin = calls["start_us"].clip(lower=since)
    end = calls["end_us"].clip(upper=until)
    return calls.assign(start_us=begin, end_us=end)[end > begin]


def _calls_of_step(run, calls, step):
    if not has_replicas(run.stats):
        return calls[calls["step"] == step]
    return _within(calls, *step_spans(run.stats)[step - 1]).assign(step=step)


def shares(run, calls):
    """(calls whose `rank` is a number of its own for each group that is taken together, what a us
    of each group adds to the mean over GPUs of a step).

    Without recovery a group is a rank. With it, ranks may leave: a group is a rank in a step, the
    mean is one of steps, and that of a step is over the ranks that did all of it.
    """
    ranks = max(calls["rank"].nunique(), 1)
    if counting_spans(run.stats) is None:
        codes, found = pandas.factorize(calls["rank"])
        steps = max(_count_steps(calls), 1)
        if has_replicas(run.stats) and steps > 1:  # (a step may have no call that ended in it)
            steps = run.stats.get("steps_measured") or steps
        return calls.assign(rank=codes), numpy.full(len(found), 1 / ranks / steps)
    left = pandas.Series(left_at(run.stats), dtype=float)
    pairs = calls[["step", "rank"]].drop_duplicates().reset_index(drop=True)
    ends = numpy.array([until for _, until in counting_spans(run.stats)])
    stays = ~(pairs["rank"].map(left).to_numpy() < ends[pairs["step"] - 1])
    # (of a step that only ranks which left have calls of, as calls.log may hold every n-th: those)
    alone = ~any_of_group(stays, pairs["step"])
    pairs["in_mean"] = stays | alone
    number = pairs["in_mean"].groupby(pairs["step"]).transform("sum").to_numpy()
    weight = numpy.where(pairs["in_mean"], 1 / number, 0) / max(pairs["step"].nunique(), 1)
    pairs["group"] = numpy.arange(len(pairs))
    codes = calls[["step", "rank"]].merge(pairs, on=["step", "rank"], how="left")["group"]
    return calls.assign(rank=codes.to_numpy()), weight


def any_of_group(flags, groups):
    """For each row: whether any of its group has the flag."""
    return pandas.Series(flags).groupby(groups).transform("any").to_numpy()


def mean_state_times(run, calls):
    """The same of a step, for the GPUs that are there (us)."""
    calls, weight = shares(run, calls)
    group, begin, end, state = segments(calls)
    took = (end - begin) * weight[group]
    return [float(took[state == i].sum()) for i in range(3)]


def step_parts(run, step=None):
    """(times in the four states, step time, whether it ended) of a step or of their mean, us; None
    if there is none. With --layers calls are of the blocks that were simulated, and so is all here:
    some_blocks() says of how many.

    Without calls.log what is hidden is not known, and counts as computing.
    """
    times = run.stats.get("step_times_us") or []
    total = run.stats.get("step_time_us") if step is None else times[step - 1]
    calls = counting_calls(run)
    if step is None and not calls.empty and some_blocks(run):
        total = run.stats["extrapolation"]["step_times_us"][0]
    if step is not None:
        calls = _calls_of_step(run, calls, step)
    ended = bool(total)
    if not total and len(calls):  # interrupted within the first step
        total = calls["end_us"].max() - calls["start_us"].min()
    if not total:
        return None
    if calls.empty:
        if run.stats.get("compute_time_us") is None:
            return None
        parts = [run.stats["compute_time_us"], 0, run.stats["exposed_communication_time_us"]]
    else:
        parts = mean_state_times(run, calls)
    return parts + [max(0.0, total - sum(parts))], total, ended


def some_blocks(run):
    """"8 of 40 blocks": of which calls, messages and links are, where --layers left out the others;
    None if they are of all."""
    part = run.stats.get("extrapolation") or {}
    if len(part.get("blocks_simulated") or []) < 2 or not part.get("step_times_us"):
        return None
    return f"{part['blocks_simulated'][0]} of {part['blocks']} blocks"


def _count_steps(calls):
    """Those measured: step 0 is a warm-up that is done again."""
    return calls.loc[calls["step"] > 0, "step"].nunique()


def count_operations(run):
    """How many there are, of which call_times() has those with the most time."""
    return operations(_own_calls(counting_calls(run))["call"]).nunique()


def call_times(run):
    """[(operation, time of or behind computing, exposed time, whether it communicates)] of a step,
    us a GPU: of messages and collectives while any of them is under way. Receives only wait. What
    the host does is None of both.
    """
    calls, weight = shares(run, counting_calls(run))
    calls = _own_calls(calls)
    share = weight[calls["rank"].to_numpy()]
    kind = operations(calls["call"])
    communicates = calls["kind"].isin(["collective", "send"])
    computing = calls[~communicates]
    rows = []
    longest = (
        ((calls["end_us"] - calls["start_us"]) * share)
        .groupby(kind)
        .sum()
        .sort_values(ascending=False, kind="stable")
    )
    for name in longest.index[:24]:
        these = calls[kind == name]
        if communicates[kind == name].any():
            these = these[communicates[kind == name]]
            group, begin, end, state = segments(pandas.concat([computing, these]))
            took = (end - begin) * weight[group]
            both, alone = (took[state == i].sum() for i in (1, 2))
            rows.append((name, both, alone, True))
        else:
            took = (these["end_us"] - these["start_us"]) * share[kind == name]
            on_host = (these["kind"] == "host").all()
            rows.append((name, took.sum(), 0, None if on_host else False))
    rows = sorted(rows, key=lambda row: -row[1] - row[2])[:12]
    return sorted(rows, key=lambda row: bool(row[3]))


def stream_order(calls):
    """Streams, computing first."""
    names = list(calls["stream"].unique())
    computing = set(calls.loc[calls["kind"] != "collective", "stream"])
    return sorted(names, key=lambda name: (name not in computing, names.index(name)))


def time_in_bins(begin, end, edges):
    """How much of the intervals lies in each bin: exact, by the integral of how many are under
    way.
    """
    if len(begin) == 0:
        return numpy.zeros(len(edges) - 1)
    time = numpy.concatenate([begin, end])
    change = numpy.concatenate([numpy.ones(len(begin)), -numpy.ones(len(end))])
    order = numpy.argsort(time, kind="stable")
    time, under_way = time[order], numpy.cumsum(change[order])
    integral = numpy.concatenate([[0], numpy.cumsum(under_way[:-1] * numpy.diff(time))])
    return numpy.diff(numpy.interp(edges, time, integral))


def group_size(ranks, per_server, rows=128):
    """Ranks in a row of a timeline: 1 where they fit, else whole servers."""
    if ranks <= rows:
        return 1
    size = -(-ranks // rows)
    return -(-size // per_server) * per_server if per_server > 1 else size
