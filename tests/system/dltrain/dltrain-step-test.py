# SPDX-License-Identifier: GPL-2.0-only
"""dltrain: how long a step takes, what of it is computing, and how many bytes each ZeRO stage
moves.
"""

import sys

sys.path.append(sys.path[0] + "/../shared")
from _system_test import SystemTest, main, parts_of_step

PARAMETERS = 4 << 20  # of the model below
PSI = 2 * PARAMETERS  # bytes in bf16


def small_model(test):
    """Four equal layers. Parameters are divisible by ranks and buckets, so that nothing is
    rounded.
    """
    layers = [{"name": name, "parameters": PARAMETERS // 4, "flops": 2.0e9} for name in "abcd"]
    return test.write("small.json", {"name": "small", "sequence": 128, "layers": layers})


def calls(run):
    """calls.log as dictionaries."""
    lines = [line for line in run.text("calls.log").splitlines() if not line.startswith("# calls")]
    names = lines[0].lstrip("# ").split("\t")
    return [dict(zip(names, line.split("\t"), strict=True)) for line in lines[1:]]


def busy_us(intervals):
    """Length of the union of intervals."""
    total, end = 0.0, float("-inf")
    for a, b in sorted(intervals):
        total += max(0.0, b - max(a, end))
        end = max(end, b)
    return total


class DefaultJob(SystemTest):
    def test_the_main_job(self):
        run = self.run_program("dltrain --model=bloom560m --zero=2")
        stats = run.stats
        self.assertTrue(stats["completed"])
        self.assertEqual(
            (stats["gpus"], stats["servers"], stats["parameters"]), (128, 16, 559214592)
        )
        self.assertEqual(run.status, 0)

        # A step is computing plus what communication it waits for; calls.log tells both apart
        # independently.
        self.assertAlmostEqual(
            stats["step_time_us"],
            sum(parts_of_step(stats).values()),
            places=3,
        )
        records = calls(run)
        compute = [0.0] * 128
        for call in records:
            if call["stream"] == "compute":
                compute[int(call["rank"])] += float(call["end_us"]) - float(call["start_us"])
        self.assertWithin(sum(compute) / 128, stats["compute_time_us"], 1e-6)
        first = min(float(call["start_us"]) for call in records)
        last = max(float(call["end_us"]) for call in records)
        # Ranks enter the measured step one after another, as they leave the warm-up's; the step
        # counts from the last.
        self.assertGreaterEqual(last - first, stats["step_time_us"] * (1 - 1e-9))
        self.assertLess(last - first, stats["step_time_us"] * 1.02)
        communication = [[] for _ in range(128)]
        for call in records:
            if call["kind"] == "collective":
                communication[int(call["rank"])].append(
                    (float(call["start_us"]), float(call["end_us"]))
                )
        self.assertWithin(
            sum(map(busy_us, communication)) / 128, stats["communication_time_us"], 0.01
        )
        # Overlap: less waits than runs.
        self.assertLess(stats["exposed_communication_time_us"], stats["communication_time_us"])

        # 2 psi (n-1)/n bytes a GPU, 1 psi of each kind, up to rounding to multiples of 128 ranks.
        psi = 2 * 559214592
        for op in ("reduce_scatter", "all_gather"):
            self.assertWithin(stats["bytes_sent_per_gpu"][op], psi * 127 / 128, 1e-5)
        self.assertEqual(set(stats["bytes_sent_per_gpu"]), {"reduce_scatter", "all_gather"})
        # A flat ring over 16 servers: one GPU of each sends over the network, so 16/128 of all
        # bytes.
        sent = sum(stats["bytes_sent_per_gpu"].values()) * 128
        # Messages of LL128 have 8 bytes of flags for 120 of data; those of simple have none.
        flagged = sum(
            one["bytes"] for one in stats["collectives"] if one["protocol"] == "ll128"
        ) / sum(one["bytes"] for one in stats["collectives"])
        self.assertEqual({one["protocol"] for one in stats["collectives"]}, {"ll128", "simple"})
        self.assertWithin(stats["message_bytes"], sent * 16 / 128 * (1 + flagged * 8 / 120), 1e-5)
        # No faster than the busiest NIC; no slower than computing and then communicating, with 25%
        # on top.
        network_us = sum(stats["bytes_sent_per_gpu"].values()) * 4178 / 4096 * 8e-3 / 100
        self.assertGreater(busy_us(sum(communication, [])), network_us)
        self.assertLess(stats["step_time_us"], stats["compute_time_us"] + 1.25 * network_us)

        # Servers in ring order on a full fat-tree meet no congestion.
        self.assertEqual(stats["ecn_marks"], 0)
        self.assertEqual(stats["cnps"], 0)
        self.assertEqual(stats["pfc_pauses"], 0)
        self.assertEqual(stats["pfc_pause_time_us"], 0)
        self.assertEqual(sum(stats["drops"].values()), 0)
        self.assertEqual(stats["retransmitted_packets"], 0)

        # 8 x 3.5 links a packet ... the whole run, with warm-up: about 64 million frame-hops.
        self.assertWithin(stats["frame_hops"], 64e6 * (1 + flagged * 8 / 120), 0.05)
        self.assertLess(stats["peak_rss_bytes"], 2 << 30)
        # Samples: 512 a step. TFLOP/s: 3 x forward; 6 FLOPs a parameter and token and the attention
        # on top.
        self.assertWithin(stats["samples_per_s"], 512 / stats["step_time_us"] * 1e6, 1e-9)
        tokens = 4 * 2048
        self.assertGreater(
            stats["tflops_per_gpu"], 6 * 559214592 * tokens / stats["step_time_us"] * 1e-6
        )
        self.assertLess(stats["tflops_per_gpu"], 312)
        # Model FLOPs utilization: over the 312 TFLOP/s that an A100 does in bf16 (NVIDIA's data
        # sheet).
        self.assertEqual(stats["peak_tflops_per_gpu"], 312)
        self.assertWithin(stats["mfu"], stats["tflops_per_gpu"] / 312, 1e-12)
        self.assertIn(f"TFLOP/s per GPU, MFU {100 * stats['mfu']:.1f}% of 312\n", run.out)
        # The summary says what stats.json says.
        self.assertIn(f"{stats['step_time_us'] / 1e3:.0f} ms", run.out)
        self.assertIn(run.folder, run.out)
        for link in stats["links"]:
            self.assertIn(link["link"], run.out)


class ZeroVolumes(SystemTest):
    """Bytes a GPU sends in a step, n = 32 GPUs of 4 servers, psi bytes of gradients, m
    micro-batches:

        stage 0   all-reduce once                            2 psi (n-1)/n
        stage 1   reduce-scatter once, all-gather once       2 psi (n-1)/n
        stage 2   reduce-scatter m times, all-gather once    (m + 1) psi (n-1)/n
        stage 3   all-gather 2 m times, reduce-scatter m     3 m psi (n-1)/n

    (Rajbhandari et al., SC'20, section 7; m = accumulation.)
    """

    def step(self, options):
        run = self.run_program(
            f"dltrain --model={small_model(self)} --servers=4 --buckets=1MiB " + options
        )
        return run.stats

    def test_bytes_of_every_stage(self):
        share = PSI * 31 / 32
        for m in (1, 3):
            expected = {
                0: {"all_reduce": 2 * share},
                1: {"reduce_scatter": share, "all_gather": share},
                2: {"reduce_scatter": m * share, "all_gather": share},
                3: {"reduce_scatter": m * share, "all_gather": 2 * m * share},
            }
            for zero, volume in expected.items():
                with self.subTest(zero=zero, accumulation=m):
                    stats = self.step(f"--zero={zero} --accumulation={m}")
                    self.assertEqual(stats["bytes_sent_per_gpu"], volume)
                    # What was sent is what the list of collectives adds up to.
                    listed = {}
                    for one in stats["collectives"]:
                        factor = 2 if one["op"] == "all_reduce" else 1
                        listed[one["op"]] = (
                            listed.get(one["op"], 0) + factor * one["bytes"] * 31 / 32
                        )
                    self.assertEqual(listed, volume)
                    # Four servers in a ring: one GPU of each sends to the next one. (Without
                    # warm-up: messages count from when the last GPU has ended it, and the first may
                    # be ahead. Links alone: rings, without flags.)
                    whole = self.step(
                        f"--zero={zero} --accumulation={m} --warmup=0 --library=none"
                        " --algorithm=ring"
                    )
                    self.assertEqual(whole["bytes_sent_per_gpu"], volume)
                    self.assertEqual(whole["message_bytes"], 4 * sum(volume.values()))

    def test_stage_3_is_slower_than_2_and_2_than_none(self):
        times = {
            zero: self.step(f"--zero={zero} --accumulation=2")["step_time_us"] for zero in (1, 2, 3)
        }
        self.assertLess(times[1], times[2])
        self.assertLess(times[2], times[3])

    def test_deepspeed_sends_a_third_more(self):
        # DeepSpeed's bucket average is an all-reduce: 2 psi + 1 psi instead of psi + psi.
        stats = self.step("--zero=2 --zero-impl=deepspeed")
        self.assertEqual(sum(stats["bytes_sent_per_gpu"].values()), 3 * PSI * 31 / 32)

    def test_fp32_sends_twice_as_much(self):
        stats = self.step("--zero=2 --dtype=fp32")
        self.assertEqual(sum(stats["bytes_sent_per_gpu"].values()), 2 * 2 * PSI * 31 / 32)


class StepTimes(SystemTest):
    def step(self, options, model="gpt2"):
        return self.run_program(f"dltrain --model={model} --seq=1024 " + options).stats

    def test_one_gpu_communicates_nothing(self):
        stats = self.step(
            "--server=pcie4-a100 --gpus-per-server=1 --gpus=1 --servers=1 --topology=single-switch"
        )
        self.assertEqual(sum(stats["bytes_sent_per_gpu"].values()), 0)
        self.assertAlmostEqual(stats["exposed_communication_time_us"], 0, delta=1)
        self.assertEqual(stats["messages"], 0)

    def test_one_server_uses_no_network(self):
        stats = self.step("--servers=1 --topology=single-switch")
        self.assertEqual((stats["gpus"], stats["messages"], stats["frame_hops"]), (8, 0, 0))
        self.assertGreater(sum(stats["bytes_sent_per_gpu"].values()), 0)

    def test_overlap_hides_communication(self):
        on = self.step("--servers=4")
        off = self.step("--servers=4 --no-overlap")
        self.assertLess(on["step_time_us"], off["step_time_us"])
        self.assertAlmostEqual(on["compute_time_us"], off["compute_time_us"], places=3)
        self.assertEqual(on["bytes_sent_per_gpu"], off["bytes_sent_per_gpu"])
        # Without overlap all communication is exposed, and so is waiting for the last rank of each
        # collective.
        self.assertWithin(off["exposed_communication_time_us"], off["communication_time_us"], 0.01)

    def test_parts_of_a_step_by_parallelism(self):
        """Parts are 0 or more and add up to the step, no more is exposed than was under way, and
        only parallelisms that a job has are exposed.
        """
        quiet = "--network=analytic --report=0 --timeline=0 --attribution=0 --micro-batch=1"
        dp = "--gpus=16 --servers=2 --accumulation=4"
        layouts = {
            f"{dp}": "dp",
            f"{dp} --tp=2": "dp tp",
            f"{dp} --pp=2": "dp pp",
            f"{dp} --pp=4 --tp=4 --warmup=0": "pp tp",
            f"{dp} --pp=2 --virtual-stages=2 --pipeline-sends=awaited": "dp pp",
            f"{dp} --pp=4 --pipeline-schedule=zero-bubble --tp=2 --steps=3": "dp pp tp",
            f"{dp} --cp=2 --zero=3": "cp dp",
            f"{dp} --pp=2 --pipeline-schedule=gpipe --slow-gpu=3:1.5": "dp pp",
        }
        for layout, has in layouts.items():
            with self.subTest(layout):
                stats = self.step(f"{quiet} {layout}")
                step, parts = stats["step_time_us"], parts_of_step(stats)
                self.assertGreaterEqual(min(parts.values()), 0)
                self.assertWithin(sum(parts.values()), step, 1e-9)
                exposed = stats["exposed_communication_time_us"]
                self.assertLessEqual(exposed, stats["communication_time_us"] * (1 + 1e-9))
                by = stats["exposed_by_parallelism_us"]
                self.assertAlmostEqual(sum(by.values()), exposed, delta=1e-9 * step)
                self.assertLessEqual({name for name, us in by.items() if us}, set(has.split()))
                count = int(layout.partition("--pp=")[2][:1] or 0)
                stages = stats.get("stages", [])
                self.assertEqual(len(stages), count)
                if not stages:
                    continue
                # Each stage is as large a share of the GPUs as the others.
                mean = {key: sum(one[key] for one in stages) / count for key in stages[0]}
                self.assertWithin(
                    mean["bytes_sent"], sum(stats["bytes_sent_per_gpu"].values()), 1e-6
                )
                self.assertGreaterEqual(mean["bubble_us"], stats["bubble_time_us"] - 1e-3)
                self.assertLess(
                    mean["forward_us"] + mean["backward_us"], stats["compute_time_us"]
                )
                self.assertGreater(min(min(one.values()) for one in stages[1:]), 0)

    def test_fewer_layers_of_a_pipeline(self):
        """The wait for the stage of the head is the same with few blocks as with many: the bubble
        of 24 blocks is no line through those of 2 and 4, nor its share of the step.
        """
        options = (
            "--servers=1 --pp=2 --tp=4 --accumulation=4 --micro-batch=1 --network=analytic"
            " --report=0 --timeline=0"
        )
        for warmup in (1, 0):
            whole = self.step(f"{options} --warmup={warmup}", "gpt3-1.3b")
            # A stage that ends the only step early waits for the last one; that is no bubble.
            self.assertEqual(whole["waiting_time_us"] > 0, warmup == 0)
            for layers in (4, 6):
                few = self.step(f"{options} --layers={layers} --warmup={warmup}", "gpt3-1.3b")
                for key in ("step_time_us", "compute_time_us"):
                    self.assertWithin(few[key], whole[key], 5e-3, key)
                for key in ("bubble_time_us", "exposed_communication_time_us"):
                    # Where stages wait at the end is a matter of the network, too.
                    self.assertWithin(few[key], whole[key], 5e-3 if warmup else 1e-2, key)

    def test_gpus_and_networks_change_the_result(self):
        # FIELD.md, 5. More servers: the same bytes a GPU but for (n-1)/n, in more and smaller
        # messages.
        two = self.step("--gpus=16 --servers=2")
        four = self.step("--servers=4")
        self.assertNotEqual(two["step_time_us"], four["step_time_us"])
        self.assertWithin(
            sum(four["bytes_sent_per_gpu"].values()) / sum(two["bytes_sent_per_gpu"].values()),
            (31 / 32) / (15 / 16),
            1e-5,
        )
        # Two links to the next server instead of four or six: fewer frame-hops and less time.
        one_switch = self.step("--servers=4 --topology=single-switch")
        self.assertLess(one_switch["frame_hops"], four["frame_hops"])
        self.assertLess(one_switch["step_time_us"], four["step_time_us"])
        # Faster NICs expose less. Twice the rate at least halves what is left after overlap.
        fast = self.step("--servers=4 --nic=200GbE")
        self.assertLess(
            fast["exposed_communication_time_us"], 0.55 * four["exposed_communication_time_us"]
        )
        # Faster GPUs compute less.
        h100 = self.step("--servers=4 --gpu=H100")
        self.assertLess(h100["compute_time_us"], four["compute_time_us"])
        # Larger batches compute longer, and send as much.
        large = self.step("--servers=4 --micro-batch=8")
        self.assertWithin(large["compute_time_us"] / four["compute_time_us"], 2, 0.05)
        self.assertEqual(large["bytes_sent_per_gpu"], four["bytes_sent_per_gpu"])

    def test_steps_are_averaged_without_warm_up(self):
        one = self.step("--servers=2")
        three = self.step("--servers=2 --steps=3 --warmup=2")
        self.assertEqual(len(three["step_times_us"]), 3)
        self.assertAlmostEqual(sum(three["step_times_us"]) / 3, three["step_time_us"], places=3)
        self.assertWithin(three["step_time_us"], one["step_time_us"], 0.01)
        self.assertEqual(three["bytes_sent_per_gpu"], one["bytes_sent_per_gpu"])
        self.assertWithin(three["measured_from_us"], 2 * one["measured_from_us"], 0.02)

    def test_measured_profile_replaces_the_kernels(self):
        profile = self.write(
            "profile.json",
            {"optimizer_us": 1000, "layers": {"*": {"forward_us": 500, "backward_us": 1500}}},
        )
        stats = self.run_program(
            f"dltrain --model={small_model(self)} --servers=2 --profile={profile} --accumulation=2"
        ).stats
        # 4 layers x (500 + 1500) us x 2 micro-batches + 1000 us
        self.assertAlmostEqual(stats["compute_time_us"], 4 * 2000 * 2 + 1000, places=6)


if __name__ == "__main__":
    main()
