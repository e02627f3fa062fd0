#!/usr/bin/python3
# SPDX-License-Identifier: GPL-2.0-only
"""Published training steps from ordinary PyTorch scripts: captured, simulated, and beside them what
the zoo's model of the same row takes.

    tests/bench/captured.py                      # prints the table
    tests/bench/captured.py --update             # writes it into docs/measured.md
    tests/bench/captured.py --only=resnet50

Rows are chosen by a rule, not by what comes out, of the tables of tests/golden/training whose jobs
are data parallel alone on A100 and need nothing that PyTorch 1.13 has not:

- MPT with FSDP, 2,048 tokens: of each model the first row of 8 GPUs of 80 GB, and the row of 128
  GPUs of 40 GB (which is its largest job), of up to 4 micro-batches a step (of the first kind, 30 B
  has 21, which take long to capture);
- ResNet-50: all rows of NVIDIA's examples.

The script of MPT has what llm-foundry has: FSDP's param_dtype is bf16 (mosaicml/composer@0099561
composer/trainer/mosaic_fsdp_utils.py), rows of amp_bf16 run under autocast, norms are
low_precision_layernorm (MPTConfig's norm_type); the optimizer is PyTorch's fused AdamW (assumed).

BERT of NVIDIA's examples is left out: its LAMB, layer norm and mask are kernels of APEX.

Times of the program (Python, launches) are those of the simulator's defaults: none. A capture and a
run are kept in --out, and not made again for the same command and program.
"""

import argparse
import hashlib
import json
import os
import shlex
import statistics
import sys

HERE = os.path.dirname(os.path.abspath(__file__))
ROOT = os.path.dirname(os.path.dirname(HERE))
sys.path.insert(0, os.path.join(ROOT, "scripts"))

from cluster_simulator import marked  # noqa: E402
from cluster_simulator.capture import CaptureFailed, capture, set_up  # noqa: E402
from cluster_simulator.published import figures, rows, runs  # noqa: E402

PAGE = os.path.join(ROOT, "docs", "measured.md")
TABLE = "captured-scripts"
HEAD = ("row", "published", "script", "error", "zoo", "error", "blocks")
TOKENS = 2048
MICRO_BATCHES = 4
SCRIPTS = os.path.join(HERE, "captured-scripts")
# Layers, width, heads: what MPT's names stand for (scenarios/models/zoo-language.cc has the
# sources); parameters() has to be what the published row says.
MPT = {
    "mpt-125m": (12, 768, 12),
    "mpt-350m": (24, 1024, 16),
    "mpt-760m": (24, 1536, 12),
    "mpt-1b": (24, 2048, 16),
    "mpt-3b": (32, 2560, 20),
    "mpt-7b": (32, 4096, 32),
    "mpt-13b": (40, 5120, 40),
    "mpt-30b": (48, 7168, 56),
    "mpt-70b": (80, 8192, 64),
}
VOCABULARY = 50368
# Of jobs on more than 64 GPUs so many blocks are simulated, as scripts/published has it.
LARGE, LAYERS = 64, 6
STEPS = 2  # the second: FSDP knows the order of its units, DDP its buckets
MEMORY = 400 << 30  # the real one fitted; what PyTorch 1.13 would need more is told


def parameters(layers, width):
    """Of GPT with biases, places and a tied head: 12 h^2 + 13 h a block, and the last norm."""
    return layers * (12 * width * width + 13 * width) + 2 * width + (VOCABULARY + TOKENS) * width


def is_chosen(row, seen):
    if row.gpu != "A100":
        return False
    if row.table == "MPT with FSDP":
        model, _, size, sequence, _, accumulation, _ = row.facts["group"]
        first = model not in seen and row.facts["gpus"] == 8 and not size
        largest = row.facts["gpus"] == 128 and size == "-40GB"
        if sequence != TOKENS or accumulation > MICRO_BATCHES or not (first or largest):
            return False
        if first:
            seen.add(model)
        return True
    return row.model == "resnet-50"


def chosen():
    seen = set()
    found = []
    for name in ("mpt-fsdp", "nvidia-examples"):
        path = os.path.join(ROOT, "tests", "golden", "training", f"{name}.csv")
        found += [row for row in rows.read(path) if is_chosen(row, seen)]
    return found


def script(row):
    """The words behind torchrun."""
    if row.model == "resnet-50":
        _, _, _, precision, _, samples = row.facts["group"]
        words = ["resnet50_ddp.py", f"--batch={samples // row.facts['gpus']}"]
        return words + (["--amp"] if precision == "amp" else [])
    model, _, _, _, batch, accumulation, checkpoints = row.facts["group"]
    layers, width, heads = MPT[model]
    words = ["gpt_fsdp.py", f"--layers={layers}", f"--width={width}", f"--heads={heads}"]
    words += [f"--vocabulary={VOCABULARY}", f"--length={TOKENS}"]
    words += [f"--batch={batch}", f"--accumulate={accumulation}"]
    words += ["--checkpoints"] if checkpoints else []
    precision = PRECISIONS[row.seconds, row.facts["gpus"]]
    return words + (["--autocast"] if precision == "amp_bf16" else [])


def command(row):
    gpus = row.facts["gpus"]
    each = min(gpus, 8)
    name, *words = script(row)
    path = os.path.join(SCRIPTS, name)
    return ["torchrun", f"--nnodes={gpus // each}", f"--nproc_per_node={each}", path, *words]


