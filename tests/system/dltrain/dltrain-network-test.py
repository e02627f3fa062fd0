# SPDX-License-Identifier: GPL-2.0-only
"""dltrain on networks that congest: placement, oversubscription, lossless and lossy."""

import os
import re
import shutil
import sys
import tempfile

sys.path.append(sys.path[0] + "/../shared")
from _system_test import SystemTest, main, quantile, share_of

# 16 servers of 8 GPUs on a k = 4 fat-tree, as the default job, with a smaller model and no warm-up.
JOB = "dltrain --model=gpt2 --seq=1024 --warmup=0 "


def totals(log):
    """kind: (in the whole run, measured), from the last lines of network_events.log"""
    found = (re.fullmatch(r"# total (\w+) (\d+), measured (\d+)", line) for line in log)
    return {m[1]: (int(m[2]), int(m[3])) for m in found if m}


class Congestion(SystemTest):
    @classmethod
    def setUpClass(cls):
        cls.of_all = tempfile.mkdtemp(prefix="dltrain-test-")
        cls.addClassCleanup(shutil.rmtree, cls.of_all, ignore_errors=True)
        cls.jobs = {}

    def job(self, options=""):
        """Run once: several tests look at the same job."""
        if options not in self.jobs:
            out = os.path.join(self.of_all, str(len(self.jobs)))
            self.jobs[options] = self.run_program(JOB + options, out=out)
        return self.jobs[options]

    def test_ring_order_meets_none_and_others_do(self):
        linear = self.job()
        random = self.job("--placement=random")
        narrow = self.job("--oversubscription=4")
        calm = linear.stats
        for key in (
            "ecn_marks",
            "cnps",
            "pfc_pauses",
            "pfc_pause_time_us",
            "retransmitted_packets",
            "timeouts",
            "naks",
        ):
            self.assertEqual(calm[key], 0, key)
        self.assertEqual(sum(calm["drops"].values()), 0)

        for run in (random, narrow):
            with self.subTest(run.command):
                stats = run.stats
                self.assertGreater(stats["ecn_marks"], 0)
                self.assertGreater(stats["cnps"], 0)
                # at most one CNP a marked packet
                self.assertLessEqual(stats["cnps"], stats["ecn_marks"])
                # Servers send past one another, so the tail is late: "well above".
                self.assertGreater(stats["fct_slowdown"]["p99"], 1.5 * calm["fct_slowdown"]["p99"])
                self.assertGreater(stats["step_time_us"], 1.2 * calm["step_time_us"])
                self.assertAlmostEqual(stats["compute_time_us"], calm["compute_time_us"], places=3)
                self.assertEqual(stats["bytes_sent_per_gpu"], calm["bytes_sent_per_gpu"])
                # PFC is on: nothing is lost (but bit errors could, and there are none).
                self.assertEqual(sum(stats["drops"].values()), 0)
                self.assertEqual(stats["retransmitted_packets"], 0)
                # The summary names the links, and they are in the fabric's middle.
                self.assertEqual(len(stats["links"]), 5)
                for link in stats["links"]:
                    self.assertIn(link["link"], run.out)
                    self.assertIn("agg-", link["link"])
                    self.assertLessEqual(link["utilization"], 1)
                # The event log tells where it happened, and adds up.
                log = run.text("network_events.log").splitlines()
                total = totals(log)
                self.assertEqual(total["ecn"][1], stats["ecn_marks"])
                self.assertEqual(total["pause"][1], stats["pfc_pauses"])
                marks = [
                    line for line in log if not line.startswith("#") and line.split()[1] == "ecn"
                ]
                self.assertTrue(marks)
                self.assertTrue(any("agg-" in line.split()[2] for line in marks))
        # Some port was stopped by PFC where several ring neighbours meet in the core.
        self.assertGreater(random.stats["pfc_pauses"], 0)
        self.assertGreater(random.stats["pfc_pause_time_us"], 0)
        # A quarter of the uplinks' capacity: 25 Gb/s for two servers' 100 Gb/s each, by links a
        # half as fast.
        self.assertLess(min(link["rate_gbps"] for link in narrow.stats["links"]), 100)

    def test_the_same_flows_whatever_the_network(self):
        # Linear or not, the same messages of the same sizes arrive; on an idle path each has its
        # ideal time or more.
        for options in ("", "--placement=random"):
            run = self.job(options)
            rows = run.rows("flows.csv")
            stats = run.stats
            self.assertEqual(len(rows), stats["messages"])
            self.assertEqual(sum(row["bytes"] for row in rows), stats["message_bytes"])
            slowdowns = [row["fct_us"] / row["ideal_fct_us"] for row in rows]
            self.assertGreaterEqual(min(slowdowns), 1 - 1e-6)
            for name, share in (
                ("p50", 0.5),
                ("p90", 0.9),
                ("p99", 0.99),
                ("p999", 0.999),
                ("max", 1),
            ):
                self.assertWithin(
                    stats["fct_slowdown"][name], quantile(slowdowns, share), 1e-5, name
                )
                self.assertWithin(
                    stats["fct_us"][name],
                    quantile([row["fct_us"] for row in rows], share),
                    1e-5,
                    name,
                )
            for row in rows:
                self.assertAlmostEqual(row["fct_us"], row["end_us"] - row["start_us"], delta=2e-6)

    def test_without_pfc_packets_drop_and_every_byte_arrives(self):
        # Go-back-N recovers; the job completes with the same bytes. Small buffers, so that a small
        # job overflows them.
        lossless = self.job("--placement=random").stats
        run = self.job("--placement=random --pfc=0 --buffer=200kB --cc=none")
        stats = run.stats
        self.assertTrue(stats["completed"])
        self.assertEqual(stats["pfc_pauses"], 0)
        self.assertGreater(sum(stats["drops"].values()), 0)
        self.assertEqual(
            stats["drops"]["headroom_full"]
            + stats["drops"]["no_route"]
            + stats["drops"]["corrupted"],
            0,
        )
        self.assertGreater(stats["retransmitted_packets"], 0)
        self.assertGreater(stats["naks"] + stats["timeouts"], 0)
        self.assertEqual(stats["failed_queue_pairs"], 0)
        self.assertEqual(stats["messages"], lossless["messages"])
        self.assertEqual(stats["message_bytes"], lossless["message_bytes"])
        self.assertEqual(
            stats["data_packets"] - stats["retransmitted_packets"], lossless["data_packets"]
        )
        self.assertGreater(stats["step_time_us"], lossless["step_time_us"])
        self.assertIn("frames dropped", run.out)
        log = run.text("network_events.log").splitlines()
        self.assertEqual(totals(log)["drop"][1], sum(stats["drops"].values()))

    def test_totals_with_and_without_the_warm_up(self):
        lines = (
            "--placement=random --cc=none",
            "--placement=random --pfc=0 --buffer=200kB --cc=none",
        )
        for options in share_of(lines, one_in=2, first=1):
            run = self.run_program(JOB.replace("--warmup=0", "--warmup=1") + options)
            stats = run.stats
            log = run.text("network_events.log").splitlines()
            total = totals(log)
            for kind, measured in (
                ("ecn", stats["ecn_marks"]),
                ("pause", stats["pfc_pauses"]),
                ("timeout", stats["timeouts"]),
                ("drop", sum(stats["drops"].values())),
            ):
                self.assertEqual(total[kind][1], measured, kind)
            busy = "drop" if "--pfc=0" in options else "pause"
            self.assertGreater(total[busy][0], total[busy][1])
            self.assertGreater(total[busy][1], 0)
            # So do the lines of the file itself: those behind the note are the measured ones.
            begin = next(i for i, line in enumerate(log) if line.endswith("measuring starts"))
            if total[busy][0] <= 20000:
                lines = [
                    i
                    for i, line in enumerate(log)
                    if not line.startswith("#") and line.split()[1] == busy
                ]
                self.assertEqual((len(lines), sum(i > begin for i in lines)), total[busy])

    def test_congestion_control_keeps_pauses_away(self):
        dcqcn = self.job("--placement=random").stats
        none = self.job("--placement=random --cc=none").stats
        self.assertEqual(none["cnps"], 0)
        self.assertGreater(none["pfc_pauses"], 3 * dcqcn["pfc_pauses"])
        self.assertEqual(sum(none["drops"].values()), 0)

    def test_bit_errors_are_repaired(self):
        # 1e-7 a bit: a frame of 33,424 bits is lost with probability 0.33%.
        stats = self.run_program(
            "dltrain --model=gpt2 --seq=1024 --servers=2 --gpus=16 --warmup=0 --bit-error-rate=1e-7"
        ).stats
        self.assertTrue(stats["completed"])
        self.assertGreater(stats["drops"]["corrupted"], 0)
        # Two or more links for each packet, ACKs aside: between half and three times 2 x 0.33% of
        # the packets.
        expected = 2 * 0.00334 * stats["data_packets"]
        self.assertGreater(stats["drops"]["corrupted"], 0.5 * expected)
        self.assertLess(stats["drops"]["corrupted"], 3 * expected)
        self.assertGreaterEqual(stats["retransmitted_packets"], stats["drops"]["corrupted"] / 3)

    def test_leaf_spine_and_a_file_of_ones_own(self):
        spine = self.job("--topology=leaf-spine --hosts-per-leaf=4").stats
        tree = self.job().stats
        self.assertNotEqual(spine["step_time_us"], tree["step_time_us"])
        self.assertEqual(spine["bytes_sent_per_gpu"], tree["bytes_sent_per_gpu"])
        # Two hosts, a switch each, a slow trunk of 25 Gb/s: the network limits the step to the
        # trunk's rate.
        graph = self.write(
            "two.json",
            {
                "defaults": {"rate": "100Gbps", "delay": "1us"},
                "nodes": [
                    {"name": "a", "kind": "host"},
                    {"name": "b", "kind": "host"},
                    {"name": "left", "kind": "switch"},
                    {"name": "right", "kind": "switch"},
                ],
                "links": [
                    {"from": "a", "to": "left"},
                    {"from": "b", "to": "right"},
                    {"from": "left", "to": "right", "rate": "25Gbps"},
                ],
            },
        )
        run = self.run_program(f"dltrain --model=gpt2 --seq=1024 --warmup=0 --topology={graph}")
        stats = run.stats
        self.assertEqual((stats["servers"], stats["gpus"]), (2, 16))
        self.assertEqual(
            {link["link"] for link in stats["links"][:2]}, {"left->right", "right->left"}
        )
        trunk_us = sum(stats["bytes_sent_per_gpu"].values()) * 4178 / 4096 * 8e-3 / 25
        self.assertGreater(stats["step_time_us"], trunk_us)
        self.assertLess(stats["step_time_us"], stats["compute_time_us"] + 1.3 * trunk_us)


if __name__ == "__main__":
    main()
