# SPDX-License-Identifier: GPL-2.0-only
"""dltrain: what a GPU's server does in a step (offload, data loading), jitter, and experts with
unequal loads.
"""

import sys

sys.path.append(sys.path[0] + "/../shared")
from _system_test import SystemTest, main, parts_of_step

QUIET = "--report=0 --timeline=0 --network=analytic"
GPT2 = f"dltrain --model=gpt2 --servers=2 --warmup=1 {QUIET}"  # 16 GPUs, 4 samples each


class Host(SystemTest):
    def parts_add_up(self, stats):
        self.assertAlmostEqual(
            stats["step_time_us"],
            sum(parts_of_step(stats).values()),
            places=3,
        )
        self.assertGreaterEqual(min(parts_of_step(stats).values()), 0)

    def test_loading(self):
        plain = self.run_program(GPT2).stats
        self.assertNotIn("data_loading_time_us", plain)
        # 8 GPUs of a server take 32 samples a step.
        slow = self.run_program(f"{GPT2} --loader=20").stats
        self.assertWithin(slow["step_time_us"], 32 / 20 * 1e6, 1e-6)
        self.assertGreater(slow["data_loading_time_us"], 0)
        self.parts_add_up(slow)
        fast = self.run_program(f"{GPT2} --loader=1e9").stats
        self.assertEqual(fast["data_loading_time_us"], 0)
        self.assertEqual(fast["step_time_us"], plain["step_time_us"])

    def test_offload(self):
        plain = self.run_program(GPT2).stats
        for options in ("--offload", "--offload=optimizer --zero=3", "--offload=all --zero=3"):
            with self.subTest(options=options):
                stats = self.run_program(f"{GPT2} {options}").stats
                self.parts_add_up(stats)
                # The CPU's update alone: 28 bytes a parameter at 100 GB/s for 8 of 16 GPUs.
                least = stats["parameters"] * 28 / 2 / 100e9 * 1e6
                self.assertGreater(stats["offload_time_us"], 0.9 * least)
                self.assertLess(
                    stats["gpu_memory_bytes_estimate"], plain["gpu_memory_bytes_estimate"]
                )
                self.assertEqual(stats["gpu_memory_parts_bytes"]["optimizer"], 0)
                self.assertGreater(
                    stats["offloaded_bytes_per_server"], stats["parameters"] * 14 / 2 * 0.999
                )
        lines = self.run_program(f"{GPT2} --offload").text("calls.log")
        self.assertIn("\thost\thost\toptimizer on the host\t", lines)
        self.assertIn("\tto host\thost\tcopy gradients bucket 0\t", lines)

    def test_jitter(self):
        plain = self.run_program(f"{GPT2} --steps=3").stats
        first = self.run_program(f"{GPT2} --steps=3 --jitter=0.1").stats
        again = self.run_program(f"{GPT2} --steps=3 --jitter=0.1").stats
        other = self.run_program(f"{GPT2} --steps=3 --jitter=0.1 --seed=2").stats
        self.assertEqual(first["step_times_us"], again["step_times_us"])
        self.assertNotEqual(first["step_times_us"], other["step_times_us"])
        # 48 draws: their mean is within 4 of its deviations.
        self.assertWithin(first["compute_time_us"], plain["compute_time_us"], 4 * 0.1 / 48**0.5)
        # All wait for the slowest of 16: 1.77 deviations.
        self.assertGreater(first["step_time_us"], plain["step_time_us"])

    def test_gpus_that_differ(self):
        """Each by a factor of its own, in all steps; all wait for the slowest, which is named."""
        job = f"{GPT2} --steps=2 --no-overlap"
        plain = self.run_program(job)
        run = self.run_program(f"{job} --gpu-spread=0.05")
        again = self.run_program(f"{job} --gpu-spread=0.05")
        other = self.run_program(f"{job} --gpu-spread=0.05 --seed=2")
        self.assertEqual(run.stats["step_times_us"], again.stats["step_times_us"])
        self.assertNotEqual(run.stats["step_times_us"], other.stats["step_times_us"])
        usual, found = self.computed(plain), self.computed(run)
        self.assertEqual(usual.keys(), found.keys())
        factors = {}
        for (rank, *_), of, by in ((key, found[key], usual[key]) for key in found):
            factors.setdefault(rank, of / by)
            # calls.log has nanoseconds: half of one in either.
            self.assertAlmostEqual(of, factors[rank] * by, delta=2e-3 + 1e-3 * factors[rank])
        self.assertEqual(len(set(factors.values())), 16)
        mean = sum(factors.values()) / 16
        self.assertWithin(mean, 1, 4 * 0.05 / 16**0.5)
        self.assertWithin(
            run.stats["compute_time_us"], plain.stats["compute_time_us"] * mean, 1e-5
        )
        slowest = max(factors, key=factors.get)
        packets = self.run_program(
            "dltrain --model=gpt2 --servers=2 --report=0 --timeline=0 --no-overlap"
            " --gpu-spread=0.05"
        )
        self.assertRegex(packets.out, rf"longest wait .* for GPU {slowest},")
        plan = self.run_program(f"{job} --gpu-spread=0.05 --dry-run").out
        self.assertIn(f"to {factors[slowest]:.4g} (rank {slowest}) times as long", plan)

    def computed(self, run):
        """us, by rank, step, call and which of these it is."""
        times = {}
        for line in run.text("calls.log").splitlines():
            fields = line.split("\t")
            if len(fields) > 6 and fields[5] == "compute":
                start, end, step, rank, _, _, call = fields[:7]
                count = sum(1 for at in range(100) if (rank, step, call, at) in times)
                times[rank, step, call, count] = float(end) - float(start)
        return {key: time for key, time in times.items() if time > 100}  # rounding is little

    def test_experts(self):
        job = (
            "dltrain --model=mixtral-8x7b --layers=2 --servers=1 --ep=8 --zero=1 --micro-batch=1"
            f" --seq=256 --ignore-memory --warmup=0 {QUIET}"
        )
        even = self.run_program(job).stats
        self.assertNotIn("moe_dropped_share", even)
        skewed = self.run_program(f"{job} --moe-skew=1").stats
        self.assertEqual(skewed["moe_dropped_share"], 0)
        self.assertGreater(skewed["step_time_us"], even["step_time_us"])
        capped = self.run_program(f"{job} --moe-skew=1 --capacity-factor=1").stats
        self.assertGreater(capped["moe_dropped_share"], 0.1)
        self.assertLess(capped["step_time_us"], skewed["step_time_us"])


if __name__ == "__main__":
    main()
