#!/usr/bin/python3
# SPDX-License-Identifier: GPL-2.0-only
"""Files of topologies and flows that others wrote, as their code reads them; what a run says of
files that nobody wrote so; averages over the time of flows that start late."""

import sys

sys.path.append(sys.path[0] + "/../shared")
from _system_test import SystemTest, main

QUIET = " --report=0 --timeline=0 --progress=0"
# HPCC's code takes the announced lines and ignores the rest: its own first example is so.
STAR = "5 1 3\n0\n" + "".join(f"0 {n} 100Gbps 0.001ms 0\n" for n in range(1, 6))
INCAST = (
    "2\n2 1 3 100 200000000 2\n3 1 3 100 200000000 2\n2 1 3 100 5000000 2\n\n"
    "First line: # of flows\n"
)
RACK = "5 1 1 4\n4\n" + "".join(f"{n} 4 25000000000.0 1us 0\n" for n in range(4))
SHORT = "3\n0 1 3 100000 2.000000000\n2 3 3 4490 2.000001250\n3 0 3 65536 2.000002000\n"


class Replay(SystemTest):
    def test_more_lines_than_announced(self):
        net = self.write("net.txt", STAR)
        flows = self.write("flows.txt", INCAST)
        run = self.run_program(
            f"traffic --compat=hpcc --topology={net} --flows={flows} --cc=hpcc" + QUIET
        )
        self.assertIn("net.txt:6: the first line announces 3 links; lines behind these", run.err)
        self.assertIn("net.txt: 1 host without a link left out: 4", run.err)
        self.assertIn("flows.txt:4: the first line announces 2 flows; lines behind these", run.err)
        stats = run.stats
        self.assertEqual(stats["flows"]["all"], 2)
        self.assertEqual(stats["topology"]["hosts"], 3)
        # A packet of 1,000 B has 48 B of headers and 42 B of telemetry (5 hops of 8 B, and 2);
        # HPCC aims at 0.95 of the line: 400 MB x 1.09 / (0.95 x 12.5 GB/s) = 36.7 ms.
        self.assertWithin(stats["fct_us"]["max"], 36716, 0.01)

    def test_averages_begin_with_the_first_flow(self):
        """Of two senders to one receiver its link is busy from the first flow's start to the end,
        whenever that is: headers aside, the payload takes 8 x bytes / rate.
        """
        for gbps, start in ((100, 2), (40, 0.5), (25, 0)):
            size = 20000000
            net = self.write(
                "net.txt", "4 1 3\n3\n" + "".join(f"{n} 3 {gbps}Gbps 1us 0\n" for n in range(3))
            )
            flows = self.write("flows.txt", f"2\n0 2 3 1 {size} {start}\n1 2 3 1 {size} {start}\n")
            run = self.run_program(
                f"traffic --topology={net} --flows={flows} --cc=none --no-ecn"
                " --queue-interval=10us" + QUIET
            )
            stats = run.stats
            # 4,096 B of a packet take 4,096 + 82 B of the line (Ethernet, IPv4, UDP, BTH, CRCs,
            # preamble and gap; RETH in the first packet).
            goodput = gbps * 4096 / 4178
            self.assertWithin(stats["flows"]["goodput_gbps"], goodput, 0.005)
            self.assertRegex(run.out, rf"the last after .* ms; {int(goodput)}\.\d Gb/s together")
            self.assertWithin(stats["links"][0]["utilization"], 1, 0.005)
            self.assertEqual(stats["flows"]["first_start_us"], start * 1e6)
            self.assertEqual(stats["measured_from_us"], start * 1e6)
            took = 2 * size * 8 / goodput / 1e3  # us
            self.assertWithin(stats["flows"]["last_arrival_us"] - start * 1e6, took, 0.005)
            down = stats["port_classes"]["switch_to_host"]
            self.assertWithin(down["utilization_max"], 1, 0.005)
            # A sender more than the line has room for: a queue at one of three ports in more than
            # nine of ten looks.
            self.assertGreater(down["queue_bytes"]["p90"], 0)

    def test_two_processes_measure_the_same(self):
        net = self.write("net.txt", STAR)
        flows = self.write("flows.txt", "2\n2 1 3 1 300000 2\n3 1 3 1 200000 2.00001\n")
        line = f"traffic --topology={net} --flows={flows}" + QUIET
        one = self.run_program(line).stats
        two = self.run_program(line + " --mpi-ranks=2").stats
        for key in ("measured_from_us", "flows", "links", "fct_us", "ecn_marks", "data_packets"):
            self.assertEqual(one[key], two[key], key)

    def test_four_numbers_and_five_fields(self):
        net = self.write("net.txt", RACK)
        flows = self.write("flows.txt", SHORT)
        run = self.run_program(f"traffic --topology={net} --flows={flows}" + QUIET)
        rows = sorted(run.rows("flows.csv"), key=lambda row: row["bytes"])
        self.assertEqual([row["bytes"] for row in rows], [4490, 65536, 100000])
        self.assertEqual({row["rate_gbps"] for row in run.rows("links.csv")}, {25})
        self.assertEqual(run.stats["topology"]["hosts"], 4)

    def test_messages_of_one_connection_come_in_order(self):
        """Three messages of 30,000 B on one queue pair: the last arrives as one of 90,000 B would,
        but for the ends of packets: 30,000 = 7 x 4,096 + 1,328.
        """
        matrix = "Nodes 2\nConnections {}\nTriggers 0\n{}"
        line = "0->1 id 1 msg start 0 size {}\n"
        last = {}
        for number, size in ((3, 30000), (1, 90000)):
            flows = self.write("flows.cm", matrix.format(number, line.format(size) * number))
            stats = self.run_program(
                f"traffic --topology=single-switch --hosts=2 --flows={flows}" + QUIET
            ).stats
            self.assertEqual(stats["queue_pairs"], 2)  # both ends
            last[number] = stats["flows"]["last_arrival_us"]
        # Two packets and two RETHs more, of 82 and 16 B, at 100 Gb/s; twice, as of store and
        # forward a last packet of 1,328 B is shorter than one of 3,984 B.
        self.assertLess(abs(last[3] - last[1]), 0.5)


