# SPDX-License-Identifier: GPL-2.0-only
"""What nccl-tests and rccl-tests print: operation, machines, and a time for each size.

    # Collective test starting: all_reduce_perf                     of 2.17 and later
    #  Rank  0 Group  0 Pid  12 on node1 device  0 [0x07] NVIDIA A100
    #       size         count      type   redop    root     time   algbw   busbw #wrong  ...
            1024           256     float     sum      -1    15.73    0.07    0.11      0  ...

The first `time`, out of place, counts. Lines of other programs in between are not looked at, and
what mpirun puts in front of a line is taken off. (nccl-tests' src/common.cu, and outputs of 2.13 to
2.19, were looked at.)

No import of anything that is not Python's own, but for neighbours of that kind.
"""

import collections
import math
import re

from .errors import InvalidInput
from .shown import shown

# "[1,0]<stdout>:" of Open MPI's --tag-output, and of Slurm's --label "0: ".
FRONT = re.compile(r"^(\[[^\]]*\]<std(out|err)>:|\d+: )")
DEVICE = re.compile(r"#\s+Rank\s+(\d+)\s+(?:Group\s+\d+\s+)?Pid\s+\d+\s+on\s+(\S+)\s+device\s+")
TEST = re.compile(r"#\s*Collective test starting:\s*(\S+?)_perf\b")
# As collperf of this project writes its first lines.
OWN = re.compile(r"# (\w+), algorithm .*; (\d+) ranks? on (\d+) servers?,")

MOST_RANKS = 1 << 17  # as of the programs (scenarios/formats/recording.h)

# Bytes of the types of nccl-tests and rccl-tests (test_typenames of their src/common.cu).
TYPES = {
    **dict.fromkeys(("int8", "uint8", "char", "f8e4m3", "f8e5m2", "fp8_e4m3", "fp8_e5m2"), 1),
    **dict.fromkeys(("half", "bfloat16", "bf16"), 2),
    **dict.fromkeys(("int", "int32", "uint32", "float"), 4),
    **dict.fromkeys(("int64", "uint64", "double"), 8),
}

Output = collections.namedtuple("Output", "op nodes gpus rows")  # rows: (bytes, microseconds)


def is_output(path):
    """Whether a file has the first lines of one, or the table's title; CSV has neither."""
    with open(path, encoding="utf-8", errors="replace") as file:
        for number, line in enumerate(file):
            text = FRONT.sub("", line).strip()
            if titles(text) is not None or TEST.match(text) or DEVICE.match(text):
                return True
            if number > 2000:
                break
    return False


def titles(text):
    """The columns of a table; None: it is no title."""
    words = text.lstrip("#").split()
    return words if words[:2] == ["size", "count"] and "time" in words else None


def is_whole(word):
    return bool(re.fullmatch("[0-9]{1,16}", word, re.ASCII))


def printed(word):
    """(a number as it was printed, how much its lost digits are at most); None: it is none."""
    found = re.fullmatch(r"[0-9]*(?:\.([0-9]*))?(?:[eE]([-+]?[0-9]{1,3}))?", word, re.ASCII)
    try:
        return float(word), 0.5 * 10.0 ** (int(found[2] or 0) - len(found[1] or ""))
    except (TypeError, ValueError):
        return None


def is_rate(size, time, rate, least, most):
    """Whether a rate is `size` bytes in `time` us in GB/s by a factor, within what was printed."""
    exact = 1 + 1e-6  # of floats
    slow = size * 1e-3 / (time[0] + time[1])
    fast = size * 1e-3 / (time[0] - time[1]) if time[0] > time[1] else math.inf
    lost = rate[1] * exact
    return rate[0] - lost <= most * fast * exact and rate[0] + lost >= least * slow / exact


