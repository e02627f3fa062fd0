# SPDX-License-Identifier: GPL-2.0-only
# ctest: TIMEOUT 300
"""dlgoodput: its step, checkpoint and restart are dltrain's, and weeks of failures add up."""

import math
import os
import re
import subprocess
import sys

sys.path.append(sys.path[0] + "/../shared")
from _system_test import ROOT, SystemTest, main

QUIET = "--no-report --no-timeline --no-attribution --no-progress"
# Times by hand: an answer in milliseconds.
HAND = "--step-time=2s --checkpoint-time=20s --read-time=30s"
JOB = "--model=gpt2 --server=dgx-a100 --servers=2 --micro-batch=1 --seq=256"


class Weeks(SystemTest):
    def test_time_adds_up(self):
        """Useful and lost time make the duration; interruptions are duration over MTBF, as nothing
        fails while the job waits for nothing.
        """
        run = self.run_program(
            f"dlgoodput {JOB} {HAND} --mtbf=12h --duration=60d --spares=50 --checkpoint=30min"
        )
        (weeks,) = run.stats["goodput_runs"]
        day = 86400
        self.assertAlmostEqual(sum(weeks["time_s"].values()), 60 * day, places=3)
        self.assertAlmostEqual(weeks["goodput"], weeks["time_s"]["useful_s"] / (60 * day))
        self.assertWithin(weeks["interruptions"], 120, 0.05)
        self.assertEqual(weeks["interval_s"], 1800)
        self.assertEqual(weeks["interval_steps"], 900)
        # Daly's complete cost function, M = 12 h, R = 0.1 + 1 + 120 + 30 + 30 s.
        mtbf, recovery = 12 * 3600, 181.1
        segment = mtbf * math.exp(recovery / mtbf) * math.expm1(1820 / mtbf)
        # Of a job that ends: the work that no checkpoint has is half an interval more, and the
        # segment under way half of one less (renewals). A recovery of 60 days is left: 3.5e-5.
        self.assertAlmostEqual(weeks["goodput_closed_form"], 1800 / segment, delta=4e-5)
        self.assertWithin(weeks["goodput"], weeks["goodput_closed_form"], 0.005)
        # A course by itself.
        rows = run.rows("interruptions.csv")
        self.assertEqual({row["cause"] for row in rows}, {"job"})
        self.assertWithin(len(rows), 120, 0.4)
        self.assertEqual([row["at_s"] for row in rows], sorted(row["at_s"] for row in rows))

    def test_work_that_no_checkpoint_has(self):
        """It counts where the job ends with it, in both forms, and a note says so. Runs between
        failures are then the last one: (1 - exp(-60)) x 12 h, less recovery, of 30 days.
        """
        line = f"dlgoodput {JOB} {HAND} --mtbf=12h --spares=50 --replications=400"
        run = self.run_program(f"{line} --checkpoint=100d")
        (weeks,) = run.stats["goodput_runs"]
        self.assertWithin(weeks["goodput_closed_form"], 12 / 720, 0.02)
        self.assertWithin(weeks["goodput"], weeks["goodput_closed_form"], 0.2)
        text = " ".join(run.err.split())
        self.assertIn("checkpoints takes 100 days, longer than the job, 30.0 days", text)
        # One is never written: again the last run, of which 12 h at most are work.
        run = self.run_program(f"{line.replace('--checkpoint-time=20s', '--checkpoint-time=100d')}")
        (weeks,) = run.stats["goodput_runs"]
        self.assertWithin(weeks["goodput_closed_form"], 12 * (1 - math.exp(-1)) / 720, 0.02)
        self.assertWithin(weeks["goodput"], weeks["goodput_closed_form"], 0.2)
        self.assertIn("writing one checkpoint takes 100 days", " ".join(run.err.split()))
        run = self.run_program(f"{line} --checkpoint=1d")
        (weeks,) = run.stats["goodput_runs"]
        self.assertWithin(weeks["goodput"], weeks["goodput_closed_form"], 0.06)
        text = " ".join(run.err.split())
        self.assertIn("longer than the mean time between failures, 12.0 h", text)
        self.assertNotIn("longer than", self.run_program(f"{line} --checkpoint=1h").err)

    def test_checkpoint_in_words(self):
        """Its bytes and rate are those that its time is made of: of the server that writes most."""
        for job in (JOB, JOB.replace("--servers=2", "--gpus-per-server=3 --servers=5 --pp=5")):
            run = self.run_program(
                f"dlgoodput {job} --step-time=2s --mtbf=12h --checkpoint-rate=3Gbps"
            )
            text = " ".join(run.out.split())
            busiest = r"\(([\d.]+) (\w+) of the busiest server at 3\.?0* Gb/s"
            for pattern in (
                rf"written in ([\d.]+) (\w+) {busiest}",
                rf"([\d.]+) (\w+) to read the checkpoint {busiest}",
            ):
                self.assertRegex(text, pattern)
                time, unit, size, of = re.search(pattern, text).groups()
                seconds = float(time) * {"s": 1, "ms": 1e-3}[unit]
                bits = 8 * float(size) * {"GB": 1e9, "MB": 1e6}[of]
                self.assertWithin(seconds, bits / 3e9, 0.02)

    def test_step_that_was_measured(self):
        """It ran, so its memory is no reason to refuse the job; without it, it is."""
        job = "--model=llama3-70b --server=dgx-h100 --servers=1 --micro-batch=1"
        self.run_program(f"dlgoodput {job} {HAND} --mtbf=12h")
        rest = HAND.replace("--step-time=2s ", "")
        run = self.run_program(f"dlgoodput {job} {rest} --mtbf=12h", status=2)
        self.assertIn("memory", run.err)

    def test_page(self):
        run = self.run_program(f"dlgoodput {JOB} {HAND} --mtbf=12h --duration=30d --report")
        self.assertIn("report.html", run.out)
        self.assertIn("A training job that fails", run.text("report.html"))
        run = self.run_program(f"dlgoodput {JOB} {HAND} --mtbf=12h --duration=30d --no-report")
        self.assertNotIn("report.html", run.out)

    def test_same_seed_same_bytes(self):
        line = f"dlgoodput {JOB} {HAND} --duration=90d --spares=1 --weibull-shape=0.7"
        runs = [self.run_program(f"{line} --seed={seed}") for seed in (3, 3, 4)]
        names = ("stats.json", "intervals.csv", "interruptions.csv")
        first, again, other = ([run.text(name) for name in names] for run in runs)
        self.assertEqual(first, again)
        self.assertNotEqual(first[2], other[2])

    def test_configuration_is_a_scenario(self):
        run = self.run_program(f"dlgoodput {JOB} {HAND} --mtbf=12h --spares=3 --seed=9")
        job = self.write("job.json", run.stats["configuration"])
        again = self.run_program(f"dlgoodput --scenario={job}")
        self.assertEqual(run.text("stats.json"), again.text("stats.json"))

    def test_optimum(self):
        """sqrt(2 x 20 s x 43,200 s) = 1,315 s by Young; Daly's is shorter, and no other interval of
        intervals.csv is better.
        """
        run = self.run_program(f"dlgoodput {JOB} {HAND} --mtbf=12h --spares=9")
        (weeks,) = run.stats["goodput_runs"]
        self.assertAlmostEqual(weeks["interval_young_s"], math.sqrt(2 * 20 * 43200))
        self.assertLess(weeks["interval_daly_s"], weeks["interval_young_s"])
        self.assertLess(abs(weeks["interval_s"] - weeks["interval_daly_s"]), 2)
        best = max(row["goodput"] for row in run.rows("intervals.csv"))
        self.assertAlmostEqual(best, weeks["goodput_closed_form"], places=4)
        self.assertGreater(weeks["goodput_closed_form"], weeks["goodput_half_interval"])
        self.assertGreater(weeks["goodput_closed_form"], weeks["goodput_double_interval"])

    def test_spares(self):
        """With none the job waits for each repair: MTBF over MTBF and repair, 1 of 3."""
        run = self.run_program(
            f"dlgoodput {JOB} {HAND} --mtbf=12h --repair-time=1d --duration=1y --replications=50"
        )
        (weeks,) = run.stats["goodput_runs"]
        shares = {row["spares"]: row["waiting"] for row in weeks["spares"]}
        self.assertAlmostEqual(shares[0], 2 / 3)
        self.assertWithin(weeks["time_s"]["waiting_s"] / (365.25 * 86400), 2 / 3, 0.02)
        self.assertWithin(weeks["goodput"], weeks["goodput_closed_form"], 0.03)
        self.assertLess(min(shares.values()), 1e-4)

    def test_shrinking(self):
        run = self.run_program(
            f"dlgoodput {JOB.replace('--servers=2', '--servers=8')} {HAND} --zero=0"
            " --recovery=shrink --duration=1y --mtbf=3d"
        )
        (weeks,) = run.stats["goodput_runs"]
        # 8 servers, of which one fails every 24 days, with its 8 of 64 replicas. They are away for
        # a day, and then for half an interval: they come back with a checkpoint.
        away = 1 + weeks["interval_s"] / 2 / 86400
        self.assertWithin(
            weeks["time_s"]["fewer_s"] / (365.25 * 86400), away / (24 + away), 0.05
        )
        self.assertEqual(weeks["time_s"]["waiting_s"], 0)
        self.assertWithin(weeks["goodput"], weeks["goodput_closed_form"], 0.02)

    def test_many_failures(self):
        """interruptions.csv has 100,000 of the 2.6 million failures in 30 days; 2.6 billion are
        refused.
        """
        line = f"dlgoodput {JOB} {HAND} --mtbf=1s --spares=10000 --repair-time=0s"
        run = self.run_program(f"{line} --replications=1")
        (weeks,) = run.stats["goodput_runs"]
        self.assertEqual(len(run.rows("interruptions.csv")), 100000)
        self.assertEqual(weeks["interruptions_left_out"], weeks["interruptions"] - 100000)
        self.assertIsNone(weeks["goodput_half_width"])
        self.assertNotIn("+-", run.out)
        run = self.refuse(f"{line} --replications=1000", "--replications=1000: 2.59e+09 failures")
        self.assertFalse(os.path.exists(run.folder))
        self.refuse(f"{line} --duration=100y", "--duration=100y: 3.16e+11 failures")

    def test_writes_longer_than_the_interval(self):
        run = self.run_program(
            f"dlgoodput {JOB} {HAND} --checkpoint-async --checkpoint=10s --mtbf=12h"
        )
        self.assertIn("writing takes 20.0 s, so GPUs wait", " ".join(run.out.split()))

    def test_parts_of_the_cluster(self):
        """Numbers of parts are the cluster's, and their rates add up."""
        run = self.run_program(f"dlgoodput {JOB} {HAND} --nics-per-server=4 --gpu-mtbf=never")
        (weeks,) = run.stats["goodput_runs"]
        parts = {cause["cause"]: cause for cause in weeks["causes"]}
        self.assertNotIn("gpu", parts)
        self.assertEqual(parts["nic"]["parts"], 8)
        self.assertEqual(parts["server"]["parts"], 2)
        self.assertEqual(parts["software"]["parts"], 16)
        rate = sum(cause["parts"] / cause["mtbf_s"] for cause in parts.values())
        self.assertAlmostEqual(weeks["mtbf_s"] * rate, 1)
        # NCCL's queue pairs: 4.096 us x 2^20 x 8; a process that is gone: 100 ms.
        self.assertAlmostEqual(parts["nic"]["detection_s"], 4.096e-6 * 2**20 * 8, places=6)
        self.assertAlmostEqual(parts["server"]["detection_s"], 0.1)

    def test_llama_3(self):
        """419 interruptions in 54 days of 16,384 GPUs (arXiv:2407.21783, section 3.3.4): more than
        90% of effective training time, as published. All of recovery is by default.
        """
        mtbf = 54 * 24 * 3600 / 419
        run = self.run_program(
            "dlgoodput --model=llama3-405b --server=dgx-h100 --gpus=16384 --tp=8 --pp=16"
            f" --seq=8192 --micro-batch=1 --step-time=11s --mtbf={mtbf:.0f}s --duration=54d"
            " --spares=100 --replications=20"
        )
        (weeks,) = run.stats["goodput_runs"]
        self.assertGreater(weeks["goodput"], 0.9)
        self.assertGreater(weeks["goodput_closed_form"], 0.9)
        self.assertWithin(weeks["goodput"], weeks["goodput_closed_form"], 0.02)
        self.assertWithin(weeks["interruptions"], 419, 0.05)

    def test_numbers_of_gpus(self):
        run = self.run_program(
            "dlgoodput --model=llama3-8b --server=dgx-h100 --gpus=64,512,4096 --micro-batch=1"
            f" {HAND} --spares=3"
        )
        weeks = run.stats["goodput_runs"]
        self.assertEqual([one["gpus"] for one in weeks], [64, 512, 4096])
        goodputs = [one["goodput"] for one in weeks]
        self.assertEqual(goodputs, sorted(goodputs, reverse=True))
        self.assertEqual({row["gpus"] for row in run.rows("intervals.csv")}, {64, 512, 4096})


