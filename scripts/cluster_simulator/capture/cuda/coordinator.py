# SPDX-License-Identifier: GPL-2.0-only
"""Knows all processes of a job: which communicators there are, what their ranks call, when it ends.

Lines of a process (words, source/wire.h):

    hello PID RANK WORLD SERVER PROGRAM
    init REQUEST KEY RANKS RANK GPU PLACE            a rank joins a communicator
    split REQUEST COMM RANK COLOR KEY PLACE
    shrink REQUEST COMM RANK EXCLUDED PLACE
    call CALL COMM RANK OPERATION ...                it is issued
    arrive CALL TIME BUFFERS ...                     its stream has come to it
    worked WORK
    blocked LINES                                    the program waits, and has had so many lines
    note TEXT
    mistake KIND PLACE TEXT

and the answers: "comm REQUEST ID RANK RANKS", "go CALL END WROTE", "work WORK ...", "fail".
"""

import os
import selectors
import signal
import socket
import time
import urllib.parse
from collections import namedtuple

from . import matching, places, work
from .matching import Communicator, Issued, Mistake, Operation, told_ranks

# A rank that makes a communicator.
Joining = namedtuple("Joining", "process request server gpu place ranks rank")

# Messages of a group that meet while others beside them do not: so long until they go alone (s).
ALONE_AFTER = 0.3
OF_OURS = 2  # threads that the libraries have in a process (source/wire.cc)


class Process:
    def __init__(self, connection):
        self.connection = connection
        self.rest = b""
        self.pid = 0
        self.rank = -1
        self.world = 0
        self.server = 0
        self.program = ""
        self.calls = {}  # number: Issued
        self.blocked = False
        self.told = 0  # lines
        self.alive = True
        self.status = None  # with which it ended by itself
        self.worked = {}  # number of a work: what follows

    def tell(self, *words):
        self.blocked = False
        self.told += 1
        try:
            self.connection.sendall((" ".join(map(str, words)) + "\n").encode())
        except OSError:
            self.alive = False

    @property
    def waits_alone(self):
        """The program waits, and has no other thread that could do something."""
        try:
            return self.blocked and len(os.listdir(f"/proc/{self.pid}/task")) <= 1 + OF_OURS
        except OSError:
            return self.blocked


def _end_of(process, status=0):
    """In words. `status`: the command's, as a shell has it: of a process without a word its own."""
    if process.status is not None:
        return f"ended with status {process.status}"
    try:
        return f"was ended by {signal.Signals(status - 128).name}"
    except ValueError:
        return "was ended by a signal, or by _exit()"


