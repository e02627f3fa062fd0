# SPDX-License-Identifier: GPL-2.0-only
# ctest: TIMEOUT 900
"""Simulated times against the algorithms' own formulas (coll::Cost), where they cross, and levels
from the network. By hand:

    /usr/bin/python3 tests/system/collperf-formulas.py   # the quick part, as in ./ns3 test
    ... --full      # all ranks and sizes: some three minutes of a core
    ... --table     # prints errors as Markdown, for docs/validation.md

Cost comes from collperf --dry-run ("By formula"), so every algorithm that is registered is tested;
what it means in time is written here anew. A message of m bytes over an idle path takes T(m)
(_system_test.py: store and forward, headers). Of that W(m) is its bytes on one link; the rest is
the latency alpha(m). With q messages in series, the more of `chain` and `messages` (those that one
rank sends, or gets),

    seconds = chain alpha(m) + q W(m),      m = serial_bytes / q

which is chain alpha + serial_bytes beta with the headers of q messages. Where all send to all at
once (ANSWERED), as many messages come in, and the answers to those that do while a rank still
sends, all but the first chain alpha / W, leave by the same port. --cc=none: congestion controls are
another matter; PFC holds what collides.
"""

import collections
import re
import sys

from _system_test import (
    HEADERS,
    IMMEDIATE,
    MTU,
    RETH,
    SystemTest,
    main,
    nccl_table,
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
US_PER_BYTE = 8e-3 / 100  # at 100 Gb/s


def power_of_two(n):
    return n & (n - 1) == 0


# Where more than 3% is left, and why. (algorithms, operations, which ranks and sizes) -> least and
# most of simulated / formula - 1. All others, and these elsewhere, are within 3%.
Exception_ = collections.namedtuple("Exception_", "algorithms ops applies least most why")
EXCEPTIONS = [
    Exception_(
        {"recursive-doubling", "halving-doubling"},
        {"all_reduce", "reduce_scatter", "all_gather"},
        lambda n, size: not power_of_two(n),
        -0.10,
        1.10,
        "ranks that need not wait for a folded partner run ahead, and their messages share the"
        " ports of those behind, in every round; the formula has each message alone",
    ),
    Exception_(
        {"k-nomial"},
        {"broadcast", "scatter", "reduce", "gather"},
        lambda n, size: size < 4 * MIB,
        -0.30,
        STRICT,
        "turns of a port are whole packets, so the child with most below it, whose message is the"
        " first in each turn, is done as many packets earlier as there are other children; and the"
        " chain of most latencies is not that of most bytes",
    ),
    Exception_(
        {"direct"},
        {"scatter"},
        lambda n, size: size < MIB,
        -0.05,
        STRICT,
        "turns of a port are whole packets: a message of little more than one goes in two turns",
    ),
    Exception_(
        {"parameter-server"},
        {"all_reduce"},
        lambda n, size: size < MIB,
        -0.05,
        0.10,
        "messages of less than a packet: each has an ACK, 86 B that share the port with data",
    ),
    Exception_(
        {"tree", "double-binary-tree"},
        {"all_reduce"},
        lambda n, size: size < GIB,
        -0.20,
        0.45,
        "chunks up and down share ports: the pipeline's fill is shorter (trees of half the data) or"
        " runs dry (medium sizes: as many chunks as kLag levels)",
    ),
    Exception_(
        {"tree"},
        {"broadcast", "reduce"},
        lambda n, size: size < 64 * MIB,
        -0.10,
        STRICT,
        "the deepest rank is not the one behind most siblings: the formula adds the longest of"
        " both",
    ),
    Exception_(
        {"torus"},
        {"all_reduce", "reduce_scatter", "all_gather"},
        lambda n, size: size < 64 * MIB,
        -0.40,
        STRICT,
        "shares along all dimensions go at once through one NIC, so latencies of one pass while"
        " bytes of others are sent; the formula has them one after the other",
    ),
    Exception_(
        {"direct"},
        {"alltoallv"},
        lambda n, size: size < max(4 * MIB, n * 64 * KIB),
        -0.05,
        0.35,
        "blocks of 0 to twice the mean: the formula's message is the mean one",
    ),
    Exception_(
        {"pairwise"},
        {"alltoallv"},
        lambda n, size: True,
        -0.05,
        3.2,
        "the formula has the bytes of the busiest port; in each round all wait for the largest"
        " block, and ranks that are ahead share ports of those behind",
    ),
]


# Not tested here, and why.
IN_SWITCHES = {"nvls", "nvls-tree", "sharp", "collnet-chain", "collnet-direct"}
# Their messages end in switches that add up, half of the way, and need such switches: what they
# cost is tested where those are (tests/unit/collectives).


def alpha_and_wire(size, links):
    """(latency, time on one link) of a message, us."""
    packets = max(1, -(-size // MTU))
    wire = (size + packets * HEADERS + RETH + IMMEDIATE) * US_PER_BYTE
    return write_time_us(size, 100.0, links) - wire, wire


Cost = collections.namedtuple("Cost", "size chain outside messages serial server")


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
        Cost(int(r[1]), int(r[2]), int(r[3]), int(r[5]), float(r[6]), float(r[8])) for r in rows
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
        self.assertTrue(all(e.why for e in EXCEPTIONS))
        table = collections.defaultdict(dict)
        used = set()
        for name, op in self.pairs():
            for n, least, most, factor in self.shapes():
                if name == "every-to-every" and n > 16:
                    most = MIB  # n (n - 1) S: 17 GB of packets
                sizes = "" if op == "barrier" else f"-b {least} -e {most} -f {factor}"
                line = f"--op={op} --algorithm={name} --ranks={n} {sizes}"
                for cost, took in self.both(line):
                    expected = formula_us(
                        cost, answered=name in ANSWERED[0] and op in ANSWERED[1]
                    )
                    error = took / expected - 1
                    low, high = -STRICT, STRICT
                    for i, e in enumerate(EXCEPTIONS):
                        if name in e.algorithms and op in e.ops and e.applies(n, cost.size):
                            low, high = e.least, e.most
                            if abs(error) > STRICT:
                                used.add(i)
                    table[name, op][n, cost.size] = error
                    where = f"{line}, {cost.size} B: {took} us, by formula {expected:.2f}"
                    with self.subTest(where):
                        self.assertGreaterEqual(error, low, where)
                        self.assertLessEqual(error, high, where)
        if TABLE:
            print_table(table)
        if FULL:
            # An exception that nothing needs is one too many.
            self.assertEqual(used, set(range(len(EXCEPTIONS))))


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
        for op, small, large, ranks in (
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
        ):
            for n in ranks:
                # Bytes of bruck's all-gather and of pat are a ring's: they are never slower.
                never = op in ("all_gather", "reduce_scatter")
                line = f"--op={op} --ranks={n} -b 1K -e 64M -f {self.FACTOR} --algorithm="
                a, b = self.both(line + small), self.both(line + large)
                if never:
                    for (cost, took), (_, other) in zip(a, b):
                        self.assertLess(took, other * (1 + STRICT), f"{line}, {cost.size}")
                    continue
                simulated = self.crossing(a, b, lambda pair: pair[1])
                formula = self.crossing(a, b, lambda pair: formula_us(pair[0]))
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

    def test_odd_servers_of_odd_gpus(self):
        # Those that have an order of servers and one inside: no subtree is as large as another.
        levels = {"tree", "double-binary-tree", "hierarchical", "ring"}
        for servers, gpus in ((3, 5), (6, 3), (7, 3)) if FULL else ((3, 5), (7, 3)):
            self.bounds(servers, gpus, self.ODD_SIZE, levels)

    def bounds(self, servers, gpus, size, names):
        for name, op in self.pairs():
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
    # shares ports (EXCEPTIONS); where several then send to one rank, PFC stops their ports, and
    # with them what these have for others.
    AHEAD = {
        ("tree", "reduce"): 0.5,
        ("pat", "reduce_scatter"): 0.5,
        ("pairwise", "alltoall"): 0.2,
        ("halving-doubling", "all_reduce"): 0.1,
    }
    AHEAD_IN_LARGE = {("pat", "all_gather"): 0.3, ("direct", "alltoallv"): 0.08}

    def test_between_near_and_far(self):
        size = 64 * MIB if FULL else 16 * MIB
        for name, op in self.pairs():
            if op == "barrier" or (name, op) == ("pairwise", "alltoallv"):
                continue  # no bytes; see EXCEPTIONS
            if (name, op) in (("torus", op), ("double-binary-tree", op), ("tree", "all_reduce")):
                continue  # their pipelines are not dense enough at such sizes: EXCEPTIONS
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
    """Least and most error of groups of sizes, ranks that are powers of two and others apart."""
    groups = [
        (0, 16 * KIB),
        (16 * KIB + 1, 256 * KIB),
        (256 * KIB + 1, 4 * MIB),
        (4 * MIB + 1, GIB),
    ]
    heads = ["to 16 KiB", "to 256 KiB", "to 4 MiB", "above"]
    print("| algorithm | operation | ranks | " + " | ".join(heads) + " |")
    print("|" + "---|" * 7)
    for (name, op), errors in table.items():
        for what, chosen in (("powers of two", True), ("others", False)):
            cells = []
            for low, high in groups:
                some = [
                    100 * e
                    for (n, size), e in errors.items()
                    if power_of_two(n) == chosen and low <= size <= high
                ]
                cells.append(f"{min(some):+.1f} to {max(some):+.1f}" if some else "")
            print(f"| {name} | {op} | {what} | " + " | ".join(cells) + " |")


if __name__ == "__main__":
    main()
