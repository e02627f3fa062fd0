# SPDX-License-Identifier: GPL-2.0-only
# ctest: TIMEOUT 1800 PROCESSORS 2
"""Shardings of small jobs in packets: how far is what each search picks from the best?

Of a small job all combinations of strategies run. Of a larger one: 20 random ones, 20 that
propagation makes of one random strategy, and the 20 best by formula (--shard-verify). What is
legal is derived here anew, from the letters of each operator's axes.

A formula knows no collisions of hashed paths: on a fat-tree the pick is that of --shard-verify.

    dltrain-sharding-regret.py --print      a row a job, of a Markdown table
    dltrain-sharding-regret.py --print --only=ffn-2x2,block-2x4
"""

import concurrent.futures
import itertools
import json
import math
import os
import random
import sys

sys.path.append(sys.path[0] + "/../shared")
from _system_test import SystemTest, captured, long_test, main, taken

PRINT = taken("--print")
ONLY = taken("--only=")[7:]
QUIET = (
    "--no-report --no-timeline --no-attribution --no-progress --warmup=0 --network=packet"
    " --ignore-memory"
)
# So many combinations all run.
ALL = 600
SAMPLE = 20
SEARCHES = {
    "dynamic programming": "dynamic-programming",
    "verified": "dynamic-programming --shard-verify=20",
    "dynamic programming, MindSpore's cost": "dynamic-programming --shard-cost=mindspore",
    "recursive": "recursive",
    "propagation": "sharding-propagation",
    "propagation, MindSpore's cost": "sharding-propagation --shard-cost=mindspore",
    "data parallelism": "semi",
}


class Net:
    """A graph, and of each operator the axes of its inputs: "mk,kn->mn". Capitals stay whole."""

    def __init__(self, name):
        self.name = name
        self.graph = []
        self.axes = {}
        self.shapes = {}

    def tensor(self, name, role, *shape):
        self.shapes[name] = shape
        self.graph.append([name, role, list(shape)])
        return self

    def op(self, name, kind, inputs, axes, heads=0, sizes=None, **numbers):
        """:param heads: parts of the axis "h" are whole heads. :param sizes: of new letters"""
        operands, output = axes.split("->")
        operands = operands.split(",")
        sizes = dict(sizes or {})
        for operand, tensor in zip(operands, inputs):
            sizes.update(zip(operand, self.shapes[tensor]))
        self.shapes[name] = tuple(sizes[letter] for letter in output)
        if heads:
            numbers["heads"] = sizes["h"] = heads
        self.axes[name] = (operands, {a: n for a, n in sizes.items() if a.islower()})
        self.graph.append([name, kind, *inputs] + ([numbers] if numbers else []))
        if heads:
            self.shapes[name] = self.shapes[inputs[0]]
        return self

    def strategies(self, name, gpus):
        """Parts of the axes whose product divides the GPUs, and each of them its axis."""
        operands, sizes = self.axes[name]
        letters = sorted(sizes)
        for parts in itertools.product(
            *([p for p in range(1, gpus + 1) if sizes[a] % p == 0] for a in letters)
        ):
            if gpus % math.prod(parts) == 0:
                cut = dict(zip(letters, parts))
                yield tuple(tuple(cut.get(a, 1) for a in operand) for operand in operands)


def feed_forward(rows, inside, hidden):
    return (
        Net("ffn")
        .tensor("x", "input", rows, inside)
        .tensor("w", "parameter", inside, hidden)
        .tensor("v", "parameter", hidden, inside)
        .op("dense", "matmul", ["x", "w"], "mk,kn->mn")
        .op("relu", "relu", ["dense"], "mn->mn")
        .op("dense2", "matmul", ["relu", "v"], "mk,kn->mn")
    )


def two_products(rows, inside, hidden, outside):
    return (
        Net("x-w-v")
        .tensor("x", "input", rows, inside)
        .tensor("w", "parameter", inside, hidden)
        .tensor("v", "parameter", hidden, outside)
        .op("first", "matmul", ["x", "w"], "mk,kn->mn")
        .op("second", "matmul", ["first", "v"], "mk,kn->mn")
    )


def perceptron(batch):
    net = Net("perceptron").tensor("x", "data", batch, 784)
    last = "x"
    for i, (inside, outside) in enumerate([(784, 512), (512, 512), (512, 10)], 1):
        net.tensor(f"w{i}", "parameter", inside, outside)
        net.op(f"dense{i}", "matmul", [last, f"w{i}"], "mk,kn->mn")
        last = f"dense{i}"
        if i < 3:
            net.op(f"relu{i}", "relu", [last], "mn->mn")
            last = f"relu{i}"
    return net.op("loss", "loss", [last], "mn->m")


def attention(batch, tokens, width, heads):
    net = Net("attention").tensor("x", "input", batch, tokens, width)
    for w in ("wq", "wk", "wv", "wo"):
        net.tensor(w, "parameter", width, width)
    for name in "qkv":
        net.op(name, "matmul", ["x", "w" + name], "bsk,kn->bsn")
    net.op("core", "attention", ["q", "k", "v"], "bSh,bTh,bTh->bSh", heads=heads)
    return net.op("out", "matmul", ["core", "wo"], "bsk,kn->bsn")


