# SPDX-License-Identifier: GPL-2.0-only
# ctest: TIMEOUT 600
"""--watch, --watch-interval, --link-interval and the picture of watch.csv: sums and rates against
closed forms, names of ports, the same bytes for every engine, bad input."""

import os
import subprocess
import sys
import unittest

sys.path.append(sys.path[0] + "/../shared")
from _system_test import ROOT, SystemTest, header_of, write_wire_bytes

SMALL = " --report=0 --timeline=0 --progress=0"
INCAST = (
    "traffic --topology=single-switch --hosts=3 --pattern=incast --fan-in=2 --bytes=1MB --cc=none"
    + SMALL
)
LEAVES = (
    "traffic --topology=leaf-spine --hosts=8 --leaves=2 --spines=2 --pattern=incast --fan-in=6"
    " --bytes=300kB" + SMALL
)


class Watch(SystemTest):
    def test_rates_and_queues(self):
        for interval in (1, 0.5, 7):
            with self.subTest(interval=interval):
                run = self.run_program(
                    f"{INCAST} --watch=switch-0->server-0 --watch-interval={interval}us"
                )
                self.assertEqual(run.header("watch.csv"), header_of("watch.csv"))
                rows = run.rows("watch.csv")
                self.assertEqual(run.stats["watch_csv"]["rows"], len(rows))
                # All that was sent: two WRITEs, and nothing else goes to this server. The last
                # interval may be shorter: its rate is over its own length.
                end = run.stats["simulated_time_us"]
                carried = sum(
                    row["rate_gbps"] * min(interval, row["time_us"] % interval or interval)
                    if row["time_us"] > end - 1e-9
                    else row["rate_gbps"] * interval
                    for row in rows
                )
                self.assertWithin(carried * 1e3 / 8, 2 * write_wire_bytes(1000000), 1e-4)
                # While both send at the line's rate, half of what comes stays: frames of 4,158 B
                # a 4,178 B of line time. One packet more or less at either end.
                early = [row for row in rows if 10 <= row["time_us"] <= 30]
                self.assertTrue(all(row["rate_gbps"] == 100 for row in early))
                grown = early[-1]["queue_bytes"] - early[0]["queue_bytes"]
                took = early[-1]["time_us"] - early[0]["time_us"]
                self.assertLessEqual(abs(grown - took * 12500 * 4158 / 4178), 2 * 4158)

    def test_names(self):
        def ports(names):
            run = self.run_program(f"{LEAVES} --watch={names}")
            return {row["port"] for row in run.rows("watch.csv")}

        leaf = {f"leaf-0->server-{i}" for i in range(4)} | {"leaf-0->spine-0", "leaf-0->spine-1"}
        self.assertEqual(ports("leaf-0->server-0"), {"leaf-0->server-0"})
        self.assertEqual(ports("leaf-0:0,leaf-0->server-0"), {"leaf-0->server-0"})
        self.assertLessEqual(ports("leaf-0"), leaf)
        self.assertIn("leaf-1->spine-0", ports("leaf"))
        self.assertTrue(all(port.startswith("spine-") for port in ports("spine")))
        self.assertEqual(ports("leaf,spine,leaf-0"), ports("leaf,spine"))
        # As --set has places.
        self.assertEqual(ports("tier-2"), ports("spine"))
        self.assertEqual(ports("leaf-*"), ports("leaf"))
        self.assertTrue(all(port.startswith("server-") for port in ports("hosts")))
        self.assertEqual(
            ports("leaf-*->spine-*"),
            {port for port in ports("leaf") if "->spine-" in port},
        )

    def test_the_same_for_every_engine(self):
        line = LEAVES + " --watch=leaf,spine-0 --watch-interval=500ns --link-interval=20us"
        first = self.run_program(line + " --threads=1")
        self.assertGreater(len(first.rows("watch.csv")), 100)
        for how in ("--threads=2", "--engine=ns3"):
            other = self.run_program(f"{line} {how}")
            for name in ("watch.csv", "links.csv"):
                self.assertEqual(first.text(name), other.text(name), how + name)

    def test_warm_up_is_left_out(self):
        run = self.run_program(
            "traffic --topology=single-switch --hosts=4 --pattern=poisson --load=0.5"
            " --sizes=websearch --duration=200us --warm-up=100us --watch=switch-0" + SMALL
        )
        self.assertGreater(min(row["time_us"] for row in run.rows("watch.csv")), 100)

    def test_interval_of_links(self):
        fine = self.run_program(LEAVES + " --link-interval=3us")
        usual = self.run_program(LEAVES)
        self.assertEqual(fine.stats["links_csv"]["interval_us"], 3)
        self.assertEqual(usual.stats["links_csv"]["interval_us"], 100)
        self.assertTrue(any(row["time_us"] % 3 == 0 for row in fine.rows("links.csv")))
        marks = [sum(row["ecn_marks"] for row in run.rows("links.csv")) for run in (fine, usual)]
        self.assertEqual(*marks)

    def test_picture(self):
        run = self.run_program(LEAVES + " --watch=leaf-0")
        for options in ("", "--log=y --no-caption", "--y-range=0,500kB"):
            out = os.path.join(self.folder, "plots")
            done = subprocess.run(
                [os.path.join(ROOT, "scripts/plot"), run.folder, "--only=watch", "--format=png"]
                + [f"--out={out}", *options.split()],
                capture_output=True,
                text=True,
                check=False,
            )
            self.assertEqual(done.returncode, 0, done.stderr)
            self.assertTrue(os.path.exists(os.path.join(out, "watch.png")))

    def test_bad_input(self):
        for options, words in (
            ("--watch=leaf-9", ["--watch=leaf-9: is no place", "leaf-0"]),
            ("--watch=spin", ["a tier (leaf, spine)", "did you mean 'spine'?"]),
            ("--watch=leaf-0:99", ["--watch=leaf-0:99: is no place", "a port that there is"]),
            ("--watch=leaf --watch-interval=1ns", ["--watch-interval=1ns", "10ns"]),
            ("--watch-interval=2us", ["--watch-interval", "--watch"]),
            ("--link-interval=1ns", ["--link-interval=1ns", "10ns"]),
        ):
            with self.subTest(options=options):
                self.refuse(f"{LEAVES} {options}", *words)


if __name__ == "__main__":
    unittest.main(verbosity=2)
