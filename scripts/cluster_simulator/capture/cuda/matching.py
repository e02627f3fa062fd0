# SPDX-License-Identifier: GPL-2.0-only
"""What ranks of communicators call, put together: the n-th collective of every rank is one, the
n-th send from a rank to another meets its n-th receive. Nothing of processes or time is here.
"""

from dataclasses import dataclass, field

# Bytes of an element, and its name in a capture, by NCCL's numbers of data types.
BYTES = (1, 1, 4, 4, 8, 8, 2, 4, 8, 2, 1, 1)
NAMES = "i8 u8 i32 u32 i64 u64 f16 f32 f64 bf16 f8e4m3 f8e5m2".split()


@dataclass(eq=False)
class Operation:
    kind: str
    count: int
    type: int
    reduction: str
    root: int  # or the peer
    place: str
    send: tuple = None  # (process, offset, kept, written) of its buffers, once it has arrived
    receive: tuple = None

    @staticmethod
    def read(text):
        kind, count, dtype, reduction, root, place = text.split(",", 5)
        return Operation(kind, int(count), int(dtype), reduction, int(root), place)

    @property
    def bytes(self):
        return self.count * BYTES[self.type]

    @property
    def is_message(self):
        return self.kind in ("send", "recv")

    def signature(self):
        reduction = self.reduction.partition("=")[0]
        return self.kind, self.count, self.type, reduction, self.root

    def told(self, show):
        words = f"{self.kind} of {self.count} x {NAMES[self.type]}"
        if self.reduction != "-":
            words += f" ({self.reduction.partition('=')[0]})"
        if self.kind == "send":
            words += f" to rank {self.root}"
        elif self.kind == "recv":
            words += f" from rank {self.root}"
        elif self.root >= 0:
            words += f" with root {self.root}"
        return f"{words} at {show(self.place)}"


@dataclass(eq=False)
class Issued:
    """One call of a rank: a collective, or the messages of a group."""

    process: object
    number: int
    rank: int
    operations: list
    comm: object = None
    arrived: int = None  # simulated time at which its stream came to it
    done: bool = False
    round: int = None  # of a collective: which one of its communicator
    partners: list = None  # of messages: for each the call and operation that it meets, or None

    @property
    def is_messages(self):
        return self.operations[0].is_message


class Mistake(Exception):
    """kind as in a capture's meta.json; ranks of the communicator; places of the program."""

    def __init__(self, kind, ranks, places, text):
        super().__init__(text)
        self.kind = kind
        self.ranks = ranks
        self.places = places


