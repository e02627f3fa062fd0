# SPDX-License-Identifier: GPL-2.0-only
"""collperf against closed forms: what a collective takes on an idle network follows from the sizes
of its packets.
"""

import itertools
import math
import os
import re
import sys

sys.path.append(sys.path[0] + "/../shared")
from _system_test import (
    HEADERS,
    MTU,
    ROOT,
    SystemTest,
    main,
    nccl_table,
    share_of,
    write_packets,
    write_time_us,
    write_wire_bytes,
)

KIB, MIB, GIB = 1 << 10, 1 << 20, 1 << 30


class RingOnOneSwitch(SystemTest):
    """16 ranks, one GPU a server, one switch: every ring neighbour is two links of 1 us and a
    switch of 500 ns away, and no two messages share a link in one direction. Each step of the ring
    waits for the one before: n - 1 steps of S / n bytes for reduce-scatter and all-gather, 2 (n -
    1) for all-reduce. ACKs share the links with data of the other direction (86 of some 66,848 B
    per 16 packets), which the closed form leaves out: 0.13%.
    """

    RANKS = 16

    def sweep(self, options):
        run = self.run_program("collperf --ranks=16 --algorithm=ring --library=none " + options)
        rows = nccl_table(run.out)
        for row in rows:
            row["chunk_us"] = write_time_us(row["size"] // self.RANKS)
        return run, rows

    def check(self, rows, steps):
        for row in rows:
            expected = steps * row["chunk_us"]
            self.assertWithin(row["time_us"], expected, 0.02, f"{row['size']} B")
            # Nothing is faster than the closed form; the table shows five digits or more.
            self.assertGreater(row["time_us"], expected * (1 - 1e-5), row["size"])

    def test_all_reduce_1_mib_to_1_gib(self):
        run, rows = self.sweep("--op=all_reduce -b 1M -e 1G -f 4")
        self.assertEqual([row["size"] for row in rows], [MIB << e for e in range(0, 11, 2)])
        self.check(rows, 2 * (self.RANKS - 1))
        # Large messages: busbw nears the payload's share of 100 Gb/s, 4096 / 4178 x 12.5 GB/s =
        # 12.25.
        self.assertWithin(rows[-1]["busbw"], 12.5 * MTU / (MTU + HEADERS), 0.005)

        # The table, stats.json and nccl-tests' definitions say the same (FIELD.md, 4).
        stats = run.stats
        self.assertEqual(len(stats["collectives"]), len(rows))
        for row, one in zip(rows, stats["collectives"]):
            self.assertEqual(
                (one["op"], one["algorithm"], one["bytes"], one["ranks"]),
                ("all_reduce", "ring", row["size"], 16),
            )
            self.assertWithin(row["time_us"], one["time_us"], 1e-3)
            algbw = one["bytes"] / one["time_us"] / 1e3
            self.assertWithin(one["algbw_GBps"], algbw, 1e-9)
            self.assertWithin(one["busbw_GBps"], algbw * 2 * 15 / 16, 1e-9)
            self.assertAlmostEqual(row["algbw"], one["algbw_GBps"], delta=0.00501)
            self.assertAlmostEqual(row["busbw"], one["busbw_GBps"], delta=0.00501)
            self.assertEqual(row["count"] * 4, row["size"])
            self.assertEqual((row["type"], row["redop"], row["root"]), ("float", "sum", -1))
            self.assertEqual(row["in_place_time_us"], row["time_us"])
        # Every rank sends 2 S (n-1) / n; all of it crosses the network as messages, and twice as
        # packets' hops.
        total = sum(row["size"] for row in rows)
        self.assertEqual(stats["bytes_sent_per_gpu"], {"all_reduce": total * 2 * 15 / 16})
        self.assertEqual(stats["message_bytes"], total * 2 * 15)
        packets = sum(2 * 15 * 16 * -(-row["size"] // 16 // MTU) for row in rows)
        self.assertEqual(stats["data_packets"], packets)
        self.assertGreater(stats["frame_hops"], 2 * packets)
        self.assertLess(stats["frame_hops"], 2 * packets * 1.1)
        self.assertEqual(stats["ecn_marks"] + stats["pfc_pauses"] + sum(stats["drops"].values()), 0)
        # On an idle network a message takes what it takes alone, up to the ACKs.
        self.assertLess(stats["fct_slowdown"]["max"], 1.02)
        self.assertGreaterEqual(stats["fct_slowdown"]["p50"], 1 - 1e-9)
        # ... and flows.csv agrees with the closed form written here (ideal_fct_us is the
        # simulator's own).
        for flow in run.rows("flows.csv"):
            self.assertAlmostEqual(flow["ideal_fct_us"], write_time_us(flow["bytes"]), delta=1e-3)

    def test_warm_up_takes_no_part(self):
        """As in nccl-tests all ranks begin the measured iterations together, after the warm-up: on
        an idle network without congestion control each takes what it takes alone, on any shape (one
        NIC for eight GPUs: the ranks end at different times).
        """
        for shape in (
            "--servers=2 --gpus-per-server=8 -b 8M",
            "--ranks=5 --gpus-per-server=1 -b 1M",
            "--servers=3 --gpus-per-server=4 --nics-per-server=2 -b 3M",
        ):
            times = {}
            for warm in (0, 1, 5):
                run = self.run_program(
                    "collperf --library=none --op=all_reduce --algorithm=ring --cc=none"
                    " --report=0 -n 1"
                    f" -w {warm} {shape}"
                )
                times[warm] = nccl_table(run.out)[0]["time_us"]
            # (On another warm-up than none ACKs of the last iteration may still be under way.)
            for warm in (1, 5):
                self.assertWithin(times[warm], times[0], 0.005, shape)

    def test_reduce_scatter_and_all_gather_are_half_of_it(self):
        for op in ("reduce_scatter", "all_gather"):
            with self.subTest(op):
                _, rows = self.sweep(f"--op={op} -b 1M -e 64M -f 8")
                self.assertEqual(len(rows), 3)
                self.check(rows, self.RANKS - 1)

    def test_halving_the_rate_doubles_the_time(self):
        times = {}
        for nic, gbps in (("100GbE", 100), ("50GbE", 50), ("200GbE", 200)):
            run, rows = self.sweep(f"--op=all_reduce -b 64M --nic={nic}")
            times[gbps] = rows[0]["time_us"]
            expected = 30 * write_time_us(4 * MIB, gbps)
            self.assertWithin(times[gbps], expected, 0.02)
        self.assertWithin(times[50] / times[100], 2, 0.02)
        self.assertWithin(times[100] / times[200], 2, 0.02)

    def test_small_packets_cost_headers(self):
        # 256 B of payload in 338 on the wire, so large messages take (338 / 256) / (4178 / 4096) =
        # 1.294 times as long.
        times = {}
        for mtu in (256, 4096):
            _, rows = self.sweep(f"--op=all_reduce -b 16M --mtu={mtu}")
            times[mtu] = rows[0]["time_us"]
            self.assertWithin(times[mtu], 30 * write_time_us(MIB, mtu=mtu), 0.03)
        self.assertWithin(times[256] / times[4096], (338 / 256) / (4178 / 4096), 0.03)

    def test_software_latency_is_paid_by_every_step(self):
        _, rows = self.sweep("--op=all_reduce -b 1M --step-latency=10us")
        self.assertWithin(rows[0]["time_us"], 30 * (rows[0]["chunk_us"] + 10), 0.02)

    def test_a_library_takes_launch_messages_and_flags(self):
        # 16 servers: 7 us to launch, 2 more for LL; 30 messages in series, each 3 us (LL) or 20 us
        # (Simple) before it leaves, LL's twice as long on the wire.
        library = {
            "launch": "7us",
            "ll": {"base": "2us", "outside": "3us", "outside_share": 0.5},
            "simple": {"base": "0ns", "outside": "20us"},
        }
        links = {"kind": "nvswitch", "per_gpu": "2400Gbps", "latency": "1us"}
        server = {"name": "box", "gpu": "A100", "gpus": 1, "nics": 1, "nic_rate": "100Gbps"}
        path = self.write(
            "box.json", {"servers": [{**server, "scale_up": links, "library": library}]}
        )
        for size in (1 << 16, 1 << 20):
            chunk = size // self.RANKS
            for protocol, expected in (
                ("ll", 9 + 30 * (3 + write_time_us(2 * chunk))),
                ("simple", 7 + 30 * (20 + write_time_us(chunk))),
            ):
                run = self.run_program(
                    f"collperf --ranks=16 --algorithm=ring --op=all_reduce -b {size}"
                    f" --server={path} --protocol={protocol}"
                )
                (row,) = nccl_table(run.out)
                self.assertWithin(row["time_us"], expected, 0.02, f"{protocol}, {size} B")
                (one,) = run.stats["collectives"]
                self.assertEqual(one["protocol"], protocol)
                # What GPUs send is data; what is on the wire has flags.
                self.assertEqual(one["bytes"], size)
                self.assertEqual(
                    run.stats["message_bytes"], 30 * size * (2 if protocol == "ll" else 1)
                )

    def box_with_channels(self, gpus, channels):
        links = {"kind": "nvswitch", "per_gpu": "2400Gbps", "latency": "1us"}
        library = {
            "exchange_launch": "7us",
            "exchange": {"inside": "1us", "outside": "3us"},
        }
        if channels:
            library["channels"] = channels
        server = {"name": "box", "gpu": "A100", "gpus": gpus, "nics": 1, "nic_rate": "100Gbps"}
        return self.write(
            f"box-{gpus}-{bool(channels)}.json",
            {"servers": [{**server, "scale_up": links, "library": library}]},
        )

    CHANNELS = {"inside": "80Gbps", "outside": "20Gbps", "in_server": 4, "a_nic": 4, "most": 16}

    def test_a_pair_has_its_channels_between_servers(self):
        # 4 channels; a pair has 2 of them of 20 Gb/s up to 16 ranks (channels x (ranks / 8, rounded
        # up) <= 4) and one for more. Frames begin as far apart as that rate says, headers
        # included; the last one has the links to itself.
        box = self.box_with_channels(1, self.CHANNELS)
        free = self.box_with_channels(1, None)
        cases = itertools.product(
            ((2, 40), (5, 40), (16, 40), (17, 20), (24, 20)),
            (1 << 20, 3333333),
            ("packet", "fluid", "analytic"),
        )
        for (ranks, gbps), size, network in share_of(cases, one_in=7):
            (wire, _) = write_packets(size)[-1]
            apart = (write_wire_bytes(size) - wire) * 8e-3 / gbps
            expected = 7 + 3 + apart + 2 * wire * 8e-3 / 100 + 2 * 1.0 + 0.5
            run = self.run_program(
                f"collperf --ranks={ranks} --op=sendrecv -b {size}B --datatype=int8"
                f" --server={box} --network={network}"
            )
            (row,) = nccl_table(run.out)
            what = f"{ranks} ranks, {size} B, {network}"
            self.assertWithin(row["time_us"], expected, 0.01, what)
        # An all-to-all of 16 fills the NIC with all its pairs; of two ranks there is one pair.
        for ranks, path, other in ((16, box, free), (2, free, None)):
            command = f"collperf --ranks={ranks} --op=alltoall -b 1M --server="
            (row,) = nccl_table(self.run_program(command + path).out)
            if other:
                (same,) = nccl_table(self.run_program(command + other).out)
                self.assertEqual(row["time_us"], same["time_us"])
            else:
                (slow,) = nccl_table(self.run_program(command + box).out)
                self.assertWithin((slow["time_us"] - 15) / (row["time_us"] - 15), 100 / 40, 0.03)

    def test_a_pair_has_its_channels_in_a_server(self):
        # One of 4 channels of 10 GB/s a pair, two where it would have more than 16 MiB, then all.
        box = self.box_with_channels(4, self.CHANNELS)
        for size, channels in ((8 << 20, 1), (16 << 20, 1), (24 << 20, 2), (64 << 20, 4)):
            run = self.run_program(
                f"collperf --servers=1 --op=sendrecv -b {size}B --datatype=int8 --server={box}"
            )
            (row,) = nccl_table(run.out)
            self.assertWithin(row["time_us"], 7 + 1 + size / (channels * 1e4), 0.001, size)

    def test_gpus_of_several_islands(self):
        # Pairs with NVLink of 300 GB/s, PCIe of 25 GB/s between them: of two GPUs a ring is as fast
        # as NVLink, of four as PCIe, two of whose ports the host bridge carries at once.
        between = {"kind": "pcie", "per_gpu": "200Gbps", "host_bridge": "400Gbps", "latency": "1us"}
        links = {"kind": "nvlink-islands", "per_gpu": "2400Gbps", "latency": "1us"}
        server = {"name": "box", "gpu": "A100", "gpus": 4, "nics": 1, "nic_rate": "100Gbps"}
        for bridge, island, busbw in (("400", 2, 25), ("200", 2, 12.5), ("400", 4, 300)):
            path = self.write(
                "pairs.json",
                {
                    "servers": [
                        {
                            **server,
                            "scale_up": {
                                **links,
                                "island": island,
                                "between": {**between, "host_bridge": bridge + "Gbps"},
                            },
                        }
                    ]
                },
            )
            for gpus in (2, 4):
                run = self.run_program(
                    f"collperf --servers=1 -g {gpus} --op=all_reduce --algorithm=ring -b 1G"
                    f" --library=none --server={path}"
                )
                (row,) = nccl_table(run.out)
                self.assertWithin(row["busbw"], 300 if gpus == 2 else busbw, 0.01, (bridge, gpus))

    def test_more_ranks_take_longer(self):
        # FIELD.md, 5: results change with the number of GPUs, here as 2 (n-1) T(S / n) says.
        times = []
        for ranks in (2, 4, 8, 32):
            run = self.run_program(
                f"collperf --library=none --op=all_reduce --algorithm=ring -b 4M --ranks={ranks}"
            )
            row = nccl_table(run.out)[0]
            self.assertWithin(
                row["time_us"],
                2 * (ranks - 1) * write_time_us(4 * MIB // ranks),
                0.02,
                f"{ranks} ranks",
            )
            times.append(row["time_us"])
        self.assertEqual(times, sorted(times))


class OtherCollectives(SystemTest):
    def row(self, options):
        run = self.run_program("collperf --library=none --ranks=16 " + options)
        rows = nccl_table(run.out)
        self.assertEqual(len(rows), 1, str(run))
        return run, rows[0]

    def test_barrier_is_four_rounds(self):
        # Dissemination: ceil(log2 16) = 4 rounds of one empty packet over two links: 4 x 2.516 us.
        run, row = self.row("--op=barrier")
        self.assertWithin(row["time_us"], 4 * write_time_us(0), 0.02)
        self.assertEqual((row["size"], row["busbw"]), (0, 0))
        self.assertEqual(run.stats["messages"], 4 * 16)

    def test_alltoall_is_bound_by_the_port(self):
        # Every rank sends 15 pieces of S / 16 at once: the port's time, one message's latency, and
        # what collides at receivers.
        run, row = self.row("--op=alltoall -b 64M")
        piece = 4 * MIB
        port_us = 15 * write_wire_bytes(piece) * 8e-3 / 100
        self.assertGreater(row["time_us"], port_us)
        self.assertLess(row["time_us"], 1.5 * port_us)
        self.assertEqual(run.stats["message_bytes"], 16 * 15 * piece)
        self.assertAlmostEqual(row["busbw"], row["algbw"] * 15 / 16, delta=0.01)
        self.assertEqual(row["count"], 64 * MIB // 4 // 16)

    def test_broadcast_is_a_pipelined_chain(self):
        # 15 links in a chain, 128 messages of 512 KiB; T(512 KiB) each way down the chain, the next
        # message behind it: (n - 2 + 128) x T at most (latencies of messages overlap), 128 x T's
        # serialization at least.
        run, row = self.row("--op=broadcast -b 64M")
        message = 512 * KIB
        self.assertLess(row["time_us"], (14 + 128) * write_time_us(message) * 1.01)
        self.assertGreater(row["time_us"], 128 * write_wire_bytes(message) * 8e-3 / 100)
        self.assertEqual(row["root"], 0)
        self.assertEqual(row["algbw"], row["busbw"])
        _, rooted = self.row("--op=broadcast -b 64M --root=5")
        self.assertEqual(rooted["root"], 5)
        self.assertWithin(rooted["time_us"], row["time_us"], 0.01)

    def test_hierarchical_sends_less_out_of_a_server(self):
        # 4 servers of 4 GPUs, S = 64 MiB. Out of a server: a flat ring 2 S (n-1) / n, one GPU's
        # traffic; two levels 2 S (k-1) / k: 1.875 S against 1.5 S. Time at 100 Gb/s follows, NVLink
        # (24 times as fast) adding less than a tenth.
        size = 64 * MIB
        cluster = f"--gpus-per-server=4 --op=all_reduce -b {size} "
        ring, ring_row = self.row(cluster + "--algorithm=ring")
        two, two_row = self.row(cluster + "--algorithm=hierarchical")
        self.assertEqual(ring.stats["message_bytes"], 4 * 2 * size * 15 // 16)
        self.assertEqual(two.stats["message_bytes"], 4 * 2 * size * 3 // 4)
        for run, row, share in ((ring, ring_row, 2 * 15 / 16), (two, two_row, 2 * 3 / 4)):
            network_us = share * size * (MTU + HEADERS) / MTU * 8e-3 / 100
            self.assertGreater(row["time_us"], network_us)
            self.assertLess(row["time_us"], 1.15 * network_us)
            # As many bytes a GPU, whatever the algorithm: the least there is.
            self.assertEqual(run.stats["bytes_sent_per_gpu"]["all_reduce"], 2 * size * 15 / 16)
            self.assertEqual(
                run.stats["collectives"][0]["algorithm"], "ring" if run is ring else "hierarchical"
            )
        # Small ones: 2 (n-1) = 30 messages in series against 2 (4-1 + 4-1) = 12, of which six cross
        # the network.
        small = "--gpus-per-server=4 --op=all_reduce -b 64K "
        self.assertLess(
            self.row(small + "--algorithm=hierarchical")[1]["time_us"],
            self.row(small + "--algorithm=ring")[1]["time_us"],
        )

    def test_two_nics_are_twice_as_fast(self):
        # Channels over two NICs, 4 servers of 4 GPUs: each carries half.
        cluster = "--gpus-per-server=4 --op=all_reduce -b 256M "
        one = self.row(cluster + "--nics-per-server=1")[1]["time_us"]
        two = self.row(cluster + "--nics-per-server=2")[1]["time_us"]
        self.assertWithin(one / two, 2, 0.05)

    def test_iterations_are_averaged(self):
        # Idle network: every repetition takes as long as the first, up to what overlaps where they
        # meet.
        _, once = self.row("--op=all_reduce -b 8M")
        run, many = self.row("--op=all_reduce -b 8M -n 3 -w 2")
        self.assertWithin(many["time_us"], once["time_us"], 0.02)
        self.assertEqual(run.stats["message_bytes"], 5 * 30 * 8 * MIB)

    def test_steps_of_sizes(self):
        run = self.run_program("collperf -b 1M -e 3M -i 1M")
        self.assertEqual([row["size"] for row in nccl_table(run.out)], [MIB, 2 * MIB, 3 * MIB])
        run = self.run_program("collperf -b 1000 -e 5000 -f 1.5 --datatype=half")
        sizes = [row["size"] for row in nccl_table(run.out)]
        self.assertEqual(sizes[:3], [1000, 1500, 2250])
        self.assertTrue(all(size % 2 == 0 and size <= 5000 for size in sizes))
        self.assertEqual(len(sizes), 1 + math.floor(math.log(5) / math.log(1.5)))


class AllToAllV(SystemTest):
    """Blocks of given sizes: --block-sizes."""

    def blocks(self, run):
        """Bytes between servers by pair of ranks, one GPU a server."""
        return {
            (int(flow["from_gpu"]), int(flow["to_gpu"])): flow["bytes"]
            for flow in run.rows("flows.csv")
        }

    def test_equal_blocks_are_alltoall(self):
        for shape in (
            "--ranks=5 -b 1M",
            "--servers=3 --gpus-per-server=4 --nics-per-server=2 -b 3M -e 12M",
            "--ranks=6 -b 100k --fabric=ib --nic=HDR",
            "--ranks=7 -b 1M --pipeline=32KiB --topology=leaf-spine --seed=3",
            "--ranks=4 -b 2M --network=analytic",
        ):
            line = f"collperf --library=none --report=0 --timeline=0 {shape} "
            v = self.run_program(line + "--op=alltoallv --block-sizes=equal -c 1")
            # On rails the default is pxn, which has no sizes of its own.
            plain = self.run_program(line + "--op=alltoall --algorithm=direct -c 1")
            self.assertEqual(
                v.text("flows.csv"), plain.text("flows.csv").replace(",alltoall,", ",alltoallv,")
            )
            self.assertEqual(
                [row["time_us"] for row in nccl_table(v.out)],
                [row["time_us"] for row in nccl_table(plain.out)],
                shape,
            )

    def test_the_sizes_of_rccl_tests(self):
        # 4 ranks of 4 MiB for each on average: (i + j) mod 4 times 2 MiB, and 4 MiB where that is
        # 0. A rank has 16 MiB in all; its own block is 0 + 0, 1 + 1, 2 + 2, 3 + 3 mod 4: 4 MiB, 4
        # MiB, 4 MiB, 4 MiB, so that 12 MiB leave each, and its port is busy with them.
        run = self.run_program("collperf --library=none --op=alltoallv --ranks=4 -b 16M -c 1")
        expected = {
            (i, j): (2 * ((i + j) % 4) or 4) * MIB for i in range(4) for j in range(4) if i != j
        }
        self.assertEqual(self.blocks(run), expected)
        row = nccl_table(run.out)[0]
        self.assertEqual(row["size"], 16 * MIB)
        self.assertAlmostEqual(row["busbw"], row["algbw"] * 3 / 4, delta=0.01)
        port_us = write_wire_bytes(12 * MIB) * 8e-3 / 100
        self.assertGreater(row["time_us"], port_us)
        self.assertLess(row["time_us"], 1.6 * port_us)
        self.assertEqual(run.stats["bytes_sent_per_gpu"], {"alltoallv": 12 * MIB})

    def test_an_expert_that_all_want(self):
        # Ranks 1 to 6 have 3 shares for rank 0 and 1 for the next; rank 0 has nothing: 6 x 3 / 4 of
        # S come in at rank 0's port, the time of which is the least.
        n = 7
        rows = [[0] * n]
        for i in range(1, n):
            rows.append([3.0 if j == 0 else float(j == (i % (n - 1)) + 1) for j in range(n)])
        shares = self.write("s.csv", "# shares\n" + "".join(
            ",".join(f"{share:g}" for share in row) + "\n" for row in rows
        ))
        size = 4 * MIB
        for fabric, gbps in (("", 100), ("--fabric=ib --nic=HDR", 200)):
            run = self.run_program(
                f"collperf --library=none --op=alltoallv --ranks={n} -b {size} -c 1 --cc=none"
                f" --block-sizes={shares} {fabric}"
            )
            blocks = self.blocks(run)
            self.assertEqual(len(blocks), 2 * (n - 1))  # nothing is no message
            self.assertEqual({blocks[i, 0] for i in range(1, n)}, {3 * MIB})
            self.assertEqual(sum(blocks.values()), (n - 1) * size)
            time = nccl_table(run.out)[0]["time_us"]
            least = (n - 1) * 3 * MIB * 8e-3 / gbps
            self.assertGreater(time, least)
            self.assertLess(time, 1.2 * least)
        again = self.write("job.json", run.stats["configuration"])
        same = self.run_program(f"collperf --scenario={again}")
        self.assertEqual(same.text("flows.csv"), run.text("flows.csv"))

    def test_nothing_to_send(self):
        # A size of one element leaves blocks of rccl-tests nothing.
        run = self.run_program("collperf --library=none --op=alltoallv --ranks=4 -b 4 -e 64 -f 16")
        self.assertEqual([row["size"] for row in nccl_table(run.out)], [0, 64])
        self.assertTrue(run.stats["completed"])
        self.assertIn("-b=4: no block of this size has a whole element", run.err)

    def test_what_is_no_matrix_is_refused(self):
        line = "collperf --library=none --op=alltoallv --ranks=3 -b 1M --block-sizes="
        for text, words in (
            ("1 2 3\n1 2 3\n", ("2 lines of shares", "3 lines")),
            ("1 2 3\n1 2 3\n1 2 3\n1 2 3\n", (":4:", "3 lines")),
            ("1 2 3\n1 2\n1 2 3\n", (":2:", "2 shares")),
            ("1 2 3\n1 -2 3\n1 2 3\n", (":2:", "'-2'")),
            ("1 2 3\n1 nan 3\n1 2 3\n", (":2:", "'nan'")),
            ("1 2 3\n1 1e16 3\n1 2 3\n", (":2:", "'1e16'", "1e15")),
            ("0 0 0\n0 0 0\n0 0 0\n", ("all shares are 0",)),
            ("", ("0 lines",)),
        ):
            self.refuse(line + self.write("bad.csv", text), *words)
        self.refuse(line + "no/such.csv", "no/such.csv")
        if os.access("/proc/kmsg", os.R_OK):
            self.refuse(line + "/proc/kmsg", "/proc/kmsg")  # looks regular, and waits
        job = {"op": "alltoallv", "minbytes": "1MB", "block_sizes": "a\0.csv"}
        scenario = self.write("nul.json", {"collperf": job, "cluster": {"ranks": 4}})
        self.refuse(f"collperf --scenario={scenario}", "nul.json:1:", '"a\\u0000.csv" has a NUL')
        self.refuse(line + "equall", "block-sizes", "equal")
        self.refuse("collperf --op=alltoall --block-sizes=equal", "block-sizes", "alltoallv")
        self.refuse("collperf --library=none --op=alltoallv --ranks=5000 -b 1M", "4096")


class AsNcclTests(SystemTest):
    """Its options, and what its header says of them."""

    def test_header_has_what_was_asked_for(self):
        # nccl-tests prints -b and -e, whether or not -f comes to that.
        for sizes, least, most in (("-b 1k -e 3000 -f 2", 1024, 3000), ("-b 2k", 2048, 2048)):
            run = self.run_program(f"collperf {sizes} --ranks=2")
            self.assertIn(f" minBytes {least} maxBytes {most} ", run.out.splitlines()[0])

    def test_threads_gpus_iterations_and_check(self):
        line = "collperf -b 1k -e 64k -f 8 -g 2 -t 2 -n 2 -w 1 --servers=2 --op=all_reduce"
        run = self.run_program(line + " -c 1")
        self.assertTrue(
            run.out.startswith(
                "# nThread 2 nGpus 2 minBytes 1024 maxBytes 65536 iters: 2 warmup iters: 1"
                " validation: 1\n"
            ),
            run,
        )
        self.assertIn("# the schedule of every size is proven for these ranks", run.out)
        self.assertIn("8 ranks on 2 servers", run.out)
        rows = [text.split() for text in run.out.splitlines() if not text.startswith("#")]
        self.assertEqual([row[0] for row in rows], ["1024", "8192", "65536"])
        self.assertEqual({row[8] for row in rows} | {row[12] for row in rows}, {"0"})
        unchecked = self.run_program(line)
        self.assertIn("validation: 0", unchecked.out)
        self.assertEqual(
            {text.split()[8] for text in unchecked.out.splitlines() if not text.startswith("#")},
            {"N/A"},
        )
        # It is the same run, and that of four GPUs a server.
        self.assertEqual(run.stats["collectives"], unchecked.stats["collectives"])
        plain = self.run_program(
            "collperf -b 1K -e 64K -f 8 --gpus-per-server=4 -n 2 -w 1 --servers=2 --op=all_reduce"
        )
        self.assertEqual(plain.stats["collectives"], run.stats["collectives"])
        self.assertIn("# nThread 1 nGpus 4 ", plain.out)

    def test_chunks_of_a_file_are_whole_elements(self):
        """The example of the documentation: two chunks, so 12 bytes are two of 1 1/2 floats."""
        with open(os.path.join(ROOT, "docs/collectives.md"), encoding="utf-8") as page:
            xml = re.search('<algo name="pair".*?</algo>\n', page.read(), re.DOTALL).group()
        self.write("pair.xml", xml)
        line = "collperf --ranks=2 --algorithm=pair.xml --report=0 --timeline=0 --progress=0 -b "
        words = ("pair.xml:1: ", 'nchunksperloop="2"', "multiples of 8 bytes")
        self.refuse(line + "12", *words)
        self.run_program(line + "16")
        self.run_program(line + "12 -d half")
        self.refuse(line + "6 -d half", "multiples of 4 bytes")
        # GPU 0 sends its chunk 1 first.
        self.write("pair.xml", xml.replace('i_chunks="2"', 'i_chunks="1"', 1))
        self.refuse(line + "16", "pair.xml:4: ", 'i_chunks="1"')

    def test_a_named_server(self):
        """8 GPUs and 8 NICs of 400 Gb/s each: not one GPU and one NIC of 100."""
        line = "collperf --library=none --server=dgx-h100 --servers=2 -b 8M --op=all_gather"
        run = self.run_program(line)
        self.assertIn("16 ranks on 2 servers", run.out)
        self.assertIn("8 x 400GbE", run.out)
        self.assertEqual(run.stats["links"][0]["rate_gbps"], 400)
        self.assertEqual(run.stats["configuration"]["cluster"]["nics_per_server"], 8)
        one = self.run_program(
            line + " --nics-per-server=1"
            " --nic=100GbE"
        )
        self.assertLess(
            run.stats["collectives"][0]["time_us"] * 4, one.stats["collectives"][0]["time_us"]
        )


if __name__ == "__main__":
    main()
