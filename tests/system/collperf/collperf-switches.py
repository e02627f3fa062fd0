# SPDX-License-Identifier: GPL-2.0-only
"""Collectives that switches add up and copy: what crosses NICs, how long that takes, what the plan
says, and what happens where a switch has no room.
"""

import sys

sys.path.append(sys.path[0] + "/../shared")
from _system_test import HEADERS, MTU, SystemTest, main, nccl_table

MIB = 1 << 20
LINKS_ALONE = "collperf --library=none --no-report --no-timeline --no-attribution "
PAYLOAD = MTU / (MTU + HEADERS)


def row_of(run):
    return nccl_table(run.out)[0]


class BetweenServers(SystemTest):
    """SHARP: S out of each NIC and S into it, whatever the ranks; a ring has 2 S (n-1) / n."""

    NETWORKS = (
        (2, "--topology=single-switch"),
        (3, "--topology=fat-tree --k=4"),
        (16, "--topology=fat-tree --k=4"),
        (13, "--topology=fat-tree --k=6 --placement=random --seed=5"),
        (16, "--topology=leaf-spine --fabric=ib"),
        (9, "--topology=torus"),
    )

    def test_bytes_at_the_nic(self):
        size = 4 * MIB
        for ranks, network in self.NETWORKS:
            for algorithm, each in (("sharp", size), ("ring", 2 * size * (ranks - 1) / ranks)):
                run = self.run_program(
                    f"{LINKS_ALONE} --op=all_reduce -b {size} -e {size} --ranks={ranks}"
                    f" {network} --algorithm={algorithm}"
                )
                sent, received = {}, {}
                for row in run.rows("flows.csv"):
                    sent[row["src"]] = sent.get(row["src"], 0) + row["bytes"]
                    received[row["dst"]] = received.get(row["dst"], 0) + row["bytes"]
                for server in range(ranks):
                    for what in (sent, received):
                        self.assertWithin(
                            what[f"server-{server}"], each, 1e-4, f"{network}, {algorithm}"
                        )

    def test_trees_of_servers_are_bound_by_bytes(self):
        # nvls-tree, S = 256 MiB on an idle switch that blocks nobody, with DCQCN: out of the
        # busiest server, which has as many links in both trees as here, S / 2 go over each, by 8
        # NICs of 50 GB/s; inside S (1 + 1/8) cross a GPU's port of 450 GB/s x 0.824. Chunks of 64
        # KiB (128 below 4 servers) in pieces of 16 MiB leave less than a tenth for the pipeline's
        # beginning and end (13% with 3 servers, one of whose trees is a chain of three), and no
        # two of them fill a queue to where it marks.
        size = 256 * MIB
        for servers, links, more in ((2, 2, 1.1), (3, 3, 1.13), (4, 4, 1.1), (8, 4, 1.1)):
            run = self.run_program(
                f"{LINKS_ALONE} --server=dgx-h100 --servers={servers} --algorithm=nvls-tree"
                f" -b {size} -e {size}"
            )
            between = links / 2 * size / (8 * 50e3 * PAYLOAD)
            inside = 1.125 * size / (450e3 * 0.824)
            took = row_of(run)["time_us"]
            self.assertGreater(took, max(between, inside))
            self.assertLess(took, more * max(between, inside), servers)
            self.assertEqual(run.stats["ecn_marks"], 0)

    def test_time_is_that_of_the_bytes(self):
        # Up and down go at once, so S at the NIC's rate (100 Gb/s), and the way of the first chunk
        # (256 KiB): over at most 3 switches that add up, so 6 more messages of 1 / 256 of the time
        # each, and their latencies, a few us a hop of some 6,000. A ring takes 1.33 times as long
        # with 3 ranks, 1.88 with 16.
        size = 64 * MIB
        for ranks, network in self.NETWORKS[:4]:
            run = self.run_program(
                f"{LINKS_ALONE} --op=all_reduce -b {size} -e {size} --ranks={ranks} {network}"
                " --algorithm=sharp"
            )
            least = size / (12.5e3 * PAYLOAD)
            self.assertGreaterEqual(row_of(run)["time_us"], least)
            self.assertLess(row_of(run)["time_us"], 1.06 * least, network)

    def test_busbw_gain_over_a_ring(self):
        # Out of a server with 8 NICs a ring sends 2 S (k-1) / k, the others S: with k = 8 servers
        # up to 1.75 times a ring's busbw, less what the way of the first chunks takes.
        times = {}
        for algorithm in ("collnet-direct", "nvls", "ring"):
            times[algorithm] = row_of(
                self.run_program(
                    f"{LINKS_ALONE} --cc=none --op=all_reduce -b 64M -e 64M --servers=8 -g 8"
                    f" --server=dgx-h100 --topology=single-switch --algorithm={algorithm}"
                )
            )["time_us"]
        for algorithm in ("collnet-direct", "nvls"):
            self.assertGreater(times["ring"] / times[algorithm], 1.4, times)
            self.assertLess(times["ring"] / times[algorithm], 1.75 * 1.05, times)

    def test_any_engine_and_process_count(self):
        lines = set()
        for more in ("", "--threads=2", "--engine=ns3", "--mpi-ranks=2"):
            run = self.run_program(
                f"{LINKS_ALONE} --op=all_reduce -b 1M -e 1M --ranks=8 -n 2"
                f" --topology=fat-tree --k=4 --algorithm=sharp {more}"
            )
            lines.add(run.out)
        self.assertEqual(len(lines), 1, lines)

    def test_nccl_asks_for_them(self):
        # The same as named, to the byte of the table; and no unit where no operation is that.
        line = f"{LINKS_ALONE} -b 4M -e 4M --servers=3 -g 2 --nics-per-server=2"
        named = self.run_program(f"{line} --op=all_reduce --algorithm=collnet-direct")
        asked = self.run_program(f"{line} --op=all_reduce --nccl-env=NCCL_ALGO=CollnetDirect")
        self.assertEqual(named.out, asked.out)
        for more in (
            "--op=all_gather --nccl-env=NCCL_ALGO=ring;allreduce:CollnetDirect",
            "--op=all_gather --algorithm=all_reduce=collnet-direct",
        ):
            run = self.run_program(f"{line} {more}")
            self.assertNotIn("sharp-", run.text("topology.json"))
            self.refuse(f"{line} {more} --aggregation-groups=4", "--aggregation-groups=4", "sharp")

    def test_plan(self):
        run = self.run_program(
            "collperf --op=all_reduce --ranks=16 --topology=fat-tree --k=4 --algorithm=sharp"
            " --dry-run"
        )
        # 8 edge switches of 2 servers, 4 aggregation switches of 2 edges, a core switch of 4 pods.
        self.assertIn("16 hosts, 8 + 8 + 4 switches, 13 of them with a unit", run.out)
        self.assertNotIn("idle", run.out.split("By formula")[0])  # idle_us is a column there

    def test_a_step_of_training(self):
        run = self.run_program(
            "dltrain --model=gpt2 --seq=256 --zero=0 --servers=6 --gpus-per-server=1"
            " --algorithm=all_reduce=sharp"
        )
        names = {one["algorithm"] for one in run.stats["collectives"]}
        self.assertEqual(names, {"sharp"})
        self.assertTrue(run.stats["completed"])