class Coordinator:
    """prices: Prices; patience: seconds that a rank waits for another one."""

    def __init__(self, path, prices, patience):
        self._prices = prices
        self._patience = patience
        self._selector = selectors.DefaultSelector()
        self._listener = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
        self._listener.bind(path)
        self._listener.listen(1024)
        self._selector.register(self._listener, selectors.EVENT_READ, None)
        self.processes = []
        self.communicators = {}
        self._joining = {}  # key: [Joining]
        self._wrong_since = None  # when something was seen that is a mistake, whatever else comes
        self._keys = {}  # key: how many communicators had it
        self._works = 0
        self._active = time.monotonic()
        self._alone = []  # (when, communicator, call)
        self._gone = []  # processes that have ended, in that order
        self.mistakes = []
        self.notes = []
        self.collectives = 0

    # ---- the loop

    def run(self, ended):
        """Until ended() and nobody speaks any more, or a mistake ends the job."""
        try:
            while not (ended() and not any(process.alive for process in self.processes)):
                spoke = False
                over = ended()  # asked before: what it said last is still heard
                for key, _ in self._selector.select(0.05):
                    spoke = True
                    if key.data is None:
                        self._accept()
                    else:
                        self._hear(key.data)
                if spoke:
                    self._active = time.monotonic()
                self._release_alone()
                self._look_for_stuck(spoke)
                if over and not spoke:
                    break
            if self._wrong_since is not None:
                self._tell_wrong()
        except Mistake as mistake:
            self._mistaken(mistake)
        for process in self.processes:
            if self.mistakes and process.alive:
                process.tell("fail")

    def close(self):
        for process in self.processes:
            process.connection.close()
        self._listener.close()
        self._selector.close()

    def _accept(self):
        connection, _ = self._listener.accept()
        process = Process(connection)
        self.processes.append(process)
        self._selector.register(connection, selectors.EVENT_READ, process)

    def _hear(self, process):
        try:
            data = process.connection.recv(1 << 18)
        except ConnectionError:
            data = b""
        if not data:
            process.alive = False
            self._gone.append(process)
            self._selector.unregister(process.connection)
            self._left(process)
            return
        *lines, process.rest = (process.rest + data).split(b"\n")
        for line in lines:
            what, *words = line.decode().split(" ")
            process.blocked = False
            getattr(self, f"_on_{what}")(process, *words)

    def failed(self, status):
        """The command ended with a status, and no mistake is known: who was the first to fail.
        (What a launcher does to the others then is none.)
        """
        first = next((process for process in self._gone if process.status != 0), None)
        if first is None:
            return  # it was no program of CUDA
        alike = [first]
        if first.status is not None:
            alike = [process for process in self._gone if process.status == first.status]
        ranks = sorted(process.rank for process in alike if process.rank >= 0)
        who = told_ranks(ranks) if ranks else "the program"
        self._mistaken(Mistake("died", ranks, [], f"{who} {_end_of(first, status)}"))

    def _mistaken(self, mistake):
        self.mistakes.append(
            {
                "kind": mistake.kind,
                "ranks": list(mistake.ranks),
                "lines": [places.shown(place) for place in mistake.places],
                "text": str(mistake),
            }
        )

    # ---- processes

    def _on_hello(self, process, pid, rank, world, server, program):
        process.pid, process.rank, process.world = int(pid), int(rank), int(world)
        process.server, process.program = int(server), urllib.parse.unquote(program)

    def _on_blocked(self, process, lines):
        # What it has not had yet may be what it waits for.
        process.blocked = int(lines) == process.told

    def _on_bye(self, process, status):
        process.status = int(status)

    def _on_note(self, process, text):
        self.note(urllib.parse.unquote(text))

    def note(self, text):
        if text not in self.notes:
            self.notes.append(text)

    def _on_mistake(self, process, kind, place, text):
        ranks = [process.rank] if process.rank >= 0 else []
        text = f"{urllib.parse.unquote(text)}, at {places.shown(place)}"
        raise Mistake(kind, ranks, [place], text)

    def _left(self, process):
        """A process has ended: nobody may wait for it."""
        for comm in self.communicators.values():
            for calls in comm.rounds:
                arrived = [one for one in calls.values() if one.arrived is not None]
                absent = [
                    rank
                    for rank, member in enumerate(comm.members)
                    if member[0] is process and rank not in calls
                ]
                if arrived and absent and not all(one.done for one in calls.values()):
                    self._suspect()

    # ---- mistakes: told once all ranks have come to where they wait, so that what is said does not
    # depend on who comes first

    def _suspect(self):
        if self._wrong_since is None:
            self._wrong_since = time.monotonic()

    def _tell_wrong(self):
        """Raises it."""
        for key in sorted(self._joining, key=lambda key: min(self._ranks_of(key))):
            clash = self._clash(self._joining[key])
            if clash:
                raise clash
        for _, comm in sorted(self.communicators.items()):
            mistake = comm.mistake(places.shown)
            if mistake:
                raise mistake
        for _, comm in sorted(self.communicators.items()):
            for calls in comm.rounds:
                if not calls or all(one.done for one in calls.values()):
                    continue
                absent = [
                    rank
                    for rank, member in enumerate(comm.members)
                    if rank not in calls and not member[0].alive
                ]
                if absent:
                    raise self._miss(comm, calls[min(calls)], absent)
        self._wrong_since = None

    def _ranks_of(self, key):
        return [one.rank for one in self._joining[key]]

    def _miss(self, comm, issued, absent):
        operation = issued.operations[0]
        who = told_ranks(absent)
        dead = {
            rank: comm.members[rank][0] for rank in absent if comm.members[rank][0].status != 0
        }
        if dead:
            first = dead[min(dead)]
            ranks = [rank for rank, one in dead.items() if one.status == first.status]
            return Mistake(
                "died",
                ranks,
                [],
                f"{told_ranks(ranks)} of {comm.name} {_end_of(first)}, before collective"
                f" {issued.round + 1}: {operation.told(places.shown)} of rank {issued.rank}",
            )
        ended = "its process has ended" if len(absent) == 1 else "their processes have ended"
        return Mistake(
            "missing",
            [*absent, issued.rank],
            [operation.place],
            f"collective {issued.round + 1} of {comm.name}: rank {issued.rank} calls"
            f" {operation.told(places.shown)}; {who} never call{'s' if len(absent) == 1 else ''}"
            f" it: {ended}",
        )

    # ---- communicators

    def _on_init(self, process, request, key, ranks, rank, gpu, place):
        joining = self._joining.setdefault(key, [])
        joining.append(
            Joining(process, int(request), process.server, int(gpu), place, int(ranks), int(rank))
        )
        if self._clash(joining):
            self._suspect()
        elif len(joining) == int(ranks):
            del self._joining[key]
            joining.sort(key=lambda one: one.rank)
            comm = self._new([(one.process, one.server, one.gpu) for one in joining], "")
            for one in joining:
                one.process.tell("comm", one.request, comm.id, one.rank, one.ranks)

    @staticmethod
    def _clash(joining):
        """The Mistake of ranks that cannot make a communicator together; None: they can."""

        def parties(key):
            made = {}
            for one in sorted(joining, key=lambda one: (one.rank, one.place)):
                made.setdefault(key(one), []).append(one)
            return made

        def mistake(ranks, text):
            at = sorted({one.place for one in ranks})
            where = " and ".join(places.shown(place) for place in at)
            return Mistake(
                "world-size", sorted({one.rank for one in ranks}), at, text.format(where=where)
            )

        sizes = parties(lambda one: one.ranks)
        if len(sizes) > 1:
            said = "; ".join(
                f"{told_ranks([one.rank for one in some])} of {size} ranks"
                for size, some in sizes.items()
            )
            text = f"ranks make one communicator of different sizes: {said}, at {{where}}"
            return mistake(joining, text)
        for rank, some in parties(lambda one: one.rank).items():
            if len(some) > 1:
                text = f"rank {rank} of a communicator is taken by {len(some)} calls, at {{where}}"
                return mistake(some, text)
        for (server, gpu), some in sorted(parties(lambda one: (one.server, one.gpu)).items()):
            if len(some) > 1:
                return mistake(
                    some,
                    f"{told_ranks([one.rank for one in some])} use the same GPU, GPU {gpu} of"
                    f" server {server}, in a communicator made at {{where}}: each needs its own,"
                    " by cudaSetDevice before that",
                )
        return None

    def _new(self, members, name):
        made = Communicator(len(self.communicators), members)
        made.name = name or f"communicator {made.id}"
        self.communicators[made.id] = made
        return made

    def _asked_together(self, kind, comm, rank, question, wanted):
        """The questions of all `wanted` ranks, once the last one has come; None before."""
        rounds = self.communicators[int(comm)].splits.setdefault(kind, [])
        for questions in rounds:
            if rank not in questions:
                break
        else:
            questions = {}
            rounds.append(questions)
        questions[rank] = question
        if set(questions) >= wanted:
            rounds.remove(questions)
            return questions
        return None

    def _on_split(self, process, request, comm, rank, color, key, place):
        parent = self.communicators[int(comm)]
        question = (process, int(request), int(color), int(key), place)
        asked = self._asked_together(
            "ncclCommSplit", comm, int(rank), question, set(range(parent.ranks))
        )
        if not asked:
            return
        for color in sorted({one[2] for one in asked.values()}):
            order = sorted((asked[one][3], one) for one in asked if asked[one][2] == color)
            ranks = [one for _, one in order]
            if color < 0:
                for one in ranks:
                    asked[one][0].tell("comm", asked[one][1], -1, 0, 0)
                continue
            made = self._new([parent.members[one] for one in ranks], "")
            for position, one in enumerate(ranks):
                asked[one][0].tell("comm", asked[one][1], made.id, position, len(ranks))

    def _on_shrink(self, process, request, comm, rank, excluded, place):
        parent = self.communicators[int(comm)]
        out = {int(one) for one in excluded.split(",")}
        wanted = set(range(parent.ranks)) - out
        question = (process, int(request), excluded, place)
        asked = self._asked_together("ncclCommShrink", comm, int(rank), question, wanted)
        if not asked:
            return
        differ = {one[2] for one in asked.values()}
        if len(differ) > 1:
            raise Mistake(
                "mismatch",
                sorted(asked),
                [one[3] for one in asked.values()],
                f"ncclCommShrink of {parent.name}: ranks leave out others: {sorted(differ)}",
            )
        made = self._new([parent.members[one] for one in sorted(wanted)], "")
        for position, one in enumerate(sorted(wanted)):
            asked[one][0].tell("comm", asked[one][1], made.id, position, len(wanted))

    # ---- calls

    def _on_call(self, process, number, comm, rank, *operations):
        communicator = self.communicators[int(comm)]
        read = [Operation.read(operation) for operation in operations]
        issued = Issued(process, int(number), int(rank), read, communicator)
        process.calls[issued.number] = issued
        communicator.issue(issued)
        communicator.open.add(id(issued))
        if communicator.uneven or communicator.unfit:
            self._suspect()

    def _on_arrive(self, process, number, at, *buffers):
        issued = process.calls[int(number)]
        issued.arrived = int(at)
        for operation, both in zip(issued.operations, buffers):
            send, _, receive = both.partition(":")
            operation.send = _buffer(process, send)
            operation.receive = _buffer(process, receive)
        comm = issued.comm
        if issued.is_messages:
            calls, whole = comm.exchange(issued)
            if whole:
                self._finish_messages(comm, calls)
            elif any(comm.is_met(one) for one in calls):
                self._alone.append((time.monotonic() + ALONE_AFTER, comm, issued))
            return
        calls = comm.complete_round(issued)
        if calls:
            self._finish_collective(comm, calls)
            return
        absent = [
            rank
            for rank, member in enumerate(comm.members)
            if rank not in comm.rounds[issued.round] and not member[0].alive
        ]
        if absent:
            self._suspect()

    def _release_alone(self):
        now = time.monotonic()
        due = [one for one in self._alone if one[0] <= now]
        self._alone = [one for one in self._alone if one[0] > now]
        for _, comm, issued in due:
            if issued.done:
                continue
            calls, _ = comm.exchange(issued)
            met = [one for one in calls if comm.is_met(one)]
            if met:
                self._finish_messages(comm, met)

    def _finish_collective(self, comm, calls):
        first = calls[0].operations[0]
        begin = max(one.arrived for one in calls.values())
        took = 0
        if first.count:
            places_of = [member[1:] for member in comm.members]
            root = first.root if first.root >= 0 else None
            size = matching.whole_bytes(first, comm.ranks)
            took = self._prices.of(first.kind, size, places_of, root)
        self.collectives += 1
        todo = work.of_collective(calls) if first.count else []
        comm.rounds[calls[0].round] = {}
        self._finish(comm, list(calls.values()), begin + took, todo)

    def _finish_messages(self, comm, calls):
        pairs = comm.pairs(calls)
        begin = max(one.arrived for one in calls)
        ranks = sorted({rank for pair in pairs for rank in pair[:2]})
        took = 0
        if any(pair[2] for pair in pairs) and len(ranks) > 1:
            within = {rank: position for position, rank in enumerate(ranks)}
            told = [(within[pair[0]], within[pair[1]], *pair[2:]) for pair in pairs]
            op, size, root, blocks = matching.pattern(told, len(ranks))
            places_of = [comm.members[rank][1:] for rank in ranks]
            took = self._prices.of(op, size, places_of, root, blocks)
        self.collectives += 1
        self._finish(comm, calls, begin + took, work.of_messages(pairs))

    def _finish(self, comm, calls, end, todo):
        for note in self._prices.notes:
            self.note(note)
        if todo is None:
            self.note(
                "collectives on buffers above --keep, or that are no allocation of a GPU, do not"
                " change any bytes"
            )
        for one in calls:
            one.done = True
            comm.open.discard(id(one))

        def go(wrote):
            self._active = time.monotonic()
            for one in calls:
                del one.process.calls[one.number]
                one.process.tell("go", one.number, end, int(wrote))

        if not todo:
            go(False)
            return
        self._works += 1
        worker = calls[-1].process
        worker.worked[self._works] = go
        worker.tell("work", self._works, *todo)

    def _on_worked(self, process, number):
        process.worked.pop(int(number))(True)

    # ---- who waits for what

    def _look_for_stuck(self, spoke):
        alive = [process for process in self.processes if process.alive]
        # Messages that may go alone are no standstill.
        if spoke or self._alone or not alive:
            return
        if self._wrong_since is not None:
            late = time.monotonic() - self._wrong_since > self._patience
            if late or all(process.waits_alone for process in alive):
                self._tell_wrong()
        waited = [
            issued
            for process in alive
            for issued in process.calls.values()
            if issued.arrived is not None and not issued.done
        ]
        splits = [
            (comm, kind, questions)
            for comm in self.communicators.values()
            for kind, rounds in comm.splits.items()
            for questions in rounds
        ]
        if not (waited or splits or self._joining):
            return
        late = time.monotonic() - self._active > self._patience
        all_wait = all(process.waits_alone for process in alive)
        expected = max(process.world for process in alive)
        unknown = self._joining and (expected == 0 or len(self.processes) < expected)
        if not late and (not all_wait or unknown):
            return
        self._explain(waited, splits, late)

    def _explain(self, waited, splits, late):
        why = f"for {self._patience} s nobody came" if late else "nobody is left who could come"
        for key, joining in self._joining.items():
            first = min(joining, key=lambda one: one.rank)
            ranks, at = first.ranks, first.place
            absent = sorted(set(range(ranks)) - set(self._ranks_of(key)))
            raise Mistake(
                "missing",
                sorted(self._ranks_of(key)),
                [at],
                f"a communicator of {ranks} ranks is made at {places.shown(at)}:"
                f" {told_ranks(absent)} never joined; {why}",
            )
        for comm, kind, questions in splits:
            absent = sorted(set(range(comm.ranks)) - set(questions))
            at = questions[min(questions)][-1]
            raise Mistake(
                "missing",
                sorted(questions),
                [at],
                f"{kind} of {comm.name} at {places.shown(at)}: {told_ranks(absent)} never called"
                f" it; {why}",
            )
        said, at, ranks = [], [], []
        messages = all(issued.is_messages for issued in waited)
        for issued in sorted(waited, key=lambda one: (one.comm.id, one.rank)):
            ranks.append(issued.rank)
            unmet = issued.operations
            if issued.is_messages:
                unmet = [
                    operation
                    for operation, partner in zip(issued.operations, issued.partners)
                    if partner is None or partner[0].arrived is None
                ] or issued.operations
            at.append(unmet[0].place)
            if len(said) < 6:
                said.append(
                    f"rank {issued.rank} of {issued.comm.name} waits in"
                    f" {unmet[0].told(places.shown)}{self._absent(issued)}"
                )
        if len(waited) > len(said):
            said.append(f"{len(waited) - len(said)} more wait")
        raise Mistake(
            "unmatched" if messages else "missing",
            sorted(set(ranks)),
            at,
            f"ranks wait for each other ({why}): " + "; ".join(said),
        )

    @staticmethod
    def _absent(issued):
        comm = issued.comm
        if issued.is_messages:
            return ""
        calls = comm.rounds[issued.round]
        never = [rank for rank in range(comm.ranks) if rank not in calls]
        behind = [rank for rank, one in calls.items() if one.arrived is None]
        words = [f"{told_ranks(never)} did not call it"] if never else []
        if behind:
            words.append(f"{told_ranks(behind)} called it behind something that waits")
        return f" ({'; '.join(words)})" if words else ""


def _buffer(process, text):
    """"123kw": (process, offset, kept, written); "-": none."""
    if text in ("-", ""):
        return None
    return process.pid, int(text[:-2]), text[-2] == "k", text[-1] == "w"
