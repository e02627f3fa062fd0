# SPDX-License-Identifier: GPL-2.0-only
"""What a plan (--dry-run) says of a run, and the run then does: frames, whatever the congestion
control, the verb and the connections are; bytes of GPUs, whatever the algorithm is; bounds.
"""

import os
import re
import sys

sys.path.append(sys.path[0] + "/../shared")
from _system_test import SLOWER, SystemTest, main

UNITS = {"B": 1, "kB": 1e3, "MB": 1e6, "GB": 1e9}
TIMES_US = {"ns": 1e-3, "us": 1, "ms": 1e3, "s": 1e6}


class PlansAndRuns(SystemTest):
    def plan(self, line):
        return self.run_program(line + " --dry-run")

    def counted(self, plan, pattern):
        return int(re.search(pattern, plan).group(1))

    def least_us(self, plan):
        least, unit = re.search(r"at least ([\d.]+) (\w+)\n", plan).groups()
        return float(least) * TIMES_US[unit]

    def presets(self):
        """(congestion control, preset) by the programs' own lists."""
        names = re.findall(r"(?m)^  ([\w-]+) ", self.run_program("traffic --list=cc").out)
        listed = self.run_program("traffic --list=cc-preset").out
        presets = re.findall(r"(?m)^  ([\w-]+) ", listed)
        self.assertGreater(len(names), 8)
        self.assertGreater(len(presets), 12)
        for name in names:
            if name == "none":
                yield name, None
                continue
            # The error for a preset of another one says which it has.
            other = "pint20" if name in ("dcqcn", "loss-rate") else "nvidia-nic"
            self.assertIn(other, presets)
            error = self.run_program(f"traffic --cc={name} --cc-preset={other}", status=2).err
            own = re.search(r"allowed: ([^\n]+)", error)
            for preset in own.group(1).split(", ") if own else [None]:
                yield name, preset

    def test_messages_of_a_library_are_longer_on_the_wire(self):
        """What stages of a pipeline, or replicas and parameter servers, send each other takes the
        share of a port's rate that is the library's, as bytes on the wire: in plans, too. (Of some
        servers this share is 1.)
        """
        for line, longer in (
            ("--model=s2vt --server=dgx-h100 --pp=2", True),
            ("--model=s2vt --server=polaris --pp=2", True),
            ("--model=s2vt --server=dgx-a100 --pp=2", False),
            ("--model=mlp-mnist --server=jean-zay --strategy=sandblaster", True),
        ):
            line = f"dltrain {line} --servers=2 --zero=0 --micro-batch=1 --warmup=0"
            planned = self.counted(self.plan(line).out, r"packets +(\d+) data")
            stats = self.run_program(line).stats
            self.assertEqual(planned, stats["data_packets"], line)
            plain = self.counted(self.plan(line + " --library=none").out, r"packets +(\d+) data")
            (self.assertGreater if longer else self.assertEqual)(planned, plain, line)

    def test_more_time_than_a_clock_can_count(self):
        """2^63 picoseconds are 107 days. Where a run would go beyond a bound below that, plan and
        run refuse it with what makes it so long; just below they do not.
        """
        slow = self.write("slow.json", {"name": "X", "base": "A100", "bf16_tflops": 1e-9})
        gpt2 = "dltrain --model=gpt2 --gpus-per-server=1 --warmup=0"
        goal = os.path.join(self.folder, "long.goal")
        with open(goal, "w", encoding="utf-8") as file:
            file.write("num_ranks 1\nrank 0 {\nl1: calc 1000000000000\n}\n")  # ns: 1,000 s
        trace = f"dltrain --trace={goal} --gpus-per-server=1 --servers=1 --warmup=0"
        for line, by in (
            (f"{gpt2} --servers=2 --loader=1e-6", "loading data"),
            (f"{gpt2} --servers=1 --loader=1e-6 --network=analytic", "loading data"),
            (f"{gpt2} --servers=1 --gpu={slow}", "computing"),
            (
                f"{gpt2} --servers=1 --micro-batch=1000000 --seq=1000000 --ignore-memory",
                "computing",
            ),
            # Busiest: 2 (n-1)/n of the bytes, at 12.5 GB/s.
            ("collperf --ranks=4 -b 1000TB -n 9 -w 0 --network=analytic", "at the busiest NIC"),
            (f"{trace} --steps=1001", "computing"),
        ):
            for dry in ("", " --dry-run"):
                self.refuse(line + dry, f"of simulated time, {by}; allowed: 278 h")
        for line in (
            "collperf --ranks=4 -b 1000TB -n 8 -w 0 --network=analytic --dry-run",
            f"{trace} --steps=1000 --dry-run",
        ):
            self.assertIn("simulated time  at least 2", self.run_program(line).out)

    def test_errors_name_the_options_of_what_they_stand_beside(self):
        """A fat-tree's links that are slower than its servers' make a factor of their own."""
        for program in ("traffic --hosts=16", "collperf --servers=16", "dltrain --model=gpt2"):
            self.refuse(
                f"{program} --topology=fat-tree --oversubscription=2 --fabric-rate=10Gbps"
                " --dry-run",
                "--oversubscription=2: with --fabric-rate=10Gbps: ",
                "allowed: 1 (all of them), or from 10 on",
            )
        self.refuse(
            f"dltrain --model={self.write('config.json', {'model_type': None})} --dry-run",
            "config.json: /model_type: is missing, as is /architectures: ",
        )

    def test_acks_of_every_congestion_control(self):
        # Three flows of 7 packets each over two links: 21 x 2 hops of data. With an ACK every 5
        # packets 2 for a flow, 6 x 2 hops; a law that wants to hear of each packet has 21 x 2.
        # Nobody is in anybody's way, so nothing is marked, and there is nothing else.
        seen = set()
        for name, preset in self.presets():
            line = (
                "traffic --topology=single-switch --hosts=3 --offset=1 --mtu=1024 --bytes=7000B"
                # A window that no flow fills; HPCC's code has none without.
                f" --ack-every=5 --window=1MB --cc={name}"
            ) + (f" --cc-preset={preset}" if preset else "")
            plan = self.plan(line)
            hops = self.counted(plan.out, r"frame-hops +(\d+)\n")
            self.assertEqual(hops, self.run_program(line).stats["frame_hops"], line)
            self.assertIn(hops, (54, 84))
            self.assertIn("an ACK every " + ("5 packets" if hops == 54 else "1 packet"), plan.out)
            self.assertEqual("--ack-every has no effect" in plan.err, hops == 84, line)
            seen.add(hops)
        self.assertEqual(seen, {54, 84})
        # What nobody goes by: thresholds of switches that mark nothing, and a preset of --cc=none,
        # which is but thresholds. Of a configuration as run, which has the preset's, none is told.
        line = "traffic --topology=single-switch --hosts=3 --bytes=7kB"
        for more, what in (
            (" --ecn=0 --ecn-kmin=100kB", "--ecn-kmin has no effect with --ecn=0"),
            (" --transport=ndp --cc-preset=nvidia-nic", "--cc-preset has no effect"),
            (" --fabric=ib --cc-preset=nvidia-nic", "InfiniBand's have --fecn-threshold"),
        ):
            self.assertIn(what, self.plan(line + more).err)
        for more in (" --transport=uet", " --cc=none"):
            self.assertNotIn("no effect", self.plan(f"{line}{more} --cc-preset=nvidia-nic").err)
        run = self.run_program(line + " --ecn=0 --cc=none")
        again = self.write("again.json", {"program": "traffic", **run.stats["configuration"]})
        self.assertNotIn("no effect", self.plan(f"traffic --scenario={again}").err)
        # What another loss recovery answers, too; the default, as configurations have it, is told
        # by nobody.
        line = "traffic --topology=single-switch --hosts=3 --bytes=7kB --loss-recovery=out-of-order"
        self.assertIn("--ack-every has no effect", self.plan(line + " --ack-every=4").err)
        self.assertNotIn("no effect", self.plan(line + " --ack-every=16 --cc=hpcc").err)

    def test_reads(self):
        # 4 flows of 3 packets over two links, and a request for each: 4 x (3 + 1) x 2.
        line = (
            "traffic --topology=single-switch --hosts=4 --offset=1 --bytes=10kB --operation=read"
            " --ack-every=1"
        )
        plan = self.plan(line).out
        stats = self.run_program(line).stats
        self.assertEqual(self.counted(plan, r"frame-hops +(\d+)\n"), 32)
        self.assertEqual(stats["frame_hops"], 32)
        self.assertEqual(self.counted(plan, r" (\d+) ACK"), 0)

    def test_split_messages(self):
        # A ring of 5 ranks, all_gather: 5 x 4 messages of 20,000 B. Over 3 queue pairs each is cut
        # into parts of 6,667 B, rounded up to 6,784: 6,784 + 6,784 + 6,432, at an MTU of 4,096 two
        # packets each instead of five for the whole.
        line = (
            "collperf --op=all_gather --algorithm=ring --library=none --ranks=5 -b 100000 --cc=none"
            " --qps-per-connection=3"
        )
        for split, messages, packets in (("", 20, 100), (" --split-data-on-qps", 60, 120)):
            plan = self.plan(line + split).out
            stats = self.run_program(line + split).stats
            self.assertEqual(self.counted(plan, r"messages +(\d+) between"), messages)
            self.assertEqual(stats["messages"], messages)
            self.assertEqual(self.counted(plan, r"packets +(\d+) data"), packets)
            self.assertEqual(stats["data_packets"], packets)

    def test_bounds_of_several_planes(self):
        # Parts of a message go by both planes, each of which has half of the NIC's rate.
        line = (
            "collperf --op=all_gather --algorithm=ring --library=none --ranks=4 -b 40M"
            " --topology=dual-plane --hosts-per-leaf=4 --qps-per-connection=2 --split-data-on-qps"
            " --link-delay=5ns"
        )
        least = self.least_us(self.plan(line).out)
        took = self.run_program(line).stats["simulated_time_us"]
        # 3/4 of 40 MiB by two ports of 50 Gb/s; headers are 82 B of a packet.
        self.assertWithin(least, 0.75 * 40 * 2**20 * 8 / 100e3 * (1 + 82 / 4096), 0.002)
        self.assertLess(least, took)
        self.assertGreater(least, 0.9 * took)

    def test_bounds_of_parameter_servers(self):
        """Nobody waits for the last pushes, nor for what is fetched ahead at the end."""
        for strategy in ("downpour", "downpour --push-every=2", "sandblaster", "backup-workers"):
            for more in ("--steps=2 --warmup=0", "--steps=4 --warmup=1 --gpu-spread=0.1"):
                for nic in ("25GbE", "400GbE"):
                    line = (
                        "dltrain --model=gpt2 --seq=128 --servers=3 --gpus-per-server=2"
                        f" --nic={nic} --network=analytic --report=0 --strategy={strategy} {more}"
                    )
                    with self.subTest(line=line):
                        # A plan has three digits.
                        least = self.least_us(self.plan(line).out) * 0.995
                        took = self.run_program(line).stats["simulated_time_us"]
                        self.assertLessEqual(least, took)
                        self.assertGreater(least, 0)

    def test_bounds_hold_whoever_waits(self):
        """Replicas nearer to their servers than others, pipelines that are not emptied, jitter that
        makes GPUs faster: the plan's least time is no more than the run's.
        """
        gpt2 = "dltrain --model=gpt2 --seq=64 "
        vit = "dltrain --model=vit-b-16 --micro-batch=2 --gpus-per-server=1 "
        for line in (
            gpt2
            + "--gpus=4 --gpus-per-server=2 --parameter-servers=1 --strategy=downpour --steps=5",
            gpt2
            + "--gpus=4 --gpus-per-server=2 --parameter-servers=1 --strategy=backup-workers"
            " --backup-workers=2 --steps=5",
            "dltrain --model=vgg16 --gpus=6 --gpus-per-server=3 --parameter-servers=1"
            " --strategy=downpour --steps=2 --warmup=3",
            vit + "--gpus=8 --pp=2 --pipeline-schedule=pipedream --warmup=0",
            vit + "--gpus=8 --pp=2 --pipeline-schedule=pipedream --warmup=2 --steps=2",
            *(
                f"{gpt2}--gpus=2 --gpus-per-server=2 --jitter={jitter} --seed={seed}"
                for jitter in (0.3, 1)
                for seed in (1, 3)
            ),
            gpt2 + "--gpus=6 --gpus-per-server=2 --pp=3 --accumulation=4 --jitter=0.5 --steps=3",
            gpt2 + "--gpus=6 --gpus-per-server=2 --slow-gpu=5:10 --jitter=1",
            gpt2 + "--gpus=5 --gpus-per-server=1 --pp=5",
            gpt2 + "--gpus=8 --gpus-per-server=2 --pp=4 --virtual-stages=3 --accumulation=4",
        ):
            with self.subTest(line=line):
                line += " --network=analytic --report=0 --timeline=0"
                least = self.least_us(self.plan(line).out) * 0.995
                took = self.run_program(line).stats["simulated_time_us"]
                self.assertLessEqual(least, took)

    def test_what_fills_a_pipeline_is_counted(self):
        """PipeDream's is never empty: in the first step each stage but the last is ahead by as many
        micro-batches as stages are behind it, and sends these besides."""
        for stages, steps, warmup in ((2, 1, 0), (2, 3, 0), (3, 2, 1), (4, 2, 2)):
            line = (
                f"dltrain --gpus={stages} --gpus-per-server=1 --model=vit-b-16"
                f" --micro-batch=1 --pp={stages} --pipeline-schedule=pipedream"
                f" --steps={steps} --warmup={warmup}"
            )
            plan = self.plan(line).out
            stats = self.run_program(line + " --report=0").stats
            with self.subTest(line=line):
                if warmup == 0:  # else the run does not count the packets of warm-up
                    self.assertEqual(
                        self.counted(plan, r"messages +(\d+) between"), stats["messages"]
                    )
                ahead = {2: 1, 3: 2 + 1, 4: 3 + 2 + 1}[stages]
                # Forward and backward between neighbours, and what is ahead.
                usual = 2 * (stages - 1) * (steps + warmup)
                self.assertEqual(self.counted(plan, r"messages +(\d+) between"), usual + ahead)

    def test_memory_of_many_pieces(self):
        """Leaves of a tree post all that they have at once: within a factor of two of the peak."""
        if SLOWER > 1:
            self.skipTest("a sanitizer takes memory of its own")
        for line in (
            "--op=reduce --algorithm=tree -b 512K --pipeline=16 --ranks=8",
            "--op=broadcast --algorithm=tree -b 1M --pipeline=16 --ranks=6 --gpus-per-server=3",
            "--op=broadcast --algorithm=ring -b 1M --pipeline=16 --ranks=5",
        ):
            with self.subTest(line=line):
                plan = self.plan("collperf " + line).out
                told = float(re.search(r"host memory +about ([\d.]+) MiB", plan).group(1)) * 2**20
                peak = self.run_program(f"collperf {line} --report=0").stats["peak_rss_bytes"]
                self.assertGreater(told, peak / 2)
                self.assertLess(told, peak * 2)

    def test_a_mean_over_draws_says_so(self):
        line = "dltrain --gpus=8 --model=gpt2 --seq=64 --jitter=0.3"
        self.assertIn("a step in the mean of all, with those of warm-up", self.plan(line).out)
        self.assertIn("a step (busiest", self.plan(line + " --warmup=0").out)
        self.assertIn("a step in the mean of all (", self.plan(line + " --warmup=0 --steps=2").out)

    def test_the_bubble_is_in_the_bound(self):
        # One micro-batch goes through five stages and back: (p - 1)/m of the computing more, with
        # equal stages; those of gpt2 are not.
        line = (
            "dltrain --model=gpt2 --seq=64 --gpus=5 --gpus-per-server=1 --pp=5 --micro-batch=1"
            " --nic=400GbE --report=0 --timeline=0"
        )
        plan = self.plan(line).out
        computing, whole = re.search(
            r"computing ([\d.]+) ms, with the pipeline's bubble ([\d.]+) ms", plan
        ).groups()
        self.assertGreater(float(whole), 2 * float(computing))
        took = self.run_program(line).stats["simulated_time_us"]
        self.assertGreater(self.least_us(plan), 0.6 * took)

    def test_bytes_of_every_algorithm(self):
        model = self.write(
            "model.json",
            '{"name": "tiny", "layers": 2, "hidden": 64, "heads": 4, "vocab": 500, "sequence": 64}',
        )
        # Plain data parallelism, one bucket: S bytes of gradients among 4 ranks.
        line = (
            f"dltrain --model={model} --seq=64 --micro-batch=1 --servers=2 --gpus-per-server=2"
            " --zero=0 --buckets=100MB --first-bucket=100MB --warmup=0"
        )
        size = 2 * self.run_program(line).stats["parameters"]
        # Ring and halving-doubling 2 (n-1)/n S; recursive doubling log2(n) S; every-to-every n - 1
        # times S.
        for algorithm, factor in (
            ("ring", 1.5),
            ("halving-doubling", 1.5),
            ("recursive-doubling", 2),
            ("every-to-every", 3),
        ):
            run = f"{line} --algorithm=all_reduce={algorithm}"
            number, unit = re.search(
                r"a GPU sends +all_reduce ([\d.]+) (\w+)", self.plan(run).out
            ).groups()
            sent = self.run_program(run).stats["bytes_sent_per_gpu"]["all_reduce"]
            self.assertWithin(sent, factor * size, 1e-3, algorithm)
            self.assertWithin(float(number) * UNITS[unit], sent, 1e-3, algorithm)
        # By the names that results have.
        run = line.replace("--zero=0", "--zero=1 --cp=2 --context-exchange=ulysses").replace(
            "--first-bucket=100MB", ""
        )
        told = re.search("a GPU sends.*", self.plan(run).out)[0]
        names = set(re.findall(r"(\w+) [\d.]+ k?B", told))
        self.assertEqual(names, set(self.run_program(run).stats["bytes_sent_per_gpu"]))


class WhoseTime(SystemTest):
    def test_ranks_that_leave_at_once(self):
        # A gather along a tree without a library: leaves send at 0 and are done with it, so the
        # least is 0, and the mean lies between it and the largest.
        for line in (
            "collperf --op=gather --algorithm=k-nomial --ranks=9 -b 36 --library=none",
            "collperf --op=scatter --algorithm=direct --ranks=5 -b 40 --library=none",
        ):
            zero, mean, least, largest = (
                float(self.run_program(f"{line} -a {a}").rows("collectives.csv")[0]["time_us"])
                for a in range(4)
            )
            self.assertEqual(least, 0, line)
            self.assertLess(least, mean)
            self.assertLess(mean, largest)
            self.assertIn(zero, (least, largest))


if __name__ == "__main__":
    main()
