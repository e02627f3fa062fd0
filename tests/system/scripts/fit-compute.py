# ctest: TIMEOUT 900 FULL
# scripts/fit-compute on tables whose rates are known: times of products and steps that
# compute-times itself tells are written as if they had been measured, and the fit has to find the
# rates again. Tables of its own, as the reference data is not part of the project.
import csv
import importlib.machinery
import importlib.util
import json
import os
import subprocess
import sys
import tempfile

sys.path.append(sys.path[0] + "/../shared")
from _system_test import ROOT

SCRIPT = os.path.join(ROOT, "scripts/fit-compute")
# Built beside the tests, which run in their folder.
PROGRAM = os.environ.get("DLTRAIN_COMPUTE_TIMES") or os.path.abspath("compute_times")
if not os.path.exists(PROGRAM):
    print(f"skipped: there is no {PROGRAM}; DLTRAIN_COMPUTE_TIMES names it")
    sys.exit(77)

loader = importlib.machinery.SourceFileLoader("fit_compute", SCRIPT)
fit = importlib.util.module_from_spec(importlib.util.spec_from_loader("fit_compute", loader))
loader.exec_module(fit)

RATES = {
    "A100": {
        "matrix_efficiency": 0.65,
        "product_memory_efficiency": 0.7,
        "launch_us": 8.0,
        "sustained_ratio": 0.85,
        "attention_ratio": 0.7,
        "attention_backward_ratio": 0.75,
        "memory_efficiency": 0.6,
        "convolution_ratio": 0.5,
    },
    "H100": {
        "matrix_efficiency": 0.6,
        "product_memory_efficiency": 0.75,
        "launch_us": 3.0,
        "sustained_ratio": 0.8,
        "attention_ratio": 0.7,  # as A100, which fit-compute takes it for
        "attention_backward_ratio": 0.75,
        "memory_efficiency": 0.6,
    },
    "V100": {
        "matrix_efficiency": 0.6,
        "fp32_efficiency": 0.7,
        "product_memory_efficiency": 0.65,
        "launch_us": 6.0,
        "sustained_ratio": 0.7,
        "memory_efficiency": 0.6,
        "convolution_ratio": 0.8,
    },
}
SHAPES = [
    (m, n, k)
    for m in (1, 17, 256, 1000, 4096)
    for n, k in ((4096, 2752), (1024, 1024), (12288, 4096), (127, 8191))
]
MPT = [  # model, sequence, GPUs, GPU, micro-batch, accumulation, recomputation
    (model, sequence, 8, gpu, tokens // sequence, 2, recomputed)
    for gpu, tokens in (("a100_80gb", 65536), ("a100_40gb", 32768))
    for model in ("125m", "1b", "3b")
    for sequence in (512, 4096, 32768)
    for recomputed in ("True", "False")
]
NVIDIA = [  # model, machine, GPUs, precision, sequence, micro-batch, accumulation
    ("BERT-large", "DGX A100", 1, "fp16", 128, 256, 32),
    ("BERT-large", "DGX A100", 8, "tf32", 128, 128, 64),
    ("BERT-large", "DGX A100", 1, "tf32", 128, 33, 7),
    ("BERT-large", "DGX-1 V100", 1, "fp16", 128, 64, 64),
    ("BERT-large", "DGX-1 V100", 1, "fp32", 128, 32, 128),
    ("BERT-large", "DGX-1 V100", 8, "fp16", 128, 7, 3),
    ("ResNet-50", "DGX A100", 1, "tf32", 224, "see repo config", 1),
    ("ResNet-50", "DGX A100", 1, "amp", 224, 256, 1),
    ("ResNet-50", "DGX A100", 1, "amp", 224, 61, 1),
    ("ResNet-50", "DGX-1 V100", 1, "fp32", 224, "see repo config", 1),
    ("ResNet-50", "DGX-1 V100", 1, "amp", 224, 256, 1),
]
TRAIN = [  # id, GPUs, sequence, batch, precision
    ("sc21-t1-1.7B", 32, 2048, 512, "fp16 mixed"),
    ("mcore-h100-1.7B", 48, 4096, 192, "bf16"),
    ("not-known", 48, 4096, 192, "bf16"),
]


def check(condition, what):
    if not condition:
        print("FAILED: " + what)
        sys.exit(1)


def write(folder, name, columns, rows):
    with open(os.path.join(folder, name), "w", newline="") as file:
        writer = csv.writer(file)
        writer.writerow(columns)
        writer.writerows(rows)


def tables(folder, seconds):
    """Writes all tables. `seconds` gives the time of a row by file and number; None: 1."""
    time = seconds or (lambda file, i: 1.0)
    products = [(gpu, *shape) for gpu in ("a100", "h100") for shape in SHAPES]
    name = "gemm_efficiency_vidur.csv"
    write(
        folder,
        name,
        ("gpu", "M", "N", "K", "time_us_median"),
        [(*row, 1e6 * time(name, i)) for i, row in enumerate(products)],
    )
    name = "gemm_deepbench_v100.csv"
    products = [
        (precision, *shape)
        for precision in ("fp32", "fp16 in/fp32 acc (tensor core)")
        for shape in SHAPES
    ]
    write(
        folder,
        name,
        ("precision", "M", "N", "K", "time_ms"),
        [(*row, 1e3 * time(name, i)) for i, row in enumerate(products)],
    )
    name = "mpt_fsdp_throughput.csv"
    columns = ("model", "seq", "gpus", "gpu", "micro_batch", "grad_accum", "act_ckpt")
    write(
        folder,
        name,
        (*columns, "step_time_s"),
        [(*row[:4], max(row[4], 1), *row[5:], time(name, i)) for i, row in enumerate(MPT)],
    )
    name = "nvidia_dle_throughput.csv"
    columns = ("model", "machine", "gpus", "precision", "seq_or_image", "micro_batch_per_gpu")
    rows = []
    for i, row in enumerate(NVIDIA):
        batch = row[5] if isinstance(row[5], int) else {"tf32": 256, "fp32": 112}[row[3]]
        rows.append((*row, row[2] * batch * row[6] / time(name, i)))
    write(folder, name, (*columns, "accum_steps", "throughput"), rows)
    name = "train_throughput.csv"
    columns = ("id", "n_gpus", "seq", "global_batch", "precision", "iter_time_s")
    rows = [(*row, time(name, i)) for i, row in enumerate(TRAIN)]
    write(folder, name, columns, rows)


def known(folder):
    """Times by file and number of the row, at RATES."""
    times = {}
    program = fit.Program(PROGRAM)

    def ask(question, base):
        program.ask(question)
        return program.seconds(base, RATES[base.split("-")[0]], {})

    question = {"dtype": "bf16", "products": SHAPES}
    times["gemm_efficiency_vidur.csv"] = ask(question, "A100") + ask(question, "H100")
    times["gemm_deepbench_v100.csv"] = [
        seconds
        for dtype in ("fp32", "fp16")
        for seconds in ask({"dtype": dtype, "products": SHAPES}, "V100")
    ]
    for name, source in (
        ("mpt_fsdp_throughput.csv", fit.mpt),
        ("nvidia_dle_throughput.csv", fit.nvidia),
        ("train_throughput.csv", fit.megatron),
    ):
        times[name] = [ask({"steps": [step]}, base)[0] for _, base, step, _ in source(folder)]
    times["train_throughput.csv"].append(1.0)  # of the row that nobody knows
    return lambda file, i: times[file][i]


def run(folder, *arguments, status=0):
    process = subprocess.run(
        [sys.executable, SCRIPT, "--program=" + PROGRAM, "--reference=" + folder, *arguments],
        capture_output=True,
        text=True,
    )
    said = f"{arguments}: status {process.returncode}\n{process.stdout}{process.stderr}"
    check(process.returncode == status, said)
    check("Traceback" not in process.stderr, said)
    return process


with tempfile.TemporaryDirectory() as folder:
    tables(folder, None)
    tables(folder, known(folder))
    out = os.path.join(folder, "out.json")
    first = run(folder, "--json=" + out)
    with open(out) as file:
        found = json.load(file)
    # Of V100 there are too few steps to tell the last three rates apart: errors are small all the
    # same.
    for gpu, rates in RATES.items():
        for key, value in list(rates.items())[: 4 if gpu == "V100" else None]:
            got = found["rates"][gpu][key]
            most = 0.15 if key.startswith("attention") else 0.06
            check(abs(got / value - 1) < most, f"{gpu} {key}: {got}, not {value}\n{first.stdout}")
    # Forward and backward of attention together (2.5 times the FLOPs) are told more sharply than
    # how they share the time.
    for gpu in ("A100", "H100"):
        both = [
            1 / rates["attention_ratio"] * (1 + 2.5 / rates["attention_backward_ratio"])
            for rates in (found["rates"][gpu], RATES[gpu])
        ]
        check(abs(both[0] / both[1] - 1) < 0.04, f"{gpu} attention: {both}")
    for row in found["errors"]:
        check(row["mean"] < 0.04, str(row))
        check(row["part"] != "all" or row["constant"] > row["mean"] or row["rows"] < 3, str(row))
    # All rows that are known are there, in the parts and together.
    rows = {"fitted": 0, "held out": 0, "all": 0}
    for row in found["errors"]:
        rows[row["part"]] += row["rows"]
    expected = 4 * len(SHAPES) + len(MPT) + len(NVIDIA) + len(TRAIN) - 1
    check(rows["all"] == expected, f"{rows}, not {expected}")
    check(rows["fitted"] + rows["held out"] == expected, str(rows))
    check(rows["held out"] > expected / 5, str(rows))

    # The rates that are built in are others: they miss these tables.
    checked = run(folder, "--check", "--rows")
    check("A100      mpt-1b bf16 4096 x 16 x 2, 8 GPUs" in checked.stdout, checked.stdout)
    check("matrix_efficiency" not in checked.stdout, checked.stdout)
    last = [line for line in checked.stdout.splitlines() if line.startswith("A100      steps")]
    check(len(last) == 1 and float(last[0].split()[4].rstrip("%")) > 5, checked.stdout)

    # What is wrong with a table is told.
    def refused(what, *arguments):
        said = run(folder, *arguments, status=2).stderr
        check(said.startswith("fit-compute: error: ") and said.count("\n") == 1, said)
        check(what in said, f"{what!r} not in {said!r}")

    refused("one of the two", "--check", "--shared")
    path = os.path.join(folder, "mpt_fsdp_throughput.csv")
    with open(path) as file:
        text = file.read()
    for wrong, what in (
        (text.replace("seq,", "length,", 1), "there is no column seq"),
        (text.replace(",512,", ",-512,", 1), "line 2: seq='-512'; allowed: a number above 0"),
        (text.replace("125m", "125x", 1), ": ended early"),
    ):
        with open(path, "w") as file:
            file.write(wrong)
        process = run(folder, "--check", status=2)
        check(what in process.stderr, f"{what!r} not in {process.stderr!r}")
    os.remove(path)
    refused("mpt_fsdp_throughput.csv", "--check")
    tables(folder, None)
    write(
        folder,
        "nvidia_dle_throughput.csv",
        ("model", "machine", "gpus", "precision", "seq_or_image", "micro_batch_per_gpu")
        + ("accum_steps", "throughput"),
        [],
    )
    refused("no table has a training step on V100", "--check")
