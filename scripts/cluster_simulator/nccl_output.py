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
    """Where the first `time` of a table stands in its rows; None: it is no title."""
    words = text.lstrip("#").split()
    if words[:2] != ["size", "count"] or "time" not in words:
        return None
    return words.index("time")


def row(path, number, text, column):
    """(bytes, microseconds) of a line of the table; None: it is none."""
    words = text.split()
    if len(words) <= column or not re.fullmatch("[0-9]{1,16}", words[0], re.ASCII):
        return None
    if not re.fullmatch("[0-9]{1,16}", words[1], re.ASCII):
        return None
    try:
        time = float(words[column])
    except ValueError:
        time = math.nan
    if not 0 < time < math.inf:
        raise InvalidInput(
            f"{path}: line {number}: time={shown(words[column])}; "
            "allowed: a number of microseconds above 0"
        )
    return int(words[0]), time


def read(path, op=None):
    """What a file says; `op` where it does not say it."""
    column = None
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
                column = titles(text)
            elif column is not None and not text.startswith("#"):
                one = row(path, number, text, column)
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