def block(batch, tokens, width, heads):
    net = Net("block").tensor("x", "input", batch, tokens, width)
    for w in ("wq", "wk", "wv", "wo"):
        net.tensor(w, "parameter", width, width)
    net.tensor("w1", "parameter", width, 4 * width).tensor("w2", "parameter", 4 * width, width)
    net.tensor("g1", "parameter", width).tensor("g2", "parameter", width)
    net.op("norm1", "rmsnorm", ["x", "g1"], "bsN,N->bsN")
    for name in "qkv":
        net.op(name, "matmul", ["norm1", "w" + name], "bsk,kn->bsn")
    net.op("core", "attention", ["q", "k", "v"], "bSh,bTh,bTh->bSh", heads=heads)
    net.op("out", "matmul", ["core", "wo"], "bsk,kn->bsn")
    net.op("add1", "add", ["out", "x"], "bsn,bsn->bsn")
    net.op("norm2", "rmsnorm", ["add1", "g2"], "bsN,N->bsN")
    net.op("up", "matmul", ["norm2", "w1"], "bsk,kn->bsn")
    net.op("act", "gelu", ["up"], "bsn->bsn")
    net.op("down", "matmul", ["act", "w2"], "bsk,kn->bsn")
    return net.op("add2", "add", ["down", "add1"], "bsn,bsn->bsn")


def convolutions(batch):
    net = Net("convolutions").tensor("x", "data", batch, 16, 32, 32)
    net.tensor("f1", "parameter", 96, 16, 3, 3).tensor("f2", "parameter", 192, 96, 3, 3)
    net.tensor("w", "parameter", 192 * 8 * 8, 1024)
    halved = {"P": 16, "Q": 16}
    net.op("conv1", "conv", ["x", "f1"], "bcHW,ocIJ->boHW", padding=1)
    net.op("relu1", "relu", ["conv1"], "bchw->bchw")
    net.op("conv2", "conv", ["relu1", "f2"], "bcHW,ocIJ->boPQ", sizes=halved, stride=2, padding=1)
    net.op("relu2", "relu", ["conv2"], "bchw->bchw")
    net.op(
        "pool", "maxpool", ["relu2"], "bcHW->bcPQ", sizes={"P": 8, "Q": 8}, kernel=2, stride=2
    )
    net.op("flat", "flatten", ["pool"], "bcHW->bf", sizes={"f": 192 * 8 * 8})
    net.axes["flat"][1]["c"] = 192
    del net.axes["flat"][1]["f"]
    net.op("dense", "matmul", ["flat", "w"], "mk,kn->mn")
    return net.op("loss", "loss", ["dense"], "mn->m")


def cluster(servers, gpus, nics=1, nic="100GbE", topology="rail-optimized"):
    """Servers on rails meet no other flow in the network; those on a fat-tree's hashed paths do."""
    options = f"--servers={servers} --gpus-per-server={gpus} --nics-per-server={nics} --nic={nic}"
    if servers == 1:
        return options, gpus, f"1 x {gpus}"
    return (
        f"{options} --topology={topology}",
        servers * gpus,
        f"{servers} x {gpus}, {nics} x {nic}" + (f", {topology}" if topology[0] == "f" else ""),
    )


SMALL = ("ffn-1x2", feed_forward(1024, 2048, 8192), cluster(1, 2))
HASHED = "fat-tree"
JOBS = [
    SMALL,
    ("ffn-2x2", feed_forward(1024, 2048, 8192), cluster(2, 2)),
    ("ffn-2x2-wide", feed_forward(8192, 1024, 4096), cluster(2, 2, 2, "400GbE")),
    ("ffn-2x2-hashed", feed_forward(8192, 1024, 4096), cluster(2, 2, 2, "400GbE", HASHED)),
    ("ffn-2x4", feed_forward(4096, 2048, 8192), cluster(2, 4, 4, "400GbE")),
    ("xwv-1x4", two_products(4096, 4096, 4096, 4096), cluster(1, 4)),
    ("xwv-2x2", two_products(8192, 2048, 4096, 1024), cluster(2, 2)),
    ("xwv-2x3", two_products(6144, 3072, 6144, 1536), cluster(2, 3, 1, "400GbE")),
    ("xwv-2x4", two_products(2048, 4096, 8192, 2048), cluster(2, 4, 2)),
    ("xwv-2x4-hashed", two_products(2048, 4096, 8192, 2048), cluster(2, 4, 2, topology=HASHED)),
    ("xwv-1x8", two_products(2048, 4096, 8192, 2048), cluster(1, 8)),
    ("perceptron-1x2", perceptron(128), cluster(1, 2)),
    ("perceptron-2x2", perceptron(4096), cluster(2, 2)),
    ("attention-1x4", attention(8, 512, 1024, 16), cluster(1, 4)),
    ("attention-2x4", attention(8, 512, 1024, 16), cluster(2, 4, 4, "400GbE")),
    ("block-1x8", block(4, 512, 2048, 16), cluster(1, 8)),
    ("block-2x2", block(8, 256, 768, 12), cluster(2, 2)),
    ("block-2x3", block(12, 256, 768, 12), cluster(2, 3, 3)),
    ("block-2x4", block(8, 512, 1024, 16), cluster(2, 4, 4, "400GbE")),
    ("block-2x4-hashed", block(8, 512, 1024, 16), cluster(2, 4, 4, topology=HASHED)),
    ("convolutions-1x4", convolutions(64), cluster(1, 4)),
    ("convolutions-2x2", convolutions(64), cluster(2, 2)),
    ("convolutions-2x3", convolutions(96), cluster(2, 3, 3, "400GbE")),
]


