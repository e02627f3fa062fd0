# SPDX-License-Identifier: GPL-2.0-only
"""However a run is ended, its files are complete and its status says why."""

import itertools
import json
import os
import random
import signal
import subprocess
import sys
import time
import unittest

sys.path.append(sys.path[0] + "/../shared")
from _robust import RobustTest, at_most
from _system_test import main, share_of

# Small flows that end at once, and one that takes minutes.
LONG = (
    "traffic --topology=single-switch --hosts=4 --pattern=permutation --bytes=10kB,900GB"
    " --ack-every=1 --report=0"
)


class Signals(RobustTest):
    def started(self, line, **how):
        process, out = self.start(line, **how)
        path = os.path.join(out, "flows.csv")
        begin = time.time()
        while time.time() - begin < 20:
            # more than its head: events go on
            if os.path.exists(path) and os.path.getsize(path) > 150:
                return process, out
            time.sleep(0.05)
        process.kill()
        self.fail("it does not begin")

    def complete(self, out, words):
        with open(os.path.join(out, "stats.json"), encoding="utf-8") as file:
            stats = json.load(file)
        self.assertFalse(stats["completed"])
        self.assertIn(words, stats["message"])
        with open(os.path.join(out, "network_events.log"), encoding="utf-8") as file:
            self.assertTrue(file.read().rstrip().split("\n")[-1].startswith("# end "))
        return stats

    def test_each(self):
        numbers = ((signal.SIGHUP, 129), (signal.SIGINT, 130), (signal.SIGTERM, 143))
        cases = itertools.product(("", " --fabric=ib"), numbers)
        for fabric, (number, status) in share_of(cases, one_in=2):
            with self.subTest(f"{number.name}{fabric}"):
                process, out = self.started(LONG + fabric)
                process.send_signal(number)
                _, errors = process.communicate(timeout=30)
                self.assertEqual(process.returncode, status, errors)
                self.assertTrue(self.complete(out, "interrupted")["interrupted"])

    def test_while_a_job_runs_alone(self):
        """Of jobs that each run alone before they run together there is nothing to write yet, and a
        job that was stopped is not one that would not end.
        """
        # 900 GB at 100 Gb/s: 72 s of the run, minutes of the clock, by the first of two jobs.
        flows = {"pattern": "permutation", "bytes": "900GB"}
        jobs = [{"name": name, "servers": 2, "flows": flows} for name in "ab"]
        file = self.write("jobs.json", json.dumps({"jobs": jobs}))
        line = f"dltrain --jobs={file} --topology=single-switch --gpus-per-server=1 --report=0"
        for number, status in ((signal.SIGINT, 130), (signal.SIGTERM, 143)):
            with self.subTest(number.name):
                process, _ = self.start(line)
                time.sleep(2)
                process.send_signal(number)
                _, errors = process.communicate(timeout=30)
                self.assertEqual(process.returncode, status, errors)
                self.assertIn(f"stopped by signal {number.value} while job a ran alone", errors)
                self.assertNotIn("does not end", errors)

    def test_several(self):
        """The second one does not lose what the first one asked to be written; the first one
        counts.
        """
        process, out = self.started(LONG)
        process.send_signal(signal.SIGINT)
        for number in (signal.SIGINT, signal.SIGTERM, signal.SIGINT, signal.SIGHUP):
            time.sleep(0.02)
            process.send_signal(number)
        _, errors = process.communicate(timeout=30)
        self.assertEqual(process.returncode, 130, errors)
        self.assertLessEqual(errors.count("results are being written"), 1, errors)
        self.complete(out, "interrupted by Ctrl-C")

    def test_before_the_simulation(self):
        """While the network is made nothing is written yet, and that is what it says: also of a
        dry run."""
        cases = itertools.product(
            (LONG, "traffic --k=32 --bytes=1kB", "traffic --k=32 --bytes=1kB --dry-run"),
            ((signal.SIGINT, 130), (signal.SIGTERM, 143)),
            (0.03, 0.1),
        )
        for line, (number, status), wait in share_of(cases, one_in=3, first=1):
            with self.subTest(f"{line} {number.name} {wait}"):
                process, out = self.start(line)
                time.sleep(wait)
                process.send_signal(number)
                _, errors = process.communicate(timeout=60)
                if process.returncode in (-number, 0):
                    continue  # it was still being loaded; the plan was there already
                self.assertEqual(process.returncode, status, errors)
                told = errors.count("traffic: interrupted before the simulation began;")
                self.assertEqual(told + errors.count("done: interrupted by"), 1, errors)
                self.assertEqual(os.path.exists(out), told == 0, errors)

    def test_between_set_up_and_simulation(self):
        """A simulation of a moment does not begin after a signal, and does not end as completed."""
        flows = self.write("one-flow.csv", "src,dst,bytes,start_us\n0,1,1000,0\n")
        line = f"traffic --topology=fat-tree --k=12 --flows={flows} --report=0 --timeline=0"
        for number, status in ((signal.SIGINT, 130), (signal.SIGTERM, 143)):
            with self.subTest(number.name):
                process, out = self.start(line)
                begin = time.time()
                while not os.path.exists(os.path.join(out, "links.csv")):
                    self.assertLess(time.time() - begin, 20)
                    time.sleep(0.0005)
                process.send_signal(number)
                _, errors = process.communicate(timeout=30)
                self.assertEqual(process.returncode, status, errors)
                if "ends after the set-up" in errors:
                    stats = self.complete(out, "interrupted by")
                    self.assertEqual((stats["events"], stats["share_done"]), (0, 0))

    def test_at_any_moment(self):
        """The status is the signal's, whether options are read, a network is made, simulated or
        written."""
        line = (
            "traffic --topology=fat-tree --k=8 --pattern=permutation --bytes=20kB --report=0"
            " --timeline=0"
        )
        begin = time.time()
        self.assertEqual(self.ended(line)[0], 0)
        whole = time.time() - begin
        moments = random.Random(62)
        for _ in range(12):
            number = moments.choice((signal.SIGINT, signal.SIGTERM))
            wait = moments.uniform(0, whole)
            with self.subTest(f"{number.name} after {wait:.4f} s"):
                process, out = self.start(line)
                time.sleep(wait)
                process.send_signal(number)
                _, errors = process.communicate(timeout=60)
                path = os.path.join(out, "stats.json")
                if process.returncode == 0:  # it was about to end
                    self.assertEqual(errors, "")
                else:  # the first: it was still being loaded
                    self.assertIn(process.returncode, (-number, 128 + number), errors)
                if os.path.exists(path) and "NOT COMPLETED" not in errors:
                    with open(path, encoding="utf-8") as file:
                        self.assertTrue(json.load(file)["completed"])

    def test_nohup(self):
        process, out = self.started(
            LONG, preexec_fn=lambda: signal.signal(signal.SIGHUP, signal.SIG_IGN)
        )
        process.send_signal(signal.SIGHUP)
        time.sleep(0.5)
        self.assertIsNone(process.poll())
        process.send_signal(signal.SIGTERM)
        process.communicate(timeout=30)
        self.assertEqual(process.returncode, 143)


