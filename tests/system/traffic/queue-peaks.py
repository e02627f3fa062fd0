# SPDX-License-Identifier: GPL-2.0-only
"""queue_peak_bytes of links.csv: what waited most since the link's row before."""

import random
import sys

sys.path.append(sys.path[0] + "/../shared")
from _same_bytes import ALWAYS, SameBytesTest
from _system_test import HEADERS, RETH, main

QUIET = "--report=0 --timeline=0"
# Preamble and gap are on the wire only (IEEE 802.3), and in no buffer.
WIRE_ONLY = 8 + 12


class QueuePeaks(SameBytesTest):
    def test_frames_that_come_at_once(self):
        """n hosts send a frame each to one: of those that come together all but the first wait."""
        for senders, size in ((3, 1000), (7, 256), (12, 4096)):
            with self.subTest(senders=senders):
                run = self.run_program(
                    f"traffic --topology=single-switch --hosts={senders + 1} --pattern=incast"
                    f" --fan-in={senders} --bytes={size} --mtu=4096 --cc=none --no-pfc {QUIET}"
                )
                frame = size + HEADERS + RETH - WIRE_ONLY
                peaks = {}
                for row in run.rows("links.csv"):
                    peak = row["queue_peak_bytes"]
                    peaks[row["link"]] = max(peaks.get(row["link"], 0), peak)
                (port,) = [name for name, peak in peaks.items() if peak]
                self.assertTrue(port.startswith("switch-0->"), port)
                self.assertEqual(peaks[port], (senders - 1) * frame)
                self.assertEqual(run.stats["port_queue_peak_bytes"], (senders - 1) * frame)
                self.assertEqual(run.stats["port_queue_peak_link"], port)
                # The terminal names it beside marks and pauses.
                self.assertRegex(run.err + run.out, rf"Congestion .*; longest queue .* at {port}\n")

    def test_random_shapes(self):
        """At least what waits at the end of the row and of the one before; the largest is the
        run's; alike whatever the engine, the threads and the processes."""
        for seed in range(6):
            chance = random.Random(seed)
            fabric = chance.choice(["--fabric=ib --nic=EDR", "--nic=25GbE", "--nic=400GbE"])
            line = (
                f"traffic {fabric} {QUIET} --seed={seed}"
                f" --bytes={chance.choice([90, 700, 2000])}kB "
                + chance.choice(
                    [
                        "--topology=single-switch --hosts=9 --pattern=incast --fan-in=7",
                        "--topology=fat-tree --k=4 --pattern=random-permutation",
                        "--topology=leaf-spine --leaves=3 --spines=1 --hosts-per-leaf=5"
                        " --pattern=all-to-all",
                    ]
                )
            )
            with self.subTest(line):
                run = self.run_program(line)
                before, most = {}, 0
                for row in run.rows("links.csv"):
                    peak, link = row["queue_peak_bytes"], row["link"]
                    self.assertGreaterEqual(peak, row["queue_bytes"])
                    self.assertGreaterEqual(peak, before.get(link, 0))
                    before[link] = row["queue_bytes"]
                    most = max(most, peak)
                self.assertEqual(most, run.stats["port_queue_peak_bytes"])
                expected = self.written(line)["links.csv"]
                for more in ("--engine=ns3", f"--threads=2{ALWAYS}"):
                    self.assertEqual(self.written(f"{line} {more}")["links.csv"], expected)
                self.compare_ranks(line, [2])


if __name__ == "__main__":
    main()