def text_of(strategies):
    """{"dense": [[2, 1], [1, 4]]}: dense=((2,1),(1,4))"""

    def tuple_of(parts):
        return "(" + ",".join(map(str, parts)) + ")"

    return ";".join(
        f"{name}=({','.join(map(tuple_of, cuts))})" for name, cuts in strategies.items()
    )


class Regret(SystemTest):
    def step(self, job, options):
        """\\return strategies, us, results of --shard-verify"""
        folder = os.path.join(self.folder, f"step-{next(self.numbers)}")
        words, _ = self.command(f"dltrain {job} {QUIET} {options}", folder)
        done = captured(words, cwd=self.folder)
        self.assertEqual(done.returncode, 0, " ".join(words) + done.stderr)
        with open(os.path.join(folder, "sharding.json"), encoding="utf-8") as file:
            sharding = json.load(file)
        with open(os.path.join(folder, "stats.json"), encoding="utf-8") as file:
            step = json.load(file)["step_time_us"]
        return sharding["shard"], step, sharding.get("ranked", [])

    def regret(self, name, net, on):
        """Of each search: the step of its pick over the least step of all that ran."""
        options, gpus, place = on
        self.numbers = itertools.count()
        model = self.write("model.json", {"name": net.name, "graph": net.graph})
        job = f"--model={model} {options}"
        legal = {op: sorted(set(net.strategies(op, gpus))) for op in net.axes}
        combinations = math.prod(map(len, legal.values()))
        rng = random.Random(name)
        searches = dict(SEARCHES)
        if gpus & (gpus - 1):
            del searches["recursive"]
        with concurrent.futures.ThreadPoolExecutor(2) as pool:
            picks = dict(
                zip(
                    searches,
                    pool.map(
                        lambda mode: self.step(job, f"--auto-parallel={mode}"), searches.values()
                    ),
                )
            )
            if combinations <= ALL:
                others = [
                    "--auto-parallel=semi --shard=" + text_of(dict(zip(legal, choice)))
                    for choice in itertools.product(*legal.values())
                ]
            else:
                others = [
                    "--auto-parallel=semi --shard="
                    + text_of({op: rng.choice(legal[op]) for op in legal})
                    for _ in range(SAMPLE)
                ]
                for _ in range(SAMPLE):
                    op = rng.choice(list(legal))
                    others.append(
                        "--auto-parallel=sharding-propagation --shard="
                        + text_of({op: rng.choice(legal[op])})
                    )
            ran = list(pool.map(lambda other: self.step(job, other), others))
        steps = {}
        for strategies, step, ranked in [*picks.values(), *ran]:
            # One strategy, one step: whoever names it.
            self.assertWithin(steps.setdefault(strategies, step), step, 1e-9, strategies)
            for result in ranked:
                steps.setdefault(result["shard"], result["step_s"] * 1e6)
        if combinations <= ALL:
            self.assertEqual(len(steps), combinations, name)
        best = min(steps, key=steps.get)
        ratios = {mode: pick[1] / steps[best] for mode, pick in picks.items()}
        if PRINT:
            cells = [f"{ratios[mode]:.3f}" if mode in ratios else "-" for mode in SEARCHES]
            print(
                f"| {name} | {place} | {combinations:,} | {len(steps)} |"
                f" {steps[best]:,.0f} us | {' | '.join(cells)} |",
                file=sys.stderr,
            )
            if ratios["dynamic programming"] > 1.005:
                print(
                    f"    pick {picks['dynamic programming'][0]}\n    best {best}", file=sys.stderr
                )
        return ratios

    @long_test
    def test_picks_are_the_best(self):
        for name, net, on in JOBS:
            if not ONLY or name in ONLY.split(","):
                with self.subTest(name):
                    hashed = name.endswith("hashed")
                    ratios = self.regret(name, net, on)
                    self.assertLess(ratios["verified"], 1.02, name)
                    # Unverified: the bound of the design. The formula is some 2% off.
                    self.assertLess(ratios["verified" if hashed else "dynamic programming"], 1.05)

    def test_a_feed_forward_network_on_two_gpus(self):
        self.assertLess(self.regret(*SMALL)["dynamic programming"], 1.02)


if __name__ == "__main__":
    main()
