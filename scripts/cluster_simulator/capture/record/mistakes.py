# SPDX-License-Identifier: GPL-2.0-only
"""What is wrong with a script, as its ranks' records show it: each mistake with ranks and lines.

On GPUs most of them are a job that hangs.
"""

import collections
import json
import re

from . import waiting
from .roles import describe

NAMES_TOLD = 4  # of unused parameters
# With these ranks wait for ever, and no rank fails.
HANGS = {"mismatch", "order", "missing", "unmatched"}
# Words of PyTorch's own errors, and what they mean.
FAILURES = (
    ("out-of-memory", ("CUDA out of memory",)),
    ("unused-parameters", ("Expected to have finished reduction in the prior iteration",)),
    (
        "shapes",
        (
            "in this process with sizes",  # DDP compares parameters
            "appears not to match",
            "mat1 and mat2 shapes cannot be multiplied",
        ),
    ),
    (
        "world-size",
        (
            "invalid device ordinal",
            "the new group's world size should be less or equal to the world size",
            "The new group's rank should be within the",
        ),
    ),
)


def find(records, tasks, groups, died, each=0, shared=()):
    """A list of {"kind", "ranks", "lines", "text"}. `died`: {rank: exit status} of those that
    failed. `each`: ranks of a server that see all its GPUs; 0: not known. `shared`: GPUs that
    several ranks use (shared_gpus.py).
    """
    failed = _failed(records, died)
    found = _told(records) + failed
    explained = {rank for mistake in found for rank in mistake["ranks"]}
    if each > 0:
        found += _shared_gpus(records, each)
    found += [
        _mistake("out-of-memory", one.ranks, [], f"out of memory: {one.told()}")
        for one in shared
        if one.is_full
    ]
    together = _collectives(tasks, groups, explained) + _messages(tasks, groups, explained)
    found = _without_what_follows(found, together)
    if failed:
        # Others are ended with it, wherever they are, or give up waiting for it.
        together = [one for one in together if one["kind"] not in ("missing", "unmatched")]
    found += together
    if len(tasks) == groups.world > 1:
        # (Where all record what they do; a rank that gave up waiting in a circle did not come to
        # what the others then wait for.)
        missing = [mistake for mistake in found if mistake["kind"] == "missing"]
        absent = {rank for mistake in missing for rank in mistake["ranks"]}
        circle = _circle(tasks, groups, absent) if absent or not found else []
        if circle:
            found = [mistake for mistake in found if mistake["kind"] != "missing"] + circle
    if not found:
        found += _waiting(records)
    order = {"mismatch": 0, "order": 0, "shapes": 1, "world-size": 1, "unmatched": 2}
    return _without_repeats(sorted(found, key=lambda mistake: order.get(mistake["kind"], 3)))


def _mistake(kind, ranks, lines, text):
    return {
        "kind": kind,
        "ranks": sorted(set(ranks)),
        "lines": list(dict.fromkeys(line for line in lines if line)),
        "text": text,
    }


def _without_repeats(found):
    """The same mistake of several ranks is one."""
    merged = {}
    for mistake in found:
        key = (mistake["kind"], tuple(mistake["lines"]), mistake.pop("what", mistake["text"]))
        first = merged.setdefault(key, {**mistake, "others": []})
        if first["ranks"] != mistake["ranks"]:
            first["others"] += mistake["ranks"]
    for mistake in merged.values():
        others = sorted(set(mistake.pop("others")) - set(mistake["ranks"]))
        if others:
            mistake["ranks"] = sorted({*mistake["ranks"], *others})
            mistake["text"] += f" (so {_does(others)} rank{_many(others)})"
    return list(merged.values())


def follows_a_mismatch(found):
    """Ranks in whose collectives others took part by another call: on GPUs they would wait there,
    and what they read here is nothing that one of them sent.
    """
    return {
        rank for one in found if one["kind"] in ("mismatch", "order") for rank in one["ranks"]
    }


