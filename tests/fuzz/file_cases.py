# SPDX-License-Identifier: GPL-2.0-only
"""Mutations of every file format that the programs and scripts read.

A format is a line of formats(): its name, how it is built, valid files to start from, and the
commands that read it. To add one, add a line; tests/fuzz/README.md says how.
"""

import functools
import glob
import json
import os
import random
import re
import subprocess
import tempfile

import mutating
import running
from option_cases import SCENARIO, TINY_MODEL


class Format:
    def __init__(self, name, form, seeds, commands, file, beside=None):
        self.name = name
        self.form = form  # "json", "," "\t" " " (tables), "bytes": how mutating.mutation reads it
        self.seeds = seeds  # valid texts
        self.commands = commands  # lists of words
        self.file = file  # name of the file in them
        self.beside = beside or {}  # other files they need


def _presets():
    found = []
    for path in sorted(
        glob.glob(
            os.path.join(running.ROOT, "scenarios", "presets", "**", "*.json"), recursive=True
        )
    ):
        with open(path, encoding="utf-8") as file:
            found.append(file.read())
    return found


def _golden():
    """(one case, a few of its flows)"""
    folder = os.path.join(running.ROOT, "tests", "golden")
    with open(os.path.join(folder, "hpcc-cc-cases.json"), encoding="utf-8") as file:
        case = json.load(file)[0]
    with open(os.path.join(folder, "hpcc-cc-flows.csv"), encoding="utf-8") as file:
        lines = [line for line in file if line[0] != "#"]
    rows = [line for line in lines if line.startswith(f"{case['case']},")]
    return json.dumps([case], indent=1), "".join(lines[:1] + rows[:6])


def _forwarding_tables():
    """As --ib-dump writes them, OpenSM's form; the same as ibroute does."""
    with tempfile.TemporaryDirectory() as folder:
        words = [
            "traffic",
            "--topology=single-switch",
            "--hosts=4",
            "--fabric=ib",
            "--bytes=1kB",
            "--ib-dump",
            "--report=0",
            "--timeline=0",
            f"--out={folder}",
        ]
        subprocess.run(
            running.command_of(words),
            cwd=folder,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
            check=True,
        )
        with open(os.path.join(folder, "opensm-lfts.dump"), encoding="utf-8") as file:
            opensm = file.read()
    ibroute = re.sub(
        r"\[0-(\d+)\](.*) \('(.*)'\):",
        lambda m: (
            f"[0x0-0x{int(m[1]):x}]{m[2]} ({m[3]}):\n  Lid  Out   Destination\n       Port    "
            " Info "
        ),
        opensm,
    )
    ibroute = re.sub(r"# (.*)\n", r": (\1)\n", ibroute).replace(
        " lids dumped", " valid lids dumped "
    )
    return [opensm, ibroute]


SMALL_TRAINING = ["dltrain", "--servers=2", "--gpus-per-server=2", "--warmup=0"]
SMALL_TRAFFIC = ["traffic", "--topology=single-switch", "--hosts=4"]
SMALL_COLLPERF = ["collperf", "--ranks=3", "-b", "10k"]
DRY, REAL = ["--dry-run"], ["--report=0", "--out=new"]

FULL_MODEL = """{"name": "full", "layers": 2, "hidden": 64, "heads": 4, "kv_heads": 2, "ffn": 128, "gated_mlp": true, "norm": "rms",
 "tied_embeddings": false, "vocab": 100, "sequence": 16}"""
