# SPDX-License-Identifier: GPL-2.0-only
"""From rows of published step times to options of dltrain: what a user would write who has the row
before him. What a row does not say is left to the defaults, but for what stands in LEFT_OUT and
below, each with where it is from.
"""

import collections
import math
import os
import re

from .. import lines
from ..errors import InvalidInput
from . import measured, modern
from .row import Row, flag

# Servers, by what GPU and network of a row are called: the first that fits.
#   Selene: DGX A100 on InfiniBand, as the rows say. Eos: DGX H100 on NDR.
#   Jean Zay: four Omni-Path ports of 100 Gb/s, which go as --server=jean-zay has them.
#   MosaicML's "1600 Gbps RoCE" are eight of 200 Gb/s: DGX A100's NICs, assumed.
#   Where nothing is said of the network: what the GPU is sold in.
SERVERS = (
    (r"DGX-2H", "--server=dgx-2h"),
    (r"DGX-2", "--server=dgx-2"),
    (r"Big Basin", "--server=big-basin"),
    (r"Omni-Path", "--server=jean-zay"),
    (r"H100.*(IB|NDR)", "--server=dgx-h100 --fabric=ib"),
    (r"H100", "--server=dgx-h100"),
    (r"H200", "--server=dgx-h200"),
    (r"B200", "--server=dgx-b200"),
    (r"A100.*(Selene|IB\b|HDR)", "--server=dgx-a100 --fabric=ib"),
    (r"A100", "--server=dgx-a100"),
    (r"V100", "--server=dgx-1-v100"),
    (r"P100", "--server=dgx-1-p100"),
)
# GPUs of a server that come in another size.
SIZES = (
    (r"A100.?40\s?GB", "A100-40GB"),
    (r"V100.?16\s?GB", "V100-16GB"),
    (r"V100 16GB", "V100-16GB"),
)

# What the rows of Megatron-LM's table of SC'21 leave out: micro-batch, and layers of a virtual
# stage. NVIDIA/Megatron-LM@79a3bb6 examples/sc21/run_table_1.sh.
SC21 = {
    "1.7B": (16, 0),
    "3.6B": (16, 0),
    "7.5B": (16, 0),
    "18.4B": (8, 0),
    "39.1B": (4, 0),
    "76.1B": (2, 5),
    "145.6B": (2, 5),
    "310.1B": (1, 3),
    "529.6B": (1, 1),
    "1008B": (1, 0),
    "1008.0B": (1, 0),
}
# ResNet-50's batch a GPU: NVIDIA/DeepLearningExamples@097c7ff
# PyTorch/Classification/ConvNets/configs.yml.
RESNET_BATCH = {("A100", "tf32"): 256, ("V100", "fp32"): 112}

DTYPES = (
    (r"amp_bf16|bf16", None),  # the default
    (r"fp8", "fp8"),
    (r"tf32", "tf32"),
    (r"fp16|amp", "fp16"),
    (r"fp32", "fp32"),
)

PROVES = (
    ("sc21-t1-", "little alone: a constant throughput is within 9%"),
    ("sc21-t2-", "ZeRO-3 against tensor and pipeline parallelism"),
    ("mcore-", "little alone: a constant throughput is within 9%"),
    ("seqsel-", "full against selective recomputation"),
    ("meg-sep20-", "weak scaling over tensor parallelism"),
    ("meg-v1-", "tensor parallelism in a server of V100"),
    ("meg19-strong-", "strong scaling over tensor parallelism"),
    ("mtnlg-", "data parallelism on top of tensors and a deep pipeline"),
    ("bloom-gbs", "the bubble: step against global batch"),
    ("megascale-", "three dimensions on 3,072 GPUs"),
    ("llama3-", "three dimensions on 8,192 GPUs"),
    ("goyal-", "data parallelism over servers, hidden under backward"),
)


def first(table, text, default=None):
    return next((value for pattern, value in table if re.search(pattern, text, re.I)), default)