def _without_what_follows(found, together):
    """A rank that dies behind a mismatch dies of it (objects cannot be read, say): the mismatch
    tells that as well.
    """
    kept = []
    for mistake in found:
        at = [
            one
            for one in together
            if mistake["kind"] == "died" and set(mistake["ranks"]) <= follows_a_mismatch([one])
        ]
        if not at:
            kept.append(mistake)
        elif "then" not in at[0]:
            at[0]["then"] = True
            at[0]["text"] += f" (then {mistake['text']})"
    for one in together:
        one.pop("then", None)
    return kept


# ---- what a rank itself noticed


def _told(records):
    found = []
    for rank, record in sorted(records.items()):
        for line in record.of_type("mistake"):
            found.append(_mistake(line["kind"], [rank], [line.get("l")], line["text"]))
            found[-1]["what"] = line["kind"]
    return found


def _failed(records, died):
    found = []
    for rank, status in sorted(died.items()):
        record = records.get(rank)
        failures = record.of_type("failed") if record else []
        if not failures:
            what = f"signal {-status}" if status < 0 else f"status {status}"
            found.append(_mistake("died", [rank], [], f"rank {rank} ended with {what}"))
            found[-1]["what"] = f"ended with {what}"
            continue
        line = failures[-1]
        if line["text"].startswith("capture: "):
            continue  # told already, or what follows from another rank's mistake
        kind = next(
            (kind for kind, words in FAILURES if any(word in line["text"] for word in words)),
            "died",
        )
        where = line.get("l") or ""
        text = line["text"].strip().split("\n")[0]
        unused = record.of_type("unused")
        if kind == "unused-parameters" and unused:
            text = _of_unused(json.loads(unused[-1]["names"]))
        found.append(
            _mistake(
                kind,
                [rank],
                [where],
                f"rank {rank} failed{' at ' + where if where else ''}: {line['type']}: {text}",
            )
        )
        found[-1]["what"] = (line["type"], text) if unused else line["type"]
    return found


WAITS = re.compile(
    r"capture: (?P<what>\w+) at (?P<line>.*?) waits for rank (?P<rank>\d+), (?P<why>.*)"
)


def _waiting(records):
    """Ranks that gave up waiting for one that did something else: its own record tells nothing."""
    found = collections.defaultdict(list)
    for rank, record in sorted(records.items()):
        for line in record.of_type("failed")[-1:]:
            told = WAITS.match(line["text"].split("\n")[0])
            if told:
                found[int(told["rank"])].append((rank, told))
    return [
        _mistake(
            "missing",
            [absent, *(rank for rank, _ in waiting)],
            [told["line"] for _, told in waiting],
            f"rank{_many([rank for rank, _ in waiting])} wait"
            f"{'s' if len(waiting) == 1 else ''} in {waiting[0][1]['what']} at"
            f" {waiting[0][1]['line']} for rank {absent}, {waiting[0][1]['why']}",
        )
        for absent, waiting in sorted(found.items())
    ]


def _of_unused(names):
    told = ", ".join(names[:NAMES_TOLD])
    more = f" and {len(names) - NAMES_TOLD} more" if len(names) > NAMES_TOLD else ""
    return (
        f"DDP waits for gradients that never come: the step before made none for the"
        f" parameter{'s' if len(names) > 1 else ''} {told}{more}; use them for the loss, leave them"
        " out, or give DistributedDataParallel find_unused_parameters=True"
    )


