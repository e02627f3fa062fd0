# SPDX-License-Identifier: GPL-2.0-only
"""Rows of 2024 to 2026: tests/golden/training/train-2024-2026.csv, memory-peaks.csv."""

import os
import re
import shlex

from ..errors import InvalidInput
from .row import Row, flag, step_options

GPUS_OF = {"gb200-nvl72": 64, "gb300-nvl72": 64}  # used of a server; others: 8


def machine(line, server, gpus):
    """Options of the servers that `gpus` GPUs fill. A rack of 72 is used as one of 64: layouts
    are powers of two."""
    each = GPUS_OF.get(server, 8)
    options = [f"--server={server}"]
    if gpus <= each:
        return [*options, "--servers=1", f"--gpus-per-server={gpus}"]
    if gpus % each:
        raise InvalidInput(
            f"{line.path}: line {line.number}: {gpus} GPUs do not fill servers of {each}"
        )
    if each != 8:
        options.append(f"--gpus-per-server={each}")
    return [*options, f"--servers={gpus // each}"]


def beside(line, name):
    """A name of the zoo, or a file beside the table."""
    if not name.endswith(".json"):
        return name
    return os.path.join(os.path.dirname(os.path.abspath(line.path)), name)


def framework(line):
    """The first word of the framework's column, which tells rows of other software apart."""
    return re.split(r"[ (]", line.text("framework"))[0]


def train_row(line):
    gpus = line.count("gpus")
    options = machine(line, line.text("server"), gpus)
    options += step_options(line)
    options += flag("recompute", line.text("recompute"), unless=("none",))
    for word in shlex.split(line.raw("options_that_were_tried")):
        name, _, value = word.partition("=")
        options.append(f"{name}={beside(line, value)}" if value.endswith(".json") else word)
    return [
        Row(
            line.text("row"),
            "2024 to 2026",
            line.text("gpu"),
            f"{framework(line)}, {line.text('kind')}",
            line.positive("step_s", "seconds"),
            options,
            beside(line, line.text("model")),
            {"gpus": gpus, "global_batch": line.count("global_batch")},
            line.text("strategy"),
        )
    ]


# Names of memory-peaks.csv and their options: memory_peaks.txt of the reference data.
PEAK = re.compile(
    r"(?P<model>llama3_70b_l12|llama3_405b_l4|deepseekv2|deepseekv3_l4)_tp(?P<tp>\d+)"
    r"(?:_ep(?P<ep>\d+))?(?:_cp(?P<cp>\d+))?_pp(?P<pp>\d+)_dp(?P<dp>\d+)(?:_l4)?"
    r"(?:_seq(?P<seq>\d+))?_mbc(?P<mbc>\d+)_cef"
)
PEAK_MODELS = {
    "llama3_70b_l12": "models/llama3-70b-l12.json",
    "llama3_405b_l4": "models/llama3-405b-l4.json",
    "deepseekv2": "models/deepseek-v2-l4.json",
    "deepseekv3_l4": "models/deepseek-v3-l4.json",
}


def peak_row(line):
    said = PEAK.fullmatch(line.text("case"))
    if said is None:
        line.refuse("case", "model, tp, ep, cp, pp, dp, seq and mbc as in llama3_70b_l12_tp1_...")
    options = ["--server=dgx-b200", "--servers=1", "--fused-attention", "--zero=1"]
    options += ["--reduce-dtype=fp32", "--micro-batch=1", f"--accumulation={said['mbc']}"]
    options += [f"--seq={said['seq'] or 4096}", "--overlap=0"]
    for name in ("tp", "pp", "cp", "ep"):
        options += flag(name, said[name] or 1)
    if int(said["tp"]) > 1:
        options += ["--sequence-parallel", "--no-tp-overlap"]
    if said["cp"]:
        options.append("--context-exchange=ulysses")
    return [
        Row(
            line.text("case"),
            "one server of B200",
            "B200",
            "long sequences" if said["seq"] else said["model"].partition("_")[0],
            line.positive("step_ms", "milliseconds") / 1000,
            options,
            beside(line, PEAK_MODELS[said["model"]]),
            {"gpus": 8, "peak_gib": line.positive("peak_allocated_gib", "GiB")},
            "step and memory of a server",
        )
    ]
