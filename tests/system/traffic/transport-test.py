# SPDX-License-Identifier: GPL-2.0-only
# --transport: the same over the programs, engines, threads and processes; what a run shows of it.
import os
import subprocess
import sys
import unittest

sys.path.append(sys.path[0] + "/../shared")
from _system_test import SystemTest, repeatable, share_of, write_packets, write_time_us

TRAFFIC = "traffic --report=0 --timeline=0 --progress=0 "
INCAST = TRAFFIC + "--topology=single-switch --hosts=12 --pattern=incast --fan-in=11 "
TRIMMING = (
    "--transport=ndp",
    "--transport=eqds",
    "--transport=uet",
    "--transport=uet --ns3::UetParameters::ReceiverCredits=1",
)
SAME = ["flows.csv", "links.csv", "network_events.log", "attribution.csv"]


class Transport(SystemTest):
    def same(self, one, other, names=SAME):
        for name in names:
            self.assertEqual(one.text(name), other.text(name), f"{name}\n{one}\n{other}")
        a, b = repeatable(one.stats), repeatable(other.stats)
        for stats in (a, b):
            stats.pop("configuration")
            stats.pop("events", None)
            stats.pop("ranks", None)
        self.assertEqual(a, b)

    def packets(self, run):
        """Packets that its flows need."""
        return sum(
            count
            for row in run.rows("flows.csv")
            for _, count in write_packets(row["bytes"], immediate=False)
        )

    def test_irn_is_what_its_options_are(self):
        line = INCAST + "--bytes=700001 --buffer=60kB "
        irn = self.run_program(line + "--transport=irn")
        said = self.run_program(line + "--loss-recovery=selective-repeat --pfc=0")
        self.same(irn, said)
        self.assertGreater(sum(irn.stats["drops"].values()), 0, "nothing is lost without PFC")
        self.assertEqual(irn.stats["flows"]["arrived"], 11)
        self.assertNotIn("trimming", irn.stats)

    def test_uet_at_all_rates_and_sizes_of_packets(self):
        """Its queues, marks and target follow both: an incast takes at most 1.4 times what the
        receiver's line needs for it, a permutation (hashed ways, until entropies are learnt) 1.5
        times a sender's. Of what was trimmed nothing is lost, and nothing waits for a time-out.
        Store and forward over six links, 1 us and five switches of 500 ns.
        """
        for gbps in (10, 25, 100, 400, 800):
            for mtu in (1500, 4096, 9000):
                # Without extension headers frames are 14 + 20 + 8 + 12 + 4 B and 20 on the line
                # alone, with RETHs and immediates 82 B at most.
                words = "" if mtu == 4096 else f" --payload={mtu} --no-extension-headers"
                for pattern, size, most in (
                    ("incast --fan-in=15", 15 * 400000, 1.4),
                    ("permutation", 2000000, 1.5),
                ):
                    flow = size // 15 if "incast" in pattern else size
                    run = self.run_program(
                        f"{TRAFFIC}--topology=fat-tree --k=4 --nic={gbps}GbE{words} --bytes={flow}B"
                        f" --pattern={pattern} --transport=uet --attribution=0"
                    )
                    stats = run.stats
                    what = (gbps, mtu, pattern, stats["flows"], stats["trimming"])
                    wire = (mtu + 82) * 8e-3 / gbps
                    ideal = size / mtu * wire + 6 + 5 * 0.5 + 5 * wire
                    self.assertEqual(stats["flows"]["arrived"], stats["flows"]["all"], what)
                    self.assertLess(stats["flows"]["last_arrival_us"], most * ideal, what)
                    self.assertEqual(sum(stats["drops"].values()), 0, what)
                    self.assertEqual(stats["timeouts"], 0, what)

    def test_rc_is_the_default(self):
        line = INCAST + "--bytes=700001 "
        self.same(self.run_program(line), self.run_program(line + "--transport=rc"))

    def test_one_flow_has_the_time_of_its_bytes(self):
        # As any other: nothing is trimmed, and pulls come before the first window is used up.
        for size in (1, 4097, 1000003, 5000011):
            run = self.run_program(
                TRAFFIC + "--topology=single-switch --hosts=2 --transport=ndp --pattern=permutation"
                f" --offset=1 --bytes={size}"
            )
            for row in run.rows("flows.csv"):
                # Answers and pulls of the other flow are on the same line.
                self.assertWithin(row["fct_us"], write_time_us(size), 0.06, str(run))
            self.assertEqual(run.stats["trimming"]["trimmed_packets"], 0)

    def test_incast_adds_up(self):
        for size in (4999, 450001, 1000003):
            run = self.run_program(INCAST + f"--transport=ndp --bytes={size}")
            stats, trims = run.stats, run.stats["trimming"]
            self.assertEqual(stats["flows"]["arrived"], 11)
            self.assertEqual(sum(stats["drops"].values()), 0)
            self.assertEqual(stats["timeouts"], 0)
            self.assertEqual(stats["retransmitted_packets"], trims["trimmed_packets"])
            self.assertEqual(
                trims["trimmed_packets"], trims["trimmed_received"] + trims["returned_received"]
            )
            self.assertEqual(trims["returned_packets"], trims["returned_received"])
            self.assertEqual(stats["naks"], trims["trimmed_received"])
            self.assertEqual(
                stats["data_packets"], self.packets(run) + stats["retransmitted_packets"]
            )
            self.assertEqual(stats["pfc_pauses"], 0)
            # Nearly as fast as the receiver's line: its bytes one behind the other, and headers.
            last = max(row["end_us"] for row in run.rows("flows.csv"))
            best = 11 * (write_time_us(size, links=1) - 1) + 2.5
            self.assertLess(last, 1.1 * best + 20)

    def test_the_same_bytes_whatever_runs_it(self):
        for transport in TRIMMING:
            line = (
                TRAFFIC
                + "--topology=fat-tree --k=4 --pattern=incast --fan-in=11 --bytes=450007 --seed=5"
                f" --bit-error-rate=1e-8 {transport} "
            )
            first = self.run_program(line)
            self.assertGreater(first.stats["trimming"]["trimmed_packets"], 0)
            self.same(first, self.run_program(line))
            for other in ("--engine=ns3", "--threads=2", "--threads=3"):
                self.same(first, self.run_program(line + other))
            self.same(
                self.run_program(line + "--attribution=0"),
                self.run_program(line + "--attribution=0 --mpi-ranks=2"),
                ["flows.csv", "links.csv", "network_events.log"],
            )

    def test_faults_cost_time_only(self):
        # Packets lost without a trace, and a link that goes for good: everything arrives.
        for transport in TRIMMING:
            for fault in (
                "drop,at=10us,on=agg-0-0-core-0,to=0.3,for=200us",
                "link-down,at=20us,on=agg-0-0-core-0",
                "flap,at=10us,on=edge-2-0-agg-2-0,for=400us,period=70us,duty=0.3",
            ):
                run = self.run_program(
                    TRAFFIC + "--topology=fat-tree --k=4 --pattern=permutation --bytes=2000003"
                    f" --seed=3 {transport} --fault={fault}"
                )
                self.assertEqual(run.stats["flows"]["arrived"], 16, str(run))
                self.assertEqual(
                    sum(row["bytes"] for row in run.rows("flows.csv")), 16 * 2000003, str(run)
                )

    def test_who_has_nothing_to_send_gets_no_credits(self):
        # Alone a flow has what its window gives; credits are asked for what is beyond it.
        small = self.run_program(
            TRAFFIC + "--topology=single-switch --hosts=2 --pattern=permutation --offset=1"
            " --bytes=20kB --transport=eqds"
        )
        self.assertEqual(small.stats["trimming"]["pulls"], 0)
        self.assertEqual(small.stats["trimming"]["requests_to_send"], 0)

    def test_all_programs_have_it(self):
        transports = ("rc", "irn", "ndp", "eqds", "uet", "homa", "expresspass")
        for transport in share_of(transports, one_in=5, first=1):
            job = self.run_program(
                "dltrain --model=bloom560m --gpus=16 --gpus-per-server=8 --report=0 --timeline=0"
                f" --transport={transport}"
            )
            self.assertTrue(job.stats["completed"])
            self.assertEqual("trimming" in job.stats, transport in ("ndp", "eqds", "uet"))
            table = self.run_program(
                "collperf --op=all_gather --servers=2 -b 1M -e 4M -f 4 --report=0 --timeline=0"
                f" --transport={transport}"
            )
            self.assertTrue(table.stats["completed"])

    def test_what_it_refuses(self):
        self.refuse(TRAFFIC + "--transport=ndp --fabric=ib --hosts=2", "--transport=ndp", "rc")
        self.refuse(TRAFFIC + "--transport=tcp --hosts=2", "--transport=tcp", "irn", "ndp")
        self.refuse(TRAFFIC + "--transport=ndp --pfc --hosts=2", "--pfc", "ndp: 0")
        for transport in ("ndp", "eqds", "uet"):
            line = TRAFFIC + f"--topology=single-switch --hosts=2 --transport={transport} "
            self.refuse(line + "--loss-recovery=go-back-n", "--loss-recovery=go-back-n", "rc")
            self.refuse(
                line + "--ns3::RdmaSwitch::TrimPackets=0",
                "ns3::RdmaSwitch::TrimPackets: 0",
                transport,
                "allowed with it: 1 or more",
            )
        self.refuse(
            TRAFFIC + "--topology=single-switch --hosts=2 --transport=eqds"
            " --ns3::RdmaNic::PathSelector=reps",
            "ns3::RdmaNic::PathSelector",
            "allowed with it: none",
        )
        self.refuse(
            TRAFFIC + "--topology=single-switch --transport=ndp --hosts=2 --ns3::RdmaSwitch::Pfc=1",
            "ns3::RdmaSwitch::TrimPackets",
            "allowed with Pfc: 0",
        )

    def test_a_capture_shows_what_has_been_trimmed(self):
        run = self.run_program(INCAST + "--transport=ndp --bytes=450001 --pcap=server-0")
        captures = [name for name in os.listdir(run.folder) if name.endswith(".pcap")]
        self.assertTrue(captures, str(run))
        words = ["tshark", "-n", "-r", run.path(captures[0]), "-T", "fields"]
        words += ["-e", "ip.dsfield.dscp", "-e", "infiniband.bth.opcode", "-e", "frame.len"]
        try:
            rows = subprocess.run(words, capture_output=True, text=True, check=True).stdout
        except FileNotFoundError:
            self.skipTest("there is no tshark")
        rows = [line.split("\t") for line in rows.splitlines()]
        trims = run.stats["trimming"]
        opcodes = [int(opcode, 0) for _, opcode, _ in rows if opcode]
        self.assertEqual(opcodes.count(0xC2), trims["pulls"])
        self.assertEqual(opcodes.count(0xC1), run.stats["naks"])
        headers = [row for row in rows if row[0] == "5"]
        self.assertEqual(len(headers), trims["trimmed_received"])
        self.assertTrue(all(int(row[2]) <= 98 for row in headers), "headers only")


if __name__ == "__main__":
    unittest.main(verbosity=2)
