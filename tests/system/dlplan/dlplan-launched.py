# SPDX-License-Identifier: GPL-2.0-only
# ctest: TIMEOUT 900
"""Layouts that somebody launched and published, beside dlplan's: are they among its best?

    dlplan-launched.py --print               all of them
    dlplan-launched.py --print --verify      and the steps of dltrain for both
    dlplan-launched.py --print sc21-t1-1.7B  these rows

Jobs and options are those of scripts/published. What the software of a row did not have stays out
of the search: Megatron-LM of 2021 had no sequence parallelism, fused attention or context
parallelism, and its rows recompute all. What a row does not say is searched for its layout, too.

Llama's rows run by software with fused SwiGLU, whose activated factor is made again in backward
(NVIDIA/Megatron-LM, megatron/core/fusions/fused_bias_swiglu.py): --recompute-modules=mlp_act, as in
docs/validation.md. It leaves out the gate's product, too, which Megatron-LM keeps.

A layout's place counts groups of GPUs (tp, pp, cp, ep): of each the best plan.
"""

import json
import os
import sys

sys.path.append(sys.path[0] + "/../shared")
from _system_test import ROOT, SystemTest, long_test, main, taken

from cluster_simulator.published import rows as published  # noqa: E402 (the path: _system_test)

PRINT = taken("--print")
VERIFY = taken("--verify")
ROWS = [argument for argument in sys.argv[1:] if argument.startswith(("sc21-", "mb2", "llama3-"))]
sys.argv = [argument for argument in sys.argv if argument not in ROWS]
GOLDEN = os.path.join(ROOT, "tests", "golden", "training")
# Options of a layout, and dltrain's defaults where a row has none.
LAYOUT = {
    "tp": "1",
    "pp": "1",
    "cp": "1",
    "ep": "1",
    "virtual-stages": "1",
    "zero": "0",
    "recompute": "none",
    "sequence-parallel": "0",
    "fused-attention": "0",
    "micro-batch": "",
    "rank-order": "tp-cp-ep-dp-pp",
}
GROUPS = ("tp", "pp", "cp", "ep")
OF_2021 = ("tp", "pp", "virtual-stages", "micro-batch")
OF_TODAY = (*OF_2021, "cp", "zero", "recompute", "sequence-parallel", "rank-order")
# Which rows, what is searched, and what the row says of its layout. Virtual stages and micro-batch
# of SC'21 are those of its scripts (scripts/cluster_simulator/published/rows.py, SC21).
CASES = (
    ("sc21-t1-1.7B", OF_2021, OF_2021),
    ("sc21-t1-7.5B", OF_2021, OF_2021),
    ("sc21-t1-39.1B", OF_2021, OF_2021),
    ("sc21-t1-145.6B", OF_2021, OF_2021),
    ("sc21-t1-529.6B", OF_2021, OF_2021),
    ("mb2604-llama3-70b-fp8-h100-64", OF_TODAY, OF_TODAY),
    ("llama3-405b-8192-s8192", OF_TODAY, ("tp", "pp", "cp", "recompute")),
    ("llama3-405b-16384-s8192", OF_TODAY, ("tp", "pp", "cp", "recompute")),
    ("llama3-405b-16384-s131072", OF_TODAY, ("tp", "pp", "cp")),
)
AROUND = ("embedding", "loss")
PARTS = ("computing", "bubble", "tp", "pp", "dp", "cp")


def jobs():
    """{name: (options, model)} of the rows; two more of table 4 of arXiv 2407.21783, which
    train_throughput.csv has not: 16,384 GPUs with sequences of 8,192 and, cp 16, of 131,072.
    """
    rows = {
        row.id: (row.options, row.model)
        for table in ("train-throughput.csv", "train-2024-2026.csv")
        for row in published.read(os.path.join(GOLDEN, table))
    }
    options, model = rows["llama3-405b-8192-s8192"]
    # Its first and last stage have one block less (section 3.3.2).
    options = [*options, *(f"--account-for-{part}-in-pipeline-split" for part in AROUND)]
    rows["llama3-405b-8192-s8192"] = (options, model)
    for sequence, batch, cp in ((8192, 2048, 1), (131072, 128, 16)):
        name = f"llama3-405b-16384-s{sequence}"
        more = ["--servers=2048", f"--global-batch={batch}", f"--seq={sequence}", f"--cp={cp}"]
        rows[name] = (replaced(options, more), model)
    return {
        name: (options + ["--recompute-modules=mlp_act"] * ("llama3" in name), model)
        for name, (options, model) in rows.items()
    }


