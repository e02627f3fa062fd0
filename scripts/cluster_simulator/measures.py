# SPDX-License-Identifier: GPL-2.0-only
"""The numbers that pictures show, from the tables of a run (results.py): no drawing here."""

import math
import re

import numpy
import pandas

from .sizes import merged

COLLECTIVES = ("all-reduce", "reduce-scatter", "all-gather", "all-to-all", "broadcast", "barrier")
QUANTILES = (("p50", 0.5, "o"), ("p99", 0.99, "s"), ("p999", 0.999, "D"))
SLOWEST = 10000  # rows of a sampled flows.csv that are not a sample: the slowest ones (flow-table.h)


# ---- names


def operation(name):
    """What a tag or a call belongs to: "reduce-scatter bucket 7" and "reduce_scatter" are both reduce-scatter."""
    plain = str(name).replace("_", "-")
    for collective in COLLECTIVES:
        if plain.startswith(collective):
            return collective
    if plain.startswith("alltoall"):
        return "all-to-all"
    first = plain.split(" ", 1)[0]
    if first in ("forward", "backward"):
        return first
    return re.sub(r"[ -]*\d+$", "", str(name)) or "other"


def operations(names):
    """The same for a column, each different name looked at once."""
    return names.map({name: operation(name) for name in names.unique()})


def main_kinds(kinds, weight, most=6):
    """Operations beyond the most frequent ones become "other"."""
    totals = {}
    for name, count in zip(
        kinds.unique(),
        [weight[(kinds == name).to_numpy()].sum() for name in kinds.unique()]
        if kinds.nunique() <= 1000
        else [1] * kinds.nunique(),
    ):
        totals[name] = count
    if len(totals) <= most:
        return kinds
    keep = set(sorted(totals, key=lambda name: (-totals[name], name))[: most - 1])
    return kinds.where(kinds.isin(keep), "other")


def tier(link):
    """What a link connects: "edge-0-1->agg-0-0#2" is edge->agg."""
    ends = [re.sub(r"[-_.\d]+$", "", end) or "?" for end in str(link).split("#")[0].split("->")]
    return "→".join(ends)


def natural(name):
    """server-2 comes before server-10."""
    return [(0, int(part), "") if part.isdigit() else (1, 0, part) for part in re.findall(r"\d+|\D+", str(name))]


def part(stats, *keys):
    """An object inside stats.json; an empty one if it is not there, or no object."""
    for key in keys:
        stats = stats.get(key) if isinstance(stats, dict) else None
    return stats if isinstance(stats, dict) else {}


# ---- time of the GPUs


def measured_from(run):
    """Where the time axes begin: the end of the warm-up."""
    return float(run.stats.get("measured_from_us") or 0)


def segments(calls):
    """Time of every rank cut where its state changes: arrays (rank, begin, end, state).

    States: 0 computing, 1 computing while communicating, 2 communicating only; waiting, 3, is left out. Computing is
    any call that is no collective.
    """
    collective = (calls["kind"] == "collective").to_numpy()
    rank = numpy.concatenate([calls["rank"], calls["rank"]])
    time = numpy.concatenate([calls["start_us"], calls["end_us"]])
    change = numpy.concatenate([numpy.ones(len(calls)), -numpy.ones(len(calls))]).astype(int)
    collective = numpy.concatenate([collective, collective])
    order = numpy.lexsort((time, rank))
    rank, time, change, collective = rank[order], time[order], change[order], collective[order]
    communicating = numpy.cumsum(numpy.where(collective, change, 0)) > 0
    computing = numpy.cumsum(numpy.where(collective, 0, change)) > 0
    state = numpy.where(computing, numpy.where(communicating, 1, 0), numpy.where(communicating, 2, 3))
    keep = (rank[1:] == rank[:-1]) & (time[1:] > time[:-1]) & (state[:-1] != 3)
    return rank[:-1][keep], time[:-1][keep], time[1:][keep], state[:-1][keep]