LAYER_MODEL = (
    '{"name": "net", "layers": [{"name": "conv1", "parameters": 9408, "flops": 2.4e8}, {"name":'
    ' "rest", "parameters": 25000, "flops": 8e6}]}'
)
PROFILE = (
    '{"optimizer_us": 900, "layers": {"embedding": {"forward_us": 12, "backward_us": 20}, "block'
    ' *": {"forward_us": 900, "backward_us": 1800}}}'
)
GPU = (
    '{"name": "X", "base": "A100", "bf16_tflops": 400, "memory_bandwidth_GBps": 3000,'
    ' "memory_GB": 96}'
)
SERVER = (
    '{"servers": [{"name": "box", "gpu": "A100", "gpus": 4, "nics": 2, "scale_up": {"kind":'
    ' "nvswitch", "per_gpu": "2400Gbps", "latency": "600ns"}}]}'
)
GRAPH = """{"defaults": {"rate": "100Gbps", "delay": "1us"},
 "nodes": [{"name": "a", "kind": "host"}, {"name": "b", "kind": "host"}, {"name": "s", "kind": "switch"}, {"name": "t", "kind": "switch"}],
 "links": [{"from": "a", "to": "s"}, {"from": "b", "to": "t"}, {"from": "s", "to": "t", "rate": "25Gbps", "count": 2}]}"""
HPCC_NETWORK = (
    "7 3 6\n0 1 2\n0 3 100Gbps 1000ns 0\n0 4 100Gbps 1000ns 0\n1 5 100Gbps 1000ns 0\n1 6 100Gbps"
    " 1000ns 0.000001\n0 2 100Gbps 1000ns 0\n1 2 40Gbps 0.001ms 0\n"
)
HPCC_FLOWS = "3\n3 5 3 100 10000 0\n4 3 3 200 10 0\n6 3 3 100 40960 0.000001\n"
FLOWS_CSV = (
    "start_us,src,dst,bytes\n0,server-0,server-1,1000\n1.5,server-1,server-2,20000\n2,server-3"
    ",server-0,1\n"
)
SIZES = "0 0\n1000 20\n10000 90.5\n2000000 100\n"
GOLDEN_CASES, GOLDEN_FLOWS = _golden()
POINTS_CSV = 'bytes,cc,k\n1kB,dcqcn,4\n"1kB,2kB",none,4\n'
POINTS_JSON = (
    '[{"bytes": "1kB", "cc": "dcqcn"}, {"bytes": ["1kB", "2kB"], "pfc": false, "ns3::RdmaNic::Mtu":'
    " 1024}]"
)
GOAL = (
    "num_ranks 2\nrank 0 {\na: calc 100\nb: send 64b to 1 tag 3\nb requires a\nc: calc 5 cpu 1\n"
    "c irequires b\n}\nrank 1 {\na: recv 64b from 0 tag 3 cpu 0 nic 0\n}\n"
)
CHAKRA_FLAT = (
    '{"workload_graph": [{"Id": 1, "Name": "c", "NodeType": 4, "data_deps": [], "runtime": 7,'
    ' "is_cpu_op": false}, {"Id": 2, "Name": "s", "NodeType": 7, "data_deps": [1], "comm_type": 2,'
    ' "comm_size": 64}]}'
)
CHAKRA_JSON = (
    '{"version": "0.0.4"}\n{"id": "1", "name": "c", "type": "COMP_NODE", "durationMicros": "3"}\n'
    '{"id": "2", "type": "COMM_COLL_NODE", "dataDeps": ["1"], "attr": [{"name": "comm_size",'
    ' "int64Val": "4096"}, {"name": "comm_type", "int64Val": "0"}]}\n'
)
NCCL_TESTS = (
    "# Collective test starting: all_reduce_perf\n"
    "#  Rank  0 Group  0 Pid 10 on one device  0 [0x07] NVIDIA A100\n"
    "#  Rank  1 Group  0 Pid 11 on two device  0 [0x07] NVIDIA A100\n"
    "# size count type redop root time algbw busbw #wrong\n"
    "1024 256 float sum -1 15.50 0.07 0.07 0\n2048 512 float sum -1 16.25 0.13 0.13 0\n"
)
HTSIM = "Nodes 2\nConnections 2\n0->1 id 1 start 0 size 3000\n1->0 id 2 start 1500 size 9\n"
HTSIM_WAITING = (
    "Nodes 3\nConnections 2\nTriggers 1\n0->1 id 1 start 7 size 3000 recv_done_trigger 1\n"
    "1->2 id 2 trigger 1 size 9\ntrigger id 1 oneshot\n"
)
LAYERS = (
    "HYBRID_DATA_MODEL\n2\na -1 10 ALLGATHER 64 10 ALLREDUCE 64 10 ALLREDUCE 64 3\n"
    "b -1 10 NONE 0 10 NONE 0 10 ALLREDUCE 64 3\n"
)
LAYERS_AICB = (
    "HYBRID_TRANSFORMER_FWD_IN_BCKWD model_parallel_NPU_group: 2 ep: 2 all_gpus: 8 checkpoints: 0"
    " checkpoint_initiates: 0\n1\na -1 10 ALLTOALL_EP 64 10 ALLREDUCE 64 1 ALLGATHER_DP_EP 64 3\n"
)
KINETO = (
    '{"schemaVersion": 1, "distributedInfo": {"rank": 0, "world_size": 1}, "traceEvents": ['
    '{"ph": "X", "cat": "cuda_runtime", "name": "cudaLaunchKernel", "ts": 5.5, "dur": 1, "args":'
    ' {"correlation": 1}}, {"ph": "X", "cat": "kernel", "name": "k", "ts": 7, "dur": 9, "args":'
    ' {"correlation": 1, "stream": 7}}, {"ph": "X", "cat": "user_annotation", "name":'
    ' "ProfilerStep#3", "ts": 1, "dur": 90}]}'
)
GRID_JSON = '{"bytes": ["1kB", "2kB"], "cc": "none"}'


