# ctest: TIMEOUT 300
# SPDX-License-Identifier: GPL-2.0-only
"""collperf's table: reductions, datatypes, whose time it is; algorithms side by side;
collectives.csv; NCCL's variables."""

import csv
import json
import re
import sys
import unittest

sys.path.append(sys.path[0] + "/../shared")
from _system_test import SystemTest, main, share_of

ROW = re.compile(r"^ *(\d+) +(\d+) +(\S+) +(\S+) +(-?\d+) +([\d.]+) +([\d.]+) +([\d.]+) ")
PARTS = [
    f"{name}_us"
    for name in ("software", "inside_servers", "serialization", "propagation", "waiting")
]


def rows(text):
    return [m.groups() for m in map(ROW.match, text.splitlines()) if m]


class CollperfCompare(SystemTest):
    def csv_of(self, run):
        with open(run.path("collectives.csv"), encoding="utf-8", newline="") as file:
            return list(csv.DictReader(file))

    def test_compared_as_each_alone(self):
        # On an idle network each algorithm takes what it takes alone: connections are its own.
        for shape in (
            "--op=all_reduce --ranks=6",
            "--op=all_gather --ranks=5",
            "--op=alltoall -g 3 --servers=2 --nics-per-server=3",
        ):
            names = {
                "all_reduce": ["ring", "recursive-doubling", "auto"],
                "all_gather": ["ring", "bruck"],
                "alltoall": ["direct", "pairwise", "pxn"],
            }[re.search(r"op=(\w+)", shape)[1]]
            line = f"collperf {shape} -b 1K -e 1M -f 32 -n 2 --report=0 --timeline=0"
            both = self.run_program(f"{line} --compare={','.join(names)}")
            table = [row for row in self.csv_of(both) if row["choice"] == "table"]
            self.assertEqual(
                [int(row["bytes"]) for row in table], [int(r[0]) for r in rows(both.out)]
            )
            stats = both.stats
            self.assertEqual(len(stats["compared"]), len(names) * len(table))
            for name in names:
                alone = self.run_program(f"{line} --algorithm={name}")
                mine = [row for row in self.csv_of(both) if row["choice"] == name]
                for one, other in zip(self.csv_of(alone), mine, strict=True):
                    self.assertEqual(one["algorithm"], other["algorithm"])
                    self.assertWithin(float(one["time_us"]), float(other["time_us"]), 0.01, shape)
            # The fastest has a mark, and lines that nccl-tests does not have are remarks.
            compared = both.out[both.out.index("# compared:") :].splitlines()[2:]
            marked = [text for text in compared if "*" in text]
            self.assertEqual(len(marked), len(table), both.out)
            # The table's own is one of them, and the first.
            head = both.out[both.out.index("# compared:") :].splitlines()[1]
            self.assertEqual(head.split(), ["#", "size", "table", *names])
            for text, own in zip(compared, table):
                cells = re.findall(r"([\d.]+) +[\d.]+( \*)?", text.split(None, 2)[2])
                times = [float(took) for took, _ in cells]
                self.assertEqual(len(times), len(names) + 1, text)
                self.assertWithin(times[0], float(own["time_us"]), 1e-3, text)
                for took, mark in zip(times, (mark for _, mark in cells)):
                    self.assertTrue(not mark or took == min(times), text)
            for text in both.out.splitlines():
                self.assertTrue(text.startswith("#") or ROW.match(text), text)

    def test_the_same_ports_for_all(self):
        # ECMP on a full fat-tree, without marks, whose chance goes on from choice to choice: what
        # is asked for twice takes as long twice, whatever stands before it in the list, and each
        # what it takes alone.
        for shape in (
            "--server=dgx-a100 --servers=2 -b 12908396",
            "-g 2 --servers=4 --nics-per-server=2 --nic=200GbE --qps-per-connection=2 -b 5M",
            "-g 3 --servers=3 --nics-per-server=1 --nic=hdr -b 3M --seed=4",
        ):
            line = f"collperf {shape} --topology=fat-tree --cc=none --report=0 --timeline=0"
            run = self.run_program(
                f"{line} --algorithm=ring --compare=double-binary-tree,ring,auto,hierarchical"
            )
            table, tree, ring, auto, levels = self.csv_of(run)
            self.assertEqual(table["time_us"], ring["time_us"], shape)
            for row in (tree, auto, levels):
                alone = self.run_program(f"{line} --algorithm={row['choice']}")
                (own,) = self.csv_of(alone)
                self.assertEqual(own["algorithm"], row["algorithm"])
                self.assertWithin(float(own["time_us"]), float(row["time_us"]), 1e-6, shape)
            # The summary says which is which.
            self.assertIn(f"  table: ring, {table['protocol']} ", run.err)
            self.assertIn(f"  auto: {auto['algorithm']}, {auto['protocol']} ", run.err)

    def test_what_chance_ecmp_had(self):
        # 4 pairs of flows share a link of a set of which another has none: statistics have them.
        line = "collperf --server=dgx-a100 --servers=2 -b 1M --algorithm=ring --report=0"
        run = self.run_program(f"{line} --topology=fat-tree --timeline=0")
        pairs = run.stats["load_balancing"]["hash_collisions"]
        self.assertGreater(pairs, 0)
        self.assertIn(
            "hashes put flows on one link while another of the same choice had none"
            f" ({pairs} pairs)",
            " ".join(run.err.split()),
        )
        for network in ("fat-tree --load-balancer=adaptive", "single-switch"):
            run = self.run_program(f"{line} --topology={network} --timeline=0")
            self.assertNotIn("ECMP  ", run.err)

    def test_chance_of_each_choice_by_itself(self):
        """Flows of what runs at another time share no link, and use none that was empty."""
        line = (
            "collperf --op=reduce_scatter --servers=3 --gpus-per-server=5 --nics-per-server=5"
            " --topology=fat-tree -b 1M --report=0 --timeline=0"
        )

        def pairs(more):
            stats = self.run_program(f"{line} {more}").stats
            return stats["load_balancing"]["hash_collisions"]

        ring, direct = pairs("--algorithm=ring"), pairs("--algorithm=direct")
        self.assertGreater(ring, 0)
        most = max(ring, direct)
        for more in ("direct", "auto,direct", "direct -e 4M -f 4"):
            self.assertEqual(pairs(f"--algorithm=ring --compare={more}"), most, more)

    def test_bound_of_a_root(self):
        # What the root of a gather lacks, (n-1)/n of S, comes over its port inside and over all
        # NICs of its server at once: these share nothing here. At least the other servers' part,
        # (k-1)/k of S, comes over NICs, and that is the larger bound.
        size, mib = 32 << 20, 1 << 20
        for op, server, k, n, nics_gbps, port_gbps in (
            ("gather", "pcie4-a100", 2, 16, 200, 252 * 0.762),
            ("scatter", "pcie3-v100", 5, 40, 100, 126 * 0.762),
            ("scatter", "pcie4-a100 --nic=ndr", 3, 24, 400, 252 * 0.762),
            ("gather", "a100-nvlink-pairs", 3, 12, 100, 2400 * 0.8),
            ("gather", "dgx-a100 --peer-nic=same", 2, 16, 1600, 2400 * 0.8),
        ):
            run = self.run_program(
                f"collperf --op={op} --server={server} --servers={k} -b {size // mib}M"
                " --library=none --report=0 --timeline=0"
            )
            (row,) = self.csv_of(run)
            moved = int(row["bytes"])
            bound = moved * 8e-3 * max(
                (k - 1) / k / nics_gbps, (n - 1) / n / (nics_gbps + port_gbps)
            )
            self.assertWithin(float(row["bound_us"]), bound, 1e-6, server)
            self.assertLess(float(row["efficiency"]), 1, server)
            self.assertGreater(float(row["efficiency"]), 0.9, server)
            # What is not simulated is said.
            said = "does not share its PCIe port" in " ".join(run.err.split())
            self.assertEqual(said, server.startswith("pcie") or "pairs" in server, run.err)
        # From NIC to NIC beside the GPUs, the other server's half comes over one of the root's 8.
        run = self.run_program(
            f"collperf --op=gather --server=dgx-a100 --servers=2 -b {size // mib}M --library=none"
            " --report=0 --timeline=0"
        )
        (row,) = self.csv_of(run)
        self.assertGreater(float(row["time_us"]), int(row["bytes"]) / 2 * 8e-3 / 200)

    def test_measured_times_beside_its_own(self):
        # Its own table, as reference: all sizes take as long. Of one with half the times: twice.
        line = "collperf --op=all_gather -g 2 --servers=3 -b 4K -e 1M -f 4 --timeline=0 --report=0"
        own = self.run_program(line)
        file = self.write("own.txt", own.out)
        run = self.run_program(f"{line} --reference={file}")
        table = rows(own.out)
        self.assertEqual(len(run.stats["reference"]["rows"]), len(table))
        self.assertWithin(run.stats["reference"]["factor"], 1, 1e-3)
        self.assertIn("# factor, geometric mean: 1.000", run.out)
        for row in self.csv_of(run):
            self.assertWithin(float(row["reference_factor"]), 1, 1e-3)
            self.assertWithin(float(row["reference_busbw_GBps"]), float(row["busbw_GBps"]), 1e-3)
        for text in run.out.splitlines():
            self.assertTrue(text.startswith("#") or ROW.match(text), text)
        half = "# size count type redop root time\n" + "".join(
            f"{row[0]} 1 float none -1 {float(row[5]) / 2}\n" for row in table[1:]
        )
        run = self.run_program(f"{line} --reference={self.write('half.txt', half)}")
        self.assertWithin(run.stats["reference"]["factor"], 2, 1e-3)
        self.assertEqual(len(run.stats["reference"]["rows"]), len(table) - 1)
        self.assertEqual(self.csv_of(run)[0]["reference_time_us"], "")
        self.assertIn("does not say how many GPUs", run.err)
        # The configuration as run is read again.
        again = self.write("again.json", run.stats["configuration"])
        again = self.run_program(f"collperf --scenario={again} --timeline=0")
        self.assertWithin(again.stats["reference"]["factor"], 2, 1e-3)

    def test_efficiency_and_where_time_went(self):
        run = self.run_program(
            "collperf --op=all_reduce --ranks=8 -b 4K -e 64M -f 128 --algorithm=ring --library=none"
        )
        for row in self.csv_of(run):
            # Each of 8 servers sends 2 (n-1)/n S at least over its one NIC of 100 Gb/s.
            bound = 2 * 7 / 8 * int(row["bytes"]) / 12.5e9 * 1e6
            self.assertWithin(float(row["bound_us"]), bound, 1e-6)
            self.assertWithin(float(row["efficiency"]), bound / float(row["time_us"]), 1e-5)
            # The path on which the last rank left is as long as the only iteration.
            self.assertWithin(
                sum(float(row[part]) for part in PARTS), float(row["time_us"]), 1e-6
            )
            self.assertEqual(float(row["software_us"]), 0)
            self.assertEqual(float(row["inside_servers_us"]), 0)
        # 98% is what 4,096 B leave of frames with their headers and gaps.
        self.assertGreater(float(self.csv_of(run)[-1]["efficiency"]), 0.9)
        self.assertLess(float(self.csv_of(run)[-1]["efficiency"]), 0.985)
        self.assertIn("efficiency", run.err)

    def test_no_efficiency_is_above_one(self):
        """Whatever the algorithm, the operation and the number of GPUs. Where switches add up, an
        all-reduce of n GPUs moves each vector once instead of 2 (n-1)/n times.
        """
        cases = [
            (f"--servers=1 --server={server} -g {gpus}", op)
            for server in ("dgx-h100", "dgx-a100", "pcie4-a100", "dgx-1-v100")
            for gpus in (2, 3, 5, 8)
            for op in ("all_reduce", "all_gather", "reduce_scatter", "alltoall", "broadcast")
        ]
        cases += [
            (f"--servers={servers} -g {gpus} --library=none", op)
            for servers, gpus in ((2, 5), (3, 1), (3, 3))
            for op in ("all_reduce", "gather", "scatter", "sendrecv")
        ]
        cases = share_of(cases, one_in=7)
        cases += [
            (f"--servers=1 --server=dgx-h100 -g {n} --compare=ring,nvls", "all_reduce")
            for n in (5, 8)
        ]
        for options, op in cases:
            with self.subTest(options, op=op):
                run = self.run_program(
                    f"collperf --op={op} {options} -b 64M -e 64M --report=0 --timeline=0"
                )
                bounds = {}
                for row in self.csv_of(run):
                    self.assertLessEqual(float(row["efficiency"]), 1)
                    self.assertGreater(float(row["efficiency"]), 0)
                    bounds[row["algorithm"]] = float(row["bound_us"])
                if {"nvls", "ring"} <= set(bounds):
                    n = run.stats["gpus"]
                    self.assertWithin(bounds["ring"] / bounds["nvls"], 2 * (n - 1) / n, 1e-5)
                    self.assertIn("vectors sent once", " ".join(run.err.split()))

    def test_rows_of_all_reductions_and_datatypes(self):
        run = self.run_program("collperf --ranks=4 -b 8 -e 1K -f 128 -o all -d all")
        got = rows(run.out)
        # As nccl-tests: by datatype, then by reduction, then by size.
        self.assertEqual(len(got), 12 * 6 * 2)
        self.assertEqual([row[3] for row in got[:12:2]], "sum prod max min avg mulsum".split())
        self.assertEqual([row[2] for row in got[::12]][:3], ["int8", "uint8", "int32"])
        for row in got:
            size = {"int8": 1, "uint8": 1, "half": 2, "bfloat16": 2, "fp8_e4m3": 1, "fp8_e5m2": 1}
            bytes_ = size.get(row[2], 8 if row[2] in ("int64", "uint64", "double") else 4)
            self.assertEqual(int(row[1]), int(row[0]) // bytes_)
        # Time depends on neither.
        self.assertEqual(len({(row[0], row[5]) for row in got}), 2)
        self.assertEqual(rows(self.run_program("collperf --ranks=4 -b 1K -o max").out)[0][3], "max")
        self.refuse("collperf -o all_reduce", "-o=all_reduce", "--op")
        self.refuse("collperf --op=sum", "--op=sum", "--reduction")
        self.refuse("collperf --op=all_gather -o sum", "-o=sum", "with --op=all_gather")

    def test_whose_time(self):
        # Of a broadcast along a chain the root leaves first, and the end of the chain last.
        line = "collperf --op=broadcast --algorithm=ring --ranks=8 -b 8K"
        times = [
            float(rows(self.run_program(f"{line} -a {average}").out)[0][5]) for average in range(4)
        ]
        root, mean, least, largest = times
        self.assertEqual(root, least)
        self.assertLess(least, mean)
        self.assertLess(mean, largest)
        self.assertEqual(largest, float(rows(self.run_program(line).out)[0][5]))

    def test_nccl_variables(self):
        run = self.run_program(
            "collperf --ranks=8 -b 1K -e 1M -f 32"
            " --nccl-env=NCCL_ALGO=Tree,NCCL_PROTO=LL,NCCL_DEBUG=WARN"
        )
        self.assertEqual(
            {(row["algorithm"], row["protocol"]) for row in self.csv_of(run)},
            {("double-binary-tree", "ll")},
        )
        self.assertIn("without meaning here: NCCL_DEBUG", run.err)
        configuration = json.dumps(run.stats["configuration"])
        self.assertIn("NCCL_ALGO=Tree,NCCL_PROTO=LL,NCCL_DEBUG=WARN", configuration)
        # The same as asked for in our words.
        ours = self.run_program(
            "collperf --ranks=8 -b 1K -e 1M -f 32 --algorithm=double-binary-tree --protocol=ll"
        )
        self.assertEqual(self.csv_of(run)[0]["time_us"], self.csv_of(ours)[0]["time_us"])
        plan = self.run_program(
            "dltrain --dry-run --nccl-env=NCCL_ALGO=ring,NCCL_IB_TIMEOUT=22 --timeout-exponent=12"
        )
        self.assertIn("--timeout-exponent=12 wins over NCCL_IB_TIMEOUT=22", plan.out)
        self.refuse("dltrain --nccl-env=NCCL_ALGO=Tree", "NCCL_ALGO leaves no algorithm for")
        self.refuse("collperf --nccl-env=NCCL_IB_QPS_PER_CONNECTION=400", "1 to 128")

    def test_pat_where_nccl_takes_it(self):
        # Ring LL: 47 messages of 2.7 us; PAT: 5 x 14 / 3.5 + 48 x 2.8 us, and more of the rate.
        line = "collperf --ranks=48 --nic=400GbE -b 4M --report=0 --timeline=0 --op="
        for op in ("all_gather", "reduce_scatter"):
            (row,) = self.csv_of(self.run_program(line + op))
            self.assertEqual((row["algorithm"], row["protocol"]), ("pat", "simple"))
            run = self.run_program(f"{line}{op} --nccl-env=NCCL_PAT_ENABLE=0")
            self.assertEqual(self.csv_of(run)[0]["algorithm"], "ring")
            run = self.run_program(f"{line}{op} --nccl-env=NCCL_PAT_ENABLE=1")
            self.assertEqual(self.csv_of(run)[0]["time_us"], row["time_us"])
            self.assertIn("NCCL_PAT_ENABLE=1 changes nothing", run.err)
        line = line.replace("--ranks=48", "-g 2 --servers=24")
        (row,) = self.csv_of(self.run_program(f"{line}all_gather"))
        self.assertNotEqual(row["algorithm"], "pat")

    def test_a_protocol_that_nobody_reads(self):
        for op in ("alltoall", "gather", "scatter", "sendrecv"):
            self.refuse(
                f"collperf --ranks=4 --op={op} --protocol=ll -b 16K",
                "--protocol=ll",
                f"has no meaning for {op}",
                "allowed: auto",
            )

    def test_help_of_algorithms(self):
        text = self.run_program("collperf --help=algorithms").out
        for name in ("ring", "k-nomial", "pxn"):
            self.assertIn(f"\n  {name}\n", text)
        self.assertIn("time: 2 (n-1) alpha + 2 (n-1)/n S beta", text)
        self.assertLessEqual(max(map(len, text.splitlines())), 100)
        self.refuse("collperf --radix=2", "--radix=2", "it belongs to k-nomial")


if __name__ == "__main__":
    main()