class Unknown(SystemTest):
    def test_kinds_are_named(self):
        files = {
            "hash": "# nodes\n1 2\n",
            "words": "hosts: 4\n",
        }
        for name, text in files.items():
            path = self.write(name, text)
            self.refuse(
                f"traffic --topology={path}",
                "is no topology file of a known kind; allowed: ",
                "a network file of ASTRA-sim",
                "a graph in JSON, ",
                "a topology file of HPCC's ns-3 code",
                "a topology file of htsim",
                "a topology file of SimAI",
            )
            self.refuse(
                f"traffic --flows={path}",
                "is no file of flows of a known kind; allowed: CSV whose first line names "
                "start_ns, src, dst and bytes; HPCC's flow format",
            )

    def test_errors_name_the_kind(self):
        hpcc = self.write("hpcc.txt", "3 1 x\n")
        self.refuse(f"traffic --topology={hpcc}", "; read as a topology file of HPCC's ns-3 code")
        graph = self.write("graph.json", '{"nodes": 3, "links": []}')
        self.refuse(f"traffic --topology={graph}", "; read as a graph in JSON")
        for text, kind in (
            ("2\n0 1 3 1 1000 0\n", "HPCC's flow format"),
            ("start_ns,src,dst\n", "CSV"),
            ("Nodes 2\nConnections 1\n0->1 start 0\n", "an htsim connection matrix"),
        ):
            flows = self.write("flows", text)
            self.refuse(f"traffic --flows={flows}", f"; read as {kind}")

    def test_columns_that_nobody_reads(self):
        flows = self.write("f.csv", "start_ns,src,dst,bytes,ecn\n0,0,1,1000,on\n")
        run = self.run_program(f"traffic --flows={flows} --dry-run")
        self.assertIn("f.csv: column not used: ecn; known: start_ns, src, dst, bytes", run.err)
        sizes = self.write("sizes.csv", "bytes,percent,source\n1000,50,a\n2000,100,b\n")
        run = self.run_program(f"traffic --sizes={sizes} --dry-run")
        self.assertIn("sizes.csv: column not used: source; known: bytes or percent", run.err)
        requests = self.write(
            "r.csv", "arrival_s,input_tokens,output_tokens,user\n0,10,2,a\n1,10,2,b\n"
        )
        run = self.run_program(f"dlserve --requests={requests} --dry-run")
        self.assertIn("r.csv: column not used: user; known: arrival_s", run.err)


class Priorities(SystemTest):
    def test_tcp_keeps_out_of_the_lossless_one(self):
        hpcc = self.write("flow.txt", "2\n1 0 3 1 10000000 0\n2 0 3 1 10000000 0\n")
        table = self.write("flow.csv", "start_s,src,dst,bytes\n0,1,0,10000000\n0,2,0,10000000\n")
        own = self.write(
            "own.csv", "start_s,src,dst,bytes,priority\n0,1,0,10000000,3\n0,2,0,10000000,3\n"
        )
        line = "traffic --topology=single-switch --hosts=3 --nic=40GbE --protocol=tcp" + QUIET
        for path, pauses in ((hpcc, False), (table, False), (own, True)):
            run = self.run_program(f"{line} --flows={path}")
            self.assertEqual(run.stats["pfc_pauses"] > 0, pauses, path)
            self.assertEqual("pg is ignored: with --protocol=tcp" in run.err, path == hpcc)

    def test_dctcp_is_told_when_pfc_comes_first(self):
        """One sender in each of two lossless priorities: neither queue gets to the marks, of which
        DCTCP hears alone. With what the note says, there are some.
        """
        flows = self.write(
            "two.csv", "start_ns,src,dst,bytes,priority\n0,0,2,5000000,4\n0,1,2,5000000,5\n"
        )
        for nic, of_100g in (("100GbE", 1), ("40GbE", 0.4)):
            line = (
                f"traffic --topology=single-switch --hosts=3 --nic={nic} --cc=dctcp"
                f" --flows={flows}" + QUIET
            )
            run = self.run_program(line)
            said = run.err
            self.assertIn("--cc=dctcp hears of ECN marks alone, and PFC pauses before", said)
            self.assertIn(f"marks begin at {300 * of_100g:g} kB", said.replace("kB", " kB"))
            self.assertEqual(run.stats["ecn_marks"], 0)
            self.assertGreater(run.stats["pfc_pauses"], 0)
            run = self.run_program(line + " --ecn-kmin=100kB --ecn-kmax=100kB")
            self.assertNotIn("hears of ECN marks", run.err)
            self.assertGreater(run.stats["ecn_marks"], 0)
            self.assertEqual(run.stats["pfc_pauses"], 0)

    def test_trimming_needs_a_transport_that_knows_it(self):
        for transport in ("rc", "irn"):
            self.refuse(
                f"traffic --transport={transport} --ns3::RdmaSwitch::TrimPackets=8",
                "knows no trimmed packets, so none would be trimmed; allowed with it: 0; with "
                "eqds, ndp, uet: 1 or more",
            )


if __name__ == "__main__":
    main()
