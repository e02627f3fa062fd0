# SPDX-License-Identifier: GPL-2.0-only
"""Incast: with PFC no frame is dropped; without, frames are dropped and every byte arrives all the
same.
"""

import sys

sys.path.append(sys.path[0] + "/../shared")
from _system_test import SystemTest, main


class Incast(SystemTest):
    def incast(self, fan_in, more):
        run = self.run_program(
            f"traffic --topology=single-switch --pattern=incast --hosts={fan_in + 1}"
            f" --fan-in={fan_in} --bytes=1MB {more}"
        )
        rows = run.rows("flows.csv")
        self.assertEqual([row["bytes"] for row in rows], [1000000] * fan_in)
        return run.stats

    def test_with_pfc(self):
        for fan_in in (16, 64):
            for cc in ("none", "dcqcn"):
                with self.subTest(fan_in=fan_in, cc=cc):
                    stats = self.incast(fan_in, f"--cc={cc} --ecn={int(cc != 'none')}")
                    self.assertEqual(sum(stats["drops"].values()), 0)
                    self.assertEqual(stats["retransmitted_packets"], 0)
                    self.assertEqual(stats["messages"], fan_in)
                    if cc == "none":  # nothing but pauses slows the senders
                        self.assertGreater(stats["pfc_pauses"], 0)
                        self.assertGreater(stats["pfc_pause_time_us"], 0)
                        self.assertEqual(stats["ecn_marks"], 0)
                    else:
                        self.assertGreater(stats["ecn_marks"], 0)
                        self.assertGreater(stats["cnps"], 0)

    def test_without_pfc(self):
        for fan_in in (16, 64):
            with self.subTest(fan_in=fan_in):
                stats = self.incast(fan_in, "--cc=none --pfc=0 --ecn=0")
                self.assertGreater(stats["drops"]["threshold"] + stats["drops"]["pool_full"], 0)
                self.assertGreater(stats["retransmitted_packets"], 0)
                self.assertEqual(stats["pfc_pauses"], 0)
                self.assertEqual(stats["failed_queue_pairs"], 0)
                self.assertTrue(stats["completed"])


if __name__ == "__main__":
    main()