def _shared_gpus(records, each):
    """Ranks that talk over NCCL with the same GPU of their server, which it refuses."""
    users = collections.defaultdict(dict)  # (server, GPU): {rank: line}
    for rank, record in records.items():
        line = next((one for one in record.lines if one["t"] == "coll"), None)
        if line is None or record.world is None or record.path is None:
            continue
        number = line["d"]
        visible = record.visible
        gpu = visible[number] if visible and number < len(visible) else str(number)
        users[rank // each, gpu][rank] = line
    for (_, gpu), ranks in sorted(users.items()):
        if len(ranks) > 1:
            lines = [line.get("l") for line in ranks.values()]
            mistake = _mistake(
                "world-size",
                ranks,
                lines,
                f"rank{_many(sorted(ranks))} of a server use the same GPU, {gpu}, in"
                f" {next(iter(ranks.values()))['n']} at {lines[0]}: each needs its own, by"
                " torch.cuda.set_device(LOCAL_RANK)",
            )
            return [mistake]  # on other servers it is the same
    return []


# ---- collectives: the n-th of a group has to be the same on all its ranks


def _collectives(tasks, groups, explained):
    calls = collections.defaultdict(dict)  # group: {rank: its collectives}
    for rank, mine in tasks.items():
        for group in _groups_of(rank, groups):
            calls[group][rank] = []
        for task in mine:
            if task["kind"] == "collective":
                calls[_instance(groups, task["group"], rank)][rank].append(task)
    found = []
    for group, by_rank in sorted(calls.items()):
        mistake = _first_mismatch(group, by_rank, groups, explained) or _first_uneven(
            groups.kinds[group[0]]["groups"][group[1]], by_rank, groups.kinds[group[0]]["name"]
        )
        if mistake:
            found.append(mistake)
    return found


def _first_uneven(ranks, by_rank, name):
    """Of all-to-alls the first in which a rank sends another one what that does not expect."""
    for i in range(min(map(len, by_rank.values()))):
        for sender, mine in sorted(by_rank.items()):
            for place, receiver in enumerate(ranks):
                theirs = by_rank.get(receiver)
                sends = mine[i].get("sends")
                receives = theirs[i].get("receives") if theirs else None
                if not sends or not receives:
                    continue
                sent, expected = sends[place], receives[ranks.index(sender)]
                if sent != expected:
                    return _mistake(
                        "mismatch",
                        [sender, receiver],
                        [mine[i].get("line"), theirs[i].get("line")],
                        f"collective {i + 1} of the group {name}: rank {sender} sends {sent} B to"
                        f" rank {receiver} in {describe(mine[i])}, which expects {expected} B in"
                        f" {describe(theirs[i])}",
                    )
    return None


def _groups_of(rank, groups):
    for kind, told in enumerate(groups.kinds):
        for number, ranks in enumerate(told["groups"]):
            if rank in ranks:
                yield kind, number


def _instance(groups, kind, rank):
    """Which group of a kind a rank is in."""
    return kind, next(
        number for number, ranks in enumerate(groups.kinds[kind]["groups"]) if rank in ranks
    )


def _call(task):
    """What has to be the same. Sizes of an uneven all-to-all are each rank's own."""
    told = (task["op"], task.get("dtype"), task.get("root"), task.get("reduce"))
    return told if task["op"] == "alltoallv" else (*told, task["bytes"])


def _first_mismatch(group, by_rank, groups, explained):
    longest = max(map(len, by_rank.values()))
    name = groups.kinds[group[0]]["name"]
    for i in range(longest):
        said = collections.defaultdict(list)
        for rank in sorted(by_rank):
            mine = by_rank[rank]
            said[_call(mine[i]) if i < len(mine) else None].append(rank)
        if len(said) == 1:
            continue
        absent = said.get(None, [])
        if absent and all(rank in explained for rank in absent):
            return None  # it died of something that is told
        parts, lines = [], []
        for call, ranks in said.items():
            task = None if call is None else by_rank[ranks[0]][i]
            parts.append(f"rank{_many(ranks)} {_does(ranks)} {describe(task)}")
            if task is not None:
                lines.append(task.get("line"))
        kind = "missing" if absent else _kind_of_mismatch(by_rank, i)
        ranks = [rank for ranks in said.values() for rank in ranks]
        text = f"collective {i + 1} of the group {name}: " + "; ".join(parts)
        apart = _first_apart(by_rank, i)
        if apart is not None:
            places = collections.defaultdict(list)
            for rank in sorted(by_rank):
                places[by_rank[rank][apart].get("line")].append(rank)
            lines = [*places, *lines]
            text += f". They are apart from collective {apart + 1} on: " + "; ".join(
                f"rank{_many(ranks)} {_is(ranks)} at {line}" for line, ranks in places.items()
            )
        return _mistake(kind, ranks, lines, text)
    return None


def _first_apart(by_rank, end):
    """The first of the collectives before a mismatch that ranks do at different lines, one of which
    several of them pass: one of these ranks does a collective more or less there, and the calls
    behind it were alike by chance (FSDP gathers the same parameters at each forward pass). Branches
    of a script that are each rank's own have lines that only one side passes.
    """
    passed = collections.defaultdict(set)
    for rank, mine in by_rank.items():
        for task in mine:
            passed[task.get("line")].add(rank)
    for i in range(end):
        at = collections.defaultdict(set)
        for rank, mine in by_rank.items():
            at[mine[i].get("line")].add(rank)
        if len(at) > 1 and any(passed[line] != ranks for line, ranks in at.items()):
            return i
    return None


def _kind_of_mismatch(by_rank, i):
    """The same collectives in another order, or others."""
    later = {
        tuple(sorted(map(str, map(_call, mine[i:])))) if len(mine) > i else ()
        for mine in by_rank.values()
    }
    return "order" if len(later) == 1 else "mismatch"


def _does(ranks):
    return "does" if len(ranks) == 1 else "do"


def _is(ranks):
    return "is" if len(ranks) == 1 else "are"


def _many(ranks):
    words = ", ".join(map(str, ranks[:8]))
    more = f" and {len(ranks) - 8} more" if len(ranks) > 8 else ""
    return ("s " if len(ranks) > 1 else " ") + words + more


# ---- messages: the n-th send to a rank meets its n-th receive


def _messages(tasks, groups, explained):
    sides = collections.defaultdict(lambda: {"send": [], "recv": []})
    for rank, mine in tasks.items():
        for task in mine:
            if task["kind"] in ("send", "recv"):
                kind, number = _instance(groups, task["group"], rank)
                peer = _peer(groups, rank, task)
                if peer in tasks:  # both were captured
                    ends = (rank, peer) if task["kind"] == "send" else (peer, rank)
                    sides[kind, number, *ends][task["kind"]].append(task)
    found = []
    for (_, _, sender, receiver), ends in sorted(sides.items()):
        found += _first_unmatched(sender, receiver, ends["send"], ends["recv"], explained)
    return found


def _peer(groups, rank, task):
    kind, number = _instance(groups, task["group"], rank)
    ranks = groups.kinds[kind]["groups"][number]
    return ranks[ranks.index(rank) + task["peer"]]


def _circle(tasks, groups, absent):
    """All do the same things, and yet wait for each other. `absent`: ranks of which it is said that
    some do not what others do: it is a circle only if all of them are in it.
    """
    stuck = waiting.play(
        tasks,
        lambda rank, task: _instance(groups, task["group"], rank),
        lambda instance: groups.kinds[instance[0]]["groups"][instance[1]],
        lambda rank, task: _peer(groups, rank, task),
    )
    at = {rank: task for rank, task in stuck.at.items() if task} if stuck else {}
    if not at or (absent and not absent <= set(stuck.circle())):
        return []
    told = [
        f"rank {rank} is in {describe(task)}"
        + (
            f" {'to' if task['kind'] == 'send' else 'from'} rank {_peer(groups, rank, task)}"
            if task["kind"] != "collective"
            else ""
        )
        for rank, task in list(at.items())[:8]
    ]
    more = f"; and {len(at) - 8} more" if len(at) > 8 else ""
    return [
        _mistake(
            "order",
            at,
            [task.get("line") for task in at.values()],
            "ranks wait for each other: " + "; ".join(told) + more,
        )
    ]


def _first_unmatched(sender, receiver, sends, receives, explained):
    for i in range(max(len(sends), len(receives))):
        send = sends[i] if i < len(sends) else None
        receive = receives[i] if i < len(receives) else None
        if send and receive and (send["bytes"], send.get("dtype")) == (
            receive["bytes"],
            receive.get("dtype"),
        ):
            continue
        if (send is None and sender in explained) or (receive is None and receiver in explained):
            return []
        lines = [task.get("line") for task in (send, receive) if task]
        text = (
            f"message {i + 1} from rank {sender} to rank {receiver}: rank {sender} does"
            f" {describe(send)}; rank {receiver} does {describe(receive)}"
        )
        kind = "mismatch" if send and receive else "unmatched"
        return [_mistake(kind, [sender, receiver], lines, text)]
    return []
