# SPDX-License-Identifier: GPL-2.0-only
"""dltrain at the ends of what a network can be: one that costs nothing leaves the time of
computing; communication beside computing is no faster than the longer of both; and a slower link or
a longer delay never makes a step faster.
"""

import sys

sys.path.append(sys.path[0] + "/../shared")
from _system_test import SystemTest, main, share_of

PARAMETERS = 4 << 20  # of four equal layers; divisible by ranks and buckets
SERVERS = 4
# What does not depend on the network: one GPU and NIC a server, rings, no software, no congestion
# control.
PLAIN = (
    f"--servers={SERVERS} --gpus-per-server=1 --algorithm=ring --library=none"
    " --step-latency=0ns --collective-sms=0 --report=0 --timeline=0 --attribution=0"
)
INFINITE = 100_000  # Gb/s: the 12 MB of a step take a microsecond


class Limits(SystemTest):
    def setUp(self):
        super().setUp()
        layers = [
            {"name": name, "parameters": PARAMETERS // 4, "flops": 2.0e9, "output_elements": 1000}
            for name in "abcd"
        ]
        self.model = self.write(
            "small.json", {"name": "small", "sequence": 128, "layers": layers}
        )

    def step(self, options, gbps, delay_ns=1000):
        """stats.json of a job on a switch whose links are so fast and long."""
        hosts = [f"server-{i}" for i in range(SERVERS)]
        topology = self.write(
            "network.json",
            {
                "defaults": {"rate": f"{round(gbps * 1000)}Mbps", "delay": f"{delay_ns}ns"},
                "nodes": [
                    *({"name": host, "kind": "host"} for host in hosts),
                    {"name": "switch", "kind": "switch"},
                ],
                "links": [{"from": host, "to": "switch"} for host in hosts],
            },
        )
        if "--model" not in options:
            options += f" --model={self.model}"
        if "analytic" not in options and "--fabric=ib" not in options:
            options += " --cc=none"
        return self.run_program(f"dltrain --topology={topology} {PLAIN} {options}").stats

    def free(self, options):
        return self.step(options + " --switch-latency=0ns", INFINITE, delay_ns=0)

    def test_a_network_that_costs_nothing_leaves_computing(self):
        for options in (
            *(f"--zero={zero} --accumulation={m}" for zero in range(4) for m in (1, 3)),
            "--zero=3 --zero-impl=deepspeed",
            "--zero=2 --zero-impl=deepspeed --overlap=0",
            "--zero=2 --network=analytic",
            "--model=gpt2 --seq=64 --zero=0 --tp=4 --micro-batch=1",
            "--model=gpt2 --seq=64 --zero=1 --tp=2 --sequence-parallel --micro-batch=1",
            "--model=gpt2 --seq=64 --zero=0 --cp=4 --context-exchange=all-gather --micro-batch=1",
        ):
            with self.subTest(options):
                stats = self.free(options + " --buckets=1MiB")
                computing = stats["compute_time_us"]
                # Nothing waits for more than all bytes one after the other, with headers (MTU
                # 4,096: 2%; shorter last packets: as much again at most) and a packet of store and
                # forward for each of some 1,000 messages: 4,178 B in 0.33 ns.
                bytes_sent = sum(stats["bytes_sent_per_gpu"].values())
                most = 1.1 * bytes_sent * 8e-3 / INFINITE + 1000 * 4178 * 8e-3 / INFINITE
                self.assertGreaterEqual(stats["step_time_us"], computing)
                self.assertLessEqual(stats["step_time_us"], computing + most)
                self.assertLess(most, 0.01 * computing, "the bound says something")

    def test_in_a_pipeline_it_leaves_the_bubble(self):
        # Four stages of 1 + 2 ms, m micro-batches, no optimizer: (m + 4 - 1) x 3 ms.
        profile = self.write(
            "profile.json",
            {"optimizer_us": 0, "layers": {"*": {"forward_us": 1000, "backward_us": 2000}}},
        )
        for m in (1, 2, 7):
            for schedule in ("1f1b", "gpipe"):
                options = (
                    f"--pp=4 --accumulation={m} --zero=0 --profile={profile}"
                    f" --pipeline-schedule={schedule}"
                )
                stats = self.free(options)
                self.assertWithin(stats["step_time_us"], (m + 3) * 3000, 1e-4)
                self.assertWithin(stats["compute_time_us"], m * 3000, 1e-9)

    def test_overlap_is_no_faster_than_the_longer_of_both(self):
        for zero in (0, 1, 2, 3):
            for gbps in (10, 40, 200):
                for network in ("packet", "analytic"):
                    fabric = "ib" if zero % 2 else "roce"
                    options = (
                        f"--zero={zero} --buckets=1MiB --fabric={fabric} --network={network}"
                    )
                    beside = self.step(options, gbps)
                    apart = self.step(options + " --overlap=0", gbps)
                    # A server sends what its GPU sends, at no more than its link's rate.
                    sending = sum(beside["bytes_sent_per_gpu"].values()) * 8e-3 / gbps
                    longer = max(beside["compute_time_us"], sending)
                    both = beside["compute_time_us"] + beside["communication_time_us"]
                    what = f"{options} at {gbps} Gb/s"
                    self.assertGreaterEqual(beside["step_time_us"], longer, what)
                    self.assertLessEqual(beside["step_time_us"], both * (1 + 1e-9), what)
                    self.assertLessEqual(beside["step_time_us"], apart["step_time_us"], what)

    def never_faster(self, options, points):
        """Step times of (Gb/s, ns) points, each no better than the one before."""
        before = 0
        for gbps, delay_ns in points:
            step = self.step(options, gbps, delay_ns)["step_time_us"]
            self.assertGreaterEqual(step, before, f"{options}: {gbps} Gb/s, {delay_ns} ns")
            before = step
        return before

    def test_slower_links_never_make_a_step_faster(self):
        rates = share_of([round(400 * 0.8**i, 1) for i in range(20)], one_in=3)  # to 5.8 Gb/s
        for options in ("--zero=0", "--zero=3 --fabric=ib", "--zero=2 --network=analytic"):
            fastest = self.step(options + " --buckets=1MiB", rates[0])["step_time_us"]
            slowest = self.never_faster(options + " --buckets=1MiB", [(r, 1000) for r in rates])
            self.assertGreater(slowest, 4 * fastest, "the network is what it waits for")

    def test_longer_delays_never_make_a_step_faster(self):
        delays = [0, *(round(100 * 1.35**i) for i in range(19))]  # to 22 us
        delays = share_of(delays, one_in=3)
        for options in ("--zero=1 --fabric=ib", "--zero=3", "--zero=2 --network=analytic"):
            fastest = self.step(options + " --buckets=1MiB", 100, 0)["step_time_us"]
            slowest = self.never_faster(options + " --buckets=1MiB", [(100, d) for d in delays])
            self.assertGreater(slowest, 1.2 * fastest, "the network is what it waits for")


if __name__ == "__main__":
    main()
