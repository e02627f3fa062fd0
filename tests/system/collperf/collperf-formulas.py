# SPDX-License-Identifier: GPL-2.0-only
# ctest: TIMEOUT 900
"""Simulated times against the algorithms' own formulas (coll::IdleSeconds), where they cross, and
levels from the network. By hand:

    /usr/bin/python3 tests/system/collperf/collperf-formulas.py   # the quick part, as in ./ns3 test
    ... --full      # all ranks and sizes: some three minutes of a core
    ... --table     # prints errors as Markdown, for docs/validation.md

collperf --dry-run says ("By formula") what each algorithm that is registered takes on an idle
network, idle_us, and the numbers of which most of these formulas are sums. What those mean in time
is written here anew. A message of m bytes over an idle path takes T(m) (_system_test.py: store and
forward, headers). Of that W(m) is its bytes on one link; the rest is the latency alpha(m). With q
messages in series, the more of `chain` and `messages` (those that one rank sends, or gets),

    seconds = chain alpha(m) + q W(m),      m = serial_bytes / q

which is chain alpha + serial_bytes beta with the headers of q messages. Where all send to all at
once (ANSWERED), as many messages come in, and the answers to those that do while a rank still
sends, all but the first chain alpha / W, leave by the same port. Algorithms of which that is not
all there is (OWN) have formulas of their own in collectives/.

--cc=none: congestion controls are another matter; and switches with room for all that collides
(ROOM), as who is paused by PFC sends nothing to others either.
"""

import collections
import itertools
import re
import sys

sys.path.append(sys.path[0] + "/../shared")
from _system_test import (
    HEADERS,
    IMMEDIATE,
    MTU,
    RETH,
    SystemTest,
    full,
    main,
    nccl_table,
    share_of,
    taken,
    write_time_us,
)

KIB, MIB, GIB = 1 << 10, 1 << 20, 1 << 30
FULL = taken("--full") != ""
TABLE = taken("--table") != ""
OPS = (
    "all_reduce reduce_scatter all_gather broadcast reduce gather scatter alltoall alltoallv"
    " sendrecv barrier"
).split()
ALONE = " --library=none --cc=none --report=0 --timeline=0 --attribution=0 "
STRICT = 0.03  # what formula and simulation may differ by
ANEW = 0.002  # what the program's sums and those here may: the mean length of a message is rounded
ROOM = "--buffer=200MB"  # of a switch, for each 100 Gb/s: more than what collides
US_PER_BYTE = 8e-3 / 100  # at 100 Gb/s


def power_of_two(n):
    return n & (n - 1) == 0


# Formulas in time that are more than a sum of latencies and bytes, as the program prints them.
WAYS, ONE, ALL, SUMS = "ways through trees", "one port", "all ports", "sums"
OWN = {
    **{("k-nomial", op): WAYS for op in ("broadcast", "reduce", "gather", "scatter")},
    **{("tree", op): WAYS for op in ("broadcast", "reduce")},
    ("direct", "scatter"): WAYS,
    **{("torus", op): ONE for op in ("all_reduce", "reduce_scatter", "all_gather")},
    **{
        ("by-dimension", op): ALL
        for op in ("all_reduce", "reduce_scatter", "all_gather", "alltoall")
    },
    **{(name, "all_reduce"): ALL for name in ("tree", "double-binary-tree")},
    **{(name, "alltoallv"): ALL for name in ("direct", "pairwise")},
    ("parameter-server", "all_reduce"): SUMS,  # of more messages than the columns say
}
FOLDED = {"recursive-doubling", "halving-doubling"}  # ALL where ranks are no power of two


def kind_of(name, op, n):
    if name in FOLDED and op != "barrier" and not power_of_two(n):
        return ALL
    return OWN.get((name, op), SUMS)


def is_sum_of_columns(name, op, n):
    return kind_of(name, op, n) == SUMS and (name, op) not in OWN


# Not tested here, and why.
IN_SWITCHES = {"nvls", "nvls-tree", "sharp", "collnet-chain", "collnet-direct"}
# Their messages end in switches that add up, half of the way, and need such switches: what they
# cost is tested where those are (tests/unit/collectives).


