# SPDX-License-Identifier: GPL-2.0-only
"""Shapers (--shaper): a priority gets its rate and no more, others the rest, with every order of
priorities and wherever it is set; the same bytes over engines, threads and ranks.
"""

import json
import sys

sys.path.append(sys.path[0] + "/../shared")
from _mpi import MPIRUN
from _same_bytes import ALWAYS, SameBytesTest
from _system_test import main

QUIET = " --progress=0 --report=0 --timeline=0"
FLOWS = "start_ns,src,dst,bytes,priority\n0,0,2,5000000,3\n0,1,2,15000000,4\n"
SEVERAL = (
    "traffic --k=4 --pattern=random-permutation --bytes=300kB --shaper=3:40Gbps:20KB"
    " --set=core:shaper=3:30Gbps --set=edge-0-0:1:shaper=none"
)


class Shapers(SameBytesTest):
    def ends(self, options):
        """Completion times of the two flows, us."""
        flows = self.write("two.csv", FLOWS)
        line = f"traffic --topology=single-switch --hosts=3 --flows={flows} --cc=none"
        run = self.run_program(f"{line} {options}{QUIET}")
        return [row["fct_us"] for row in sorted(run.rows("flows.csv"), key=lambda row: row["src"])]

    def test_a_class_gets_its_rate_and_others_the_rest(self):
        # 4,096 of 4,178 B on the line; 3 us for two cables and a switch, and a packet. What the
        # burst lets go at once is not waited for.
        def shaped(burst):
            return (5e6 * 4178 / 4096 - burst) * 8 / 25e3 + 3

        rest = 15e6 * 8 / 75e3 * 4178 / 4096 + 3
        for options in (
            "--shaper=3:25Gbps",
            "--shaper=3:25Gbps:64KB",
            "--shaper=3:25Gbps --queue-disc=wrr",
            "--shaper=3:25Gbps --queue-disc=fq",
            "--shaper=3:25Gbps --ets=3:50,4:50",
            "--set=switch-0:shaper=3:25Gbps",
            "--set=switch-0:2:shaper=3:25Gbps",
            "--set=*:pir=3:3125000000:8192",
        ):
            with self.subTest(options):
                first, second = self.ends(options)
                burst = 64000 if "64KB" in options else 8192
                self.assertWithin(first, shaped(burst), 0.002, options)
                self.assertWithin(second, rest, 0.005, options)
        # The higher priority is strict: without a shaper it has the line alone.
        first, second = self.ends("--queue-disc=strict --shaper=4:75Gbps")
        self.assertWithin(first, shaped(0), 0.005)
        self.assertWithin(second, rest, 0.005)

    def test_where_it_is_not_set_nothing_changes(self):
        free = self.ends("")
        for options in (
            "--shaper=none",
            "--shaper=5:1Gbps",
            "--set=switch-0->server-1:shaper=4:1Gbps",
            "--shaper=3:25Gbps --set=switch-0:2:shaper=none --set=switch-0:0:shaper=none",
        ):
            with self.subTest(options):
                self.assertEqual(self.ends(options)[:1], free[:1])

    def test_files(self):
        line = "traffic --k=4 --bytes=100kB" + QUIET
        by_line = self.run_program(line + " --shaper=3:25Gbps,4:10Gbps:64KB")
        fabric = by_line.stats["configuration"]["fabric"]
        self.assertEqual(fabric["shaper"], ["3:25Gbps", "4:10Gbps:64KB"])
        path = self.write("own.json", json.dumps({"fabric": {"shaper": fabric["shaper"]}}))
        by_file = self.run_program(f"{line} --scenario={path}")
        self.assertEqual(by_line.text("flows.csv"), by_file.text("flows.csv"))
        plan = self.run_program("traffic --k=4 --dry-run --shaper=3:25Gbps").out
        self.assertRegex(plan, r"scheduling +at most 3:25Gbps")

    def test_the_same_however_it_runs(self):
        expected = self.written(SEVERAL)
        for more in (" --engine=ns3", " --threads=3" + ALWAYS):
            with self.subTest(more):
                self.check_same(self.written(SEVERAL + more), expected)
        if MPIRUN:
            self.compare_ranks(SEVERAL, (2,))

    def test_bad_shapers(self):
        line = "traffic --k=4 --dry-run"
        for given, words in (
            ("--shaper=3", ("--shaper=3: ", "none, or a list of priority:rate")),
            ("--shaper=8:1Gbps", ("priorities 0 to 7",)),
            ("--shaper=3:1Gbps,3:2Gbps", ("each once",)),
            ("--shaper=3:1Mbps", ("10Mbps to 100Tbps",)),
            ("--set=core:shaper=3:fast", ("core:shaper=3:fast", "3:25Gbps")),
            ("--set=core:pir=3", ("core:pir=3", "QUEUE:PIR")),
            ("--set=hosts:shaper=3:1Gbps", ("hosts:shaper=3:1Gbps", "is of switches")),
            ("--ns3::RdmaPort::Shaper=3:1Gbps", ("NIC", "ns3::RdmaSwitch::Shaper")),
            ("--shaper=3:1Gbps --transport=ndp", ("--transport=ndp", "trim")),
            ("--shaper=3:1Gbps --fabric=ib", ("--shaper", "--fabric=roce")),
            ("--shaper=3:1Gbps --network=fluid", ("--shaper", "--network=packet")),
        ):
            with self.subTest(given):
                self.refuse(f"{line} {given}", *words)
        # The place and the key once.
        path = self.write("bad.json", json.dumps({"fabric": {"set": {"core": {"pir": "3"}}}}))
        self.refuse(f"{line} --scenario={path}", "/fabric/set/core/pir=3: allowed for pir")

    def test_a_shaper_above_the_rate(self):
        for given, warns in (
            ("--shaper=3:200Gbps", True),
            ("--shaper=3:99Gbps", False),
            ("--set=core:shaper=3:100Gbps", True),
        ):
            with self.subTest(given):
                run = self.run_program(f"traffic --k=4 --dry-run {given}")
                self.assertIs("has no effect: no port of a switch" in run.out + run.err, warns)


if __name__ == "__main__":
    main()