class Room(SystemTest):
    def test_switches_that_serve_nobody(self):
        step = (
            "dltrain --model=gpt2 --seq=256 --zero=0 --servers=8 --gpus-per-server=1"
            " --algorithm=all_reduce=sharp"
        )
        for line in (
            step,
            "collperf --op=all_reduce -b 1M -e 4M -f 4 --ranks=8 --algorithm=sharp",
        ):
            served = self.run_program(line)
            self.assertNotIn("aggregation-groups", served.err)
            late = self.run_program(line + " --aggregation-groups=0")
            self.assertEqual(late.err.count("--aggregation-groups=0"), 1, late.err)
            self.assertNotIn("algorithm sharp", late.out)
            for run, uses in ((served, True), (late, False)):
                for one in run.stats["collectives"]:
                    self.assertEqual(one["algorithm"] == "sharp", uses, one)

    def test_others_are_not_changed(self):
        # Whatever else is compared: routes on InfiniBand, buffers on Ethernet, what auto takes.
        for line in (
            "--fabric=ib --nic=HDR --topology=fat-tree --k=4 --ranks=12 -b 4M --algorithm=direct",
            "--fabric=ib --topology=leaf-spine --hosts-per-leaf=4 --ranks=12 -b 4M"
            " --algorithm=direct --ib-routing=minhop",
            "--topology=fat-tree --k=4 --ranks=13 -b 8M --oversubscription=4 --algorithm=direct",
            "--servers=3 --server=dgx-h100 -b 32M",
        ):
            switches = "nvls" if "dgx" in line else "sharp"
            outs = []
            for more in ("", f" --compare={switches}"):
                run = self.run_program(
                    f"collperf --no-report --no-timeline --no-attribution --op=all_reduce {line}"
                    f" -e {line.split('-b ')[1].split()[0]}{more}"
                )
                self.assertNotIn("cannot route", run.err)
                outs.append(row_of(run)["time_us"])
            self.assertEqual(outs[0], outs[1], line)

    def test_less_memory_smaller_messages(self):
        largest = {}
        for memory in ("1MiB", "16KiB"):
            run = self.run_program(
                f"{LINKS_ALONE} --op=all_reduce -b 4M -e 4M --ranks=4 --algorithm=sharp"
                f" --topology=single-switch --aggregation-memory={memory}"
            )
            largest[memory] = max(row["bytes"] for row in run.rows("flows.csv"))
        self.assertLessEqual(largest["16KiB"], 16 << 10)
        self.assertGreater(largest["1MiB"], 16 << 10)

    def test_refusals(self):
        for line, *words in (
            (
                "collperf --op=all_reduce --servers=2 -g 2 --algorithm=sharp",
                "--algorithm=sharp",
                "collnet-direct",
            ),
            (
                "collperf --op=all_reduce --servers=1 -g 8 --server=dgx-a100 --algorithm=nvls",
                "NVLS",
            ),
            (
                "collperf --op=all_reduce --servers=1 -g 8 --server=dgx-h100 --algorithm=nvls"
                " --protocol=ll",
                "simple",
            ),
            ("collperf --op=broadcast --ranks=4 --algorithm=sharp", "does not do broadcast"),
            (
                "collperf --op=all_reduce --ranks=4 --algorithm=sharp --aggregation-memory=1",
                "--aggregation-memory=1",
            ),
            ("collperf --op=all_reduce --servers=1 -g 4 --algorithm=collnet-direct", "on one"),
            (
                "dltrain --zero=0 --servers=4 --gpus-per-server=1 --algorithm=all_reduce=sharp"
                " --mpi-ranks=2",
                "one process only",
            ),
        ):
            self.refuse(line, *words)


if __name__ == "__main__":
    main()