def row(path, number, text, columns):
    """(bytes, microseconds) of a line of the table; None: it is none. What contradicts itself is an
    error: see scenarios/formats/nccl/nccl-output.cc, which reads the same.
    """
    words = text.split()

    def wrong(problem):
        return InvalidInput(f"{path}: line {number}: {problem}")

    looks = [is_whole(word) for word in words[:2]] + [word in TYPES for word in words[2:3]]
    if sum(looks) < 2:
        return None
    if not all(looks[:2]):
        which = looks.index(False)
        name = ("size", "count")[which]
        raise wrong(f"{name}={shown(words[which])}; allowed: a whole number")
    column = columns.index("time")
    half = columns[column + 1 :].index("time") + 1 if columns.count("time") > 1 else 0
    if len(words) < len(columns) and len(words) + half != len(columns):
        raise wrong(f"{len(words)} columns; allowed: {len(columns)}, as in the title")
    size, count = int(words[0]), int(words[1])
    if "type" in columns[:column]:
        name = words[columns.index("type")]
        if name not in TYPES:
            raise wrong(f"type={shown(name)}; allowed: {', '.join(TYPES)}")
        part = count * TYPES[name]
        # Of what ranks share unevenly a row says the least: 4 KiB of 6 ranks are 170 floats each.
        parts = size // part if part else MOST_RANKS
        if parts == 0 or size - parts * part >= parts * TYPES[name]:
            raise wrong(f"size={size}; allowed: what {count} elements of type {name} are")
    time = printed(words[column])
    if not time or not 0 < time[0] < math.inf:
        raise wrong(f"time={shown(words[column])}; allowed: a number of microseconds above 0")
    for at in (column, column + half)[: 2 if half and len(words) >= len(columns) else 1]:
        if columns[at + 1 : at + 3] != ["algbw", "busbw"] or words[at : at + 3] == ["N/A"] * 3:
            continue
        three = [printed(word) for word in words[at : at + 3]]
        # algbw is size / time, of old versions what of it leaves one of n >= 2 ranks, (n - 1) / n;
        # busbw, of any operation, at most twice that.
        for name, rate, least, most in (("algbw", three[1], 0.5, 1), ("busbw", three[2], 0, 2)):
            if None in three or not is_rate(size, three[0], rate, least, most):
                raise wrong(
                    f"{name}={shown(words[at + 1 + (name == 'busbw')])}; allowed: what {size} B in"
                    f" {shown(words[at])} us are"
                )
    return size, time[0]


def read(path, op=None):
    """What a file says; `op` where it does not say it."""
    columns = None
    own = None
    hosts = {}
    rows = []
    with open(path, encoding="utf-8", errors="replace") as file:
        for number, line in enumerate(file, 1):
            text = FRONT.sub("", line).strip()
            if test := TEST.match(text):
                if op and op != test[1]:
                    raise InvalidInput(
                        f"{path}: line {number}: the test of {shown(test[1])} behind that of {op}; "
                        "allowed: one in a file"
                    )
                op = test[1]
            elif device := DEVICE.match(text):
                if device[1] in hosts:
                    raise InvalidInput(
                        f"{path}: line {number}: rank {device[1]} a second time: is nccl-tests "
                        "built with MPI?"
                    )
                hosts[device[1]] = device[2]
            elif found := OWN.match(text):
                own = found
            elif titles(text) is not None:
                columns = titles(text)
            elif columns is not None and not text.startswith("#"):
                one = row(path, number, text, columns)
                if one and one[0] > 0:
                    rows.append(one)
    if own:
        op = op or own[1]
        nodes, gpus = int(own[3]), int(own[2]) // int(own[3])
    else:
        each = collections.Counter(hosts.values())
        nodes, gpus = len(each), max(each.values(), default=0)
        if len(set(each.values())) > 1:
            raise InvalidInput(
                f"{path}: hosts with {min(each.values())} and {gpus} GPUs; allowed: as many on each"
            )
    if not rows or not nodes:
        what = "rows of a table" if not rows else "lines of devices (# Rank 0 Pid 12 on HOST ...)"
        raise InvalidInput(f"{path}: no output of nccl-tests: there are no {what}")
    if not op:
        raise InvalidInput(
            f"{path}: does not say which collective it is, as nccl-tests before 2.17: name it, "
            "--collective=all_reduce"
        )
    return Output(op, nodes, gpus, rows)
