# SPDX-License-Identifier: GPL-2.0-only
# ctest: TIMEOUT 120
"""dlserve with many models on a GPU: its numbers agree, its mistakes say what is allowed."""

import json
import os
import signal
import subprocess
import sys
import time

sys.path.append(sys.path[0] + "/../shared")
from _system_test import ROOT, SystemTest, main

GOLDEN = os.path.join(ROOT, "tests", "golden", "multiplex")
SLICES = os.path.join(ROOT, "tests", "golden", "measured", "measured_multiplex.csv")
# A V100 with the workloads of iGniter's algorithm (main of igniter-algorithm.py).
MODELS = [
    {"model": "alexnet", "rate": 500, "slo": "15ms"},
    {"model": "resnet-50", "rate": 400, "slo": "40ms"},
    {"model": "vgg-19", "rate": 200, "slo": "60ms"},
]


class Multiplex(SystemTest):
    def mix(self, models=None, **more):
        return self.write("mix.json", {"models": MODELS if models is None else models, **more})

    def test_policies(self):
        """A row a policy; what arrives is the same for all; sums agree."""
        run = self.run_program(f"dlserve --multiplex={self.mix()} --policy=all --duration=5s")
        runs = {one["policy"]: one for one in run.stats["multiplex"]}
        self.assertEqual(
            list(runs), "temporal mps mig gslice igniter gpulet dstack ideal".split()
        )
        for name, one in runs.items():
            self.assertIn(name, run.out)
            self.assertTrue(one["sums"]["equal"], name)
            self.assertLessEqual(one["sums"]["shares_peak"], 100 + 1e-6, name)
            self.assertLessEqual(one["effective_utilization"], one["utilization"] + 1e-6, name)
            for model, first in zip(one["models"], runs["temporal"]["models"]):
                self.assertEqual(model["arrived"], first["arrived"])
                self.assertEqual(model["arrived"], model["served"] + model["unserved"])
        best = max(one["slo_attainment"] for one in runs.values())
        self.assertEqual(best, runs["ideal"]["slo_attainment"])
        rows = run.rows("mix.csv")
        self.assertEqual(len(rows), 8 * 3)
        batches = run.rows("executions.csv")
        mine = [row for row in batches if row["policy"] == "temporal"]
        for before, after in zip(mine, mine[1:]):
            self.assertLessEqual(before["end_ms"], after["begin_ms"] + 1e-6)

    def test_rows_are_ranked(self):
        """The best first; what is asked is what arrived; the page has it all."""
        run = self.run_program(
            f"dlserve --multiplex={self.mix()} --policy=all --duration=5s --report"
        )
        runs = {one["policy"]: one for one in run.stats["multiplex"]}
        lines = [line.split() for line in run.out.splitlines()]
        rows = [words for words in lines if len(words) > 8 and words[0] in runs]
        shares = [runs[words[0]]["slo_attainment"] for words in rows]
        self.assertEqual(len(rows), 8)
        self.assertEqual(shares, sorted(shares, reverse=True))
        for words in rows:
            one = runs[words[0]]
            arrived = sum(model["arrived"] for model in one["models"]) / one["duration_s"]
            self.assertWithin(float(words[2].replace(",", "")), arrived, 0.001)
        # Turns follow rates: alexnet's batches are not one for each of the others'.
        temporal = {model["model"]: model for model in runs["temporal"]["models"]}
        self.assertGreater(temporal["alexnet"]["slo_attainment"], 0.9)
        self.assertIn("report.html", run.out)
        page = run.text("report.html")
        self.assertIn("Many models on a GPU", page)

    def test_policies_that_are_done_are_kept(self):
        words, out = self.command(
            f"dlserve --multiplex={self.mix()} --policy=all --duration=10000s --report=0"
        )
        with subprocess.Popen(
            words, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, cwd=self.folder
        ) as process:
            time.sleep(4)
            process.send_signal(signal.SIGINT)
            text, err = process.communicate(timeout=60)
        self.assertEqual(process.returncode, 130, err)
        self.assertIn("dlserve: stopped after ", err)
        if "stopped after 0 " in err:  # a slow machine
            self.assertFalse(os.path.exists(out))
            return
        with open(os.path.join(out, "stats.json"), encoding="utf-8") as file:
            stats = json.load(file)
        self.assertTrue(stats["interrupted"])
        names = [run["policy"] for run in stats["multiplex"]]
        self.assertEqual(
            names + stats["runs_missing"],
            "temporal mps mig gslice igniter gpulet dstack ideal".split(),
        )
        self.assertIn(names[0], text)

    def test_links_are_not_written_through(self):
        """A folder of somebody else may have links with the names of results in it."""
        victim = self.write("victim.txt", "mine\n")
        out = os.path.join(self.folder, "theirs")
        os.makedirs(out)
        names = ("mix.csv", "executions.csv", "stats.json", "stats.json.part")
        for name in names:
            os.symlink(victim, os.path.join(out, name))
        nowhere = os.path.join(self.folder, "nowhere")
        os.symlink(nowhere, os.path.join(out, "report.html.part"))
        line = f"dlserve --multiplex={self.mix()} --policy=mps --duration=1s --out={out}"
        self.run_program(line)
        with open(victim, encoding="utf-8") as file:
            self.assertEqual(file.read(), "mine\n")
        self.assertFalse(os.path.lexists(nowhere))
        for name in names[:3]:
            self.assertFalse(os.path.islink(os.path.join(out, name)), name)

    def test_same_seed_same_bytes(self):
        line = f"dlserve --multiplex={self.mix()} --policy=mps,dstack --duration=2s"
        runs = [self.run_program(f"{line} --seed={seed}") for seed in (3, 3, 4)]
        names = ("stats.json", "mix.csv", "executions.csv")
        first, again, other = ([run.text(name) for name in names] for run in runs)
        self.assertEqual(first, again)
        self.assertNotEqual(first[1], other[1])

    def test_configuration_is_a_scenario(self):
        run = self.run_program(f"dlserve --multiplex={self.mix()} --policy=gslice --seed=9")
        job = self.write("job.json", run.stats["configuration"])
        again = self.run_program(f"dlserve --scenario={job}")
        self.assertEqual(run.text("mix.csv"), again.text("mix.csv"))

    def test_sweep(self):
        """More requests, fewer of them in time; and it says when a policy cannot keep up."""
        run = self.run_program(
            f"dlserve --multiplex={self.mix()} --policy=mps --duration=3s --sweep-rate=25..400"
        )
        found = [(one["rate_scale"], one["slo_attainment"]) for one in run.stats["multiplex"]]
        self.assertEqual([scale for scale, _ in found], [0.25, 0.5, 1, 2, 4])
        shares = [share for _, share in found]
        self.assertEqual(shares, sorted(shares, reverse=True))
        self.assertGreater(shares[0], 0.99)
        self.assertIn("cannot keep up", run.out)

    def test_share_curve(self):
        run = self.run_program("dlserve --share-curve --model=resnet-50 --gpu=V100 --batch=1,8,16")
        curves = {curve["batch"]: curve for curve in run.stats["share_curves"]}
        # iGniter's form with the constants of igniter-v100.cc, batch 1, 100%.
        wanted = (0.0638984 + 50.068 - 1.81569) / (100 - 1.36) + 0.135186 + 1.67527
        self.assertAlmostEqual(curves[1]["whole_latency_ms"], wanted, places=5)
        # On the scale of 7.40 ms at 10%: (3.25 - 2.92) / 7.40 at 35% is the first below 5%.
        self.assertEqual(curves[1]["knee_percent"], 35)
        # Of the latency there: (2.63 - 2.51) / 2.63 at 60%.
        self.assertEqual(curves[1]["flat_percent"], 60)
        self.assertIsNone(curves[16]["flat_percent"])
        self.assertRegex(run.out, r"flat from +60% +none +none")
        self.assertEqual(len(run.rows("curve.csv")), 3 * 40)

    def test_measured_rows(self):
        """The musts on the rows that are here: 2% of latency, 0.05 of slow-down."""
        run = self.run_program(f"dlserve --compare={GOLDEN}/igniter-v100.csv")
        errors = sorted(
            abs(row["computed_ms"] / row["measured_ms"] - 1) for row in run.rows("compared.csv")
        )
        self.assertEqual(len(errors), 244)
        self.assertLess(errors[len(errors) // 2], 0.02)
        pairs = self.run_program(f"dlserve --compare={GOLDEN}/igniter-pairs.csv")
        rows = pairs.rows("compared.csv")
        self.assertEqual(len(rows), 750)
        for row in rows:
            self.assertGreater(row["slowdown"], 1)
            self.assertLess(row["slowdown"], 1.3)

    def test_a_table_of_ones_own(self):
        rows = [
            f"mine,{batch},{share},{batch * 100 / share}\n"
            for batch in (1, 4, 8)
            for share in (25, 50, 100)
        ]
        self.write("curves.csv", "model,batch,gpu_percent,latency_ms\n" + "".join(rows))
        models = [{"model": "mine", "rate": 20, "slo": "100ms", "batch": 4}]
        mix = self.mix(models, curves="curves.csv")
        run = self.run_program(f"dlserve --multiplex={mix} --policy=temporal --duration=5s")
        (one,) = run.stats["multiplex"]
        self.assertEqual(one["models"][0]["served"], one["models"][0]["arrived"])
        self.assertGreaterEqual(one["models"][0]["latency_p50_ms"], 1)

    def test_slices(self):
        """A row for each instance, processes and batch; more of each bring more; a band."""
        run = self.run_program("dlserve --slices --model=resnet50 --batch=1,16 --processes=1,3")
        points = run.stats["slices"]
        self.assertEqual(len(points), 5 * 2 * 2)
        rates = {
            (one["instance"], one["processes"], one["batch"]): one["throughput_per_s"]
            for one in points
        }
        for instance in ("1g.10gb", "7g.80gb"):
            self.assertGreater(rates[instance, 3, 16], rates[instance, 1, 16])
            self.assertGreater(rates[instance, 1, 16], rates[instance, 1, 1])
        for one in points:
            self.assertLess(one["throughput_low_per_s"], one["throughput_per_s"])
            self.assertGreater(one["throughput_high_per_s"], one["throughput_per_s"])
            self.assertWithin(
                one["throughput_per_s"] * one["latency_ms"],
                1e3 * one["processes"] * one["batch"],
                1e-9,
            )
        self.assertRegex(run.out, r"80% of 103 measured, .* lay within -\d+% to \+\d+%")
        self.assertEqual(len(run.rows("slices.csv")), 20)
        # By kernels: a host that launches faster serves more.
        slow, fast = (
            self.run_program(
                f"dlserve --slices --model=resnet-50 --curve=kernels --batch=1 --processes=1 {more}"
            ).stats["slices"][-1]["throughput_per_s"]
            for more in ("", "--operator-time=5us")
        )
        self.assertGreater(fast, 2 * slow)

    def test_measured_slices(self):
        """Median error of measured throughputs; the same with constants that are fitted here."""
        for more in ("", f" --curves={SLICES}"):
            run = self.run_program(f"dlserve --compare={SLICES}{more}")
            *models, everything = run.stats["slices_compared"]
            self.assertEqual(len(models), 6)
            self.assertEqual(everything["rows"], 103)
            self.assertLess(everything["throughput_median_error"], 0.04)
            self.assertLess(abs(everything["throughput_bias"]), 0.01)
            self.assertGreater(everything["rows_in_band"], 0.7 * everything["rows_with_band"])
            self.assertEqual(len(run.rows("compared_slices.csv")), 103)

    def test_mixes_of_instances(self):
        """Closed loops have the throughput of the table, open ones serve what arrives."""
        slow = {"slo": "1s", "batch": 8, "processes": 2}
        models = [
            {**slow, "model": "vgg16", "rate": "closed", "instance": "3g.40gb"},
            {**slow, "model": "resnet50", "rate": 200, "instance": "2g"},
            {"model": "densenet121", "rate": 1e4, "slo": "100ms", "instance": "1g", "batch": 4},
        ]
        run = self.run_program(
            f"dlserve --multiplex={self.mix(models)} --gpu=A100 --duration=100s --report"
        )
        (one,) = run.stats["multiplex"]
        self.assertEqual(one["policy"], "mig")
        self.assertTrue(one["sums"]["equal"])
        self.assertEqual(one["duration_s"], 100)
        self.assertLessEqual(one["effective_utilization"], one["utilization"])
        closed, open_loop, crowded = one["models"]
        self.assertWithin(
            closed["throughput_per_s"], closed["on_instance"]["throughput_closed_per_s"], 0.02
        )
        self.assertWithin(open_loop["throughput_per_s"], 200, 0.02)
        self.assertFalse(open_loop["overloaded"])
        self.assertTrue(crowded["overloaded"])
        self.assertWithin(
            crowded["throughput_per_s"], crowded["on_instance"]["throughput_closed_per_s"], 0.02
        )
        self.assertIn("cannot keep up", run.out)

    def test_mistakes_of_instances(self):
        vgg = {"model": "vgg16", "rate": "closed", "slo": "1s", "instance": "3g.40gb"}
        for change, words in (
            ({"instance": "5g"}, "allowed: 1g.10gb"),
            ({"instance": "3g", "share": "40%"}, "use one of them"),
            ({"processes": 49}, "/models/0/processes"),
            ({"model": "vgg17"}, "vgg16"),
        ):
            mix = self.mix([{**vgg, **change}])
            self.refuse(f"dlserve --multiplex={mix} --gpu=A100", words)
        self.refuse(f"dlserve --multiplex={self.mix([vgg])} --gpu=V100", "allowed: --gpu=A100")
        mix = self.mix([vgg])
        self.refuse(f"dlserve --multiplex={mix} --gpu=A100 --policy=mps", "did you mean 'mig'?")
        del vgg["instance"]
        self.refuse(f"dlserve --multiplex={self.mix([vgg])} --gpu=A100", "needs \"instance\"")
        self.refuse("dlserve --slices --model=resnet-5000", "resnet50")
        self.refuse("dlserve --slices --processes=0", "1 to 48")
        self.refuse("dlserve --slices --model=bert --seq=64 --curve=fitted", "--seq=128")
        rows = "model,instance,processes,batch,throughput_total_per_s\n"
        table = self.write("rows.csv", rows + "resnet50,5g.40gb,1,1,100\n")
        self.refuse(f"dlserve --compare={table}", "is no MIG instance")

    def test_dry_run(self):
        run = self.run_program(f"dlserve --multiplex={self.mix()} --policy=dstack --dry-run")
        self.assertIn("Policy dstack", run.out)
        self.assertIn("resnet-50", run.out)

    def test_mistakes(self):
        for models, words in (
            ([{**MODELS[0], "share": "0%"}], "/models/0/share"),
            ([{**MODELS[0], "share": "130%"}], "1% to 100%"),
            ([{**MODELS[1], "slo": "1ms"}], "least that can be met is 2.31 ms"),
            ([{**MODELS[1], "model": "resnet-51"}], "resnet-50"),
        ):
            self.refuse(f"dlserve --multiplex={self.mix(models)}", words)
        mix = self.mix([{**MODELS[0], "share": "40%"}])
        self.refuse(
            f"dlserve --multiplex={mix} --policy=mig",
            "allowed: 1/7, 2/7, 3/7, 4/7 or 7/7; did you mean '3/7'?",
        )


if __name__ == "__main__":
    main()
