# SPDX-License-Identifier: GPL-2.0-only
"""Networks without packets: alone on its path a message takes what it takes with packets; NICs are
shared; nothing is said of what they do not know.
"""

import os

from _system_test import SystemTest

# Frames of RoCEv2: Ethernet 14, IPv4 20, UDP 8, BTH 12, ICRC 4, FCS 4, preamble 8, gap 12; RETH 16
# on the first of a WRITE.
HEADERS = 82
RETH = 16

# What says nothing without packets.
PACKETS_KEYS = {
    "drops",
    "ecn_marks",
    "cnps",
    "pfc_pauses",
    "pfc_pause_time_us",
    "credits",
    "retransmitted_packets",
    "timeouts",
    "naks",
    "failed_queue_pairs",
    "failed_requests",
    "read_requests",
    "data_packets",
    "data_bytes",
    "switch_buffer_peak_bytes",
    "port_queue_peak_bytes",
    "port_queue_peak_link",
    "links",
    "links_csv",
    "attribution",
    "frame_hops",
    "frame_hops_per_s",
    "queue_pairs",
    "port_classes",
    "longest_queues",
    "fairness",
}

# Networks of several rates, delays, MTUs and headers, and of both link layers.
PATHS = (
    "--topology=single-switch --hosts=2",
    "--topology=single-switch --hosts=2 --nic=400GbE --mtu=1024 --link-delay=5ns",
    "--topology=leaf-spine --leaves=2 --hosts-per-leaf=2 --spines=1 --fabric-rate=40Gbps --mtu=512",
    (
        "--topology=leaf-spine --leaves=2 --hosts-per-leaf=2 --spines=1 --fabric-rate=400Gbps"
        " --switch-latency=1us"
    ),
    "--topology=fat-tree --k=4 --hosts=16 --nic=25GbE --mtu=2048",
    "--topology=torus --torus=3x3 --hosts=9",
    "--topology=single-switch --hosts=2 --compat=hpcc",
    "--fabric=ib --nic=HDR --topology=fat-tree --k=4 --hosts=16",
    (
        "--fabric=ib --nic=NDR --topology=leaf-spine --leaves=2 --hosts-per-leaf=2 --spines=2"
        " --mtu=1024"
    ),
)
SIZES = (1, 4096, 4097, 1000003)