def state_times(calls):
    """Mean time of a rank in computing, computing and communicating, communicating only (us)."""
    ranks = calls["rank"].nunique()
    _, begin, end, state = segments(calls)
    return [float((end - begin)[state == i].sum()) / max(ranks, 1) for i in range(3)]


def step_parts(run, step=None):
    """(times in the four states, step time, whether it ended) of a step or of their mean, us; None if there is none.

    Without calls.log what is hidden is not known, and counts as computing.
    """
    times = run.stats.get("step_times_us") or []
    total = run.stats.get("step_time_us") if step is None else times[step - 1]
    calls = run.calls()
    if step is not None:
        calls = calls[calls["step"] == step]
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
        steps = calls["step"].nunique()
        parts = [time / steps for time in state_times(calls)]
    return parts + [max(0.0, total - sum(parts))], total, ended


def call_times(run):
    """[(operation, time of or behind computing, exposed time, whether it is a collective)] of a step, us a GPU."""
    calls = run.calls()
    share = 1 / max(calls["rank"].nunique(), 1) / max(calls["step"].nunique(), 1)
    kind = operations(calls["call"])
    computing = calls[calls["kind"] != "collective"]
    rows = []
    longest = (calls["end_us"] - calls["start_us"]).groupby(kind).sum().sort_values(ascending=False, kind="stable")
    for name in longest.index[:24]:
        these = calls[kind == name]
        if (these["kind"] == "collective").any():
            these = these[these["kind"] == "collective"]
            _, begin, end, state = segments(pandas.concat([computing, these]))
            both, alone = ((end - begin)[state == i].sum() * share for i in (1, 2))
            rows.append((name, both, alone, True))
        else:
            rows.append((name, (these["end_us"] - these["start_us"]).sum() * share, 0, False))
    rows.sort(key=lambda row: (row[3], -row[1] - row[2]))
    return rows[:12]


def stream_order(calls):
    """Streams, computing first."""
    names = list(calls["stream"].unique())
    computing = set(calls.loc[calls["kind"] != "collective", "stream"])
    return sorted(names, key=lambda name: (name not in computing, names.index(name)))


def time_in_bins(begin, end, edges):
    """How much of the intervals lies in each bin: exact, by the integral of how many are under way."""
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


# ---- messages


def slowdown(flows):
    ideal = flows["ideal_fct_us"].to_numpy()
    return numpy.where(ideal > 0, flows["fct_us"].to_numpy() / numpy.where(ideal > 0, ideal, 1), 1.0)


def weights(run):
    """How many messages a row of flows.csv stands for: 1, unless the file is a sample plus the slowest."""
    flows = run.flows()
    result = numpy.ones(len(flows))
    messages = run.stats.get("messages") or 0
    if run.flows_are_sample() and messages > len(flows) > SLOWEST:
        slowest = numpy.argsort(-slowdown(flows), kind="stable")[:SLOWEST]
        result[:] = (messages - SLOWEST) / (len(flows) - SLOWEST)
        result[slowest] = 1
    return result


def quantile(values, shares, weight=None):
    """Nearest rank, as stats.json has it: the smallest value that at least this share does not exceed."""
    order = numpy.argsort(values, kind="stable")
    total = numpy.cumsum(numpy.ones(len(values)) if weight is None else numpy.asarray(weight)[order])
    # A millionth of a millionth less, for the rounding that makes 0.9 x 10 a little more than 9.
    places = numpy.searchsorted(total, numpy.asarray(shares) * total[-1] * (1 - 1e-12))
    return numpy.asarray(values)[order][numpy.minimum(places, len(values) - 1)]


def marks(run, key, values, weight):
    """{p50: ...}: exact, from stats.json, where it has them."""
    known = run.stats.get(key) or {}
    computed = dict(
        zip([name for name, _, _ in QUANTILES], quantile(values, [share for _, share, _ in QUANTILES], weight))
    )
    return {name: float(known.get(name) if known.get(name) is not None else computed[name]) for name in computed}


