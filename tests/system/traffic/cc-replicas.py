# SPDX-License-Identifier: GPL-2.0-only
# ctest: TIMEOUT 300
"""The replicas of scenarios/presets/cc, shortened, against what papers and theory say. Expected
values are derived where they stand.
"""

import os
import statistics
import sys

sys.path.append(sys.path[0] + "/../shared")
from _cc_models import ACK, LINE, dcqcn_fixed_point, dcqcn_integrated, dctcp_bounds
from _queues import Queue, late
from _system_test import HEADERS, ROOT, SystemTest, main

PRESETS = os.path.join(ROOT, "scenarios", "presets", "cc")
SHORT = "--no-report --no-progress"


class ReplicasTest(SystemTest):
    def replica(self, name, options=""):
        return self.run_program(
            f"traffic --scenario={os.path.join(PRESETS, name)}.json {SHORT} {options}"
        )

    def test_dctcp_queue_is_between_its_analysis_bounds(self):
        # Flows in step move the queue between Q_max and A below it. Flows out of step have no
        # larger amplitude.
        frame = 1024 + HEADERS - LINE
        for flows in (2, 10):
            run = self.replica("dctcp-queue", f"--hosts={flows + 1} --stop-after=30ms")
            queue = Queue(run, 10000)
            highest, amplitude = dctcp_bounds(flows)
            text = f"{flows} flows"
            self.assertLessEqual(queue.most / frame, highest + 1, text)
            self.assertGreaterEqual(min(queue.means) / frame, highest - amplitude - 1, text)
            # In step or not they move by a good part of it: with two flows at least half.
            self.assertGreaterEqual(
                (max(queue.means) - min(queue.means)) / frame, amplitude / 2, text
            )
            self.assertWithin(queue.mean, 60000, 0.15, text)
            # Never empty, so the link is full: payload's share of 10 Gb/s.
            self.assertWithin(late(run, 10000)[1], 10 * 1024 / (1024 + HEADERS), 0.005, text)

    def test_dcqcn_rests_at_the_fixed_point_of_its_fluid_model(self):
        self.assertWithin(dcqcn_fixed_point(2), 21.8e3, 0.02)
        for flows in (2, 10):
            run = self.replica("dcqcn-queue", f"--hosts={flows + 1}")
            jain, gbps = late(run, 100000)
            # Marks are few (two flows get four in a ms), so the queue moves a lot; its mean is what
            # has a theory.
            self.assertWithin(
                Queue(run, 100000).mean, dcqcn_fixed_point(flows), 0.25, f"{flows} flows"
            )
            self.assertGreater(jain, 0.95, f"{flows} flows")
            self.assertWithin(gbps, 40 * 1024 / (1024 + HEADERS), 0.01, f"{flows} flows")
        # 64 flows need more than Pmax, which there is only beyond Kmax: they rest on it.
        self.assertIsNone(dcqcn_fixed_point(64))
        run = self.replica("dcqcn-queue", "--hosts=65 --fan-in=64 --stop-after=60ms")
        self.assertWithin(Queue(run, 40000).quantile(0.5), 200e3, 0.05)
        self.assertGreater(late(run, 40000)[0], 0.95)

    def test_dcqcn_is_unstable_with_ten_flows_and_a_slow_loop(self):
        # Zhu et al., CoNEXT 2016, 3.2: at 85 us two flows are stable and ten are not. The fluid
        # model, integrated, has then 5% of the time an empty queue, 5% more than 226 kB (Kmax:
        # 200), standard deviation 79 kB.
        model = dcqcn_integrated(10, 85e-6)
        self.assertWithin(model["deviation"], 79.4e3, 0.01)
        self.assertLess(dcqcn_integrated(2, 85e-6)["deviation"], 0.1e3)
        ten = self.replica("dcqcn-instability")
        queue = Queue(ten, 100000)
        self.assertEqual(model["p5"], 0)
        self.assertLess(queue.quantile(0.05), 5e3)
        self.assertGreater(model["p95"], 200e3)
        self.assertGreater(queue.quantile(0.95), 200e3)
        self.assertWithin(queue.deviation, model["deviation"], 0.2)
        full = 40 * 1024 / (1024 + HEADERS)
        self.assertLess(late(ten, 100000)[1], 0.96 * full)
        two = self.replica("dcqcn-instability", "--hosts=3")
        self.assertLess(Queue(two, 100000).quantile(0.95), 100e3)
        self.assertWithin(late(two, 100000)[1], full, 0.01)

    def test_dcqcn_flows_share_join_and_recover(self):
        run = self.replica("dcqcn-fairness")
        rows = run.rows("fairness.csv")
        # 2 ms after each one joined
        for begin, end, flows in ((12, 20, 2), (22, 30, 3), (33, 40, 4)):
            part = [row for row in rows if begin * 1000 < row["time_us"] < end * 1000]
            self.assertEqual({row["flows"] for row in part}, {flows})
            self.assertGreater(statistics.fmean(row["jain"] for row in part), 0.95)
        # Once alone the last flow has additive increase only: R_AI every 55 us and every 10 MB
        # (SIGCOMM 2015, eq. 4; hyper increase would take six times 10 MB), of which the payload is
        # 4096 / (4096 + headers).
        alone = [row for row in rows if row["flows"] == 1 and row["time_us"] > 50000]
        alone = alone[10:111]  # 10 ms
        slope = (
            statistics.fmean(row["gbps"] for row in alone[-10:])
            - statistics.fmean(row["gbps"] for row in alone[:10])
        ) / 9.1
        bytes_per_ms = statistics.fmean(row["gbps"] for row in alone) / 8 * 1e6
        expected = 0.04 * (1 / 0.055 + bytes_per_ms / 10e6) * 4096 / (4096 + HEADERS)
        self.assertWithin(slope, expected, 0.05)

    def test_timely_is_unfair_and_its_patch_is_not(self):
        # Zhu et al., CoNEXT 2016, 4.2 and 4.3: TIMELY has no fixed point, so any share can come
        # out; the patch has RTT = RTT_ref (1 + N delta / (beta C)) = 50 us x (1 + 2 x 10 Mb/s /
        # (0.008 x 10 Gb/s)) = 62.5 us, w = 1/2 for all.
        base = 4 + 2 * 0.5 + 2 * 0.8e-3 * (1024 + HEADERS + ACK)  # us
        expected = (62.5 - base) / 0.8e-3
        patched = self.replica("timely-patched", "--stop-after=200ms")
        queue = Queue(patched, 100000)
        self.assertWithin(queue.mean, expected, 0.04)
        self.assertLess(queue.deviation, 0.02 * expected)
        self.assertGreater(late(patched, 100000)[0], 0.99)
        plain = self.replica("timely-oscillation")
        queue = Queue(plain, 150000)
        self.assertGreater(queue.deviation, 0.2 * expected)
        self.assertLess(late(plain, 150000)[0], 0.9)

    def test_hpcc_queue_is_nearly_empty(self):
        # Y. Li et al., SIGCOMM 2019: the queue is drained at eta = 95% of the link; 42 B of
        # telemetry in a packet.
        run = self.run_program(
            "traffic --topology=single-switch --hosts=5 --pattern=incast --bytes=1GB"
            f" --stop-after=6ms --cc=hpcc --queue-interval=1us --rate-interval=100us {SHORT}"
        )
        queue = Queue(run, 1000)
        frame = 4096 + HEADERS - LINE + 42
        self.assertLess(queue.quantile(0.5), 2 * frame)
        self.assertLess(queue.quantile(0.99), 4 * frame)
        gbps = late(run, 1000)[1]
        share = 4096 / (4096 + HEADERS + 42)
        self.assertWithin(gbps, 95 * share, 0.03)
        self.assertLess(gbps, 97 * share)

    def test_swift_incast_needs_windows_below_a_packet(self):
        # G. Kumar et al., SIGCOMM 2020: 5,000 flows to 50 Gb/s. A packet of each, 20.9 MB, is more
        # than the port may have.
        paced = self.replica("swift-incast")
        whole = self.replica("swift-incast", "--ns3::SwiftCongestionOps::MinCwnd=1")
        # Target: 25 us, 1 us for the switch, 25 us for flows whose windows are below 0.1. A packet
        # may be added by each ACK, of which a flow has one in rtt / cwnd: the delay is above the
        # target on average, and not by far.
        target = 51
        idle = 4 + 1 + 2 * (4096 + HEADERS + ACK) * 8 / 50e3  # us
        delay, delay_whole = (
            idle + Queue(run, 60000).quantile(0.5) * 8 / 50e3 for run in (paced, whole)
        )
        self.assertGreater(delay, 0.8 * target)
        self.assertLess(delay, 2 * target)
        self.assertGreater(delay_whole, 15 * delay)
        for run, lost in ((paced, False), (whole, True)):
            self.assertEqual(sum(run.stats["drops"].values()) > 0, lost)
            self.assertEqual(run.stats["timeouts"] > 0, lost)
            self.assertGreater(late(run, 60000)[1], 0.95 * 50 * 4096 / (4096 + HEADERS))

    def test_short_flows_on_the_fat_tree_are_ordered_as_published(self):
        # SIGCOMM 2019, 5.3: HPCC's tail below those of DCQCN and TIMELY; the paper's flows are 50
        # times as many.
        tails = {}
        for name in ("hpcc", "dcqcn", "timely"):
            # ACK_HIGH_PRIO of HPCC's run script: 0 for HPCC (and DCTCP), 1 for these two.
            high = "" if name == "hpcc" else "--ack-priority=6 "
            run = self.replica(
                "hpcc-fattree-hadoop",
                (
                    f"--cc={name} {high}--warm-up=100us --duration=200us --cool-down=0us "
                    "--queue-interval=0 --rate-interval=0 --size-bins=100kB"
                ),
            )
            stats = run.stats
            self.assertEqual(stats["topology"]["hosts"], 320)
            self.assertEqual(sum(stats["drops"].values()), 0)
            tails[name] = next(
                row
                for row in stats["slowdown_by_size"]
                if row["kind"] == "class" and row["to_bytes"] == 100000
            )
            self.assertGreater(tails[name]["flows"], 1000)
        for name in ("dcqcn", "timely"):
            self.assertLess(1.3 * tails["hpcc"]["p99"], tails[name]["p99"], name)
            self.assertLess(tails["hpcc"]["p95"], tails[name]["p95"], name)

    def test_every_replica_can_be_run(self):
        for name in sorted(os.listdir(PRESETS)):
            if name.endswith(".json"):
                with self.subTest(name):
                    self.run_program(
                        ["traffic", "--scenario=" + os.path.join(PRESETS, name), "--dry-run"]
                    )


if __name__ == "__main__":
    main()