class PacketlessTest(SystemTest):
    """What holds of every network without packets."""

    network = None  # --network, of each class
    known = set()  # of PACKETS_KEYS
    early_us = 0  # most by which what shares a sender's NIC may come sooner than by the sum of work
    quick = " --report=0 --timeline=0 --progress=0"

    def fct(self, line):
        run = self.run_program(line + self.quick)
        return [row["fct_us"] for row in run.rows("flows.csv")], run

    def both(self, line):
        # Congestion control would pace even a message that is alone by its own rounding.
        packet, _ = self.fct(line + " --cc=none --network=packet")
        formula, run = self.fct(f"{line} --network={self.network}")
        self.assertEqual(len(packet), len(formula))
        return packet, formula, run

    def test_alone_on_its_path_a_message_takes_the_same_time(self):
        for network in PATHS:
            for operation in ("write", "read") if "single" in network else ("write",):
                # One flow at a time, from the first host to the last, each long after the other.
                flows = self.write(
                    "flows.csv",
                    "start_us,src,dst,bytes\n"
                    + "".join(f"{10000 * i},0,1,{size}\n" for i, size in enumerate(SIZES)),
                )
                with self.subTest(f"{network} {operation}"):
                    packet, formula, _ = self.both(
                        f"traffic {network} --flows={flows} --operation={operation}"
                    )
                    for before, after in zip(packet, formula):
                        self.assertAlmostEqual(before, after, delta=0.001)  # 1 ns

    def test_completion_at_the_sender_is_the_last_acknowledgement(self):
        flows = self.write("flows.csv", "start_us,src,dst,bytes\n0,0,1,1\n10000,0,1,4096\n")
        packet, formula, _ = self.both(
            f"traffic {PATHS[0]} --flows={flows} --completion=sender --attribution=0"
        )
        for before, after in zip(packet, formula):
            self.assertAlmostEqual(before, after, delta=0.001)

    def test_many_to_one_share_the_receivers_nic(self):
        # 8 senders of 1 MB at 100 Gb/s, all at once: the receiver's link is busy with all of them
        # from the first byte on, so the last is done 7 messages after a message alone. A message is
        # 245 packets, the last of 576 B.
        wire = 1000000 + 245 * HEADERS + RETH
        line = "traffic --topology=single-switch --hosts=9 --pattern=incast --fan-in=8 --bytes=1MB"
        packet, formula, run = self.both(line)
        alone = [row["ideal_fct_us"] for row in run.rows("flows.csv")][0]
        self.assertAlmostEqual(max(formula), alone + 7 * wire * 8 / 1e5, delta=0.001)
        self.assertLess(abs(max(packet) / max(formula) - 1), 0.01)
        # They share it alike: nobody is done before all nearly are.
        self.assertGreater(min(formula), 0.99 * max(formula))

    def test_one_to_many_share_the_senders_nic(self):
        flows = self.write(
            "flows.csv",
            "start_us,src,dst,bytes\n" + "".join(f"0,0,{i},1000000\n" for i in range(1, 8)),
        )
        packet, formula, run = self.both(
            f"traffic --topology=single-switch --hosts=8 --flows={flows}"
        )
        wire = 1000000 + 245 * HEADERS + RETH
        alone = run.rows("flows.csv")[0]["ideal_fct_us"]
        together = alone + 6 * wire * 8 / 1e5
        self.assertLess(max(formula), together + 0.001)
        self.assertGreater(max(formula), together - self.early_us - 0.002)
        self.assertLess(abs(max(packet) / max(formula) - 1), 0.01)

    def test_flows_of_a_pair_follow_each_other_over_the_slowest_link(self):
        # 40 Gb/s between the leaves: five flows on one channel take five times the first on that
        # link, and one path.
        flows = self.write("flows.csv", "start_us,src,dst,bytes\n" + "0,0,2,1000000\n" * 5)
        line = (
            "traffic --topology=leaf-spine --leaves=2 --hosts-per-leaf=2 --spines=1"
            " --fabric-rate=40Gbps --queue-pairs=per-pair"
        )
        packet, formula, _ = self.both(f"{line} --flows={flows}")
        self.assertLess(abs(max(packet) / max(formula) - 1), 0.01)
        self.assertEqual(formula, sorted(formula))

    def test_priorities_share_as_queues_do(self):
        # 6 and 7 go first, all others are alike (--ets by default): with packets, too.
        for low, high in ((1, 7), (0, 6), (1, 5), (0, 3)):
            flows = self.write(
                "flows.csv",
                "start_us,src,dst,bytes,priority,tag\n"
                f"0,0,2,1000000,{low},low\n0,1,2,1000000,{high},high\n",
            )
            line = f"traffic --topology=single-switch --hosts=3 --flows={flows}"
            for network in (self.network, "packet --cc=none"):
                with self.subTest(f"{low} {high} {network}"):
                    run = self.run_program(f"{line} --network={network}{self.quick}")
                    fct = {row["tag"]: row["fct_us"] for row in run.rows("flows.csv")}
                    alone = run.rows("flows.csv")[0]["ideal_fct_us"]
                    self.assertLess(abs(fct["low"] / (2 * alone) - 1), 0.05)
                    self.assertLess(
                        abs(fct["high"] / (alone if high >= 6 else 2 * alone) - 1), 0.05
                    )

    def test_collectives_and_steps_on_idle_networks(self):
        # A ring over one switch never has two messages on a link: what differs is acknowledgements
        # in the way.
        for line in (
            "collperf -b 1M -e 1M --gpus-per-server=1 --ranks=8 --topology=single-switch",
            (
                "collperf --op=all_gather -b 1M -e 1M --gpus-per-server=1 --ranks=8"
                " --topology=single-switch --fabric=ib --nic=HDR"
            ),
        ):
            with self.subTest(line):
                times = [
                    self.run_program(
                        f"{line} --cc=none" + self.quick
                        if kind == "packet"
                        else f"{line} --network={self.network}" + self.quick
                    ).stats["collectives"][0]["time_us"]
                    for kind in ("packet", "formula")
                ]
                self.assertLess(abs(times[0] / times[1] - 1), 0.01)

    def test_nothing_is_said_of_what_it_does_not_know(self):
        for line in (
            "traffic --topology=single-switch --hosts=5 --pattern=all-to-all --bytes=100kB",
            (
                "traffic --topology=leaf-spine --leaves=2 --hosts-per-leaf=4 --spines=2"
                " --pattern=poisson --sizes=websearch --load=0.3 --duration=2ms"
            ),
            "collperf -b 8K -e 64K --ranks=16",
            "dltrain --gpus=16 --steps=1",
        ):
            with self.subTest(line):
                run = self.run_program(f"{line} --network={self.network} --progress=0")
                stats = run.stats
                self.assertEqual(stats["network"], self.network)
                self.assertTrue(stats["completed"])
                self.assertEqual(set(stats) & PACKETS_KEYS, self.known)
                self.assertGreater(stats["messages"], 0)
                files = set(os.listdir(run.folder))
                self.assertLessEqual(
                    {"stats.json", "flows.csv", "topology.json", "timeline.json", "report.html"},
                    files,
                )
                self.assertEqual(
                    files
                    & {
                        "links.csv",
                        "network_events.log",
                        "attribution.csv",
                        "queue_pairs.csv",
                        "queues.csv",
                        "fairness.csv",
                    },
                    set(),
                )
                self.assertIn(self.network, run.out + run.err)
                said = (run.out + run.err).replace(run.folder, "")  # a random name
                self.assertNotRegex(said, "(?i)frame-hops|ECN|PFC|retransmitted")
                self.assertEqual("Busiest links" in run.out + run.err, "links" in self.known)
                self.assertIn(self.network, run.text("report.html"))
                # What it says it ran runs again, and is the same.
                again = self.run_program(
                    [
                        line.split()[0],
                        "--scenario=" + self.write("again.json", stats["configuration"]),
                    ]
                    + self.quick.split()
                )
                self.assertEqual(again.text("flows.csv"), run.text("flows.csv"))
                configurations = [run.stats["configuration"] for run in (again, run)]
                for configuration in configurations:
                    # The second has --report=0 and --timeline=0 from the command line, too.
                    configuration.pop("given")
                    for key in ("report", "timeline"):
                        configuration["run"].pop(key, None)
                self.assertEqual(*configurations)

    def test_what_has_no_meaning_without_packets_is_refused(self):
        for option in (
            "--pcap=all",
            "--trace-qps=all",
            "--attribution=1",
            "--cc=hpcc",
            "--cc-preset=sigcomm15",
            "--ecn-kmin=1kB",
            "--no-pfc",
            "--buffer=2MB",
            "--window=1MB",
            "--ets=3:1,4:2",
            "--bit-error-rate=1e-9",
            "--loss-recovery=selective-repeat",
            "--queue-interval=1us",
            "--rate-interval=10us",
            "--fabric=ib --nic=HDR --vls=2",
        ):
            with self.subTest(option):
                self.refuse(
                    f"traffic --hosts=4 --topology=single-switch --network={self.network} {option}",
                    option.split()[-1].split("=")[0],
                    f"--network={self.network}",
                    "--network=packet",
                )
        self.refuse(
            f"dltrain --gpus=16 --network={self.network} --ns3::RdmaSwitch::EcnKmin=1000",
            "attribute",
            "--network=packet",
        )

    def test_the_plan_says_it(self):
        run = self.run_program(f"dltrain --gpus=16 --network={self.network} --dry-run")
        self.assertRegex(run.out, rf"simulation +{self.network}: ")
        self.assertNotRegex(run.out, "frame-hops|packets |congestion")
        self.assertIn("--network", self.run_program("traffic --help").out)