def machine(line, text, gpus, per_node):
    """Options of the servers that `gpus` GPUs fill, and the GPU's name."""
    server = first(SERVERS, text)
    if server is None:
        raise InvalidInput(
            f"{line.path}: line {line.number}: no server is known for {text!r}: "
            "scripts/cluster_simulator/published/rows.py, SERVERS"
        )
    options = server.split()
    size = first(SIZES, text)
    if size:
        options.append(f"--gpu={size}")
    if gpus < per_node:
        options += ["--servers=1", f"--gpus-per-server={gpus}"]
    elif gpus % per_node:
        raise InvalidInput(
            f"{line.path}: line {line.number}: {gpus} GPUs do not fill servers of {per_node}"
        )
    else:
        options.append(f"--servers={gpus // per_node}")
    if gpus <= per_node:
        options = [word for word in options if word != "--fabric=ib"]  # there is one server
    name = re.search(r"[ABHVP]\d00", text).group(0)
    return options, name


def fewer_layers(gpus, layers, pieces=1, options=()):
    """--layers for a job on more than a few servers: six blocks, or in a pipeline two a piece or a
    sixth of them, whatever is more. dltrain runs smaller numbers as well, which make as many again:
    nothing where that is no less than all of them, or where fewer would be cut at other places.
    """
    if any(word.startswith("--partition=") for word in options):
        return ()
    each = max(2, -(-layers // pieces // 6)) if pieces > 1 else 6
    simulated = each + 1 if each == 2 else 2 * each
    if gpus <= 64 or layers % pieces or layers <= simulated * pieces:
        return ()
    return (f"--layers={each * pieces}",)


def dtype(line, gpu):
    """Nothing said: bf16, or fp16 on GPUs that have none."""
    default = "fp16" if gpu in ("V100", "P100") else "bf16"
    text = line.raw("precision")
    line.known("precision", "|".join(pattern for pattern, _ in DTYPES), default)
    name = first(DTYPES, text, default)
    return [f"--dtype={name}"] if name not in (None, "bf16") else []


# ---- train_throughput.csv

# Rows meg-v1 have no shapes. Those of the README of September 2020 (24 x 1920 and 42 x 4096 layers
# x hidden, 1.16 and 8.67 B) are what makes the row's own numbers: the first is 62.6 TFLOP/s in the
# row's 1.288 s, by equation 3 of arXiv 2104.04473, where 62.4 are said, and 8.67 / 1.16 / 8 x 1.288
# / 1.508 = 79.8% are the row's 79.6%. The shapes of arXiv 1909.08053 make 67.0 TFLOP/s and 74%.
MEGATRON_V1 = {"1.2": "megatron-1.16b", "8.7": "megatron-8.67b"}


def shape(line, name):
    """A model file of the row's shape; where it does not say it, the name in the zoo."""
    if not line.raw("layers"):
        return first(
            (
                (r"ResNet-50", "resnet-50"),
                (r"MegaScale 175B", "gpt3-175b"),
                (r"GPT-2", MEGATRON_V1.get(line.raw("params_B"), f"gpt2-{line.raw('params_B')}b")),
            ),
            line.text("model"),
            line.text("model").lower().replace(" ", "-"),
        )
    if line.raw("model").startswith("Llama-3 405B"):
        return "llama3-405b"  # its gated MLP and groups of heads are in no column
    hidden = line.count("hidden")
    sequence = line.count("seq")
    model = {
        "name": name,
        "layers": line.count("layers"),
        "hidden": hidden,
        "heads": line.count("heads", hidden // 128),
        "vocab": line.count("vocab"),
        "sequence": sequence,
    }
    if "BLOOM" in line.raw("model"):
        model["embedding_norm"] = True  # and ALiBi: no table of positions
    else:
        model["positions"] = sequence
    return model


def train_row(line):
    row = line.text("id")
    gpus = line.count("n_gpus")
    text = f"{line.text('gpu')} {line.raw('interconnect')}"
    if row.startswith("meg-sep20-"):
        # September 2020; A100s of 80 GB were announced at SC20, in November (AnandTech 16250).
        text = text.replace("A100 DGX", "A100-40GB DGX")
    options, gpu = machine(line, text, gpus, line.count("gpus_per_node"))
    tp, pp, cp = (line.count(name, 1) for name in ("TP", "PP", "CP"))
    left_out = SC21.get(row[len("sc21-t1-") :], (0, 0)) if row.startswith("sc21-t1-") else (0, 0)
    stages = line.count("VPP", 1) if line.raw("VPP") else interleaved(line, pp)
    if left_out[1]:
        stages = line.count("layers") // (pp * left_out[1])
    options += flag("tp", tp) + flag("pp", pp) + flag("virtual-stages", stages)
    options += flag("cp", cp) + flag("ep", line.count("EP", 1))
    zero = line.raw("zero")
    if zero and not re.match("[0-3]|FSDP", zero):
        line.refuse("zero", "0, 1, 2, 3 or FSDP, and what is to be said of it")
    if gpus > tp * pp * cp:
        # FSDP with optimizer and gradients sharded is ZeRO 2; with a pipeline dltrain says what it
        # has of it
        options.append("--zero=" + ("2" if zero.startswith("FSDP") else (zero or "0")[0]))
    else:
        options.append("--zero=0")
    options += implementation(line) + awaited(row, tp, pp) + wide_gradients(line, row)
    options += megatron_kernels(row) + (BLOOMS_LAUNCHES if row.startswith("bloom-") else [])
    options += bloom_stages(line, pp) if "BLOOM" in line.raw("model") else []
    recompute = line.raw("recompute")
    line.known("recompute", r"\b(full|selective|none|not stated|sequence-parallel)\b", "none")
    # Megatron-LM has this overlap with sequence parallelism alone (megatron/training/arguments.py).
    overlaps = tp > 1 and re.search(r"\bTP\b.* comm overlap on", line.raw("other"))
    if "sequence-parallel" in recompute or overlaps:
        options.append("--sequence-parallel")
    options += ["--tp-comm-overlap"] if overlaps else []
    if "not stated" not in recompute:
        kinds = ((r"\bfull\b", "full"), (r"\bselective\b", "selective"))
        options += recomputation(first(kinds, recompute))
    options += dtype(line, gpu)
    if gpu in ("H100", "H200", "B200") or row.startswith("megascale-"):
        options.append("--fused-attention")  # Megatron-Core has it from Transformer Engine; assumed
    # Not said: one with a pipeline, else the most that fits. Assumed.
    batch = line.raw("micro_batch") or left_out[0] or ("1" if pp > 1 else "auto")
    options.append(f"--micro-batch={batch}")
    options.append(f"--global-batch={line.count('global_batch')}")
    if line.raw("seq"):
        options.append(f"--seq={line.count('seq')}")
    check_world(line, gpus, tp * pp * cp)
    model = shape(line, row)
    time = line.positive("iter_time_s", "seconds") if line.raw("iter_time_s") else None
    made = Row(
        row,
        "Megatron-LM and others",
        gpu,
        "",
        time,
        options,
        model,
        {
            "gpus": gpus,
            "global_batch": line.count("global_batch"),
            "tflops": float(line.raw("tflops_per_gpu") or 0),
            "other": line.raw("other"),
        },
        first([("^" + a, b) for a, b in PROVES], row, "step time"),
        fewer_layers(gpus, layers_of(line), pp * int(stages), options),
    )
    return [made, *smaller(line, made)]


def implementation(line):
    """Who does ZeRO: DeepSpeed in Megatron-DeepSpeed, which trained BLOOM and (arXiv 2201.11990,
    title) MT-NLG; that ZeRO 3 of SC'21 was DeepSpeed's is assumed.
    """
    row = line.text("id")
    if row.startswith("sc21-") and line.raw("zero") == "3":
        # Of early 2021: its collectives had lists (scenarios/training/graphs/communication.h).
        return ["--zero-impl=deepspeed", "--zero-tensor-lists"]
    return ["--zero-impl=deepspeed"] if row.startswith(("bloom-", "mtnlg-")) else []


def interleaved(line, pp):
    """Virtual stages where the row says none: Megatron-LM has sends of pipelines beside computing
    with the interleaved schedule alone, and turns that off without it (overlap_p2p_comm in
    megatron/training/arguments.py). So a row with "PP comm overlap on" had some: the fewest that
    share out its layers, which is assumed.
    """
    if pp == 1 or not re.search(r"\bPP\b comm overlap on", line.raw("other")):
        return 1
    pieces = layers_of(line) // pp if layers_of(line) % pp == 0 else 0
    return next((count for count in range(2, pieces + 1) if pieces % count == 0), 1)


def awaited(row, tp, pp):
    """BLOOM's software waits for all that tensor parallelism exchanges, and adds up gradients by a
    kernel of its own (bigscience-workshop/Megatron-DeepSpeed@119a0d2, megatron/mpu/layers.py). It
    is a fork of 2021; that what ran until then does the same is assumed. DeepSpeed's pipelines wait
    for what they send as well (send of microsoft/DeepSpeed@077e674 deepspeed/runtime/pipe/p2p.py);
    with all that they do (--pipeline-sends=deepspeed) BLOOM's rows are 2% slower, and 530 B 0.4%
    (docs/validation.md).
    """
    if not row.startswith(("sc21-", "meg-", "meg19-", "mtnlg-", "bloom-")):
        return []
    options = ["--no-tp-overlap"] if tp > 1 else []
    options.append("--gradient-accumulation-fusion=0")
    if pp > 1 and row.startswith(("mtnlg-", "bloom-")):
        options.append("--pipeline-sends=awaited")
    return options


def megatron_kernels(row):
    """Who ran Megatron-LM with attention that is not fused, and its softmax (layer-kernels.h),
    which it has from 2020 on: not the rows of 2019.
    """
    ran = row.startswith(("sc21-", "seqsel-", "meg-", "mtnlg-", "bloom-"))
    return ["--kernels=megatron"] if ran else []


# BLOOM's jobs ran with CUDA_LAUNCH_BLOCKING=1 ("do not remove or the training will hang",
# tr11-176B-ml.slurm of bigscience-workshop/bigscience@003b250); these before it are taken to have
# had it, as the source of the rows (chronicles-prequel.md@053adaf) says that it was needed. How
# long a kernel's launch keeps the GPU waiting is from that page's measurement of one job without
# and with it, on 80 GPUs, GBS 512: 97.20 and 91.04 TFLOP/s. One of its steps, of GBS 2,048 at
# 98.87, took 844.81 s, so these are 214.8 and 229.4 s: 14.5 s, which that job (200 B, TP 8, PP 10,
# MBS 1) takes more here with 60 us. On 160 GPUs there is no difference there (84.44 and 84.59;
# 90.25 and 90.29): none is fitted to the rows below.
BLOOMS_LAUNCHES = ["--launch-gap=60us"]


def bloom_stages(line, pp):
    """Which blocks its stages had, by the source of the rows (chronicles-prequel.md): as many
    each, by DeepSpeed's way of before October 2023, so that of 78 blocks on 12 stages the last one
    has 1 ("Re-do"). From February 27, 2022 on, with 106 blocks and with the bf16 optimizer,
    embedding and head count as one each ("Rebalancing layers"). Where blocks divide evenly, that is
    what is had anyway.
    """
    layers = line.count("layers")
    if "bf16" in line.raw("note") + line.raw("precision") or layers == 106:
        return ["--partition=type:transformer|embedding", "--partition-fill=front"]
    if layers % pp:
        return ["--partition=type:transformer", "--partition-fill=front"]
    return []


def wide_gradients(line, row):
    """Megatron-LM adds up and reduces bf16 gradients in fp32 ("if args.bf16" of its arguments.py),
    and so did BLOOM's engineers from February 28, 2022 on (the notes: "BF16 optimizer that was just
    written to accumulate gradients in fp32"); that MT-NLG's software did is assumed. Megatron-Core
    has --grad-reduce-in-bf16, and its rows do not say: left to the defaults.
    """
    said = line.raw("note" if row.startswith("bloom-line") else "precision")
    ours = row.startswith(("mtnlg-", "bloom-", "megascale-megatron-"))
    return ["--reduce-dtype=fp32"] if ours and "bf16" in said else []


def layers_of(line):
    """0: not said, and not looked up."""
    return line.count("layers") if line.raw("layers") else 0


def check_world(line, gpus, model_parallel):
    """The data parallel size is derived by dltrain: one that is said has to be that."""
    if line.raw("DP") and line.count("DP") * model_parallel != gpus:
        line.refuse("DP", f"the {gpus} GPUs over TP, PP and CP, {gpus / model_parallel:g}")


# "90 epochs in 1 h vs 29 h on 8 GPUs (batch 256)": Goyal et al.'s way to say how it scales.
HOURS = re.compile(r"in ([0-9.]+) h vs ([0-9.]+) h on ([0-9]+) GPUs \(batch ([0-9]+)\)")


def smaller(line, row):
    """The job on the fewer GPUs that a row compares itself with, in hours for as many samples."""
    said = HOURS.search(row.facts["other"])
    if not said:
        return
    hours, base_hours, gpus, batch = (float(text) for text in said.groups())
    text = f"{line.text('gpu')} {line.raw('interconnect')}"
    servers, _ = machine(line, text, int(gpus), line.count("gpus_per_node"))
    row.facts["efficiency"] = 100 * base_hours * gpus / (hours * row.facts["gpus"])
    yield row._replace(
        id=f"{row.id} (of {int(gpus)})",
        options=servers
        + [word for word in row.options if word.split("=")[0] not in REPLACED]
        + [f"--global-batch={int(batch)}"],
        facts={**row.facts, "gpus": int(gpus), "global_batch": int(batch), "efficiency": None},
    )


REPLACED = ("--server", "--servers", "--gpus-per-server", "--fabric", "--global-batch")


def recomputation(what):
    return [f"--recompute={what}"] if what else []


# ---- bloom_pretune.csv


def bloom_row(line):
    gpus = line.count("gpus")
    options, gpu = machine(line, "A100 80GB Omni-Path", gpus, gpus // line.count("nodes"))
    row = f"bloom-line{line.count('line')}"
    hidden = line.count("hidden")
    model = {
        "name": row,
        "layers": line.count("layers"),
        "hidden": hidden,
        "heads": line.count("heads", hidden // 128),  # line 818 does not say: assumed
        "vocab": line.count("vocab"),
        "sequence": line.count("seq"),
        "embedding_norm": True,
    }
    tp, pp = line.count("TP"), line.count("PP")
    check_world(line, gpus, tp * pp)
    options += flag("tp", tp) + flag("pp", pp) + awaited(row, tp, pp) + bloom_stages(line, pp)
    options += megatron_kernels(row) + BLOOMS_LAUNCHES
    options += [f"--zero={line.text('zero')}", "--zero-impl=deepspeed"]  # Megatron-DeepSpeed
    # The same job as rows bloom-gbs of train_throughput.csv, which say so.
    options += recomputation("full") + wide_gradients(line, row)
    options += [] if "bf16" in line.raw("note") else ["--dtype=fp16"]
    options.append(f"--micro-batch={line.count('MBS')}")
    options.append(f"--global-batch={line.count('GBS')}")
    options.append(f"--seq={line.count('seq')}")
    made = Row(
        row,
        "BLOOM layouts",
        gpu,
        "",
        line.positive("sec_per_iter", "seconds"),
        options,
        model,
        {"gpus": gpus, "global_batch": line.count("GBS")},
        "which layout is the fastest",
        fewer_layers(gpus, line.count("layers"), pp, options),
    )
    return [made]


# ---- mpt_fsdp_throughput.csv


def mpt_row(line):
    gpus = line.count("gpus")
    name = f"{line.text('gpu').upper().replace('_', '-')} {line.text('section')}"
    options, gpu = machine(line, name, gpus, 8)
    if line.text("act_ckpt").lower() not in ("true", "false"):
        line.refuse("act_ckpt", "True, False")
    checkpoints = line.text("act_ckpt").lower() == "true"
    batch, accumulation = line.count("micro_batch"), line.count("grad_accum")
    stage = {"FULL_SHARD": "3", "SHARD_GRAD_OP": "2", "NO_SHARD": "0"}.get(line.text("sharding"))
    if stage is None:
        line.refuse("sharding", "FULL_SHARD, SHARD_GRAD_OP, NO_SHARD")
    model = f"mpt-{line.text('model')}"
    sequence = line.count("seq")
    options.append(f"--zero={stage}")
    options += recomputation("full" if checkpoints else None)
    options += dtype(line, gpu)
    options.append("--fused-attention")  # llm-foundry's attn_impl, triton or flash
    options.append(f"--micro-batch={batch}")
    options += [f"--global-batch={line.count('global_batch')}", f"--seq={sequence}"]
    size = "-40GB" if "--gpu=A100-40GB" in options else ""
    made = Row(
        f"{model}{size}-{sequence}x{batch}x{accumulation}-{gpus}gpus",
        "MPT with FSDP",
        gpu,
        "recomputation" if checkpoints else "",
        line.positive("step_time_s", "seconds"),
        options,
        model,
        {
            "gpus": gpus,
            "global_batch": line.count("global_batch"),
            "group": (model, gpu, size, sequence, batch, accumulation, checkpoints),
        },
        "attention, by sequence" if sequence > 2048 else "kernels; sharded data parallelism",
    )
    return [made]


# ---- nvidia_dle_throughput.csv


def examples_row(line):
    gpus = line.count("gpus")
    nodes = line.count("nodes")
    text = line.text("machine") + (" HDR" if nodes > 1 else "")
    options, gpu = machine(line, text, gpus, 8)
    resnet = line.text("model").startswith("ResNet")
    if not resnet and not line.text("model").startswith("BERT-large"):
        line.refuse("model", "BERT-large or ResNet-50, and what is to be said of it")
    unit = "img/s" if resnet else "seq/s"
    if line.raw("unit") not in ("", unit):
        line.refuse("unit", unit)
    precision = line.text("precision")
    batch = line.raw("micro_batch_per_gpu")
    if not batch.isdigit():
        batch = RESNET_BATCH.get((gpu, precision)) if resnet else None
        if batch is None:
            line.refuse("micro_batch_per_gpu", "a whole number from 1 on")
    batch = int(batch)
    accumulation = line.count("accum_steps")
    # The column global_batch is empty in some rows.
    samples = batch * accumulation * gpus
    options += ["--zero=0", *dtype(line, gpu)]
    options += [f"--micro-batch={batch}", f"--global-batch={samples}"]
    if not resnet:
        options += BERTS_GRADIENTS
        tokens = line.count("seq_or_image")
        options.append(f"--seq={BINNED_TOKENS if tokens > 128 else tokens}")
    name = "resnet50" if resnet else "bert-large"
    sequence = 0 if resnet else line.count("seq_or_image")
    about = f"-{sequence}" if sequence else ""
    memory = "-16GB" if "--gpu=V100-16GB" in options else ""
    made = Row(
        f"{name}-{gpu.lower()}{memory}-{precision}{about}-{gpus}gpus",
        "NVIDIA's examples",
        gpu,
        f"{name}, binned" if sequence > 128 else name,
        samples / line.positive("throughput", f"{'images' if resnet else 'sequences'}/s"),
        options,
        "resnet-50" if resnet else "bert-large-pretraining",
        {
            "gpus": gpus,
            "global_batch": samples,
            "group": (name, gpu, memory, precision, sequence, samples),
        },
        BINNED if sequence > 128 else SERVERS_SCALE if nodes > 1 else "kernels",
    )
    return [made]


# Sequences of phase 2 are in bins by their lengths, and a batch is as long as its longest one: 512
# is the most. run_pretraining.sh of NVIDIA/DeepLearningExamples, PyTorch/LanguageModeling/BERT,
# reads phase1/unbinned and phase2/bin_size_64; what bins are is in its lddl/README.md@115867b. Half
# of 512 tokens a sequence of the same text is padding (arXiv 2107.02027, abstract), so 256 are not,
# and a bin of 64 adds half of its width.
BINNED_TOKENS = 512 // 2 + 64 // 2
# BERT's gradients are reduced once a step, behind the last backward pass and all together: DDP has
# one bucket, as large as the GPU's memory (prepare_model_and_optimizer of
# NVIDIA/DeepLearningExamples PyTorch/LanguageModeling/BERT/run_pretraining.py; versions before had
# one all-reduce of their own), in 16 bits with fp16 (allreduce_post_accumulation_fp16, "true" in
# its scripts/run_pretraining.sh@af01153); 2 GB hold all 1.35 of fp32. LAMB: the table's own words.
BERTS_GRADIENTS = ["--optimizer=lamb", "--buckets=2GB"]
BINNED = f"sequences of up to 512 tokens, {BINNED_TOKENS} in the mean"
SERVERS_SCALE = "data parallelism over servers"


# ---- pipedream.csv

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__)))))
GOLDEN = os.path.join(ROOT, "tests", "golden")

