# SPDX-License-Identifier: GPL-2.0-only
"""What has to be done with the bytes of buffers, as words for the process that does it
(source/communication.cc has their grammar).
"""


def of_collective(calls):
    """Words of {rank: Issued}; []: nothing is to be done; None: buffers have no contents."""
    operations = [calls[rank].operations[0] for rank in sorted(calls)]
    first = operations[0]
    size = first.bytes
    if first.kind in ("all_reduce", "reduce", "reduce_scatter"):
        needed = [(one.send, True) for one in operations] + [
            (one.receive, False)
            for rank, one in enumerate(operations)
            if first.kind != "reduce" or rank == first.root
        ]
        words = _reductions(operations)
    else:
        copies = list(_copies(operations))
        needed = [(a, True) for a, _, _, _ in copies] + [(b, False) for _, _, b, _ in copies]
        words = _copying(size, [(_at(a, x), _at(b, y)) for a, x, b, y in copies if a and b])
    return _if_known(needed, words)


def of_messages(pairs):
    """The same, of (sender, receiver, bytes, send operation, receive operation)."""
    words = []
    needed = []
    for _, _, size, send, receive in pairs:
        needed += [(send.send, True), (receive.receive, False)]
        if send.send and receive.receive and size:
            words += _copying(size, [(_at(send.send, 0), _at(receive.receive, 0))])
    return _if_known(needed, words)


def _if_known(needed, words):
    if any(buffer is None or not buffer[2] for buffer, _ in needed):
        return None
    # Zeros onto zeros, where nobody wrote anything yet.
    return words if any(buffer[3] for buffer, _ in needed) else []


def _at(buffer, offset):
    return f"{buffer[0]}:{buffer[1] + offset}"


def _copying(size, pairs):
    words = ["copy", str(size)]
    for pair in pairs:
        words += pair
    return [*words, ";"]


def _reductions(operations):
    first = operations[0]
    how = first.reduction
    if how.startswith("premul"):
        how = "premul" + "".join(f"={one.reduction.partition('=')[2]}" for one in operations)
    parts = len(operations) if first.kind == "reduce_scatter" else 1
    words = []
    for part in range(parts):
        offset = part * first.bytes
        sources = [_at(one.send, offset) for one in operations if one.send]
        if first.kind == "all_reduce":
            into = operations
        else:
            into = [operations[part if first.kind == "reduce_scatter" else first.root]]
        targets = [_at(one.receive, 0) for one in into if one.receive]
        words += ["reduce", str(first.type), how, str(first.count)]
        words += [str(len(sources)), *sources, str(len(targets)), *targets, ";"]
    return words


def _copies(operations):
    """(source buffer, offset, target buffer, offset) of what is moved without being added up."""
    first = operations[0]
    size, root = first.bytes, first.root
    for i, one in enumerate(operations):
        if first.kind == "broadcast":
            yield operations[root].send, 0, one.receive, 0
        elif first.kind == "gather":
            yield one.send, 0, operations[root].receive, i * size
        elif first.kind == "scatter":
            yield operations[root].send, i * size, one.receive, 0
        else:
            for j, other in enumerate(operations):
                source = 0 if first.kind == "all_gather" else j * size
                yield one.send, source, other.receive, i * size