def word(option):
    name, _, value = option[2:].partition("=")
    return (name[3:], "0") if name.startswith("no-") else (name, value or "1")


def replaced(options, more):
    names = {word(option)[0] for option in more}
    return [option for option in options if word(option)[0] not in names] + more


def words_of(plan):
    degrees = ("tp", "pp", "virtual_stages", "cp", "dp", "micro_batch", "zero")
    words = [f"{name} {plan[name]}" for name in degrees if plan[name] > 1 or name == "zero"]
    words += [plan["recompute"]] if plan["recompute"] != "none" else []
    return ", ".join(words + (["sp"] if plan["sequence_parallel"] else []))


def memory(plan):
    """Of tensors, and of what is beside them."""
    return f"{plan['memory_bytes'] / 2**30:.1f} + {plan['reserve_bytes'] / 2**30:.1f} GiB"


class Launched(SystemTest):
    def plan(self, words, fixed, search, top=1, more=()):
        """Rows of plans.csv."""
        fix = ",".join(f"{name}={value}" for name, value in fixed.items() if value)
        line = ["dlplan", *words, f"--search={','.join(search)}", f"--top={top}", "--no-report"]
        line += ["--no-progress", *more, *([f"--fix={fix}"] if fix else [])]
        return self.run_program(line, timeout=600).rows("plans.csv")

    def compare(self, name, options, model, searched, said):
        """(place of the published layout, its row, the pick)"""
        layout, words = dict(LAYOUT), []
        for option in options:
            key, value = word(option)
            if key in layout:
                layout[key] = "" if value == "auto" else value
            elif key not in ("layers", "warmup"):
                words.append(option)
        if isinstance(model, dict):
            model = self.write(f"{name}.json", json.dumps(model))
        words.append(f"--model={model}")
        fixed = {key: value for key, value in layout.items() if key not in searched}
        plans = self.plan(words, fixed, searched, top=60)
        own = {**fixed, **{key: layout[key] for key in said}}
        rest = [key for key in searched if key not in own] or ["dp"]
        try:
            (row,) = self.plan(words, own, rest)
        except AssertionError:  # nothing of it fits by the estimate
            (row,) = self.plan(words, own, rest, more=["--ignore-memory"])
        groups = list(dict.fromkeys(tuple(plan[key] for key in GROUPS) for plan in plans))
        mine = tuple(row[key] for key in GROUPS)
        place = groups.index(mine) + 1 if mine in groups else None
        if VERIFY:
            for plan, known in ((row, own), (plans[0], fixed)):
                of = {**known, **dict(word(option) for option in plan["options"].split())}
                network = ["--verify=1", "--verify-network=analytic", "--ignore-memory"]
                (done,) = self.plan(words, of, ["dp"], more=network)
                plan["verified_us"] = done["verified_us"]
        return place, row, plans[0]

    def check(self, cases):
        rows = jobs()
        for name, searched, said in cases:
            options, model = rows[name]
            place, row, pick = self.compare(name, options, model, searched, said)
            if PRINT:
                self.show(name, place, row, pick)
            step = "verified_us" if VERIFY else "estimate_us"
            self.assertTrue((place or 99) <= 5 or pick[step] < row[step], name)

    def show(self, name, place, row, pick):
        seconds = [f"{plan[key] / 1e6:.2f}" if plan[key] else "-" for plan in (row, pick)
                   for key in ("estimate_us", "verified_us")]
        gain = {part: row[f"{part}_us"] - pick[f"{part}_us"] for part in PARTS}
        most = max(gain, key=gain.get)
        print(
            f"{name}: place {place}, {seconds[0]} s (dltrain {seconds[1]}),"
            f" {memory(row)}: {words_of(row)}\n"
            f"    pick {seconds[2]} s (dltrain {seconds[3]}), {memory(pick)}: {words_of(pick)};"
            f" most by {most}, {gain[most] / 1e6:.2f} s",
            file=sys.stderr,
        )

    @long_test
    def test_all(self):
        self.check([case for case in CASES if not ROWS or case[0] in ROWS])

    def test_smallest(self):
        self.check(CASES[:2])


if __name__ == "__main__":
    main()