class Times(SystemTest):
    def test_are_dltrains(self):
        """The step is dltrain's on the same network (but for layers that are extrapolated, as in
        dlplan's verification). A checkpoint takes what dltrain's recovery says.
        """
        job = f"{JOB} --zero=1 --checkpoint-rate=80Gbps"
        run = self.run_program(f"dlgoodput {job} --checkpoint-async --no-progress")
        (weeks,) = run.stats["goodput_runs"]
        step = self.run_program(
            f"dltrain {JOB} --zero=1 --network=analytic --steps=1 {QUIET}"
        ).stats
        self.assertWithin(weeks["step_s"] * 1e6, step["step_time_us"], 0.02)
        own = self.run_program(
            f"dltrain {job} --checkpoint-async --checkpoint-every=1 --steps=2 {QUIET}"
        ).stats["recovery"]
        for key, theirs in (
            ("checkpoint_write_s", "checkpoint_time_us"),
            ("checkpoint_wait_s", "checkpoint_copy_time_us"),
            ("checkpoint_read_s", "checkpoint_read_time_us"),
        ):
            self.assertAlmostEqual(weeks[key] * 1e6, own[theirs], delta=1)
        self.assertEqual(weeks["checkpoint_bytes"], own["checkpoint_bytes"])

    def test_network(self):
        """Packets are sent if they are asked for, and none for an estimate."""
        run = self.run_program(f"dlgoodput {JOB} --network=packet --no-progress")
        (weeks,) = run.stats["goodput_runs"]
        self.assertEqual(weeks["step_from"], "simulated, packet")
        stats = self.run_program(f"dltrain {JOB} --steps=1 {QUIET}").stats
        self.assertWithin(weeks["step_s"] * 1e6, stats["step_time_us"], 0.03)
        (weeks,) = self.run_program(f"dlgoodput {JOB} --no-progress").stats["goodput_runs"]
        self.assertEqual(weeks["step_from"], "simulated, analytic")
        run = self.run_program(f"dlgoodput {JOB} --step-from=estimate")
        (estimate,) = run.stats["goodput_runs"]
        self.assertWithin(estimate["step_s"], weeks["step_s"], 0.1)
        self.assertFalse(os.path.exists(run.path("simulated")))

    def test_storage_servers(self):
        """gpt2 has 124 million parameters: 14 bytes each, to one storage server. They cannot take
        less than at the rate of its NICs, eight of 200 Gb/s.
        """
        run = self.run_program(f"dlgoodput {JOB} --checkpoint-servers=1 --no-progress")
        (weeks,) = run.stats["goodput_runs"]
        least = weeks["checkpoint_bytes"] * 8 / (8 * 200e9)
        self.assertGreater(weeks["checkpoint_write_s"], least)
        self.assertLess(weeks["checkpoint_write_s"], 20 * least)
        self.assertGreater(weeks["checkpoint_read_s"], 0)
        self.assertIn("1 storage server", run.out)