def alpha_and_wire(size, links):
    """(latency, time on one link) of a message, us."""
    packets = max(1, -(-size // MTU))
    wire = (size + packets * HEADERS + RETH + IMMEDIATE) * US_PER_BYTE
    return write_time_us(size, 100.0, links) - wire, wire


Cost = collections.namedtuple("Cost", "size chain outside messages serial server idle")


# All of whose messages are posted at once, by all ranks: algorithms, operations.
ANSWERED = (
    {"direct", "every-to-every", "pxn"},
    {"all_reduce", "reduce_scatter", "all_gather", "alltoall"},
)
ACK = 86  # B on the wire (contrib/rdma/core: BTH, AETH and ICRC over UDP, IPv4, Ethernet)
PACKETS_AN_ACK = 16  # and one for the end of a message


def formula_us(cost, links=2, answered=False):
    if cost.chain == 0:
        return 0
    messages = max(cost.chain, cost.messages)
    size = round(cost.serial / messages)
    alpha, wire = alpha_and_wire(size, links)
    us = cost.chain * alpha + messages * wire
    if answered:
        acks = max(1, -(-size // (MTU * PACKETS_AN_ACK)))
        during = max(0, messages - cost.chain * alpha / wire)
        us += during * acks * ACK * US_PER_BYTE
    return us


def costs_of(plan):
    """Rows of the table "By formula"."""
    lines = plan.split("By formula", 1)[1].split("\n\n")[0].splitlines()[2:]
    rows = [line.split() for line in lines]
    return [
        Cost(int(r[1]), int(r[2]), int(r[3]), int(r[5]), float(r[6]), float(r[8]), r[9])
        for r in rows
    ]


class Formulas(SystemTest):
    def pairs(self):
        """(algorithm, operation): all that there are."""
        items = []
        for line in self.run_program("collperf --list=algorithms").out.splitlines()[1:]:
            if line.startswith("   "):
                items[-1][1] += " " + line.strip()
            else:
                name, text = line.split(None, 1)
                items.append([name, text])
        found = [
            (name, op)
            for name, text in items
            for op in OPS
            if name not in IN_SWITCHES and re.search(rf"(^|; ){op}: ", text)
        ]
        self.assertLessEqual(IN_SWITCHES, {name for name, _ in items})
        self.assertGreaterEqual(len(found), 43)
        self.assertEqual({op for _, op in found}, set(OPS))
        return found

    def both(self, line):
        """(cost, simulated us) of each size; nothing if the algorithm refuses the shape."""
        plan = self.run_program(f"collperf {ALONE} {line} --dry-run")
        rows = nccl_table(self.run_program(f"collperf {ALONE} {line}", timeout=1800).out)
        costs = costs_of(plan.out)
        self.assertEqual([c.size for c in costs], [row["size"] for row in rows], line)
        return [(cost, row["time_us"]) for cost, row in zip(costs, rows)]


class OneSwitch(Formulas):
    """One GPU and one NIC a server, one switch: every two ranks are as far, and only ports are
    shared."""

    def shapes(self):
        """(ranks, smallest, largest, factor)"""
        if FULL:
            return [
                *((n, KIB, 64 * MIB, 4) for n in (2, 3, 5, 8, 13)),
                (16, KIB, GIB, 4),
                *((n, KIB, 16 * MIB, 4) for n in (32, 64, 128)),
            ]
        return [(n, KIB, 16 * MIB, 128) for n in (2, 3, 5, 8, 13, 16)] + [(64, 16 * KIB, MIB, 64)]

    def test_every_algorithm(self):
        table = collections.defaultdict(dict)
        for number, (name, op) in enumerate(self.pairs()):
            # Every algorithm, each with other numbers of ranks.
            for n, least, most, factor in share_of(self.shapes(), one_in=4, first=number % 4):
                if name == "every-to-every" and n > 16:
                    most = MIB  # n (n - 1) S: 17 GB of packets
                sizes = "" if op == "barrier" else f"-b {least} -e {most} -f {factor}"
                line = f"--op={op} --algorithm={name} --ranks={n} {sizes} {ROOM}"
                for cost, took in self.both(line):
                    expected = float(cost.idle)
                    error = took / expected - 1
                    table[name, op][n, cost.size] = error
                    where = f"{line}, {cost.size} B: {took} us, by formula {expected:.2f}"
                    with self.subTest(where):
                        self.assertLessEqual(abs(error), STRICT, where)
                        if is_sum_of_columns(name, op, n):
                            answered = name in ANSWERED[0] and op in ANSWERED[1]
                            anew = formula_us(cost, answered=answered)
                            self.assertLess(abs(expected / anew - 1), ANEW, f"{where}, {anew}")
        if TABLE:
            print_table(table)

    def test_sums_of_others_are_worse(self):
        # Why there are formulas of their own: here sums are off by more than 3%.
        for name, op, n, size in (
            ("k-nomial", "broadcast", 32, "4K"),
            ("torus", "all_reduce", 16, "256K"),
            ("tree", "all_reduce", 8, "256K"),
            ("recursive-doubling", "all_reduce", 13, "1M"),
            ("pairwise", "alltoallv", 13, "1M"),
        ):
            line = f"--op={op} --algorithm={name} --ranks={n} -b {size} -e {size} {ROOM}"
            ((cost, took),) = self.both(line)
            self.assertLess(abs(took / float(cost.idle) - 1), STRICT, line)
            self.assertGreater(abs(took / formula_us(cost) - 1), STRICT, line)

    def test_where_there_is_none(self):
        # Links in servers, software, InfiniBand, two NICs, switches that add up: a dash.
        for options in (
            "--library=none --servers=2 --gpus-per-server=2",
            "--library=nccl --ranks=4",
            "--library=none --ranks=4 --fabric=ib",
            "--library=none --servers=4 --gpus-per-server=1 --nics-per-server=2",
            "--library=none --ranks=4 --algorithm=sharp",
        ):
            options = options if "--algorithm" in options else options + " --algorithm=ring"
            plan = self.run_program(f"collperf -b 1M -e 1M {options} --dry-run")
            self.assertEqual([cost.idle for cost in costs_of(plan.out)], ["-"], options)

    def test_other_shapes(self):
        # Rates, packets, cables and switches are those of the network.
        for options in (
            "--nic=400GbE --mtu=1024",
            "--link-delay=5us --switch-latency=2us",
            "--topology=leaf-spine --leaves=1 --spines=1 --hosts-per-leaf=12",
        ):
            algorithms = (
                ("torus", "all_reduce"),
                ("recursive-doubling", "all_reduce"),
                ("k-nomial", "scatter"),
                ("tree", "reduce"),
            )
            for (name, op), n in share_of(itertools.product(algorithms, (6, 11)), one_in=3):
                line = f"--op={op} --algorithm={name} --ranks={n} {options}"
                line += " -b 12340 -e 3M -f 16"
                for cost, took in self.both(line + " " + ROOM):
                    where = f"{line}, {cost.size}: {took} us, by formula {cost.idle}"
                    with self.subTest(where):
                        self.assertLess(abs(took / float(cost.idle) - 1), STRICT, where)


class Crossings(Formulas):
    """Few latencies are for small sizes, few bytes for large ones: where the one that is for small
    sizes falls behind, by simulation and by formula, is the same place of the grid of sizes or the
    one beside it.
    """

    FACTOR = 4

    def crossing(self, small, large, of):
        """The first size from which `large` is faster for good."""
        faster = [of(b) < of(a) for a, b in zip(small, large)]
        self.assertFalse(faster[0], "a crossing below the grid")
        self.assertTrue(faster[-1], "a crossing above the grid")
        return len(faster) - faster[::-1].index(False)

    def test_crossings(self):
        pairs = (
            ("all_reduce", "tree", "ring", (8, 13, 16, 32)),
            ("all_reduce", "double-binary-tree", "ring", (13, 16)),
            ("all_reduce", "recursive-doubling", "halving-doubling", (4, 8, 16, 32)),
            ("alltoall", "bruck", "pairwise", (5, 8, 13, 16, 32)),
            ("all_gather", "bruck", "ring", (5, 8, 13)),
            ("broadcast", "k-nomial", "ring", (5, 8, 16)),
            ("broadcast", "tree", "ring", (8, 16)),
            ("reduce", "k-nomial", "ring", (5, 8, 16)),
            ("all_reduce", "every-to-every", "ring", (4, 8)),
            ("all_gather", "pat", "ring", (5, 8, 13)),
            ("reduce_scatter", "pat", "ring", (5, 8, 13)),
        )
        for op, small, large, ranks in share_of(pairs, one_in=2):
            for n in share_of(ranks, one_in=4):
                # Bytes of bruck's all-gather and of pat are a ring's: they are never slower.
                never = op in ("all_gather", "reduce_scatter")
                line = f"--op={op} --ranks={n} -b 1K -e 64M -f {self.FACTOR} {ROOM} --algorithm="
                a, b = self.both(line + small), self.both(line + large)
                if never:
                    for (cost, took), (_, other) in zip(a, b):
                        self.assertLess(took, other * (1 + STRICT), f"{line}, {cost.size}")
                    continue
                simulated = self.crossing(a, b, lambda pair: pair[1])
                formula = self.crossing(a, b, lambda pair: float(pair[0].idle))
                sizes = [cost.size for cost, _ in a]
                if TABLE:
                    print(
                        f"| {op} | {small}, {large} | {n} | {sizes[simulated]} |"
                        f" {sizes[formula]} |"
                    )
                self.assertLessEqual(abs(simulated - formula), 1, f"{line}{small},{large}")


class Servers(Formulas):
    """Servers of several GPUs with one NIC, large sizes: the NIC is the bottleneck. What leaves
    the busiest server, or comes into it, takes at least its time; links inside, if nothing
    overlaps, serial_bytes more.
    """

    SIZE = 256 * MIB
    INSIDE = 1 / (300e3 * 0.8)  # us a byte: dgx-a100 (server-presets.cc)
    LEFT_OUT = {
        ("parameter-server", "all_reduce"): "answers go out when all has come in",
        ("k-nomial", "reduce"): "servers on the way send one after the other",
        ("k-nomial", "broadcast"): "servers on the way send one after the other",
        ("k-nomial", "scatter"): "servers on the way send one after the other",
        ("pairwise", "alltoallv"): "in each round all wait for the largest block",
    }

    ODD_SIZE = 64 * MIB

    def test_bytes_out_of_servers(self):
        for servers, gpus in ((4, 2), (4, 4)) if FULL else ((4, 4),):
            self.bounds(servers, gpus, self.SIZE, None)

    @full
    def test_odd_servers_of_odd_gpus(self):
        # Those that have an order of servers and one inside: no subtree is as large as another.
        levels = {"tree", "double-binary-tree", "hierarchical", "ring"}
        for servers, gpus in ((3, 5), (6, 3), (7, 3)) if FULL else ((3, 5), (7, 3)):
            self.bounds(servers, gpus, self.ODD_SIZE, levels)

    def bounds(self, servers, gpus, size, names):
        for name, op in share_of(self.pairs(), one_in=3):
            if op == "barrier" or name == "pat":
                continue  # no bytes; one GPU a server
            if names is None or name in names:
                line = (
                    f"--op={op} --algorithm={name} --servers={servers} --gpus-per-server={gpus}"
                    f" -b {size} -e {size}"
                )
                ((cost, took),) = self.both(line)
                least = cost.server * (MTU + HEADERS) / MTU * US_PER_BYTE
                most = least + cost.serial * self.INSIDE
                with self.subTest(line):
                    self.assertGreater(took, least * (1 - STRICT), line)
                    if (name, op) not in self.LEFT_OUT:
                        self.assertLess(took, most * (1 + STRICT), line)
                    else:
                        self.assertLess(took, 4 * most, line)


class FatTree(Formulas):
    """Full bisection, k = 4: neighbours are two links apart, others four or six, so times are
    between those of two and of six. Packets are sprayed (flows that ECMP puts on one link would
    share it), which takes an ACK a packet: 2% of the other direction.
    """

    ACK = 86 / (MTU + HEADERS)
    SPRAY = (
        "--topology=fat-tree --k=4 --ns3::RdmaSwitch::LoadBalancer=spray"
        " --ns3::RdmaNic::LossRecovery=out-of-order"
    )
    # Partners are not all as far, so ranks with near ones run ahead, and what they send early
    # shares ports; where several then send to one rank, PFC stops their ports, and
    # with them what these have for others.
    AHEAD = {
        ("tree", "reduce"): 0.5,
        ("pat", "reduce_scatter"): 0.5,
        ("pairwise", "alltoall"): 0.2,
        ("halving-doubling", "all_reduce"): 0.1,
    }
    AHEAD_IN_LARGE = {("pat", "all_gather"): 0.3, ("direct", "alltoallv"): 0.08}

    @full
    def test_between_near_and_far(self):
        size = 64 * MIB if FULL else 16 * MIB
        for name, op in self.pairs():
            if op == "barrier" or (name, op) == ("pairwise", "alltoallv"):
                continue  # no bytes; rounds wait for their largest block
            if (name, op) in (("torus", op), ("double-binary-tree", op), ("tree", "all_reduce")):
                continue  # their pipelines are not dense enough at such sizes
            line = f"--op={op} --algorithm={name} --ranks=16 -b {size} -e {size} {self.SPRAY}"
            ((cost, took),) = self.both(line)
            low, high = formula_us(cost, 2), formula_us(cost, 6)
            ahead = {**self.AHEAD, **(self.AHEAD_IN_LARGE if FULL else {})}
            more = ahead.get((name, op), STRICT + self.ACK)
            with self.subTest(line):
                self.assertGreater(took, low * (1 - STRICT), line)
                self.assertLess(took, high * (1 + more), line)


class LevelsOfTheNetwork(Formulas):
    """Racks and pods come from the network: k = 4, so 4 pods of 2 racks of 2 servers."""

    LINE = (
        "collperf --ranks=16 --topology=fat-tree --k=4 --algorithm=hierarchical -b 1M -c 1" + ALONE
    )

    def messages(self, options):
        return self.run_program(self.LINE + options).stats["messages"]

    def test_rings_of_each_level(self):
        # A ring of m is m - 1 messages a rank for reduce-scatter and as many for all-gather, twice
        # that for all-reduce. Servers have one GPU.
        ring = ",ring"
        self.assertEqual(self.messages("--levels=ring" + ring), 16 * 2 * 15)  # all 16
        self.assertEqual(self.messages("--levels=ring" + 2 * ring), 16 * 2 * (3 + 3))  # 4 in 4 pods
        self.assertEqual(self.messages("--levels=ring" + 3 * ring), 16 * 2 * (1 + 1 + 3))
        # Without names: two levels.
        self.assertEqual(self.messages(""), 16 * 2 * 15)
        # 8 servers of 2 are 2 pods: out of 16 messages inside servers none is counted.
        self.assertEqual(
            self.messages("--gpus-per-server=2 --levels=ring" + 3 * ring), 16 * 2 * (1 + 1 + 1)
        )

    def test_what_there_is_not(self):
        self.refuse(
            self.LINE + "--levels=ring,ring,ring,ring,ring",
            "--levels",
            "there are 2 to 4 levels, and algorithms for 5",
        )
        self.refuse(
            "collperf --ranks=16 --algorithm=hierarchical -b 1M --levels=ring,ring,ring",
            "--levels",
            "there are 2 levels, and algorithms for 3",
        )
        self.refuse(
            "collperf --ranks=8 --servers=16 --topology=fat-tree --k=4 --algorithm=hierarchical"
            " --placement=random --seed=3 --levels=ring,ring,ring,ring",
            "same number of ranks in every group",
        )


def print_table(table):
    """Least and most error of groups of sizes and kinds of formulas."""
    groups = [
        (0, 16 * KIB),
        (16 * KIB + 1, 256 * KIB),
        (256 * KIB + 1, 4 * MIB),
        (4 * MIB + 1, GIB),
    ]
    heads = ["to 16 KiB", "to 256 KiB", "to 4 MiB", "above"]
    print("| formula | algorithm | " + " | ".join(heads) + " |")
    print("|" + "---|" * 6)
    rows = (
        (SUMS, "all others", lambda name, op: True),
        (WAYS, "`k-nomial`; `tree` broadcast, reduce; `direct` scatter", lambda name, op: True),
        (ONE, "`torus`", lambda name, op: True),
        (ALL, "`halving-doubling`, `recursive-doubling`, ranks no power of two",
         lambda name, op: name in FOLDED),
        (ALL, "`by-dimension`", lambda name, op: name == "by-dimension"),
        (ALL, "`tree`, `double-binary-tree` all_reduce", lambda name, op: "tree" in name),
        (ALL, "`direct`, `pairwise` alltoallv", lambda name, op: op == "alltoallv"),
    )
    for kind, what, chosen in rows:
        cells = []
        for low, high in groups:
            some = [
                100 * e
                for (name, op), errors in table.items()
                for (n, size), e in errors.items()
                if kind_of(name, op, n) == kind and chosen(name, op) and low <= size <= high
            ]
            cells.append(f"{min(some):+.1f} to {max(some):+.1f}" if some else "")
        print(f"| {kind} | {what} | " + " | ".join(cells) + " |")


if __name__ == "__main__":
    main()