@functools.lru_cache(maxsize=None)
def formats():
    return [
        Format(
            "scenario-dltrain",
            "json",
            [text for text in _presets() if '"training"' in text] or ["{}"],
            [["dltrain", "--scenario=f.json", *DRY]],
            "f.json",
        ),
        Format(
            "scenario-collperf",
            "json",
            [text for text in _presets() if '"collperf"' in text] or ['{"program": "collperf"}'],
            [["collperf", "--scenario=f.json", *DRY]],
            "f.json",
        ),
        Format(
            "nccl-tests",
            " ",
            [NCCL_TESTS],
            [
                ["collperf", "--ranks=2", "-b", "1K", "-e", "2K", "--reference=f.txt", *end]
                for end in (DRY, REAL)
            ],
            "f.txt",
        ),
        Format(
            "scenario-traffic",
            "json",
            [
                text
                for text in _presets()
                if '"traffic"' in text and not re.search(r'\.(csv|txt)"', text)
            ]
            + [SCENARIO],
            [["traffic", "--scenario=f.json", *DRY]],
            "f.json",
        ),
        Format(
            "scenario-compare",
            "json",
            [SCENARIO],
            [["scripts/compare", "f.json", "--cc=none", "--dry-run", "--out=new"]],
            "f.json",
        ),
        Format(
            "scenario-run",
            "json",
            [
                SCENARIO,
                (
                    '{"traffic": {"bytes": "3kB", "hosts": 5, "pattern": "incast"}, "network":'
                    ' {"topology": "single-switch"}, "fabric": {"nic": "EDR", "cc": "ib-cc"},'
                    ' "ns3": {"ns3::RdmaNic::AckEvery": "4"}}'
                ),
            ],
            [["traffic", "--scenario=f.json", *REAL]],
            "f.json",
        ),
        Format(
            "jobs",
            "json",
            [
                (
                    '{"jobs": [{"name": "a", "servers": 2, "placement": "spread", "collective":'
                    ' {"op": "all_gather", "bytes": "64kB", "iterations": 2, "warmup": 1}},'
                     ' {"hosts":'
                    ' [1, 3], "start": "10us", "flows": {"pattern": "incast", "fan_in": 1, "bytes":'
                    ' 4000}}]}'
                ),
                (
                    '{"description": "x", "jobs": [{"servers": 2, "placement": "fragmented",'
                    ' "occupied": 0.2, "training": {"model": "gpt2", "seq": 64, "micro_batch": 1,'
                    ' "warmup": 0}, "collectives": {"algorithm": ["ring"]}}]}'
                ),
            ],
            [
                ["dltrain", "--jobs=f.json", "--gpus-per-server=1", "--servers=8", *DRY],
                ["dltrain", "--jobs=f.json", "--gpus-per-server=1", "--servers=8", *REAL],
            ],
            "f.json",
        ),
        Format(
            "model",
            "json",
            [TINY_MODEL, FULL_MODEL, LAYER_MODEL],
            [
                [*SMALL_TRAINING, "--model=f.json", *DRY],
                [*SMALL_TRAINING, "--model=f.json", "--zero=3", *REAL],
            ],
            "f.json",
        ),
        Format(
            "profile",
            "json",
            [PROFILE, '{"layers": {"*": {"forward_us": 1.5, "backward_us": 3}}}'],
            [
                [*SMALL_TRAINING, "--model=tiny.json", "--profile=f.json", *end]
                for end in (DRY, REAL)
            ],
            "f.json",
            {"tiny.json": TINY_MODEL},
        ),
        Format(
            "gpu",
            "json",
            [
                GPU,
                '{"name": "Z", "base": "H100"}',
                (
                    '{"name": "Y", "bf16_tflops": 100, "fp32_tflops": 20, "memory_bandwidth_GBps":'
                    ' 1000, "memory_GB": 16}'
                ),
            ],
            [[*SMALL_TRAINING, "--model=tiny.json", "--gpu=f.json", *end] for end in (DRY, REAL)],
            "f.json",
            {"tiny.json": TINY_MODEL},
        ),
        Format(
            "server",
            "json",
            [SERVER],
            [
                [
                    "dltrain",
                    "--model=tiny.json",
                    "--servers=2",
                    "--warmup=0",
                    "--server=f.json",
                    *DRY,
                ],
                [
                    "collperf",
                    "--server=f.json",
                    "--servers=2",
                    "--minbytes=1K",
                    "--maxbytes=1K",
                    *REAL,
                ],
            ],
            "f.json",
            {"tiny.json": TINY_MODEL},
        ),
        Format(
            "graph",
            "json",
            [GRAPH],
            [
                ["traffic", "--topology=f.json", "--bytes=9kB", *end]
                for end in (DRY, REAL, ["--fabric=ib", *REAL], ["--fabric=ib", *DRY])
            ],
            "f.json",
        ),
        Format(
            "hpcc-topology",
            " ",
            [HPCC_NETWORK],
            [
                ["traffic", "--topology=f.txt", "--bytes=9kB", *end]
                for end in (DRY, REAL, ["--fabric=ib", *REAL])
            ]
            + [["traffic", "--topology=f.txt", "--flows=flow.txt", "--compat=hpcc", *REAL]],
            "f.txt",
            {"flow.txt": HPCC_FLOWS},
        ),
        Format(
            "hpcc-flows",
            " ",
            [HPCC_FLOWS],
            [
                ["traffic", "--topology=net.txt", "--flows=f.txt", *end]
                for end in (DRY, REAL, ["--compat=hpcc", "--completion=sender", *REAL])
            ],
            "f.txt",
            {"net.txt": HPCC_NETWORK},
        ),
        Format(
            "flows-csv",
            ",",
            [FLOWS_CSV, "start_ns,src,dst,bytes,priority\n0,0,1,1000,3\n10,1,0,1000,3\n"],
            [
                [*SMALL_TRAFFIC, "--flows=f.csv", *end]
                for end in (DRY, REAL, ["--queue-pairs=per-pair", *REAL])
            ],
            "f.csv",
        ),
        Format(
            "sizes",
            " ",
            [SIZES, "# bytes percent\n100 50\n5000 100\n"],
            [
                [
                    *SMALL_TRAFFIC,
                    "--pattern=poisson",
                    "--load=0.2",
                    "--duration=100us",
                    "--sizes=f.txt",
                    *end,
                ]
                for end in (DRY, REAL)
            ]
            + [[*SMALL_TRAFFIC, "--sizes=f.txt", *REAL]],
            "f.txt",
        ),
        Format(
            "block-sizes",
            " ",
            ["0 1 2\n3 0 1.5\n1 1 1\n", "# shares\n1,2,3\n\n4,5,6\n7,8,9\n"],
            [
                [
                    *SMALL_COLLPERF,
                    "--op=alltoallv",
                    "--block-sizes=f.txt",
                    *end,
                ]
                for end in (DRY, REAL)
            ],
            "f.txt",
        ),
        Format(
            "forwarding-tables",
            " ",
            _forwarding_tables(),
            [
                [*SMALL_TRAFFIC, "--fabric=ib", "--bytes=5kB", "--ib-lfts=f.dump", *end]
                for end in (DRY, REAL)
            ],
            "f.dump",
        ),
        Format(
            "goal",
            " ",
            [GOAL],
            [["dltrain", "--trace=f.goal", *end] for end in (DRY, REAL)],
            "f.goal",
        ),
        Format(
            "chakra-flat",
            "json",
            [CHAKRA_FLAT],
            [["dltrain", "--trace=f.0.json", *end] for end in (DRY, REAL)],
            "f.0.json",
        ),
        Format(
            "chakra-json",
            "bytes",
            [CHAKRA_JSON],
            [["dltrain", "--trace=f.0.json", *end] for end in (DRY, REAL)],
            "f.0.json",
            {"f.1.json": CHAKRA_JSON},
        ),
        Format(
            "htsim",
            " ",
            [HTSIM],
            [[*SMALL_TRAFFIC, "--flows=f.cm", *end] for end in (DRY, REAL)]
            + [["dltrain", "--trace=f.cm", *REAL]],
            "f.cm",
        ),
        Format(
            "htsim-trace",
            " ",
            [HTSIM_WAITING],
            [["dltrain", "--trace=f.cm", *end] for end in (DRY, REAL)],
            "f.cm",
        ),
        Format(
            "layers",
            " ",
            [LAYERS, LAYERS_AICB],
            [["dltrain", "--trace=f.txt", "--gpus=8", *end] for end in (DRY, REAL)],
            "f.txt",
        ),
        Format(
            "kineto",
            "json",
            [KINETO],
            [["dltrain", "--trace=f.json", *end] for end in (DRY, REAL)],
            "f.json",
        ),
        Format(
            "sweep-points",
            ",",
            [POINTS_CSV],
            [["scripts/sweep", "traffic", "--points=f.csv", "--dry-run", "--out=new"]],
            "f.csv",
        ),
        Format(
            "sweep-points-json",
            "json",
            [POINTS_JSON, GRID_JSON],
            [["scripts/sweep", "traffic", "--points=f.json", "--dry-run", "--out=new"]],
            "f.json",
        ),
        Format(
            "golden-cases",
            "json",
            [GOLDEN_CASES],
            [["scripts/golden", "f.json", "flows.csv"]],
            "f.json",
            {"flows.csv": GOLDEN_FLOWS},
        ),
        Format(
            "golden-flows",
            ",",
            [GOLDEN_FLOWS],
            [["scripts/golden", "cases.json", "f.csv"]],
            "f.csv",
            {"cases.json": GOLDEN_CASES},
        ),
    ]


SLOW = ("golden", "sweep", "scenario-compare")  # they start further programs


def valid_cases():
    """Every seed with every command."""
    return [
        {"run": list(command), "files": {**form.beside, form.file: seed}, "format": form.name}
        for form in formats()
        for seed in form.seeds
        for command in form.commands
    ]


class Part:
    name = "files"

    def __init__(self, seed):
        self.seed = seed
        # Those that start further programs cost more: a tenth of the others.
        self.order = [form for form in formats() if not form.name.startswith(SLOW)] * 6 + [
            form for form in formats() if form.name.startswith(SLOW)
        ]

    def case(self, index):
        rng = random.Random(f"{self.seed}/files/{index}")
        form = self.order[index % len(self.order)]
        what = mutating.mutation(rng, rng.choice(form.seeds), form.form)
        return {
            "run": list(rng.choice(form.commands)),
            "files": {**form.beside, form.file: what},
            "format": form.name,
        }
