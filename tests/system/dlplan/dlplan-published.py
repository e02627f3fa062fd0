# SPDX-License-Identifier: GPL-2.0-only
# ctest: TIMEOUT 300
"""Layouts whose steps were measured, ranked by dlplan's estimates: is its pick a good one?

    dlplan-published.py --print      the layouts, measured and estimated

AMP (arXiv 2210.07297): GPT-2 of 24 layers on 16 T4, 4 servers of 4 with 50 Gb/s. The options are
those of its scripts (DachengLi1/AMP, Megatron-LM-v1.1.5-3D_parallelism): global batch 32, fp16,
no checkpointed activations (examples/ds_pretrain_gpt2_pipe.sh), DeepSpeed without ZeRO and with
fp32_allreduce (examples/ds_config.json), and 50 Gb/s inside servers, too (homogeneous.py). Assumed:
T4's kernels reach V100's shares of the peaks, of products 0.45 under a load that lasts (70 W).

BLOOM (tests/golden/training/bloom-pretune.csv): the rows of scripts/published, with its options.
Layouts compare where they train one model; steps of other global batches by time a sample.

No constant is fitted to these rows.
"""

import collections
import csv
import json
import math
import os
import sys

sys.path.append(sys.path[0] + "/../shared")
from _system_test import ROOT, SystemTest, main, taken

from cluster_simulator.published import rows as published  # noqa: E402 (the path: _system_test)

PRINT = taken("--print")
GOLDEN = os.path.join(ROOT, "tests", "golden", "training")
AMP = (
    f"dlplan --model=gpt2-medium --seq=1024 --global-batch=32 --dtype=fp16 --no-fused-attention"
    f" --gpu={GOLDEN}/models/t4.json --server={GOLDEN}/models/g4dn-12xlarge.json --servers=4"
    " --zero-impl=deepspeed --reduce-dtype=fp32 --pipeline-sends=deepspeed --kernels=megatron"
)
ALONE = " --ignore-memory --no-report --no-progress"


def ranks(values):
    """Places in ascending order; equal values share the mean of theirs."""
    ordered = sorted(values)
    return [ordered.index(v) + (ordered.count(v) - 1) / 2 for v in values]


def correlation(a, b):
    """Spearman's."""
    a, b = ranks(a), ranks(b)
    mean = (len(a) - 1) / 2
    covariance = sum((x - mean) * (y - mean) for x, y in zip(a, b))
    return covariance / math.sqrt(
        sum((x - mean) ** 2 for x in a) * sum((y - mean) ** 2 for y in b)
    )


def regret(layouts):
    """Measured time of the layout with the least estimate, over the least measured."""
    pick = min(layouts, key=lambda layout: layout[1])
    return pick[0] / min(layouts)[0]


class Published(SystemTest):
    def estimate(self, line):
        (row,) = self.run_program(line + ALONE).rows("plans.csv")
        return row["estimate_us"] * 1e-6

    def show(self, *words):
        if PRINT:
            print(*words, file=sys.stderr)

    def test_amp(self):
        with open(os.path.join(GOLDEN, "amp-layouts.csv"), encoding="utf-8", newline="") as file:
            table = list(csv.DictReader(file))
        layouts = []
        for row in table:
            if row["measured_s"] == "inf":
                continue  # out of memory: its software kept more than this estimate
            degrees = ("tp", "pp", "dp", "micro_batch")
            fix = ",".join(f"{name.replace('_', '-')}={row[name]}" for name in degrees)
            step = self.estimate(
                f"{AMP} --fix={fix},cp=1,ep=1,virtual-stages=1,zero=0,recompute=none,"
                "sequence-parallel=0,rank-order=tp-cp-ep-dp-pp"
                " --account-for-loss-in-pipeline-split=0"  # one way to cut blocks
            )
            layouts.append((float(row["measured_s"]), step))
            self.show(fix, f"measured {layouts[-1][0]:.2f} s, estimated {step:.2f} s")
        self.assertEqual(len(layouts), 25)
        rank = correlation(*zip(*layouts))
        self.show(f"AMP: rank correlation {rank:.2f}, pick over best {regret(layouts):.3f}")
        self.assertGreater(rank, 0.75)
        self.assertLess(regret(layouts), 1.10)

    def test_bloom(self):
        path = os.path.join(GOLDEN, "bloom-pretune.csv")
        with open(path, encoding="utf-8", newline="") as file:
            table = list(csv.DictReader(file))
        groups = collections.defaultdict(list)
        for line, row in zip(table, published.read(path)):
            key = (line["layers"], line["hidden"], line["heads"], "bf16" in line["note"])
            groups[key].append((line, row))
        groups = {key: rows for key, rows in groups.items() if len(rows) > 1}
        # One model in 12 layouts; all others have 2 or 3, and are shown.
        largest = max(groups, key=lambda key: len(groups[key]))
        if not PRINT:
            groups = {largest: groups[largest]}
        for key, rows in groups.items():
            layouts = []
            for line, row in rows:
                model = self.write(f"{row.id}.json", json.dumps(row.model))
                options = [o for o in row.options if not o.startswith(("--layers", "--warmup"))]
                step = self.estimate(
                    f"dlplan --model={model} {' '.join(options)} --fix=cp=1,ep=1,virtual-stages=1,"
                    "sequence-parallel=0,fused-attention=0,rank-order=tp-cp-ep-dp-pp"
                )
                batch = float(line["GBS"])
                measured = float(line["sec_per_iter"])
                layouts.append((measured / batch, step / batch))
                self.show(
                    row.id,
                    f"tp {line['TP']} pp {line['PP']} micro-batch {line['MBS']}:"
                    f" measured {measured:.1f} s, estimated {step:.1f} s",
                )
            self.show(f"BLOOM {key}: {len(layouts)} layouts, pick over best {regret(layouts):.3f}")
            if key == largest:
                self.assertEqual(len(layouts), 12)
                self.assertLess(regret(layouts), 1.05)


if __name__ == "__main__":
    main()