# Networks that PipeDream's authors profiled are their profiles (128 samples a pass, without naming
# the GPU: no pass is faster than its FLOPs at the GPU's peak); S2VT is the zoo's.
NETWORKS = {
    "VGG16": [
        f"--profile={os.path.join(GOLDEN, 'pipedream-vgg16.csv')}",
        "--profile-batch=128",
        "--profile-floor",
    ],
    "Inception-v3": [
        f"--profile={os.path.join(GOLDEN, 'pipedream-inception-v3.csv')}",
        "--profile-batch=128",
        "--profile-floor",
    ],
    "S2VT": ["--model=s2vt", "--dtype=fp32"],
}
# One GPU a machine; which Titan X it was is assumed (pipeline-partition-test.cc). Of 25 and 10 Gb/s
# Ethernet half in each direction, one constant of all rows: PipeDream's formulas take gradients and
# weights of data parallelism, 4 (m - 1)/m of the weights, over one rate, and what is published of
# 4 machines, 1.47 times one, agrees (with all of it in each direction it were 2.1).
CLUSTERS = {"A": ("TitanX-Pascal", "12.5Gbps"), "B": ("V100", "5Gbps")}


def one_switch(machines, rate):
    """A network in a file: NICs have the rate of their links."""
    hosts = [f"machine-{i}" for i in range(machines)]
    return {
        "name": f"switch-{machines}-{rate}",
        "defaults": {"rate": rate, "delay": "1us"},
        "nodes": [
            *({"name": host, "kind": "host"} for host in hosts),
            {"name": "switch", "kind": "switch"},
        ],
        "links": [{"from": host, "to": "switch"} for host in hosts],
    }