def size_groups(sizes, weight, groups):
    """The number of each message's group: about the same number in each, a size never in two.

    As slowdown.csv has them (scenarios/traffic/size-groups.h): a size is where the middle one of its messages is when
    all are cut at i n / groups. Groups that are empty have no number.
    """
    different, place = numpy.unique(sizes, return_inverse=True)
    count = numpy.bincount(place, weight)
    end = numpy.cumsum(count)
    middle = end - count + numpy.maximum(count - 1, 0) / 2  # the first one is 0
    cuts = numpy.floor(numpy.arange(1, groups) * end[-1] / groups)
    return numpy.unique(numpy.searchsorted(cuts, numpy.floor(middle), side="right"), return_inverse=True)[1][place]


def by_size(run, key, sizes, most=24):
    """Columns bytes, p50, p99, p999, ideal: by the sizes themselves if they are few, else groups of about equal number.

    `sizes` are all different ones, ascending, of all runs that are compared; those that are nearly equal are one.
    p99 needs a hundred messages, p99.9 a thousand: of fewer it is only the slowest one, and NaN.
    """
    flows, weight = run.flows(), weights(run)
    size = numpy.maximum(flows["bytes"].to_numpy(), 1)
    values = flows["fct_us"].to_numpy() if key == "fct_us" else slowdown(flows)
    ideal = flows["ideal_fct_us"].to_numpy()
    firsts = numpy.array(merged(sizes))
    alike = firsts[numpy.searchsorted(sizes, size)]
    different = numpy.unique(firsts)
    if len(different) <= most:
        place = numpy.searchsorted(different, alike)
    else:
        place = size_groups(alike, weight, int(min(most, max(4, weight.sum() // 100))))
    order = numpy.argsort(place, kind="stable")
    starts = numpy.flatnonzero(numpy.append(True, numpy.diff(place[order]) > 0))
    table = {"bytes": [], "p50": [], "p99": [], "p999": [], "ideal": []}
    for mine in numpy.split(order, starts[1:]):
        count = weight[mine].sum()
        p50, p99, p999 = quantile(values[mine], [0.5, 0.99, 0.999], weight[mine])
        table["bytes"].append(float(numpy.sqrt(float(size[mine].min()) * float(size[mine].max()))))
        table["p50"].append(float(p50))
        table["p99"].append(float(p99) if count >= 100 else math.nan)
        table["p999"].append(float(p999) if count >= 1000 else math.nan)
        table["ideal"].append(float(numpy.average(ideal[mine], weights=weight[mine])))
    return table


# ---- links and ports


class Links:
    """links.csv with its intervals: rows are of whole intervals of one grid, save the first and the last."""

    def __init__(self, run):
        self.table = run.links()
        times = self.table["time_us"].to_numpy()
        self.begin = measured_from(run)
        if self.begin >= times.max():  # of another run
            self.begin = 0.0
        self.end = max(float(times.max()), float(run.stats.get("simulated_time_us") or 0), self.begin + 1e-3)
        self.interval = max(float(part(run.stats, "links_csv").get("interval_us") or guess_interval(times)), 1e-6)
        # A row's interval begins at the grid point before its time.
        index = numpy.ceil(times / self.interval - 1e-9) - 1
        self.start = numpy.maximum(index * self.interval, self.begin)
        self.covered = numpy.maximum(times - self.start, 1e-6)
        self.names, self.link = numpy.unique(self.table["link"].to_numpy().astype(str), return_inverse=True)
        busy = self.table["utilization"].to_numpy() * self.covered
        self.mean = numpy.bincount(self.link, busy, len(self.names)) / max(self.end - self.begin, 1e-6)

    @property
    def has_marks(self):
        """Whether ECN marks stand in each interval; in older results network_events.log alone has them, by the ms."""
        return "ecn_marks" in self.table.columns

    def edges(self, bins):
        """Bounds of at most so many bins (us from begin), each of the same number of whole intervals."""
        first, last = math.floor(self.begin / self.interval + 1e-9), math.ceil(self.end / self.interval - 1e-9)
        every = -(-(last - first) // bins)
        grid = numpy.arange(first, last + every, every)[: -(-(last - first) // every) + 1] * self.interval
        return numpy.clip(grid - self.begin, 0, self.end - self.begin)

    def over_time(self, values, bins, chosen=None, how="mean", whole=False):
        """(edges in us from begin, array links x bins) of a column: its mean over time, its maximum, or its sum.

        Bins are equal, or, if `whole`, of whole intervals, so that each row belongs to one.
        """
        count = int(max(1, min(bins, math.ceil((self.end - self.begin) / self.interval))))
        edges = self.edges(bins) if whole else numpy.linspace(0, self.end - self.begin, count + 1)
        count = len(edges) - 1
        middle = self.start + self.covered / 2 - self.begin
        place = numpy.clip(numpy.searchsorted(edges, middle, side="right") - 1, 0, count - 1)
        rows = self.link if chosen is None else numpy.take(row_numbers(chosen, len(self.names)), self.link)
        size = len(self.names) if chosen is None else len(chosen)
        keep = rows >= 0
        flat, values = (rows * count + place)[keep], values[keep]
        if how == "max":
            result = numpy.zeros(size * count)
            numpy.maximum.at(result, flat, values)
        elif how == "sum":
            result = numpy.bincount(flat, values, size * count)
        else:
            result = numpy.bincount(flat, values * self.covered[keep], size * count)
            # Rows of idle intervals are not there, so the mean is over the bin's length; a row that reaches over the
            # bin's edge counts in one bin only, hence the limit.
            result = numpy.minimum(result / numpy.tile(numpy.maximum(numpy.diff(edges), 1e-6), size), 1.0)
        return edges, result.reshape(size, count)


def row_numbers(chosen, size):
    rows = numpy.full(size, -1)
    rows[numpy.asarray(chosen, dtype=int)] = numpy.arange(len(chosen))
    return rows


def guess_interval(times):
    """Without stats.json: most differences of times are the interval."""
    steps = numpy.diff(numpy.unique(times))
    steps = numpy.round(steps[steps > 0], 6)
    if len(steps) == 0:
        return float(times[0]) or 1.0
    values, counts = numpy.unique(steps, return_counts=True)
    return float(values[counts.argmax()])


def ecn_marks(run):
    """Columns time_us (begin of the millisecond), where, marks; of the measured time."""
    events = run.events()
    marked = events[(events["what"] == "ecn") & (events["time_us"] >= measured_from(run))]
    count = marked["details"].str.extract(r"^(\d{1,15}) marks", expand=False)
    marked = marked.assign(marks=count.astype(float)).dropna(subset=["marks"])
    return marked[["time_us", "where", "marks"]]


def worst_ports(run, links, most=5):
    """Ports by longest queue, marks and pause time in turn: the worst of each, then the second of each, ..."""
    table = links.table
    queue = numpy.zeros(len(links.names))
    numpy.maximum.at(queue, links.link, table["queue_bytes"].to_numpy())
    paused = numpy.bincount(links.link, table["pause_share"].to_numpy() * links.covered, len(links.names))
    if links.has_marks:
        marks_of = numpy.bincount(links.link, table["ecn_marks"].to_numpy(), len(links.names))
    else:
        marked = ecn_marks(run).groupby("where")["marks"].sum()
        marks_of = numpy.array([marked.get(name, 0.0) for name in links.names])
    # Names in order where numbers are equal, so that the choice repeats.
    orders = [[i for i in numpy.lexsort((links.names, -score)) if score[i] > 0] for score in (queue, marks_of, paused)]
    chosen = []
    for place in range(max(map(len, orders), default=0)):
        for order in orders:
            if place < len(order) and order[place] not in chosen and len(chosen) < most:
                chosen.append(order[place])
    return [int(i) for i in chosen]


def marks_per_interval(run, links, bins, ports=None):
    """(edges from begin, marks per ms: ports x bins), of these numbers of links, or one row of all together.

    In the bins of queues and pauses; of older results, which have no marks in links.csv, a bin a millisecond or more.
    """
    if links.has_marks:
        edges, marks = links.over_time(links.table["ecn_marks"].to_numpy(), bins, ports, "sum", whole=True)
        marks = marks if ports is not None else marks.sum(axis=0, keepdims=True)
    else:
        marked = ecn_marks(run)
        span = links.end - links.begin
        count = max(1, min(bins, math.ceil(span / 1000)))
        edges = numpy.linspace(0, max(span, count * 1000.0), count + 1)
        of = [marked] if ports is None else [marked[marked["where"] == links.names[port]] for port in ports]
        marks = numpy.array([histogram_of_marks(one, links.begin, edges) for one in of])
    return edges, marks / (numpy.maximum(numpy.diff(edges), 1e-6) / 1000)


def histogram_of_marks(marked, begin, edges):
    place = numpy.maximum(marked["time_us"].to_numpy() - begin + 1e-6, 0)
    return numpy.histogram(place, edges, weights=marked["marks"].to_numpy())[0]


def host_nodes(run):
    """Ends of messages as links.csv names them: the NIC "server-3:1" is at the node server-3."""
    flows, links = run.flows(), run.links()
    nodes = set(links["from"].unique()) | set(links["to"].unique())
    ends = set(flows["src"].unique()) | set(flows["dst"].unique())
    return {end if end in nodes else end.rsplit(":", 1)[0] for end in ends} & nodes


class Graph:
    """Nodes and links in tiers; without topology.json only links that carried something.

    links: [(node, node, bytes carried in both directions, utilization of the busier direction)]
    level: {node: its tier, or how many links it is from the nearest host}
    """

    def __init__(self, run):
        links = Links(run)
        table = links.table
        ends = table.drop_duplicates("link").set_index("link")[["from", "to", "rate_gbps"]].loc[links.names]
        all_nodes, all_links = run.topology()
        nodes = sorted(set(ends["from"]) | set(ends["to"]) | {name for name, _ in all_nodes}, key=natural)
        known_hosts = {name for name, tier in all_nodes if tier == 0}
        if not known_hosts:  # no topology.json: what is called as our families call hosts is one
            known_hosts = {node for node in nodes if re.fullmatch(r"server-\d+", node)}
        hosts = host_nodes(run) | known_hosts
        pairs = {}  # both directions, and all parallel links, of two nodes: one line
        for place, (begin, end, rate) in enumerate(ends.itertuples(index=False)):
            pair = pairs.setdefault(tuple(sorted((begin, end), key=natural)), [0.0, 0.0])
            pair[0] += links.mean[place] * (links.end - links.begin) * 1e-6 * rate * 1e9 / 8
            pair[1] = max(pair[1], links.mean[place])
        for begin, end in all_links:
            pairs.setdefault(tuple(sorted((begin, end), key=natural)), [0.0, 0.0])
        self.links = [(a, b, carried, busy) for (a, b), (carried, busy) in pairs.items()]
        known = dict(all_nodes)
        if all(known.get(node) is not None for node in nodes):
            level = known
        else:
            level = self._distances(nodes, hosts or set(nodes[:1]))
        self.level = level
        self.tiers = [[node for node in nodes if level[node] == tier] for tier in sorted(set(level.values()))]

    def _distances(self, nodes, hosts):
        """{node: links to the nearest host}; what is not connected comes on top."""
        neighbours = {node: set() for node in nodes}
        for a, b, _, _ in self.links:
            neighbours[a].add(b)
            neighbours[b].add(a)
        level, front = {node: 0 for node in hosts}, set(hosts)
        far = 0
        while front:
            far += 1
            front = {other for node in front for other in neighbours[node] if other not in level}
            level.update(dict.fromkeys(front, far))
        top = max(level.values(), default=0) + 1
        return {node: level.get(node, top) for node in nodes}

    def places(self):
        """{node: (x in 0..1, tier)}: the nodes of a tier are spread evenly, in the order of their names."""
        result = {}
        for height, tier_nodes in enumerate(self.tiers):
            for place, node in enumerate(tier_nodes):
                result[node] = ((place + 0.5) / len(tier_nodes), height)
        return result