def captured(row, folder, kept=False):
    """The folder of its capture. kept: of one that is there, or none."""
    words = command(row)
    with open(words[3], "rb") as file:
        mark = hashlib.sha256(json.dumps(words).encode() + file.read()).hexdigest()[:16]
    out = os.path.join(folder, "captures", f"{row.id}-{mark}")
    there = os.path.isfile(os.path.join(out, "meta.json"))
    if kept and not there:
        raise CaptureFailed("not captured")
    if not there:
        last = row.facts["gpus"] - 1
        capture(
            words,
            out,
            gpus_per_server=min(last + 1, 8),
            ranks=sorted({0, last}),
            steps=STEPS,
            memory=MEMORY,
            patience=600,
        )
    return out


def fewer(row):
    return [f"--layers={LAYERS}"] if row.facts["gpus"] > LARGE else []


MACHINE = ("--server", "--servers", "--gpus-per-server", "--gpu", "--fabric")


def simulated(row, program, folder, limit, kept):
    """Seconds of a step, what is to be known of it; or None and why not."""
    try:
        trace = captured(row, folder, kept)
    except CaptureFailed as failed:
        return None, str(failed).splitlines()[0]
    words = [f"--trace={trace}"]
    words += [word for word in row.options if word.partition("=")[0] in MACHINE]
    words += fewer(row)
    words += runs.COMMON
    where = os.path.join(folder, "captured", runs.identity(program, words))
    path = os.path.join(where, "stats.json")
    if not os.path.isfile(path):
        done = runs.subprocess.run(
            [program, *words, f"--out={where}"],
            stdin=runs.subprocess.DEVNULL,
            stdout=runs.subprocess.DEVNULL,
            stderr=runs.subprocess.PIPE,
            text=True,
            check=False,
            timeout=limit,
        )
        if done.returncode != 0:
            return None, next(iter(done.stderr.strip().splitlines()), str(done.returncode))
    with open(path, encoding="utf-8") as file:
        stats = json.load(file)
    part = stats.get("extrapolation")
    about = "all"
    if part:
        error = part["error"]
        about = f"{', '.join(map(str, part['blocks_simulated']))} of {part['blocks']}"
        about += "" if error is None else f" (line off by {percent(error)})"
    return stats["step_time_us"] * 1e-6, about


def percent(value):
    return f"{100 * value:+.1f}%"


def seconds(value):
    return f"{value:.4g} s"


def cells(row, own, about, zoo):
    if own is None:
        return (row.id, seconds(row.seconds), "not run", "", "", "", about)
    other = ("not run", "") if isinstance(zoo, str) else (
        seconds(zoo.seconds),
        percent(zoo.seconds / row.seconds - 1),
    )
    return (
        row.id,
        seconds(row.seconds),
        seconds(own),
        percent(own / row.seconds - 1),
        *other,
        about,
    )


PRECISIONS = {}  # by seconds of a step and GPUs, which tell the rows apart


def read_precisions():
    """Checks the shapes as well."""
    path = os.path.join(ROOT, "tests", "golden", "training", "mpt-fsdp.csv")
    with open(path, encoding="utf-8") as file:
        head = file.readline().strip().split(",")
        for line in file:
            row = dict(zip(head, line.strip().split(",")))
            layers, width, _ = MPT[f"mpt-{row['model']}"]
            if row["seq"] == str(TOKENS) and int(row["params"]) != parameters(layers, width):
                raise SystemExit(f"mpt-{row['model']}: {row['params']} parameters are published")
            PRECISIONS[float(row["step_time_s"]), int(row["gpus"])] = row["precision"]


def main():
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--update", action="store_true", help="write the table into the page")
    parser.add_argument("--only", default="", metavar="TEXT", help="rows with it in their names")
    parser.add_argument("--capture-only", action="store_true", help="simulate nothing yet")
    parser.add_argument("--kept", action="store_true", help="without new captures")
    parser.add_argument("--commands", action="store_true", help="print the commands, run nothing")
    parser.add_argument("--out", default=os.path.join(ROOT, "results", "captured"), metavar="DIR")
    parser.add_argument("--programs", default=os.path.join(ROOT, ".ns3", "programs"), metavar="DIR")
    parser.add_argument("--time-limit", type=float, default=900, metavar="S", help="of a run")
    args = parser.parse_args()
    if args.update and args.only:
        parser.error("--update: with all rows, without --only")
    read_precisions()
    found = [row for row in chosen() if args.only in row.id]
    if args.commands:
        for row in found:
            print(f"{row.id}: {shlex.join(command(row))}")
        return
    set_up()
    program = os.path.join(args.programs, "dltrain")
    table, errors = [], []
    for row in found:
        if args.capture_only:
            print(row.id, captured(row, args.out), flush=True)
            continue
        own, about = simulated(row, program, args.out, args.time_limit, args.kept)
        words = runs.words_of(row, args.out, fewer(row))
        zoo = "" if own is None else runs.run(program, words, args.out, args.time_limit)
        if own is not None:
            errors.append((own / row.seconds, None if isinstance(zoo, str) else
                           zoo.seconds / row.seconds))
        table.append(cells(row, own, about, zoo))
        print(" | ".join(table[-1]), flush=True)
    for name, ratios in (
        ("scripts", [own for own, _ in errors]),
        ("zoo", [zoo for _, zoo in errors if zoo is not None]),
        ("script over zoo", [own / zoo for own, zoo in errors if zoo is not None]),
    ):
        if ratios:
            all_of = figures.summary(ratios)
            print(
                f"{name}: {all_of.rows} rows, median error {100 * all_of.median:.1f}%, "
                f"p90 {100 * all_of.p90:.1f}%, bias {percent(all_of.bias)}, "
                f"worst {percent(all_of.worst)}, "
                f"mean ratio {statistics.fmean(ratios):.3f}"
            )
    if args.update:
        with open(PAGE, encoding="utf-8") as file:
            text = marked.replace(file.read(), TABLE, HEAD, table)
        with open(PAGE, "w", encoding="utf-8") as file:
            file.write(text)


if __name__ == "__main__":
    main()
