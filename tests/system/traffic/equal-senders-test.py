# SPDX-License-Identifier: GPL-2.0-only
# ctest: TIMEOUT 600
"""Senders of one rate share the losses of a full queue: RoCE, UDP, UDP beside a job; what
`--arrivals=fixed` does instead; what senders that slow down on losses get."""

import collections
import re
import sys
import unittest

sys.path.append(sys.path[0] + "/../shared")
from _system_test import SystemTest, repeatable

SMALL = " --report=0 --timeline=0 --progress=0"
LOSSY = "traffic --topology=single-switch --pattern=incast --no-pfc --no-ecn" + SMALL


def drops_by_sender(run):
    """Of data packets and datagrams, as far as the log goes: 20,000 drops."""
    count = collections.Counter()
    for line in run.text("network_events.log").splitlines():
        words = line.split(" ", 3)
        found = re.search(r"(server-\d+)->server-0\b", words[3]) if words[1:2] == ["drop"] else None
        if found:
            count[found[1]] += 1
    return count


class Shares(SystemTest):
    def check(self, run, senders, tolerance):
        count = drops_by_sender(run)
        total = sum(count.values())
        self.assertGreater(total, 400, str(run))
        self.assertEqual(len(count), senders, count)
        for sender, drops in count.items():
            self.assertWithin(drops / total, 1 / senders, tolerance, f"{sender}: {count}")

    def test_two_and_four_roce_senders(self):
        # Of N drops of equal senders a share p has the standard deviation sqrt(p (1 - p) / N): two
        # of 500 drops 2.2%. 20% of p are 4.5 of these. Who has lost more is slower then, so four
        # senders are not equal all the time.
        for senders, more, tolerance in (
            (2, "", 0.2),
            (2, " --seed=5", 0.2),
            (4, " --nic=25GbE --mtu=1024", 0.4),
        ):
            with self.subTest(senders=senders, more=more):
                run = self.run_program(
                    f"{LOSSY} --hosts={senders + 1} --fan-in={senders} --bytes=40MB{more}"
                )
                self.assertEqual(run.stats["configuration"]["fabric"]["cc"], "loss-rate")
                self.check(run, senders, tolerance)

    def test_fixed_arrivals_take_it_all_from_one(self):
        run = self.run_program(
            f"{LOSSY} --hosts=3 --fan-in=2 --bytes=20MB --cc=none --arrivals=fixed"
        )
        count = drops_by_sender(run)
        self.assertGreater(max(count.values()), 0.99 * sum(count.values()), count)

    def test_udp_alone(self):
        for senders, rate in ((2, ""), (8, ""), (3, " --rate=38Gbps")):
            with self.subTest(senders=senders, rate=rate):
                run = self.run_program(
                    f"traffic --topology=single-switch --pattern=incast --protocol=udp{rate}"
                    f" --hosts={senders + 1} --fan-in={senders} --bytes=10MB" + SMALL
                )
                self.check(run, senders, 0.2)

    def test_udp_beside_a_job(self):
        run = self.run_program(
            "collperf --op=sendrecv -b 32M -e 32M -n 1 -w 0 --ranks=2 --gpus-per-server=1"
            " --servers=5 --topology=single-switch --cc=none"
            " --background=pattern=incast,fan-in=2,target=0,hosts=2-4,bytes=10MB,protocol=udp"
            + SMALL
        )
        count = collections.Counter()
        for line in run.text("network_events.log").splitlines():
            found = re.search(r"^\S+ drop .*(server-\d+)->server-2\b", line)
            if found:
                count[found[1]] += 1
        self.assertGreater(sum(count.values()), 400)
        self.assertEqual(len(count), 2, count)
        self.assertWithin(max(count.values()) / sum(count.values()), 0.5, 0.2, count)

    def test_the_same_for_every_engine(self):
        line = LOSSY + " --hosts=5 --fan-in=4 --bytes=2MB"
        first = self.run_program(line + " --threads=1")
        for how in ("--threads=2", "--engine=ns3"):
            other = self.run_program(f"{line} {how}")
            self.assertEqual(first.text("flows.csv"), other.text("flows.csv"), how)
            self.assertEqual(
                first.text("network_events.log"), other.text("network_events.log"), how
            )

    def test_without_losses_nothing_changes(self):
        line = (
            "traffic --topology=single-switch --hosts=5 --pattern=incast --fan-in=4 --bytes=1MB"
            + SMALL
        )
        first = self.run_program(line)
        other = self.run_program(line + " --arrivals=fixed")
        self.assertEqual(first.text("flows.csv"), other.text("flows.csv"))
        same, fixed = repeatable(first.stats), repeatable(other.stats)
        del same["configuration"], fixed["configuration"]
        self.assertEqual(same, fixed)


class LossRate(SystemTest):
    def test_goodput_is_near_a_measured_nics(self):
        # A NIC had 74 Gb/s and lost 1.7%.
        run = self.run_program(LOSSY + " --hosts=3 --fan-in=2 --bytes=50MB")
        self.assertIn("--cc=loss-rate", run.err)
        stats = run.stats
        self.assertEqual(stats["configuration"]["fabric"]["nak_interval"], "10us")
        self.assertWithin(stats["flows"]["goodput_gbps"], 74, 0.1)
        lost = stats["drops"]["threshold"] / stats["data_packets"]
        self.assertLess(lost, 0.06)
        self.assertEqual(stats["timeouts"], 0)

    def test_who_has_it_by_default(self):
        for options, law in (
            ("--no-pfc", "dcqcn"),
            ("--no-ecn", "dcqcn"),
            ("--no-pfc --no-ecn", "loss-rate"),
            ("--no-pfc --no-ecn --cc=none", "none"),
            ("--no-pfc --no-ecn --loss-recovery=selective-repeat", "dcqcn"),
            ("--no-pfc --no-ecn --protocol=udp", "dcqcn"),
        ):
            with self.subTest(options=options):
                run = self.run_program(
                    "traffic --topology=single-switch --hosts=3 --bytes=1kB " + options + SMALL
                )
                self.assertEqual(run.stats["configuration"]["fabric"]["cc"], law)


if __name__ == "__main__":
    unittest.main(verbosity=2)
