# SPDX-License-Identifier: GPL-2.0-only
"""A program of one process that computes on several GPUs (nn.DataParallel, layers on cuda:0 and
cuda:1): each GPU becomes a rank, a copy from one to another a send and a receive. That the one
program issues for all of them is lost: each GPU has its own.
"""

# Lines that every rank has: where steps end, and what graphs are.
OF_ALL = ("step", "mark", "graph", "graph-end", "replay")


def ranks_of(record):
    """[record], or records of ranks 0, 1, ...: the GPUs on which something was computed."""
    from .raw import Record

    used = sorted({device for line in record.lines for device in _devices(line)})
    if len(used) < 2:
        return [record]
    rank_of = {device: rank for rank, device in enumerate(used)}
    lines = [[_group(len(used))] for _ in used]
    copies = 0
    for line in record.lines:
        ends = _copied(line)
        if ends:
            for made in _messages(line, *ends, rank_of, copies):
                lines[rank_of[made["d"]]].append(made)
            copies += 1
        elif line["t"] in OF_ALL:
            for rank in lines:
                rank.append(line)
        else:
            lines[rank_of.get(line.get("d"), 0)].append(line)
    return [Record(rank=rank, world=len(used), lines=mine) for rank, mine in enumerate(lines)]


def _devices(line):
    if line["t"] == "op":
        for argument in (line["a"], line["o"]):
            yield from _tensors_on(argument)


def _tensors_on(value):
    if isinstance(value, dict):
        told = value["T"]
        if told[2] >= 0:
            yield told[4] if len(told) > 4 else 0
    elif isinstance(value, list):
        for item in value:
            yield from _tensors_on(item)


def _copied(line):
    """(from, to) of a copy between GPUs."""
    if line["t"] != "op" or not line["n"].startswith("aten::copy_"):
        return None
    ends = [next(_tensors_on(argument), None) for argument in (line["a"][1], line["a"][0])]
    return tuple(ends) if None not in ends and ends[0] != ends[1] else None


def _group(ranks):
    return {"t": "group", "g": 0, "ranks": list(range(ranks)), "l": ""}


def _messages(line, source, to, rank_of, number):
    """It begins when both GPUs have done what was issued before, and both wait for it."""
    told = line["a"][1]["T"]
    size = told[3]
    for one in told[1]:
        size *= one
    place = {key: line[key] for key in ("th", "b", "p", "l", "m") if key in line}
    for device, peer, name in ((source, to, "send"), (to, source, "recv")):
        tensors = [line["a"][1] if name == "send" else line["a"][0]]
        yield {
            "t": "coll",
            "c": number,
            "n": name,
            "g": 0,
            "d": device,
            "s": line["s"] if device == line["d"] else 0,
            **place,
            "on": -1 - rank_of[peer],
            "i": tensors if name == "send" else [],
            "o": tensors if name == "recv" else [],
            "bytes": size,
            "peer": rank_of[peer],
        }
        yield {
            "t": "done",
            "c": number,
            "d": device,
            "s": line["s"] if device == line["d"] else 0,
        }
