# SPDX-License-Identifier: GPL-2.0-only
"""--flow-control=cbfc and --link-retry: what they do to losses and pauses, what is told, errors."""

import os
import re
import sys

sys.path.append(sys.path[0] + "/../shared")
from _system_test import ROOT, SystemTest, main

INCAST = (
    "traffic --topology=single-switch --hosts=5 --pattern=incast --fan-in=4 --bytes=1MB --no-ecn"
    " --report=0 --timeline=0"
)


class LinkLayer(SystemTest):
    def test_credits_lose_and_pause_nothing(self):
        stats = self.run_program(INCAST + " --flow-control=cbfc").stats
        self.assertEqual(stats["flows"]["arrived"], 4)
        self.assertEqual(set(stats["drops"].values()), {0})
        self.assertEqual(stats["pfc_pauses"], 0)
        self.assertGreater(stats["link_credits"]["stalls"], 100)
        self.assertGreater(stats["link_credits"]["updates"], 100)
        self.assertNotIn("link_retry", stats)
        # One link's credits are far less than what PFC's thresholds let a port have.
        paused = self.run_program(INCAST).stats
        self.assertGreater(paused["pfc_pauses"], 0)
        self.assertNotIn("link_credits", paused)
        self.assertLess(stats["switch_buffer_peak_bytes"], paused["switch_buffer_peak_bytes"] / 3)

    def test_links_repair_bit_errors(self):
        for credits in ("", " --flow-control=cbfc"):
            with self.subTest(credits=credits):
                line = INCAST + " --bit-error-rate=1e-7 --link-retry" + credits
                run = self.run_program(line)
                stats = run.stats
                self.assertEqual(stats["flows"]["arrived"], 4)
                self.assertEqual(stats["retransmitted_packets"], 0)
                # What a link repairs is no loss: scripts/plot counts these lines.
                self.assertNotIn("corrupted", run.text("network_events.log"))
                self.assertEqual(stats["drops"]["corrupted"], 0)
                retry = stats["link_retry"]
                self.assertGreater(retry["corrupted_frames"], 0)
                self.assertGreaterEqual(retry["replayed_frames"], retry["replays"])
                self.assertGreater(retry["nacks"], 0)
        without = self.run_program(INCAST + " --bit-error-rate=1e-7").stats
        self.assertGreater(without["retransmitted_packets"], 0)

    def test_a_cable_that_is_repaired(self):
        # Detection takes 10 us: a switch hears of the cut, its host does not.
        flows = self.write("one.csv", "start_ns,src,dst,bytes\n0,0,1,8000000\n")
        line = (
            f"traffic --topology=single-switch --hosts=2 --flows={flows} --cc=none --report=0"
            " --timeline=0 --timeout-exponent=8 --convergence=50us --link-retry"
        )
        for what, where, more in (
            ("link-down", "server-0-switch-0", ",for=30us"),
            ("link-down", "server-1-switch-0", ",for=30us"),
            ("nic-down", "server-0:0", ",for=30us"),
            ("switch-down", "switch-0", ",for=30us"),
            ("flap", "server-1-switch-0", ",for=200us,period=100us,duty=0.3"),
        ):
            with self.subTest(what=what, where=where):
                run = self.run_program(f"{line} --fault={what},at=200us,on={where}{more}")
                self.assertEqual(run.stats["flows"]["arrived"], 1)
                self.assertLess(run.stats["link_retry"]["discarded_frames"], 200)

    def test_a_link_that_gets_slower(self):
        # 300 kB, and headers, at 1 Gb/s: 2.4 ms. Nothing is lost, so nothing is sent again.
        line = (
            "traffic --topology=single-switch --hosts=2 --bytes=300kB --report=0 --timeline=0"
            " --fault=rate,at=5us,on=server-0:0,to=1Gbps"
        )
        without = self.run_program(line).stats
        stats = self.run_program(line + " --link-retry").stats
        self.assertEqual(stats["link_retry"]["replays"], 0)
        self.assertEqual(stats["link_retry"]["replay_timeouts"], 0)
        # ACKs of links, 8 B a frame at most.
        times = [s["flows"]["last_arrival_us"] for s in (without, stats)]
        self.assertLess(times[1], 1.01 * times[0])
        # Credits are no obstacle to faults that lose no frame.
        for option in ("--flow-control=cbfc", "--set=*:flow_control=cbfc"):
            stats = self.run_program(f"{line} {option}").stats
            self.assertEqual(stats["flows"]["arrived"], 2)
            times[1] = stats["flows"]["last_arrival_us"]
            self.assertLess(times[1], 1.02 * times[0])

    def test_a_link_that_has_given_up_is_named(self):
        run = self.run_program(
            "traffic --topology=single-switch --hosts=2 --bytes=1MB --report=0 --timeline=0"
            " --timeout-exponent=8 --retry-count=2 --link-retry --ns3::RdmaPort::ReplayLimit=3"
            " --fault=ber,at=5us,on=server-0:0,to=0.001",
            status=3,
        )
        text = run.out + run.err
        self.assertIn("links that replayed in vain and are silent:", text)
        self.assertIn("server-0", text.split("silent:")[1])
        self.assertIn("3 replays in a row", text)

    def test_of_a_place(self):
        line = (
            "traffic --k=4 --pattern=permutation --bytes=100kB --report=0 --timeline=0"
            " --set=core:link_retry=1 --set=core:flow_control=cbfc"
        )
        stats = self.run_program(line).stats
        self.assertGreater(stats["link_retry"]["acks"], 0)
        self.assertGreater(stats["link_credits"]["updates"], 0)

    def test_a_deadlock_is_told_in_its_words(self):
        ring = (
            "traffic --topology=torus --torus=5 --hosts=5 --hosts-per-switch=1 --offset=2"
            " --bytes=5MB --cc=none --no-ecn --report=0 --timeline=0 --flow-control=cbfc"
        )
        run = self.run_program(ring, status=3)
        self.assertIn("credit deadlock: no buffer empties", run.out + run.err)

    def test_plan(self):
        plan = " ".join(self.run_program(INCAST + " --flow-control=cbfc --dry-run").out.split())
        self.assertIn("link layer credits (CBFC) instead of PFC", plan)
        self.assertNotIn("link layer", self.run_program(INCAST + " --dry-run").out)
        run = self.run_program(INCAST + " --credit-buffer=64kB --dry-run")
        self.assertIn("--credit-buffer has no effect", run.out + run.err)

    def test_what_has_no_effect(self):
        for options, why in (
            ("--ns3::RdmaPort::CreditUpdateSpacing=800", "the flow control is pfc"),
            ("--ns3::RdmaPort::ReplayTimer=1us", "there is no link-level retry (--link-retry)"),
            ("--ns3::RdmaPort::ReplayBuffer=9000", "there is no link-level retry (--link-retry)"),
            ("--ns3::TcpSocket::SegmentSize=1000", "nothing is sent by TCP (--protocol)"),
            ("--ns3::FqQueueDisc::Queues=128", "the queue discipline is drr (--queue-disc)"),
            ("--credit-buffer=64kB --set=*:pfc=1", "--flow-control=cbfc"),
            ("--protocol=tcp --flow-control=cbfc", "no flow has a lossless priority"),
            ("--protocol=tcp --set=*:flow-control=cbfc", "no flow has a lossless priority"),
            ("--shaper=5:1Gbps", "nothing is sent in that priority"),
            ("--protocol=tcp --shaper=3:1Gbps", "nothing is sent in that priority"),
            ("--set=switch-0:shaper=5:1Gbps", "nothing is sent in that priority"),
        ):
            with self.subTest(options=options):
                run = self.run_program(f"{INCAST} {options} --dry-run")
                self.assertRegex(run.out + run.err, f"has no effect(:| without) {re.escape(why)}")
        for options in (
            "--set=switch-0:flow-control=cbfc --credit-buffer=64kB",
            "--flow-control=cbfc --ns3::RdmaPort::CreditUpdateSpacing=800",
            "--set=switch-0:link-retry=1 --ns3::RdmaPort::ReplayTimer=1us",
            "--protocol=tcp --ns3::TcpSocket::SegmentSize=1000",
            "--protocol=tcp --priority=3 --flow-control=cbfc",
            "--shaper=3:1Gbps",
            "--shaper=6:1Gbps",
            "--protocol=tcp --shaper=0:1Gbps",
        ):
            with self.subTest(options=options):
                run = self.run_program(f"{INCAST} {options} --dry-run")
                self.assertNotIn("has no effect", run.out + run.err)

    def test_what_is_wrong(self):
        for line, *words in (
            ("--flow-control=cbcf", "--flow-control=cbcf", "'cbfc'"),
            ("--fabric=ib --flow-control=cbfc", "--flow-control", "--fabric=roce"),
            ("--fabric=ib --link-retry", "--link-retry", "--fabric=roce"),
            ("--network=fluid --link-retry", "--link-retry", "--network=packet"),
            ("--no-pfc --flow-control=cbfc", "--flow-control", "--pfc"),
            ("--cut-through --link-retry", "--link-retry", "without --cut-through"),
            ("--cut-through --flow-control=cbfc", "--flow-control", "without --cut-through"),
            ("--flow-control=cbfc --pfc-watchdog=1ms", "--flow-control", "--pfc-watchdog"),
            ("--flow-control=cbfc --bit-error-rate=1e-9", "--flow-control", "--link-retry"),
            (
                "--flow-control=cbfc --fault=link-down,at=1us,on=server-0-switch-0",
                "--flow-control",
                "--fault=link-down",
            ),
            (
                "--set=*:flow_control=cbfc --fault=pause-storm,at=1us,on=server-0:0,for=10us",
                "--set=*:flow_control=cbfc",
                "--fault=pause-storm does nothing",
            ),
            ("--fabric=ib --set=*:flow_control=cbfc", "--set=*:flow_control=cbfc", "--fabric=ib"),
            ("--fabric=ib --set=*:credit_buffer=64kB", "--set=*:credit_buffer=64kB", "--fabric"),
            ("--fabric=ib --set=*:link_retry=1", "--set=*:link_retry=1", "--fabric=ib"),
            (
                "--fabric=ib --ns3::RdmaPort::FlowControl=cbfc",
                "--ns3::RdmaPort::FlowControl=cbfc",
                "--fabric=roce",
            ),
            (
                "--fabric=ib --set=*:ns3::RdmaPort::FlowControl=cbfc",
                "--set=*:ns3::RdmaPort::FlowControl=cbfc",
                "--fabric=roce",
            ),
            # 4 MB of the chip for 4 ports, two frames of 9,216 B, and minima of 4 x 4,096 B.
            (
                "--flow-control=cbfc --credit-buffer=100MB",
                "--credit-buffer: ",
                "at most 991296,",
            ),
            ("--flow-control=cbfc --credit-buffer=1kB", "--credit-buffer: ", "largest frame"),
            (
                "--set=switch-0:flow-control=cbfc --fault=link-down,at=1us,on=server-0-switch-0",
                "--set=switch-0:flow-control=cbfc",
                "--fault=link-down",
                "pfc",
            ),
            (
                "--ns3::RdmaPort::FlowControl=cbfc --fault=drop,at=1us,on=server-0-switch-0,to=0.1",
                "--ns3::RdmaPort::FlowControl=cbfc",
                "--fault=drop",
            ),
            (
                "--cut-through --ns3::RdmaPort::LinkRetry=1",
                "ns3::RdmaPort::LinkRetry",
                "without cut-through",
            ),
        ):
            with self.subTest(line=line):
                self.refuse("traffic --topology=single-switch --hosts=4 " + line, *words)

    def test_circuits_take_frames(self):
        rotor = os.path.join(ROOT, "topologies", "examples", "rotor.json")
        for option in ("--flow-control=cbfc", "--set=t0:flow-control=cbfc"):
            for more in ("", " --dry-run"):
                with self.subTest(option=option, more=more):
                    line = f"traffic --topology={rotor} --hosts=4 {option}{more}"
                    self.refuse(line, option, "credits of frames that circuits take", "pfc")
        # Credits at other links than the fault's.
        self.run_program(
            "traffic --k=4 --set=core:flow-control=cbfc --dry-run"
            " --fault=link-down,at=1us,on=edge-0-0-agg-0-0"
        )


if __name__ == "__main__":
    main()
