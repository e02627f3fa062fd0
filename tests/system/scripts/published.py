# SPDX-License-Identifier: GPL-2.0-only
# ctest: TIMEOUT 300
"""scripts/published: rows of published steps as options of dltrain, and what is said of them."""

import json
import math
import os
import random
import re
import subprocess
import sys

sys.path.append(sys.path[0] + "/../shared")
from _system_test import PROGRAMS, ROOT, SystemTest, main

sys.path.insert(0, os.path.join(ROOT, "scripts"))

from cluster_simulator.errors import InvalidInput  # noqa: E402
from cluster_simulator.published import TABLES, figures, how, rows, runs  # noqa: E402

SCRIPT = os.path.join(ROOT, "scripts", "published")
TRAIN, BLOOM, MPT, EXAMPLES, PIPEDREAM, PERCEPTRON = (os.path.join(ROOT, path) for path in TABLES)


def head(path):
    with open(path, encoding="utf-8") as file:
        return file.readline()


class Fake:
    """A step that took so long."""

    def __init__(self, seconds, tflops=100.0, peak=312.0, stats=None, fits=True):
        self.seconds = seconds
        self.stats = stats or {}
        self.fits = fits
        self.tflops = tflops
        self.peak = peak


class RowsTest(SystemTest):
    def row(self, path, **values):
        """The one row of a table that has these values, and else the columns of `path`."""
        columns = head(path).strip().split(",")
        self.assertEqual(set(values) - set(columns), set())
        line = ",".join(str(values.get(column, "")) for column in columns)
        (row,) = rows.read(self.write("table.csv", head(path) + line + "\n"))
        return row

    def train(self, **values):
        base = {
            "id": "mine",
            "model": "GPT",
            "gpu": "A100-80GB SXM",
            "gpus_per_node": 8,
            "n_gpus": 64,
            "interconnect": "Selene",
            "seq": 2048,
            "vocab": 51200,
            "layers": 24,
            "hidden": 2304,
            "heads": 24,
            "micro_batch": 4,
            "global_batch": 512,
            "iter_time_s": 3.5,
        }
        return self.row(TRAIN, **{**base, **values})

    def test_every_row_of_the_tables_is_read(self):
        for path in (TRAIN, BLOOM, MPT, EXAMPLES):
            with open(path, encoding="utf-8") as file:
                lines = len(file.read().strip().splitlines()) - 1
            found = rows.read(path)
            of_lines = [row for row in found if " (of " not in row.id]
            self.assertEqual(len(of_lines), lines)
            self.assertEqual(len({row.id for row in found}), len(found), "names are unique")
            for row in found:
                named = [word.split("=")[0] for word in row.options]
                self.assertEqual(len(named), len(set(named)), f"{row.id}: {row.options}")

    def test_pipedream_is_run_as_published_as_found_and_as_data_parallelism(self):
        found = {row.id: row for row in rows.read(PIPEDREAM)}
        with open(PIPEDREAM, encoding="utf-8") as file:
            lines = len(file.read().strip().splitlines()) - 1
        self.assertEqual(len([name for name in found if name.endswith(" (BSP)")]), lines)
        self.assertEqual(len([name for name in found if name.endswith(" (auto)")]), lines)
        row = found["pipedream-vgg16-8A"]
        self.assertIn("--replicas=7-1", row.options)
        # Whole rounds of all stages.
        (count,) = [word for word in row.options if word.startswith("--accumulation=")]
        self.assertEqual(int(count.partition("=")[2]) % 7, 0)
        self.assertEqual(row.facts["over"], 2.99)
        words = runs.words_of(row, self.folder)
        self.assertEqual(len({word.partition("=")[0] for word in words}), len(words), words)
        self.assertIn("--warmup=2", words)

    def test_perceptron_is_three_rows(self):
        self.assertEqual(
            [row.id for row in rows.read(PERCEPTRON)],
            ["perceptron-one-gpu", "perceptron-pipeline", "perceptron-tensor"],
        )

    def test_parallel_sizes_are_options_where_they_are_not_one(self):
        for tp in (1, 2, 8):
            for pp in (1, 4):
                options = self.train(TP=tp, PP=pp, zero=0).options
                self.assertEqual("--tp=%d" % tp in options, tp > 1)
                self.assertEqual("--pp=%d" % pp in options, pp > 1)
                self.assertFalse([word for word in options if word.startswith("--dp")])
        self.assertIn("--virtual-stages=3", self.train(PP=8, TP=8, VPP=3).options)

    def test_servers_are_those_that_the_gpus_fill(self):
        for gpus in (8, 16, 88):
            options = self.train(n_gpus=gpus).options
            self.assertIn("--servers=%d" % (gpus // 8), options)
            self.assertEqual("--fabric=ib" in options, gpus > 8)
        for gpus in (1, 3):
            options = self.train(n_gpus=gpus).options
            self.assertIn("--servers=1", options)
            self.assertIn("--gpus-per-server=%d" % gpus, options)

    def test_names_of_machines(self):
        for gpu, network, server in (
            ("A100-80GB SXM", "Selene: NVSwitch + 8x HDR200 IB full fat tree", "dgx-a100"),
            ("A100-80GB SXM", "4x Omni-Path 100G per node", "jean-zay"),
            ("H100 SXM", "Eos-class: NVLink4 + 8x NDR400 IB", "dgx-h100"),
            ("V100-32GB DGX-2H", "", "dgx-2h"),
            ("P100 (Big Basin)", "1x ConnectX-4 50 GbE per node", "big-basin"),
        ):
            options = self.train(gpu=gpu, interconnect=network).options
            self.assertIn(f"--server={server}", options)

    def test_recomputation_and_precision(self):
        full = self.train(recompute="full", precision="fp16 mixed").options
        self.assertIn("--dtype=fp16", full)
        self.assertTrue([word for word in full if word.startswith("--recompute")])
        part = self.train(recompute="sequence-parallel + selective", precision="bf16").options
        self.assertIn("--recompute=selective", part)
        self.assertIn("--sequence-parallel", part)
        self.assertFalse([word for word in part if word.startswith("--dtype")])
        none = self.train(recompute="selective/none (not stated)").options
        self.assertFalse([word for word in none if word.startswith("--recompute")])

    def test_sharding_is_that_of_who_did_it(self):
        for name, zero, deepspeed in (
            ("sc21-t2-ZeRO-3-9B-64", 3, True),
            ("sc21-t2-PTD-9B-64", 0, False),
            ("mtnlg-8", 1, True),
            ("bloom-gbs64", 1, True),
            ("mine", 3, False),
        ):
            options = self.train(id=name, zero=zero).options
            self.assertEqual("--zero-impl=deepspeed" in options, deepspeed, name)
            # DeepSpeed of early 2021.
            self.assertEqual("--zero-tensor-lists" in options, name.startswith("sc21-t2-Z"), name)

    def test_bf16_gradients_are_added_up_in_fp32_by_megatron(self):
        for name, precision, wide in (
            ("mtnlg-8", "bf16", True),
            ("mcore-h100-9B", "bf16", False),  # --grad-reduce-in-bf16, or not
            ("megascale-megatron-64", "bf16", True),
            ("seqsel-9B-full", "fp16 mixed", False),
            ("sc21-t1-9B", "fp16 mixed", False),
            ("llama3-64", "bf16", False),
        ):
            options = self.train(id=name, precision=precision, TP=8).options
            self.assertEqual("--reduce-dtype=fp32" in options, wide, name)
        for line in rows.read(BLOOM):
            number = int(line.id[len("bloom-line") :].split()[0])
            # From line 906 on the notes are of the bf16 optimizer.
            self.assertEqual("--reduce-dtype=fp32" in line.options, number >= 906, line.id)
            self.assertEqual("--dtype=fp16" in line.options, number < 906, line.id)

    def test_megatrons_softmax_is_that_of_its_rows(self):
        for name, megatron, gap in (
            ("sc21-t1-9B", True, False),
            ("sc21-t2-ZeRO-3-9B", True, False),
            ("seqsel-9B-full", True, False),
            ("mtnlg-8", True, False),
            ("bloom-gbs64", True, True),
            ("meg-sep20-9B", True, False),
            ("meg19-strong-tp4", False, False),  # of 2019
            ("megascale-megatron-64", False, False),  # fused attention
            ("mcore-h100-9B", False, False),
            ("llama3-64", False, False),
        ):
            options = self.train(id=name).options
            self.assertEqual("--kernels=megatron" in options, megatron, name)
            self.assertEqual("--launch-gap=60us" in options, gap, name)
        for line in rows.read(BLOOM):
            self.assertIn("--kernels=megatron", line.options)
            self.assertIn("--launch-gap=60us", line.options)

    def test_sends_beside_computing_are_those_of_virtual_stages(self):
        # Megatron-LM has the one with the other alone. Of 24 layers on 4 stages 6 are shared out
        # among 2 virtual ones, of 36 on 4 9 among 3; what the table says stays.
        every = "DP/TP/PP comm overlap on; aggregate 1 PFLOP/s"
        for values, expected in (
            ({"PP": 4, "other": every}, 2),
            ({"PP": 4, "layers": 36, "other": every}, 3),
            ({"PP": 4, "VPP": 3, "other": every}, 3),
            ({"PP": 1, "other": every}, None),
            ({"PP": 4, "layers": 26, "other": every}, None),
            ({"PP": 4, "other": "DP/TP comm overlap on"}, None),
            ({"PP": 4}, None),
        ):
            options = self.train(**values).options
            found = [word for word in options if word.startswith("--virtual-stages")]
            said = [] if expected is None else [f"--virtual-stages={expected}"]
            self.assertEqual(found, said, values)
        table = {row.id: row.options for row in rows.read(TRAIN)}
        self.assertIn("--virtual-stages=2", table["mcore-h100-70B"])
        self.assertNotIn("--virtual-stages", " ".join(table["sc21-t2-PTD-174.6B-384"]))

    def test_blooms_stages_are_deepspeeds(self):
        # 78 blocks on 12 stages are 7 each and 1, not the default's 7 and 6; 106, and all with the
        # bf16 optimizer, were cut with embedding and head as one each; what divides is left alone,
        # and may have fewer layers.
        for line in rows.read(BLOOM):
            options = dict(word.split("=", 1) for word in line.options if "=" in word)
            blocks = line.model["layers"]
            number = int(line.id[len("bloom-line") :].split()[0])
            partition = None
            if number >= 906 or blocks == 106:
                partition = "type:transformer|embedding"
                self.assertEqual((blocks + 2) % int(options["--pp"]), 0)
            elif blocks % int(options["--pp"]):
                partition = "type:transformer"
            self.assertEqual(options.get("--partition"), partition, line.id)
            self.assertEqual("--partition-fill=front" in line.options, partition is not None)
            self.assertEqual(options["--pipeline-sends"], "awaited")
            if partition:
                self.assertFalse(line.shorter, line.id)
        self.assertFalse(
            [word for word in self.train(id="sc21-t1-9B", PP=2).options if "-sends" in word]
        )

    def test_berts_gradients_are_reduced_together(self):
        # One bucket holds BERT-large in fp32 (336 M parameters of 4 bytes); ResNet's are DDP's.
        for line in rows.read(EXAMPLES):
            bert = line.model.startswith("bert")
            self.assertEqual("--optimizer=lamb" in line.options, bert, line.id)
            self.assertEqual("--buckets=2GB" in line.options, bert, line.id)

    def test_large_jobs_have_fewer_layers(self):
        # A run of N blocks is extended to all: in a pipeline N is a multiple of its pieces, at
        # least twice (docs/parallelism.md), and all blocks have to be one too.
        for gpus, layers, pp, stages, expected in (
            (64, 96, 8, 1, ()),
            (128, 96, 8, 1, ("--layers=16",)),
            (128, 96, 8, 3, ("--layers=48",)),
            (128, 96, 8, 4, ()),  # 64 and 32 of them are as many as all
            (128, 24, 8, 3, ()),  # nothing to leave out
            (384, 78, 12, 1, ()),  # 78 blocks on 12 stages are not alike
            (384, 96, 1, 1, ("--layers=6",)),
            (768, 84, 2, 1, ("--layers=14",)),
            (384, 13, 1, 1, ("--layers=6",)),
            (384, 12, 1, 1, ()),  # 6, 4 and 2
        ):
            row = self.train(n_gpus=gpus, layers=layers, PP=pp, VPP=stages)
            self.assertEqual(tuple(row.shorter), expected, (gpus, layers, pp, stages))
            self.assertFalse([word for word in row.options if word.startswith("--layers")])

    def test_what_is_told_of_a_run(self):
        whole = {"extrapolation": {"blocks": 96, "blocks_simulated": [24, 12], "error": None}}
        part = {"extrapolation": {"blocks": 96, "blocks_simulated": [6, 4, 2], "error": -0.0125}}
        self.assertEqual(how(Fake(1)), "")
        self.assertEqual(how(Fake(1, stats=whole)), "24, 12 of 96 blocks")
        self.assertEqual(how(Fake(1, stats=part)), "6, 4, 2 of 96 blocks (line off by -1.2%)")
        self.assertEqual(how(Fake(1, fits=False)), "does not fit by the estimate")

    def test_a_data_parallel_size_that_contradicts_is_refused(self):
        self.assertIn("--tp=4", self.train(TP=4, PP=2, DP=8).options)
        for dp in (7, 9, 64):
            with self.assertRaisesRegex(InvalidInput, f"DP='{dp}'; allowed: the 64 GPUs .* 8"):
                self.train(TP=4, PP=2, DP=dp)

    def test_hours_on_fewer_gpus_are_a_row_of_their_own(self):
        # As many samples in 29 h on 8 GPUs as in 1 h on 256: 29 x 8 / 256 = 90.6%.
        found = {row.id: row for row in rows.read(TRAIN) if row.id.startswith("goyal")}
        large, base = found["goyal-resnet50-256"], found["goyal-resnet50-256 (of 8)"]
        self.assertAlmostEqual(large.facts["efficiency"], 90.625)
        self.assertIn("--global-batch=256", base.options)
        self.assertIn("--servers=1", base.options)
        self.assertIn("--servers=32", large.options)
        self.assertEqual(large.model, base.model)
        (ratio,) = figures.efficiency([(large, Fake(0.25)), (base, Fake(0.2))])
        self.assertAlmostEqual(ratio.simulated, 80)  # 32 samples a GPU and step, both

    def test_a_model_has_the_shape_of_its_row(self):
        model = self.train(layers=7, hidden=384, heads=6, vocab=1009, seq=640).model
        self.assertEqual(
            (model["layers"], model["hidden"], model["heads"], model["vocab"], model["sequence"]),
            (7, 384, 6, 1009, 640),
        )

    def test_sharding_is_a_stage(self):
        for sharding, stage in (("FULL_SHARD", 3), ("SHARD_GRAD_OP", 2), ("NO_SHARD", 0)):
            row = self.row(
                MPT,
                section="A100 80GB with 1600 Gbps node-node interconnect (RoCE)",
                model="1b",
                seq=2048,
                gpus=24,
                gpu="a100_80gb",
                micro_batch=3,
                grad_accum=5,
                global_batch=360,
                precision="bf16",
                sharding=sharding,
                act_ckpt="False",
                step_time_s=2.5,
            )
            for word in (f"--zero={stage}", "--micro-batch=3", "--global-batch=360", "--servers=3"):
                self.assertIn(word, row.options)
            self.assertEqual(row.model, "mpt-1b")
            self.assertEqual(row.seconds, 2.5)

    def test_throughput_is_a_time(self):
        # 2 x 3 x 8 samples a step at 12 samples/s
        row = self.row(
            EXAMPLES,
            model='"BERT-large pretrain (LAMB, DDP)"',
            machine="DGX A100 80GB",
            nodes=1,
            gpus=8,
            precision="tf32",
            seq_or_image=128,
            micro_batch_per_gpu=2,
            accum_steps=3,
            throughput=12,
        )
        self.assertEqual(row.seconds, 4)
        self.assertIn("--dtype=tf32", row.options)

    def test_bad_tables_are_one_error_that_names_the_place(self):
        def refuse(text, *words):
            path = self.write("bad.csv", text)
            done = self.run_script(path, "--commands", status=2)
            (line,) = done.stderr.splitlines()
            for word in (path, *words):
                self.assertIn(word, line)

        refuse("a,b\n1,2\n", "is no table of published steps", "iter_time_s")
        refuse("", "is no table of published steps")
        columns = head(BLOOM)
        good = dict(zip(columns.strip().split(","), columns.strip().split(",")))
        good.update(line=1, nodes=2, gpus=16, layers=4, hidden=256, heads=2, vocab=99, seq=64)
        good.update(DP=4, TP=2, PP=2, MBS=1, GBS=8, zero=1, sec_per_iter=1.5)
        for column, value in (
            ("gpus", "sixteen"),
            ("layers", "0"),
            ("sec_per_iter", "-1"),
            ("sec_per_iter", "nan"),
            ("GBS", ""),
        ):
            line = ",".join(str({**good, column: value}[name]) for name in good)
            refuse(columns + line + "\n", f"line 2: {column}='{value}'", "allowed")
        nobody = os.path.join(self.folder, "nobody.csv")
        done = self.run_script(nobody, status=2)
        self.assertEqual(
            done.stderr, f"published: error: {nobody}: No such file or directory\n"
        )

    # ---- figures

    def test_summary_of_known_ratios(self):
        # errors 0.1, 0.2, 0.5, 0 and 0.25; geometric mean of 1.1 x 0.8 x 1.5 x 1 x 1.25 = 1.65
        found = figures.summary([1.1, 0.8, 1.5, 1.0, 1.25])
        self.assertAlmostEqual(found.median, 0.2)
        self.assertAlmostEqual(found.p90, 0.5)
        self.assertAlmostEqual(found.bias, 1.65**0.2 - 1)
        self.assertAlmostEqual(found.worst, 0.5)

    def test_correlation_of_ranks_knows_order_and_ties(self):
        random.seed(7)
        for n in (3, 10, 33):
            values = [random.random() for _ in range(n)]
            same = figures.correlation(
                figures.ranks(values), figures.ranks([math.exp(9 * v) for v in values])
            )
            turned = figures.correlation(
                figures.ranks(values), figures.ranks([-v for v in values])
            )
            self.assertAlmostEqual(same, 1)
            self.assertAlmostEqual(turned, -1)
        self.assertEqual(figures.ranks([5, 1, 5, 7]), [2.5, 1, 2.5, 4])
        self.assertIsNone(figures.correlation([1, 1], [1, 2]))

    def test_a_line_through_points_of_a_line(self):
        for slope, intercept in ((0.05, 12.0), (-3.0, 0.5)):
            found = figures.line([(x, slope * x + intercept) for x in (1, 5, 512, 2048)])
            self.assertAlmostEqual(found[0], slope)
            self.assertAlmostEqual(found[1], intercept, places=6)
        self.assertIsNone(figures.line([(1, 2), (1, 3)]))

    def test_ratios_between_rows_are_one_where_both_are_slow_alike(self):
        # Whatever all rows are too slow by, ratios of published and simulated agree.
        results = [
            (row, Fake(1.7 * row.seconds))
            for path in (TRAIN, MPT, EXAMPLES)
            for row in rows.read(path)
            if row.seconds
        ]
        found = figures.derived(results)
        names = " ".join(ratio.name for ratio in found)
        for word in ("recomputation, 22B", "ZeRO-3 over", "weak scaling, 8", "intercept", "128gp"):
            self.assertIn(word, names)
        for name, published, simulated, _ in found:
            expected = 1.7 * published if name.startswith("bloom-gbs") else published
            self.assertWithin(simulated, expected, 1e-9, name)

    def test_published_ratios_are_those_of_the_papers(self):
        # Weak scaling as the table itself prints it (within its rounding); full recomputation of
        # 22 B takes 1.42 s, selective with sequence parallelism 1.10 s.
        results = [(row, Fake(row.seconds)) for row in rows.read(TRAIN) if row.seconds]
        found = {ratio.name: ratio.published for ratio in figures.derived(results)}
        for row, _ in results:
            said = re.search(r"scaling ([0-9.]+)% vs 1 GPU", row.facts["other"])
            if said and row.facts["gpus"] > 1:
                name = f"weak scaling, {row.facts['gpus']} GPUs ({row.id})"
                self.assertAlmostEqual(found[name], float(said.group(1)), delta=2)
        self.assertAlmostEqual(
            found["full over selective recomputation, 22B"], 1.42 / 1.10, places=6
        )

    def test_a_constant_mfu_is_exact_where_all_have_one(self):
        row = rows.read(TRAIN)[0]
        results = [
            (row._replace(id=str(n), seconds=2.0 * n), Fake(3.0 * n, tflops=50.0, peak=125.0))
            for n in (1, 2, 7)
        ]
        for ratio in figures.constant_mfu(results):
            self.assertAlmostEqual(ratio, 1)

    # ---- runs

    def run_script(self, *arguments, status=0):
        done = subprocess.run(
            [sys.executable, SCRIPT, f"--programs={PROGRAMS}", *arguments],
            cwd=self.folder,
            capture_output=True,
            text=True,
            timeout=250,
            stdin=subprocess.DEVNULL,
        )
        self.assertEqual(done.returncode, status, f"{arguments}\n{done.stdout}\n{done.stderr}")
        return done

    def test_rows_run_and_what_is_printed_is_what_they_say(self):
        table = "".join([head(EXAMPLES), *self.lines(EXAMPLES, "1,1,(fp16|amp),")])
        path = self.write("sample.csv", table)
        out = os.path.join(self.folder, "out")
        result = os.path.join(self.folder, "all.json")
        text = self.run_script(path, f"--out={out}", f"--json={result}").stdout
        with open(result, encoding="utf-8") as file:
            found = json.load(file)["rows"]
        self.assertGreater(len(found), 3)
        for row in found:
            ratio = row["simulated_s"] / row["published_s"]
            line = next(line for line in text.splitlines() if line.startswith(f"| {row['id']} |"))
            self.assertIn(f"| {ratio:.3f} |", line)
            if "binned" not in row["kind"]:  # how long its sequences are is not known
                self.assertLess(abs(math.log(ratio)), math.log(2), line)
        # In a page: groups, no single rows of a sweep; what stands there goes.
        old = "".join(
            f"<!-- TABLE: published-{part} -->\n\n| a |\n|---|\n| old |\n\nend\n"
            for part in ("rows", "groups", "ratios")
        )
        page = self.write("page.md", old)
        self.run_script(path, f"--out={out}", f"--page={page}")
        with open(page, encoding="utf-8") as file:
            filled = file.read()
        self.assertNotIn("old", filled)
        self.assertNotIn(found[0]["id"], filled.split("TABLE: published-groups")[0])
        group = next(line for line in text.splitlines() if line.startswith("| NVIDIA's"))
        self.assertIn(group, filled)
        self.assertEqual(filled.count("\n\nend\n"), 3)
        bare = self.write("bare.md", "nothing\n")
        done = self.run_script(path, f"--out={out}", f"--page={bare}", status=2)
        self.assertIn("<!-- TABLE: published-rows --> stands there 0 times", done.stderr)
        # Once more: the same, from what is kept.
        before = sorted(os.scandir(os.path.join(out, "runs")), key=lambda entry: entry.name)
        times = [entry.stat().st_mtime_ns for entry in before]
        again = self.run_script(path, f"--out={out}").stdout
        self.assertEqual(again, text)
        after = sorted(os.scandir(os.path.join(out, "runs")), key=lambda entry: entry.name)
        self.assertEqual([entry.stat().st_mtime_ns for entry in after], times)

    def lines(self, path, pattern):
        with open(path, encoding="utf-8") as file:
            return [line for line in file if re.search(pattern, line)]

    def test_commands_are_what_runs(self):
        text = self.run_script(TRAIN, "--commands", "--only=sc21-t1", "--out=kept").stdout
        found = [row for row in rows.read(TRAIN) if "sc21-t1" in row.id]
        self.assertEqual(len(text.splitlines()), len(found))
        for row, line in zip(found, text.splitlines()):
            self.assertTrue(line.startswith(f'{row.id}: ./ns3 run "dltrain --model=kept/models/'))
            for word in [*row.options, *runs.COMMON]:
                self.assertIn(word, line)
            with open(
                os.path.join(self.folder, "kept", "models", f"{row.id}.json"), encoding="utf-8"
            ) as file:
                self.assertEqual(json.load(file), row.model)

    def test_rows_are_chosen_by_parts_of_their_names(self):
        text = self.run_script(TRAIN, "--commands", "--only=goyal,mtnlg", "--out=kept").stdout
        for line in text.splitlines():
            self.assertRegex(line, "^(goyal|mtnlg)-")
        self.assertEqual(len({line[:5] for line in text.splitlines()}), 2)

    def test_what_cannot_run_is_told_with_its_reason(self):
        done = self.run_script(
            EXAMPLES, "--only=resnet50-a100-amp", "--micro-batch=0", status=1
        )
        self.assertIn("not run: resnet50-a100-amp-1gpus: dltrain: error: --micro-", done.stderr)
        self.assertIn("| not run |", done.stdout)

    def test_what_does_not_fit_runs_and_is_told(self):
        # 64 sequences of 512 tokens: over 2 GB for each of 24 layers, where a V100 has 16 GiB.
        row = (
            '"BERT-large pretrain (LAMB, DDP)",DGX-1 V100 16GB,1,8,fp16,512,64,1,512,60,seq/s,,me\n'
        )
        path = self.write("large.csv", head(EXAMPLES) + row)
        text = self.run_script(path, f"--out={self.folder}/out").stdout
        (line,) = [line for line in text.splitlines() if line.startswith("| bert-large")]
        self.assertTrue(line.endswith("| does not fit by the estimate |"), line)
        self.assertNotIn("not run", line)

    def test_options_that_make_no_sense(self):
        for words, said in (
            (["--jobs=0"], "--jobs=0"),
            (["--time-limit=0"], "--time-limit=0"),
            (["--only=nobody"], "no row has that"),
        ):
            done = self.run_script(*words, status=2)
            (line,) = done.stderr.splitlines()
            self.assertIn(said, line)


MEASURED = os.path.join(ROOT, "tests", "golden", "measured", "measured_training.csv")


class MeasuredTest(SystemTest):
    """Rows of what users measured become options by their columns."""

    def row(self, **values):
        base = {
            "row": "mine",
            "gpu": "H100",
            "kind": "dense",
            "framework": "nanotron",
            "gpus": 64,
            "sequence": 4096,
            "global_batch": 256,
            "micro_batch": 1,
            "model": "llama3-8b",
            "dtype": "bf16",
            "zero": 1,
            "recompute": "none",
            "step_s": 2,
            "server": "dgx-h100",
            "gpus_per_server": 8,
            "source": "a page",
            "confidence": "high",
        }
        columns = head(MEASURED).strip().split(",")
        values = {**base, **values}
        self.assertEqual(set(values) - set(columns), set())
        line = ",".join(str(values.get(column, "")) for column in columns)
        (row,) = rows.read(self.write("measured.csv", head(MEASURED) + line + "\n"))
        return row

    def test_software_is_a_recipe(self):
        for software, recipe in (
            ("nanotron", "nanotron"),
            ("llm-foundry (Composer; PyTorch FSDP)", "llm-foundry"),
            ("KempnerForge (PyTorch FSDP2)", "kempnerforge"),
            ("torchtitan + torchao", "torchtitan"),
            ("Megatron-LM fork (zero bubble)", "megatron"),
            ("GPT-NeoX (DeepSpeed)", "deepspeed"),
        ):
            self.assertIn(f"--recipe={recipe}", self.row(framework=software).options)
        other = self.row(framework="PaddleNLP (PaddlePaddle)").options
        self.assertFalse([word for word in other if word.startswith("--recipe")])

    def test_the_row_says_more_than_its_recipe(self):
        options = self.row(framework="torchtitan", options_proposed="--fused-attention").options
        self.assertIn("--recompute=none", options)  # the recipe has selective
        self.assertIn("--zero=1", options)
        kernel = self.row(attention="FlashAttention (Triton or v2)").options
        self.assertIn("--attention-kernel=triton", kernel)

    def test_networks_and_servers(self):
        network = "AWS EFA (32 x 100 Gb/s of a p5 server = 3.2 Tb/s)"
        row = self.row(network=network)
        self.assertEqual(row.options[:3], ["--server=aws-p5", "--gpus-per-server=8", "--servers=8"])
        self.assertEqual(row.shorter, ("--collective-times=formula",))
        alone = self.row(gpus=8, options_proposed="--nics-per-server=4 --nic=100GbE").options
        self.assertEqual(alone[:3], ["--server=dgx-h100", "--servers=1", "--gpus-per-server=8"])
        self.assertNotIn("--nic=100GbE", alone)
        with self.assertRaises(InvalidInput):
            self.row(gpus=12)

    def test_facts(self):
        row = self.row(peak_memory_gib=40, vs_smallest=0.9, gpus=256)
        self.assertEqual(row.facts["scale"], "256 and more")
        self.assertEqual((row.facts["memory_gib"], row.facts["vs_smallest"]), (40, 0.9))

    def test_all_rows_are_read(self):
        made = rows.read(MEASURED)
        self.assertEqual(len(made), 324)
        for row in made:
            for word in (row.model, *row.options):
                path = word.partition("=")[2] or word
                if path.endswith(".json"):
                    self.assertTrue(os.path.isfile(path), f"{row.id}: {path}")


if __name__ == "__main__":
    main()