class Use(SystemTest):
    def test_dry_run_writes_nothing(self):
        run = self.run_program(f"dlgoodput {JOB} --dry-run")
        self.assertIn("dlplan's estimate", run.out)
        self.assertFalse(os.path.exists(run.folder))

    def test_lines_are_short(self):
        run = self.run_program(f"dlgoodput {JOB} {HAND} --checkpoint-async")
        lines = [line for line in run.out.split("\n") if not line.startswith("Results")]
        self.assertLessEqual(max(map(len, lines)), 80)

    def test_mistakes(self):
        for words, text in (
            ("--mtbf=3", "--mtbf=3: allowed: a time such as"),
            ("--mtbf=3h --nic-mtbf=5y", "--nic-mtbf=5y: --mtbf says how often anything fails"),
            ("--checkpoint=soon", "--checkpoint=soon: allowed: auto"),
            ("--recovery=shrink --zero=1", "--recovery=shrink: ZeRO stage 1"),
            ("--recovery=shrnk", "did you mean 'shrink'?"),
            ("--repair=1d", "did you mean"),
            ("--tp=3", "--tp=3"),
            ("--checkpoint-copy-rate=8Gbps", "--checkpoint-copy-rate=8Gbps"),
            ("--jobs=x.json", "--jobs"),
        ):
            run = self.refuse(f"dlgoodput {JOB} {words} --no-progress", text)
            self.assertFalse(os.path.exists(run.folder))

    def test_picture(self):
        run = self.run_program(
            f"dlgoodput --model=llama3-8b --server=dgx-h100 --gpus=64,512 --micro-batch=1 {HAND}"
        )
        subprocess.run(
            [os.path.join(ROOT, "scripts", "plot"), run.folder, "--only=goodput", "--format=png"],
            check=True,
            capture_output=True,
        )
        self.assertGreater(os.path.getsize(run.path("plots/goodput.png")), 10000)


if __name__ == "__main__":
    main()
