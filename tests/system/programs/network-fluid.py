# SPDX-License-Identifier: GPL-2.0-only
# ctest: TIMEOUT 300
"""--network=fluid: what all networks without packets do; and flows have max-min fair rates over the
links that their packets would take, from end to end.
"""

import sys

sys.path.append(sys.path[0] + "/../shared")
import _packetless
from _packetless import HEADERS, RETH
from _system_test import main

WIRE = 1000000 + 245 * HEADERS + RETH  # of 1 MB: 245 packets, the last of 576 B


class FluidTest(_packetless.PacketlessTest):
    network = "fluid"
    known = {"links"}
    # The last packet of 1 MB, which is alone on its way from a link that all share to the
    # receiver, is 576 B, where one of 4,096 B would be stored for longer.
    early_us = (4096 - 576) * 8 / 1e5

    def test_messages_share_a_link_between_switches(self):
        # Eight hosts of a leaf send at once over one cable of 100 Gb/s: it is busy with all of them
        # from the first byte on, so the last is done 7 messages after a message alone.
        line = (
            "traffic --topology=leaf-spine --leaves=2 --hosts-per-leaf=8 --spines=1"
            " --pattern=permutation --offset=8 --bytes=1MB"
        )
        packet, fluid, run = self.both(line)
        alone = run.rows("flows.csv")[0]["ideal_fct_us"]
        # Two more links behind the shared one.
        self.assertLess(max(fluid), alone + 7 * WIRE * 8 / 1e5 + 0.001)
        self.assertGreater(max(fluid), alone + 7 * WIRE * 8 / 1e5 - 2 * self.early_us)
        self.assertGreater(min(fluid), 0.99 * max(fluid))
        self.assertLess(abs(max(packet) / max(fluid) - 1), 0.01)

    def test_the_busiest_links(self):
        # Eight hosts of a leaf over one cable: all that they send in all the time but what the
        # first frame takes to it and the last one behind it; their own cables an eighth of that.
        run = self.run_program(
            "traffic --topology=leaf-spine --leaves=2 --hosts-per-leaf=8 --spines=1"
            " --pattern=permutation --offset=8 --bytes=1MB --network=fluid" + self.quick
        )
        ends = max(row["end_us"] for row in run.rows("flows.csv"))
        links = {link["link"]: link["utilization"] for link in run.stats["links"]}
        busy = 8 * WIRE * 8 / 1e5
        for link in ("leaf-0->spine-0", "leaf-1->spine-0"):
            # Both leaves send to the other.
            self.assertGreater(links[link], busy / ends * 0.98)
        self.assertLess(sorted(links.values())[0], 1)
        self.assertRegex(run.out, r"Busiest links +9\d\.\d% of 100 Gb/s +leaf-")

    def test_those_that_fit_do_not_feel_one_another(self):
        # Four of 100 Gb/s over a cable of 400, all at once.
        _, run = self.fct(
            "traffic --topology=leaf-spine --leaves=2 --hosts-per-leaf=4 --spines=1"
            " --fabric-rate=400Gbps --pattern=permutation --offset=4 --bytes=1MB --network=fluid"
        )
        for row in run.rows("flows.csv"):
            self.assertAlmostEqual(row["fct_us"], row["ideal_fct_us"], delta=0.001)

    def test_short_messages_fill_a_faster_link(self):
        # 16 of one packet, of two and of ten from 100 Gb/s at once over 400: they wait for each
        # other as packets do.
        for size in (4000, 8000, 40000):
            with self.subTest(size):
                packet, fluid, _ = self.both(
                    "traffic --topology=leaf-spine --leaves=2 --hosts-per-leaf=16 --spines=1"
                    f" --fabric-rate=400Gbps --pattern=permutation --offset=16 --bytes={size}"
                )
                self.assertLess(abs(max(packet) / max(fluid) - 1), 0.02)

    def test_flows_go_where_their_packets_would(self):
        """Of a permutation whose flows meet at one stage only, every one takes what it takes with
        packets and nobody who slows down; where they meet at several, the last one does.
        """
        # On the torus frames wait at up to five switches behind those of others: 2%.
        for line, all_of_them in (
            (
                "--topology=leaf-spine --leaves=4 --hosts-per-leaf=16 --spines=4"
                " --pattern=permutation --offset=16",
                True,
            ),
            (
                "--topology=leaf-spine --leaves=3 --hosts-per-leaf=7 --spines=5 --nic=25GbE"
                " --fabric-rate=40Gbps --pattern=permutation --offset=7 --mtu=1024",
                False,
            ),
            ("--fabric=ib --nic=NDR --topology=fat-tree --k=6 --pattern=permutation", True),
            ("--topology=fat-tree --k=8 --pattern=permutation", False),
            ("--topology=torus --torus=4x4x3 --nic=200GbE --pattern=permutation --offset=7", False),
        ):
            with self.subTest(line):
                packet, fluid, _ = self.both(f"traffic {line} --bytes=1MB")
                within = 0.02 if "torus" in line else 0.015
                self.assertLess(abs(max(packet) / max(fluid) - 1), within)
                if all_of_them:
                    for with_packets, as_fluid in zip(packet, fluid):
                        self.assertLess(abs(with_packets / as_fluid - 1), 0.015)

    def test_a_sender_gives_others_what_a_narrow_link_cannot_take(self):
        # From one host 20 MB over 10 Gb/s between leaves, and 20 MB to its neighbour: those have
        # the other 90 Gb/s of the NIC from the first bit on, in one message or in 20. Behind their
        # bytes come two links' delays, a switch, and frames.
        for count, wire in ((20, WIRE), (1, 20000000 + 4883 * HEADERS + RETH)):
            with self.subTest(count):
                size = 20000000 // count
                flows = self.write(
                    "flows.csv",
                    "start_us,src,dst,bytes,tag\n"
                    + f"0,0,2,{size},far\n0,0,1,{size},near\n" * count,
                )
                _, run = self.fct(
                    "traffic --topology=leaf-spine --leaves=2 --hosts-per-leaf=2 --spines=1"
                    f" --fabric-rate=10Gbps --queue-pairs=per-pair --flows={flows}"
                    " --network=fluid"
                )
                ends = {
                    tag: max(row["fct_us"] for row in run.rows("flows.csv") if row["tag"] == tag)
                    for tag in ("near", "far")
                }
                self.assertAlmostEqual(ends["near"], count * wire * 8 / 9e4 + 3, delta=1.5)
                self.assertAlmostEqual(ends["far"], count * wire * 8 / 1e4, delta=15)

    def test_each_flow_has_a_bottleneck(self):
        # Three to host 0, so 100 / 3 Gb/s each; their senders have 200 / 3 left for others. Hosts
        # 1 and 2 send to host 4 as well: 50 each there, so of host 4 nothing is left, and of NICs
        # 1 and 2 100 - 33.3 - 50 = 16.7 is not used. Host 3 sends to host 5 at 66.7.
        # In units of 1 MB at 100 Gb/s (u): those to host 0 and 4 need 3 u for 1 MB and 2 u for
        # 1 MB. At 2 u the flows to host 4 end. Those to host 0 go on as before, as their bottleneck
        # is host 0: they end at 3 u, having 1 MB each. That to host 5 has 2 MB by then.
        flows = self.write(
            "flows.csv",
            "start_us,src,dst,bytes,tag\n"
            + "".join(f"0,{src},0,1000000,three\n" for src in (1, 2, 3))
            + "".join(f"0,{src},4,1000000,two\n" for src in (1, 2))
            + "0,3,5,2000000,one\n",
        )
        _, run = self.fct(
            f"traffic --topology=single-switch --hosts=6 --flows={flows} --network=fluid"
        )
        unit = WIRE * 8 / 1e5
        rows = run.rows("flows.csv")
        for tag, units in (("three", 3), ("two", 2), ("one", 3)):
            for row in rows:
                if row["tag"] == tag:
                    # Behind the bytes: two links of 1 us, a switch, a frame.
                    self.assertAlmostEqual(row["fct_us"], units * unit + 2.8, delta=0.6)

    def test_a_channels_messages_come_in_the_order_of_their_posts(self):
        # Large and tiny ones in turns, while another flow takes half of the NIC and another half of
        # the cable: a tiny one has less to store on its way.
        flows = self.write(
            "flows.csv",
            "start_us,src,dst,bytes\n"
            + "0,0,4,40960\n0,0,4,1\n" * 10
            + "0,0,5,1000000\n0,1,6,1000000\n",
        )
        for rates in ("", " --fabric-rate=40Gbps", " --fabric-rate=400Gbps --mtu=512"):
            for network in ("fluid", "analytic"):
                with self.subTest(rates + network):
                    _, run = self.fct(
                        "traffic --topology=leaf-spine --leaves=2 --hosts-per-leaf=4 --spines=1"
                        f" --queue-pairs=per-pair --flows={flows} --network={network}{rates}"
                    )
                    rows = [row for row in run.rows("flows.csv") if row["dst"] == "server-4"]
                    self.assertEqual([row["bytes"] for row in rows], [40960, 1] * 10)
                    ends = [row["fct_us"] for row in rows]  # all were posted at once
                    self.assertEqual(ends, sorted(ends))

    def test_a_step_behind_a_narrow_fat_tree(self):
        """Between what it takes where links between switches have room, and what it takes with
        packets, which no congestion control helps to be faster than shared links.
        """
        for line in (
            (
                "dltrain --model=gpt2 --seq=64 --zero=2 --servers=6 --gpus-per-server=2 --k=4"
                " --oversubscription=4 --placement=random --steps=1 --warmup=0"
            ),
            (
                "dltrain --model=gpt2 --seq=64 --zero=0 --servers=9 --gpus-per-server=4"
                " --nics-per-server=2 --topology=leaf-spine --leaves=3 --hosts-per-leaf=6"
                " --spines=1 --fabric=ib --nic=HDR --steps=1 --warmup=0"
            ),
        ):
            with self.subTest(line):
                step = {
                    network: self.run_program(f"{line} --network={network}{self.quick}").stats[
                        "step_time_us"
                    ]
                    for network in ("packet", "fluid", "analytic")
                }
                self.assertGreater(step["fluid"], 1.1 * step["analytic"])
                self.assertLess(step["fluid"], 1.02 * step["packet"])
                self.assertGreater(step["fluid"], 0.7 * step["packet"])


if __name__ == "__main__":
    main()
