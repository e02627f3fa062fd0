# SPDX-License-Identifier: GPL-2.0-only
"""Rows of tests/golden/measured/measured_training.csv: steps and memory that users measured.

A row becomes options by its columns alone, never by its name: rows of the same series that are kept
elsewhere take the same way.
"""

import os
import re
import shlex

from ..errors import InvalidInput
from .row import Row, flag, step_options

TABLE = "what users measured"
# Steps of 16 to 1,024 GPUs differ by up to 1% with it, and take a hundredth of the time.
SHORTER = ("--collective-times=formula",)
SCALES = ((64, "below 64"), (256, "64 to 255"), (None, "256 and more"))


# --recipe by the column of the framework: the first that is found in it.
RECIPES = (
    ("nanotron", "nanotron"),
    ("llm-foundry", "llm-foundry"),
    ("Aleph Alpha", "aleph-alpha"),
    ("InternEvo", "internevo"),
    ("KempnerForge", "kempnerforge"),
    ("torchtitan", "torchtitan"),
    ("XTuner", "xtuner"),
    ("MaxText", "maxtext"),
    ("Mega", "megatron"),
    ("FSDP", "fsdp2"),
    ("DeepSpeed", "deepspeed"),
)
# Recipes that are eager themselves. Other software is where the column of compilation says so.
EAGER = ("nanotron", "llm-foundry", "xtuner")
# --attention-kernel by the column of attention, where it names a library.
LIBRARIES = (
    ("Triton", "triton"),
    ("FlashAttention|SDPA", "flash2"),
    ("cuDNN|Transformer Engine", "vendor"),
)
# Servers whose collectives were measured beside the rows.
SERVERS = ((r"EFA .*32 x 100", "aws-p5"),)
# NICs of a server, where the number was taken for granted: one each. Fitted: Aleph Alpha's rows
# without overlap grow by 15 GB/s a server (13B to 65B); KempnerForge's dense rows of 8B and 70B.
NICS = (
    (r"^NVLink3; 200 Gb/s HDR .*8 NICs .* taken", ("--nics-per-server=1", "--nic=200GbE")),
    (r"NDR 400 Gb/s .*NICs of a server not said", ("--nics-per-server=1", "--nic=400GbE")),
)


def first(table, text):
    return next((value for pattern, value in table if re.search(pattern, text)), None)


def software(line, given):
    """Options of the software that its columns name, ahead of those that the table proposes."""
    recipe = first(RECIPES, line.text("framework"))
    attention = line.raw("attention")
    eager = line.raw("compile").startswith("eager")
    options = [f"--recipe={recipe}"] if recipe else []
    library = first(LIBRARIES, attention)
    if library and "torch attention" not in attention:
        options.append(f"--attention-kernel={library}")
    if "RMSNorm of torch" in attention or attention == "torch attention":
        options.append("--norm=torch")
    if re.search("torch attention|fused softmax", attention) and eager:
        options.append("--score-bytes=54")
    if eager and recipe not in EAGER and line.text("dtype") != "fp8":
        given.setdefault("--kernels", "--kernels=eager")
        # Aleph Alpha's norms are fused or counted, and its rows need no more.
        options += [] if recipe == "aleph-alpha" else ["--eager-bytes=175"]
    return options + kept_outputs(line)


# MaxText's checkpoint policies and what they keep of a block (scenarios/training/recomputation.h).
POLICIES = (
    ("save_qkv_proj", "qkv_proj"),
    ("save_dot_except_mlp", "qkv_proj,out_proj"),
)


def kept_outputs(line):
    """Full recomputation but for what a policy keeps, where a remark names one."""
    kept = first(POLICIES, line.raw("assumed") + line.raw("other_options"))
    return ["--recompute=full", f"--recompute-keep={kept}"] if kept else []


def beside(line, name):
    """A name of the zoo, or a file beside the table."""
    if not name.endswith(".json"):
        return name
    folder = os.path.dirname(os.path.abspath(line.path))
    for path in (name, os.path.join("measured_models", os.path.basename(name))):
        if os.path.exists(os.path.join(folder, path)):
            return os.path.join(folder, path)
    return os.path.join(folder, name)


def framework(line):
    """The software's name: what stands before a parenthesis or a version."""
    name = line.text("framework").partition("(")[0].strip()
    return re.sub(r" (of \d{4}|[0-9a-f]{8}|\d+(\.\d+)+).*", "", name)


def scale(gpus):
    return next(name for most, name in SCALES if most is None or gpus < most)


def proposed(line):
    """The options that the table says, by name."""
    options = {}
    for word in shlex.split(line.raw("options_proposed")):
        name, _, value = word.partition("=")
        options[name] = f"{name}={beside(line, value)}" if value.endswith(".json") else word
    return options


def machine(line, gpus, given):
    """Options of the servers that `gpus` GPUs fill."""
    each = line.count("gpus_per_server", 8)
    if "--gpus-per-server" in given:
        each = int(given.pop("--gpus-per-server").partition("=")[2])
    server = first(SERVERS, line.raw("network"))
    options = [f"--server={server or beside(line, line.text('server'))}"]
    for word in first(NICS, line.raw("network")) or ():
        given[word.partition("=")[0]] = word
    if gpus <= each:
        for name in ("--nics-per-server", "--nic"):
            given.pop(name, None)  # nothing leaves the server
        return [*options, "--servers=1", f"--gpus-per-server={gpus}"]
    if gpus % each:
        raise InvalidInput(
            f"{line.path}: line {line.number}: {gpus} GPUs do not fill servers of {each}"
        )
    return [*options, f"--gpus-per-server={each}", f"--servers={gpus // each}"]


def row_of(line):
    gpus = line.count("gpus")
    given = proposed(line)
    options = machine(line, gpus, given)
    options += step_options(line)
    options += software(line, given)
    if not any(word.startswith("--recompute=") for word in options):
        # None, too: a recipe may have some.
        options.append(f"--recompute={line.text('recompute')}")
    names = {word.partition("=")[0] for word in options}
    options += [word for name, word in given.items() if name not in names]
    facts = {
        "gpus": gpus,
        "global_batch": line.count("global_batch"),
        "framework": framework(line),
        "scale": scale(gpus),
        "kind": line.text("kind"),
        "source": line.text("source"),
        "confidence": line.text("confidence"),
        "family": line.raw("family"),
        "scaling": line.raw("scaling"),
    }
    if line.raw("peak_memory_gib"):
        facts["memory_gib"] = line.positive("peak_memory_gib", "GiB")
    if line.raw("vs_smallest"):
        facts["vs_smallest"] = line.positive("vs_smallest", "the smallest number of GPUs")
    return [
        Row(
            line.text("row"),
            TABLE,
            line.text("gpu"),
            f"{facts['framework']}, {line.text('kind')}",
            line.positive("step_s", "seconds"),
            options,
            beside(line, line.text("model")),
            facts,
            line.raw("strategy") or "step time",
            SHORTER if gpus > 8 else (),
        )
    ]