class Broken(RobustTest):
    """What should not happen, in the middle of a simulation."""

    def test_ns3_refuses(self):
        # An engine of ns-3's that ends the program itself when it is late: a fatal error in the
        # middle of a simulation.
        late = (
            " --ns3::SimulatorImplementationType=ns3::RealtimeSimulatorImpl"
            " --ns3::RealtimeSimulatorImpl::SynchronizationMode=HardLimit"
            " --ns3::RealtimeSimulatorImpl::HardLimit=1ps"
        )
        for name, line in self.lines(late):
            with self.subTest(name):
                status, _, errors, out = self.ended(line)
                self.assertEqual(status, 1, errors)
                said = [text for text in errors.splitlines() if "ns-3" in text]
                self.assertEqual(len(said), 1, errors)
                self.assertRegex(said[0], r"^NOT COMPLETED .* ns-3 refuses to go on: .*real-time")
                self.assertNotIn("terminate", errors)
                with open(os.path.join(out, "stats.json"), encoding="utf-8") as file:
                    stats = json.load(file)
                self.assertFalse(stats["completed"])
                self.assertIn("ns-3 refuses", stats["message"])
                with open(os.path.join(out, "network_events.log"), encoding="utf-8") as file:
                    self.assertTrue(file.read().rstrip().split("\n")[-1].startswith("# end "))

    def test_no_memory(self):
        """A limit is met first by the set-up, then, higher, by the simulation: one error each
        time.
        """
        line = (
            "collperf --op=alltoall --ranks=480 --gpus-per-server=1 -b 1M -e 1M -n 1 -w 0"
            " --report=0 --timeline=0"
        )
        statuses = set()
        for megabytes in (250, 350, 450):
            with self.subTest(megabytes):
                # (MPI's library and ns-3's modules take some 200 MB of address space before main.)
                status, _, errors, out = self.ended(
                    line + " --ignore-host-memory", timeout=120, preexec_fn=at_most(megabytes << 20)
                )
                statuses.add(status)
                if status == 0:
                    continue
                self.assertEqual(status, 1, errors)
                said = [text for text in errors.splitlines() if "out of memory" in text]
                self.assertEqual(len(said), 1, errors)
                if "NOT COMPLETED" in errors:
                    self.complete_after(out)
        self.assertIn(1, statuses)

    def complete_after(self, out):
        with open(os.path.join(out, "stats.json"), encoding="utf-8") as file:
            self.assertIn("out of memory", json.load(file)["message"])


if __name__ == "__main__":
    main()