def pipedream_rows(line):
    """A line is data parallelism, the stages that the partitioner finds, and the published ones.

    Data parallelism adds up gradients behind computing, and the partitioner counts so, as its
    released code; the pipeline goes on while replicas add up.
    """
    network = line.text("network")
    cluster = line.text("cluster")
    if network not in NETWORKS:
        line.refuse("network", ", ".join(NETWORKS))
    if cluster not in CLUSTERS:
        line.refuse("cluster", ", ".join(CLUSTERS))
    machines = line.count("machines")
    config = line.raw("config")
    if config and not re.fullmatch("[1-9][0-9]*(-[1-9][0-9]*)*", config):
        line.refuse("config", "replicas of each stage, as 2-1-1")
    gpu, rate = CLUSTERS[cluster]
    common = [
        *NETWORKS[network],
        f"--gpu={gpu}",
        "--gpus-per-server=1",
        f"--servers={machines}",
        f"--micro-batch={line.count('micro_batch')}",
        "--warmup=2",
        "--steps=2",
    ]
    name = f"pipedream-{network.lower()}-{machines}{cluster}"
    over = line.positive("over_bsp", "times") if line.raw("over_bsp") else None
    reduction = line.raw("comm_reduction_pct")
    less = line.positive("comm_reduction_pct", "percent") if reduction else None
    facts = {"gpus": machines, "config": config or None, "over": over, "less": less}
    rounds = math.lcm(*map(int, config.split("-"))) if config else 1
    accumulation = rounds * -(-4 * machines // rounds)
    arrangements = [
        ("BSP", ["--zero=0", "--overlap=0"]),
        ("auto", ["--replicas=auto", "--overlap=0"]),
    ]
    if config:
        arrangements.append(
            (
                "",
                [
                    f"--replicas={config}",
                    "--partition=pipedream",
                    f"--accumulation={accumulation}",
                ],
            )
        )
    return [
        Row(
            f"{name} ({what})" if what else name,
            "PipeDream",
            gpu,
            what or "pipeline",
            None,
            [*common, *options],
            None,
            {
                **facts,
                "pipedream": name,
                "what": what,
                "topology": one_switch(machines, rate),
            },
            "stages with replicas against data parallelism",
        )
        for what, options in arrangements
    ]


# ---- perceptron.csv

# 10 epochs of 1,875 steps of 32 samples. Overhead a step and rate are fitted to the first two rows
# (tests/golden/training/perceptron-profile.json); the third is predicted. The GPU matters in what
# it takes to send.
PERCEPTRON = {
    "one GPU": ["--profile={}-profile.json", "--gpus-per-server=1"],
    "pipeline": [
        "--profile={}-profile.json",
        "--gpus-per-server=2",
        "--replicas=1-1",
        "--partition=balanced",
        "--accumulation=50",
    ],
    "tensor": [
        "--model={}-model.json",
        "--profile={}-tensor-profile.json",
        "--dtype=fp32",
        "--gpus-per-server=2",
        "--tp=2",
    ],
}


def perceptron_row(line):
    arrangement = line.text("arrangement")
    if arrangement not in PERCEPTRON:
        line.refuse("arrangement", ", ".join(PERCEPTRON))
    stem = os.path.join(GOLDEN, "training", "perceptron")
    options = [option.format(stem) for option in PERCEPTRON[arrangement]]
    batches = 50 if arrangement == "pipeline" else 1
    minutes = line.positive("minutes", "minutes")
    return [
        Row(
            f"perceptron-{arrangement.replace(' ', '-').lower()}",
            "two-GPU perceptron",
            "A100",
            "predicted" if arrangement == "tensor" else "fitted",
            minutes * 60 / (10 * 1875) * batches,
            [*options, "--servers=1", "--micro-batch=32", "--zero=0", "--warmup=1"],
            None,
            {"gpus": line.count("gpus"), "minutes": minutes, "batches": batches},
            "tensor < pipeline < one GPU",
        )
    ]


# ---- tables

# Each with a column that no other has.
READERS = (
    ("iter_time_s", train_row),
    ("sec_per_iter", bloom_row),
    ("sharding", mpt_row),
    ("throughput", examples_row),
    ("over_bsp", pipedream_rows),
    ("arrangement", perceptron_row),
    ("options_that_were_tried", modern.train_row),
    ("peak_allocated_gib", modern.peak_row),
    ("options_proposed", measured.row_of),
)


def read(path):
    """The rows of a table, by its columns."""

    def use(names):
        reader = next((reader for column, reader in READERS if column in names), None)
        if reader is None:
            raise InvalidInput(
                f"{path}: line 1: is no table of published steps: there is no column "
                + ", ".join(column for column, _ in READERS[:-1])
                + f" or {READERS[-1][0]}"
            )
        return reader

    rows = []
    seen = collections.Counter()
    for made in lines.read(os.fspath(path), "table of published steps", use):
        for row in made:
            seen[row.id] += 1  # the same job measured twice
            rows.append(row._replace(id=f"{row.id} ({seen[row.id]})") if seen[row.id] > 1 else row)
    return rows
