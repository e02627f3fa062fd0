# SPDX-License-Identifier: GPL-2.0-only
"""Ctrl-C leaves complete files that say how far the run got; so does SIGTERM."""

import os
import signal
import subprocess
import sys
import time

sys.path.append(sys.path[0] + "/../shared")
from _system_test import SLOWER, Run, SystemTest, main


class Interrupt(SystemTest):
    def ended_by(self, number):
        # Sizes taken in turn: the small flows are done long before the interrupt, the large ones
        # never.
        words, folder = self.command("traffic --k=4 --bytes=1MB,100GB --ack-every=1")
        process = subprocess.Popen(
            words, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, cwd=self.folder
        )
        # It may be slow to start on a busy machine: until the first flow is in the file.
        path = os.path.join(folder, "flows.csv")
        begin = time.time()
        while time.time() - begin < 15 * SLOWER:
            time.sleep(0.1)
            if os.path.exists(path):
                with open(path, encoding="utf-8") as file:
                    if len(file.readlines()) > 2:
                        break
        process.send_signal(number)
        out, err = process.communicate(timeout=20 * SLOWER)  # 100 GB would take longer
        return Run(words, process.returncode, out, err, folder)

    def test_files_are_complete(self):
        for number, status in ((signal.SIGINT, 130), (signal.SIGTERM, 143)):
            with self.subTest(number):
                run = self.ended_by(number)
                self.assertEqual(run.status, status, str(run))
                self.assertIn("interrupted", run.err)
                self.assertIn("% done", run.err)
                stats = run.stats
                self.assertTrue(stats["interrupted"] and not stats["completed"])
                self.assertTrue(0 < stats["share_done"] < 0.5, stats["share_done"])
                for key in ("frame_hops", "simulated_time_us", "data_packets"):
                    self.assertGreater(stats[key], 0, key)
                self.assertEqual((len(run.rows("flows.csv")), stats["messages"]), (8, 8))
                self.assertTrue(run.rows("links.csv"))
                last = run.text("network_events.log").rstrip().split("\n")[-1]
                self.assertTrue(last.startswith("# end "), last)


if __name__ == "__main__":
    main()