@dataclass(eq=False)
class Communicator:
    id: int
    members: list  # of each rank: (process, server, GPU)
    name: str = ""
    rounds: list = field(default_factory=list)  # of collectives: {rank: Issued}
    begun: dict = field(default_factory=dict)  # rank: how many collectives it has called
    waiting: dict = field(default_factory=dict)  # (sender, receiver): [sends], [receives] unmet
    open: set = field(default_factory=set)  # ids of calls that are not done
    splits: dict = field(default_factory=dict)  # kind: [{rank: question}]
    uneven: set = field(default_factory=set)  # rounds in which ranks call different things
    unfit: dict = field(default_factory=dict)  # (sender, receiver): send, receive of other sizes

    @property
    def ranks(self):
        return len(self.members)

    def issue(self, issued):
        """Takes a call. One that does not fit those of others is never complete: mistake()."""
        if not issued.is_messages:
            number = self.begun.get(issued.rank, 0)
            self.begun[issued.rank] = number + 1
            if number == len(self.rounds):
                self.rounds.append({})
            calls = self.rounds[number]
            calls[issued.rank] = issued
            issued.round = number
            if len({one.operations[0].signature() for one in calls.values()}) > 1:
                self.uneven.add(number)
            return
        issued.partners = [None] * len(issued.operations)
        for index, operation in enumerate(issued.operations):
            sends = operation.kind == "send"
            pair = (issued.rank, operation.root) if sends else (operation.root, issued.rank)
            sides = self.waiting.setdefault(pair, ([], []))
            others, mine = (sides[1], sides[0]) if sends else sides
            if not others:
                mine.append((issued, index))
                continue
            other, at = others.pop(0)
            theirs = other.operations[at]
            if operation.bytes != theirs.bytes:
                both = (operation, theirs) if sends else (theirs, operation)
                self.unfit.setdefault(pair, both)
                continue
            other.partners[at] = (issued, index)
            issued.partners[index] = (other, at)

    def mistake(self, show):
        """Of all calls that there are, whichever came first; None: they fit."""
        if self.uneven:
            return self._uneven(min(self.uneven), show)
        return self._unfit(min(self.unfit), show) if self.unfit else None

    def _uneven(self, number, show):
        """With a majority, who is the odd one out."""
        calls = self.rounds[number]
        alike = {}
        for rank in sorted(calls):
            alike.setdefault(calls[rank].operations[0].signature(), []).append(rank)
        parties = sorted(alike.values(), key=len)  # of parties as large, the lowest ranks first
        odd = sorted(rank for ranks in parties[:-1] for rank in ranks)
        told = f"collective {number + 1} of {self.name}: "
        if 2 * len(odd) < len(calls):
            told += f"{told_ranks(odd)} {'is' if len(odd) == 1 else 'are'} not as the others: "
        told += "; ".join(
            f"{told_ranks(ranks)} call{'s' if len(ranks) == 1 else ''}"
            f" {calls[ranks[0]].operations[0].told(show)}"
            for ranks in parties
        )
        kinds = {one.operations[0].kind for one in calls.values()}
        return Mistake(
            "mismatch" if len(kinds) == 1 else "order",
            odd if 2 * len(odd) < len(calls) else sorted(calls),
            [calls[ranks[0]].operations[0].place for ranks in parties],
            told,
        )

    def _unfit(self, pair, show):
        send, receive = self.unfit[pair]
        return Mistake(
            "mismatch",
            list(pair),
            [send.place, receive.place],
            f"a message of {self.name}: rank {pair[0]} calls {send.told(show)},"
            f" {send.bytes} bytes; rank {pair[1]} calls {receive.told(show)},"
            f" {receive.bytes} bytes",
        )

    def complete_round(self, issued):
        """The calls of all ranks, if all have arrived; else None."""
        calls = self.rounds[issued.round]
        ready = (
            len(calls) == self.ranks
            and issued.round not in self.uneven
            and all(one.arrived is not None for one in calls.values())
        )
        return calls if ready else None

    def exchange(self, issued):
        """Calls whose messages meet, from one on: (calls, whether all have arrived and all their
        messages meet others).
        """
        found, todo = [], [issued]
        whole = True
        seen = {id(issued)}
        while todo:
            one = todo.pop()
            found.append(one)
            whole = whole and one.arrived is not None
            for partner in one.partners:
                if partner is None:
                    whole = False
                elif not partner[0].done and id(partner[0]) not in seen:
                    seen.add(id(partner[0]))
                    todo.append(partner[0])
        found.sort(key=lambda one: one.rank)
        return found, whole

    @staticmethod
    def is_met(issued):
        """Whether each of its messages meets one that has arrived, whatever waits beside those."""
        return issued.arrived is not None and all(
            partner is not None and partner[0].arrived is not None for partner in issued.partners
        )

    def pairs(self, calls):
        """(sender, receiver, bytes, send, receive) of all messages of these calls."""
        pairs = []
        for one in calls:
            for operation, partner in zip(one.operations, one.partners):
                other = partner and partner[0].operations[partner[1]]
                if operation.kind == "send" and other:
                    pairs.append((one.rank, operation.root, operation.bytes, operation, other))
                elif operation.kind == "recv" and other and partner[0] not in calls:
                    pairs.append((operation.root, one.rank, operation.bytes, other, operation))
        return pairs


def told_ranks(ranks):
    words = ", ".join(map(str, ranks[:8])) + (" and more" if len(ranks) > 8 else "")
    return f"rank {words}" if len(ranks) == 1 else f"ranks {words}"


def pattern(pairs, ranks):
    """(op, bytes, root, blocks) by which collperf knows an exchange, (sender, receiver, bytes)s."""
    sizes = {pair[2] for pair in pairs}
    ways = [(pair[0], pair[1]) for pair in pairs]
    if len(sizes) == 1 and len(set(ways)) == len(ways):
        size = sizes.pop()
        others = {(a, b) for a, b in ways if a != b}
        everybody = {(a, b) for a in range(ranks) for b in range(ranks) if a != b}
        if ranks > 1 and set(ways) == {(rank, (rank + 1) % ranks) for rank in range(ranks)}:
            return "sendrecv", size, None, None
        if ranks > 2 and others == everybody:
            return "alltoall", size * ranks, None, None
        for root in range(ranks if ranks > 2 else 0):
            if others == {(rank, root) for rank in range(ranks) if rank != root}:
                return "gather", size * ranks, root, None
            if others == {(root, rank) for rank in range(ranks) if rank != root}:
                return "scatter", size * ranks, root, None
    blocks = [[0] * ranks for _ in range(ranks)]
    for sender, receiver, size, *_ in pairs:
        blocks[sender][receiver] += size
    return "alltoallv", max(map(sum, blocks)), None, blocks


# Bytes as collperf counts them: the whole vector.
WHOLE = ("all_gather", "reduce_scatter", "alltoall", "gather", "scatter")


def whole_bytes(operation, ranks):
    return operation.bytes * (ranks if operation.kind in WHOLE else 1)
